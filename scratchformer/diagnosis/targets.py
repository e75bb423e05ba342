"""Batches and their loss: does it ask for the token that comes next, and only there?

The gradient of the logits says what a loss asks for: it is negative at the token that is wanted,
and zero at a place that does not count.
"""

import torch
from torch import Tensor

from scratchformer.diagnosis.case import Case
from scratchformer.diagnosis.probes import gap, logits_of, mean_loss
from scratchformer.diagnosis.report import Outcome


def _targets_of_loss(case: Case, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """(B, T) each: the token that the loss asks for at a place, and whether the place counts."""
    recorded_logits: list[Tensor] = []

    with case.sharp.register_forward_hook(lambda *call: recorded_logits.append(logits_of(call[2]))):
        loss = mean_loss(case.given.loss, case.sharp, x, y)
    (grad,) = torch.autograd.grad(loss, recorded_logits[:1], allow_unused=True)
    assert grad is not None, "the loss does not come from the model's logits"
    return grad.argmin(dim=-1), grad.abs().amax(dim=-1) > 0


def targets(case: Case) -> Outcome:
    """At each place the loss asks for the token that comes next in the input."""
    if case.given.loss is None and not case.given.batches:
        return Outcome(None, "give loss=…, batches=… or both")
    x, y = case.batch()
    target_ids, counted = _targets_of_loss(case, x, y)
    T, hits = x.shape[1], {}
    for lag in (1, 0, 2):
        is_target = (target_ids[:, : T - lag] == x[:, lag:])[counted[:, : T - lag]]
        hits[lag] = is_target.float().mean().nan_to_num(0.0).item()
    best = max(hits, key=lambda lag: hits[lag])
    measured = (
        f"x[t+{best}] is asked for at {hits[best]:.0%} of the places t, x[t+1] at {hits[1]:.0%}"
    )
    suspects = {0: "targets not shifted: the model learns to copy its input"}
    suspects |= {2: "targets shifted twice, in the batches and in the loss"}
    return Outcome(
        hits[1] > 0.99, measured, [suspects.get(best, "x and y cut from different places")]
    )


def padded_targets(case: Case) -> Outcome:
    """Padding behind a text changes nothing of its loss."""
    pad, uses_minus_100 = case.given.pad_id, any((y == -100).any() for _, y in case.given.batches)
    if case.given.loss is None or pad is None:
        return Outcome(None, "give loss=… and pad_id=…")
    x, y = (torch.where(t == pad, (t + 1) % case.vocab_size, t) for t in case.batch())
    n = x.shape[1] // 2
    with torch.no_grad():
        short = mean_loss(case.given.loss, case.sharp, x[:, :n], y[:, :n])
        x[:, n:], y[:, n:] = max(pad, 0), -100 if uses_minus_100 else pad
        diff = gap(mean_loss(case.given.loss, case.sharp, x, y), short)
    share = _targets_of_loss(case, x, y)[1][:, n:].float().mean().item()
    measured = f"padding changes the loss by {diff:.1%}, and {share:.0%} of its places count"
    on_padding = "loss on padding: no ignore_index, or another one"
    suspect = on_padding if share else "a mean over all places, padding included"
    return Outcome(diff < 1e-3, measured, [suspect])


def _bytes(ids: Tensor) -> bytes:
    """Ids as a string, in which others can be looked up."""
    return torch.as_tensor(ids).cpu().to(torch.int32).numpy().tobytes()


def batches(case: Case) -> Outcome:
    """Rows are drawn once, and stand in the text as they are."""
    if not case.given.batches:
        return Outcome(None, "give batches=…")
    rows = [_bytes(row) for x, _ in case.given.batches for row in x]
    if 2 * len(set(rows)) <= len(rows):
        measured, seeds = f"only {len(set(rows))} of {len(rows)} rows differ", "workers of one seed"
        return Outcome(False, measured, [seeds, "a sampler, or its seed, made anew for each batch"])
    if case.given.tokens is None:
        return Outcome(True, f"{len(set(rows))} of {len(rows)} rows differ")
    text = _bytes(case.given.tokens[0])
    copied = sum(row in text for row in rows[:8])
    measured = f"{copied} of {len(rows[:8])} rows stand in the text"
    suspects = ["ids that overflow a type", "rows across the text: a reshape in a wrong order"]
    return Outcome(copied == len(rows[:8]), measured, suspects)


def splits(case: Case) -> Outcome:
    """What is held out does not stand in the text to train on."""
    if case.given.tokens is None or len(case.given.tokens) < 2:
        return Outcome(None, "give tokens=(training, held out)")
    text, held_out = _bytes(case.given.tokens[0]), torch.as_tensor(case.given.tokens[1]).flatten()
    pieces = [piece for piece in held_out.tensor_split(16) if len(piece)]
    share = sum(_bytes(piece[:64]) in text for piece in pieces) / max(len(pieces), 1)
    overlap = "splits that overlap, or were drawn after copies were made"
    measured = f"{share:.0%} of what is held out is in the training text"
    return Outcome(share < 0.5, measured, [overlap])
