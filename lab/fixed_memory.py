"""Chapter 21's memories of fixed size, beside attention -> measurements/fixed_memory.json.

Usage: python -m lab.fixed_memory [--quick | --write]

cups    a ball under one of five cups, and swaps of two cups; after each swap, where is it? Two
        blocks of one kind learn it from games of at most 24 swaps, and play games of 256
recall  pairs of a key and a value, then all keys again, in another order: which value was it? Two
        blocks, of one kind or of two, and one block of attention alone
price   one more token at several positions: seconds of four blocks, and bytes of what they keep

The rate of each network is the best of `rates` for a seed that is not scored, on texts of its own.
"""

import time
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from lab import runs
from scratchformer.training.muon import Muon, matrix_groups
from scratchformer_course.ch21_fixed_memory.mixers import ATTENTION, WIDTH, MixedModel

TUNING_SEED = 9
CUPS, PAIRS = 5, list(combinations(range(5), 2))
KEYS, VALUES = 64, 32
SETTINGS: dict[str, dict[str, Any]] = {
    "cups": {
        "kinds": ("softmax", "rotated", "sum", "decay", "delta", "reflect"),
        "sizes": {"C": 32, "H": 2, "D": 8},
        "rates": (0.003, 0.01, 0.03),
        "steps": 1500,
        "batch": 48,
        "trained": (4, 8, 16, 24),  # swaps of a game
        "tested": (1, 2, 3, 4, 8, 16, 24, 48, 96, 192, 256),
        "games": 500,
        "seeds": [*range(5)],
    },
    "recall": {
        "kinds": ("rotated+rotated", "gated+gated", "gated+softmax", "nothing+softmax", "rotated"),
        "sizes": {"C": 64, "H": 2, "D": 16},
        "rates": (0.01, 0.03, 0.1),
        "steps": 800,
        "tokens": 384,  # pairs of a step, about
        "trained": (2, 4, 8, 16, 24, 32),  # pairs of a text
        "tested": (4, 16, 32, 64),
        "texts": 256,
        "seeds": [*range(3)],
    },
    "price": {
        "kinds": ("rotated", "gated+rotated", "gated"),
        "sizes": {"C": 256, "H": 4, "D": 64},
        "blocks": 4,
        "positions": (100, 1_000, 10_000, 100_000),
    },
}
for name in ("cups", "recall"):
    SETTINGS[name]["tuning_seed"] = TUNING_SEED
Batch = tuple[Tensor, Tensor]  # token ids (B, T), and answers for the last positions (B, n)


def games(n: int, swaps: int, g: torch.Generator) -> Batch:
    """Swaps are the tokens 0 to 9, the ball's first cup is a token after these."""
    after = torch.arange(CUPS).repeat(len(PAIRS), 1)  # (10, 5): where a swap takes each cup
    for row, (i, j) in zip(after, PAIRS, strict=True):
        row[i], row[j] = j, i
    at = torch.randint(CUPS, (n,), generator=g)
    drawn = torch.randint(len(PAIRS), (n, swaps), generator=g)
    ids, cups = torch.cat((at.unsqueeze(1) + len(PAIRS), drawn), dim=1), [at]
    for swap in drawn.T:
        cups.append(after[swap, cups[-1]])
    return ids, torch.stack(cups, dim=1)


def pairs(n: int, stored: int, g: torch.Generator) -> Batch:
    """Key, value, key, value, …, and the same keys in another order."""
    keys = torch.rand(n, KEYS, generator=g).argsort(dim=1)[:, :stored]
    values = torch.randint(VALUES, (n, stored), generator=g)
    order = torch.rand(n, stored, generator=g).argsort(dim=1)
    written = torch.stack((keys, values + KEYS), dim=2).flatten(1)
    return torch.cat((written, keys.gather(1, order)), dim=1), values.gather(1, order)


def train(task: str, kinds: Sequence[str], rate: float, seed: int, steps: int) -> MixedModel:
    """A network trained by AdamW, or for recall by Muon: lengths grow in the first half."""
    s = SETTINGS[task]
    sizes = (len(PAIRS) + CUPS, CUPS) if task == "cups" else (KEYS + VALUES, VALUES)
    torch.manual_seed(seed)
    model, g = MixedModel(*sizes, kinds, **s["sizes"]), torch.Generator().manual_seed(seed)
    rates = (rate, rate, 0.01, False) if task == "cups" else (0.4 * rate, rate, 0.01)
    groups = matrix_groups(model, *rates)
    optimizer = Muon(groups, betas=(0.9, 0.98), dtype=torch.float32, fused=True)
    highest = [group["lr"] for group in optimizer.param_groups]
    for step in range(steps):
        scale = min(1, (step + 1) / 30, 2.5 * (1 - step / steps))
        for group, lr in zip(optimizer.param_groups, highest, strict=True):
            group["lr"] = lr * scale
        allowed = s["trained"][: 1 + int(2 * len(s["trained"]) * step / steps)]
        n = allowed[int(torch.randint(len(allowed), (1,), generator=g))]
        made = games(s["batch"], n, g) if task == "cups" else pairs(max(8, s["tokens"] // n), n, g)
        ids, answers = made
        logits = model(ids)[:, -answers.shape[1] :]
        optimizer.zero_grad()
        cross_entropy(logits.flatten(0, 1), answers.flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


@torch.no_grad()
def right(model: MixedModel, batch: Batch) -> Tensor:
    """Share of right answers at each of the last positions, (n,)."""
    ids, answers = batch
    parts = zip(ids.split(100), answers.split(100), strict=True)
    hits = [model(some)[:, -a.shape[1] :].argmax(dim=-1) == a for some, a in parts]
    return torch.cat(hits).float().mean(dim=0)


def play(model: MixedModel, n: int) -> dict[int, float]:
    """Swaps -> share of games in which the ball's cup is known after as many."""
    tested = SETTINGS["cups"]["tested"]
    shares = right(model, games(n, max(tested), torch.Generator().manual_seed(2000)))
    return {swaps: round(shares[swaps].item(), 4) for swaps in tested}


def ask(model: MixedModel, n: int) -> dict[int, float]:
    """Pairs -> share of the keys whose value is known."""
    draws = torch.Generator().manual_seed(2000)
    tested = SETTINGS["recall"]["tested"]
    return {m: round(right(model, pairs(n, m, draws)).mean().item(), 4) for m in tested}


def trials(kept: runs.Kept, task: str, quick: bool) -> None:
    """Kind -> the tuning of its rate, the best one, and the scores of each seed."""
    s = SETTINGS[task]
    score, size = (play, s["games"]) if task == "cups" else (ask, s["texts"])
    steps, n, seeds = (2, 8, s["seeds"][:1]) if quick else (s["steps"], size, s["seeds"])

    def network(name: str, rate: float, seed: int) -> MixedModel:
        kinds = [name] * 2 if task == "cups" else name.split("+")
        return train(task, kinds, rate, seed, steps)

    def tuned(name: str, rate: float) -> dict:
        own = torch.Generator().manual_seed(1000)
        batch = games(n, 48, own) if task == "cups" else pairs(n, 32, own)
        return {"right": round(right(network(name, rate, TUNING_SEED), batch).mean().item(), 4)}

    for name in s["kinds"]:
        for rate in s["rates"]:
            kept.once(task, name, "tuning", str(rate), job=partial(tuned, name, rate))
        shares = {rate: kept.part(task, name, "tuning")[str(rate)]["right"] for rate in s["rates"]}
        kept.part(task, name)["rate"] = max(shares, key=shares.__getitem__)
    for seed in seeds:
        for name in s["kinds"]:
            rate = kept.part(task, name)["rate"]
            job = partial(lambda *args: score(network(*args), n), name, rate, seed)
            kept.once(task, name, "runs", str(seed), job=job)


# --- what one more token costs --------------------------------------------------------------------


def remembered(model: MixedModel, position: int) -> list[dict[str, Tensor]]:
    """What each block keeps of random tokens before a position."""
    kept = []
    for block in model.blocks:
        m: Any = block.mixer
        if m.kind in ATTENTION:
            kept.append({"kv": torch.randn(2, 1, m.H, position + 1, m.D)})
        else:
            last = torch.randn(1, WIDTH - 1, 3 * m.H * m.D)
            kept.append({"table": torch.randn(1, m.H, m.D, m.D) / m.D, "last": last})
    return kept


def next_token(m: Any, x: Tensor, kept: dict[str, Tensor]) -> Tensor:
    """A layer at one more token x, (1, 1, C), by what it has kept, which is brought up to date."""
    q, k, v, log_decay, beta = m.parts(x, kept.get("last"))  # q, k, v (1, H, 1, D)
    if m.kind in ATTENTION:
        kept["kv"][:, :, :, -1:] = torch.stack((k, v))
        return m.leave(x, scaled_dot_product_attention(q, *kept["kv"]))
    table = log_decay.exp().unsqueeze(-1) * kept["table"]  # (1, H, D, D)
    kept["table"] = table + k.mT @ (beta.unsqueeze(-1) * (v - k @ table))
    kept["last"] = torch.cat((kept["last"][:, 1:], m.qkv(x)), dim=1)
    return m.leave(x, q @ kept["table"])


@torch.no_grad()
def price(kinds: str, positions: Sequence[int]) -> dict:
    """Position -> seconds of a token, the least of several, and bytes kept."""
    s, rows = SETTINGS["price"], {}
    torch.manual_seed(0)
    in_turn = (kinds.split("+") * s["blocks"])[: s["blocks"]]
    model = MixedModel(65, 65, in_turn, **s["sizes"])
    for position in positions:
        kept = remembered(model, position)
        numbers = sum(t.numel() for each in kept for t in each.values())
        took = []
        for _ in range(9):
            begun = time.process_time()
            for _ in range(repeats := 20 if position < 5000 else 4):
                x = model.embedding.weight[:1].unsqueeze(0)  # (1, 1, C)
                for block, each in zip(model.blocks, kept, strict=True):
                    b: Any = block
                    x = x + next_token(b.mixer, b.norm_1(x), each)
                    x = x + b.mlp(b.norm_2(x))
            took.append((time.process_time() - begun) / repeats)
        rows[position] = {"seconds": min(took), "bytes": 4 * numbers}
    return rows


def main(arguments: list[str] | None = None) -> dict:
    options = runs.command_line(__doc__, "fixed_memory.json").parse_args(arguments)
    torch.set_num_threads(1)
    kept = runs.Kept("fixed_memory", SETTINGS, options.write)
    trials(kept, "cups", options.quick)
    positions = SETTINGS["price"]["positions"][: 2 if options.quick else None]
    for name in SETTINGS["price"]["kinds"]:
        kept.once("price", name, job=partial(price, name, positions))
    trials(kept, "recall", options.quick)
    return kept.result


if __name__ == "__main__":
    main()
