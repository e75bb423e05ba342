"""GPT-2's tokenizer on disk: vocab.json and merges.txt, for `transformers` to read."""

import json
from pathlib import Path

from scratchformer.files import atomic_write
from scratchformer.tokenizers import ByteBPE
from scratchformer.tokenizers.merging import apply_merges

END_OF_TEXT = "<|endoftext|>"  # GPT-2's only special token


def byte_letters() -> list[str]:
    """The letter that stands for each of the 256 bytes in the files of GPT-2's tokenizer.

    A byte that is a printable character, but not the space, is that character. The others take the
    characters from 256 on in turn: the space is "Ġ".
    """
    letters, spare = [], 256
    for byte in range(256):
        is_shown = chr(byte).isprintable() and chr(byte) != " "
        letters.append(chr(byte if is_shown else spare))
        spare += not is_shown
    return letters


def find_merges(tokens: list[bytes]) -> list[tuple[bytes, ...]]:
    """The merge behind each token longer than a byte: its two parts, in the order of learning.

    `tokens` are in that order. All but the last join of a token are between earlier tokens, so the
    earlier ones encode it as two parts.
    """
    ids: dict[bytes, int] = {}  # the tokens before this one

    def rank(left: bytes, right: bytes) -> int | None:
        return ids.get(left + right)

    merges = []
    for token in tokens:
        if len(token) > 1:
            merges.append(tuple(apply_merges([bytes([b]) for b in token], rank)))
        ids[token] = len(ids)
    return merges


def save_tokenizer_as_gpt2(folder: str | Path, tokenizer: ByteBPE) -> None:
    """Write vocab.json and merges.txt, the files of GPT-2's tokenizer, for `transformers` to read.

    Who reads them cuts text by GPT-2's pattern, as ByteBPE does if it is given no other. Raises
    ValueError unless "<|endoftext|>" is the only special token, as in GPT-2.
    """
    if list(tokenizer.special_tokens) != [END_OF_TEXT]:
        specials = list(tokenizer.special_tokens)
        raise ValueError(
            f"special_tokens={specials}, expected [{END_OF_TEXT!r}]: GPT-2's tokenizer"
        )
    letters = byte_letters()

    def spell(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    vocab = {spell(token): i for i, token in enumerate(tokenizer.tokens)}
    lines = [" ".join(map(spell, pair)) for pair in find_merges(tokenizer.tokens)]
    files = {"vocab.json": json.dumps(vocab | tokenizer.special_tokens, ensure_ascii=False)}
    files["merges.txt"] = "\n".join(["#version: 0.2", *lines, ""])
    for name, text in files.items():
        with atomic_write(Path(folder) / name) as part:
            part.write_text(text, encoding="utf-8", newline="\n")
