"""Gradient descent on a bowl: a learning rate that a reader moves, and the path it makes."""

from collections.abc import Mapping, Sequence

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

LARGEST_RATE, MOST_STEPS = 1.2, 60  # what the sliders of the figure reach
REACH = 6.0  # how far from the lowest point a start may lie
PANEL, HEIGHT = 96, 122  # one bowl of the still figure, in units of the pen


def parabola(paths: Mapping[float, Sequence[float]], lowest: float = 3.0) -> LiveFigure:
    """The bowl (w − lowest)², on which a point steps against its slope.

    `paths` holds, for each learning rate, the places w from the start on, as a chapter computed
    them: at most 5, of one start and one length. The live figure begins with the first.
    """
    first = next(iter(paths.values()))
    settings = {
        "lowest": lowest,
        "start": first[0],
        "steps": len(first) - 1,
        "rates": list(paths),
        "largest_rate": LARGEST_RATE,
        "most_steps": MOST_STEPS,
    }
    still = (
        "<p>This figure is live where JavaScript runs: there you set the learning rate and the "
        f"start. Here is w after each step on the bowl (w − {lowest:g})². Each column has a "
        f"learning rate.</p>{_bowls(paths, lowest)}"
    )
    rows = [
        (step, *(f"{w:.2f}".replace("-", "−") for w in row))
        for step, row in enumerate(zip(*paths.values(), strict=True))
    ]
    still += table(("step", *(f"{rate:g}" for rate in paths)), rows)
    return LiveFigure("parabola", settings, still)


def _bowls(paths: Mapping[float, Sequence[float]], lowest: float) -> str:
    """The bowl once for each rate, with the path in it."""
    d = Drawing(PANEL * len(paths), HEIGHT)
    far = max(REACH, *(abs(w - lowest) for places in paths.values() for w in places))
    for column, (rate, places) in enumerate(paths.items()):

        def point(w: float, left: float = PANEL * column) -> tuple[float, float]:
            u = (w - lowest) / far
            return left + PANEL / 2 + u * (PANEL / 2 - 8), HEIGHT - 8 - u * u * (HEIGHT - 40)

        d.text(PANEL * (column + 0.5), 12, f"rate {rate:g}", bold=True)
        d.line([point(lowest + far * i / 20) for i in range(-20, 21)], "stream", width=1.5)
        d.line([point(w) for w in places], "query", width=1.2)
        for w in places:
            d.circle(*point(w), 3, "query", fill=1)
    ends = ", ".join(f"rate {rate:g} at {places[-1]:.2f}" for rate, places in paths.items())
    return d.svg(
        f"""The same bowl {len(paths)} times, with a path of steps from w = {places[0]:g}. The
        lowest point is w = {lowest:g}. The paths end so: {ends}."""
    )
