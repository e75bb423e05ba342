"""Four lines of a real model as switches, live: what it says with those of other models."""

from collections.abc import Mapping
from html import escape

from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

# line -> (what it does, as it is in SmolLM2, as it is elsewhere)
PARTS = {
    "norm": ("Norm", "divides by the size", "GPT-2: subtracts the mean, too"),
    "gate": ("Gate", "SiLU", "Gemma: GELU"),
    "base": ("Rotation, base", "100,000", "the first Llama: 10,000"),
    "pairs": ("Rotation, pairs", "channels i and i + 32", "chapter 08: neighbours"),
}

MOST = 60  # tokens of an answer in a page


def lines(stored: Mapping) -> LiveFigure:
    """The switches, for what `lab/real_lines.py` has stored of all sets of lines."""
    questions = [*stored["settings"]["questions"]]
    settings = {
        "parts": [[name, *PARTS[name]] for name in PARTS],
        "questions": questions,
        "said": [[run["lines"], run["loss"], run["answers"]] for run in stored["combinations"]],
        "most": MOST,
    }
    return LiveFigure("lines", settings, _still(settings))


def _still(s: dict) -> str:
    """Each line alone, without JavaScript."""
    other = {name: f"{part}: {elsewhere}" for name, part, _, elsewhere in s["parts"]}
    rows = [
        (escape(other[names[0]] if names else "as it is"), f"{loss:.2f}", *map(escape, said))
        for names, loss, said in s["said"]
        if len(names) < 2
    ]
    return (
        "<p>This figure is live where JavaScript runs: there each line is a switch. Here is what "
        "the model answers with one line of another model. The loss is in nats a token, on lines "
        "of Shakespeare.</p>"
    ) + table(("", "loss", *map(escape, s["questions"])), rows)
