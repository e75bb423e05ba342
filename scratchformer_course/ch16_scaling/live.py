"""A budget to spend, live: choose a size, train it by the law, and see what a wrong size costs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple

from scratchformer_course.ch16_scaling.joint import JointLaw
from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

Number = float | int
BUDGETS = [m * 10.0**e for e in (11, 12) for m in (1, 1.6, 2.5, 4, 6.3)] + [1e13]
SIZES = [round(4000 * 1.2**i) for i in range(31)]  # from 4,000 to 950,000


def law(joint: JointLaw, tested: Mapping[Number, Sequence[Sequence[Number]]]) -> LiveFigure:
    """The law of `joint` for budgets of 6 N D operations.

    `tested` has for a budget the sizes that were trained, and their losses.
    """
    settings = {
        "law": [float(f"{x:.6g}") for x in astuple(joint)],
        "tested": [
            [float(budget), [[round(n), round(loss, 3)] for n, loss in sorted(some, key=tuple)]]
            for budget, some in sorted(tested.items())
        ],
        "budgets": sorted({*BUDGETS, *map(float, tested)}),
        "sizes": SIZES,
    }
    return LiveFigure("law", settings, _still(settings))


def wasted(joint: JointLaw, budget: Number, n: Number) -> float:
    """The share of the budget that the best size does not need for the loss of size n."""
    wanted = joint(n, budget / 6 / n)
    low, high = math.log(budget) - 30, math.log(budget)
    for _ in range(60):
        middle = (low + high) / 2
        size = joint.best_size(math.exp(middle))
        if joint(size, math.exp(middle) / 6 / size) > wanted:
            low = middle
        else:
            high = middle
    return max(0.0, 1 - math.exp(high) / budget)  # rounding must not make it -0 %


def _still(s: dict) -> str:
    """A table of what the best size, a third of it and three times as much reach."""
    joint, rows = JointLaw(*s["law"]), []
    for budget in s["budgets"][::2]:
        n = joint.best_size(budget)
        cells = [
            f"{joint(size, budget / 6 / size):.3f} ({wasted(joint, budget, size):.0%})"
            for size in (n / 3, n, 3 * n)
        ]
        rows.append((f"{budget / 1e9:,.0f} billion", f"{n:,.0f}", *cells))
    head = ("operations", "best size", "a third of it", "the best", "three times")
    return (
        "<p>This figure is live where JavaScript runs, and in a notebook after its cell has run. "
        "Without it, the drawing shows the law for one budget; the table gives three sizes for "
        "each budget and the share that each wastes.</p>"
        f"{_drawing(s)}{table(head, rows)}"
    )


def _drawing(s: dict) -> str:
    d = Drawing(470, 270)
    budget, pairs = s["tested"][0]
    span = [s["sizes"][0], s["sizes"][-1]]
    joint = JointLaw(*s["law"])
    n = joint.best_size(budget)
    low, high = joint.E, 2.2 * joint(n, budget / 6 / n)

    def at(size: Number, value: Number) -> tuple[float, float]:
        across = math.log(size / span[0]) / math.log(span[1] / span[0])
        return 60 + 390 * across, 220 - 200 * (value - low) / (high - low)

    d.line([(60, 14), (60, 220), (454, 220)], "muted", width=1.2)
    curve = [at(size, joint(size, budget / 6 / size)) for size in s["sizes"]]
    d.line([point for point in curve if point[1] > 14], "query")
    for size, value in pairs:
        d.circle(*at(size, value), 4, "key", fill=0.8)
    for value in (low, high):
        d.text_to(52, at(n, value)[1], f"{value:.1f}", "muted", size=13)
    for size, name in ((1e4, "10 k"), (1e5, "100 k")):
        d.text(at(size, low)[0], 238, name, "muted", size=13)
    d.text(254, 258, "parameters, N", "muted", size=13)
    d.text(14, 120, "loss (nats)", "muted", size=13, turn=-90)
    return d.svg(
        f"The loss by the law for every size at {budget / 1e9:,.0f} billion operations: a bowl, "
        f"lowest at {n:,.0f} parameters. Marks are runs."
    )
