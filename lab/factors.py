"""What chapter 17's runs say: seconds to a target loss, ratios, factors and how sure they are.

`lab/taken_apart.py` measures; nothing here does. A target lies between two numbers of steps.
Around it the logarithm of steps, or of seconds, is taken to be linear in the loss.
"""

import math
import statistics
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import stats

from lab.runs import four_digits

DRAWS = 4000  # for an interval


def mean_loss(trained: list[dict], key: str = "loss") -> float:
    return statistics.mean(run[key] for run in trained)


def at_target(amounts, losses, target):
    """How much of something (steps, seconds) has the target loss: log amount is linear in loss.

    `amounts` and `losses` are (n, …), least amount first, and so many draws each; a line is drawn
    through them by least squares.
    """
    x, y = np.log(np.asarray(amounts, dtype=float)), np.asarray(losses, dtype=float)
    x = x.reshape(x.shape + (1,) * (y.ndim - x.ndim))
    slope = ((x - x.mean(0)) * (y - y.mean(0))).sum(0) / ((x - x.mean(0)) ** 2).sum(0)
    return np.exp(x.mean(0) + (target - y.mean(0)) / slope)


def interval(draws) -> list[float]:
    """The middle 95 % of draws, to four digits."""
    return [four_digits(x) for x in np.percentile(draws, (2.5, 97.5))]


def race_summary(race: dict) -> dict:
    """The ratio of medians, and the seconds at nanoGPT's mean loss, with bootstrapped intervals."""
    rng = np.random.default_rng(0)
    counts = sorted({run["steps"] for run in race["ours"]})
    theirs = np.array([[run["seconds"], run["val_loss"]] for run in race["nanoGPT"]])
    ours = np.array(  # (numbers of steps, seeds, 2)
        [[[run["seconds"], run["val_loss"]] for run in race["ours"] if run["steps"] == n]
         for n in counts]
    )  # fmt: skip

    def figures(theirs, ours):
        seconds, losses = np.median(ours[..., 0], 1), ours[..., 1].mean(1)
        ratio = np.median(theirs[:, 0]) / seconds[counts.index(race["steps"])]
        reached = at_target(seconds, losses, theirs[:, 1].mean())
        return ratio, reached, np.median(theirs[:, 0]) / reached

    draws = np.array([
        figures(rng.choice(theirs, len(theirs)), rng.choice(ours, ours.shape[1], axis=1))
        for _ in range(DRAWS)
    ]).T  # fmt: skip
    names = ("ratio", "seconds_at_target", "ratio_at_target")
    found = {
        name: {"value": four_digits(value), "interval": interval(of_draws)}
        for name, value, of_draws in zip(names, figures(theirs, ours), draws, strict=True)
    }
    mine = ours[counts.index(race["steps"]), :, 0]
    extremes = theirs[:, 0].min() / mine.max(), theirs[:, 0].max() / mine.min()
    found["ratio"]["range"] = [four_digits(x) for x in extremes]
    return found | {"target": round(float(theirs[:, 1].mean()), 4)}


@dataclass(frozen=True)
class Way:
    """How far it is to a target loss: steps, milliseconds a step, and draws of both."""

    steps: float
    ms: float
    drawn_steps: np.ndarray | float
    drawn_ms: np.ndarray

    @property
    def seconds(self) -> float:
        return self.steps * self.ms / 1000

    @property
    def drawn_seconds(self) -> np.ndarray:
        return self.drawn_steps * self.drawn_ms / 1000


class Target:
    """nanoGPT's mean loss on development, and how far it is to it.

    Draws move every mean loss by its standard error, pooled over all runs, and draw the rounds of
    the clock anew. All ways share a draw's target and rounds.
    """

    def __init__(self, found: dict, rounds: int):
        self.rng = np.random.default_rng(0)
        reference = found["splits"]["development"]["nanoGPT"]
        self.loss, self.variance = mean_loss(reference), pooled_variance(found)
        error = math.sqrt(self.variance / len(reference))
        self.drawn = self.loss + error * self.rng.normal(size=DRAWS)
        self.rounds = self.rng.integers(rounds, size=(rounds, DRAWS))

    def way(self, entry: dict, before: Way) -> Way:
        """By an entry's runs; what changes seconds alone has none, and the steps of `before`."""
        drawn_ms = np.median(np.array(entry["ms"])[self.rounds], axis=0)
        ms = statistics.median(entry["ms"])
        if "runs" not in entry:
            return Way(before.steps, ms, before.drawn_steps, drawn_ms)
        counts = sorted({run["steps"] for run in entry["runs"]})
        means = [mean_loss([run for run in entry["runs"] if run["steps"] == n]) for n in counts]
        error = math.sqrt(self.variance / (len(entry["runs"]) // len(counts)))
        noise = error * self.rng.normal(size=(len(counts), DRAWS))
        drawn = at_target(counts, np.array(means)[:, None] + noise, self.drawn)
        return Way(float(at_target(counts, means, self.loss)), ms, drawn, drawn_ms)


def quotient(*pairs: tuple[Way, Way]) -> dict:
    """How many times as long the first of a pair takes: the product over all pairs."""
    value = math.prod(slow.seconds / fast.seconds for slow, fast in pairs)
    draws = math.prod(slow.drawn_seconds / fast.drawn_seconds for slow, fast in pairs)
    return {"value": four_digits(value), "interval": interval(draws)}


def factors(found: dict, kinds: dict, elsewhere: dict, reference_steps: int) -> dict:
    """Steps, milliseconds and seconds to the target of every rung, each against the one before.

    `kinds` has the kind of every rung's factor, None for the first, which takes `reference_steps`.
    `elsewhere` has the idea and the place, (idea, place), of what was measured beside the ladder.
    """
    target = Target(found, len(found["ladder"][next(iter(kinds))]["ms"]))
    ways: dict[str, Way] = {}
    last = Way(reference_steps, 0.0, reference_steps, np.zeros(DRAWS))
    for name in kinds:
        ways[name] = last = target.way(found["ladder"][name], last)
    pairs = {name: (ways[before], ways[name]) for before, name in pairwise(kinds)}
    places = {}
    for name, (idea, place) in elsewhere.items():
        moved = target.way(found["elsewhere"][name], last)
        pair = (ways[place], moved) if place in kinds else (moved, last)
        places[name] = {"idea": idea, **quotient(pair)}
    return {
        "target": round(target.loss, 4),
        "noise": round(math.sqrt(target.variance), 4),
        "rungs": {
            name: {
                "steps": round(way.steps, 1),
                "ms": round(way.ms, 2),
                "seconds": four_digits(way.seconds),
                "interval": interval(way.drawn_seconds),
            }
            | ({"factor": quotient(pairs[name])} if name in pairs else {})
            for name, way in ways.items()
        },
        "products": {
            kind: quotient(*(pair for name, pair in pairs.items() if kinds[name] == kind))
            for kind in dict.fromkeys(filter(None, kinds.values()))
        },
        "total": quotient((ways[next(iter(kinds))], last)),
        "elsewhere": places,
    }


def rivals(found: dict) -> dict:
    """Muon against the AdamW tuned as widely, in the final setting: nats, steps and time.

    The difference of the two mean losses has Student's interval; runs with one seed make a pair.
    """
    sides = dict(zip(("AdamW", "Muon"), sides_of(found["rivals"]["final"]), strict=True))
    target = Target(found, len(sides["AdamW"]["ms"]))
    nowhere = Way(0.0, 0.0, 0.0, np.zeros(DRAWS))  # both have runs
    ways = {name: target.way(side, nowhere) for name, side in sides.items()}
    slow, fast = ways.values()
    in_steps = {
        "value": four_digits(slow.steps / fast.steps),
        "interval": interval(slow.drawn_steps / fast.drawn_steps),
    }
    return {
        split: paired(*(side[split] for side in sides.values()))
        for split in ("development", "validation")
    } | {
        "seeds": len(sides["AdamW"]["validation"]),
        "steps": {name: round(way.steps, 1) for name, way in ways.items()},
        "ms": {name: round(way.ms, 2) for name, way in ways.items()},
        "in_steps": in_steps,
        "in_time": quotient((slow, fast)),
    }


def paired(slow: list[float], fast: list[float]) -> dict:
    """The mean of the differences of pairs, and Student's interval of 95 % around it."""
    differences = np.subtract(slow, fast)
    n = len(differences)
    middle = float(differences.mean())
    reach = 0.0
    if n > 1:
        reach = float(stats.t.ppf(0.975, n - 1) * differences.std(ddof=1) / math.sqrt(n))
    return {"value": round(middle, 4), "interval": [round(middle + x, 4) for x in (-reach, reach)]}


def pooled_variance(found: dict) -> float:
    """Of the losses of runs that differ in their seed alone."""
    entries = [*found["ladder"].values(), *found["elsewhere"].values()]
    entries += [side for place in found.get("rivals", {}).values() for side in sides_of(place)]
    groups = [
        [run["loss"] for run in entry["runs"] if run["steps"] == steps]
        for entry in entries
        for steps in sorted({run["steps"] for run in entry.get("runs", ())})
    ]
    degrees = sum(len(losses) - 1 for losses in groups)
    squares = sum((len(x) - 1) * statistics.variance(x) for x in groups if len(x) > 1)
    return squares / degrees if degrees else 0.0


def sides_of(place: dict) -> list[dict]:
    """The two rivals at a place, as far as they are there."""
    return [place[side] for side in ("AdamW", "Muon") if side in place]
