"""What each change since GPT-2 is worth, alone and in company -> measurements/since_gpt2.json.

Usage: python -m lab.since_gpt2 [--quick | --write] [--only PART]

The models are those of `ch19_since_gpt2/model.py`, on windows of 32 characters of Tiny
Shakespeare. Each has its rate chosen on development, from a sweep that goes on until its best rate
has a worse neighbour on both sides. At that rate it is trained with three seeds on the whole
training text, and the validation split is read once. The same seed gives the same batches, so that
differences are taken seed by seed. Finished runs are kept: a second call does only what is missing.

alone    GPT-2, and GPT-2 with one change
company  Llama, Llama without one of its six changes, and Llama with a window or with experts
rates    the loss after 300 steps at rates up to 1, with QK norm and without
"""

import statistics
import time
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from lab import runs
from scratchformer.data.batches import random_batch
from scratchformer.training import evaluate, learning_rate
from scratchformer_course.ch19_since_gpt2.model import CHANGES, MODERN, ChangedGPT, Sizes
from scratchformer_course.measurements import FOLDER

FILE = FOLDER / "since_gpt2.json"
T, WINDOW, BATCH, STEPS, WARMUP, SEEDS = 32, 8, 16, 1000, 200, range(3)
RATES = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064)
BALANCE = 0.01  # weight of the routers' loss (Fedus et al. 2021)
HIGH_RATES, HIGH_STEPS = (0.01, 0.03, 0.1, 0.3, 1.0), 300


def company() -> dict[str, tuple[str, ...]]:
    """Llama as it is, without each of its changes, and with each that it lacks."""
    without = {c: tuple(m for m in MODERN if m != c) for c in MODERN}
    return {"none": MODERN} | without | {c: (*MODERN, c) for c in CHANGES if c not in MODERN}


GROUPS = {"alone": {"none": ()} | {c: (c,) for c in CHANGES}, "company": company()}


def sizes(V: int) -> Sizes:
    return Sizes(V, T, d_model=64, n_heads=4, n_layers=2, window=WINDOW)


def trained(
    changes: Collection[str], V: int, ids: Tensor, lr: float, steps: int, seed: int
) -> ChangedGPT:
    """One run: AdamW, warm-up and cosine, gradients clipped at 1.

    The warm-up is long: with a twentieth of the steps GPT-2 ends between 2.01 and 2.31 at a rate
    of 0.016, by the seed alone. The first matrices of each feed-forward network start at
    1 / √d_model in place of 0.02, which is too small for a gate of this width: SwiGLU multiplies
    two such numbers, and GPT-2 gains a little too.
    """
    torch.manual_seed(seed)
    model = ChangedGPT(sizes(V), changes)
    for name, p in model.named_parameters():
        if name.endswith(("c_fc.weight", "gate_proj.weight", "up_proj.weight")):
            p.data.mul_(model.sizes.d_model**-0.5 / 0.02)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), fused=True)
    generator = torch.Generator().manual_seed(seed)
    for step in range(steps):
        rate = learning_rate(step, lr=lr, steps=steps, warmup=WARMUP * steps // STEPS)
        for group in optimizer.param_groups:
            group["lr"] = rate
        x, y = random_batch(ids, BATCH, T, generator)  # (B, T) each
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        (loss + BALANCE * model.balance).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


def swept(loss_at: Callable[[float], float], found: dict[str, float], keep: Callable) -> float:
    """The rate with the least loss; `found` holds the losses of all that were tried."""
    waiting = [0.008, 0.016]
    while waiting:
        rate = waiting.pop(0)
        if str(rate) not in found:
            found[str(rate)] = loss_at(rate)
            keep()
        best = RATES.index(float(min(found, key=lambda rate: found[rate])))
        if not waiting:
            near = RATES[max(0, best - 1) : best + 2]
            waiting = [rate for rate in near if str(rate) not in found]
    return RATES[best]


def group_part(group: str, splits: dict, V: int, found: dict, keep: Callable, quick: bool) -> None:
    """Sweep and three seeds for each model of a group; `found` fills."""
    steps, seeds = (4, [0]) if quick else (STEPS, SEEDS)

    def run(split: str, changes: Collection[str], seed: int, lr: float) -> float:
        ids, scored = splits[split]
        return round(evaluate(trained(changes, V, ids, lr, steps, seed), scored, T), 4)

    for name, changes in GROUPS[group].items():
        own: dict[str, Any] = found.setdefault(name, {"development": {}, "validation": []})
        own["parameters"] = sum(p.numel() for p in ChangedGPT(sizes(V), changes).parameters())
        rate = swept(partial(run, "development", changes, 0), own["development"], keep)
        if own.get("rate") != rate:
            own |= {"rate": rate, "validation": []}
        for seed in seeds[len(own["validation"]) :]:
            own["validation"].append(run("validation", changes, seed, rate))
            keep()
        mean = statistics.mean(own["validation"])
        print(group, name, rate, round(mean, 4), own["validation"], flush=True)


def rates_part(splits: dict, V: int, found: dict, keep: Callable, quick: bool) -> None:
    """How high the rate may be: three seeds at each, short runs."""
    ids, scored = splits["development"]
    pairs = {"gpt": (), "gpt, qk_norm": ("qk_norm",), "llama": MODERN}
    pairs["llama without qk_norm"] = tuple(c for c in MODERN if c != "qk_norm")
    for name, changes in pairs.items():
        own = found.setdefault(name, {})
        for lr in HIGH_RATES:
            losses = own.setdefault(str(lr), [])
            for seed in range(len(losses), 1 if quick else 3):
                model = trained(changes, V, ids, lr, 4 if quick else HIGH_STEPS, seed)
                losses.append(round(evaluate(model, scored, T), 3))
                keep()
        print(name, own, flush=True)


def main(arguments: list[str] | None = None) -> dict:
    parser = runs.command_line(__doc__, FILE.name)
    parser.add_argument("--only", choices=("alone", "company", "rates"), help="one part")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    splits, V = runs.load_splits(write=options.write)
    found = runs.read(FILE) if options.write and FILE.exists() else {}
    start = time.process_time() - found.get("cpu_seconds", 0)
    found |= {"command": "python -m lab.since_gpt2 --write", "steps": STEPS, "batch": BATCH}

    def keep() -> None:
        found["cpu_seconds"] = round(time.process_time() - start)
        if options.write:
            runs.store(FILE, found | runs.stamp())

    for part in [options.only] if options.only else [*GROUPS, "rates"]:
        own = found.setdefault(part, {})
        if part in GROUPS:
            group_part(part, splits, V, own, keep, options.quick)
        else:
            rates_part(splits, V, own, keep, options.quick)
    return found


if __name__ == "__main__":
    main()
