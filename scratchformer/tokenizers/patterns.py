"""The regular expressions by which published tokenizers cut a text into chunks. Imports nothing."""

# English contractions, letters, digits, other signs; a space belongs to the word after it
# (Radford et al. 2019, their code)
GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# SmolLM2's cuts off each digit, and the spaces before it
SMOLLM2_PATTERN = (
    r"\p{N}|'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?=\p{N})|\s+(?!\S)|\s+"
)
