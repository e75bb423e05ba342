"""Batches and their loss: does it ask for the token that comes next, and only there?

The gradient of the logits says what a loss asks for: it is negative at the token that is wanted,
and zero at a place that does not count.
"""

from typing import Any

import torch
from torch import Tensor

from scratchformer.diagnosis.probes import gap, logits_of, mean_loss


def _wanted(case, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """(B, T) each: the token that the loss asks for at a place, and whether the place counts."""
    seen: list[Tensor] = []

    def keep(module, args, output: Any) -> None:
        seen.append(logits_of(output))
        seen[-1].retain_grad()

    hook = case.sharp.register_forward_hook(keep)
    mean_loss(case.given.loss, case.sharp, x, y).backward()
    hook.remove()
    case.sharp.zero_grad()
    grad = seen[0].grad
    assert grad is not None, "the loss does not come from the model's logits"
    return grad.argmin(dim=-1), grad.abs().amax(dim=-1) > 0


def targets(case) -> tuple:
    """At each place the loss asks for the token that comes next in the input."""
    if case.given.loss is None and not case.given.batches:
        return None, "give loss=…, batches=… or both"
    x, y = case.batch()
    asked, counts = _wanted(case, x, y)
    T, hits = x.shape[1], {}
    for lag in (1, 0, 2, -1):
        here, there = slice(max(0, -lag), T - max(0, lag)), slice(max(0, lag), T + min(0, lag))
        hit = (asked[:, here] == x[:, there])[counts[:, here]].float()
        hits[lag] = hit.mean().nan_to_num(0.0).item()
    best = max(hits, key=lambda lag: hits[lag])
    said = f"x[t{best:+}] is asked for at {hits[best]:.0%} of the places t, x[t+1] at {hits[1]:.0%}"
    suspects = {0: "targets not shifted: the model learns to copy its input"}
    suspects |= {2: "targets shifted twice, in the batches and in the loss"}
    suspects |= {1: "x and y cut from different places", -1: "targets shifted the wrong way"}
    return hits[1] > 0.99, said, suspects[best]


def padded_targets(case) -> tuple:
    """Padding behind a text changes nothing of its loss."""
    pad, minus = case.given.pad_id, any((y == -100).any() for _, y in case.given.batches)
    if case.given.loss is None or pad is None:
        return None, "give loss=… and pad_id=…"
    x, y = (torch.where(t == pad, (t + 1) % case.vocab_size, t) for t in case.batch())
    n = x.shape[1] // 2
    with torch.no_grad():
        short = mean_loss(case.given.loss, case.sharp, x[:, :n], y[:, :n])
        x[:, n:], y[:, n:] = max(pad, 0), -100 if minus else pad
        off = gap(mean_loss(case.given.loss, case.sharp, x, y), short)
    share = _wanted(case, x, y)[1][:, n:].float().mean().item()
    said = f"padding changes the loss by {off:.1%}, and {share:.0%} of its places count"
    counted = "loss on padding: no ignore_index, or another one"
    return off < 1e-3, said, counted if share else "a mean over all places, padding included"


def batches_differ(case) -> tuple:
    """Two batches differ, and their rows stand in the text as they are."""
    pairs = case.given.batches
    if not pairs:
        return None, "give batches=…"
    if len(pairs) == 2 and torch.equal(pairs[0][0], pairs[1][0]):
        return False, "the second is the first", "a sampler or its seed made anew for each batch"
    if case.given.tokens is None:
        return True, "two batches differ"
    text = torch.as_tensor(case.given.tokens).flatten().cpu().long()
    found = [
        bool((text.unfold(0, len(row), 1) == row).all(dim=1).any())
        for x, _ in pairs
        for row in x[:2].cpu().long()
    ]
    said = f"{sum(found)} of {len(found)} rows stand in the text"
    return all(found), said, "rows run across the text: a reshape in the wrong order"
