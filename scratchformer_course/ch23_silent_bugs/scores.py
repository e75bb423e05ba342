"""The loss of a trained model: as its program reports it, and as a right evaluation finds it.

A right evaluation takes each token of the held-out text once, gives the model what stands before
it in its window, and asks for nothing else. Where a model may see the future, or is wrong only
under a cache, it is used as one that writes uses it: by prefixes, or token by token.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from scratchformer.data.masking import IGNORED
from scratchformer.training import eval_mode, token_loss
from scratchformer_course.ch23_silent_bugs import program as healthy
from scratchformer_course.ch23_silent_bugs.model import SmallGPT
from scratchformer_course.ch23_silent_bugs.program import Program, call, windows

ROWS = 128  # in a call


def all_rows(ids: Tensor, T: int) -> Tensor:
    """The held-out rows, one after the other: (rows, T + 1)."""
    if ids.dim() == 2:
        return ids
    return windows(ids, torch.arange(0, len(ids) - T, T), T)


def reported(program: Program, model: SmallGPT, held_out: Tensor) -> float:
    """Nats per token as the program itself computes them, its faults included."""
    pad, nats, targets = program.pad(model), 0.0, 0
    with eval_mode(model):
        for rows in all_rows(held_out, model.context_length).split(ROWS):
            batch_nats, n = program.nats(model, *program.batch(rows, pad))
            nats, targets = nats + batch_nats.item(), targets + int(n)
    return nats / targets


def right(program: Program, model: SmallGPT, held_out: Tensor, how: str = "pass") -> float:
    """Nats per real token of the held-out rows; `how` is "pass", "prefixes" or "cache".

    By prefixes every 13th row is read, since each token costs a call: 128 rows of a long text.
    """
    pad, nats, targets = program.pad(model), 0.0, 0
    rows = all_rows(held_out, model.context_length)
    rows = rows[::13] if how == "prefixes" else rows
    predict = {"pass": call, "prefixes": by_prefixes, "cache": by_cache}[how]
    with eval_mode(model):
        for some in rows.split(ROWS):
            x, y = healthy.next_tokens(some)
            y = y if pad is None else healthy.real_targets(x, y, pad)
            nats += token_loss(predict(model, x, pad).float(), y)[0].item()
            targets += int((y != IGNORED).sum())
    return nats / targets


def by_prefixes(model: SmallGPT, x: Int[Tensor, "B T"], pad: int | None = None) -> Tensor:
    """Logits (B, T, V), each from a call that has seen nothing of what follows."""
    ends = range(1, x.shape[1] + 1)
    return torch.stack([call(model, x[:, :t], pad)[:, -1] for t in ends], dim=1)


def by_cache(model: SmallGPT, x: Int[Tensor, "B T"], pad: int | None = None) -> Tensor:
    """Logits (B, T, V), token by token, after another text has been read in the same way."""
    logits: list[Tensor] = []
    for text in (x.roll(1, dims=0), x):
        cache, logits = model.new_cache(), []
        for t in range(x.shape[1]):
            logits.append(model(text[:, t : t + 1], cache)[:, -1])
    return torch.stack(logits, dim=1)
