"""Two micro scaling laws, and what breaks them: many small runs on two corpora -> law.json.

Usage: python -m lab.law [--write]

Playhouse never ends: no text is read twice, and the least possible loss is known
(playhouse_floor.py). Tiny Shakespeare ends after one million characters. The stages, in order:

tuning      rates, chosen on text that no later run is scored on (`rule_of`)
grid        four sizes, three or four budgets: what the laws are fitted to; some cells again
forecast    one larger model for each corpus, that no law is fitted to
repetition  one size and one budget, and less and less different text
isoflop     one budget of operations, the size that the law prefers, half of it and twice of it

Settings of Shakespeare are chosen on the development split (the last tenth of the training split)
by models that read the other nine tenths (`core`). All other runs read the whole training split
and are scored once, on the validation split. All together takes about 35 minutes of one core.
"""

import itertools
import json
import math
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from lab import runs
from scratchformer.data import train_val_split
from scratchformer.data.batches import WindowSampler
from scratchformer.data.playhouse import Playhouse
from scratchformer.models import GPT, GPTConfig, KneserNey
from scratchformer.scaling import ScalingLaw, fit_law, non_embedding
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import TrainingConfig, evaluate, fit, token_loss
from scratchformer_course.measurements import FOLDER

STORED = FOLDER / "law.json"
CORPORA = ("playhouse", "tinyshakespeare")
CONTEXT, BATCH, WARMUP = 64, 8, 100  # 512 characters a step
WIDTHS = (32, 48, 64, 96)  # two blocks, heads of 16: only the width changes
BLOCKS, HEAD = 2, 16
LARGE = 144  # the width of the stage forecast
STEPS = {  # 1,960 steps are one pass over Shakespeare's training split
    "playhouse": (980, 1960, 3920),
    "tinyshakespeare": (490, 980, 1960, 3920),
}
TUNED_AT, TUNED_LATER = 980, 3920  # steps of the tuning runs; the later ones with two widths
RATES = {32: (8e-3, 16e-3, 32e-3), 48: (8e-3, 16e-3, 32e-3), 64: (8e-3, 16e-3, 32e-3),
         96: (4e-3, 8e-3, 16e-3)}  # fmt: skip
LATER = {32: (8e-3, 16e-3), 48: (4e-3, 8e-3, 16e-3)}  # rates of the later ones
TEXTS: dict[str, Any] = {
    "tokenizer": 0,
    "dev": 1,
    "val": 2,
    "tuning": 99,
    "training": (100, 101, 102),
}
HELD_OUT = {"dev": 100_000, "val": 200_000}  # characters of Playhouse
COUNTED = 1_000_000  # of which its tokenizer is made
SLICE = 1500  # characters of a slice, where a share of a text is taken
MIDDLE = 64  # the width of the stage repetition
ISOFLOP = (2e11, 5e11, 1.25e12)  # operations, 6 N D; the second is tried
SETTINGS = {
    "context_length": CONTEXT,
    "batch_size": BATCH,
    "warmup": WARMUP,
    "blocks": BLOCKS,
    "head_width": HEAD,
    "schedule": "linear",
    "weight_decay": 0.1,
    "betas": [0.9, 0.95],
    "clip": 1.0,
    "precision": "float32",
    "threads": 1,
    "widths": WIDTHS,
    "large": LARGE,
    "steps": STEPS,
    "texts": TEXTS,
    "held_out": HELD_OUT,
    "slice": SLICE,
    "isoflop": ISOFLOP,
    "rates": {str(width): [RATES[width], LATER.get(width, ())] for width in WIDTHS},
}


def config_of(width: int, vocab_size: int = 65) -> GPTConfig:
    return GPTConfig(vocab_size, CONTEXT, width, max(1, width // HEAD), BLOCKS)


def operations(width: int, steps: int) -> float:
    """6 N D"""
    return 6.0 * non_embedding(config_of(width)) * steps * BATCH * CONTEXT


# --- texts ---------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def shakespeare() -> dict:
    """The parts of Tiny Shakespeare as ids, and the size of its vocabulary."""
    text = runs.load_text()
    tok = CharTokenizer.train(text)
    ids = torch.tensor(tok.encode(text))
    training, val = train_val_split(ids, 0.9)
    core, dev = train_val_split(training, 0.9)
    parts = {"training": training, "val": val, "core": core, "dev": dev}
    return parts | {"vocab_size": tok.vocab_size}


@lru_cache(maxsize=1)
def play_tokenizer() -> CharTokenizer:
    return CharTokenizer.train(Playhouse(TEXTS["tokenizer"]).text(COUNTED))


@lru_cache(maxsize=8)
def play(seed: int, characters: int) -> torch.Tensor:
    return torch.tensor(play_tokenizer().encode(Playhouse(seed).text(characters)))


def slices(ids: torch.Tensor, share: float, seed: int) -> torch.Tensor:
    """A share of `ids`: slices of SLICE ids at equal distances, from a place that `seed` draws."""
    if share == 1:
        return ids
    distance = round(SLICE / share)
    offset = int(np.random.default_rng(seed).integers(distance - SLICE + 1))
    starts = range(offset, len(ids) - SLICE + 1, distance)
    return torch.cat([ids[start : start + SLICE] for start in starts])


def text_of(job: dict) -> torch.Tensor:
    """The ids that a run may read."""
    if job["corpus"] == "tinyshakespeare":
        return slices(shakespeare()[job["text"]], job["share"], job["seed"])
    # One pass: D characters in whole windows, and one window to cut elsewhere. The beginning of
    # a text is as good as any part of it, as scenes are independent.
    characters = job["steps"] * BATCH * CONTEXT + CONTEXT
    return play(job["text"], round(characters * job["share"]))


def scored(corpus: str, part: str) -> torch.Tensor:
    """The ids of a text that runs are scored on."""
    if corpus == "tinyshakespeare":
        return shakespeare()[part]
    return play(TEXTS[part], HELD_OUT[part])


def vocab_size(corpus: str) -> int:
    if corpus == "tinyshakespeare":
        return shakespeare()["vocab_size"]
    return play_tokenizer().vocab_size


# --- a run ---------------------------------------------------------------------------------------


def train_one(job: dict) -> dict:
    """Train and score one model: the job with its figures."""
    torch.set_num_threads(1)
    ids = text_of(job)
    torch.manual_seed(job["seed"])
    model = GPT(config_of(job["width"], vocab_size(job["corpus"])))
    fit(
        model,
        WindowSampler(ids, BATCH, CONTEXT, job["seed"], replacement=False),
        lambda model, x, y: token_loss(model(x), y),
        TrainingConfig(
            steps=job["steps"],
            lr=job["lr"],
            seed=job["seed"],
            warmup=min(WARMUP, job["steps"] // 2),
        ),
    )
    D = job["steps"] * BATCH * CONTEXT
    losses = {
        part: round(evaluate(model, scored(job["corpus"], part), CONTEXT), 4)
        for part in job["scores"]
    }
    return job | {
        "N": non_embedding(model.config),
        "D": D,
        "passes": round(D / (len(ids) - CONTEXT), 2),
        "losses": losses,
    }


def make_job(
    corpus: str, width: int, steps: int, lr: float, seed: int = 0, *, text=None, share=1.0,
    scores=("val",),
) -> dict:  # fmt: skip
    """What a run depends on. By default: the training text, all of it, scored once."""
    if text is None:
        text = TEXTS["training"][seed] if corpus == "playhouse" else "training"
    return {"corpus": corpus, "width": width, "steps": steps, "lr": float(f"{lr:.3g}"),
            "seed": seed, "text": text, "share": float(share), "scores": list(scores)}  # fmt: skip


# --- what is run ---------------------------------------------------------------------------------


def tuning(corpus: str) -> list[dict]:
    text = TEXTS["tuning"] if corpus == "playhouse" else "core"
    tries = [(width, TUNED_AT, lr) for width in WIDTHS for lr in RATES[width]]
    tries += [(width, TUNED_LATER, lr) for width, rates in LATER.items() for lr in rates]
    return [make_job(corpus, width, n, lr, text=text, scores=["dev"]) for width, n, lr in tries]


def rule_of(trained: list[dict]) -> dict:
    """How a corpus' best rates follow from its tuning runs: rate · width^width · steps^steps.

    One fit of all runs. With x = log rate, the log loss of each width and number of steps is a
    parabola c + k (x - m)². All have one curvature k, and m is linear in log width and log steps.
    Written out this is linear in c + k m², k and the products of -2 k with the parts of m.
    """
    sets = sorted({(run["width"], run["steps"]) for run in trained})
    x = np.log([run["lr"] for run in trained])
    width = np.log([run["width"] for run in trained])
    steps = np.log([run["steps"] / TUNED_AT for run in trained])
    own = [[(run["width"], run["steps"]) == each for each in sets] for run in trained]
    columns = np.column_stack([np.array(own, dtype=float), x * x, x, x * width, x * steps])
    loss = np.log([run["losses"]["dev"] for run in trained])
    *_, k, a, b, c = np.linalg.lstsq(columns, loss, rcond=None)[0]
    if k <= 0:
        raise ValueError("the tuning runs have no best rate: their losses are no valleys")
    return {
        "rate": math.exp(-a / (2 * k)),
        "width": float(-b / (2 * k)),
        "steps": float(-c / (2 * k)),
    }


def rate(rule: dict, width: int, steps: int) -> float:
    return rule["rate"] * width ** rule["width"] * (steps / TUNED_AT) ** rule["steps"]


def grid(corpus: str, rule: dict) -> list[dict]:
    """What the law is fitted to: all cells, and some again with other seeds and other texts."""
    steps, three = STEPS[corpus], WIDTHS[:3]
    cells = [(width, n, 0) for width in WIDTHS for n in steps[:3]]
    if corpus == "playhouse":
        cells += [(width, n, 1) for n in steps for width in three]
        cells += [(width, steps[0], 2) for width in three]
        cells += [(WIDTHS[3], steps[0], 1)]
    else:
        cells += [(width, steps[3], 0) for width in WIDTHS[1:3]]
        cells += [(width, n, 1) for width in three for n in steps[:2]]
        cells += [(WIDTHS[2], steps[2], 1)]
    return [make_job(corpus, w, n, rate(rule, w, n), seed) for w, n, seed in cells]


def forecast(corpus: str, rule: dict) -> list[dict]:
    """A larger model on the most text that is read once."""
    n = STEPS[corpus][2]
    return [make_job(corpus, LARGE, n, rate(rule, LARGE, n))]


def repetition(corpus: str, rule: dict) -> list[dict]:
    """MIDDLE with as many steps as two passes over Shakespeare take, on less and less text."""
    n = STEPS["tinyshakespeare"][-1]
    lr = rate(rule, MIDDLE, n)
    shares = [1, 1 / 4, 1 / 16] if corpus == "tinyshakespeare" else [1, 1 / 2, 1 / 8, 1 / 32]
    jobs = [make_job(corpus, MIDDLE, n, lr, share=share) for share in shares]
    if corpus == "tinyshakespeare":  # the least share again, read less often
        fewer = (n // 8, n // 4, n // 2)
        jobs += [
            make_job(corpus, MIDDLE, m, rate(rule, MIDDLE, m), share=shares[-1]) for m in fewer
        ]
    return jobs


def isoflop(law: ScalingLaw, rule: dict) -> list[dict]:
    """On Playhouse: the law's size for the second budget, half of it and twice of it, twice."""
    best, _ = law.best_allocation(ISOFLOP[1])
    jobs = []
    for factor, seed in itertools.product((0.5, 1, 2), (0, 1)):
        width = nearest_width(best * factor)
        n = max(2, round(ISOFLOP[1] / operations(width, 1)))
        jobs.append(make_job("playhouse", width, n, rate(rule, width, n), seed))
    return jobs


def nearest_width(N: float) -> int:
    """The multiple of HEAD whose model has nearest to N parameters."""
    sizes = {w: non_embedding(config_of(w)) for w in range(HEAD, 16 * HEAD + 1, HEAD)}
    return min(sizes, key=lambda w: abs(math.log(sizes[w] / N)))


def law_of(trained: list[dict]) -> ScalingLaw:
    """The law fitted to N, D and loss of some runs."""
    return fit_law(*np.array([(run["N"], run["D"], run["losses"]["val"]) for run in trained]).T)


def all_runs() -> tuple[list[dict], dict]:
    """Every run, with its stage, and the rules of the rates. What two stages ask for runs once."""
    trained: dict[str, dict] = {}

    def train(stage: str, jobs: list[dict]) -> list[dict]:
        for job in jobs:
            if json.dumps(job) not in trained:
                trained[json.dumps(job)] = run = {"stage": stage} | train_one(job)
                print(run, flush=True)
        return [trained[json.dumps(job)] for job in jobs]

    rules = {corpus: rule_of(train("tuning", tuning(corpus))) for corpus in CORPORA}
    grids = {corpus: train("grid", grid(corpus, rule)) for corpus, rule in rules.items()}
    for corpus, rule in rules.items():
        train("forecast", forecast(corpus, rule))
    for corpus, rule in rules.items():
        train("repetition", repetition(corpus, rule))
    train("isoflop", isoflop(law_of(grids["playhouse"]), rules["playhouse"]))
    return list(trained.values()), rules


# --- what is stored ------------------------------------------------------------------------------


def count(corpus: str, ids: torch.Tensor, part: str, order: int) -> float:
    """The loss of counts of `ids` on a part of the corpus."""
    counts = KneserNey(order).fit(ids, vocab_size(corpus))
    return round(counts.nats_per_token(scored(corpus, part)), 4)


def measure(_) -> dict:
    """All that is stored."""
    runs.load_text(write=True)  # whether stored or not: Playhouse must not stand in for it
    trained, rules = all_runs()
    return {
        "what": "losses in nats a character of small GPTs, by size, characters read and text",
        "rules": rules,
        "runs": trained,
    }


def main(arguments: list[str] | None = None) -> dict:
    return runs.carry_out(__doc__, STORED, measure, arguments, SETTINGS, quick=False)


if __name__ == "__main__":
    main()
