"""Why MiniLM hardly tells who did what: its mean, or its pairs of texts -> who_did_what.json.

Usage: python -m lab.who_did_what [--quick | --write] [--only PART ...]

At the end of chapter 13 MiniLM, whose vector of a sentence is the mean of its tokens', holds two
sentences for nearly the same although they swap who did it. Two causes are tried. Without the mean
(part "compared"): its twenty TRIPLES and the page's sentences by `[CLS]`; token by token (each
token with the nearest one of the other sentence, averaged both ways); by the rows of its word table
alone; and how near each noun is to itself when it acts and when it is acted on.

With the mean, and other pairs (part "taught"): some more steps of contrastive training, in which an
active sentence must find its passive among those of a batch. One arm also has both sentences with
the nouns swapped among the wrong answers, the other has not. Both are asked about nouns and verbs
that no step had: is the passive nearer than both swapped sentences? Every rate, three seeds.
"""

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional as F

from lab import runs
from lab.same_words import counted, looked_up, read
from scratchformer.data.real_model import MINILM
from scratchformer.models import BERT
from scratchformer.tokenizers import WordPiece
from scratchformer_course.ch13_bert.triples import TRIPLES

PAGE = ("The dog saw the cat.", "The cat was seen by the dog.", "The cat saw the dog.")
NOUNS = "king queen teacher farmer nurse soldier student baker driver lawyer singer tailor horse "
NOUNS += "cow goose wolf fox bear boy girl uncle aunt guest thief"
VERBS = "praised fed found loved helped called chased kissed visited warned hated taught"
NEW_NOUNS, NEW_VERBS = "doctor actor dog cat man mouse painter sailor", "paid seen bitten caught"
PAST = {"seen": "saw", "bitten": "bit"}
COMPARED: dict[str, Any] = {"model": MINILM, "page": PAGE, "triples": TRIPLES}
TAUGHT: dict[str, Any] = {
    "model": MINILM, "steps": 40, "rows": 8, "scale": 20, "warmup": 10,
    "rates": (5e-5, 1e-4), "seeds": (0, 1, 2),
    "nouns": NOUNS, "verbs": VERBS, "new nouns": NEW_NOUNS, "new verbs": NEW_VERBS,
}  # fmt: skip
SETTINGS = {"compared": COMPARED, "taught": TAUGHT}
QUICK = {"steps": 2, "rows": 3, "rates": (1e-4,), "seeds": (0,), "new verbs": "seen"}


def tokens(model: BERT, row: list[int]) -> torch.Tensor:
    """(T, C): the vectors of a text's tokens, each of length 1."""
    return F.normalize(model.encode(torch.tensor([row]))[0], dim=1)


def token_by_token(first: torch.Tensor, second: torch.Tensor) -> float:
    """The mean cosine of each token and the nearest of the other text, of both ways."""
    near = first @ second.T
    return (near.amax(dim=0).mean() + near.amax(dim=1).mean()).item() / 2


@torch.no_grad()
def compared(options: argparse.Namespace) -> dict:
    """The triples and the page's sentences, by the mean and without it."""
    model, tok = BERT.pretrained(MINILM), WordPiece.pretrained(MINILM)
    columns = [[tok.encode(text) for text in column] for column in zip(*TRIPLES, strict=True)]
    rows = [row for column in columns for row in column]
    each = [[tokens(model, row) for row in column] for column in columns]
    near = torch.tensor([[token_by_token(a, b) for b in each[1]] for a in each[0]])
    other = torch.tensor([token_by_token(a, c) for a, c in zip(each[0], each[2], strict=True)])
    triples = {
        "mean": counted(read(model, rows)),
        "[CLS]": counted(torch.stack([x[0] for column in each for x in column])),
        "token by token": {
            "found": int((near.argmax(dim=1) == torch.arange(len(TRIPLES))).sum()),
            "other meaning nearer": int((other > near.diagonal()).sum()),
        },
    }
    rows = [tok.encode(text) for text in PAGE]
    said, same, swapped = (tokens(model, row) for row in rows)
    plain = Counter({i for row in rows for i in row})
    page = {
        "mean": nearness(read(model, rows)),
        "word table": nearness(looked_up(model.wte.weight.detach(), rows, plain)),
        "[CLS]": nearness(torch.stack([said[0], same[0], swapped[0]])),
        "token by token": [round(token_by_token(said, x), 3) for x in (same, swapped)],
    }
    nouns = {"dog": (2, 5), "cat": (5, 2)}  # [CLS] the dog saw the cat . [SEP]
    as_both = {word: round((said[i] @ swapped[j]).item(), 3) for word, (i, j) in nouns.items()}
    print(triples, page, as_both, sep="\n")
    return {"triples": triples, "page": page, "acts and is acted on": as_both}


def nearness(vectors: torch.Tensor) -> list[float]:
    """The cosines of the first of three with the second and with the third."""
    return [round(x, 3) for x in (vectors[0] @ vectors[1:].T).tolist()]


def four_of(one: str, verb: str, other: str) -> list[str]:
    """A sentence, its passive, and both with the nouns swapped."""
    return [
        sentence
        for a, b in ((one, other), (other, one))
        for sentence in (
            f"The {a} {PAST.get(verb, verb)} the {b}.",
            f"The {b} was {verb} by the {a}.",
        )
    ]


def means(model: BERT, tok: WordPiece, texts: Sequence[str]) -> torch.Tensor:
    """(B, C): what `read` makes of texts."""
    return read(model, [tok.encode(text) for text in texts])


@torch.no_grad()
def asked(model: BERT, tok: WordPiece, size: dict[str, Any]) -> dict[str, Any]:
    """How many new sentences have their passive nearer than both swapped ones, and the rest."""
    names, verbs = size["new nouns"].split(), size["new verbs"].split()
    texts = [four_of(a, v, b) for v in verbs for a in names for b in names if a != b]
    said, same, *swapped = (means(model, tok, column) for column in zip(*texts, strict=True))
    wrong = torch.stack([(said * x).sum(dim=1) for x in swapped]).amax(dim=0)
    triples = [text for column in zip(*TRIPLES, strict=True) for text in column]
    return {
        "passive nearest": int(((said * same).sum(dim=1) > wrong).sum()),
        "of": len(texts),
        "triples": counted(means(model, tok, triples)),
        "page": nearness(means(model, tok, PAGE)),
    }


def trained(tok: WordPiece, swapped: bool, seed: int, rate: float, size: dict[str, Any]) -> BERT:
    """MiniLM after some more steps, with or without swapped sentences among the wrong answers."""
    model, draw = BERT.pretrained(MINILM), random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    names, verbs = size["nouns"].split(), size["verbs"].split()
    for step in range(size["steps"]):
        drawn = [(draw.sample(names, 2), draw.choice(verbs)) for _ in range(size["rows"])]
        columns = list(zip(*(four_of(a, verb, b) for (a, b), verb in drawn), strict=True))
        texts = [text for column in columns[: 4 if swapped else 2] for text in column]
        said, *answers = means(model, tok, texts).split(size["rows"])
        scores = size["scale"] * said @ torch.cat(answers).T
        loss = F.cross_entropy(scores, torch.arange(size["rows"]))
        optimizer.param_groups[0]["lr"] = rate * min(1.0, (step + 1) / size["warmup"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def taught(options: argparse.Namespace) -> dict:
    """Both arms at every rate, three seeds, and MiniLM as it is."""
    size = TAUGHT | (QUICK if options.quick else {})
    tok = WordPiece.pretrained(MINILM)
    before = asked(BERT.pretrained(MINILM), tok, size)
    print(before, flush=True)
    found = []
    for seed in size["seeds"]:
        for rate in size["rates"]:
            for swapped in (True, False):
                row = {"swapped": swapped, "rate": rate, "seed": seed}
                found.append(row | asked(trained(tok, swapped, seed, rate, size), tok, size))
                print(found[-1], flush=True)
    return {"before": before, "found": found}


PARTS = {"compared": compared, "taught": taught}
main = runs.script(__doc__, "who_did_what", PARTS, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
