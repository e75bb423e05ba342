"""Chapter 14's bottleneck: how much a decoder may see -> measurements/bottleneck.json.

Usage: python -m lab.bottleneck [--quick | --write] [--only NAME]

The package's translator, on the made-up pairs of the chapter. The models below have the same
parameters and differ in what the encoder hands over to the decoder's cross-attention:

words  one vector for each word, as in the chapter
mean   one vector, the mean of these

The learning rate of each is the best of RATES on development sentences, by runs of the first of
LENGTHS. Three other seeds are scored on test sentences, at that rate and at each length.
"""

import argparse
import random
from functools import partial

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from lab import runs
from scratchformer.data.masking import IGNORED
from scratchformer.data.synthetic_pairs import random_sentence
from scratchformer.models import Seq2Seq, Seq2SeqConfig
from scratchformer.training import TrainingConfig, fit, token_loss

PAD, BEGIN, END = 0, 1, 2
RATES, WARMUP, BATCH = (0.001, 0.002, 0.004, 0.008), 100, 32
LENGTHS = {  # steps of the runs that are scored
    "words": (1000,),
    "mean": (1000, 4000),
}
SEEDS, TUNING_SEED = range(3), 9
TESTED = 1500  # sentences of each test; a third as many choose the rate
SETTINGS = {
    name: {"batch": BATCH, "warmup": WARMUP, "rates": RATES, "tested": TESTED}
    | {"steps": LENGTHS[name], "seeds": list(SEEDS)}
    for name in LENGTHS
}
Pairs = list[tuple[str, str]]


def sentences(split: str, first: int, n: int) -> Pairs:
    return [random_sentence(random.Random(seed), split) for seed in range(first, first + n)]


def vocabulary() -> list[str]:
    """All words of the grammar behind the three special tokens."""
    pairs = sentences("train", 0, 5000)
    return ["·", "⊢", "⊣", *sorted({w for pair in pairs for text in pair for w in text.split()})]


WORDS = vocabulary()
IDS = {word: i for i, word in enumerate(WORDS)}


def padded(rows: list[list[int]], value: int = PAD) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)


def sources(texts: list[str]) -> Tensor:
    """(B, S): the English words and END."""
    return padded([[*(IDS[word] for word in english.split()), END] for english in texts])


def handed_over(name: str, model: Seq2Seq, source: Tensor) -> tuple[Tensor, Tensor]:
    """What the decoder gets: memory (B, N, C), and ids (B, N) that tell where it is padding."""
    memory = model.encode(source)  # (B, S, C)
    if name == "words":
        return memory, source
    real = (source != PAD).unsqueeze(2)  # (B, S, 1)
    mean = (memory * real).sum(dim=1, keepdim=True) / real.sum(dim=1, keepdim=True)
    return mean, source[:, :1]


def train(name: str, rate: float, steps: int, seed: int) -> Seq2Seq:
    torch.manual_seed(seed)
    model = Seq2Seq(Seq2SeqConfig(len(WORDS), 20, d_model=64, n_heads=4, n_layers=2))
    drawn = random.Random(seed)

    def batch(_: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        pairs = [random_sentence(drawn) for _ in range(BATCH)]
        rows = [[IDS[word] for word in german.split()] for _, german in pairs]
        inputs, targets = [[BEGIN, *row] for row in rows], [[*row, END] for row in rows]
        return sources([english for english, _ in pairs]), padded(inputs), padded(targets, IGNORED)

    def loss(model: Seq2Seq, source: Tensor, inputs: Tensor, targets: Tensor):
        return token_loss(model.decode(inputs, *handed_over(name, model, source)), targets)

    warmup = min(WARMUP, steps // 2)
    config = TrainingConfig(steps, rate, seed, warmup=warmup, betas=(0.9, 0.98), weight_decay=0.0)
    fit(model, batch, loss, config)
    return model.eval()


@torch.no_grad()
def write(name: str, model: Seq2Seq, texts: list[str]) -> list[str]:
    """Translations, by the likeliest next word."""
    memory, source = handed_over(name, model, sources(texts))
    ids = torch.full((len(texts), 1), BEGIN)
    for _ in range(16):
        new = model.decode(ids, memory, source)[:, -1].argmax(dim=1, keepdim=True)
        ids = torch.cat((ids, new), dim=1)
    return [" ".join(WORDS[i] for i in row[1:]).split(" ⊣")[0] for row in ids.tolist()]


def share_right(name: str, model: Seq2Seq, pairs: Pairs) -> float:
    counts = by_length(name, model, pairs).values()
    return sum(n for n, _ in counts) / sum(n for _, n in counts)


def by_length(name: str, model: Seq2Seq, pairs: Pairs) -> dict[int, list[int]]:
    """English words -> sentences that are right, and all of them."""
    counts: dict[int, list[int]] = {}
    sentences = write(name, model, [english for english, _ in pairs])
    for (english, german), written in zip(pairs, sentences, strict=True):
        count = counts.setdefault(len(english.split()), [0, 0])
        count[0] += written == german
        count[1] += 1
    return dict(sorted(counts.items()))


def measure(name: str, options: argparse.Namespace) -> dict:
    """Rates chosen on development, then three seeds on the tests."""
    lengths, tested = ((4, 8), 30) if options.quick else (LENGTHS[name], TESTED)
    development = sentences("seen", 10**6, tested // 3)
    known = set(development)
    tests = {
        split: [pair for pair in sentences(split, 2 * 10**6, tested) if pair not in known]
        for split in ("seen", "unseen")
    }
    tuning = {}
    for rate in RATES:
        model = train(name, rate, lengths[0], TUNING_SEED)
        tuning[rate] = share_right(name, model, development)
        print(name, rate, tuning[rate], flush=True)
    rate = max(tuning, key=lambda rate: tuning[rate])
    scored = []
    result: dict = {"parameters": runs.size(model)}
    for steps in lengths:
        for seed in SEEDS:
            model = train(name, rate, steps, seed)
            counts = {split: by_length(name, model, pairs) for split, pairs in tests.items()}
            scored.append({"steps": steps, "seed": seed, **counts})
            print(name, rate, steps, seed, scored[-1], flush=True)
    return result | {"tuning": tuning, "rate": rate, "runs": scored}


PARTS = {name: partial(measure, name) for name in LENGTHS}
main = runs.script(__doc__, "bottleneck", PARTS, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
