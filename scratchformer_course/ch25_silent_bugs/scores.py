"""The loss of a trained model: as its program reports it, and as a right evaluation finds it.

A right evaluation takes each token of the held-out text once, gives the model what stands before
it in its window, and asks for nothing else. Where a model may see the future, or is wrong only
under a cache, it is used as one that writes uses it: by prefixes, or token by token.
"""

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor

from scratchformer.data.masking import IGNORED
from scratchformer.training import eval_mode, token_loss
from scratchformer_course.ch25_silent_bugs.program import Model, Program, call, windows

FEW, MANY = 128, 1024  # rows; more in a call take no less time for each


def scored_rows(ids: Tensor, T: int, most: int = MANY) -> Tensor:
    """At most so many of the held-out rows, from all over the text: (rows, T + 1)."""
    rows = ids if ids.dim() == 2 else windows(ids, torch.arange(0, len(ids) - T, T), T)
    return rows[:: -(-len(rows) // most)]


def reported(program: Program, model: Model, held_out: Tensor) -> float:
    """Nats per token as the program itself computes them, its faults included."""
    pad, nats, targets = program.pad(model), 0.0, 0
    with eval_mode(model):
        for rows in scored_rows(held_out, model.context_length).split(FEW):
            batch_nats, n = program.nats(model, *program.batch(rows, pad))
            nats, targets = nats + batch_nats.item(), targets + int(n)
    return nats / targets


def right(
    program: Program, model: Model, held_out: Tensor, how: str = "pass", few: bool = False
) -> float:
    """Nats per real token of held-out rows; `how` is a key of PREDICT.

    By prefixes or a cache each token costs a call, and only a `few` rows are scored.
    """
    pad, nats, targets = program.pad(model), 0.0, 0
    few = few or how != "pass"
    with eval_mode(model):
        for rows in scored_rows(held_out, model.context_length, FEW if few else MANY).split(FEW):
            x, y = Program.next_tokens(rows)
            y = y if pad is None else Program.real_targets(x, y, pad)
            nats += token_loss(PREDICT[how](model, x, pad).float(), y)[0].item()
            targets += int((y != IGNORED).sum())
    return nats / targets


def by_prefixes(model: Model, x: Int[Tensor, "B T"], pad: int | None = None) -> Tensor:
    """Logits (B, T, V), each from a call that has seen nothing of what follows."""
    ends = range(1, x.shape[1] + 1)
    return torch.stack([call(model, x[:, :t], pad)[:, -1] for t in ends], dim=1)


def by_cache(model: Model, x: Int[Tensor, "B T"], pad: int | None = None) -> Tensor:
    """Logits (B, T, V), token by token, after another text has been read in the same way."""
    logits: list[Tensor] = []
    for text in (x.roll(1, dims=0), x):
        cache, logits = model.new_cache(), []
        for t in range(x.shape[1]):
            logits.append(model(text[:, t : t + 1], cache)[:, -1])
    return torch.stack(logits, dim=1)


PREDICT: dict[str, Callable[..., Tensor]] = {
    "pass": call,
    "prefixes": by_prefixes,
    "cache": by_cache,
}


def written(program: Program, model: Model, texts: int, top_p: float, seed: int) -> float:
    """How surprising the model finds what it writes itself, in nats per token.

    It writes to the end of its context from a single token, 0, by the program's nucleus.
    """
    generator, nats = torch.Generator().manual_seed(seed), 0.0
    ids, cache = torch.zeros(texts, 1, dtype=torch.long), model.new_cache()
    with eval_mode(model):
        for _ in range(model.context_length - 1):
            p = model(ids[:, -1:], cache)[:, -1].softmax(dim=-1)  # (B, V)
            new = torch.multinomial(program.nucleus(p, top_p), 1, generator=generator)
            nats -= p.gather(1, new).log().sum().item()
            ids = torch.cat((ids, new), dim=1)
    return nats / new.numel() / (model.context_length - 1)
