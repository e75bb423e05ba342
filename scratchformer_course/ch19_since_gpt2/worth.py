"""The changes since GPT-2, and what each is worth: from runs that `lab/since_gpt2.py` stored."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# A change of GPT-2's model -> its switch in `page_model/speedrun.py`
CHANGES: dict[str, dict[str, Any]] = {
    "rmsnorm": {"norm": "rms"},
    "rotary": {"positions": "rotary_halves"},
    "swiglu": {"activation": "swiglu"},
    "grouped": {"n_kv_heads": 1},
    "qk_norm": {"qk_norm_weights": True},
    "no_bias": {"bias": False},
    "window": {"window": 8},
    "experts": {"n_experts": 8},
}
MODERN = ("rmsnorm", "rotary", "swiglu", "grouped", "qk_norm", "no_bias")  # together: Llama's
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}  # of 95%, by runs


class Difference(NamedTuple):
    """A mean of differences seed by seed, and the half of its interval of 95%."""

    mean: float
    half: float

    @property
    def decides(self) -> bool:
        """Whether zero lies outside the interval."""
        return abs(self.mean) > self.half


def difference(after: Sequence[float], before: Sequence[float]) -> Difference:
    """How much lower or higher the first losses are, paired by seed."""
    pairs = [a - b for a, b in zip(after, before, strict=False)]
    spread = statistics.stdev(pairs) / len(pairs) ** 0.5
    return Difference(statistics.mean(pairs), STUDENT[len(pairs)] * spread)


def _sides(losses: Mapping[str, Sequence[float]], group: str) -> dict[str, tuple]:
    """For each change the losses with it and without it; all but one of "company" have the six."""
    base = losses.get("none", [])
    pairs = {change: (losses.get(change, []), base) for change in CHANGES}
    if group == "company":  # runs that bear the name of one of the six are without it
        pairs |= {change: pairs[change][::-1] for change in MODERN}
    return {c: pair for c, pair in pairs.items() if min(map(len, pair)) > 1}


def worth(stored: Mapping) -> dict[str, dict[str, Difference]]:
    """For each change what it does to the loss: alone, and in the company of the other five.

    Less than zero is better. A change with fewer than two seeds is left out.
    """
    changes = {}
    for group in ("alone", "company"):
        losses = {name: model["validation"] for name, model in stored.get(group, {}).items()}
        changes[group] = {c: difference(*pair) for c, pair in _sides(losses, group).items()}
    return changes
