"""Chapter 11's longer trials of one setting at a time -> measurements/settings.json.

Usage: python -m lab.settings [--quick | --write] [--only PART]

The chapter's GPT, on windows of 32 characters. Rates are chosen on development, and the validation
split is read once, by runs on all of the training text at the rates that were chosen.

batch      64 windows in a step: the loss by rate, with a short and with a long warm-up; on
           development alone
schedules  a constant rate and a cosine, each at the best of its rates on development
recipe     the time machine's model in 1,000 steps of its recipe, and with one thing changed at a
           time, each at the best of as many rates on development: the loss, and the head that looks
           back most
longer     plain descent at its best rate, with longer steps for queries and keys, for positions,
           and for both: the loss, and the head that looks back most
births     the first 2,000 steps of the time machine's run, with two other seeds: the head that
           looks back most, and the loss without it; at the end, those of every head
without    the time machine's run itself: the loss without each head, at each snapshot
"""

import argparse
import copy
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from lab import runs, time_machine
from scratchformer.attention import recorded_attention
from scratchformer.data.batches import random_batch
from scratchformer.models import GPT, GPTConfig
from scratchformer.models.heads import silenced
from scratchformer.training import evaluate, learning_rate, update
from scratchformer_course.ch11_training.stored_steps import load_checkpoints, training_record

T, SEEDS = 32, range(3)  # the context of the first two parts
SIZES: dict[str, Any] = {"context_length": T, "d_model": 64, "n_heads": 4, "n_layers": 2}
BATCH: dict[str, Any] = {
    "steps": 256,
    "batch": 64,
    "rates": (0.008, 0.016, 0.032),
    "warmups": (0.05, 0.2),
}
SCHEDULES: dict[str, Any] = {
    "steps": 1200,
    "batch": 16,
    "warmup": 60,
    "rates": (0.002, 0.004, 0.008, 0.016, 0.032),
}
RECIPE: dict[str, Any] = {  # what the page calls the trial
    "steps": 1000,
    "batch": 16,
    "warmup": 50,
    "schedule": "cosine",
    "optimizer": "AdamW",
    "rates": (0.006, 0.012, 0.024, 0.048),
}
CHANGES: dict[str, dict[str, Any]] = {  # one thing each, and the rates that go with it
    "whole": {},
    "descent": {"optimizer": "descent", "rates": (0.3, 1.0, 3.0, 10.0)},
    "momentum": {"optimizer": "momentum", "rates": (0.1, 0.3, 1.0, 3.0)},
    "no warm-up": {"warmup": 0, "rates": (0.003, 0.006, 0.012, 0.024)},
    "constant rate": {"schedule": "constant"},
    "four windows": {"batch": 4},
}
LONGER: dict[str, Any] = {  # the steps of these weights are multiplied
    "optimizer": "descent",
    "lr": 1.0,
    "times": (10, 30, 100),
    "parts": {
        "both": ("queries and keys", "positions"),
        "queries and keys": ("queries and keys",),
        "positions": ("positions",),
    },
}
SCORED_ON = 20_001  # characters of the validation split: those of the page's curve
CHOSEN_ON = 30_001  # characters of the development split
BIRTHS, BORN_SEEDS = (100, 300, 500, 750, 1000, 1500, 2000), (1, 2)  # steps that are looked at
BORN: dict[str, Any] = training_record()["settings"]["training"]  # chosen by lab/time_machine.py
SETTINGS: dict[str, Any] = {
    "batch": SIZES | BATCH,
    "schedules": SIZES | SCHEDULES,
    "recipe": time_machine.SIZES | RECIPE | {"changes": CHANGES, "scored_on": SCORED_ON},
    "longer": time_machine.SIZES | RECIPE | LONGER | {"scored_on": SCORED_ON},
    "births": time_machine.SIZES | BORN | {"looked_at": BIRTHS, "seeds": BORN_SEEDS},
    "without": {"scored_on": SCORED_ON},
}


def new_optimizer(model: nn.Module) -> torch.optim.AdamW:
    """AdamW, whose decay touches the matrices inside the blocks alone."""
    inside = [p for name, p in model.named_parameters() if p.dim() == 2 and name.startswith("h.")]
    chosen = {id(p) for p in inside}
    rest = [p for p in model.parameters() if id(p) not in chosen]
    groups = [{"params": inside, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.95), fused=True)


def step(
    model: GPT,
    optimizer: torch.optim.Optimizer,
    ids: Tensor,
    batch: int,
    rate: float,
    generator: torch.Generator,
) -> None:
    """One step, on windows as long as the model's context."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    windows = random_batch(ids, batch, model.context_length, generator)  # (B, T) each
    update(model, optimizer, [windows], runs.nats)


def scheduled(name: str, lr: float, steps: int, warmup: int) -> list[float]:
    """The rate of each step."""
    schedule: dict[str, Any] = {"lr": lr, "steps": steps, "warmup": warmup, "schedule": name}
    return [learning_rate(done, **schedule) for done in range(steps)]


def loss_after(
    texts: tuple[Tensor, Tensor],
    V: int,
    rates: list[float],
    batch: int,
    seed: int,
    optimizer_of: Callable[[nn.Module], torch.optim.Optimizer] = new_optimizer,
) -> float:
    """The loss on the second text, after a step on the first for each rate."""
    torch.manual_seed(seed)
    model, generator = GPT(GPTConfig(V, **SIZES)), torch.Generator().manual_seed(seed)
    optimizer = optimizer_of(model)
    for rate in rates:
        step(model, optimizer, texts[0], batch, rate, generator)
    return round(evaluate(model, texts[1], T), 4)


# --- the parts -----------------------------------------------------------------------------------


def batch_part(splits: dict, V: int, shorter: int) -> dict:
    """Share of the warm-up -> rate -> the losses of three seeds."""
    steps, texts = max(2, BATCH["steps"] // shorter), splits["development"]
    losses: dict[str, dict] = {str(share): {} for share in BATCH["warmups"]}
    for share in BATCH["warmups"]:
        for lr in BATCH["rates"]:
            rates = scheduled("cosine", lr, steps, round(steps * share))
            losses[str(share)][str(lr)] = [
                loss_after(texts, V, rates, BATCH["batch"], seed) for seed in SEEDS
            ]
            print(share, lr, losses[str(share)][str(lr)], flush=True)
    return {"development": losses}


def best_of(splits: dict, tries: dict[str, tuple], run: Callable) -> dict:
    """Each name at its rates on development; at the best of them, three seeds on validation.

    `run(texts, name, lr, seed)` gives a loss.
    """
    result: dict[str, dict] = {"development": {}, "best": {}, "validation": {}}
    for name, rates in tries.items():
        tried = {lr: run(splits["development"], name, lr, 0) for lr in rates}
        best = min(tried, key=tried.__getitem__)
        losses = [run(splits["validation"], name, best, seed) for seed in SEEDS]
        result["development"][name] = {str(lr): loss for lr, loss in tried.items()}
        result["best"][name], result["validation"][name] = best, losses
        print(name, tried, losses, flush=True)
    return result


def schedules_part(splits: dict, V: int, shorter: int) -> dict:
    """A constant rate and a cosine."""
    steps, warmup = SCHEDULES["steps"] // shorter, max(1, SCHEDULES["warmup"] // shorter)

    def run(texts: tuple[Tensor, Tensor], name: str, lr: float, seed: int) -> float:
        return loss_after(texts, V, scheduled(name, lr, steps, warmup), SCHEDULES["batch"], seed)

    return best_of(splits, dict.fromkeys(("constant", "cosine"), SCHEDULES["rates"]), run)


def recipe_run(splits: dict, V: int, shorter: int, change: dict, split: str, lr: float, seed: int):
    """The loss at the end, and the largest weight of a head on the character before."""
    told, (ids, scored) = RECIPE | change, splits[split]
    torch.manual_seed(seed)
    model, generator = GPT(GPTConfig(V, **time_machine.SIZES)), torch.Generator().manual_seed(seed)
    optimizer: torch.optim.Optimizer = new_optimizer(model)
    if told["optimizer"] != "AdamW":
        kept = 0.9 * (told["optimizer"] == "momentum")
        optimizer = torch.optim.SGD(model.parameters(), momentum=kept)
    lengthen(model, optimizer, told.get("longer", ()), told.get("times", 1))
    steps, warmup = max(2, told["steps"] // shorter), told["warmup"] // shorter
    for rate in scheduled(told["schedule"], lr, steps, warmup):
        step(model, optimizer, ids, told["batch"], rate, generator)
    loss = evaluate(model, scored, model.context_length)
    return [round(loss, 4), round(looks_back(model, scored).max().item(), 3)]


def lengthen(model: GPT, optimizer: torch.optim.Optimizer, parts: tuple, times: float) -> None:
    """Multiply the slopes of some weights, after the clip, before each step of the optimiser."""
    rows = 2 * model.config.d_model  # those of queries and keys, before those of the values
    chosen = [model.wpe.weight] if "positions" in parts else []
    if "queries and keys" in parts:
        chosen += [p for name, p in model.named_parameters() if "c_attn" in name]

    def longer(*_: object) -> None:
        for p in chosen:
            if p.grad is not None:
                p.grad[: len(p) if p is model.wpe.weight else rows] *= times

    optimizer.register_step_pre_hook(longer)


def recipe_part(splits: dict, V: int, shorter: int) -> dict:
    """For each change: rate -> the loss on development, and [loss, weight] of three seeds at the
    best rate on validation."""
    ids, scored = splits["validation"]
    splits = splits | {"validation": (ids, scored[:SCORED_ON])}
    result: dict[str, Any] = {"development": {}, "best": {}, "validation": {}}
    for name, change in CHANGES.items():
        run = partial(recipe_run, splits, V, shorter, change)
        rates = (RECIPE | change)["rates"]
        tried = {str(lr): run("development", lr, 0)[0] for lr in rates}
        best = min(tried, key=tried.__getitem__)
        result["development"][name], result["best"][name] = tried, best
        result["validation"][name] = [run("validation", float(best), seed) for seed in SEEDS]
        print(name, tried, result["validation"][name], flush=True)
    return result


def longer_part(splits: dict, V: int, shorter: int) -> dict:
    """How often the steps of both parts are multiplied -> the loss on development; at the best of
    them, for both parts and for each alone, [loss, weight] of three seeds on validation."""
    ids, scored = splits["validation"]
    splits = splits | {"validation": (ids, scored[:SCORED_ON])}

    def run(split: str, parts: tuple, times: int, seed: int) -> list[float]:
        change = {"optimizer": LONGER["optimizer"], "longer": parts, "times": times}
        return recipe_run(splits, V, shorter, change, split, LONGER["lr"], seed)

    both, tried = LONGER["parts"]["both"], {}
    for times in LONGER["times"]:
        tried[times] = run("development", both, times, 0)[0]
        print(times, tried[times], flush=True)
    best, result = min(tried, key=tried.__getitem__), {}
    for name, parts in LONGER["parts"].items():
        result[name] = [run("validation", parts, best, seed) for seed in SEEDS]
        print(name, result[name], flush=True)
    return {"development": tried, "best": best, "validation": result}


@torch.no_grad()
def looks_back(model: GPT, text: Tensor, k: int = 1) -> Tensor:
    """The mean weight of each head on the character k places before, (blocks, heads)."""
    width = min(100, len(text))
    with recorded_attention(model) as weights:
        model(text[:1000].unfold(0, width, width))  # (10, 100)
    return torch.stack([w.diagonal(-k, 2, 3).mean((0, 2)) for w in weights.values()])


def births_part(splits: dict, V: int, shorter: int) -> dict:
    """For each seed and step: the loss, the weight on the character before of the head that looks
    back most at the end, and the loss without that head. At the end, for each head: its largest
    weight at a distance from 1 to 4, and the loss without it."""
    ids, scored = splits["development"]
    steps = BIRTHS if shorter == 1 else (1, 2)
    rates = scheduled(BORN["schedule"], BORN["lr"], BORN["steps"], BORN["warmup"])
    births = []
    for seed in BORN_SEEDS:
        torch.manual_seed(seed)
        model, kept = GPT(GPTConfig(V, **time_machine.SIZES)), []
        optimizer, generator = new_optimizer(model), torch.Generator().manual_seed(seed)
        for done, rate in enumerate(rates[: steps[-1]], 1):
            step(model, optimizer, ids, BORN["batch_size"], rate, generator)
            if done in steps:
                kept.append(copy.deepcopy(model))
        tables = [looks_back(snapshot, scored) for snapshot in kept]
        block, head = divmod(int(tables[-1].argmax()), time_machine.SIZES["n_heads"])
        rows = []
        for done, snapshot, table in zip(steps, kept, tables, strict=True):
            loss = evaluate(snapshot, scored, model.context_length)
            with silenced(snapshot, [(block + 1, head + 1)]):
                without = evaluate(snapshot, scored, model.context_length)
            numbers = loss, table[block, head].item(), without
            rows.append([done, *(round(number, 3) for number in numbers)])
        heads = []
        far = torch.stack([looks_back(kept[-1], scored, k) for k in range(1, 5)]).amax(0)
        for i, most in enumerate(far.flatten().tolist()):
            b, h = divmod(i, time_machine.SIZES["n_heads"])
            with silenced(kept[-1], [(b + 1, h + 1)]):
                nats = evaluate(kept[-1], scored, kept[-1].context_length)
            heads.append([b + 1, h + 1, round(most, 3), round(nats, 3)])
        found = {"block": block + 1, "head": head + 1, "rows": rows, "heads": heads}
        births.append({"seed": seed} | found)
        print(births[-1], flush=True)
    return {"runs": births}


def without_part(splits: dict, V: int, shorter: int) -> dict:
    """For each block and each of its heads: the losses without it, snapshot by snapshot."""
    scored = splits["validation"][1][: SCORED_ON if shorter == 1 else 300]
    models = [model for _, model in load_checkpoints()]
    c = models[0].config
    losses: list[list[list[float]]] = [[[] for _ in range(c.n_heads)] for _ in range(c.n_layers)]
    for block, head in itertools.product(range(c.n_layers), range(c.n_heads)):
        for model in models:
            with silenced(model, [(block + 1, head + 1)]):
                nats = evaluate(model, scored, model.context_length)
            losses[block][head].append(round(nats, 3))
    return {"losses": losses}


def measure(part: Callable, options: argparse.Namespace) -> dict:
    """A part, with a shorter text to choose on."""
    splits, V = runs.load_splits(write=options.write)
    ids, scored = splits["development"]
    splits["development"] = ids, scored[:CHOSEN_ON]
    return part(splits, V, 100 if options.quick else 1)


PARTS = {
    "batch": partial(measure, batch_part),
    "schedules": partial(measure, schedules_part),
    "recipe": partial(measure, recipe_part),
    "longer": partial(measure, longer_part),
    "births": partial(measure, births_part),
    "without": partial(measure, without_part),
}
main = runs.script(__doc__, "settings", PARTS, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
