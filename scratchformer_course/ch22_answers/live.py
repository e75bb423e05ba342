"""A stored film: one question asked of two models."""

from collections.abc import Mapping
from html import escape

from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

STAGES = {"base": "base model", "sft": "after fine-tuning"}


def one_question(stored: Mapping) -> LiveFigure:
    """The film of `lab/answers.py`: a switch between the models, a slider for the question."""
    film = stored["film"]
    asked = [question["n"] for question in film["base"]]
    settings = {"stages": [[name, STAGES[name], film[name]] for name in STAGES], "asked": asked}
    return LiveFigure("answers", settings, _questions(settings))


def _shown(answer: str) -> str:
    return escape(answer.replace("\n", "⏎"))


def _questions(settings: dict) -> str:
    numbers = settings["asked"]
    i = numbers.index(85) if 85 in numbers else 0
    rows = [
        (name, ", ".join(map(_shown, questions[i]["answers"][:4])))
        for _, name, questions in settings["stages"]
    ]
    return (
        "<p>This figure is live where JavaScript runs: there you choose the question. Here are "
        f"answers to {numbers[i]}? from each model.</p>{table(('model', 'answers'), rows)}"
    )
