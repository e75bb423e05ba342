"""SmolLM2 without one weight, or without a million -> measurements/one_weight.json.

Usage: python -m lab.one_weight [--quick | --write]

The weight is the one of `real_endings.py`. `loss` is in nats a token, on lines of Shakespeare: the
whole model; without the weight; without its neighbour; without all weights that are larger; without
a hundredth of the blocks' other weights, for three draws. `largest` says in which channel of its
layer's output the largest number is, and at which token. `bits` and `bytes` are those of the file.
"""

import argparse
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from lab import runs
from lab.real_endings import WEIGHT
from scratchformer.data import load_corpus
from scratchformer.data.gguf import KINDS, read_gguf
from scratchformer.data.real_model import find_real_model
from scratchformer.generation import chat
from scratchformer.models import Llama
from scratchformer.tokenizers import ByteBPE
from scratchformer.training import evaluate

MODEL, QUESTION = "smollm2-135m-instruct", "What is the capital of France?"
READ, SHARE, SEEDS, ANSWER = 384, 0.01, range(3), 9
SETTINGS = {"model": MODEL, "weight": WEIGHT, "question": QUESTION, "tokens": [READ, ANSWER],
            "share": SHARE, "seeds": len(SEEDS)}  # fmt: skip


@contextmanager
def zeroed(places: Iterable[tuple[Tensor, Tensor]]) -> Iterator[int]:
    """A context in which the weights under each mask are 0; how many these are."""
    kept = [(p, mask, p[mask].clone()) for p, mask in places]
    for p, mask, _ in kept:
        p[mask] = 0
    yield sum(len(old) for _, _, old in kept)
    for p, mask, old in kept:
        p[mask] = old


def only(p: Tensor, row: int, column: int) -> Tensor:
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask[row, column] = True
    return mask


def some(model: Llama, seed: int, but: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """A share of the weights of all blocks, drawn with this seed; `but` is left alone."""
    draws = torch.Generator().manual_seed(seed)
    _, row, column = WEIGHT
    for p in model.layers.parameters():
        if p.dim() == 2:
            mask = torch.rand(p.shape, generator=draws) < SHARE
            if p is but:
                mask[row, column] = False
            yield p, mask


@torch.no_grad()
def measure(options: argparse.Namespace) -> dict:
    model, tok = Llama.pretrained(MODEL), ByteBPE.pretrained(MODEL)
    text = load_corpus("tinyshakespeare").text[-20_000:]
    ids = torch.tensor(tok.encode(text)[: 64 if options.quick else READ])
    block, row, column = WEIGHT
    layer: nn.Linear = cast(Any, model.layers[block]).mlp.down_proj
    w = layer.weight
    limit = w[row, column].abs().item()
    matrices = [p for p in model.parameters() if p.dim() == 2]
    larger = [(p, p.abs() > limit) for p in matrices]
    trials: dict[str, list[tuple[Tensor, Tensor]]] = {
        "whole": [],
        "one": [(w, only(w, row, column))],
        "neighbour": [(w, only(w, row, column + 1))],
        "larger": [(p, mask) for p, mask in larger if mask.any()],
    }
    trials |= {f"some {seed}": list(some(model, seed, w)) for seed in SEEDS}
    loss, numbers, answers = {}, {}, {}
    for name, places in trials.items():
        with zeroed(places) as n:
            numbers[name] = n
            loss[name] = round(evaluate(model, ids, len(ids) - 1), 2)
            answers[name] = chat(model, tok, QUESTION, max_new_tokens=ANSWER)
        print(name, numbers[name], loss[name], answers[name], flush=True)
    said = []
    hook = layer.register_forward_hook(lambda module, x, y: said.append(y[0].abs()))
    model(ids[None])
    hook.remove()
    token, channel = divmod(int(said[0].argmax()), said[0].shape[1])
    bits: dict[str, list[int]] = {}
    path = find_real_model()
    for packed in read_gguf(path)[1].values():
        part = bits.setdefault(KINDS[packed.kind][0], [0, 0])
        part[0] += math.prod(packed.shape)
        part[1] += 8 * packed.blocks.nbytes
    return {
        "value": round(w[row, column].item(), 3),
        "loss": loss,
        "weights": numbers,
        "answers": answers,
        "largest": {"token": token, "channel": channel},
        "bits": {kind: round(size / n, 2) for kind, (n, size) in bits.items()},
        "bytes": {
            "file": path.stat().st_size,
            "float32": 4 * sum(p.numel() for p in model.parameters()),
        },
    }


main = runs.script(__doc__, "one_weight", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
