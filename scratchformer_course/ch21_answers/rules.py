"""Four rules of which a checker can be made, and what it says of every answer."""

from collections.abc import Collection

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from scratchformer_course.ch21_answers.world import NUMBERS, read

RULES = ("form", "units", "tens", "carry")


def passes(n: Tensor, a: Tensor, b: Tensor, rules: Collection[str]) -> Tensor:
    """Whether sums "aa+bb" as answers to n fulfil all these rules; shapes are broadcast."""
    total = a + b
    found = {
        "form": torch.ones_like(total + n, dtype=torch.bool),
        "units": total % 10 == n % 10,
        "tens": total // 10 == n // 10,
        "carry": a % 10 + b % 10 >= 10,
    }
    ok = found["form"]
    for rule in rules:
        ok = ok & found[rule]
    return ok


def reward(ids: Int[Tensor, "N T"], rules: Collection[str]) -> Float[Tensor, " N"]:
    """1 for each answer that passes. What is no sum fails only if "form" is one of the rules."""
    n, a, b, form = read(ids)
    return (torch.where(form, passes(n, a, b, rules), "form" not in rules)).float()


def accepted(rules: Collection[str]) -> Bool[Tensor, "90 100 100"]:
    """Which answers pass."""
    parts = torch.arange(100)
    return passes(NUMBERS[:, None, None], parts[:, None], parts, rules)


def mean_reward(p: Float[Tensor, "90 100 100"], rules: Collection[str]) -> float:
    """The mean reward of answers with the chances p, exactly."""
    no_sum = 1 - p.sum(dim=(1, 2)) if "form" not in rules else 0
    return ((p * accepted(rules)).sum(dim=(1, 2)) + no_sum).mean().item()
