"""Chapter 11's longer trials of one setting at a time -> measurements/settings.json.

Usage: python -m lab.settings [--quick | --write] [--only PART]

The chapter's GPT, on windows of 32 characters. Rates are chosen on development, and the validation
split is read once, by runs on all of the training text at the rates that were chosen.

batch      at equal numbers of characters read: the loss by rate, for three sizes of the batch
schedules  constant, cosine, linear, and WSD: the stable run, cooled from several places
decay      no weight decay, decay of all weights, decay of the matrices inside the blocks alone
"""

import argparse
import copy
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from lab import runs
from scratchformer.data.batches import random_batch
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import evaluate, learning_rate
from scratchformer_course.measurements import FOLDER

FILE = FOLDER / "settings.json"
T, SEEDS = 32, range(3)
RATES = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032)
CHARACTERS, BATCHES = 2**19, (4, 16, 64)  # read by each run, and windows in a step
STEPS, WARMUP, COOLING = 1200, 60, 0.2  # of the schedules; a cooling's share of its run
LENGTHS = (300, 600, 1200)  # of the runs that one stable run is cooled for
CHOSEN_ON = 30_001  # characters of the development split
DECAY_STEPS, DECAYS, DECAY_RATE = 1200, (0.1, 1.0), 0.004
MODEL: dict[str, Any] = {"d_model": 64, "n_heads": 4, "n_layers": 2}
SIZES = MODEL | {"context_length": T}
SETTINGS: dict[str, Any] = {
    "batch": SIZES | {"characters": CHARACTERS, "sizes": BATCHES, "rates": RATES},
    "schedules": SIZES | {"steps": STEPS, "warmup": WARMUP, "cooling": COOLING, "lengths": LENGTHS},
    "decay": SIZES | {"steps": DECAY_STEPS, "decays": DECAYS, "rate": DECAY_RATE},
}


def new_model(vocab_size: int, seed: int) -> GPT:
    torch.manual_seed(seed)
    return GPT(GPTConfig(vocab_size, T, **MODEL))


def new_optimizer(
    model: nn.Module, decay: float = 0.1, where: str = "matrices"
) -> torch.optim.AdamW:
    """AdamW, whose decay touches all weights or only the matrices inside the blocks."""
    inside = [p for name, p in model.named_parameters() if p.dim() == 2 and name.startswith("h.")]
    chosen = {id(p) for p in (inside if where == "matrices" else model.parameters())}
    groups = [
        {"params": [p for p in model.parameters() if (id(p) in chosen) == decays]}
        | {"weight_decay": decay if decays else 0.0}
        for decays in (True, False)
    ]
    return torch.optim.AdamW([g for g in groups if g["params"]], betas=(0.9, 0.95), fused=True)


def steps_of(
    model: GPT,
    optimizer: torch.optim.Optimizer,
    ids: Tensor,
    batch: int,
    rates: list[float],
    generator: torch.Generator,
) -> Iterator[float]:
    """One step for each rate; yields the loss of its batch."""
    for rate in rates:
        for group in optimizer.param_groups:
            group["lr"] = rate
        x, y = random_batch(ids, batch, T, generator)  # (B, T) each
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield loss.item()


def scheduled(name: str, lr: float, steps: int, warmup: int) -> list[float]:
    """The rate of each step. WSD: warm-up, stable, and a straight fall over the last fifth."""
    if name == "wsd":
        cooling = round(COOLING * steps)
        rising = [learning_rate(s, lr=lr, steps=steps, warmup=warmup, schedule="constant")
                  for s in range(steps - cooling)]  # fmt: skip
        return rising + [lr * (1 - s / cooling) for s in range(cooling)]
    return [learning_rate(s, lr=lr, steps=steps, warmup=warmup, schedule=name)
            for s in range(steps)]  # fmt: skip


def trained(V: int, ids: Tensor, rates: list[float], batch: int, seed: int, **decay) -> tuple:
    """A run -> the model, and the mean loss of each hundred steps."""
    model, generator = new_model(V, seed), torch.Generator().manual_seed(seed)
    losses = list(steps_of(model, new_optimizer(model, **decay), ids, batch, rates, generator))
    means = [round(statistics.mean(losses[i : i + 100]), 3) for i in range(0, len(losses), 100)]
    return model, means


def loss_on(model: GPT, scored: Tensor) -> float:
    return round(evaluate(model, scored, T), 4)


# --- the three parts -----------------------------------------------------------------------------


def batch_part(splits: dict, V: int, shorter: int) -> dict:
    """The loss by rate at each size of the batch: one seed for all, three around the best."""
    found: dict[str, dict] = {"development": {}, "best": {}, "validation": {}}

    def run(split: str, size: int, lr: float, seed: int) -> float:
        ids, scored = splits[split]
        steps = CHARACTERS // (size * T) // shorter
        rates = scheduled("cosine", lr, steps, steps // 20)
        return loss_on(trained(V, ids, rates, size, seed)[0], scored)

    for size in BATCHES:
        losses = {lr: [run("development", size, lr, 0)] for lr in RATES}
        best = min(losses, key=lambda lr: losses[lr][0])
        at = RATES.index(best)
        for lr in RATES[max(0, at - 1) : at + 2]:
            losses[lr] += [run("development", size, lr, seed) for seed in SEEDS[1:]]
        means = {lr: statistics.mean(each) for lr, each in losses.items() if len(each) > 1}
        best = min(means, key=lambda lr: means[lr])
        found["development"][str(size)] = {str(lr): each for lr, each in losses.items()}
        found["best"][str(size)] = best
        found["validation"][str(size)] = [run("validation", size, best, seed) for seed in SEEDS]
        print(
            size, found["development"][str(size)], best, found["validation"][str(size)], flush=True
        )
    return {"characters": CHARACTERS // shorter, **found}


def cooled(V: int, ids: Tensor, lr: float, lengths: tuple[int, ...], warmup: int, seed: int):
    """One stable run -> the constant model at its end, and for each length the cooled model.

    Each cooling starts from a copy of weights, optimiser and generator at its place of the run.
    """
    model, generator = new_model(V, seed), torch.Generator().manual_seed(seed)
    optimizer, done, found = new_optimizer(model), 0, {}
    losses: list[float] = []
    for length in lengths:
        rates = scheduled("wsd", lr, length, warmup)
        stable = length - round(COOLING * length)
        losses += steps_of(model, optimizer, ids, 16, rates[done:stable], generator)
        done = stable
        branch = new_model(V, seed)
        branch.load_state_dict(model.state_dict())
        own = new_optimizer(branch)
        own.load_state_dict(copy.deepcopy(optimizer.state_dict()))  # else it would share m and v
        apart = torch.Generator()
        apart.set_state(generator.get_state())
        tail = list(steps_of(branch, own, ids, 16, rates[done:], apart))
        found[length] = branch
    cooled_losses = losses + tail
    losses += steps_of(model, optimizer, ids, 16, [lr] * (lengths[-1] - done), generator)
    curves = {
        name: [round(statistics.mean(each[i : i + 100]), 3) for i in range(0, len(each), 100)]
        for name, each in (("constant", losses), ("wsd", cooled_losses))
    }
    return model, found, curves


def swept(ids: Tensor, scored: Tensor, V: int, steps: int, warmup: int) -> dict[str, dict]:
    """Schedule -> rate -> loss, with seed 0, until each sweep has a bottom."""
    tried: dict[str, dict] = {name: {} for name in ("constant", "cosine", "linear", "wsd")}
    waiting = list(RATES[1:4])
    while waiting:
        lr = waiting.pop(0)
        constant, branches, _ = cooled(V, ids, lr, (steps,), warmup, 0)
        tried["constant"][lr] = loss_on(constant, scored)
        tried["wsd"][lr] = loss_on(branches[steps], scored)
        for name in ("cosine", "linear"):
            rates = scheduled(name, lr, steps, warmup)
            tried[name][lr] = loss_on(trained(V, ids, rates, 16, 0)[0], scored)
        print(lr, {name: tried[name][lr] for name in tried}, flush=True)
        if not waiting:
            lowest = {min(each, key=lambda lr: each[lr]) for each in tried.values()}
            done = sorted(tried["wsd"])
            first, last = RATES.index(done[0]), RATES.index(done[-1])
            waiting += RATES[first - 1 : first] if done[0] in lowest and first else []
            waiting += RATES[last + 1 : last + 2] if done[-1] in lowest else []
    return tried


def schedules_part(splits: dict, V: int, shorter: int) -> dict:
    """Each schedule at its rates on development; at its best, three seeds on validation."""
    steps, warmup = STEPS // shorter, max(1, WARMUP // shorter)
    lengths = tuple(length // shorter for length in LENGTHS)
    ids, scored = splits["development"]
    tried = swept(ids, scored, V, steps, warmup)
    best = {name: min(each, key=lambda lr: each[lr]) for name, each in tried.items()}
    ids, scored = splits["validation"]
    final: dict[str, list] = {name: [] for name in tried}
    shorter_runs: dict[str, dict] = {"wsd": {}, "cosine": {}}
    curves: dict[str, list] = {}
    for seed in SEEDS:
        model, branches, own = cooled(V, ids, best["wsd"], lengths, warmup, seed)
        curves.setdefault("wsd", own["wsd"])
        final["wsd"].append(loss_on(branches[steps], scored))
        if best["constant"] != best["wsd"]:  # else it is the stable run
            rates = scheduled("constant", best["constant"], steps, warmup)
            model, own["constant"] = trained(V, ids, rates, 16, seed)
        curves.setdefault("constant", own["constant"])
        final["constant"].append(loss_on(model, scored))
        for name in ("cosine", "linear"):
            model, curve = trained(V, ids, scheduled(name, best[name], steps, warmup), 16, seed)
            curves.setdefault(name, curve)
            final[name].append(loss_on(model, scored))
        for length in lengths[:-1]:
            rates = scheduled("cosine", best["cosine"], length, warmup)
            pair = {"wsd": branches[length], "cosine": trained(V, ids, rates, 16, seed)[0]}
            for name, model in pair.items():
                shorter_runs[name].setdefault(str(length), []).append(loss_on(model, scored))
        print(seed, {name: each[-1] for name, each in final.items()}, shorter_runs, flush=True)
    development = {name: {str(lr): x for lr, x in each.items()} for name, each in tried.items()}
    return {
        **{"steps": steps, "warmup": warmup, "cooling": COOLING, "development": development},
        **{"best": best, "validation": final, "shorter": shorter_runs, "curves": curves},
    }


def decay_part(splits: dict, V: int, shorter: int) -> dict:
    """Losses on development, and the mean gain of the norms, at one rate."""
    ids, scored = splits["development"]
    rates = scheduled("cosine", DECAY_RATE, DECAY_STEPS // shorter, max(1, WARMUP // shorter))
    found = []
    for decay, where in [(0.0, "all"), *((d, w) for d in DECAYS for w in ("all", "matrices"))]:
        losses, gains = [], []
        for seed in SEEDS:
            model, _ = trained(V, ids, rates, 16, seed, decay=decay, where=where)
            losses.append(loss_on(model, scored))
            norms = [m.weight.data for m in model.modules() if isinstance(m, nn.LayerNorm)]
            gains.append(round(torch.cat(norms).mean().item(), 3))
        found.append({"decay": decay, "where": where, "losses": losses, "gains": gains})
        print(found[-1], flush=True)
    return {"rate": DECAY_RATE, "steps": len(rates), "trials": found}


PARTS: dict[str, Callable] = {
    "batch": batch_part,
    "schedules": schedules_part,
    "decay": decay_part,
}


def measure(part: Callable, options: argparse.Namespace) -> dict:
    """A part, with a shorter text to choose on."""
    torch.set_num_threads(1)
    splits, V = runs.load_splits(write=options.write)
    ids, scored = splits["development"]
    splits["development"] = ids, scored[:CHOSEN_ON]
    return part(splits, V, 100 if options.quick else 1)


def main(arguments: list[str] | None = None) -> dict:
    parts = {name: partial(measure, part) for name, part in PARTS.items()}
    return runs.carry_out_parts(__doc__, FILE, parts, arguments, SETTINGS)


if __name__ == "__main__":
    main()
