"""What models write, one after the other under one slider: steps of a run, or several models.

Each frame has a text that continues one prompt, a loss, and the likeliest characters after one
opening. The chapters say what moves from frame to frame, and where a frame stands on the curve.
"""

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.numbers import check_finite
from scratchformer_course.kit.figure.still import table

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 340, 190, 34, 318, 14, 150  # of the curve, as in the page


class Frame(NamedTuple):
    """One stop of the slider: its name there, and as it begins a sentence ("After 10 steps")."""

    label: str
    told: str
    at: float  # its place on the curve, 0 to 1
    tick: str  # what stands below this place, or nothing
    loss: float
    text: str
    next: Sequence[tuple[str, float]] = ()  # the likeliest characters after the opening


def text_slider(
    name: str,
    frames: Sequence[Frame],
    *,
    prompt: str,
    slider: str,
    writer: str,
    axis: str,
    line: tuple[str, float],
    marks: Sequence[float],
    lowest: float = 0.0,
    digits: int = 2,
    opening: str = "",
    plays: bool = False,
) -> LiveFigure:
    """The live figure `name`: what is written at each frame, its loss, and what it expects.

    `slider` names the slider, `writer` what writes ("the network"), `axis` the curve's lower axis.
    A dashed `line` (words, loss) lies across the curve, `marks` are the losses beside it, `lowest`
    is the loss at its foot. Without an `opening` nothing is said of what follows it. One that
    `plays` begins at its last frame, and has a button that goes through all of them. Raises
    ValueError for fewer than two frames, places that do not rise,
    and losses that are not finite.
    """
    frames = [Frame(*frame) for frame in frames]
    places = [frame.at for frame in frames]
    if len(places) < 2 or places != sorted(set(places)):
        raise ValueError(f"frames at the places {places}, expected two or more that rise")
    check_finite("the losses", [*(frame.loss for frame in frames), line[1], lowest])
    settings: dict[str, Any] = {
        "prompt": prompt.lstrip("\n"),
        "opening": opening,
        "slider": slider,
        "writer": writer,
        "axis": axis,
        "line": list(line),
        "marks": list(marks),
        "lowest": lowest,
        "digits": digits,
        "frames": [frame._asdict() for frame in frames],
    }
    if plays:
        settings["plays"] = True
    last = frames[-1]
    head = [escape(axis), "loss"]
    rows = [[escape(frame.label), f"{frame.loss:.{digits}f}"] for frame in frames]
    if opening:
        head.append(f"expects after {escape(repr(opening))}")
        for row, frame in zip(rows, frames, strict=True):
            row.append(f"{escape(repr(frame.next[0][0]))}, {frame.next[0][1]:.2f}")
    still = (
        "<p>This figure is live where JavaScript runs: there a slider goes through all of its "
        f"stops. Here is what {escape(writer)} writes at the last, {escape(last.label)}.</p>"
        f'<p class="sx-text"><b>{escape(settings["prompt"])}</b>{escape(last.text)}</p>'
        f"{_curve(settings)}"
    )
    return LiveFigure(name, settings, still + table(head, rows, '"'))


def _curve(settings: dict[str, Any]) -> str:
    frames, (words, level) = settings["frames"], settings["line"]
    lowest, digits = settings["lowest"], settings["digits"]
    highest = max(level, *(frame["loss"] for frame in frames))

    def height(loss: float) -> float:
        return BOTTOM - (loss - lowest) / (highest - lowest) * (BOTTOM - TOP)

    points = [(LEFT + frame["at"] * (RIGHT - LEFT), height(frame["loss"])) for frame in frames]
    d = Drawing(WIDTH, HEIGHT)
    d.line([(LEFT, 8), (LEFT, BOTTOM), (WIDTH - 6, BOTTOM)], "muted", width=1)
    d.line([(LEFT, height(level)), (RIGHT, height(level))], "key", width=1, dashed=True)
    d.line(points, "query", width=2)
    for (x, y), frame in zip(points, frames, strict=True):
        d.circle(x, y, 4, "query", fill=1)
        if frame["tick"]:
            d.text(x, BOTTOM + 15, frame["tick"], size=13)
    d.text((LEFT + WIDTH) / 2, HEIGHT - 6, settings["axis"], size=13)
    losses = ", ".join(f"{frame['loss']:.{digits}f} at {frame['label']}" for frame in frames)
    line = f"{words} has {level:.{digits}f}"
    return d.svg(f"The loss on the validation text: {losses}. A dashed line: {line}.")
