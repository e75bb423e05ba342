"""A query and a key, turned by their positions; and SmolLM2, whose text begins far out."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import RECORDED, table
from scratchformer_course.measurements import load_measurements

MOST_PLACE, LARGEST_SPEED = 20, 1.0  # what the sliders of the figure reach
PANEL, HEIGHT, RADIUS = (
    154,
    176,
    56,
)  # one pair of positions of the still figure, in units of the pen


def turning_pairs(
    query: Sequence[float],
    key: Sequence[float],
    speed: float,
    scores: Mapping[tuple[int, int], float],
) -> LiveFigure:
    """A query at position m and a key at position n, each turned by its position times `speed`.

    `scores` holds the dot products that a chapter computed, by (m, n): at most 3 are drawn in the
    still figure, and the live one begins with the first. Raises ValueError for numbers that the
    sliders do not reach.
    """
    m, n = next(iter(scores))
    for name, pair in (("query", query), ("key", key)):
        if len(pair) != 2 or math.hypot(*pair) < 1e-3:
            raise ValueError(f"{name}={list(pair)}, expected two numbers that are not both 0")
    if not 0 <= speed <= LARGEST_SPEED:
        raise ValueError(f"speed={speed}, expected 0 to {LARGEST_SPEED:g} radians per position")
    if not (0 <= m <= MOST_PLACE and 0 <= n <= MOST_PLACE):
        raise ValueError(f"the first positions are {(m, n)}, expected 0 to {MOST_PLACE}")
    settings = {
        "query": [round(x, 4) for x in query],
        "key": [round(x, 4) for x in key],
        "speed": speed,
        "largest_speed": LARGEST_SPEED,
        "m": int(m),
        "n": int(n),
        "most_place": MOST_PLACE,
        "further": 100,  # positions by which a button moves both
    }
    rows = [
        (m, n, f"{m - n}".replace("-", "−"), f"{score:.3f}".replace("-", "−"))
        for (m, n), score in scores.items()
    ]
    still = (
        "<p>This figure is live where JavaScript runs: there you move the query and the key. One "
        f"position is worth {speed:g} radians. Here are {len(scores)} scores, the dot products of "
        f"the turned arrows.</p>{_arrows(query, key, speed, scores)}"
    )
    still += table(("query at", "key at", "distance", "score"), rows)
    return LiveFigure("turning_pairs", settings, still)


def _turned(pair: Sequence[float], angle: float) -> tuple[float, float]:
    (a, b), cos, sin = pair, math.cos(angle), math.sin(angle)
    return a * cos - b * sin, a * sin + b * cos


def _arrows(
    query: Sequence[float],
    key: Sequence[float],
    speed: float,
    scores: Mapping[tuple[int, int], float],
) -> str:
    d = Drawing(PANEL * len(scores), HEIGHT)
    unit = RADIUS / max(math.hypot(*query), math.hypot(*key))
    for column, ((m, n), score) in enumerate(scores.items()):
        x, y = PANEL * (column + 0.5), 100
        d.text(x, 12, f"q at {m}, k at {n}", bold=True)
        d.circle(x, y, RADIUS, "muted", fill=0)
        for pair, place, colour, letter in ((query, m, "query", "q"), (key, n, "key", "k")):
            right, up = _turned(pair, place * speed)
            d.arrow(x, y, x + unit * right, y - unit * up, colour, width=2.5)
            far = 1 + 13 / (unit * math.hypot(right, up))
            d.text(x + unit * right * far, y - unit * up * far, letter, colour, bold=True)
        d.text(x, HEIGHT - 8, f"score {score:.3f}".replace("-", "−"))
    pairs = "; ".join(f"query at {m} and key at {n}, score {s:.3f}" for (m, n), s in scores.items())
    return d.svg(
        f"""Circles with two arrows, a query and a key, each turned by its position: {pairs}. Where
        the distance is the same, so is the angle between the arrows."""
    )


def far_start() -> LiveFigure:
    """SmolLM2 whose text begins far out: a slider, the precision of the angles, and who moves."""
    stored = load_measurements("far_start")
    asked, found = stored["settings"], stored["found"]
    names = ("question", "starts", "angles", "moved", "most")
    settings = {name: asked[name] for name in names} | {"recorded": found}
    in_float32, in_float64 = found[0][0], found[1][0]
    rows = [
        (f"{start:,}", *(_said(one[i]) for one in (in_float32, in_float64, found[0][1])))
        for i, start in enumerate(asked["starts"])
        if start in (0, 100_000, 10_000_000, 100_000_000)
    ]
    head = ("begins at", *(f"angles in {name}" for name in asked["angles"]), asked["moved"][1])
    still = f"{RECORDED}<p>{escape(asked['question'])}</p>" + table(head, rows)
    return LiveFigure("far_start", settings, still)


def _said(found: tuple[str, float]) -> str:
    answer, apart = found
    words = escape(" ".join(answer.split()[-2:])) or "–"
    return f"{words} ({apart:.2f})"
