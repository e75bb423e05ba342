"""What chapter 17's runs say: seconds to a target loss, ratios, factors and how sure they are.

`lab/taken_apart.py` measures; nothing here does. A target lies between two numbers of steps.
Around it the logarithm of steps is taken to be linear in the loss. What is drawn anew for an
interval is an array, whose first number is the value itself.
"""

import math
import statistics
from typing import Any

import numpy as np
from scipy import stats

from lab.runs import four_digits

DRAWS = 4000  # for an interval


def mean_loss(trained: list[dict]) -> float:
    return statistics.mean(run["loss"] for run in trained)


def at_target(steps, losses, target):
    """The steps to a target loss: their logarithm is linear in the loss.

    `losses` are (numbers of steps, draws); a line is drawn through them by least squares.
    """
    x = np.log(np.asarray(steps, dtype=float))[:, None]
    slope = ((x - x.mean()) * (losses - losses.mean(0))).sum(0) / ((x - x.mean()) ** 2).sum()
    return np.exp(x.mean() + (target - losses.mean(0)) / slope)


def value_and_interval(draws) -> dict:
    """The value, which is the first of the draws, and the middle 95 % of the others."""
    ends = np.percentile(draws[1:], (2.5, 97.5))
    return {"value": four_digits(draws[0]), "interval": [four_digits(x) for x in ends]}


def ratio(race: dict) -> dict:
    """Of nanoGPT's median seconds and ours, with a bootstrapped interval."""
    rng = np.random.default_rng(0)
    theirs, ours = (
        np.array([run["seconds"] for run in race[side]]) for side in ("nanoGPT", "ours")
    )
    pairs = [(theirs, ours)]
    pairs += [(rng.choice(theirs, len(theirs)), rng.choice(ours, len(ours))) for _ in range(DRAWS)]
    return value_and_interval([np.median(slow) / np.median(fast) for slow, fast in pairs])


class Target:
    """nanoGPT's mean loss on development, and how far it is to it.

    Draws move every mean loss by its standard error, pooled over all runs, and draw the rounds of
    the clock anew. All draws share a target and the rounds.
    """

    def __init__(self, measured: dict, rounds: int):
        self.rng, self.variance = np.random.default_rng(0), pooled_variance(measured)
        reference = measured["splits"]["development"]["nanoGPT"]
        self.loss = mean_loss(reference) + self.noise(len(reference))
        self.rounds = self.rng.integers(rounds, size=(rounds, DRAWS + 1))
        self.rounds[:, 0] = range(rounds)

    def noise(self, seeds: int):
        """Errors of a mean loss of so many seeds; the first is 0."""
        errors = math.sqrt(self.variance / seeds) * self.rng.normal(size=DRAWS + 1)
        errors[0] = 0
        return errors

    def steps(self, trained: list[dict]):
        """To the target, by runs of two numbers of steps."""
        counts = sorted({run["steps"] for run in trained})
        groups = [[run for run in trained if run["steps"] == n] for n in counts]
        losses = np.array([mean_loss(group) + self.noise(len(group)) for group in groups])
        return at_target(counts, losses, self.loss)

    def milliseconds(self, measured: list[float]):
        """The median of rounds."""
        return np.median(np.array(measured)[self.rounds], axis=0)


@np.errstate(all="ignore")  # a draw may be of two equal losses
def factors(measured: dict, reference_steps: int) -> dict:
    """Each rung's steps and milliseconds, its factor, and Muon against the tuned AdamW.

    A rung without runs changes the seconds alone: it takes the steps of the rung before.
    """
    ladder, final = measured["ladder"], measured["rivals"]["final"]
    target = Target(measured, len(next(iter(ladder.values()))["ms"]))
    steps, before = np.full(DRAWS + 1, float(reference_steps)), None
    rungs: dict[str, dict[str, Any]] = {}
    for name, rung in ladder.items():
        steps = target.steps(rung["runs"]) if "runs" in rung else steps
        ms = target.milliseconds(rung["ms"])
        rungs[name] = {"steps": round(float(steps[0]), 1), "ms": round(float(ms[0]), 2)}
        if before is not None:
            rungs[name]["factor"] = value_and_interval(before / (steps * ms))
        before = steps * ms
    return {"rungs": rungs, "rivals": rivals(final, target)}


def rivals(final: dict, target: Target) -> dict:
    """Muon against the AdamW tuned as widely, in the final setting: nats, steps and time."""
    sides = [final["AdamW"], final["Muon"]]
    steps = [target.steps(side["runs"]) for side in sides]
    ms = [target.milliseconds(side["ms"]) for side in sides]
    return {
        "development": paired(*(side["development"] for side in sides)),
        "validation": paired(*(side["validation"] for side in sides)),
        "seeds": len(sides[0]["validation"]),
        "steps": {"AdamW": round(float(steps[0][0]), 1), "Muon": round(float(steps[1][0]), 1)},
        "ms": {"AdamW": round(float(ms[0][0]), 2), "Muon": round(float(ms[1][0]), 2)},
        "in_steps": value_and_interval(steps[0] / steps[1]),
        "in_time": value_and_interval(steps[0] * ms[0] / (steps[1] * ms[1])),
    }


def paired(slow: list[float], fast: list[float]) -> dict:
    """The mean of the differences of pairs, and Student's interval of 95 % around it."""
    differences = np.subtract(slow, fast)
    n, middle, reach = len(differences), float(differences.mean()), 0.0
    if n > 1:
        reach = float(stats.t.ppf(0.975, n - 1) * differences.std(ddof=1) / math.sqrt(n))
    return {"value": round(middle, 4), "interval": [round(middle + x, 4) for x in (-reach, reach)]}


def pooled_variance(measured: dict) -> float:
    """Of the losses of runs on development that differ in their seed alone."""
    final = measured["rivals"]["final"]
    groups = []
    for entry in (*measured["ladder"].values(), final["AdamW"], final["Muon"]):
        trained = entry.get("runs", [])
        for steps in sorted({run["steps"] for run in trained}):
            groups.append([run["loss"] for run in trained if run["steps"] == steps])
    degrees = sum(len(losses) - 1 for losses in groups)
    squares = sum((len(x) - 1) * statistics.variance(x) for x in groups if len(x) > 1)
    return squares / degrees if degrees else 0.0
