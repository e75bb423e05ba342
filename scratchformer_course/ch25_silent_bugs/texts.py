"""What programs are trained on: a text as ids, or its lines as padded rows."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from scratchformer.tokenizers import ByteBPE, CharTokenizer
from scratchformer_course.ch25_silent_bugs.program import SIZES, Setting

MERGES = 256  # as many as there are bytes: half of the vocabulary does not fit into one


@lru_cache(maxsize=4)
def encoded(text: str, tokens: str, characters: int | None) -> tuple[np.ndarray, int]:
    """The ids of a text, or of its beginning, and how many tokens there are.

    The tokenizer of subwords is trained on the first nine tenths.
    """
    if tokens == "characters":
        letters = CharTokenizer.train(text)
        return np.array(letters.encode(text[:characters])), letters.vocab_size
    text = text[:characters]
    pieces = ByteBPE.train(text[: len(text) * 9 // 10], vocab_size=256 + MERGES)
    return np.array(pieces.encode(text)), pieces.vocab_size


@lru_cache(maxsize=2)
def padded_lines(text: str, length: int) -> tuple[Tensor, int]:
    """A row for each line that is not empty, its end included: padded, or cut, on the left.

    The vocabulary's last id is padding.
    """
    tok, rows = CharTokenizer.train(text), []
    for line in filter(None, text.splitlines()):
        ids = tok.encode(line + "\n")[-length:]
        rows.append([tok.vocab_size] * (length - len(ids)) + ids)
    return torch.tensor(rows), tok.vocab_size + 1


def tokens(text: str, setting: Setting, stored: Callable) -> tuple[Tensor, int]:
    """The text as the setting asks for it, after it has been stored, and the vocabulary's size."""
    if setting.lines:
        return padded_lines(text, (SIZES | setting.sizes)["context_length"] + 1)
    ids, V = encoded(text, setting.tokens, setting.characters)
    return torch.from_numpy(stored(ids).astype("int64")), V
