"""`race()`: a GPT that learns in the page, beside the stored curves of PyTorch's runs.

The page holds the text, packed, and the trainer. Everything is computed by the reader's browser.
"""

import base64
import gzip
import hashlib
import math
from typing import Any

from scratchformer.data import Playhouse
from scratchformer.data.corpora import Corpus, load_corpus
from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.kit.figure.still import plain_table
from scratchformer_course.measurements import load_measurements

# The setting of configs/record-every-seed.toml, a speedrun's GPT of one block, but for the steps
FIXED: dict[str, Any] = {
    "bias": False,
    "norm_weights": False,
    "embedding_norm": True,
    "activation": "relu2",
    "qk_norm": False,
    "tied": False,
    "value_embeddings": False,
}
CONFIG: dict[str, Any] = {
    "context_length": 64,
    "d_model": 64,
    "n_heads": 1,
    "n_layers": 1,
    "positions": "rotary",
    "smear": 3,
    "bigram_rows": 4225,
}
TRAINING: dict[str, Any] = {
    "batch_size": 32,
    "steps": 76,  # chosen on the development split: ten seeds of ten reach nanoGPT's loss there
    "lr": 3e-2,
    "muon_lr": 0.1,
    "muon_momentum": 0.87,
    "betas": [0.4, 0.9],
}
# Without Muon: AdamW's rate for the matrices, picked on development from as many settings as
# Muon's, as in taken_apart.json; its rate for the rest is the same
RIVAL: dict[str, Any] = {"muon_lr": None, "matrix_lr": 0.016}
SHORTEST = 3000  # characters: one batch and the score need as many
NAMES = {
    "tinyshakespeare": "Tiny Shakespeare",
    "playhouse": "Playhouse, a text written for this course",
}
LABELS = {
    "nanoGPT": "nanoGPT's example run in PyTorch (stored)",
    "pytorch": "this run in PyTorch (stored)",
}
PROMPT = "ROMEO:\nWhat light through"


def race(corpus: Corpus | None = None) -> LiveFigure:
    """A button that trains a GPT on `corpus` in the page: Tiny Shakespeare if it is not given.

    Beside its curve on Tiny Shakespeare stand those of nanoGPT's command for a CPU and of the same
    recipe in PyTorch, as they were measured. On Playhouse its known entropy is a line in the plot.
    Raises ValueError for a text of fewer than 3,000 characters.
    """
    corpus = load_corpus("tinyshakespeare") if corpus is None else corpus
    if len(corpus.text) < SHORTEST:
        raise ValueError(f"{len(corpus.text)} characters of text, expected at least {SHORTEST:,}")
    is_shakespeare = corpus.name == "tinyshakespeare"
    stored = load_measurements("tab")
    rival = stored["nanoGPT"][0]
    goal = {"loss": round(rival["loss"], 3), "seconds": round(rival["seconds"], 1)}
    goal["label"] = f"{goal['loss']:.2f}: nanoGPT's example, on text it has not read"
    settings = {
        "corpus": NAMES.get(corpus.name, corpus.name),
        "config": CONFIG,
        "fixed": FIXED,
        "training": TRAINING,
        "rival": RIVAL,
        "prompt": PROMPT,
        "guess": round(math.log(len(set(corpus.text))), 4),
        "goal": goal if is_shakespeare else None,
        "ease": _ease(corpus.name) if corpus.name in NAMES else None,
        "floor": round(Playhouse().entropy_per_char(), 4) if corpus.name == "playhouse" else None,
        "curves": [_curve(label, stored[name][0]["curve"]) for name, label in LABELS.items()]
        if is_shakespeare
        else [],
    }
    return LiveFigure("race", settings, _still(settings), [describe_corpus(corpus)])


def _ease(corpus: str) -> str:
    """What a score on the page's text is worth, beside that of the run which opens the course."""
    early, end = (x for x in load_measurements("film")["frames"] if x["step"] in (100, 5000))
    if corpus != "playhouse":
        return (
            f"The GPT of the first page is right {100 * early['right']:.0f} times in 100 after "
            f"{early['step']} steps, and {100 * end['right']:.0f} after {end['step']:,}. This one "
            "learns faster, with what chapter 17 finds."
        )
    return (
        "Playhouse is an easy text: a program writes it by a few rules, so that much of a line "
        "follows from the words before. Shakespeare is far harder. There the GPT of the first page "
        f"is right {100 * end['right']:.0f} times in 100, after {end['step']:,} steps."
    )


def describe_corpus(corpus: Corpus) -> dict[str, Any]:
    """The text, packed, and a hash of it: a page holds it once, as it does a model's weights."""
    packed = base64.b64encode(gzip.compress(corpus.text.encode(), 9, mtime=0)).decode()
    digest = hashlib.sha256(corpus.text.encode()).hexdigest()[:16]
    return {"hash": digest, "name": corpus.name, "text_gzip": packed}


def _curve(label: str, curve: dict[str, Any]) -> dict[str, Any]:
    return {"label": label, "seconds": curve["seconds"], "losses": curve["train_loss"]}


def _still(settings: dict[str, Any]) -> str:
    """The stored runs as a plot and a table: for a page without JavaScript."""
    words = (
        "<p>Here a GPT learns in the page, on your own processor. That needs JavaScript, and in a "
        f"notebook its cell has to be run. The text is {settings['corpus']}.</p>"
    )
    if not settings["curves"]:
        return words
    rows = [
        (curve["label"], f"{curve['seconds'][-1]:.1f} s", f"{curve['losses'][-1]:.2f}")
        for curve in settings["curves"]
    ]
    words += f"{_plot(settings['curves'])}<p>These runs of PyTorch are stored:</p>"
    return words + plain_table(("run", "training", "last loss"), rows)


def _plot(curves: list[dict[str, Any]]) -> str:
    """Loss against seconds, on a scale of tenfold steps, as SVG."""
    d = Drawing(460, 230)
    left, right, top, bottom = 40, 450, 24, 196

    def at(seconds: float, loss: float) -> tuple[float, float]:
        x = left + (right - left) * math.log(seconds / 0.04) / math.log(200 / 0.04)
        return round(x, 1), round(bottom - (bottom - top) * (loss - 1.6) / 2.6, 1)

    d.text_from(4, 12, "loss, nats a character", size=13)
    for seconds in (0.1, 1.0, 10.0, 100.0):
        x = at(seconds, 2.0)[0]
        d.line([(x, top), (x, bottom)], "muted", width=0.5)
        d.text(x, bottom + 18, f"{seconds:g} s", size=13)
    for loss in (2.0, 3.0, 4.0):
        d.line([at(0.04, loss), at(200.0, loss)], "muted", width=0.5)
        d.text_to(left - 8, at(1.0, loss)[1], f"{loss:g}", size=13)
    for curve, colour, short in zip(curves, ("query", "value"), ("nanoGPT", "ours"), strict=True):
        points = [at(*point) for point in zip(curve["seconds"], curve["losses"], strict=True)]
        d.line(points, colour)
        d.text_from(points[0][0] + 4, points[0][1] - 10, short, colour, size=13)
    ends = ", ".join(f"{c['label']} ends after {c['seconds'][-1]:.1f} seconds" for c in curves)
    return d.svg(
        f"Loss against seconds of training, two stored runs, both falling below 2: {ends}."
    )
