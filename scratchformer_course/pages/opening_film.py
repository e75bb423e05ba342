"""`opening_film()`: a small GPT learning to write, at eight steps of a stored run.

Nothing is computed in the page. What the model wrote, its losses and what one of its heads read
stand in `measurements/film.json`, which `lab/film.py` writes. The still figure shows the last step,
and the script moves through all of them.
"""

import math
from html import escape

from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.measurements import load_measurements

TICKS = (0, 10, 100, 1000)  # steps named below the curve, beside the last


def opening_film() -> LiveFigure:
    """Text, loss curve and one attention head from noise to the end of a run, under one slider."""
    film = load_measurements("film")
    frames, settings = film["frames"], film["settings"]
    last = film["curve"][-1][0]

    def x_of(step: int) -> float:
        """Where a step stands from left to right: the first ones need more room than the last."""
        return round(math.log1p(step) / math.log1p(last), 4)

    highest, lowest = film["curve"][0][1], film["curve"][-1][1]
    curve = [
        (x_of(step), round(0.06 + 0.86 * (highest - loss) / (highest - lowest), 4))
        for step, loss in film["curve"]
    ]
    page_frames = [
        {key: frame[key] for key in ("step", "right", "text", "weights")}
        | {"x": x_of(frame["step"])}
        for frame in frames
    ]
    last_frame = frames[-1]
    still = (
        '<div class="film"><div class="film-controls"><p>With JavaScript, this is a film of '
        f"{len(frames)} steps of its training. Here is the last.</p></div>"
        f'<p class="film-told">After <b>{last_frame["step"]:,} steps</b> a GPT gets the next '
        "character right "
        f"<b>{100 * last_frame['right']:.0f} times in 100</b>:</p>"
        f'<p class="film-text" role="group" aria-label="What it writes" tabindex="0">'
        f"<b>{escape(settings['prompt'])}</b><span>{escape(last_frame['text'])}</span></p>"
        f"{_head(settings['line'], last_frame['weights'])}"
        f"{_curve(curve, [(x_of(step), step) for step in (*TICKS, last)], highest, lowest)}"
        "</div>"
    )
    return LiveFigure("opening_film", {"frames": page_frames, "curve": curve}, still)


def _head(line: str, weights: list[list[float]]) -> str:
    """What one head reads: a row and a column for each character."""
    n = len(line)
    letters = [character.replace(" ", "␣") for character in line]
    cells = "<i></i>" + "".join(f"<b>{letter}</b>" for letter in letters)
    for letter, row in zip(letters, weights, strict=True):
        squares = [f'<i style="--w: {weight}"></i>' for weight in row]
        cells += f"<b>{letter}</b>{''.join(squares)}{'<i></i>' * (n - len(row))}"
    previous_share = sum(row[-2] for row in weights[1:]) / (n - 1)
    return (
        '<div class="film-head"><p class="sx-title">Where it looks</p>'
        f'<div class="film-map" style="--n: {n}" role="img" aria-label="A triangle of squares for '
        f"the line {escape(line)}: a row for each character, a column for each that it may read. "
        'At the end of the run only the squares of the character just before are full">'
        f'{cells}</div><p class="sx-caption">A row for each character. The fuller a '
        "square, the more it looks there. It learns to look one back: "
        f'<span class="film-before">{100 * previous_share:.0f}\u00a0%</span>.</p></div>'
    )


def _curve(
    curve: list[tuple[float, float]], ticks: list[tuple[float, int]], highest: float, lowest: float
) -> str:
    """The loss as a line over the steps, each number in a place of its own."""
    path = "".join(f"{'L' if i else 'M'}{x} {y}" for i, (x, y) in enumerate(curve))
    names = "".join(f'<span style="--x: {x}">{step:,}</span>' for x, step in ticks)
    return (
        '<div class="film-run"><p class="sx-title">Its guesses get better</p>'
        '<div class="film-curve" style="--x: 1; --y: 0.92">'
        '<svg viewBox="0 0 1 1" preserveAspectRatio="none" role="img" '
        f'aria-label="The loss on text that it has not read falls from {highest:.2f} before the '
        f'first step to {lowest:.2f} after the last"><path d="{path}"/><path d="{path}"/></svg>'
        f'<span class="film-dot"></span><span class="film-high">{highest:.2f}</span>'
        f'<span class="film-low">{lowest:.2f}</span></div>'
        f'<p class="film-ticks" aria-hidden="true">{names}</p>'
        '<p class="sx-caption">The <i>loss</i> says how much the next character surprises it: '
        "lower is better. Steps go from left to right.</p></div>"
    )
