"""Two models of today side by side: ten parts, weights, and what is kept of the past."""

from collections.abc import Mapping
from html import escape

from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.kit.figure.still import table
from scratchformer_course.measurements import load_measurements

FIRST = ["Llama 3 8B", "Qwen3-Next 80B"]  # shown before a reader chooses
TOKENS = [1_000, 10_000, 100_000, 1_000_000]


def kept(model: Mapping, tokens: int) -> float | int:
    """The bytes that a model keeps after so many tokens, two for each number."""
    numbers = 0.0
    for layer in model["cache"]:
        read = tokens if layer["limit"] is None else min(tokens, layer["limit"])
        numbers += layer["layers"] * (layer["each"] * read + layer["fixed"])
    return 2 * numbers


def short(n: float | int) -> str:
    """A large number in three digits, with a word for its size."""
    for size, word in ((1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if n >= size:
            return f"{n / size:.3g}{word}"
    return f"{n:.3g}"


def diff() -> LiveFigure:
    """The figure: a choice of two models, and a slider over lengths of text."""
    models = load_measurements("models_of_today")["of"]
    rows = []
    for name, model in models.items():
        missing = [part for part, (_, switch) in model["parts"].items() if switch is None]
        rows.append(
            (
                escape(name),
                short(model["weights"]),
                short(model["used"]),
                short(kept(model, 100_000)),
                escape(", ".join(missing) or "nothing"),
            )
        )
    still = (
        "<p>Where JavaScript runs, you choose two of these models here and see in which of "
        "ten parts they differ.</p>"
        + table(
            ("model", "weights", "used a token", "bytes at 100,000 tokens", "your Llama lacks"),
            rows,
        )
    )
    return LiveFigure("model_diff", {"models": models, "first": FIRST, "tokens": TOKENS}, still)
