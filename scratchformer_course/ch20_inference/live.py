"""A table of counts that guesses ahead of the model; fewer bits; one weight of SmolLM2 set to 0."""

import hashlib
from collections.abc import Mapping
from html import escape
from typing import Any

import torch

from scratchformer.generation import generate
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch20_inference.counts import describe_counts, guess, unpacked
from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.kit.figure.still import RECORDED, table
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model import describe
from scratchformer_course.page_model.fewer_bits import GROUP, SHARED

PROMPT = "JULIET:\n"
WRITTEN, DRAFTED, MOST_DRAFTED = 160, 4, 8  # characters in all, of a draft, of the longest
TEMPERATURE, SEED = 0.8, 1  # of the rounded model; the draft starts greedy: one text, twice
SHORT = 120  # characters that a rounded model writes
BITS = (16, 8, 6, 5, 4, 3, 2)
# of the validation split; the playground scores it, too
PASSAGE = """KATHARINA:
Too light for such a swain as you to catch;
And yet as heavy as my weight should be.

PETRUCHIO:
Should be! should--buzz!

KATHARINA:
Well ta'en, and like a buzzard.

PETRUCHIO:
O slow-wing'd turtle! shall a buzzard take thee?"""


def one_weight() -> LiveFigure:
    """SmolLM2 without one weight, or its neighbour, and with fewer bits: what it answers."""
    stored = load_measurements("real_endings")
    asked, found = stored["settings"], stored["weight"]
    block, row, column = asked["weight"]
    name = f"blk.{block}.ffn_down.weight"
    places = [{"name": name, "row": row, "column": column + n} for n in (0, 1)]
    buttons = ("none", "the one", "its neighbour")
    weights = zip(buttons, [None, *places], [None, *found["weights"]], strict=True)
    settings = {
        "question": asked["question"],
        "bits": asked["bits"],
        "weights": [[*weight] for weight in weights],
        "recorded": found["answers"],
        "most": 60,
    }
    answers = [escape(said[:30]) for said in found["answers"][0]]  # the beginnings
    rows = [(f"{asked['bits'][0]} bits", *answers)]
    head = ("set to 0:", *buttons)
    numbers = f"<p>Weight {row}, {column}: {found['weights'][0]}</p>"
    still = f"{RECORDED}<p>{escape(asked['question'])}</p>{numbers}" + table(head, rows)
    return LiveFigure("one_weight", settings, still)


def draft_ahead(model: GPT, tokenizer: CharTokenizer) -> LiveFigure:
    """The model writes with and without a draft of some characters, side by side.

    The draft is the stored table of counts, which reads up to five characters.
    """
    counts = describe_counts()
    settings = {
        "prompt": PROMPT,
        "length": DRAFTED,
        "longest": MOST_DRAFTED,
        "temperature": 0,
        "seed": SEED,
        "written": WRITTEN,
    }
    still = _still_draft(model, tokenizer, unpacked(counts["tables"]))
    return LiveFigure("draft_ahead", settings, still, [exact(model, tokenizer), counts])


def fewer_bits(model: GPT, tokenizer: CharTokenizer, stored: Mapping[str, Any]) -> LiveFigure:
    """The model with its matrices rounded to fewer bits: what it writes, its loss, its bytes.

    `stored` is what `lab/page_bits.py` has measured on the whole validation split.
    """
    validation = stored["validation"]
    losses = {
        shared: [validation["16"], *(validation[shared][str(bits)] for bits in BITS[1:])]
        for shared in SHARED
    }
    settings = {
        "prompt": PROMPT,
        "passage": PASSAGE,
        "temperature": TEMPERATURE,
        "seed": SEED,
        "written": SHORT,
        "bits": list(BITS),
        "losses": losses,
    }
    sizes = {shared: [size(model, bits, shared) for bits in BITS] for shared in SHARED}
    still = _still_bits(losses, sizes)
    return LiveFigure("fewer_bits", settings, still, [exact(model, tokenizer)])


def bits_of_shakespeare() -> LiveFigure:
    """`fewer_bits` of the shipped model, for a page written by hand."""
    name = "tiny-shakespeare"
    model, tokenizer = GPT.pretrained(name), CharTokenizer.pretrained(name)
    return fewer_bits(model, tokenizer, load_measurements("page_bits"))


def exact(model: GPT, tokenizer: CharTokenizer) -> dict[str, Any]:
    """The model's description under a hash of its own, for which the site has the 16 bits."""
    description = describe(model, tokenizer)
    name = f"{description['hash']} in 16 bits".encode()
    return description | {"hash": hashlib.sha256(name).hexdigest()[:16]}


def size(model: GPT, bits: int, shared: str) -> int:
    """Bytes: matrices in `bits` bits with float16 scales, or all as it is for 16."""
    total = 0
    for p in model.parameters():
        if p.ndim == 1 or bits == 16:
            total += 2 * p.numel()
        else:
            parts = {"tensor": 1, "row": p.shape[0], "group": p.numel() // GROUP}[shared]
            total += p.numel() * bits // 8 + 2 * parts
    return total


def greedy_passes(text: str, start: int, tables: list, length: int) -> int:
    """Passes in which a model writes `text[start:]`, its own likeliest text, with such a draft."""
    passes = 0
    while start < len(text):
        passes += 1
        drafted = 0
        while drafted < length and start + drafted < len(text) - 1:
            row = guess(tables, text[: start + drafted], 5)
            if row[0][0] != text[start + drafted]:
                break
            drafted += 1
        start += drafted + 1
    return passes


def _still_draft(model: GPT, tokenizer: CharTokenizer, tables: list) -> str:
    """The likeliest text, and the passes that drafts of some lengths need for it."""
    ids = torch.tensor([tokenizer.encode(PROMPT)])
    text = tokenizer.decode(generate(model, ids, WRITTEN, temperature=0.0)[0].tolist())
    rows = [("none", WRITTEN, "1.00")]
    for length in (1, 2, 4, 8):
        n = greedy_passes(text, len(PROMPT), tables, length)
        rows.append((f"{length}", n, f"{WRITTEN / n:.2f}"))
    return (
        "<p>This figure is live where JavaScript runs: there the model writes with and without a "
        f"draft, side by side. Here are the {WRITTEN} characters that it writes greedily, the "
        "same in both ways:</p>"
        f'<p class="sx-text"><b>{escape(PROMPT)}</b>{escape(text[len(PROMPT) :])}</p>'
    ) + table(("draft", "passes", "characters per pass"), rows)


def _still_bits(losses: Mapping[str, list[float]], sizes: Mapping[str, list[int]]) -> str:
    parts = ("matrix", "row", f"{GROUP} weights")
    rows = [
        (bits, *(f"{losses[s][i]:.3f} ({sizes[s][i] / 1e3:,.0f} kB)" for s in SHARED))
        for i, bits in enumerate(BITS)
    ]
    return (
        "<p>This figure is live where JavaScript runs: there the model of each row writes. Here is "
        "its loss on the whole validation split, in nats a character, and its size.</p>"
    ) + table(("bits", *(f"one scale per {part}" for part in parts)), rows)
