"""The eight changes as switches, live: what each does to weights, cache and the measured loss."""

from collections.abc import Mapping
from html import escape

from scratchformer_course.ch19_since_gpt2.model import CHANGES, MODERN, Sizes
from scratchformer_course.ch19_since_gpt2.worth import difference, measured
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.numbers import check_finite
from scratchformer_course.kit.figure.still import table

# change -> (the part that it is about, as in GPT-2, as it is with it)
PARTS = {
    "rmsnorm": ("Norms", "LayerNorm", "RMSNorm"),
    "rotary": ("Positions", "a learned table", "rotation of queries and keys"),
    "swiglu": ("Feed-forward", "GELU", "SwiGLU"),
    "grouped": ("Keys and values", "for each head", "shared by all heads"),
    "qk_norm": ("Queries and keys", "as they are", "normed"),
    "no_bias": ("Biases", "in every layer", "none"),
    "window": ("Attention reaches", "all before", "the last eight tokens"),
    "experts": ("Networks in a block", "one", "eight, two for each token"),
}
CACHED = 1000  # tokens whose cache is told


def changes(sizes: Sizes, stored: Mapping) -> LiveFigure:
    """The switches, for models of these sizes and the runs of `lab/since_gpt2.py`.

    Raises ValueError for losses that are not finite, and where GPT-2 itself was not trained.
    """
    runs = measured(stored)
    check_finite("the changes", [loss for _, losses in runs for loss in losses])
    if not any(not names for names, _ in runs):
        raise ValueError("no runs of GPT-2 itself, expected those of lab/since_gpt2.py")
    settings = {
        "parts": [[name, *PARTS[name]] for name in CHANGES],
        "six": list(MODERN),
        "sizes": vars(sizes),
        "cached": CACHED,
        "runs": [[names, losses] for names, losses in runs],
    }
    return LiveFigure("changes", settings, _still(settings))


def _still(s: dict) -> str:
    """A table of the runs, without JavaScript."""
    parts = {name: now for name, _, _, now in s["parts"]}
    base = next(losses for names, losses in s["runs"] if not names)
    rows = []
    for names, losses in s["runs"]:
        changed = ", ".join(parts[name] for name in names) or "GPT-2"
        if set(s["six"]) <= set(names):
            more = [parts[name] for name in names if name not in s["six"]]
            changed = ", ".join(["the six together", *more])
        elif len(names) > 1:
            (missing,) = set(s["six"]) - set(names)
            changed = f"the six without {parts[missing]}"
        d = difference(losses, base) if names else None
        against = f"{d.mean:+.3f} ± {d.half:.3f}".replace("-", "−") if d else ""
        rows.append((escape(changed), f"{sum(losses) / len(losses):.3f}", against))
    return (
        "<p>This figure is live where JavaScript runs: there each change is a switch. Here are the "
        "losses of all models that were trained, and their differences to GPT-2.</p>"
    ) + table(("model", "loss (nats)", "against GPT-2"), rows)
