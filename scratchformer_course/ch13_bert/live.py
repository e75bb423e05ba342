"""Fill the gap: two texts with worn-away words, and what the shipped BERT would write there.

And, from stored numbers: what such a BERT makes of German that puts the object first, when more and
more of its texts did so, and two sentences of the reader's that a real BERT compares.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import Any

import torch

from scratchformer.models import BERT
from scratchformer.models.bert import NORM_EPS
from scratchformer.training import eval_mode
from scratchformer_course.ch13_bert.composed import NOUNS, VERBS, composed
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import plain_table, table
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model.description import pack

PAD, CLS, SEP, MASK = range(4)  # the ids before those of the words
GAP, LIKELIEST = "_", 5
LANGUAGES = ("English", "German")
EXAMPLES = (
    ("the _ sees every cat", "der Hund sieht jede Katze"),
    ("_ old woman must _ the birds", "heute muss _ alte Frau die _ füttern"),
    ("a _ child _ the geese", "ein kluges Kind hört die _"),
    ("we know that _ rich king loves these _", "wir wissen , dass der _ König diese Pferde liebt"),
    ("_ the young teacher will find _ cow", "jetzt wird _ junge Lehrer die Kuh _"),
    ("these _ girls praise a _ man", "diese lauten Mädchen _ einen armen _"),
)
# German with the object first, the articles that show who acts between *, and its English
TURNED = {
    "subject's": ("jede Katze sieht *der* Hund", "the _ sees every cat"),
    "object's": ("*den* Hund sieht jede Katze", "every _ sees the dog"),
    "both": ("*den* Hund sieht *der* König", "the _ sees the dog"),
}
FIRST_TWO = ("The doctor paid the actor.", "The performer got money from the physician.")
RIVALS = (
    ("The doctor paid the actor.", "The actor paid the doctor."),
    ("The dog saw the cat.", "The cat saw the dog."),
)


def describe_bert(model: BERT, words: Sequence[str]) -> dict[str, Any]:
    """Settings, tensors, weights and the text of each token, for bert.js, and a `hash` of them.

    Raises ValueError for weights that float16 cannot hold.
    """
    weights = {name: p.detach().cpu().float() for name, p in model.named_parameters()}
    description = {
        "config": asdict(model.config) | {"epsilon": NORM_EPS},
        "tensors": [{"name": name, "shape": list(t.shape)} for name, t in weights.items()],
        "weights": pack(weights),
        "words": list(words),
    }
    text = json.dumps(description, sort_keys=True)
    return {"hash": hashlib.sha256(text.encode()).hexdigest()[:16], **description}


def fill_gaps(model: BERT, words: Sequence[str]) -> LiveFigure:
    """Two texts in which _ is a gap; of the EXAMPLES, English and German, the first one first.

    `words` holds the text of each token; the first four are not words.
    """
    description = describe_bert(model, words)
    settings = {
        "texts": list(EXAMPLES[0]),
        "names": list(LANGUAGES),
        "examples": [list(example) for example in EXAMPLES],
    }
    still = _still(model, words, EXAMPLES[0])
    return LiveFigure("fill_gaps", settings, still, [description])


def turned_texts() -> LiveFigure:
    """How many subjects are found, by article, when the reader sets how many texts turn round."""
    measured = load_measurements("object_first")
    found, tested = measured["shares"]["found"], measured["settings"]["shares"]["tested"]
    runs = [
        [f"{row['share']:.0%}", round(tested * row["object first"])]
        + [[row[kind][what] for what in ("found", "of", "said")] for kind in TURNED]
        for row in found
    ]
    texts = list(TURNED.values())
    rows = [
        (share, f"{n} of {tested}", *(f"{right} of {n}" for right, n, _ in kinds))
        for share, n, *kinds in runs
    ]
    head = "object first in", "subjects found", *(_strong(german) for german, _ in texts)
    still = (
        "<p>This figure is live where JavaScript runs: there you choose in how many of its texts "
        "the network met the object first. Here is how many subjects each of five networks finds, "
        "in all, and by the article that shows who acts.</p>"
    ) + table(head, rows)
    settings = {"runs": runs, "texts": [list(text) for text in texts], "tested": tested}
    return LiveFigure("turned_texts", settings, still)


def two_sentences() -> LiveFigure:
    """Two sentences that a reader puts together, and how near MiniLM holds them."""
    measured = load_measurements("same_words")
    sentences = [text for text, _ in composed()]
    settings = {
        "nouns": [list(noun) for noun in NOUNS],
        "verbs": [list(verb) for verb in VERBS],
        "cosines": measured["composed"],
        "first": [sentences.index(text) for text in FIRST_TWO],
    }
    still = (
        "<p>This figure is live where JavaScript runs: there you put two sentences together from "
        "six nouns and six verbs. Here is what MiniLM makes of two that say the same, and of "
        "others that do not.</p>"
    ) + plain_table(
        ("two sentences", "cosine"),
        ((f"<em>{a}</em> <em>{b}</em>", f"{cosine_of(a, b):.3f}") for a, b in (FIRST_TWO, *RIVALS)),
    )
    return LiveFigure("two_sentences", settings, still)


def cosine_of(first: str, second: str) -> float:
    """The stored cosine, in MiniLM, of two of the composed() sentences."""
    sentences = [text for text, _ in composed()]
    i, j = sorted((sentences.index(first), sentences.index(second)))
    at = 3 * (i * len(sentences) - i * (i + 1) // 2 + j - i - 1)
    return int(load_measurements("same_words")["composed"][at : at + 3]) / 1000


def _strong(text: str) -> str:
    """Its parts between * in bold."""
    return "".join(
        f"<strong>{part}</strong>" if i % 2 else part for i, part in enumerate(text.split("*"))
    )


def _row(texts: Sequence[str], words: Sequence[str]) -> tuple[list[int], list[int]]:
    """Ids and segments of two texts."""
    ids, segments = [CLS], [0]
    for segment, text in enumerate(texts):
        for word in text.split():
            ids.append(MASK if word == GAP else words.index(word))
        ids.append(SEP)
        segments += [segment] * (len(ids) - len(segments))
    return ids, segments


def _still(model: BERT, words: Sequence[str], texts: Sequence[str]) -> str:
    """The likeliest words for the first gap as PyTorch has them: for a page without JavaScript."""
    ids, segments = _row(texts, words)
    with eval_mode(model):
        logits = model(torch.tensor([ids]), torch.tensor([segments]))[0, ids.index(MASK)]
    logits[: MASK + 1] = -torch.inf
    likeliest = logits.softmax(dim=-1).topk(LIKELIEST)
    pairs = zip(likeliest.values.tolist(), likeliest.indices.tolist(), strict=True)
    rows = [(escape(words[i]), f"{p:.1%}") for p, i in pairs]
    quoted_texts = " / ".join(f"<em>{escape(text.replace(GAP, '▢'))}</em>" for text in texts)
    return (
        "<p>This figure is live where JavaScript runs: there you type both texts, and a gap "
        "wherever you like. These are the words the model finds likeliest at the gap of "
        f"{quoted_texts}:</p>"
    ) + plain_table(("word", "probability"), rows)
