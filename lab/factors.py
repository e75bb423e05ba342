"""What chapter 17's runs say: seconds to a target loss, ratios, factors and how sure they are.

`lab/taken_apart.py` measures; nothing here does. A target lies between two numbers of steps.
Around it the logarithm of steps, or of seconds, is taken to be linear in the loss.
"""

import math
import statistics

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


def factors(found: dict, groups: dict, elsewhere: dict, reference_steps: int) -> dict:
    """Steps, milliseconds and seconds to the target of every rung, each against the one before.

    `groups` has every rung's factor, None for the first, which takes `reference_steps`.
    `elsewhere` has the idea and the place, (idea, place), of what was measured beside the ladder.
    The intervals are of draws that move every mean loss by its standard error, pooled over all
    rungs, and that draw the rounds of the clock anew. All rungs share a draw's target and rounds.
    """
    rng, ladder = np.random.default_rng(0), found["ladder"]
    names, last = list(groups), list(groups)[-1]
    reference = found["splits"]["development"]["nanoGPT"]
    target, variance = mean_loss(reference), pooled_variance(found)
    targets = target + math.sqrt(variance / len(reference)) * rng.normal(size=DRAWS)
    rounds = rng.integers(len(ladder[names[0]]["ms"]), size=(len(ladder[names[0]]["ms"]), DRAWS))

    def to_target(entry: dict, before: tuple) -> tuple:
        """Steps, milliseconds a step, and draws of the seconds and of the steps."""
        steps, _, _, drawn = before  # what changes seconds alone has no runs of its own
        if "runs" in entry:
            counts = sorted({run["steps"] for run in entry["runs"]})
            seeds = len(entry["runs"]) // len(counts)
            means = [mean_loss([r for r in entry["runs"] if r["steps"] == c]) for c in counts]
            noise = math.sqrt(variance / seeds) * rng.normal(size=(len(counts), DRAWS))
            steps = float(at_target(counts, means, target))
            drawn = at_target(counts, np.array(means)[:, None] + noise, targets)
        drawn_ms = np.median(np.array(entry["ms"])[rounds], axis=0)
        return steps, statistics.median(entry["ms"]), drawn * drawn_ms / 1000, drawn

    def quotient(slow: tuple, fast: tuple) -> dict:
        value = slow[0] * slow[1] / (fast[0] * fast[1])
        return {"value": four_digits(value), "interval": interval(slow[2] / fast[2])}

    measured, rung = {}, (reference_steps, None, None, reference_steps)
    for name in names:
        rung = measured[name] = to_target(ladder[name], rung)
    told, products = {}, dict.fromkeys(filter(None, groups.values()), (1.0, 1.0))
    for before, name in zip([None, *names], names, strict=False):
        steps, ms, drawn, _ = measured[name]
        told[name] = {"steps": round(steps, 1), "ms": round(ms, 2)}
        told[name]["seconds"] = four_digits(steps * ms / 1000)
        told[name]["interval"] = interval(drawn)
        if before:
            slow = measured[before]
            told[name]["factor"] = quotient(slow, measured[name])
            value, draws = products[groups[name]]
            value *= slow[0] * slow[1] / (steps * ms)
            products[groups[name]] = value, draws * slow[2] / drawn
    places = {}
    for name, (idea, place) in elsewhere.items():
        moved = to_target(found["elsewhere"][name], rung)
        pair = (measured[place], moved) if place in groups else (moved, measured[last])
        places[name] = {"idea": idea, **quotient(*pair)}
    return {
        "target": round(target, 4),
        "noise": round(math.sqrt(variance), 4),
        "rungs": told,
        "products": {
            name: {"value": four_digits(value), "interval": interval(draws)}
            for name, (value, draws) in products.items()
        },
        "total": quotient(measured[names[0]], measured[last]),
        "elsewhere": places,
    }


def rivals(found: dict) -> dict:
    """Muon against the AdamW tuned as widely, in the final setting: nats, steps and time.

    The difference of the two mean losses has Student's interval; runs with one seed make a pair.
    The quotients of steps and of seconds to nanoGPT's loss have intervals of draws, like those of
    `factors`.
    """
    rng, reference = np.random.default_rng(0), found["splits"]["development"]["nanoGPT"]
    target, variance = mean_loss(reference), pooled_variance(found)
    targets = target + math.sqrt(variance / len(reference)) * rng.normal(size=DRAWS)
    sides = sides_of(found["rivals"]["final"])
    told: dict = {
        split: paired(*(side[split] for side in sides)) for split in ("development", "validation")
    }
    steps, drawn, ms, drawn_ms = [], [], [], []
    rounds = rng.integers(len(sides[0]["ms"]), size=(len(sides[0]["ms"]), DRAWS))
    for side in sides:
        counts = sorted({run["steps"] for run in side["runs"]})
        by_count = [[r for r in side["runs"] if r["steps"] == c] for c in counts]
        means = np.array([mean_loss(of_count) for of_count in by_count])
        noise = math.sqrt(variance / len(by_count[0])) * rng.normal(size=(len(counts), DRAWS))
        steps.append(float(at_target(counts, means, target)))
        drawn.append(at_target(counts, means[:, None] + noise, targets))
        ms.append(statistics.median(side["ms"]))
        drawn_ms.append(np.median(np.array(side["ms"])[rounds], axis=0))
    in_steps, by_ms = steps[0] / steps[1], ms[0] / ms[1]
    drawn_steps = drawn[0] / drawn[1]
    drawn_time = drawn_steps * drawn_ms[0] / drawn_ms[1]
    return told | {
        "seeds": len(sides[0]["validation"]),
        "steps": {"AdamW": round(steps[0], 1), "Muon": round(steps[1], 1)},
        "ms": {"AdamW": round(ms[0], 2), "Muon": round(ms[1], 2)},
        "in_steps": {"value": four_digits(in_steps), "interval": interval(drawn_steps)},
        "in_time": {"value": four_digits(in_steps * by_ms), "interval": interval(drawn_time)},
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
    """The two rivals at a place."""
    return [side for side in place.values() if isinstance(side, dict)]
