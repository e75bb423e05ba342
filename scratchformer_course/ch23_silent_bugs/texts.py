"""What the patients are trained on: a text as ids, or its lines as padded rows."""

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

from scratchformer.tokenizers import ByteBPE, CharTokenizer
from scratchformer_course.ch23_silent_bugs.model import Sizes
from scratchformer_course.ch23_silent_bugs.program import Setting

MERGES = 256  # as many as there are bytes: half of the vocabulary does not fit into one


@lru_cache(maxsize=2)
def subwords(text: str) -> tuple[list[int], int]:
    """The ids of a byte-level tokenizer trained on the first nine tenths, and its size."""
    tok = ByteBPE.train(text[: len(text) * 9 // 10], vocab_size=256 + MERGES)
    return tok.encode(text), tok.vocab_size


def padded_lines(text: str, encode: Callable[[str], list[int]], pad: int, length: int) -> Tensor:
    """A row for each line that is not empty, its end included: padded, or cut, on the left."""
    rows = []
    for line in text.splitlines():
        if line:
            ids = encode(line + "\n")[-length:]
            rows.append([pad] * (length - len(ids)) + ids)
    return torch.tensor(rows)


def tokens(text: str, setting: Setting, stored: Callable) -> tuple[Tensor, int]:
    """The text as the setting asks for it, after it has been stored, and the vocabulary's size."""
    tok = CharTokenizer.train(text)
    text = text[: setting.characters]
    if setting.lines:
        V, T = tok.vocab_size + 1, setting.sizes.get("context_length", Sizes.context_length)
        return padded_lines(text, tok.encode, V - 1, T + 1), V
    ids, V = subwords(text) if setting.tokens == "subwords" else (tok.encode(text), tok.vocab_size)
    return torch.from_numpy(stored(ids).astype("int64")), V
