"""Weights of fewer bits: whole numbers that share a scale, as the site's models travel.

A matrix is cut into parts, each with a scale of its own: the whole matrix, its rows, or 32 weights
that stand side by side. A scale is a float16, so that the largest weight of its part becomes the
largest whole number. Norms and biases stay float16: they are few. `live.js` of chapter 20 does the
same in a page.
"""

import base64
from math import prod
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

SHARED = ("tensor", "row", "group")  # the weights that share a scale
GROUP = 32
SMALL, TINY = 2.0**-14, 2.0**-24  # below the first, float16's numbers are multiples of the second
Model = TypeVar("Model", bound=nn.Module)


def to_whole(weight: Tensor, bits: int, shared: str = "row") -> tuple[Tensor, Tensor]:
    """Whole numbers (parts, n) and the scales (parts, 1) of a matrix (rows, columns).

    Raises ValueError for fewer than two bits, more than eight, an unknown `shared`, a matrix that
    groups do not fill, and weights too large for a scale.
    """
    if not 2 <= bits <= 8:
        raise ValueError(f"bits={bits}, expected 2 to 8")
    if shared not in SHARED:
        raise ValueError(f"shared={shared!r}, expected one of {', '.join(SHARED)}")
    n = {"tensor": weight.numel(), "row": weight[0].numel(), "group": GROUP}[shared]
    if shared == "group" and weight[0].numel() % n:
        raise ValueError(f"rows of {weight[0].numel()} weights, expected groups of {GROUP}")
    parts, most = weight.double().reshape(-1, n), 2 ** (bits - 1) - 1
    exact = parts.abs().amax(dim=1, keepdim=True) / most
    scales = exact.float().half().double()
    if not scales.isfinite().all():
        raise ValueError(f"weights reach {most * exact.max():.3g}: no float16 is their scale")
    # Where float16 has few digits left, rather too large than one that cuts the weights off, or 0.
    scales = torch.where((exact < SMALL) & (scales < exact), (scales + TINY), scales)
    levels = (parts / scales.where(scales > 0, 1) + 0.5).floor().clamp(-most, most)
    return levels, scales


def rounded(weight: Tensor, bits: int, shared: str = "row") -> Tensor:
    """The matrix that a model computes with when its weights have come in so many bits."""
    levels, scales = to_whole(weight, bits, shared)
    return (levels * scales).reshape(weight.shape).float()


def round_model(model: Model, bits: int = 8, shared: str = "row") -> Model:
    """The model with all its matrices rounded, in place; the tables of embeddings are matrices."""
    with torch.no_grad():
        for p in model.parameters():
            if p.ndim > 1:
                p.copy_(rounded(p, bits, shared))
    return model


def in_int8(description: dict[str, Any]) -> dict[str, Any]:
    """A model's description with its matrices in int8, a scale for each row; about half the bytes.

    Behind each other stand, for a matrix, the float16 scales of its rows and the int8 of all its
    weights, and for a vector its float16. The hash stays: it is the model's name.
    """
    data, start, pieces = base64.b64decode(description["weights"]), 0, []
    for tensor in description["tensors"]:
        stop = start + 2 * prod(tensor["shape"])
        piece, start = data[start:stop], stop
        if len(tensor["shape"]) > 1:
            weight = torch.frombuffer(bytearray(piece), dtype=torch.float16)
            levels, scales = to_whole(weight.view(tensor["shape"]), 8)
            piece = scales.half().numpy().astype("<f2").tobytes()
            piece += levels.to(torch.int8).numpy().tobytes()
        pieces.append(piece)
    weights = base64.b64encode(b"".join(pieces)).decode()
    return description | {"bits": 8, "weights": weights}
