"""Chapter 11's longer trials of one setting at a time -> measurements/settings.json.

Usage: python -m lab.settings [--quick | --write] [--only PART]

The chapter's GPT, on windows of 32 characters. Rates are chosen on development, and the validation
split is read once, by runs on all of the training text at the rates that were chosen.

batch      64 windows in a step: the loss by rate, with a short and with a long warm-up; on
           development alone
schedules  constant, cosine, linear, and WSD
optimizers plain descent, momentum and AdamW, each at the best of its rates on development
births     the first 2,000 steps of the time machine's run, with two other seeds: the head that
           looks back most, and the loss without it
"""

import argparse
import copy
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from lab import runs, time_machine
from scratchformer.attention import recorded_attention
from scratchformer.data.batches import random_batch
from scratchformer.models import GPT, GPTConfig
from scratchformer.models.heads import silenced
from scratchformer.training import evaluate, learning_rate
from scratchformer_course.ch11_training.stored_steps import training_record
from scratchformer_course.measurements import FOLDER

FILE = FOLDER / "settings.json"
T, SEEDS = 32, range(3)
RATES = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032)
CHARACTERS, BATCH = 2**19, 64  # read by each run, and windows in a step
TRIED, WARMUPS = RATES[3:], (0.05, 0.2)  # rates, and warm-ups as shares of the steps
STEPS, WARMUP, COOLING = 1200, 60, 0.2  # of the schedules; a cooling's share of its run
SCHEDULES = ("constant", "cosine", "linear", "wsd")
CHOSEN_ON = 30_001  # characters of the development split
OPTIMIZERS: dict[str, tuple[float, ...]] = {  # the rates that each may try, in 100 steps
    "descent": (0.1, 0.3, 1.0, 3.0),
    "momentum": (0.03, 0.1, 0.3, 1.0),
    "AdamW": (0.001, 0.003, 0.01),
}
BIRTHS, BORN_SEEDS = (100, 300, 500, 750, 1000, 1500, 2000), (1, 2)  # steps that are looked at
OF_RECORD = training_record()["settings"]["training"]  # chosen by lab/time_machine.py
BORN_RATE, BORN_STEPS = OF_RECORD["lr"], OF_RECORD["steps"]  # of the schedule
MODEL: dict[str, Any] = {"d_model": 64, "n_heads": 4, "n_layers": 2}
SIZES = MODEL | {"context_length": T}
SETTINGS: dict[str, Any] = {
    "batch": SIZES | {"characters": CHARACTERS, "batch": BATCH, "rates": TRIED, "warmups": WARMUPS},
    "schedules": SIZES | {"steps": STEPS, "warmup": WARMUP, "cooling": COOLING},
    "optimizers": SIZES | {"steps": 100, "batch": 16, "rates": OPTIMIZERS},
    "births": time_machine.SIZES
    | time_machine.TRAINING
    | {"steps": BORN_STEPS, "looked_at": BIRTHS, "seeds": BORN_SEEDS, "lr": BORN_RATE},
}


def new_model(vocab_size: int, seed: int) -> GPT:
    torch.manual_seed(seed)
    return GPT(GPTConfig(vocab_size, T, **MODEL))


def new_optimizer(model: nn.Module) -> torch.optim.AdamW:
    """AdamW, whose decay touches the matrices inside the blocks alone."""
    inside = [p for name, p in model.named_parameters() if p.dim() == 2 and name.startswith("h.")]
    chosen = {id(p) for p in inside}
    groups = [
        {"params": [p for p in model.parameters() if (id(p) in chosen) == decays]}
        | {"weight_decay": 0.1 if decays else 0.0}
        for decays in (True, False)
    ]
    return torch.optim.AdamW(groups, betas=(0.9, 0.95), fused=True)


def steps_of(
    model: GPT,
    optimizer: torch.optim.Optimizer,
    ids: Tensor,
    batch: int,
    rates: list[float],
    generator: torch.Generator,
    length: int | None = None,
) -> Iterator[float]:
    """One step for each rate, on windows of T or `length` characters; yields the loss of each."""
    for rate in rates:
        for group in optimizer.param_groups:
            group["lr"] = rate
        x, y = random_batch(ids, batch, length or T, generator)  # (B, T) each
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


def trained(V: int, ids: Tensor, rates: list[float], batch: int, seed: int) -> GPT:
    model, generator = new_model(V, seed), torch.Generator().manual_seed(seed)
    deque(steps_of(model, new_optimizer(model), ids, batch, rates, generator), maxlen=0)
    return model


def loss_on(model: GPT, scored: Tensor) -> float:
    return round(evaluate(model, scored, T), 4)


# --- the parts -----------------------------------------------------------------------------------


def batch_part(splits: dict, V: int, shorter: int) -> dict:
    """Share of the warm-up -> rate -> the losses of three seeds."""
    ids, scored = splits["development"]
    steps = max(2, CHARACTERS // (BATCH * T) // shorter)
    found: dict[str, dict] = {str(share): {} for share in WARMUPS}
    for share in WARMUPS:
        for lr in TRIED:
            rates = scheduled("cosine", lr, steps, round(steps * share))
            models = [trained(V, ids, rates, BATCH, seed) for seed in SEEDS]
            found[str(share)][str(lr)] = [loss_on(model, scored) for model in models]
            print(share, lr, found[str(share)][str(lr)], flush=True)
    return {"characters": CHARACTERS // shorter, "development": found}


def swept(run: Callable[[str, float], float]) -> dict[str, dict]:
    """Schedule -> rate -> loss, until each sweep has a bottom."""
    tried: dict[str, dict] = {name: {} for name in SCHEDULES}
    waiting = list(RATES[1:4])
    while waiting:
        lr = waiting.pop(0)
        for name in tried:
            tried[name][lr] = run(name, lr)
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

    def run(split: str, name: str, lr: float, seed: int) -> float:
        ids, scored = splits[split]
        rates = scheduled(name, lr, steps, warmup)
        return loss_on(trained(V, ids, rates, 16, seed), scored)

    tried = swept(lambda name, lr: run("development", name, lr, 0))
    best = {name: min(each, key=lambda lr: each[lr]) for name, each in tried.items()}
    final = {name: [run("validation", name, best[name], k) for k in SEEDS] for name in tried}
    print(best, final, flush=True)
    return {
        "steps": steps,
        "warmup": warmup,
        "cooling": COOLING,
        "development": {
            name: {str(lr): x for lr, x in each.items()} for name, each in tried.items()
        },
        "best": best,
        "validation": final,
    }


def optimizer_named(name: str, model: nn.Module) -> torch.optim.Optimizer:
    if name == "AdamW":
        return new_optimizer(model)
    return torch.optim.SGD(model.parameters(), momentum=0.9 if name == "momentum" else 0.0)


def optimizers_part(splits: dict, V: int, shorter: int) -> dict:
    """Each optimiser at its rates on development; at its best, three seeds on validation."""
    found: dict[str, dict] = {"development": {}, "best": {}, "validation": {}}

    def run(split: str, name: str, lr: float, seed: int) -> float:
        ids, scored = splits[split]
        model, generator = new_model(V, seed), torch.Generator().manual_seed(seed)
        rates = [lr] * max(1, 100 // shorter)
        deque(steps_of(model, optimizer_named(name, model), ids, 16, rates, generator), maxlen=0)
        return loss_on(model, scored)

    for name, rates in OPTIMIZERS.items():
        tried = {lr: run("development", name, lr, 0) for lr in rates}
        best = min(tried, key=lambda lr: tried[lr])
        found["development"][name] = {str(lr): loss for lr, loss in tried.items()}
        found["best"][name] = best
        found["validation"][name] = [run("validation", name, best, seed) for seed in SEEDS]
        print(name, tried, best, found["validation"][name], flush=True)
    return found


@torch.no_grad()
def looks_back(model: GPT, text: Tensor) -> Tensor:
    """The mean weight of each head on the character just before, (blocks, heads)."""
    width = min(100, len(text))
    with recorded_attention(model) as weights:
        model(text[:1000].unfold(0, width, width))  # (10, 100)
    return torch.stack([w.diagonal(-1, 2, 3).mean((0, 2)) for w in weights.values()])


def births_part(splits: dict, V: int, shorter: int) -> dict:
    """For each seed and step: the loss, the weight on the character before of the head that looks
    back most at the end, and the loss without that head."""
    ids, scored = splits["development"]
    steps = BIRTHS if shorter == 1 else (1, 2)
    length, found = time_machine.SIZES["context_length"], []
    schedule = {key: time_machine.TRAINING[key] for key in ("warmup", "schedule")}
    schedule |= {"lr": BORN_RATE, "steps": BORN_STEPS}
    for seed in BORN_SEEDS:
        torch.manual_seed(seed)
        model, kept = GPT(GPTConfig(V, **time_machine.SIZES)), []
        optimizer, generator = new_optimizer(model), torch.Generator().manual_seed(seed)
        for done in range(steps[-1]):
            rate = [learning_rate(done, **schedule)]
            size = time_machine.TRAINING["batch_size"]
            deque(steps_of(model, optimizer, ids, size, rate, generator, length), maxlen=0)
            if done + 1 in steps:
                kept.append(copy.deepcopy(model))
        tables = [looks_back(each, scored) for each in kept]
        block, head = divmod(int(tables[-1].argmax()), time_machine.SIZES["n_heads"])
        rows = []
        for step, each, table in zip(steps, kept, tables, strict=True):
            loss = evaluate(each, scored, length)
            with silenced(each, [(block + 1, head + 1)]):
                without = evaluate(each, scored, length)
            numbers = loss, table[block, head].item(), without
            rows.append([step, *(round(number, 3) for number in numbers)])
        found.append({"seed": seed, "block": block + 1, "head": head + 1, "rows": rows})
        print(found[-1], flush=True)
    return {"columns": ["step", "loss", "weight", "loss without it"], "runs": found}


PARTS: dict[str, Callable] = {
    "batch": batch_part,
    "schedules": schedules_part,
    "optimizers": optimizers_part,
    "births": births_part,
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
