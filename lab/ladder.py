"""How well tables of counts predict Tiny Shakespeare -> ladder.json; and how fast a ladder trains.

Usage: python -m lab.ladder [--quick | --write]

The tables are counted within seconds. The ladder leads from a bigram to a GPT, as a well-known
lecture climbs it. `rows` times each rung in three ways, in turn, round after round, for
lab/table.py.
"""

import copy
import math
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
CONTEXT, BATCH = 8, 32
ROUNDS, STEPS_A_ROUND = 7, 100  # of the speed
OPTIONS: dict[str, Any] = {
    "betas": (0.9, 0.999),
    "weight_decay": 0.01,
    "schedule": "constant",
    "clip": math.inf,
}
SLOW, FAST = 1e-3, 1e-2  # learning rates
THREE: dict[str, Any] = {"n_layers": 3}
FULL = THREE | {"d_ff": 128, "project": True}
# name -> learning rate, the settings of `Rung` (None: the table)
RUNGS: dict[str, tuple[float, dict[str, Any] | None]] = {
    "bigram table": (FAST, None),
    "embedding": (FAST, {"n_layers": 0}),
    "one head": (SLOW, {"n_heads": 1, "d_head": 16}),
    "four heads": (SLOW, {}),
    "feed-forward": (SLOW, {"d_ff": 32}),
    "three blocks": (SLOW, THREE | {"d_ff": 32}),
    "residuals": (SLOW, FULL | {"residual": True}),
    "layer norm": (SLOW, FULL | {"residual": True, "norm": True}),
}
SETTINGS: dict[str, Any] = {"train_part": 0.9, "orders": [1, 9]}


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


def step_times(name: str, ids, vocab_size: int, quick: bool) -> dict[str, list[float]]:
    """Milliseconds a step in three ways, which take turns: one figure a round."""
    lr, steps = RUNGS[name][0], 1 if quick else STEPS_A_ROUND
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
    """The losses of counts."""
    splits, V = runs.load_splits(write=options.write)
    low, high = SETTINGS["orders"]
    return {
        "what": "losses in nats a character on the whole validation split of Tiny Shakespeare",
        "kneser_ney": runs.counted_losses(*splits["validation"], V, range(low, high + 1)),
    }


def main(arguments: list[str] | None = None) -> dict:
    return runs.carry_out(__doc__, STORED, measure, arguments, SETTINGS)


if __name__ == "__main__":
    main()
