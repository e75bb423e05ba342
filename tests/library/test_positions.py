"""Positions: against slow loops, and by the properties each kind is chosen for."""

import cmath
import itertools

import pytest
import torch
from refusals import refused

from scratchformer.positions import rotary, sinusoidal


def slow_rotary(x, offset=0, base=10_000.0):
    """Each pair as a complex number times e^(i angle), one at a time; x is (T, D)."""
    out, width = x.clone(), x.shape[1]
    for t, i in itertools.product(range(len(x)), range(0, width, 2)):
        z = complex(x[t, i], x[t, i + 1]) * cmath.exp(1j * (t + offset) / base ** (i / width))
        out[t, i], out[t, i + 1] = z.real, z.imag
    return out


@pytest.mark.parametrize("base", [10_000.0, 100.0])
def test_sinusoidal_equals_the_formula_far_positions_too(base):
    waves = sinusoidal(50_001, 32, base=base)
    for t, i in itertools.product((0, 1, 2, 63, 50_000), range(0, 32, 2)):
        expected = cmath.exp(1j * t / base ** (i / 32))
        pair = pytest.approx([expected.imag, expected.real], abs=1e-6)
        assert waves[t, i : i + 2].tolist() == pair
    assert sinusoidal(0, 4).shape == (0, 4)


@pytest.mark.parametrize(("offset", "dtype"), [(0, torch.float32), (5, torch.float64)])
def test_rotary_equals_complex_products_in_a_slow_loop(offset, dtype):
    x = torch.randn(3, 6, 8, dtype=dtype)
    expected = torch.stack([slow_rotary(head, offset, 500.0) for head in x])
    with torch.device("meta"):  # the caller's default device has no say
        torch.testing.assert_close(rotary(x[None], offset, base=500.0)[0], expected)
        assert sinusoidal(3, 4).device.type == "cpu"


def test_rotary_scores_depend_on_the_distance_alone():
    q, k = (torch.randn(8, dtype=torch.float64).expand(20, 8) for _ in range(2))
    scores = rotary(q) @ rotary(k).T
    torch.testing.assert_close(scores[1:, 1:], scores[:-1, :-1])
    assert scores[0].std() > 0.1


test_errors_say_what_was_expected = refused(
    {
        "width is 7, expected an even number above 0": lambda: sinusoidal(4, 7),
        "width is 0, expected an even number above 0": lambda: sinusoidal(4, 0),
        "T=-1 positions from 0 on, expected nothing below 0": lambda: sinusoidal(-1, 4),
        "positions from -1 on": lambda: rotary(torch.zeros(2, 4), offset=-1),
        r"base=0\.0, expected more than 0": lambda: sinusoidal(4, 4, base=0.0),
    }
)
