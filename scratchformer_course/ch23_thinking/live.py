"""The game: the reader follows the ball, and then two models do, at once and in writing."""

from collections.abc import Mapping

from scratchformer_course.ch23_thinking.cups import CUP, NAMES
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import plain_table


def game(stored: Mapping) -> LiveFigure:
    """The games that `lab/thinking.py` recorded, with the answers of both models."""
    shown = stored["film"]["shown"]
    settings = {"pairs": NAMES[:CUP], "games": [[g, s, w.replace(" ", "")] for g, s, w in shown]}
    return LiveFigure("cups", settings, _still(shown))


def score(shown: list) -> tuple[int, int]:
    """How many games each kind of model has right: at once, and in writing."""
    balls = [_ball(game) for game, _, _ in shown]
    pairs = list(zip(balls, shown, strict=True))
    written = sum(text.endswith(f"= {ball} .") for ball, (_, _, text) in pairs)
    return sum(say == ball for ball, (_, say, _) in pairs), written


def _ball(game: str) -> str:
    ball = game[0]
    for swap in game[1:]:
        a, b = NAMES[int(swap)].split("-")
        ball = {a: b, b: a}.get(ball, ball)
    return ball


def _still(shown: list) -> str:
    rows = [
        (f"{game[0]}: {' '.join(NAMES[int(s)] for s in game[1:])}", _ball(game), say, text)
        for game, say, text in shown[:3]
    ]
    once, written = score(shown)
    return (
        "<p>This figure is live where JavaScript runs: there the cups move, and you follow the "
        "ball. Here are three games: the cup of the ball, and the swaps.</p>"
        f"{plain_table(('game', 'the ball', 'at once', 'in writing'), rows)}"
        f"<p>Right in {len(shown)} games: at once {once}, in writing {written}.</p>"
    )
