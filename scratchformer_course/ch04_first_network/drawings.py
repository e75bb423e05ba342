"""Chapter 04's drawings: a round of training, the network, slopes going back, a pendulum."""

from collections.abc import Sequence

from IPython.display import HTML

from scratchformer_course.kit.canvas import Drawing


def round_of_training(seen: str, target: str) -> HTML:
    """Characters go up into the network, a loss comes out, slopes go back, weights move."""
    d = Drawing(480, 258)
    d.text(8, 20, "text", "token", anchor="start", bold=True)
    d.box(8, 36, 118, 40, repr(seen), "token", mono=True, size=15)
    d.text(67, 92, "8 characters", "muted", size=13)
    d.arrow(128, 56, 166, 56)
    d.box(168, 28, 118, 56, "network\n(its weights)", "stream")
    d.arrow(288, 56, 340, 56)
    d.box(342, 28, 130, 56, "a probability\nfor each of 65", "value")
    d.arrow(407, 86, 407, 124)
    d.box(342, 126, 130, 46, "loss: how much\nit surprised us", "key")
    d.box(168, 129, 118, 40, repr(target), "token", mono=True, size=15)
    d.text(227, 184, "what really came", "muted", size=13)
    d.arrow(288, 149, 340, 149)
    d.line([(407, 174), (407, 204), (140, 204), (140, 112)], "key", dashed=True)
    d.arrow(140, 112, 176, 87, "key", dashed=True)
    d.text(274, 222, "slopes: which way is uphill for each weight?", "key", size=14)
    d.text(274, 246, "then every weight takes a small step downhill", "stream", size=14)
    return d.show(
        "One round of training. Eight characters go into the network, which gives a probability to "
        "each of 65 characters. The probability of the character that really came makes the loss. "
        "A dashed arrow goes from the loss back to the network: it carries a slope for every "
        "weight, and every weight takes a small step downhill. Then the next round begins."
    )


def network(seen: str, hidden: int, vocab_size: int, width: int) -> HTML:
    """The two-layer network with the shape of everything that flows through it."""
    d = Drawing(480, 404, size=13)
    n, cell = len(seen), 44
    left = 14
    for i, letter in enumerate(seen):
        x = left + cell * i
        d.box(x, 8, cell - 6, 30, letter.replace(" ", "·"), "token", mono=True, size=15)
        d.arrow(x + 19, 40, x + 19, 76)
        d.box(x, 78, cell - 6, 34, width, "stream")
    right = left + cell * n + 6
    d.text(right, 23, f"ids ({n},)", anchor="start")
    d.text(right, 58, "E: take rows", "muted", anchor="start")
    d.text(right, 95, f"({n}, {width})", anchor="start")
    middle = left + cell * n / 2 - 3
    d.arrow(middle, 114, middle, 142)
    d.text(right, 128, "join", "muted", anchor="start")
    d.box(left, 144, cell * n - 6, 26, "one long vector", "stream")
    d.text(right, 157, f"({n * width},)", anchor="start")
    d.arrow(middle, 172, middle, 212)
    d.text(middle + 10, 190, "multiply by W1, add b1, ReLU", "muted", anchor="start")
    d.box(90, 214, cell * n - 158, 26, "hidden layer", "stream")
    d.text(right, 227, f"({hidden},)", anchor="start")
    d.arrow(middle, 242, middle, 282)
    d.text(middle + 10, 260, "multiply by W2, add b2", "muted", anchor="start")
    d.box(130, 284, cell * n - 238, 26, "logits", "value")
    d.text(right, 297, f"({vocab_size},)", anchor="start")
    d.arrow(middle, 312, middle, 346)
    d.text(middle + 10, 328, "softmax", "muted", anchor="start")
    for i, height in enumerate((6, 10, 4, 34, 8, 18, 5, 12, 3, 7)):
        d.box(132 + 11 * i, 396 - height, 9, height, "", "value", fill=0.5)
    d.text(right, 380, f"({vocab_size},)", anchor="start")
    d.text(122, 380, "probabilities", anchor="end")
    return d.show(
        f"{n} characters at the top. Each takes its row of {width} numbers from the table E. The "
        f"rows are joined to one vector of {n * width} numbers. A matrix W1, a bias b1 and a ReLU "
        f"make {hidden} hidden numbers of it, W2 and b2 make {vocab_size} logits, and softmax "
        f"turns them into {vocab_size} probabilities, drawn as bars of different heights."
    )


def chain(names: Sequence[str], forward: Sequence[float], back: Sequence[str]) -> HTML:
    """a → h → s → loss; numbers go right in the boxes, slopes come back below them."""
    d = Drawing(480, 190)
    xs, wide = (8, 118, 244, 370), (62, 102, 102, 102)
    for x, width, name, value in zip(xs, wide, names, forward, strict=True):
        d.box(x, 34, width, 52, f"{name}\n{value:g}", "stream")
    d.text(8, 14, "forward: numbers", "stream", size=14, anchor="start", bold=True)
    for x1, x2 in ((72, 116), (222, 242), (348, 368)):
        d.arrow(x1, 60, x2, 60, "stream")
    d.texts(8, 130, ("backward:", "slopes"), down=18, colour="key", anchor="start", bold=True)
    d.box(376, 124, 90, 30, "start: 1", "key", size=14)
    d.line([(421, 88), (421, 122)], "key", width=1.2, dashed=True)
    for x, factor, slope, weight in zip((250, 124), back[:2], back[2:4], back[4:], strict=True):
        d.arrow(x + 124, 139, x + 92, 139, "key")
        d.text(x + 111, 110, factor, "key", size=13)
        d.box(x, 124, 90, 30, f"slope {slope}", "key", size=14)
        d.line([(x + 45, 88), (x + 45, 122)], "key", width=1.2, dashed=True)
        d.text(x + 45, 174, weight, "key", size=14)
    return d.show(
        "Four boxes from left to right: the input a, then h, then s, then the loss, each with its "
        "number. Under them the slopes go back from right to left. Each arrow carries a factor, "
        f"and the factors multiply: the slope at s is {back[2]}, the one at h is {back[3]}. "
        f"Below them stand the slopes of the weights: {back[4]}, {back[5]}."
    )


def product(a: Sequence[float], b: Sequence[Sequence[float]], grad: Sequence[float]) -> HTML:
    """One row times a matrix of two columns: the ways that one input and one weight have."""
    d = Drawing(480, 290)
    left, right = 130, 340
    ys, ends = [50 + 76 * i for i in range(len(a))], (82, 170)
    z = [sum(x * row[j] for x, row in zip(a, b, strict=True)) for j in range(2)]
    d.text(left, 14, "row of a", "stream", bold=True)
    d.text((left + right) / 2, 14, "b", "ink", bold=True)
    d.text(right, 14, "z = a @ b", "stream", bold=True)
    d.text(right + 92, 14, "slope at z", "key", bold=True)
    for i, x in enumerate(a):
        chosen = i == 1
        colour, size = ("ink", 16) if chosen else ("muted", 13)
        for j, end in enumerate(ends):
            x1, y1, x2, y2 = left + 24, ys[i], right - 24, end
            d.arrow(x1, y1, x2, y2, colour, width=2.4 if chosen else 1)
            at = 0.74 if chosen else 0.16
            below = 13 if j else -11
            place = x1 + at * (x2 - x1), y1 + at * (y2 - y1) + below
            d.text(*place, f"× {b[i][j]:g}", colour, size=size, bold=chosen)
        d.circle(left, ys[i], 21, "stream", fill=0.35 if chosen else 0.1, text=f"{x:g}", size=16)
    for value, end, slope in zip(z, ends, grad, strict=True):
        d.circle(right, end, 21, "stream", fill=0.1, text=f"{value:g}", size=16)
        d.arrow(right + 74, end, right + 26, end, "key", dashed=True)
        d.text(right + 94, end, f"{slope:g}".replace("-", "−"), "key", size=16, bold=True)
    back = sum(b[1][j] * grad[j] for j in range(2))
    first, second = (f"{g:g}".replace("-", "−") for g in grad)
    d.arrow(left - 24, ys[1], left - 56, ys[1], "key", dashed=True)
    d.text(left - 62, ys[1], f"slope {back:g}", "key", anchor="end", bold=True)
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


def swing(zeroed: Sequence[float], forgotten: Sequence[float], lowest: float = 3.0) -> HTML:
    """Where two descents are after each step: one comes to rest, the other swings on."""
    d = Drawing(480, 214)
    left, right, top, bottom = 34, 470, 30, 178
    far = max(abs(w - lowest) for w in forgotten)
    step = (right - left) / (len(forgotten) - 1)

    def points(places: Sequence[float]) -> list[tuple[float, float]]:
        middle, half = (top + bottom) / 2, (bottom - top) / 2
        return [(left + step * i, middle - (w - lowest) / far * half) for i, w in enumerate(places)]

    d.line([(left, top - 6), (left, bottom + 6), (right, bottom + 6)], "muted", width=1)
    d.line([(left, (top + bottom) / 2), (right, (top + bottom) / 2)], "muted", width=1, dashed=True)
    for w in (lowest - 2, lowest, lowest + 2):
        d.text(left - 8, points([w])[0][1], f"{w:g}", anchor="end", size=13)
    for places, colour in ((forgotten, "key"), (zeroed, "query")):
        d.line(points(places), colour, width=2)
        for x, y in points(places):
            d.circle(x, y, 2.5, colour, fill=1)
    d.text(left + 6, 10, "w, without the reset", "key", anchor="start", bold=True)
    d.text(right, 10, "w, with it", "query", anchor="end", bold=True)
    d.text((left + right) / 2, 204, f"step, 0 to {len(forgotten) - 1}", size=13)
    return d.show(
        f"Two lines over {len(forgotten) - 1} steps. With the reset, w comes to rest "
        f"at {lowest:g}. Without it, w swings between {min(forgotten):.1f} and "
        f"{max(forgotten):.1f} and never rests."
    )
