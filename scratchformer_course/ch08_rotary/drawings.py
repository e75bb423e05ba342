"""The drawings of the chapter on rotary positions: arrows that turn, dials, known places."""

import math

from scratchformer_course.kit.canvas import Drawing


def _tip(x, y, radius, angle) -> tuple[float, float]:
    """The point `radius` from (x, y), counter-clockwise by `angle` radians (y points down)."""
    return x + radius * math.cos(angle), y - radius * math.sin(angle)


def turned_pair(a: float, b: float, angle: float):
    """The arrow (a, b) as a steps along one unit arrow and b along another, before and after."""
    d, unit = Drawing(470, 212), 58
    for x, turn, title in ((40, 0.0, "before"), (290, angle, "after the turn")):
        y = 178
        first = _tip(0, 0, unit, turn)
        two = _tip(0, 0, unit, turn + math.pi / 2)
        corner = (x + a * first[0], y + a * first[1])
        tip = (corner[0] + b * two[0], corner[1] + b * two[1])
        d.line([(x, y), corner, tip], "muted", dashed=True)
        d.arrow(x, y, *tip, "query", width=2.8)
        d.arrow(x, y, x + first[0], y + first[1], "ink", width=2.2)
        d.arrow(x, y, x + two[0], y + two[1], "ink", width=2.2)
        d.text(x + 60, 16, title, size=15, bold=True)
        for name, s, r in (("a", a - 0.3, -0.22), ("b", a + 0.2, b / 2)):
            d.text(x + s * first[0] + r * two[0], y + s * first[1] + r * two[1], name, size=15)
        if turn:
            arc = [_tip(x, y, 34, turn * i / 24) for i in range(25)]
            d.line(arc, "position", width=2.5)
            d.text(*_tip(x, y, 48, turn / 2), "θ", "position", size=16)
            d.text(x + first[0] + 12, y + first[1] + 16, "(cos θ, sin θ)", anchor="start")
            d.text(x + two[0] + 2, y + two[1] - 14, "(−sin θ, cos θ)")
        else:
            d.text(x + unit, y + 18, "(1, 0)")
            d.text(x - 8, y - unit - 14, "(0, 1)", anchor="start")
        d.text(tip[0], tip[1] - 14, "(a, b)" if not turn else "?", "query", size=16, bold=True)
    return d.show(
        "Two coordinate systems. On the left the arrow (a, b) is a steps along the unit arrow "
        "(1, 0) and then b steps along the unit arrow (0, 1). On the right everything is turned "
        "by the angle theta: the unit arrows now end in (cos theta, sin theta) and in "
        "(minus sin theta, cos theta), and the arrow is still a steps along the first and b "
        "along the second. Its new numbers are asked for."
    )


def dials(speeds: list[float], places: list[int]):
    """A dial for each speed (down) and place (across), its hand turned by place times speed."""
    d = Drawing(470, 62 * len(speeds) + 40)
    for column, place in enumerate(places):
        d.text(132 + 61 * column, 14, f"t = {place}", "position", size=14)
    for row, speed in enumerate(speeds):
        y = 62 + 62 * row
        d.text(4, y - 9, f"pair {row}", size=14, anchor="start", bold=True)
        d.text(4, y + 11, f"speed {speed:g}", size=14, anchor="start")
        for column, place in enumerate(places):
            x = 132 + 61 * column
            d.circle(x, y, 26, "muted", fill=0)
            d.line([(x, y), (x + 26, y)], "muted", dashed=True, width=1.2)
            d.arrow(x, y, *_tip(x, y, 24, place * speed), "query", width=2.4)
    return d.show(
        "A table of dials. Each row is a pair of channels, each column a place. The hand of the "
        "first pair goes round many times, that of the second more slowly, and the hand of the "
        "last pair has hardly left its start at place 100. Fast hands tell near places apart, "
        "slow hands tell far ones apart."
    )


def heads():
    """Attention with rotary positions: queries and keys are turned, values are not."""
    d = Drawing(470, 330)
    d.box(175, 6, 120, 34, "x  (B, T, C)", "stream")
    for x, name, colour in ((76, "query", "query"), (235, "key", "key"), (394, "value", "value")):
        d.arrow(235, 40, x, 76, "ink")
        d.box(x - 56, 78, 112, 40, f"{name}\n(B, H, T, D)", colour)
    for x, colour in ((76, "query"), (235, "key")):
        d.arrow(x, 118, x, 148, colour)
        d.box(x - 56, 150, 112, 34, "turn by place", "position")
    d.arrow(76, 184, 135, 220, "query")
    d.arrow(235, 184, 180, 220, "key")
    d.box(76, 222, 160, 34, "scores (B, H, T, T)", "ink")
    d.arrow(394, 118, 394, 284, "value")
    d.text(386, 200, "not turned", "value", anchor="end")
    d.arrow(156, 256, 156, 284, "ink")
    d.text(164, 270, "softmax", anchor="start")
    d.box(76, 286, 374, 36, "weights @ values  (B, H, T, D)", "value")
    return d.show(
        "A chart of attention. From x come query, key and value, each of shape B, H, T, D. The "
        "query and the key pass through a box called turn by place, and meet in the scores. "
        "The value goes past that box, straight to the last step, where the weights mix the "
        "values. So places change the weights and nothing else."
    )


def distances(trained: int, length: int, step: int = 8):
    """Each pair of places in a long text, by its distance, with the pairs met in training."""
    d, cell, left, top = Drawing(470, 348), 17, 70, 24
    n, known = length // step, trained // step
    for i in range(n):
        for j in range(i + 1):
            near = i - j < known
            shade = 0.2 + (0.2 * (i - j) if near else 0.7 * (i - j - known) / (n - known))
            d.grid(left + j * cell, top + i * cell, [[shade]], cell, "position" if near else "key")
    edge, border = known * cell, []
    for i in range(known, n):  # between known distances and new ones
        x, y = left + (i - known + 1) * cell, top + i * cell
        border += [(x, y), (x, y + cell)]
    d.line(border, "ink", width=1.6, dashed=True)
    d.line([(left, top), (left, top + edge), (left + edge, top + edge)], "ink", width=3)
    stairs = [(left, top), (left + cell, top)]
    for i in range(1, known):
        stairs += [(left + i * cell, top + i * cell), (left + (i + 1) * cell, top + i * cell)]
    d.line([*stairs, (left + edge, top + edge)], "ink", width=3)
    for place in range(0, length + 1, trained):
        at = place / step * cell
        d.text(left - 8, top + at, place, anchor="end", size=13)
        d.text(left + at, top + n * cell + 14, place, size=13)
    d.text(16, top + n * cell / 2, "place of the query", turn=-90)
    d.text(left + n * cell / 2, top + n * cell + 32, "place of the key", size=14)
    notes = (
        (30, "ink", 0.0, "met in training"),
        (58, "position", 0.5, "a known distance"),
        (86, "key", 0.6, "a new distance"),
    )
    for y, colour, fill, note in notes:
        d.box(258, y - 8, 16, 16, "", colour, fill=fill)
        d.text(282, y, note, anchor="start")
    return d.show(
        f"A triangle of squares: for each query, down to place {length}, the keys up to its own "
        f"place. A small triangle at its top, up to place {trained}, is outlined: these pairs were "
        f"met in training. A band along the diagonal, less than {trained} places wide, has the "
        "colour of the known distances all the way down. Everything left of the band has another "
        "colour: these distances are new. Both colours grow stronger with the distance. So a "
        "place can be new where the distance is not."
    )
