"""The learning rate: its formula at every step, never 0 on an update, and no off-by-one."""

import math
from itertools import pairwise

import pytest

from scratchformer.training import learning_rate


def curve(steps=10, warmup=4, lr=0.5, **more):
    return [learning_rate(s, lr=lr, steps=steps, warmup=warmup, **more) for s in range(steps)]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("linear", [0.1, 0.2, 0.3, 0.4, 0.5, 5 / 12, 4 / 12, 3 / 12, 2 / 12, 1 / 12]),
        ("constant", [0.1, 0.2, 0.3, 0.4] + [0.5] * 6),
        (
            "cosine",
            [0.1, 0.2, 0.3, 0.4] + [(1 + math.cos(math.pi * k / 6)) / 4 for k in range(6)],
        ),
    ],
)
def test_rate_is_the_formula_at_every_step_and_zero_after_the_last(schedule, expected):
    assert curve(schedule=schedule) == pytest.approx(expected)
    later = learning_rate(11, lr=0.5, steps=10, warmup=4, schedule=schedule)
    assert later == pytest.approx(0.5 if schedule == "constant" else 0.0)


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
@pytest.mark.parametrize(("steps", "warmup"), [(1, 0), (2, 1), (100, 20)])
def test_no_update_has_rate_zero_and_the_peak_comes_once_the_warmup_is_over(
    schedule, steps, warmup
):
    rates = curve(steps, warmup, schedule=schedule)
    assert min(rates) > 0 and max(rates) == pytest.approx(0.5)
    assert rates[warmup] == pytest.approx(0.5)
    assert all(a < b for a, b in pairwise(rates[: warmup + 1]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"schedule": "step"}, "schedule='step', expected one of linear, cosine"),
        ({"warmup": 10}, "warmup=10, expected 0 or more and fewer than steps=10"),
        ({"warmup": -1}, "warmup=-1"),
        ({"step": -1}, "step=-1, expected 0 or more"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, message):
    settings = {"step": 0, "lr": 0.5, "steps": 10, "warmup": 4} | wrong
    with pytest.raises(ValueError, match=message):
        learning_rate(settings.pop("step"), **settings)
