"""What SmolLM2 says with lines of other models in place of its own -> measurements/real_lines.json.

Usage: python -m lab.real_lines [--quick | --write]

Each of LINES puts one line of another model into a Llama: GPT-2's norm, GELU in the gate (as in
Gemma), the base of the first Llama's rotation, and pairs of neighbours (as in chapter 08). All
sixteen combinations answer QUESTIONS, the likeliest token at each step, and read a text for its
loss. `apart` has two other lines, and `sinks` what the first token is worth to a window.
"""

import argparse
import itertools
from collections.abc import Callable, Collection
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional as F

from lab import runs
from scratchformer.data import load_corpus
from scratchformer.generation import chat
from scratchformer.models import Llama, llama
from scratchformer.positions import rotary
from scratchformer.tokenizers import ByteBPE

MODEL = "smollm2-135m-instruct"
QUESTIONS = (
    "What is the capital of France?",
    "What is the opposite of hot?",
    "Why is the sky blue?",
)
LINES = ("norm", "gate", "base", "pairs")
APART = ("keys", "plus one")
ANSWER, READ, WINDOW = 16, 512, 256
SETTINGS = {"model": MODEL, "questions": QUESTIONS, "lines": LINES, "apart": APART,
            "tokens": [ANSWER, READ, WINDOW]}  # fmt: skip


def _norm(self: llama.RMSNorm, x: Tensor) -> Tensor:
    x = x - x.mean(dim=-1, keepdim=True)
    return self.weight * x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + self.eps)


def _plus_one(self: llama.RMSNorm, x: Tensor) -> Tensor:
    size = torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + self.eps)
    return (1 + self.weight) * x * size


def _gate(self: llama.SwiGLU, x: Tensor) -> Tensor:
    return self.down_proj(F.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))


def _keys(k: Tensor, n: int, dim: int) -> Tensor:
    return k.repeat(1, n, 1, 1)


def _turn(lines: Collection[str]) -> Callable[[Tensor, int, float], Tensor]:
    halves = llama.rotate_halves

    def turn(x: Tensor, start: int, base: float) -> Tensor:
        base = 10_000.0 if "base" in lines else base
        return rotary(x, start, base) if "pairs" in lines else halves(x, start, base)

    return turn


def other(lines: Collection[str]) -> ExitStack:
    """A context in which every Llama has these lines of other models."""
    stack = ExitStack()
    for name, (owner, what, new) in {
        "norm": (llama.RMSNorm, "forward", _norm),
        "plus one": (llama.RMSNorm, "forward", _plus_one),
        "gate": (llama.SwiGLU, "forward", _gate),
        "keys": (torch.Tensor, "repeat_interleave", _keys),
    }.items():
        if name in lines:
            stack.enter_context(patch.object(owner, what, new))
    stack.enter_context(patch.object(llama, "rotate_halves", _turn(lines)))
    return stack


@torch.no_grad()
def tried(model: Llama, tok: ByteBPE, ids: Tensor, lines: Collection[str], quick: bool) -> dict:
    """The answers with these lines, and the loss in nats a token."""
    with other(lines):
        loss = F.cross_entropy(model(ids[None])[0, :-1], ids[1:]).item()
        asked = QUESTIONS[:1] if quick else QUESTIONS
        answers = [chat(model, tok, q, max_new_tokens=2 if quick else ANSWER) for q in asked]
    print(lines, loss, answers, flush=True)
    return {"lines": list(lines), "loss": round(loss, 2), "answers": answers}


def _sees(kind: str, window: int) -> Callable[..., Tensor]:
    """`may_attend` of a window, of which the first token, or another, may be one."""

    def may_attend(self: Any, start: int, T: int, K: int, device: Any) -> Tensor:
        query = torch.arange(start, start + T)[:, None]
        key = torch.arange(start + T - K, start + T)
        if kind == "all":
            return key <= query
        kept = {"window": -1, "with the first": 0, "with token 100": 100}[kind]
        near = key > query - window + (kept >= 0)
        return (key <= query) & (near | (key == kept))

    return may_attend


@torch.no_grad()
def sinks(model: Llama, ids: Tensor, window: int) -> dict:
    """The loss of the last half of the text, through a window with the first token and without."""
    losses, late = {}, slice(len(ids) // 2, -1)
    for kind in ("all", "window", "with the first", "with token 100"):
        with patch.object(llama.Attention, "may_attend", _sees(kind, window)):
            logits = model(ids[None])[0]  # (T, V)
        losses[kind] = round(F.cross_entropy(logits[late], ids[len(ids) // 2 + 1 :]).item(), 2)
    return {str(window): losses}


def measure(options: argparse.Namespace) -> dict:
    model, tok, quick = Llama.pretrained(MODEL), ByteBPE.pretrained(MODEL), options.quick
    text = load_corpus("tinyshakespeare").text[:4000]
    ids = torch.tensor(tok.encode(text)[: 128 if quick else READ])
    some = [c for n in range(len(LINES) + 1) for c in itertools.combinations(LINES, n)]
    return {
        "combinations": [tried(model, tok, ids, c, quick) for c in (some[:3] if quick else some)],
        "apart": [tried(model, tok, ids, (line,), quick) for line in APART],
        "sinks": sinks(model, ids, 64 if quick else WINDOW),
    }


main = runs.script(__doc__, "real_lines", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
