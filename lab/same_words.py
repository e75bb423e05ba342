"""What a real BERT holds for the same: other words, or another meaning -> same_words.json.

Usage: python -m lab.same_words [--quick | --write]

Each of chapter 13's TRIPLES is a sentence, the same in other words (they share no content word),
and another meaning in the same words, or in all but one. all-MiniLM-L6-v2 reads them in the
course's class; a text is the mean of its vectors. Counted is, for each sentence, whether its own
paraphrase is the nearest of the twenty, and whether the other meaning is nearer than that
paraphrase. Beside it, the same of: the mean of MiniLM's own word vectors, without the blocks, plain
and with rare tokens counted for more (idf, over these sixty sentences); a random word table, which
counts the tokens that two texts share; and BERTs of that size with random weights, three seeds.
Beside the triples: the cosine of every two of the 156 sentences that a reader of the page can put
together from six nouns and six verbs.
"""

import argparse
import math
from collections import Counter

import torch
from torch.nn import functional as F

from lab import runs
from scratchformer.attention import padding_mask
from scratchformer.data.real_model import MINILM
from scratchformer.models import BERT
from scratchformer.tokenizers import WordPiece
from scratchformer_course.ch13_bert.composed import NOUNS, VERBS, composed
from scratchformer_course.ch13_bert.triples import TRIPLES

SEEDS = (0, 1, 2)
SETTINGS = {
    "model": MINILM,
    "seeds": SEEDS,
    "triples": TRIPLES,
    "nouns": NOUNS,
    "verbs": VERBS,
}


def read(model: BERT, rows: list[list[int]]) -> torch.Tensor:
    """(B, C): the mean of the vectors of each row's tokens, of length 1."""
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    x, real = model.encode(ids, mask=padding_mask(ids, 0)), ids != 0
    return F.normalize((x * real[..., None]).sum(dim=1), dim=1)


def looked_up(table: torch.Tensor, rows: list[list[int]], weight: Counter) -> torch.Tensor:
    """(B, C): the weighted mean of the rows of a word table, [CLS] and [SEP] left out."""
    sums = [torch.stack([weight[i] * table[i] for i in row[1:-1]]).sum(dim=0) for row in rows]
    return F.normalize(torch.stack(sums), dim=1)


def counted(vectors: torch.Tensor) -> dict[str, int]:
    """How often the paraphrase is found, and how often the other meaning is nearer; (3 n, C)."""
    said, same, other = vectors.chunk(3)
    near = said @ same.T
    return {
        "found": int((near.argmax(dim=1) == torch.arange(len(said))).sum()),
        "other meaning nearer": int(((said * other).sum(dim=1) > near.diagonal()).sum()),
    }


def of_every_two(vectors: torch.Tensor) -> str:
    """Thousandths of the cosines, three digits each: the first with all after it, the second, …"""
    n = len(vectors)
    cosines = vectors @ vectors.T
    upper = cosines[torch.ones(n, n).triu(1).bool()]
    return "".join(f"{round(1000 * x):03}" for x in upper.clamp(0, 0.999).tolist())


@torch.no_grad()
def measure(options: argparse.Namespace) -> dict:
    model, tok = BERT.pretrained(MINILM), WordPiece.pretrained(MINILM)
    triples = TRIPLES[:4] if options.quick else TRIPLES
    texts = [text for column in zip(*triples, strict=True) for text in column]
    rows = [tok.encode(text) for text in texts]
    table = model.wte.weight.detach()
    held = Counter(i for row in rows for i in set(row))
    plain = Counter(dict.fromkeys(held, 1))
    rare = Counter({i: math.log(len(rows) / n) for i, n in held.items()})
    vectors = read(model, rows)
    said, same, other = vectors.chunk(3)
    cosines = torch.stack([(said * same).sum(1), (said * other).sum(1), (same * other).sum(1)], 1)
    found = {
        "MiniLM": counted(vectors),
        "word table": counted(looked_up(table, rows, plain)),
        "word table, idf": counted(looked_up(table, rows, rare)),
    }
    for seed in SEEDS:
        torch.manual_seed(seed)
        blank = BERT(model.config).eval()
        found[f"random table {seed}"] = counted(looked_up(torch.randn(table.shape), rows, plain))
        found[f"random BERT {seed}"] = counted(read(blank, rows))
    for name, row in found.items():
        print(name, row)
    made = [text for text, _ in composed()[: 12 if options.quick else None]]
    return {
        "found": found,
        "cosines": [[round(x, 3) for x in row] for row in cosines.tolist()],
        "composed": of_every_two(read(model, [tok.encode(text) for text in made])),
    }


main = runs.script(__doc__, "same_words", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
