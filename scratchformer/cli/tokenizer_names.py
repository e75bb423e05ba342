"""The tokenizers that both commands know by name."""

from collections.abc import Iterable
from pathlib import Path

from scratchformer import tokenizers
from scratchformer.files import read_json


def tokenizer_of(name: str, texts: Iterable[str] = ()):
    """GPT-2's ("gpt2"), one of the characters in `texts` ("char"), or a saved one of any kind."""
    if name == "gpt2":
        return tokenizers.ByteBPE.from_tiktoken("gpt2")
    if name == "char":
        characters: set[str] = set()
        for text in texts:  # one after the other: together they may exceed the memory
            characters.update(text)
        return tokenizers.CharTokenizer("".join(sorted(characters)))
    if not Path(name).is_file():
        raise ValueError(f"no tokenizer {name!r}, expected gpt2, char or a saved file")
    try:
        kind = read_json(name)["tokenizer"]
        return getattr(tokenizers, kind).load(name)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{name} is not a saved tokenizer ({error})") from error
