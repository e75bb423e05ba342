"""Checks for the exercises of chapter 11, BERT."""

import math

import torch
from torch.nn import functional as F

from scratchformer.checks.first_edition import Call, exercise, expect

IGNORED = -100


def _draws(T: int = 400) -> tuple[torch.Tensor, ...]:
    """Ids 5 … 24 and what an exercise needs to hide some of them: chosen, lot, other."""
    g = torch.Generator().manual_seed(11)
    ids = torch.randint(5, 25, (2, T), generator=g)
    chosen = torch.rand(2, T, generator=g) < 0.3
    other = torch.randint(5, 25, (2, T), generator=g)
    return ids, chosen, torch.rand(2, T, generator=g), other


@exercise("11.1", "ids, chosen, lot, other, mask_id")
def hide(call: Call) -> str:
    """hide(ids, chosen, lot, other: all (B, T), mask_id) -> (inputs, targets), both (B, T)"""
    ids, chosen, lot, other = _draws()
    masked, swapped = chosen & (lot < 0.8), chosen & (lot >= 0.8) & (lot < 0.9)
    inputs = other.where(swapped, ids.masked_fill(masked, 2))
    targets = ids.masked_fill(~chosen, IGNORED)
    got, wanted = call(ids, chosen, lot, other, 2).like((ids, ids))
    for name, tensor in (("inputs", got), ("targets", wanted)):
        expect(tensor.shape == ids.shape, f"`{name}` has shape {tuple(tensor.shape)}, not (B, T).")
    expect(not (got.equal(targets) and wanted.equal(inputs)), "Inputs first, then the targets.")
    why = "A place that was not chosen has the target -100: nothing is asked there."
    expect((wanted[~chosen] == IGNORED).all(), why)
    expect(
        not wanted[masked].eq(2).all(),
        "The target of a hidden token is the mask itself: take targets from the old `ids`.",
    )
    why = "The target is the old token wherever `chosen`, also where it was not hidden."
    expect(wanted[chosen].equal(ids[chosen]), why)
    expect(got[~chosen].equal(ids[~chosen]), "Tokens that were not chosen must stay as they are.")
    late = chosen & (lot >= 0.9)
    all_hidden = got[chosen].eq(2).all()
    expect(not all_hidden, "All chosen tokens became the mask: only those with `lot` below 0.8.")
    expect(got[masked].eq(2).all(), "Chosen tokens with `lot` below 0.8 become `mask_id`.")
    why = "With `lot` from 0.8 to 0.9 a chosen token becomes the one in `other`."
    expect(got[swapped].equal(other[swapped]), why)
    expect(got[late].equal(ids[late]), "With `lot` from 0.9 on a chosen token stays as it is.")
    call.gives((inputs, targets))
    nothing = torch.zeros_like(chosen)
    call(ids, nothing, lot, other, 2).gives((ids, torch.full_like(ids, IGNORED)))
    return "`hide` is right: 80 % masked, 10 % random, 10 % left, and targets only there."


@exercise("11.2", "a, b, length, cls_id, sep_id, pad_id")
def pair_input(call: Call) -> None:
    """pair_input(a, b: lists, length, cls_id, sep_id, pad_id) -> (ids, segments, real), lists"""
    for a, b, length in (([7, 8], [9], 8), ([5], [6, 5, 7], 9), ([4, 5], [6], 6)):
        n, m = len(a) + 2, len(b) + 1
        pads = length - n - m
        ids = [1, *a, 2, *b, 2] + [0] * pads
        segments = [0] * n + [1] * m + [0] * pads
        real = [True] * (n + m) + [False] * pads
        got = call(a, b, length, 1, 2, 0).like(([0], [0], [0]))
        for name, part in zip(("ids", "segments", "real"), got, strict=False):
            why = f"`{name}` has {len(part)} entries, but `length` is {length}"
            expect(len(part) == length, f"{why}: fill up to it.")
        why = "`real` is the wrong way round: True where a token stands, False at padding."
        expect(not pads or list(map(bool, got[2])) != [not r for r in real], why)
        call.gives(
            (ids, segments, [int(r) for r in real]),
            (([0] * pads + ids[: n + m], segments, real), "Padding goes to the end"),
            *_wrong_pairs(ids, segments, [int(r) for r in real], n, m, pads),
        )


def _wrong_pairs(ids: list, segments: list, real: list, n: int, m: int, pads: int) -> list:
    """Wrong answers to exercise 11.2 with their diagnoses."""
    first_sep = [0] * (n - 1) + [1] * (m + 1) + [0] * pads
    padded = segments[: n + m] + [1] * pads
    no_cls, no_end = [*ids[1 : n + m], *[0] * (pads + 1)], [*ids[: n + m - 1], *[0] * (pads + 1)]
    left = [[0] * pads + part[: n + m] for part in (ids, segments, real)]
    return [
        (tuple(left), "Padding goes to the end, or every position changes with it"),
        ((ids, first_sep, real), "The separator behind `a` ends segment 0: it belongs to `a`"),
        ((ids, [0] * len(ids), real), "`segments` is 1 for `b` and the separator behind it"),
        ((ids, padded, real), "Padding belongs to no segment: it gets a 0"),
        ((ids, segments, [1] * len(ids)), "`real` is False where padding stands"),
        ((no_cls, [*segments[1:], 0], [*real[1:], 0]), "`cls_id` comes first"),
        (
            (no_end, [*segments[: n + m - 1], *[0] * (pads + 1)], [*real[1:], 0]),
            "`b` ends in `sep_id`",
        ),
    ]


@exercise("11.3", "logits, targets")
def masked_loss(call: Call) -> None:
    """masked_loss(logits: (B, T, V), targets: (B, T)) -> mean over targets that are not -100"""
    g = torch.Generator().manual_seed(3)
    logits = torch.randn(2, 6, 5, generator=g)
    old = torch.randint(5, (2, 6), generator=g)
    chosen = torch.tensor([[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0]], dtype=torch.bool)
    surprise = -logits.log_softmax(-1).gather(-1, old[..., None])[..., 0]
    right = surprise[chosen].mean().item()
    rows = torch.stack([surprise[i][chosen[i]].mean() for i in range(2)]).mean().item()
    at_zero = -logits.log_softmax(-1)[..., 0]
    call(logits, old.masked_fill(~chosen, IGNORED)).gives(
        right,
        (surprise[chosen].sum().item(), "This is the sum: divide by the number of targets"),
        (surprise[chosen].sum().item() / 12, "Divide by the targets, not by all places"),
        (rows, "A mean of each row's mean: a row with more targets must weigh more"),
        (-right, "The sign is wrong: surprise is −ln p"),
        (
            surprise.where(chosen, at_zero).mean().item(),
            "Places with -100 are no targets: leave them out",
        ),
        (
            surprise[chosen].mean().item() / math.log(2),
            "These are bits: take the natural logarithm",
        ),
        (IndexError, "-100 is no token: choose the places with a target before you look it up"),
        (RuntimeError, "-100 is no token: choose the places with a target before you look it up"),
    )
    nothing = "Nothing was chosen: the loss is 0, not 0 divided by 0"
    call(logits, torch.full((2, 6), IGNORED)).gives(
        0.0, (math.nan, nothing), (ZeroDivisionError, nothing)
    )


@exercise("11.4", "logits, targets")
def blanks_filled(call: Call) -> None:
    """blanks_filled(logits: (B, T, V), targets: (B, T)) -> share of targets that are predicted"""
    g = torch.Generator().manual_seed(4)
    guesses, old = torch.randint(4, (2, 3, 10), generator=g)
    logits = F.one_hot(guesses, 4) + torch.rand(3, 10, 4, generator=g) / 2
    chosen = torch.rand(3, 10, generator=g) < 0.4
    hit = guesses == old
    p = logits.softmax(-1).gather(-1, old[..., None])[..., 0]
    call(logits, old.masked_fill(~chosen, IGNORED)).gives(
        hit[chosen].double().mean().item(),
        ((hit & chosen).double().mean().item(), "Divide by the number of targets, not of places"),
        ((hit & chosen).sum().item(), "This counts them: divide by the number of targets"),
        (float((hit & chosen).sum()), "This counts them: divide by the number of targets"),
        (1 - hit[chosen].double().mean().item(), "This is the share that is wrong"),
        (p[chosen].mean().item(), "A mean probability: count how often the best guess is right"),
        ((~chosen | hit).double().mean().item(), "A place without a target is no success"),
    )


@exercise("11.5", "inputs, vocab_size")
def cheat(call: Call) -> str:
    """cheat(inputs: (B, T), vocab_size) -> logits (B, T, V), near 0 nats on tokens left visible"""
    ids, chosen, lot, _ = _draws(50)
    masked, V = chosen & (lot < 0.8), 26
    inputs = ids.masked_fill(masked, 25)
    logits = call(inputs, V).like(torch.zeros(1))
    wanted = (*inputs.shape, V)
    expect(logits.shape == wanted, f"`{call}` has shape {tuple(logits.shape)}, not {wanted}.")
    expect(logits.isfinite().all(), "The logits hold NaN or infinity: a large number will do.")
    surprise = -logits.double().log_softmax(-1)
    seen = surprise.gather(-1, inputs[..., None])[..., 0]
    flat = (logits - logits[..., :1]).abs().max() < 1e-6
    expect(not flat, f"All logits are alike: ln {V} = {math.log(V):.2f} nats on each token.")
    guess = logits.argmax(-1)
    expect(guess.equal(inputs), "Its best guess must be the very token that it reads.")
    why = f"The right idea, but too timid: {seen.mean():.2f} nats. Multiply the logits."
    expect(seen.mean() < 0.01, why)
    loss = surprise.gather(-1, ids[..., None])[..., 0]
    return (
        f"The loss on visible tokens is {loss[~masked].mean():.4f} nats, and on the hidden ones "
        f"{loss[masked].mean():.0f}: your model has learned to repeat, and nothing else."
    )
