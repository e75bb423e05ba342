"""`diagnose_bits_per_byte`: is the loss of a text given in bits, and by the byte?"""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from scratchformer.diagnosis.report import Outcome, Report, Test, run_tests

WINDOW = 64  # tokens that the models read at once
NEAR = 0.01  # as a share: whoever counts the first token's bytes, too, is not wrong


class Pieces:
    """A tokenizer whose tokens are all `size` bytes long."""

    def __init__(self, size: int):
        self.size = size

    def encode(self, text: str) -> list[int]:
        """The ids of a text whose bytes are a multiple of `size`: each is a number of them."""
        return np.frombuffer(text.encode("utf-8"), f">u{self.size}").tolist()

    def decode(self, ids) -> str:
        """The text of ids; bytes that are no UTF-8 show as U+FFFD."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", "replace")

    def token_bytes(self, i: int) -> bytes:
        """The `size` bytes of a token."""
        return int(i).to_bytes(self.size, "big")


class Fixed(nn.Module):
    """A model that gives each token the same probability at every place."""

    def __init__(self, p: Float[Tensor, " V"]):
        super().__init__()
        self.log_p, self.context_length = nn.Parameter(p.log()), WINDOW

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        return self.log_p.expand(*ids.shape, -1)


def diagnose_bits_per_byte(measure: Callable[[nn.Module, Pieces, str, int], float]) -> Report:
    """Test `measure(model, tokenizer, text, context_length)`: bits per byte of the text.

    The models are so simple that the right answer is known. The tokenizer has `encode`, `decode`
    and `token_bytes`, and the model gives logits (B, T, V) for at most `context_length` ids (B, T).
    """
    even = Fixed(torch.full((256,), 1 / 256))
    return run_tests([Test(unit), Test(bytes_of_text), Test(tokens), Test(windows)], measure, even)


def unit(measure: Callable, even: Fixed) -> Outcome:
    """256 tokens that are equally likely cost 8 bits each."""
    bits = measure(even, Pieces(1), "abcdefgh" * 256, WINDOW)
    measured = f"8 bits a byte are given as {bits:.2f}"
    return Outcome(abs(bits / 8 - 1) < NEAR, measured, ["nats, not bits: divide by ln 2"])


def bytes_of_text(measure: Callable, even: Fixed) -> Outcome:
    """A letter of two bytes costs twice what a letter of one does, and has twice the bytes."""
    ratios = []
    for n in (512, 16):  # in the short text the first letter, which its first token cuts, shows
        ascii_only, others = (measure(even, Pieces(1), c, WINDOW) for c in ("ee" * n, "é" * n))
        ratios.append(others / ascii_only)
    long, short = (f"{ratio:.2f} times" for ratio in ratios)
    measured = f"a text of é costs {long} as much by the byte as one of e, a short one {short}"
    counted = "characters are counted: len(text) is not len(text.encode())"
    cut = "a letter that is cut is decoded, and encoded again as U+FFFD: three bytes"
    return Outcome(all(abs(ratio - 1) < NEAR for ratio in ratios), measured, [counted, cut])


def tokens(measure: Callable, even: Fixed) -> Outcome:
    """A token of two bytes counts as two."""
    models = even, Fixed(torch.full((2**16,), 2.0**-16))
    single, double = (measure(m, Pieces(n), "ab" * 512, WINDOW) for n, m in enumerate(models, 1))
    measured = (
        f"tokens of two bytes cost {double / single:.2f} times as much by the byte as single ones"
    )
    return Outcome(abs(double / single - 1) < NEAR, measured, ["tokens are counted, not bytes"])


def windows(measure: Callable, even: Fixed) -> Outcome:
    """The last window, which is short, counts by its length."""
    p = torch.full((256,), 1e-6)
    p[ord("a")], p[ord("b")] = 0.9, 1 - 0.9 - 254e-6
    text = "a" * (6 * WINDOW) + "b" * (WINDOW // 4)
    a, b = 6 * WINDOW - 1, WINDOW // 4  # tokens that are predicted
    expected = -(a * math.log2(p[ord("a")]) + b * math.log2(p[ord("b")])) / (a + b)
    bits = measure(Fixed(p), Pieces(1), text, WINDOW)
    measured = f"a text with a short last window costs {bits:.3f}, expected {expected:.3f}"
    suspects = ["a mean of the windows' means", "the last tokens are left out, not their bytes"]
    return Outcome(abs(bits / expected - 1) < NEAR, measured, suspects)
