"""What models write, one after the other under one slider: steps of a run, or several models.

Each frame has a text that continues one prompt and, if the figure has a curve, a loss. The chapters
say what moves from frame to frame, and where a frame stands on the curve.
"""

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 340, 190, 34, 318, 14, 150  # of the curve, as in the page


class Frame(NamedTuple):
    """One stop of the slider: its name there, and what is told of it.

    With a curve `told` begins the sentence about the loss ("After 10 steps"), else it is one.
    """

    label: str
    told: str
    text: str
    at: float  # its place on the curve, 0 to 1
    tick: str = ""  # what stands below this place
    loss: float = 0.0


def text_slider(
    name: str,
    frames: Sequence[Frame],
    *,
    prompt: str,
    slider: str,
    writer: str,
    axis: str = "",
    line: tuple[str, float] | None = None,
    marks: Sequence[float] = (),
    digits: int = 2,
    plays: bool = False,
    compares: bool = False,
) -> LiveFigure:
    """The live figure `name`: what is written at each frame, and its loss.

    `slider` names the slider, `writer` what writes ("the network"), `axis` the curve's lower axis.
    A dashed `line` (words, loss) lies across the curve, and `marks` are the losses beside it.
    Without a `line` there is no curve, and no loss is told. One that `plays` begins at its last
    frame, and has a button that goes through all of them. One that `compares` has no curve, and
    shows the last frame's text beside the one of the slider. Raises ValueError for fewer than two
    frames, and places that do not rise.
    """
    frames = [Frame(*frame) for frame in frames]
    places = [frame.at for frame in frames]
    if len(places) < 2 or places != sorted(set(places)):
        raise ValueError(f"frames at the places {places}, expected two or more that rise")
    settings: dict[str, Any] = {
        "prompt": prompt.lstrip("\n"),
        "slider": slider,
        "writer": writer,
        "axis": axis,
        "line": list(line) if line else None,
        "marks": list(marks),
        "digits": digits,
        "frames": [frame._asdict() for frame in frames],
    }
    settings |= {"plays": True} if plays else {}
    settings |= {"compares": True} if compares else {}
    still = (
        "<p>This figure is live where JavaScript runs: there a slider goes through all of its "
        "stops."
    )
    for frame in (frames[0], frames[-1]) if compares else frames[-1:]:
        place = "last" if frame is frames[-1] else "first"
        still += (
            f" Here is what {escape(writer)} writes at the {place}, {escape(frame.label)}.</p>"
            f'<p class="sx-text"><b>{escape(settings["prompt"])}</b>{escape(frame.text)}</p><p>'
        )
    still = still.removesuffix("<p>")
    if line:
        rows = [[escape(frame.label), f"{frame.loss:.{digits}f}"] for frame in frames]
        still += _curve(settings) + table([escape(axis), "loss"], rows)
    return LiveFigure(name, settings, still)


def _curve(settings: dict[str, Any]) -> str:
    frames, (words, level) = settings["frames"], settings["line"]
    digits = settings["digits"]
    highest = max(level, *(frame["loss"] for frame in frames))

    def height(loss: float) -> float:
        return BOTTOM - loss / highest * (BOTTOM - TOP)

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
