"""Positions: what tells a model where a token stands, since attention alone cannot.

Two kinds: fixed waves to add to the embeddings, and a rotation of queries and keys. Each takes
positions from 0 on.
"""

from functools import lru_cache

import torch
from jaxtyping import Complex, Float
from torch import Tensor

COMPLEX = {torch.float32: torch.complex64, torch.float64: torch.complex128}


def _angles(start: int, T: int, width: int, base: float) -> Float[Tensor, "T pairs"]:
    """Position times frequency, in radians: pair i of the channels turns at base^(-2i / width)."""
    if width < 2 or width % 2:
        raise ValueError(f"the width is {width}, expected an even number above 0: a pair turns")
    if T < 0 or start < 0:
        raise ValueError(f"got T={T} positions from {start} on, expected nothing below 0")
    if base <= 0:
        raise ValueError(f"base={base}, expected more than 0")
    # Double precision: at position 10,000 a float32 angle would be wrong in the fourth digit.
    t = torch.arange(start, start + T, dtype=torch.float64, device="cpu")
    i = torch.arange(0, width, 2, dtype=torch.float64, device="cpu")
    return torch.outer(t, base ** -(i / width))


@lru_cache(maxsize=64)  # the same in every layer and at every step
def _turns(
    start: int, T: int, width: int, base: float, dtype: torch.dtype, device: torch.device
) -> Complex[Tensor, "T pairs"]:
    """cos + i sin of each angle: the complex number that turns another by it."""
    # Outside inference mode, whose tensors could not be trained with later.
    with torch.inference_mode(False), torch.no_grad():
        angles = _angles(start, T, width, base)
        return torch.polar(torch.ones_like(angles), angles).to(device, COMPLEX[dtype])


def sinusoidal(T: int, d_model: int, base: float = 10_000.0) -> Float[Tensor, "T C"]:
    """Sine and cosine of each pair's angle, side by side, to add to embeddings (on the CPU).

    Row t is the encoding of position t (Vaswani et al. 2017, section 3.5). Raises ValueError for
    an odd d_model or a negative T.
    """
    angles = _angles(0, T, d_model, base)
    waves = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # (T, C)
    return waves.to(torch.get_default_dtype())


def rotary(
    x: Float[Tensor, "*batch T D"], offset: int = 0, base: float = 10_000.0
) -> Float[Tensor, "*batch T D"]:
    """Turn channels 2i and 2i + 1 of the query or key at position t by t · base^(-2i / D).

    Scores then depend on the distance between positions alone (Su et al. 2021). `offset` is the
    position of the first row, for a sequence continued from a cache. Raises ValueError for an odd
    D or a negative offset.
    """
    dtype = torch.promote_types(x.dtype, torch.float32)
    turns = _turns(offset, *x.shape[-2:], base, dtype, x.device)  # (T, D/2)
    rows = x.to(dtype).clone(memory_format=torch.contiguous_format).unflatten(-1, (-1, 2))
    pairs = torch.view_as_complex(rows)  # (*batch, T, D/2)
    return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)
