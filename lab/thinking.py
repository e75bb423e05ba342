"""Chapter 23's cups: answers at once and written, what a reward for the answer teaches, and votes.

Usage: python -m lab.thinking [--quick | --write] [--only PART …]

Writes measurements/thinking.json. A kind's rate is the best of three on a seed that is not used
again; games that are scored are drawn from seeds that train nothing.

depth    blocks -> the share of right answers after 1, 2, … 8 swaps, for models that are asked at
         each swap; and those of two blocks that are trained five times as long
written  what is read again (cups, dots, another game's; at once: nothing is written) -> the share
         right after eight swaps; and that of dots for five times as long
reward   the model that has seen both kinds, and what rewards make of it; its samples (`pass`)
film     games of the live figure, with the answers of both kinds of model
"""

import argparse
import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from lab import runs
from scratchformer.models import GPT
from scratchformer_course.ch23_thinking import cups as world
from scratchformer_course.ch23_thinking.exercises import right_advantages, right_vote

SEEDS, TUNING_SEED, SCORED_SEED = range(3), 10, 1000
RATES = (0.02, 0.05, 0.1)  # Muon's; a fifth for what AdamW trains
REWARD_RATES = (1e-4, 3e-4, 1e-3)
SCORED = 2000
DEPTH: dict[str, Any] = {"blocks": [1, 2, 3, 4], "steps": 400, "long": 2000}
READS = ["cups", "dots", "another game", "at once"]
WRITTEN: dict[str, Any] = {"reads": READS, "steps": 300, "long": 1500}
REWARD: dict[str, Any] = {
    "share": 0.2,
    "steps": 400,
    "updates": 40,
    "games": 16,
    "group": 8,
    "prices": [0.05, 0.2],
}
VOTES, ASKED, K = [1, 2, 4, 8, 16, 32, 64], 300, 64
SHARED: dict[str, Any] = {"seeds": SEEDS, "rates": RATES, "scored": SCORED}
SETTINGS: dict[str, Any] = {
    "depth": DEPTH | SHARED,
    "written": WRITTEN | SHARED,
    "reward": REWARD | {"rates": REWARD_RATES, "votes": VOTES, "asked": ASKED} | {"seeds": SEEDS},
    "film": {"games": 200},
}
SETTINGS = {
    part: {k: [*v] if isinstance(v, range) else v for k, v in own.items()}
    for part, own in SETTINGS.items()
}
short = partial(round, ndigits=3)


def fresh(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(SCORED_SEED + seed)


# --- answers at once, and written ----------------------------------------------------------------


@torch.no_grad()
def at_each_swap(model: GPT) -> list[float]:
    """The share right after 1, 2, … 8 swaps."""
    x, targets = world.asked_at_each_swap(SCORED, fresh())
    return (model(x).argmax(dim=-1) == targets)[:, 1:].float().mean(dim=0).tolist()


@torch.no_grad()
def after_reading(model: GPT, reads: str) -> list[float]:
    """The share right of the answers after the `=`, which some models write themselves."""
    if reads in ("cups", "at once"):
        x, cups = world.games(SCORED, fresh())
        return [world.right(world.play(model, x), cups).mean().item()]
    x, targets = world.read_again(reads, SCORED, fresh())
    return [(model(x).argmax(dim=-1) == targets)[:, -2].float().mean().item()]


def tuned(batches: Callable, score: Callable, steps: int, seeds: int, blocks: int = 2) -> dict:
    """Rates and their mean shares on the tuning seed; with the best, shares for each seed."""

    def run(seed: int, lr: float) -> list[float]:
        model = world.fitted(world.new_model(seed, blocks), batches, steps, lr, seed)
        return [*map(short, score(model))]

    tried = {str(lr): run(TUNING_SEED, lr) for lr in RATES}
    best = max(tried, key=lambda lr: sum(tried[lr]))
    result = {"tried": tried, "best": float(best)}
    result["seeds"] = {str(seed): run(seed, float(best)) for seed in SEEDS[:seeds]}
    print(result, flush=True)
    return result


def depth_part(options: argparse.Namespace) -> dict:
    seeds, few = (1, 100) if options.quick else (3, 1)
    batches, result = world.asked_at_each_swap, {}
    for blocks in DEPTH["blocks"][: 1 if options.quick else None]:
        print("blocks", blocks, flush=True)
        steps = DEPTH["steps"] // few
        result[str(blocks)] = tuned(batches, at_each_swap, steps, seeds, blocks)
    long = {}
    lr = result.get("2", {"best": 0.05})["best"]
    for seed in SEEDS[:seeds]:
        model = world.fitted(world.new_model(seed), batches, DEPTH["long"] // few, lr, seed)
        long[str(seed)] = [*map(short, at_each_swap(model))]
        print("long", long, flush=True)
    return {"blocks": result, "long": long}


def written_part(options: argparse.Namespace) -> dict:
    seeds, few = (1, 100) if options.quick else (3, 1)
    result = {}
    for reads in READS:
        is_read = partial(world.read_again, reads)
        batches = partial(world.both_kinds, 0.0) if reads == "at once" else is_read
        score = partial(after_reading, reads=reads)
        result[reads] = tuned(batches, score, WRITTEN["steps"] // few, seeds)
    dots, long = partial(world.read_again, "dots"), {}
    for seed in SEEDS[:seeds]:
        lr, steps = result["dots"]["best"], WRITTEN["long"] // few
        model = world.fitted(world.new_model(seed), dots, steps, lr, seed)
        long[str(seed)] = [*map(short, after_reading(model, "dots"))]
    result["dots"]["long"] = long
    return result


# --- a reward for the answer alone ---------------------------------------------------------------

Reward = Callable[[Tensor, Tensor], Tensor]


def update(model: GPT, optimizer, reward: Reward, generator: torch.Generator) -> None:
    """One step of GRPO's kind: groups of eight answers, each against the mean of its group."""
    group = REWARD["group"]
    x, cups = world.games(REWARD["games"], generator)
    x, cups = x.repeat_interleave(group, 0), cups.repeat_interleave(group, 0)
    answers = world.play(model, x, generator)
    advantage = right_advantages(reward(answers, cups), group)[:, None]
    logits = model(torch.cat([x, answers], dim=1)[:, :-1])[:, world.PROMPT - 1 :]
    log_p = logits.log_softmax(dim=-1).gather(2, answers[:, :, None])[:, :, 0]
    own = torch.arange(world.LONGEST) < world.length(answers)[:, None]
    loss = -(advantage * log_p * own).sum() / own.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def measured(model: GPT, seed: int, games: int = 500) -> dict[str, float]:
    """Of sampled answers: the share right and written out, and their mean length."""
    x, cups = world.games(games, fresh(seed))
    answers = world.play(model, x, fresh(seed))
    ok, long = world.right(answers, cups), world.wrote(answers)
    found = {"right": ok.mean(), "wrote": long.mean(), "length": world.length(answers).mean()}
    for name, some in ("right_if_written", long > 0), ("right_if_at_once", long == 0):
        found[name] = ok[some].mean() if some.any() else torch.tensor(-1.0)
    return {key: short(value.item()) for key, value in found.items()}


def rewarded(
    start: GPT, reward: Reward, lr: float, seed: int, updates: int, every: int = 5
) -> dict[str, Any]:
    """What is measured before, and after every few updates."""
    model, generator = copy.deepcopy(start), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr, weight_decay=0.0)
    rows = {"0": measured(model, seed)}
    for done in range(1, updates + 1):
        update(model, optimizer, reward, generator)
        if done % every == 0 or done == updates:
            rows[str(done)] = measured(model, seed)
    return rows


def at_random(answers: Tensor, cups: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(int(answers.sum()))
    return torch.randint(2, (len(answers),), generator=generator).float()


def priced(answers: Tensor, cups: Tensor, price: float) -> Tensor:
    return world.right(answers, cups) - price * world.length(answers)


def started(share: float, steps: int, seed: int) -> GPT:
    batches = partial(world.both_kinds, share)
    return world.fitted(world.new_model(seed), batches, steps, seed=seed)


@torch.no_grad()
def sampled(model: GPT, asked: int, seed: int) -> dict[str, Any]:
    """For each game K samples: how many are right at k tries, and by a vote of k."""
    x, cups = world.games(asked, fresh(seed))
    generator = fresh(seed + 1)
    answers = world.play(model, x.repeat_interleave(K, 0), generator)
    ok = world.right(answers, cups.repeat_interleave(K, 0)).view(asked, K)
    votes = world.said(answers).view(asked, K)
    result: dict[str, Any] = {"checker": [], "vote": []}
    for k in VOTES:
        groups = votes.view(asked, K // k, k)
        chosen = torch.stack([right_vote(row) for row in groups.flatten(0, 1)])
        by_vote = chosen.view(asked, -1) == cups[:, -1:]
        result["vote"].append(short(by_vote.float().mean().item()))
        found = ok.view(asked, K // k, k).amax(dim=2).mean()
        result["checker"].append(short(found.item()))
    return result


def reward_part(options: argparse.Namespace) -> dict:
    few = 20 if options.quick else 1
    steps, updates = REWARD["steps"] // few, REWARD["updates"] // few
    start = started(REWARD["share"], steps, TUNING_SEED)
    rates = {
        str(lr): rewarded(start, world.right, lr, TUNING_SEED, updates, updates)[str(updates)]
        for lr in REWARD_RATES
    }
    result: dict[str, Any] = {"tried": rates, "seeds": {}}
    print(rates, flush=True)
    for seed in SEEDS[: 1 if options.quick else None]:
        start = started(REWARD["share"], steps, seed)
        run = partial(rewarded, start, lr=3e-4, seed=seed, updates=updates)
        own = {"right": run(world.right), "at random": run(at_random)}
        for price in REWARD["prices"]:
            own[f"price {price}"] = run(partial(priced, price=price))
        own["samples"] = sampled(start, ASKED // few, seed)
        never = started(0.0, steps, seed)
        own["never written"] = rewarded(never, world.right, 3e-4, seed, updates)
        own["never written, samples"] = sampled(never, ASKED // few, seed)
        result["seeds"][str(seed)] = own
        print(seed, {k: [*v.values()][-1] for k, v in own.items()}, flush=True)
    return result


def film_part(options: argparse.Namespace) -> dict:
    few = 20 if options.quick else 1
    quick = world.fitted(world.new_model(0), world.asked_at_each_swap, DEPTH["steps"] // few)
    batches = partial(world.read_again, "cups")
    writer = world.fitted(world.new_model(0), batches, WRITTEN["steps"] // few)
    x, _ = world.games(SETTINGS["film"]["games"], fresh(7))
    with torch.no_grad():
        says = quick(x[:, :-1])[:, -1].argmax(dim=-1)
    answers = world.play(writer, x)

    def digits(ids: Tensor) -> str:
        return "".join(str(i - world.CUP + 1) if i >= world.CUP else str(i) for i in ids.tolist())

    rows = zip(x, says, answers, strict=True)
    shown = [[digits(row[:-1]), digits(say[None]), world.decode(a)] for row, say, a in rows]
    return {"shown": shown}


PARTS = {
    "film": film_part,
    "depth": depth_part,
    "written": written_part,
    "reward": reward_part,
}
main = runs.script(__doc__, "thinking", PARTS, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
