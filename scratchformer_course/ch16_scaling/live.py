"""A scaling law, live: its runs, its curves, and what it wants for a budget, each with its doubt.

All numbers are those of the page: the fit, the resampled fits, and the runs that tested them.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import quantiles
from typing import Any

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.numbers import check_finite

Number = float | int
Run = Sequence[Number]  # parameters, characters read, loss
Law = Sequence[Number]  # E, A, alpha, B, beta
COLOURS = ("query", "key", "value", "stream")  # of the sizes, from the smallest
BUDGETS = [m * 10.0**e for e in (10, 11, 12) for m in (1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8)]
BUDGETS.append(1e13)


def law(
    runs: Sequence[Run],
    fitted: Law,
    resampled: Sequence[Law],
    missed: Sequence[Number],
    floor: Number,
    tested: Mapping[Number, Sequence[Sequence[Number]]],
    larger: Run,
) -> LiveFigure:
    """The law L(N, D) = E + A / N^alpha + B / D^beta, its runs and its forecasts.

    `runs` were fitted; `resampled` are fits of a bootstrap, and `missed` holds for each of them
    a logarithm by which a run may miss it. `floor` is the least loss possible. `tested` has for a
    budget of 6 N D operations the sizes that were trained and their losses. `larger` is a run
    that the law forecasts. Raises ValueError for numbers that are not finite, sizes, losses
    and coefficients that are not positive, more than four sizes, fewer than two resampled laws
    that choose a size, or another number of `missed`.
    """
    pairs = [pair for some in tested.values() for pair in some]
    _check_rows([*runs, larger], pairs, [fitted, *resampled])
    for name, numbers in (("missed", missed), ("floor", [floor]), ("the tested budgets", tested)):
        check_finite(name, numbers)
    positive = [floor, *tested, *fitted[1:], *(x for row in (*runs, larger, *pairs) for x in row)]
    if min(positive) <= 0:
        raise ValueError(
            f"got {min(positive)}, but sizes, losses, budgets and coefficients must be positive"
        )
    _check_counts(runs, tested, resampled, missed)
    settings = {
        "runs": [[round(n), round(d), _short(loss)] for n, d, loss in runs],
        "law": [*map(_short, fitted)],
        "resampled": [[*map(_short, each)] for each in resampled],
        "missed": [round(x, 5) for x in missed],
        "floor": _short(floor),
        "tested": [
            [float(budget), [[n, losses] for n, losses in _by_size(pairs).items()]]
            for budget, pairs in sorted(tested.items())
        ],
        "larger": [round(larger[0]), round(larger[1]), _short(larger[2])],
        "budgets": sorted({*BUDGETS, *map(float, tested)}),
    }
    files = ["ch16_scaling/live.css", "ch16_scaling/live.js"]
    return LiveFigure("law", settings, _still(settings), files)


def _check_rows(runs: Sequence[Run], pairs: Sequence[Run], laws: Sequence[Law]) -> None:
    """Raise ValueError for a row with another count of numbers, or with one that is not finite."""
    for name, rows, wanted in (
        ("runs", runs, ("parameters", "characters", "loss")),
        ("tested", pairs, ("parameters", "loss")),
        ("laws", laws, ("E", "A", "alpha", "B", "beta")),
    ):
        for row in rows:
            if len(row) != len(wanted):
                raise ValueError(f"{name} has the row {row!r}, expected {', '.join(wanted)}")
            check_finite(f"a row of {name}", row)


def _check_counts(
    runs: Sequence[Run],
    tested: Mapping[Number, Any],
    resampled: Sequence[Law],
    missed: Sequence[Number],
) -> None:
    """Raise ValueError for fewer or more than the figure can draw."""
    if not runs or not tested or not all(tested.values()):
        raise ValueError("got no runs or nothing tested, expected one or more for each budget")
    if (n := len({row[0] for row in runs})) > len(COLOURS):
        raise ValueError(f"got runs of {n} sizes, expected 1 to {len(COLOURS)}")
    whole = sum(min(each[1:]) > 0 for each in resampled)  # the others choose no size
    if whole < 2 or len(missed) != len(resampled):
        raise ValueError(
            f"got {len(resampled)} resampled laws, {whole} of them with positive A, alpha, B and "
            f"beta, and {len(missed)} numbers missed, expected at least two and one for each"
        )


def _by_size(pairs: Sequence[Sequence[Number]]) -> dict[int, list[float]]:
    """The losses of each size, from the smallest size."""
    found: dict[int, list[float]] = {}
    for n, loss in sorted(pairs, key=tuple):
        found.setdefault(round(n), []).append(round(loss, 3))
    return found


def _short(x: Number) -> float:
    """Six digits: more than a drawing or a number on screen needs."""
    return float(f"{x:.6g}")


def _loss(law: Law, n: Number, d: Number) -> float:
    E, A, alpha, B, beta = law
    return E + A / n**alpha + B / d**beta


def _best(law: Law, budget: Number) -> float:
    """The size of least loss for 6 N D operations; no law without both prices has one."""
    _, A, alpha, B, beta = law
    if not (A > 0 and alpha > 0 and B > 0 and beta > 0):
        return math.nan
    return (alpha * A / (beta * B) * (budget / 6) ** beta) ** (1 / (alpha + beta))


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """The range that holds 95 % of the values, as NumPy's percentiles have it."""
    cuts = quantiles([x for x in values if not math.isnan(x)], n=40, method="inclusive")
    return cuts[0], cuts[-1]


def _forecast(s: dict, n: Number, d: Number) -> str:
    """The law's loss and its interval, which adds a run's miss to each resampled curve."""
    around = [
        _loss(each, n, d) * math.exp(miss)
        for each, miss in zip(s["resampled"], s["missed"], strict=True)
    ]
    low, high = _interval(around)
    return f"{_loss(s['law'], n, d):.2f} ({low:.2f} to {high:.2f})"


def _still(s: dict) -> str:
    """The runs and the law as a drawing, the tested budgets as a table."""
    rows = ""
    for budget, pairs in s["tested"]:
        low, high = _interval([_best(each, budget) for each in s["resampled"]])
        n = _best(s["law"], budget)
        measured = "; ".join(
            f"{size:,}: {', '.join(f'{loss:.2f}' for loss in losses)}" for size, losses in pairs
        )
        rows += (
            f"<tr><th scope='row'>{budget / 1e9:,g} billion</th><td>{n:,.0f} ({low:,.0f} to "
            f"{high:,.0f})</td><td>{_forecast(s, n, budget / 6 / n)}</td><td>{measured}</td></tr>"
        )
    n, d, measured = s["larger"]
    return (
        "<p>This figure is live where JavaScript runs, and in a notebook after its cell has run. "
        "Without it, the drawing shows the runs and the law, and the table what the law wants for "
        f"two budgets.</p>{_drawing(s)}<table><thead><tr><th scope='col'>operations</th><th "
        "scope='col'>size it chooses</th><th scope='col'>forecast loss</th><th scope='col'>"
        f"measured, by size</th></tr></thead><tbody>{rows}</tbody></table><p>For a larger model of "
        f"{n:,} parameters the law forecasts {_forecast(s, n, d)}. Measured: {measured:.2f}.</p>"
    )


def _drawing(s: dict) -> str:
    d = Drawing(470, 300)
    texts = [run[1] for run in s["runs"]]
    left, right = math.log(min(texts) / 1.2), math.log(max(texts) * 1.2)
    highest = 1.15 * max(run[2] for run in s["runs"])
    sizes = sorted({run[0] for run in s["runs"]})

    def at(text: Number, loss: Number) -> tuple[float, float]:
        return (
            54 + 400 * (math.log(text) - left) / (right - left),
            250 - 236 * loss / highest,
        )

    d.line([(54, 14), (54, 250), (454, 250)], "muted", width=1.2)
    for loss in (0, 0.5, 1):
        d.text(46, at(texts[0], loss)[1], f"{loss:g}", "muted", anchor="end", size=13)
    for text in sorted(set(texts)):
        d.text(at(text, 0)[0], 266, f"{text / 1e6:.1f} M", "muted", size=13)
    d.text(254, 288, "characters read", "muted", size=13)
    d.text(12, 130, "loss (nats)", "muted", size=13, turn=-90)
    for i, n in enumerate(sizes):
        grid = [math.exp(left + (right - left) * k / 30) for k in range(31)]
        d.line([at(text, _loss(s["law"], n, text)) for text in grid], COLOURS[i])
        d.text(440, 24 + 18 * i, f"{n:,} parameters", COLOURS[i], anchor="end", size=13)
        for run in s["runs"]:
            if run[0] == n:
                d.circle(*at(run[1], run[2]), 4, COLOURS[i], fill=0.7)
    y = at(texts[0], s["floor"])[1]
    d.line([(54, y), (454, y)], "muted", dashed=True)
    d.text(60, y + 11, "best possible", "muted", anchor="start", size=13)
    return d.svg(
        f"Falling curves of loss against characters read, one for each of {len(sizes)} sizes, with "
        "the runs as marks. A dashed line at the bottom is the least loss possible."
    )
