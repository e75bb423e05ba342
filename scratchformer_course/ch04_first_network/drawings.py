"""Chapter 04's drawings: a round of training, the network, back through a product, a pendulum."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing


@drawing(480, 258)
def round_of_training(d, seen: str, target: str):
    """One round of training. Eight characters go into the network, which gives a probability to
    each of 65 characters. The probability of the character that really came makes the loss. A
    dashed arrow goes from the loss back to the network: it carries a slope for every weight, and
    every weight takes a small step downhill. Then the next round begins.
    """
    d.text_from(8, 20, "text", "token", bold=True)
    for x, y, text, note in ((8, 36, seen, "8 characters"), (168, 129, target, "what really came")):
        d.box(x, y, 118, 40, repr(text), "token", mono=True, size=15)
        d.text(x + 59, y + 56, note, "muted", size=13)
    d.arrow(128, 56, 166, 56)
    d.flow(
        [
            (168, 28, 118, 56, "network\n(its weights)", "stream"),
            (342, 28, 130, 56, "a probability\nfor each of 65", "value"),
            (342, 126, 130, 46, "loss: how much\nit surprised us", "key"),
        ]
    )
    d.arrow(288, 149, 340, 149)
    d.line([(407, 174), (407, 204), (140, 204), (140, 112)], "key", dashed=True)
    d.arrow(140, 112, 176, 87, "key", dashed=True)
    d.text(274, 222, "slopes: which way is uphill for each weight?", "key")
    d.text(274, 246, "then every weight takes a small step downhill", "stream")


@drawing(480, 404, size=13)
def network(d):
    """8 characters at the top. Each takes its row of 32 numbers from the table E. The rows are
    joined to one vector of 256 numbers. A matrix W1, a bias b1 and a ReLU make 128 hidden numbers
    of it, W2 and b2 make 65 logits, and softmax turns them into 65 probabilities, drawn as bars of
    different heights.
    """
    middle, right, cell = 187, 372, 38
    for x in d.row(14, 8, "First·Ci", (cell, 30), ("token", 0.12), 44, mono=True, size=15):
        d.arrow(x, 40, x, 76)
    d.row(14, 78, [32] * 8, (cell, 34), ("stream", 0.12), 44)
    for top, y, left, width, name, colour in (
        (114, 144, 14, 346, "one long vector", "stream"),
        (172, 214, 90, 194, "hidden layer", "stream"),
        (242, 284, 130, 114, "logits", "value"),
    ):
        d.arrow(middle, top, middle, y - 2)
        d.box(left, y, width, 26, name, colour)
    d.arrow(middle, 312, middle, 346)
    for i, height in enumerate((6, 10, 4, 34, 8, 18, 5, 12, 3, 7)):
        d.box(132 + 11 * i, 396 - height, 9, height, "", "value", fill=0.5)
    for x, y, words in (
        (right, 58, "E: take rows"),
        (right, 128, "join"),
        (middle + 10, 190, "multiply by W1, add b1, ReLU"),
        (middle + 10, 260, "multiply by W2, add b2"),
        (middle + 10, 328, "softmax"),
    ):
        d.text_from(x, y, words, "muted")
    shapes = (23, "ids (8,)"), (95, "(8, 32)"), (157, "(256,)"), (227, "(128,)"), (297, "(65,)")
    for y, shape in (*shapes, (380, "(65,)")):
        d.text_from(right, y, shape)
    d.text_to(122, 380, "probabilities")


def product(a: Sequence[float], b: Sequence[Sequence[float]], grad: Sequence[float]):
    """One row times a matrix of two columns: the ways that one input and one weight have."""
    d, left, right, ends = Drawing(480, 290), 130, 340, (82, 170)
    ys = [50 + 76 * i for i in range(len(a))]
    z = [sum(x * row[j] for x, row in zip(a, b, strict=True)) for j in range(2)]
    for x, title, colour in (
        (left, "row of a", "stream"),
        ((left + right) / 2, "b", "ink"),
        (right, "z = a @ b", "stream"),
        (right + 92, "slope at z", "key"),
    ):
        d.text(x, 14, title, colour, bold=True)
    for i, (x, y) in enumerate(zip(a, ys, strict=True)):
        chosen = i == 1
        colour, size, width, at = ("ink", 16, 2.4, 0.74) if chosen else ("muted", 13, 1, 0.16)
        for j, end in enumerate(ends):
            d.arrow(left + 24, y, right - 24, end, colour, width=width)
            place = left + 24 + at * (right - left - 48), y + at * (end - y) + (13 if j else -11)
            d.text(*place, f"× {b[i][j]:g}", colour, size=size, bold=chosen)
        d.circle(left, y, 21, "stream", fill=0.35 if chosen else 0.1, text=f"{x:g}", size=16)
    first, second = slopes = [f"{g:g}".replace("-", "−") for g in grad]
    for value, end, slope in zip(z, ends, slopes, strict=True):
        d.circle(right, end, 21, "stream", fill=0.1, text=f"{value:g}", size=16)
        d.arrow(right + 74, end, right + 26, end, "key", dashed=True)
        d.text(right + 94, end, slope, "key", size=16, bold=True)
    back = sum(b[1][j] * grad[j] for j in range(2))
    d.arrow(left - 24, ys[1], left - 56, ys[1], "key", dashed=True)
    d.text_to(left - 62, ys[1], f"slope {back:g}", "key", bold=True)
    sums = f"{first} · {b[1][0]:g} + ({second}) · {b[1][1]:g} = {back:g}"
    weight = f"{first} · {a[1]:g} = {grad[0] * a[1]:g}"
    d.text(240, 248, f"slope at the {a[1]:g}:  {sums}", "key", size=15)
    d.text(240, 274, f"slope at the weight {b[1][0]:g}:  {weight}", "key", size=15)
    return d.show(
        f"Three circles on the left hold {a[0]:g}, {a[1]:g} and {a[2]:g}, a row. Arrows "
        f"go from each to two circles on the right, z, with {z[0]:g} and {z[1]:g}, and every arrow "
        f"has a weight of b. The slopes at z are {first} and {second}. From {a[1]:g}, one arrow "
        f"multiplies by {b[1][0]:g} and the other by {b[1][1]:g}, so two slopes come back, and "
        f"their sum is {back:g}. The weight {b[1][0]:g} has one path, and gets {weight}."
    )


def swing(zeroed: Sequence[float], forgotten: Sequence[float], lowest: float = 3.0):
    """Where two descents are after each step: one comes to rest, the other swings on."""
    d = Drawing(480, 214)
    left, right, top, bottom, middle = 34, 470, 30, 178, 104
    unit = (bottom - top) / 2 / max(abs(w - lowest) for w in forgotten)
    step = (right - left) / (len(forgotten) - 1)
    d.line([(left, top - 6), (left, bottom + 6), (right, bottom + 6)], "muted", width=1)
    d.line([(left, middle), (right, middle)], "muted", width=1, dashed=True)
    for far in (-2, 0, 2):
        d.text_to(left - 8, middle - far * unit, f"{lowest + far:g}", size=13)
    for places, colour in ((forgotten, "key"), (zeroed, "query")):
        points = [(left + step * i, middle - (w - lowest) * unit) for i, w in enumerate(places)]
        d.line(points, colour, width=2)
        for x, y in points:
            d.circle(x, y, 2.5, colour, fill=1)
    d.text_from(left + 6, 10, "w, without the reset", "key", bold=True)
    d.text_to(right, 10, "w, with it", "query", bold=True)
    d.text((left + right) / 2, 204, f"step, 0 to {len(forgotten) - 1}", size=13)
    return d.show(
        f"Two lines over {len(forgotten) - 1} steps. With the reset, w comes to rest "
        f"at {lowest:g}. Without it, w swings between {min(forgotten):.1f} and "
        f"{max(forgotten):.1f} and never rests."
    )
