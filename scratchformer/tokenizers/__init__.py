"""Text to ids and back: by characters, by the first published BPE, and by bytes as in GPT-2.

These three share one interface: `train(text, …)`, `encode(str) -> list[int]`,
`decode(ids) -> str`, `vocab_size`, `save(path)` and `load(path)`. `WordPiece` reads as
BERT does, and is not trained here. Nothing here needs torch.
"""

from scratchformer.tokenizers.byte_bpe import ByteBPE, load_gpt2_tokenizer
from scratchformer.tokenizers.char import CharTokenizer
from scratchformer.tokenizers.word_bpe import WordBPE
from scratchformer.tokenizers.word_piece import WordPiece

__all__ = ["ByteBPE", "CharTokenizer", "WordBPE", "WordPiece", "load_gpt2_tokenizer"]
