"""Two micro scaling laws: many small runs on two corpora -> law.json.

Usage: python -m lab.law [--write]

Playhouse never ends: no text is read twice, and the least possible loss is known
(playhouse_floor.py). Tiny Shakespeare ends after one million characters. The stages, in order:

tuning      rates, chosen on text that no later run is scored on (`rule_of`)
grid        four sizes, three or four budgets: what the laws are fitted to; some cells again
forecast    one larger model for each corpus, that no law is fitted to
repetition  on Shakespeare, as many steps as two passes take, on a quarter of the text
isoflop     on Playhouse one budget of operations: the size that the law prefers, half, twice

Settings of Shakespeare are chosen on the development split (the last tenth of the training split)
by models that read the other nine tenths (`core`). All other runs read the whole training split
and are scored once, on the validation split. All together takes about 25 minutes of one core.
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
from scratchformer.training import TrainingConfig, evaluate, fit

CORPORA = ("playhouse", "tinyshakespeare")
CONTEXT, BATCH, WARMUP = 64, 8, 100  # 512 characters a step
WIDTHS = (32, 48, 64, 96)  # two blocks, heads of 16: only the width changes
BLOCKS, HEAD = 2, 16
LARGE = 144  # the width of the stage forecast
STEPS = {  # 1,960 steps are one pass over Shakespeare's training split
    "playhouse": (980, 1960, 3920),
    "tinyshakespeare": (490, 980, 1960, 3920),
}
FIRST_TUNING_STEPS = 980  # steps of the first tuning runs
RATES = {  # (width, steps) -> what is tried
    (32, 980): (8e-3, 16e-3, 32e-3),
    (48, 980): (8e-3, 16e-3, 32e-3),
    (64, 980): (8e-3, 16e-3, 32e-3),
    (96, 980): (4e-3, 8e-3, 16e-3),
    (32, 3920): (8e-3, 16e-3),
    (48, 3920): (4e-3, 8e-3, 16e-3),
}
TEXTS: dict[str, Any] = {  # seeds of Playhouse's texts
    "tokenizer": 0,
    "dev": 1,
    "val": 2,
    "tuning": 99,
    "training": (100, 101, 102),
}
HELD_OUT = {"dev": 100_000, "val": 200_000}  # characters of Playhouse
TOKENIZER_CHARACTERS = 1_000_000  # of which its tokenizer is made
SLICE = 1500  # characters of a slice, where a share of a text is taken
MIDDLE = 64  # the width of the stage repetition
BUDGET = 5e11  # operations of the stage isoflop, 6 N D
SETTINGS = runs.settings_of(globals(), "STEPS TEXTS HELD_OUT SLICE BUDGET")
SETTINGS |= {"sizes": [WIDTHS, BLOCKS, HEAD, LARGE], "batches": [BATCH, CONTEXT, WARMUP]}
SETTINGS |= {"rates": [[*cell, rates] for cell, rates in RATES.items()]}


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
    tokenizer = CharTokenizer.train(text)
    ids = torch.tensor(tokenizer.encode(text))
    training, val = train_val_split(ids, 0.9)
    core, dev = train_val_split(training, 0.9)
    parts = {"training": training, "val": val, "core": core, "dev": dev}
    return parts | {"vocab_size": tokenizer.vocab_size}


@lru_cache(maxsize=1)
def play_tokenizer() -> CharTokenizer:
    return CharTokenizer.train(Playhouse(TEXTS["tokenizer"]).text(TOKENIZER_CHARACTERS))


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
    # One pass: D characters in whole windows, and one window to cut elsewhere.
    return play(job["text"], job["steps"] * BATCH * CONTEXT + CONTEXT)


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
    ids, seed, steps = text_of(job), job["seed"], job["steps"]
    torch.manual_seed(seed)
    model = GPT(config_of(job["width"], vocab_size(job["corpus"])))
    fit(
        model,
        WindowSampler(ids, BATCH, CONTEXT, seed, replacement=False),
        runs.nats,
        TrainingConfig(steps=steps, lr=job["lr"], seed=seed, warmup=min(WARMUP, steps // 2)),
    )
    D, part = steps * BATCH * CONTEXT, job["scored"]
    figures = {
        "N": non_embedding(model.config),
        "D": D,
        "passes": round(D / (len(ids) - CONTEXT), 2),
    }
    loss = round(evaluate(model, scored(job["corpus"], part), CONTEXT), 4)
    trained = job | figures | {"losses": {part: loss}}
    print(trained, flush=True)
    return trained


def make_job(corpus: str, width: int, steps: int, lr: float, seed: int = 0, **changes) -> dict:
    """What a run depends on. By default: the training text, all of it, scored on validation."""
    text = TEXTS["training"][seed] if corpus == "playhouse" else "training"
    job = {"corpus": corpus, "width": width, "steps": steps, "lr": float(f"{lr:.3g}")}
    return job | {"seed": seed, "text": text, "share": 1.0, "scored": "val"} | changes


# --- what is run ---------------------------------------------------------------------------------


def tuning(corpus: str) -> list[dict]:
    text = TEXTS["tuning"] if corpus == "playhouse" else "core"
    settings = [(*cell, lr) for cell, rates in RATES.items() for lr in rates]
    return [make_job(corpus, *cell, text=text, scored="dev") for cell in settings]


def rule_of(trained: list[dict]) -> dict:
    """How a corpus' best rates follow from its tuning runs: rate · width^width · steps^steps.

    One fit of all runs. With x = log rate, the log loss of each width and number of steps is a
    parabola c + k (x - m)². All have one curvature k, and m is linear in log width and log steps.
    Written out this is linear in c + k m², k and the products of -2 k with the parts of m.
    """
    groups = sorted({(run["width"], run["steps"]) for run in trained})
    x = np.log([run["lr"] for run in trained])
    width = np.log([run["width"] for run in trained])
    steps = np.log([run["steps"] / FIRST_TUNING_STEPS for run in trained])
    indicators = [[(run["width"], run["steps"]) == group for group in groups] for run in trained]
    columns = np.column_stack([np.array(indicators, dtype=float), x * x, x, x * width, x * steps])
    loss = np.log([run["losses"]["dev"] for run in trained])
    *_, k, a, b, c = np.linalg.lstsq(columns, loss, rcond=None)[0]
    if k <= 0:
        raise ValueError("the tuning runs have no best rate: their losses are no valleys")
    return {"rate": math.exp(-a / (2 * k)), "width": float(-b / 2 / k), "steps": float(-c / 2 / k)}


def cells(corpus: str, rule: dict, chosen: list[tuple[int, int, int]]) -> list[dict]:
    """Runs of some (width, steps, seed), at the rates of the rule."""

    def rate(width: int, steps: int) -> float:
        return rule["rate"] * width ** rule["width"] * (steps / FIRST_TUNING_STEPS) ** rule["steps"]

    return [make_job(corpus, w, steps, rate(w, steps), seed) for w, steps, seed in chosen]


def grid(corpus: str) -> list[tuple[int, int, int]]:
    """What the law is fitted to: all cells, and some again with other seeds and other texts."""
    steps, small_widths = STEPS[corpus], WIDTHS[:3]
    grid_runs = [(width, n, 0) for width in WIDTHS for n in steps[:3]]
    if corpus == "playhouse":
        grid_runs += [(width, n, 1) for n in steps for width in small_widths]
        grid_runs += [(width, steps[0], 2) for width in small_widths]
        return [*grid_runs, (WIDTHS[3], steps[0], 1)]
    grid_runs += [(width, steps[3], 0) for width in WIDTHS[1:3]]
    grid_runs += [(width, n, 1) for width in small_widths for n in steps[:2]]
    return [*grid_runs, (WIDTHS[2], steps[2], 1)]


def isoflop(law: ScalingLaw) -> list[tuple[int, int, int]]:
    """On Playhouse: the law's size for the budget, half of it and twice of it, twice."""
    best, _ = law.best_allocation(BUDGET)
    widths = [nearest_width(best * factor) for factor in (0.5, 1, 2)]
    steps = {width: max(2, round(BUDGET / operations(width, 1))) for width in widths}
    return [(width, steps[width], seed) for width, seed in itertools.product(widths, (0, 1))]


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
                trained[json.dumps(job)] = {"stage": stage} | train_one(job)
        return [trained[json.dumps(job)] for job in jobs]

    rules = {corpus: rule_of(train("tuning", tuning(corpus))) for corpus in CORPORA}
    grids = {
        corpus: train("grid", cells(corpus, rule, grid(corpus))) for corpus, rule in rules.items()
    }
    for corpus, rule in rules.items():
        train("forecast", cells(corpus, rule, [(LARGE, STEPS[corpus][2], 0)]))
    (job,) = cells("tinyshakespeare", rules["tinyshakespeare"], [(MIDDLE, 3920, 0)])
    train("repetition", [job | {"share": 0.25}])
    sizes = isoflop(law_of(grids["playhouse"]))
    train("isoflop", cells("playhouse", rules["playhouse"], sizes))
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
    return {"rules": rules, "runs": trained}


main = runs.script(__doc__, "law", measure, SETTINGS, quick=False)


if __name__ == "__main__":
    main()
