"""The ladder of chapter 10 with all its steps: -> ladder.json.

Usage: python -m lab.ladder [--quick | --write]

Every rung is trained with each seed and scored on the whole validation split: some six minutes on
one thread. `rows` times each rung in three ways, in turn, round after round, for lab/table.py.
"""

import copy
import math
import statistics
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from lab import runs
from lab.variants import Heads, Rung
from scratchformer.models import Bigram
from scratchformer.training import train
from scratchformer_course.measurements import FOLDER

STORED = FOLDER / "ladder.json"
SEEDS = (1337, 1, 2)
CONTEXT, BATCH = 8, 32
ROUNDS, STEPS_A_ROUND = 7, 100  # of the speed
OPTIONS: dict[str, Any] = {
    "betas": (0.9, 0.999),
    "weight_decay": 0.01,
    "schedule": "constant",
    "clip": math.inf,
}
SLOW, FAST = (5000, 1e-3), (3000, 1e-2)  # steps and learning rate
THREE: dict[str, Any] = {"n_layers": 3}
FULL = THREE | {"d_ff": 128, "project": True}
# name -> (steps, rate), the settings of `Rung` (None: the table), the loss published for it on
# random batches; a rung in brackets is no step of the ladder: it takes two ideas apart
RUNGS: dict[str, tuple[tuple[int, float], dict[str, Any] | None, float | None]] = {
    "bigram table": (FAST, None, 2.49),
    "embedding": (FAST, {"n_layers": 0}, 2.517),
    "one head": (SLOW, {"n_heads": 1, "d_head": 16}, 2.418),
    "four heads": (SLOW, {}, 2.261),
    "feed-forward": (SLOW, {"d_ff": 32}, 2.229),
    "three blocks": (SLOW, THREE | {"d_ff": 32}, 2.340),
    "(no residuals)": (SLOW, FULL, None),
    "residuals": (SLOW, FULL | {"residual": True}, 2.068),
    "layer norm": (SLOW, FULL | {"residual": True, "norm": True}, 2.059),
}
SETTINGS: dict[str, Any] = {
    "batch_size": BATCH,
    "context_length": CONTEXT,
    "train_part": 0.9,
    "seeds": SEEDS,
    "optimizer": "AdamW",
    "threads": 1,
    "rounds": ROUNDS,
    "rungs": RUNGS,
    **OPTIONS,
    "clip": str(OPTIONS["clip"]),  # JSON knows no infinity
}


class HeadList(nn.Module):
    """What `Heads` computes, one head after the other, each with three layers and a mask."""

    def __init__(self, heads: Heads):
        super().__init__()
        d_model, n = heads.c_attn.in_features, heads.n_heads
        width = heads.c_attn.out_features // 3 // n
        weights = heads.c_attn.weight.detach().view(3, n, width, d_model)
        self.layers = nn.ModuleList(nn.Linear(d_model, width, bias=False) for _ in range(3 * n))
        for i, layer in enumerate(self.layers):  # query, key and value of a head, then the next's
            layer.get_parameter("weight").data.copy_(weights[i % 3, i // 3])
        self.open: torch.Tensor
        self.register_buffer("open", torch.ones(CONTEXT, CONTEXT).tril())

    def forward(self, x):
        T, found = x.shape[1], []
        for i in range(0, len(self.layers), 3):
            q, k, v = (layer(x) for layer in self.layers[i : i + 3])
            scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
            scores = scores.masked_fill(self.open[:T, :T] == 0, -math.inf)
            found.append(scores.softmax(dim=-1) @ v)
        return torch.cat(found, dim=-1)


def build(name: str, vocab_size: int, seed: int) -> nn.Module:
    """A rung with the random weights of `seed`."""
    torch.manual_seed(seed)
    settings = RUNGS[name][1]
    return Bigram(vocab_size) if settings is None else Rung(vocab_size, CONTEXT, **settings)


def with_list_of_heads(rung: nn.Module) -> nn.Module:
    """A copy of `rung`, equal to it, that computes head by head."""
    rung = copy.deepcopy(rung)
    for block in getattr(rung, "h", []):
        block.attn[0] = HeadList(block.attn[0])
    return rung


def by_package(model: nn.Module, ids, val_ids, steps: int, lr: float, seed: int, **settings):
    """The package's loop; without `evaluate_every` it is evaluated once, after the last step."""
    return train(
        model,
        ids,
        val_ids,
        steps=steps,
        lr=lr,
        seed=seed,
        batch_size=BATCH,
        context_length=CONTEXT,
        **OPTIONS | settings,
    )


def by_textbook(model: nn.Module, ids, steps: int, lr: float, seed: int) -> None:
    """The loop as tutorials write it: batches by slicing, AdamW as it comes."""
    torch.manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for _ in range(steps):
        starts = torch.randint(len(ids) - CONTEXT, (BATCH,))
        x = torch.stack([ids[i : i + CONTEXT] for i in starts])
        y = torch.stack([ids[i + 1 : i + CONTEXT + 1] for i in starts])
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


def climb(name: str, ids, val_ids, vocab_size: int, quick: bool) -> dict:
    """Train one rung with each seed."""
    (steps, lr), settings, published = RUNGS[name]
    steps, seeds = (2, SEEDS[:1]) if quick else (steps, SEEDS)
    rung: dict[str, Any] = {"name": name, "settings": settings, "steps": steps, "lr": lr}
    rung |= {"published": published, "runs": {}}
    for seed in seeds:
        model = build(name, vocab_size, seed)
        every = 500 if seed == seeds[0] else None  # the chapter's shorter run is compared with it
        history = by_package(model, ids, val_ids, steps, lr, seed, evaluate_every=every)
        rung["runs"][str(seed)] = {
            "at": history.steps,
            "val_loss": [round(loss, 4) for loss in history.val_loss],
            "seconds": round(history.seconds[-1], 1),
        }
    rung["parameters"] = runs.size(model)
    ends = [run["val_loss"][-1] for run in rung["runs"].values()]
    rung["val_loss"] = round(statistics.mean(ends), 4)
    print(rung, flush=True)
    return rung


def step_times(name: str, ids, vocab_size: int, quick: bool) -> dict[str, list[float]]:
    """Milliseconds a step in three ways, which take turns: one figure a round."""
    lr, steps = RUNGS[name][0][1], 1 if quick else STEPS_A_ROUND
    batched = build(name, vocab_size, 0)
    listed, textbook = (with_list_of_heads(batched) for _ in "12")

    def tutorial() -> float:
        taken = runs.seconds(lambda: by_textbook(textbook, ids, steps, lr, seed=0))
        return 1000 * taken / steps

    def package(model: nn.Module) -> float:
        # the first evaluation comes after the last step and is not in `History.seconds`
        return 1000 * by_package(model, ids, ids[:100], steps, lr, 0).seconds[-1] / steps

    jobs = {
        "textbook": tutorial,
        "list of heads": lambda: package(listed),
        "batched": lambda: package(batched),
    }
    return runs.in_turns(jobs, 1 if quick else ROUNDS)


def rows(quick: bool = False) -> list[dict]:
    """Speed alone, for the table: every rung of the ladder, losses left out."""
    torch.set_num_threads(1)
    splits, vocab_size = runs.load_splits()
    ids, result = splits["validation"][0], []
    for name in RUNGS:
        if name.startswith("("):
            continue
        times = step_times(name, ids, vocab_size, quick)
        heads = ", list of heads" * any(getattr(build(name, vocab_size, 0), "h", []))
        references = {"textbook": f"textbook's loop{heads}"}
        if name == "layer norm":
            references["list of heads"] = f"package's loop{heads}"
        for way, reference in references.items():
            what = f"{name}, package's loop"
            result.append(runs.row(what, reference, "ms", times["batched"], times[way]))
    return result


def measure(options) -> dict:
    """The losses of all rungs, and beside them those of counts."""
    torch.set_num_threads(1)
    splits, V = runs.load_splits(write=options.write)
    ids, val_ids = splits["validation"]
    return {
        "what": "losses in nats a character on the whole validation split of Tiny Shakespeare",
        "rungs": [climb(name, ids, val_ids, V, options.quick) for name in RUNGS],
        "kneser_ney": runs.counted_losses(ids, val_ids, V, range(1, 10)),
    }


def main(arguments: list[str] | None = None) -> dict:
    return runs.carry_out(__doc__, STORED, measure, arguments, SETTINGS)


if __name__ == "__main__":
    main()
