"""Checks for the exercises of chapter 10, generation."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from scratchformer.checks.first_edition import Call, exercise


@exercise("10.1", "nats_per_token, tokens, characters")
def bits_per_character(call: Call) -> str:
    """bits_per_character(nats_per_token, tokens, characters) -> bits a character of the text"""
    for nats, tokens, characters in ((2.0, 300, 1200), (1.5, 1000, 1000), (3.25, 800, 2500)):
        ln2, share = math.log(2), tokens / characters
        right = nats / ln2 * share
        call(nats, tokens, characters).gives(
            right,
            (nats * share, "These are nats a character: a bit is ln 2 nats, so divide by ln 2"),
            (nats * ln2 * share, "Multiplied by ln 2: a nat is more than a bit, so divide"),
            (nats / ln2, "These are bits a token: a token covers several characters"),
            (nats / ln2 / share, "The ratio is upside down: tokens × bits, over characters"),
            (nats / ln2 * tokens, "These are the bits of the whole text: divide by its characters"),
            (math.exp(nats) * share, "A perplexity is no number of bits: use the nats"),
            (math.log2(nats) * share, "The nats are a logarithm already: take no other"),
            (nats / math.log(10) * share, "These are decimal digits: a bit needs ln 2"),
        )
    return "`bits_per_character` is right: the sum of all surprises, in bits, over the characters."


@exercise("10.2", "p, top_p")
def nucleus(call: Call) -> str:
    """nucleus(p: (V,), top_p) -> (V,), the fewest likeliest tokens that reach top_p, rescaled"""

    def kept(p: Tensor, n: int) -> Tensor:
        chosen = torch.zeros_like(p)
        chosen[p.topk(n).indices] = 1
        return p * chosen / (p * chosen).sum()

    drops = "The token that crosses top_p is dropped: it must stay, or the rest falls short of it"
    few = (torch.tensor([0.05, 0.4, 0.1, 0.3, 0.15]), 0.6, 2)
    for p, top_p, n in ((torch.tensor([0.1, 0.05, 0.25, 0.4, 0.2]), 0.7, 3), few):
        order = p.sort(descending=True).indices
        right = kept(p, n)
        alike = (p * (right > 0) > 0).float() / n
        call(p, top_p).gives(
            right,
            (kept(p, n - 1), drops),
            (kept(p, n + 1), "One token too many is kept: stop as soon as top_p is reached"),
            (p * (right > 0), "The right tokens are kept, but they do not sum to 1: rescale them"),
            (right[order], "The order is lost: the answer must stand where the tokens stood in p"),
            (right[order][:n], "Return one number for each token, 0 for those left out"),
            (alike, "The tokens kept weigh all the same: keep their proportions"),
            ((p * (right > 0)).softmax(0), "No softmax here: divide by the sum"),
            (p, "Nothing is left out: what counts is the sum of the likeliest, no token alone"),
            (kept(p, 1), "Only the likeliest is left: add up the probabilities as you go"),
        )
    sure = torch.tensor([0.03, 0.95, 0.02])
    none = "0.95 is more than top_p by itself: it must stay, something has to be drawn"
    nan = torch.full((3,), math.nan)
    call(sure, 0.9).gives(
        torch.tensor([0.0, 1.0, 0.0]),
        (nan, none),
        (torch.zeros(3), none),
    )
    every = torch.tensor([0.2, 0.35, 0.1, 0.3, 0.05])
    call(every, 1.0).gives(every, (kept(every, 4), "With top_p = 1 every token stays"))
    return "`nucleus` is right: 3 tokens of a flat row, 1 of a sharp one, and all at top_p = 1."


@exercise("10.3", "logits, ids, penalty")
def penalise(call: Call) -> None:
    """penalise(logits: (V,), ids: (T,), penalty) -> (V,), the logits of the ids made smaller"""
    logits = torch.tensor([2.0, -1.0, 0.5, 3.0, -2.0])
    ids, penalty = torch.tensor([3, 1, 3, 0, 3]), 2.0
    seen = torch.zeros(5, dtype=torch.bool)
    seen[ids] = True
    divided, multiplied = logits / penalty, logits * penalty
    right = torch.where(seen, torch.where(logits > 0, divided, multiplied), logits)
    often = right.clone()
    often[3] = 3.0 / penalty**3
    new = torch.where(~seen, torch.where(logits > 0, divided, multiplied), logits)
    each = torch.where(logits > 0, divided, multiplied)
    call(logits, ids, penalty).gives(
        right,
        (
            torch.where(seen, divided, logits),
            "Dividing the negative logit of token 1 has raised it: multiply where it is below 0",
        ),
        (torch.where(seen, multiplied, logits), "Multiplied: a positive logit must be divided"),
        (often, "Token 3 occurred three times and was divided three times: once is enough"),
        (torch.where(seen, logits - penalty, logits), "Subtracted: divide or multiply"),
        (new, "The tokens that did not occur are punished: exchange the two"),
        (each, "All tokens are punished: only those in `ids`"),
        (torch.where(seen, -math.inf, logits), "Forbidden altogether: make them less likely"),
        (right.softmax(0), "Return logits: the softmax comes later"),
        (logits, "Nothing has changed"),
        (right[ids], "Return all V logits, not only those of the ids"),
    )
    call(logits, ids, 1.0).gives(logits)


def _position_table(context_length: int) -> Callable:
    """A model with learned positions: logits (1, T, 7), or IndexError where the table ends."""
    g = torch.Generator().manual_seed(context_length)
    wte, wpe = torch.randn(7, 7, generator=g), torch.randn(context_length, 7, generator=g)

    def model(ids: Tensor) -> Tensor:
        return wte[ids] + wpe[torch.arange(ids.shape[1])]

    return model


@exercise("10.4", "model, ids")
def until_it_breaks(call: Call) -> str:
    """until_it_breaks(model, ids: (1, T)) -> (1, n), what stands there when IndexError comes"""
    for context_length, ids in (
        (6, torch.tensor([[1, 4]])),
        (9, torch.tensor([[0, 3, 3]])),
        (4, torch.tensor([[5, 1, 2, 0, 6]])),
    ):
        model = _position_table(context_length)
        right = ids
        while right.shape[1] <= context_length:
            right = torch.cat([right, model(right)[:, -1:].argmax(-1)], 1)
        low = ids
        while low.shape[1] <= context_length:
            low = torch.cat([low, model(low)[:, -1:].argmin(-1)], 1)
        full = f"A context of {context_length} is readable: the model fails on one token more"
        call(model, ids).gives(
            right,
            (IndexError, "The model has failed, as it should: catch the IndexError, return `ids`"),
            (right[:, :-1], f"The last token is lost. {full}, and that token was written"),
            (right[:, -context_length:], "This is cropped: return all that was written"),
            (right[:, ids.shape[1] :], "The prompt is missing: return it too"),
            (torch.cat([right, right[:, -1:]], 1), "A token was added after the error"),
            (right[0], "Keep the batch axis: (1, n)"),
            (low, "These are the least likely tokens: take the argmax"),
            (ids, "Nothing was written: append a token and ask again, until it breaks"),
        )
    return "Never cropped, a context of 6 lets you write to the 7th token. Then: IndexError."


@exercise("10.5", "q, k, v, keys, values")
def cached_step(call: Call) -> None:
    """cached_step(q, k, v: each (1, D), keys, values: (S, D)) -> (output (1, D), keys, values)"""
    g = torch.Generator().manual_seed(4)
    for S in (3, 1, 0):
        q, k, v = torch.randn(3, 1, 4, generator=g)
        keys, values = torch.randn(2, S, 4, generator=g)
        more, mixed = torch.cat([keys, k]), torch.cat([values, v])
        scores = q @ more.T / 2

        def answer(out: Tensor, more: Tensor = more, mixed: Tensor = mixed) -> tuple:
            return out, more, mixed

        out = scores.softmax(1) @ mixed
        old = (q @ keys.T / 2).softmax(1) @ values
        front = "The new key stands first: append it behind the old ones, or positions are mixed up"
        call(q, k, v, keys, values).gives(
            answer(out),
            (answer(old), "The new token does not see itself: append its key before attending"),
            (answer((q @ more.T).softmax(1) @ mixed), "The scores are not divided by √D"),
            (answer(out, torch.cat([k, keys]), torch.cat([v, values])), front),
            (answer(out, keys, values), "The caches came back unchanged: return the new ones"),
            (answer(out, k, v), "Only the new key and value are returned: the old ones are needed"),
            (answer(out, mixed, more), "The two caches are swapped: keys first"),
            (answer(scores.softmax(1) @ more), "The keys are mixed: mix the values"),
            (answer(scores @ mixed), "The softmax is missing"),
            (answer(mixed.mean(0, keepdim=True)), "A plain mean: the query is not used"),
            (answer(v), "The old values are not used"),
        )
