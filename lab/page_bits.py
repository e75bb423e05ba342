"""What fewer bits cost the models of the pages -> measurements/page_bits.json.

Usage: python -m lab.page_bits [--quick | --write]

The matrices of the shipped GPT are rounded to BITS bits, with one scale for a whole matrix, for
each of its rows, or for each 32 weights, and the model is scored on the whole validation split.
The site carries its GPTs in 8 bits with a scale for each row, so these are compared further: how
far a logit moves at most, and what some of the time machine's checkpoints lose on the same split.
"""

import argparse
import copy

import torch

from lab import runs
from scratchformer.models import GPT
from scratchformer.training import evaluate
from scratchformer_course.ch11_training.stored_steps import load_checkpoints
from scratchformer_course.page_model.fewer_bits import SHARED, round_model

NAME, BITS, STEPS = "tiny-shakespeare", (8, 6, 5, 4, 3, 2), (100, 1000, 5000)
SETTINGS = {"model": NAME, "bits": BITS, "shared": SHARED, "steps": STEPS}


def largest_change(before: GPT, after: GPT, ids: torch.Tensor) -> float:
    """How far a logit moves at most, over consecutive windows of the text."""
    T = before.context_length
    windows = ids[: len(ids) // T * T].view(-1, T)
    with torch.no_grad():
        moved = [(before(x) - after(x)).abs().max().item() for x in windows.split(64)]
    return round(max(moved), 4)


def measure(options: argparse.Namespace) -> dict:
    splits, _ = runs.load_splits(write=options.write)
    ids = splits["validation"][1]
    ids = ids[:2_000] if options.quick else ids
    model = GPT.pretrained(NAME)

    def loss(of: GPT) -> float:
        return round(evaluate(of, ids, of.context_length), 5)

    before = loss(model)
    sizes: dict[str, dict[str, float]] = {}
    print(f"16 bits: {before}", flush=True)
    for shared in SHARED:
        sizes[shared] = {}
        for bits in BITS:
            sizes[shared][str(bits)] = loss(round_model(copy.deepcopy(model), bits, shared))
            print(f"{bits} bits, a scale for each {shared}: {sizes[shared][str(bits)]}", flush=True)
    checkpoints = {
        str(step): [loss(of), loss(round_model(copy.deepcopy(of)))]
        for step, of in load_checkpoints()
        if step in STEPS
    }
    return {
        "parameters": runs.size(model),
        "characters": len(ids) - 1,
        "validation": {"16": before} | sizes,
        "largest_change_of_a_logit": largest_change(model, round_model(copy.deepcopy(model)), ids),
        "checkpoints": checkpoints,
    }


main = runs.script(__doc__, "page_bits", measure, SETTINGS)


if __name__ == "__main__":
    main()
