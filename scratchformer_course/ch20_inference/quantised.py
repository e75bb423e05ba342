"""A model whose matrices hold few bits for each weight, for chapter 20 and `lab/quantised.py`.

Each group of weights shares a scale, kept in float16: all of a matrix ("tensor"), each row of it
("row"), or so many neighbours in a row (a number). What is no matrix stays in float16. The model
computes in float32 with the weights that the integers stand for.
"""

import copy

import torch
from torch import Tensor, nn


def rounded(w: Tensor, bits: int, group: str | int) -> tuple[Tensor, int]:
    """The matrix that the integers stand for, and how many scales there are.

    Raises ValueError if groups do not divide a row evenly.
    """
    if isinstance(group, int) and w.shape[1] % group:
        raise ValueError(f"rows of {w.shape[1]} weights are not divisible by group={group}")
    width = {"tensor": w.numel(), "row": w.shape[1]}.get(str(group), group)
    parts = w.reshape(-1, int(width))  # (groups, width)
    top = 2 ** (bits - 1) - 1
    scale = (parts.abs().amax(dim=1, keepdim=True) / top).half().float()  # (groups, 1)
    scale = scale.where(scale > 0, 1)  # a group of zeros stays zero
    # A scale that float16 has rounded down needs the clamp.
    whole = (parts / scale).round().clamp(-top, top)
    return (whole * scale).view_as(w), len(scale)


def quantised(model: nn.Module, bits: int, group: str | int) -> tuple[nn.Module, int]:
    """A copy of the model with rounded matrices, and the bytes that all its weights take."""
    new, size = copy.deepcopy(model), 0.0
    with torch.no_grad():
        for p in new.parameters():  # a tied matrix comes once
            if p.dim() == 2:
                values, scales = rounded(p, bits, group)
                p.copy_(values)
                size += p.numel() * bits / 8 + 2 * scales
            else:
                size += 2 * p.numel()
    return new, round(size)
