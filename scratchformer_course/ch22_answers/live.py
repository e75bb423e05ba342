"""Stored films: one question asked of two models, and what other rewards make of the answers."""

from collections.abc import Mapping
from html import escape

from scratchformer_course.ch22_answers.drawings import first_numbers
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

STAGES = {"base": "base model", "sft": "after fine-tuning"}


def one_question(stored: Mapping) -> LiveFigure:
    """The film of `lab/answers.py`: a switch between the models, a slider for the question."""
    film = stored["film"]
    asked = [question["n"] for question in film["base"]]
    settings = {"stages": [[name, STAGES[name], film[name]] for name in STAGES], "asked": asked}
    return LiveFigure("answers", settings, _questions(settings))


def tuned_reward(stored: Mapping) -> LiveFigure:
    """A dial for what a right answer with a borrow earns, a KL penalty, and two kinds of pupils."""
    kept = ("worth", "beta", "bars", "right", "with_borrow")
    pupils = {}
    for name, own in stored["rewards"].items():
        runs = (own["before"], *own["after"])
        pupils[name] = [{key: run[key] for key in kept if key in run} for run in runs]
    n = stored["settings"]["shown"]
    plain = pupils["forgetful"][:2]
    bars = {name: run["bars"] for name, run in zip(("before", "after"), plain, strict=True)}
    rows = [
        (name, f"{run['worth']:g}", f"{run['beta']:g}", f"{run['right']:.2f}", _share(run))
        for name, runs in pupils.items()
        for run in runs[1:]
    ]
    head = ("pupils", "a borrow earns", "β", "right", "of these with a borrow")
    still = (
        "<p>This figure is live where JavaScript runs: there you set the reward. Here are the "
        f"first numbers of answers to {n} before and after the reward of 1 for each right answer, "
        f"and what other rewards lead to.</p>{first_numbers(n, bars).data}{table(head, rows)}"
    )
    return LiveFigure("tuned_reward", {"n": n, "pupils": list(pupils.items())}, still)


def _share(run: Mapping) -> str:
    return f"{run['with_borrow']:.2f}"


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
