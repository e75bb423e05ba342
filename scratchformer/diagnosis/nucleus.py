"""`diagnose_sampling`: does a nucleus keep what it should?"""

from collections.abc import Callable

import torch
from torch import Tensor

from scratchformer.diagnosis.report import Outcome, Report, Test, run_tests

TOP_P = 0.7


def diagnose_sampling(nucleus: Callable[[Tensor, float], Tensor]) -> Report:
    """Test `nucleus(p, top_p)`: of probabilities (B, V) those that it keeps, 0 for all others.

    It keeps the fewest likeliest tokens that hold `top_p` together, and may rescale them.
    """
    generator = torch.Generator().manual_seed(0)
    p = torch.randn(64, 12, generator=generator).mul(2).softmax(dim=-1)
    p[0] = torch.eye(12)[3] * 0.9 + 0.1 / 12  # one token is enough
    kept = nucleus(p.clone(), TOP_P)
    if (shape := getattr(kept, "shape", None)) != p.shape:
        raise ValueError(f"nucleus gave shape {shape}, expected {p.shape} as it was given")
    return run_tests([Test(kept_share), Test(fewest_kept)], p, kept)


def kept_share(p: Tensor, kept: Tensor) -> Outcome:
    """What is kept holds top_p together."""
    least = torch.where(kept > 0, p, 0.0).sum(dim=-1).min().item()
    dropped = "the token that reaches top_p is dropped: the mask is not shifted by one"
    measured = f"top_p={TOP_P} keeps {least:.2f} at least"
    return Outcome(least > TOP_P - 1e-6, measured, [dropped, "tokens left in sorted order"])


def fewest_kept(p: Tensor, kept: Tensor) -> Outcome:
    """Without the least likely of them, what is kept holds less than top_p."""
    least = torch.where(kept > 0, p, 1.0).amin(dim=-1)
    most = (torch.where(kept > 0, p, 0.0).sum(dim=-1) - least).max().item()
    measured = f"without the least likely it keeps up to {most:.2f}"
    return Outcome(
        most < TOP_P + 1e-6, measured, ["a token too many", "tokens left in sorted order"]
    )
