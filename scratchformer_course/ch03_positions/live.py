"""The sinusoidal encoding of two places as the hands of clocks, one clock for each pair.

And three hands whose speeds the reader sets: which of 1,000 places are then easy to confuse?
"""

import math
from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table as table_of

BASE = 10_000.0
MOST_HANDS = 4  # clocks that fit into a row on a phone
STEP, RADIUS = 116, 42  # of the clocks in the still figure, in units of the pen
STOPS = [float(f"{10 ** (j / 15):.6g}") for j in range(-45, 8)]  # speeds, in radians a place
PAPER = [45, 25, 5]  # where the speeds of three hands by the paper's formula are among them
PLACES, FAR = 1000, 20  # a distance above FAR is far
OTHERS = {"three fast": [52, 50, 47], "three slow": [0, 3, 8], "both goals": [41, 35, 15]}


def clock_hands(table: Sequence[Sequence[float]], place: int = 3, distance: int = 5) -> LiveFigure:
    """Two places, and for each pair of channels a clock with a hand for either place.

    `table` is the sinusoidal encoding as a chapter computed it: one row for each place, two
    channels for each hand, sine first. The first place goes up to the middle of the table, and the
    second stands `distance` after it. Raises ValueError for a table that is not this encoding, and
    for places that it does not have.
    """
    _check(table)
    T, d_model = len(table), len(table[0])
    table = [_encoding(t, d_model) for t in range(T)]  # the last digits are the same everywhere
    most = (T - 1) // 2
    if not 0 <= place <= most or not 0 <= distance <= T - 1 - most:
        raise ValueError(
            f"place={place} and distance={distance}, expected 0 to {most} and 0 to "
            f"{T - 1 - most} for a table of {T} places"
        )
    settings = {
        "d_model": d_model,
        "base": BASE,
        "place": place,
        "most_place": most,
        "distance": distance,
        "most_distance": T - 1 - most,
    }
    other = place + distance
    dot = sum(a * b for a, b in zip(table[place], table[other], strict=True))
    still = (
        "<p>This figure is live where JavaScript runs: there you move both places. Here are the "
        f"vectors of place {place} and place {other} in {d_model} channels. Their dot product is "
        f"{_number(dot)}.</p>{_clocks(table, place, other)}{_rows(table, place, other)}"
    )
    return LiveFigure("clock_hands", settings, still)


def judged(speeds: Sequence[float]) -> dict[str, float | int]:
    """How near the nearest two of 1,000 places come, at which distance, how many look too near.

    `confused` counts the distances above 20 whose dot product is larger than a neighbour's.
    """
    dot = [sum(math.cos(k * speed) for speed in speeds) for k in range(PLACES)]
    most = max(dot[1:])
    return {
        "apart": math.sqrt(max(0.0, 2 * (dot[0] - most))),
        "at": dot.index(most, 1),
        "confused": sum(product > dot[1] for product in dot[FAR + 1 :]),
    }


def own_speeds(speeds: Sequence[float]) -> LiveFigure:
    """Three hands, at first with the paper's speeds: a slider for each, and what follows from them.

    `speeds` are those that a chapter computed. Raises ValueError if they are not the paper's.
    """
    paper = [STOPS[stop] for stop in PAPER]
    if len(speeds) != 3 or any(abs(a / b - 1) > 1e-5 for a, b in zip(speeds, paper, strict=True)):
        raise ValueError(f"the speeds {list(speeds)} are not the paper's for three hands, {paper}")
    rows = []
    for name, stops in {"the paper's": PAPER, **OTHERS}.items():
        mine = [STOPS[stop] for stop in stops]
        told = judged(mine)
        listed = ", ".join(f"{speed:.3g}" for speed in mine)
        rows.append((name, listed, f"{told['apart']:.2f}", told["at"], told["confused"]))
    at = int(judged(paper)["at"])
    table = [_encoding(t, 2 * len(paper)) for t in range(at + 1)]
    head = ("", "speeds", "nearest two", "places apart", "far ones near")
    still = (
        "<p>This figure is live where JavaScript runs. Here are the paper's hands at places 0 and "
        f"{at}, and other speeds.</p>{_clocks(table, 0, at)}{table_of(head, rows)}"
    )
    settings = {"stops": STOPS, "paper": PAPER, "places": PLACES, "far": FAR}
    return LiveFigure("own_speeds", settings, still)


def _speed(i: int, d_model: int) -> float:
    return BASE ** (-2 * i / d_model)


def _encoding(place: int, d_model: int) -> list[float]:
    angles = [place * _speed(i, d_model) for i in range(d_model // 2)]
    return [f(angle) for angle in angles for f in (math.sin, math.cos)]


def _check(table: Sequence[Sequence[float]]) -> None:
    d_model = len(table[0]) if len(table) else 0
    if len(table) < 2 or d_model % 2 or not 2 <= d_model <= 2 * MOST_HANDS:
        raise ValueError(
            f"a table of {len(table)} places with {d_model} channels, expected at least 2 places "
            f"and an even number of channels from 2 to {2 * MOST_HANDS}"
        )
    for place, row in enumerate(table):
        if max(abs(a - b) for a, b in zip(row, _encoding(place, d_model), strict=True)) > 1e-3:
            raise ValueError(f"place {place} of the table is no sinusoidal encoding: {list(row)}")


def _number(value: float) -> str:
    text = f"{value:.2f}".replace("-", "−")
    return "0.00" if text == "−0.00" else text


def _clocks(table: Sequence[Sequence[float]], place: int, other: int) -> str:
    hands = len(table[0]) // 2
    d, y = Drawing(STEP * hands, 150), 84
    for i in range(hands):
        x, speed = STEP * (i + 0.5), _speed(i, 2 * hands)
        d.text(x, 12, f"hand {i}", bold=True)
        d.text(x, 30, f"speed {speed:.3g}")
        d.circle(x, y, RADIUS, "muted", fill=0.05)
        for at, colour, dashed in ((place, "position", False), (other, "stream", True)):
            right, up = table[at][2 * i : 2 * i + 2]
            end = (x + RADIUS * right, y - RADIUS * up)
            d.line([(x, y), end], colour, width=2.5, dashed=dashed)
            d.circle(*end, 4, colour, fill=0 if dashed else 1)
        d.text(x, 140, f"{speed * (other - place):.3g} rad")
    angles = ", ".join(f"{_speed(i, 2 * hands) * (other - place):.3g}" for i in range(hands))
    return d.svg(
        f"""{hands} clocks, one for each hand. Each has the hand at place {place} and, dashed, the
        same hand at place {other}. The angles between the two are {angles} radians: the speed of
        the hand times the distance {other - place}."""
    )


def _rows(table: Sequence[Sequence[float]], place: int, other: int) -> str:
    heads = [f"at {at}<br>{name}" for at in (place, other) for name in ("sin", "cos")]
    rows = []
    for i in range(len(table[0]) // 2):
        (s, c), (s2, c2) = (table[at][2 * i : 2 * i + 2] for at in (place, other))
        rows.append((f"hand {i}", *map(_number, (s, c, s2, c2, s * s2 + c * c2))))
    return table_of(["", *heads, "product"], rows)
