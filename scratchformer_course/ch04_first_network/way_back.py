"""A tape that a reader plays backwards: a network of three operations, slope by slope."""

from typing import NamedTuple

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table


class Step(NamedTuple):
    """A slope that arrives at a node on the way back: `grad` times a factor."""

    node: str
    rule: str
    grad: float
    factor: float

    @property
    def slope(self) -> float:
        """The slope that the node hands on."""
        return self.grad * self.factor


def way_back(a: float, w1: float, w2: float) -> list[Step]:
    """The slopes of (w2·w1·a − 1)², in the order in which the tape finds them."""
    h = w1 * a
    s = w2 * h
    at_s = 2 * (s - 1)
    at_h = at_s * w2
    return [
        Step("s", "grad · 2(s − 1)", 1.0, at_s),
        Step("w2", "grad · h", at_s, h),
        Step("h", "grad · w2", at_s, w2),
        Step("w1", "grad · a", at_h, a),
        Step("a", "grad · w1", at_h, w1),
    ]


def tape_steps(a: float = 3.0, w1: float = 0.5, w2: float = 2.0) -> LiveFigure:
    """The tape of (w2·w1·a − 1)², which begins with these numbers."""
    steps = way_back(a, w1, w2)
    still = (
        "<p>This figure is live where JavaScript runs: there you step backwards and change the "
        "numbers. In the lower row, each slope is the one to its right, times a factor."
        f"</p>{_boxes(a, w1, w2)}"
    )
    rows = [("loss", "start", "", "1")]
    for step in steps:
        numbers = f"{_short(step.grad)} · {_short(step.factor)}"
        rows.append((step.node, step.rule, numbers, _short(step.slope)))
    still += table(("node", "rule", "numbers", "slope"), rows)
    return LiveFigure("tape_steps", {"a": a, "w1": w1, "w2": w2}, still)


def _short(number: float) -> str:
    return f"{number:.4g}".replace("-", "−")


def _boxes(a: float, w1: float, w2: float) -> str:
    """The numbers in a row, and under them the slopes, with a factor on each arrow."""
    d, h = Drawing(480, 190), w1 * a
    s = w2 * h
    slope = {step.node: _short(step.slope) for step in way_back(a, w1, w2)}
    for x, width, words, value in (
        (8, 62, "a", a),
        (118, 102, "h = w1·a", h),
        (244, 102, "s = w2·h", s),
        (370, 102, "loss (s−1)²", (s - 1) ** 2),
    ):
        d.box(x, 34, width, 52, f"{words}\n{_short(value)}", "stream")
    d.text_from(8, 14, "forward: numbers", "stream", bold=True)
    for x1, x2 in ((72, 116), (222, 242), (348, 368)):
        d.arrow(x1, 60, x2, 60, "stream")
    d.texts(8, 130, ("backward:", "slopes"), down=18, colour="key", anchor="start", bold=True)
    for x, words in ((376, "start: 1"), (250, f"slope {slope['s']}"), (124, f"slope {slope['h']}")):
        d.box(x, 124, 90, 30, words, "key")
        d.line([(x + 45, 88), (x + 45, 122)], "key", width=1.2, dashed=True)
    for x, factor, weight in (
        (250, "× 2(s−1)", f"w2: {slope['s']}·h = {slope['w2']}"),
        (124, "× w2", f"w1: {slope['h']}·a = {slope['w1']}"),
    ):
        d.arrow(x + 124, 139, x + 92, 139, "key")
        d.text(x + 111, 110, factor, "key", size=13)
        d.text(x + 45, 174, weight, "key")
    return d.svg(
        f"""Four boxes from left to right: the input a, then h, then s, then the loss, each with
        its number. Under them the slopes go back from right to left. Each arrow carries a factor,
        and the factors multiply: the slope at s is {slope["s"]}, the one at h is {slope["h"]}.
        Below them are the slopes of the weights: w2 has {slope["w2"]}, w1 has {slope["w1"]}."""
    )
