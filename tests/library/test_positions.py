"""Positions: against slow loops, and by the properties each kind is chosen for."""

import cmath
import math

import pytest
import torch

from scratchformer.positions import rotary, sinusoidal


def slow_sinusoidal(T, d_model, base=10_000.0):
    rows = []
    for t in range(T):
        row = []
        for i in range(0, d_model, 2):
            row += [math.sin(t / base ** (i / d_model)), math.cos(t / base ** (i / d_model))]
        rows.append(row)
    return torch.tensor(rows)


def slow_rotary(x, offset=0, base=10_000.0):
    """Each pair as a complex number times e^(i angle), one at a time; x is (T, D)."""
    out, width = x.clone(), x.shape[1]
    for t in range(len(x)):
        for i in range(0, width, 2):
            z = complex(x[t, i], x[t, i + 1]) * cmath.exp(1j * (t + offset) / base ** (i / width))
            out[t, i], out[t, i + 1] = z.real, z.imag
    return out


@pytest.mark.parametrize("base", [10_000.0, 100.0])
def test_sinusoidal_equals_the_formula_in_a_slow_loop_far_positions_too(base):
    torch.testing.assert_close(sinusoidal(64, 32, base=base), slow_sinusoidal(64, 32, base))
    assert sinusoidal(0, 4).shape == (0, 4)
    assert abs(sinusoidal(50_001, 2)[50_000, 0].item() - math.sin(50_000)) < 1e-6


@pytest.mark.parametrize(("offset", "dtype"), [(0, torch.float32), (5, torch.float64)])
def test_rotary_equals_complex_products_in_a_slow_loop(offset, dtype):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 6, 8, dtype=dtype)
    expected = [[slow_rotary(head, offset, 500.0) for head in row] for row in x]
    torch.testing.assert_close(
        rotary(x, offset, base=500.0), torch.stack([torch.stack(row) for row in expected])
    )


def test_rotary_scores_depend_on_the_distance_alone():
    torch.manual_seed(0)
    q, k = (torch.randn(8, dtype=torch.float64).expand(20, 8) for _ in range(2))
    scores = rotary(q) @ rotary(k).T
    for distance in range(-19, 20):
        diagonal = scores.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal))
    assert scores[0].std() > 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sinusoidal(4, 7), "width is 7, expected an even number above 0"),
        (lambda: sinusoidal(4, 0), "width is 0, expected an even number above 0"),
        (lambda: rotary(torch.zeros(2, 3)), "width is 3, expected an even number above 0"),
        (lambda: sinusoidal(-1, 4), "T=-1 positions from 0 on, expected nothing below 0"),
        (lambda: rotary(torch.zeros(2, 4), offset=-3), "positions from -3 on"),
        (lambda: sinusoidal(4, 4, base=0.0), r"base=0\.0, expected more than 0"),
    ],
)
def test_errors_say_what_was_expected(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_callers_default_device_has_no_say():
    x = torch.randn(3, 6)
    with torch.device("meta"):
        torch.testing.assert_close(rotary(x, offset=123), slow_rotary(x, offset=123))
        assert sinusoidal(3, 4).device.type == "cpu"
