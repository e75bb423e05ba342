"""Text from a model: predict, draw one token, append it, predict again.

Works for any model that maps ids (B, T) to logits (B, T, V) and says in `context_length` how
many tokens it can use; one that offers `new_cache()` is read token by token, the same text in
less time.
"""

from collections.abc import Callable
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from scratchformer.training import eval_mode


def generate(
    model: nn.Module,
    ids: Int[Tensor, "B T"],
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    repetition_penalty: float = 1.0,
    use_cache: bool = True,
    until: Callable[[Tensor], bool] | None = None,
) -> Int[Tensor, "B T_new"]:
    """`ids` (B, T) continued by `max_new_tokens` tokens: (B, T + max_new_tokens).

    Logits of tokens that occurred already are made smaller by `repetition_penalty` (1.0: they are
    not). `temperature` divides the logits; 0 takes the likeliest token always (greedy). `top_k`
    keeps the k likeliest tokens, then `top_p` the fewest whose probabilities reach p (Holtzman
    et al. 2020). A `seed` makes the draw repeatable; without one torch's global generator draws.
    The model sees the last `context_length` tokens. While all of them fit, keys and values are
    cached; after that each token has another position at each step, and the window is read anew.
    `until` is given each new token (B, 1) as it comes, and ends the text by returning True.
    Logits of 16 bits count as 32. Raises ValueError for settings out of range, for ids that the
    model cannot read, and for logits that are no numbers.
    """
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens={max_new_tokens}, expected 0 or more")
    _check(temperature, top_k, top_p, repetition_penalty)
    _check_ids(ids, model)
    device = next(model.parameters()).device
    ids = ids.to(device, torch.int64)
    generator = None if seed is None else torch.Generator(device).manual_seed(seed)
    new_cache = getattr(model, "new_cache", None)
    cache = new_cache() if use_cache and new_cache else None
    context_length = cast(int, model.context_length)
    with eval_mode(model):
        for _ in range(max_new_tokens):
            if cache and ids.shape[1] <= context_length:
                logits = model(ids[:, len(cache[0]) :], cache)  # those it has not read yet
            else:
                logits = model(ids[:, -context_length:])
            logits = _at_least_float32(logits[:, -1])  # (B, V)
            if not logits.amax(dim=-1).isfinite().all():
                raise ValueError("the model's logits are not numbers: nothing can be drawn")
            if repetition_penalty != 1:
                logits = _penalise(logits, ids, repetition_penalty)
            if temperature == 0:
                new = logits.argmax(dim=-1, keepdim=True)  # (B, 1)
            else:
                p = _truncate(_probabilities(logits, temperature), top_k, top_p)
                new = torch.multinomial(p, 1, generator=generator)
            ids = torch.cat([ids, new], dim=1)
            if until is not None and until(new):
                break
    return ids


def _check_ids(ids: Tensor, model: nn.Module) -> None:
    if ids.dim() != 2:
        raise ValueError(f"ids have shape {tuple(ids.shape)}, expected (B, T): use ids[None]")
    if ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"ids have dtype {ids.dtype}, expected torch.int64")
    if ids.numel() == 0:
        raise ValueError("ids hold no token, expected at least one to continue")
    vocab_size = getattr(getattr(model, "config", None), "vocab_size", None)
    least, largest = ids.min().item(), ids.max().item()
    if least < 0 or (vocab_size is not None and largest >= vocab_size):
        limit = "" if vocab_size is None else f" and below vocab_size={vocab_size}"
        raise ValueError(f"ids are from {least} to {largest}, expected 0 or more{limit}")


def _check(
    temperature: float, top_k: int | None, top_p: float | None, repetition_penalty: float
) -> None:
    if not temperature >= 0:
        raise ValueError(f"temperature={temperature}, expected 0 (greedy) or more")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k={top_k}, expected at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p={top_p}, expected 0 < top_p <= 1")
    if not 0.001 <= repetition_penalty <= 1000:  # or a logit could become infinite
        raise ValueError(f"repetition_penalty={repetition_penalty}, expected 0.001 to 1000")


def _penalise(
    logits: Float[Tensor, "B V"], ids: Int[Tensor, "B T"], penalty: float
) -> Float[Tensor, "B V"]:
    """Divide the logits of the tokens in `ids` by `penalty`, once each (Keskar et al. 2019).

    Where they are negative it multiplies: dividing would make those tokens likelier.
    """
    seen = logits.gather(1, ids)  # (B, T)
    return logits.scatter(1, ids, torch.where(seen > 0, seen / penalty, seen * penalty))


def _at_least_float32(x: Float[Tensor, "B V"]) -> Float[Tensor, "B V"]:
    """Sums and draws among thousands of tokens need more digits than 16 bits have."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _probabilities(logits: Float[Tensor, "B V"], temperature: float) -> Float[Tensor, "B V"]:
    logits = _at_least_float32(logits)
    # The largest becomes 0, so that no temperature makes it infinite. A temperature that float32
    # cannot tell from 0 is raised to the lowest that it can: 0 / 0 is no number.
    temperature = max(temperature, torch.finfo(torch.float32).tiny)
    return ((logits - logits.amax(dim=-1, keepdim=True)) / temperature).softmax(dim=-1)


def _truncate(
    p: Float[Tensor, "B V"], top_k: int | None, top_p: float | None
) -> Float[Tensor, "B V"]:
    """Set unlikely tokens to zero. The others need not sum to 1: multinomial rescales."""
    if top_k is None and top_p is None:
        return p
    p, order = p.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        p[:, top_k:] = 0
    if top_p is not None and top_p < 1:  # at 1 rounding would drop the rarest tokens
        before = p.cumsum(dim=-1) - p  # what the likelier tokens hold together
        dropped = before >= top_p * p.sum(dim=-1, keepdim=True)
        dropped[:, 0] = False  # never the first, whatever top_p is
        p[dropped] = 0
    return torch.zeros_like(p).scatter(1, order, p)
