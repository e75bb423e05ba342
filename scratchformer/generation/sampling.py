"""Text from a model: predict, draw one token, append it, predict again.

Works for any model that maps ids (B, T) to logits (B, T, V) and says in `context_length` how
many tokens it can use. Every step recomputes the whole context; there is no beam search.
"""

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
) -> Int[Tensor, "B T_new"]:
    """`ids` (B, T) continued by `max_new_tokens` tokens: (B, T + max_new_tokens).

    `temperature` divides the logits; 0 takes the likeliest token always (greedy). `top_k` keeps
    the k likeliest tokens, then `top_p` the fewest whose probabilities reach p (Holtzman et al.
    2020). A `seed` makes the draw repeatable; without one torch's global generator draws.
    Raises ValueError for settings out of range and for an empty prompt.
    """
    if ids.shape[1] == 0:
        raise ValueError("ids hold no token, expected at least one to continue")
    if temperature < 0:
        raise ValueError(f"temperature={temperature}, expected 0 (greedy) or more")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k={top_k}, expected at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p={top_p}, expected 0 < top_p <= 1")
    device = next(model.parameters()).device
    ids = ids.to(device)
    generator = None if seed is None else torch.Generator(device).manual_seed(seed)
    with eval_mode(model):
        for _ in range(max_new_tokens):
            logits = model(ids[:, -model.context_length :])[:, -1]  # (B, V), of the last position
            if temperature == 0:
                new = logits.argmax(dim=-1, keepdim=True)  # (B, 1)
            else:
                p = _truncate((logits / temperature).softmax(dim=-1), top_k, top_p)
                new = torch.multinomial(p, 1, generator=generator)
            ids = torch.cat([ids, new], dim=1)
    return ids


def _truncate(
    p: Float[Tensor, "B V"], top_k: int | None, top_p: float | None
) -> Float[Tensor, "B V"]:
    """Set unlikely tokens to zero. The rest need not sum to 1: multinomial rescales."""
    p, order = p.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        p[:, top_k:] = 0
    if top_p is not None:
        before = p.cumsum(dim=-1) - p  # what the likelier tokens hold together
        p[before >= top_p * p.sum(dim=-1, keepdim=True)] = 0  # the first is kept whatever p is
    return torch.zeros_like(p).scatter(1, order, p)
