"""Two stored films: one question asked of three models, and what a checker of rules rewards."""

from collections.abc import Mapping
from html import escape

from scratchformer_course.ch21_answers.rules import RULES
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

STAGES = {"base": "base model", "sft": "after fine-tuning", "reinforce": "after reward"}
TOLD = {
    "form": "What is no sum fails",
    "units": "The units must be right",
    "tens": "The tens must be right",
    "carry": "The units must carry",
}


def one_question(stored: Mapping) -> LiveFigure:
    """The film of `lab/answers.py`: a switch between models, a slider for the question.

    Raises ValueError where a model of the three is missing.
    """
    film = stored.get("film", {})
    if set(film) != set(STAGES):
        raise ValueError(f"a film of {sorted(film)}, expected one of {', '.join(STAGES)}")
    asked = [each["n"] for each in film["base"]]
    settings = {"stages": [[name, STAGES[name], film[name]] for name in STAGES], "asked": asked}
    return LiveFigure("answers", settings, _questions(settings))


def checker(stored: Mapping) -> LiveFigure:
    """The checkers of `lab/answers.py`, one for each choice of rules.

    Raises ValueError for a choice of rules that was not trained.
    """
    films = stored.get("checkers", {})
    if len(films) != 2 ** len(RULES):
        raise ValueError(f"{len(films)} checkers, expected {2 ** len(RULES)}")
    frames = next(iter(films.values()))
    settings = {
        "rules": [[rule, TOLD[rule]] for rule in RULES],
        "films": films,
        "steps": [20 * i for i in range(len(frames))],
        "asked": [int(n) for n in frames[0]["answers"]],
    }
    return LiveFigure("checker", settings, _checkers(settings))


def _shown(answer: str) -> str:
    return escape(answer.replace("\n", "⏎"))


def _questions(s: dict) -> str:
    at = s["asked"].index(85) if 85 in s["asked"] else 0
    rows = [(name, ", ".join(map(_shown, own[at]["answers"][:4]))) for _, name, own in s["stages"]]
    return (
        "<p>This figure is live where JavaScript runs: there you choose the question. Here are "
        f"answers to {s['asked'][at]}? from each model.</p>{table(('model', 'answers'), rows)}"
    )


def _checkers(s: dict) -> str:
    rows, n = [], s["asked"][-1]
    for chosen, (*_, last) in s["films"].items():
        answers = ", ".join(map(_shown, last["answers"][str(n)][:3]))
        rules = ", ".join(chosen.split()) or "none"
        rows.append((rules, f"{last['reward']:.2f}", f"{last['right']:.2f}", answers))
    return (
        "<p>This figure is live where JavaScript runs: there each rule is a switch. Here is what "
        "the model does that is trained on each choice of rules.</p>"
    ) + table(("rules", "reward", "right", f"answers to {n}?"), rows)
