"""Everything that can be known of a model's answers, computed and not sampled.

An answer has two numbers of two digits, so that there are 10,000 for each of 90 questions. The
model's chance of each comes from a cache that branches at each digit.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from scratchformer.attention import KeyValueCache
from scratchformer.models import GPT
from scratchformer.training.losses import eval_mode
from scratchformer_course.ch22_answers.world import (
    ASK,
    FORGETS,
    NUMBERS,
    PLUS,
    PROMPT,
    ask,
    borrows,
)

_ALL = torch.arange(100)
RIGHT = _ALL[:, None] + _ALL == NUMBERS[:, None, None]  # (90, 100, 100): a + b = n
POSSIBLE = NUMBERS[:, None] >= _ALL  # (90, 100)
BORROW = borrows(NUMBERS[:, None], _ALL) & POSSIBLE  # (90, 100): n - a needs a borrow
TINY = 1e-300


def log_chances(model: GPT, sign: int = ASK) -> Float[Tensor, "90 100 100"]:
    """ln p(a, b | n) for all questions n = 10 … 99 and all answers "aa+bb".

    What is missing to 1 for a question is the chance of texts that have not this form.
    """
    n = len(NUMBERS)
    with eval_mode(model):
        cache = model.new_cache()
        log_p = _next(model, ask(NUMBERS, sign), cache)  # (90, V)
        total = log_p[:, :10].flatten()  # the first digit: (900,)
        for rows in (10 * n, 100 * n):
            for layer in cache:
                old, layer.length = (layer.k, layer.v), 0
                layer.append(*(tensor.repeat_interleave(10, dim=0) for tensor in old))
            log_p = _next(model, torch.arange(10).repeat(rows // 10)[:, None], cache)
            if rows == 10 * n:
                total = (total[:, None] + log_p[:, :10]).flatten()  # the second digit: (9000,)
        total = total + log_p[:, PLUS]
        tens = _next(model, torch.full((100 * n, 1), PLUS), cache)
        layers = []
        for ten in range(10):
            for layer in cache:
                layer.length = PROMPT + 3  # another digit behind the same beginning
            units = _next(model, torch.full((100 * n, 1), ten), cache)
            layers.append(total[:, None] + tens[:, ten, None] + units[:, :10])
    return torch.stack(layers, dim=1).view(n, 100, 100).double()


def _next(model: GPT, ids: Tensor, cache: list[KeyValueCache]) -> Float[Tensor, "N V"]:
    """ln p of what follows."""
    return model(ids, cache)[:, -1].log_softmax(dim=-1)


def chances_of_pupils() -> Float[Tensor, "90 100 100"]:
    """p(a, b | n) of the pupils themselves."""
    b = NUMBERS[:, None] - _ALL  # (90, 100)
    kept = torch.nn.functional.one_hot(b.clamp(min=0), 100)
    forgot = torch.nn.functional.one_hot((b + 10).clamp(0, 99), 100)
    slip = (FORGETS * BORROW)[:, :, None]
    p = POSSIBLE[:, :, None] * ((1 - slip) * kept + slip * forgot)
    return p.double() / (NUMBERS[:, None, None] + 1)


def share_right(p: Float[Tensor, "90 100 100"]) -> Float[Tensor, " 90"]:
    """For each question the chance that the answer is right."""
    return (p * RIGHT).sum(dim=(1, 2))


def different(p: Float[Tensor, "90 100 100"]) -> float:
    """How many different right answers there are: e to the entropy of the right ones, mean."""
    q = p * RIGHT / share_right(p)[:, None, None]
    return (-(q * (q + TINY).log()).sum(dim=(1, 2))).exp().mean().item()


def with_borrow(p: Float[Tensor, "90 100 100"]) -> float:
    """Which share of the right answers needs a borrow."""
    q = (p * RIGHT).sum(dim=2) / share_right(p)[:, None]
    return (q * BORROW).sum(dim=1).mean().item()


def given_first(p: Float[Tensor, "90 100 100"]) -> Float[Tensor, "90 100"]:
    """The chance of the right second number if the first, a, is given."""
    return ((p * RIGHT).sum(dim=2) / p.sum(dim=2).clamp(min=TINY)).clamp(max=1)


def pass_at(p: Float[Tensor, "90 100 100"], k: int) -> float:
    """The chance that one of k tries is right, if the given first number needs a borrow; mean."""
    return (1 - (1 - given_first(p)[BORROW]) ** k).mean().item()


def divergence(p: Float[Tensor, "90 100 100"], q: Float[Tensor, "90 100 100"]) -> float:
    """KL from q to p in nats, E_p[ln p - ln q], mean over questions. What is no sum is one case."""
    left, right = ((1 - x.sum(dim=(1, 2))).clamp(min=1e-9) for x in (p, q))
    inside = (p * ((p + TINY).log() - (q + TINY).log())).sum(dim=(1, 2))
    return (inside + left * (left / right).log()).mean().item()


def least_divergence(p: Float[Tensor, "90 100 100"], q: Float[Tensor, "90 100 100"]) -> float:
    """The least KL from q at which each question could be right as often as by p.

    It belongs to q with all its right answers made likelier by one factor.
    """
    r, old = share_right(p).clamp(1e-12, 1 - 1e-12), share_right(q).clamp(1e-12, 1 - 1e-12)
    return (r * (r / old).log() + (1 - r) * ((1 - r) / (1 - old)).log()).mean().item()


def facts(p: Float[Tensor, "90 100 100"], start: Float[Tensor, "90 100 100"]) -> dict[str, float]:
    """The numbers of the chapter for a model's answers p, against those it started from."""
    return {
        "right": share_right(p).mean().item(),
        "worst": share_right(p).min().item(),
        "different": different(p),
        "with_borrow": with_borrow(p),
        "pass_1": pass_at(p, 1),
        "pass_64": pass_at(p, 64),
        "kl": divergence(p, start),
        "least_kl": least_divergence(p, start),
    }
