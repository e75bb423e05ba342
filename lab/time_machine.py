"""A small GPT at twenty steps of its training -> chapter 11's checkpoints.safetensors.

Usage: python -m lab.time_machine [--quick | --write]

The settings below are those of chapter 11: AdamW, warm-up, cosine. The rate is the best of RATES
by the loss on development after a fifth of the steps. With it the model is trained once on the
validation split's training text, and its weights at each of STEPS ship, as float16. Its losses on
the whole validation split are read when it has ended. Everything takes some minutes of one core.
"""

import json
import time
from typing import Any

import torch

from lab import runs
from lab.ship import round_to_half
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import TrainingState, evaluate, train
from scratchformer_course.ch11_training.stored_steps import STORED, save_checkpoints

SIZES: dict[str, Any] = {"context_length": 128, "d_model": 48, "n_heads": 4, "n_layers": 2}
STEPS = [
    *(0, 1, 2, 5, 10, 20, 35, 50, 75, 100),
    *(150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000),
]
RATES = (0.006, 0.012, 0.024, 0.048)
TRAINING: dict[str, Any] = {
    "batch_size": 16,
    "context_length": 128,
    "seed": 0,
    "warmup": 50,
    "schedule": "cosine",
}


def trained(ids: torch.Tensor, scored: torch.Tensor, steps: list[int], **settings) -> list:
    """A run on `ids` -> (step, model) for each of `steps`; as float16, as they are shipped."""
    torch.manual_seed(TRAINING["seed"])
    model = GPT(GPTConfig(**SIZES, vocab_size=settings.pop("vocab_size")))
    kept = []

    def keep(step: int) -> None:
        copy = GPT(model.config)
        copy.load_state_dict(model.state_dict())
        kept.append((step, round_to_half(copy)))

    def watch(state: TrainingState) -> None:
        if state.step in steps:
            keep(state.step)

    keep(0)
    train(model, ids, scored, steps=steps[-1], callbacks=[watch], **(TRAINING | settings))
    return kept


def losses(checkpoints: list, scored: torch.Tensor) -> dict[str, float]:
    """Nats a character on all of `scored` after each step."""
    return {
        str(step): round(evaluate(model, scored, model.context_length), 4)
        for step, model in checkpoints
    }


def measure(splits: dict, V: int, steps: list[int]) -> tuple[list, dict]:
    """The checkpoints of the run on the training text, and what the record tells of it."""
    training, scored = splits["development"]
    fifth = [steps[-1] // 5]
    tried = {}
    for lr in RATES:
        last = trained(training, scored, fifth, lr=lr, vocab_size=V)[-1:]
        tried[lr] = losses(last, scored)[str(fifth[0])]
        print(f"rate {lr}: {tried[lr]} on development", flush=True)
    lr = min(tried, key=lambda rate: tried[rate])
    training, scored = splits["validation"]
    start = time.process_time()
    checkpoints = trained(training, scored, steps, lr=lr, vocab_size=V)
    seconds = round(time.process_time() - start)
    return checkpoints, {
        "parameters": runs.size(checkpoints[0][1]),
        "settings": {"model": SIZES, "training": TRAINING | {"lr": lr, "steps": steps[-1]}},
        "rates": {"steps": fifth[0], "development": {str(rate): tried[rate] for rate in tried}},
        "validation": losses(checkpoints, scored),
        "seconds": seconds,
    }


def main(arguments: list[str] | None = None) -> tuple[list, dict]:
    options = runs.command_line(__doc__, STORED.name).parse_args(arguments)
    torch.set_num_threads(1)
    splits, vocab_size = runs.load_splits(write=options.write)
    checkpoints, record = measure(splits, vocab_size, [0, 1, 5, 10] if options.quick else STEPS)
    record = {"command": "python -m lab.time_machine --write", **record, **runs.stamp()}
    if options.write:
        save_checkpoints(checkpoints, STORED)
        runs.store(STORED.with_suffix(".json"), record)
    print(json.dumps(record["validation"], indent=1))
    return checkpoints, record


if __name__ == "__main__":
    main()
