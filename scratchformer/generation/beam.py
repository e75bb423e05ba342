"""A likely target by a Seq2Seq: token by token, or by a search among several at a time.

Greedy decoding takes the best next token and never looks back; a beam keeps several unfinished
targets and may end with a likelier one. Both feed all that was written so far back in at every
step; there is no cache.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from scratchformer.models.seq2seq import Seq2Seq
from scratchformer.training import eval_mode


def greedy_decode(
    model: Seq2Seq, source: Int[Tensor, "B S"], max_new_tokens: int
) -> Int[Tensor, "B T"]:
    """For each source, `begin_id` and then the likeliest next token, again and again.

    A row stops at `end_id` and is padded behind it; all stop after `max_new_tokens`. Raises
    ValueError if that is below 1, or more than the model's context length.
    """
    _check_max_new_tokens(model, max_new_tokens)
    c, source = model.config, source.to(model.positions.device)
    with eval_mode(model):
        memory = model.encode(source)
        ids = torch.full_like(source[:, :1], c.begin_id)  # (B, 1)
        for _ in range(max_new_tokens):
            ended = (ids == c.end_id).any(dim=1)  # (B,)
            if ended.all():
                break
            next_token = _next_log_p(model, ids, memory, source).argmax(dim=-1)  # (B,)
            next_token = next_token.masked_fill(ended, c.pad_id)
            ids = torch.cat((ids, next_token[:, None]), dim=1)
    return ids


def beam_search(
    model: Seq2Seq,
    source: Int[Tensor, "B S"],
    max_new_tokens: int,
    beam_width: int = 4,
    length_penalty: float = 0.6,
) -> tuple[Int[Tensor, "B T"], Float[Tensor, " B"]]:
    """The best target of a beam of `beam_width`, as ids, and ln of its probability.

    Targets are compared by ln p / ((5 + length) / 6) ** length_penalty (Wu et al. 2016, section
    7), for every token adds to -ln p: 0 compares probabilities, and short targets win. The
    defaults are those of Vaswani et al. 2017. A finished target stays in the beam as long as it
    is among the best. Otherwise as `greedy_decode`, which is a beam of width 1. Raises ValueError
    for a width below 1, or a penalty that is negative or infinite, too.
    """
    _check_max_new_tokens(model, max_new_tokens)
    if beam_width < 1:
        raise ValueError(f"beam_width={beam_width}, expected at least 1")
    if not 0 <= length_penalty < math.inf:
        raise ValueError(f"length_penalty={length_penalty}, expected 0 or more, and finite")
    c, K, source = model.config, beam_width, source.to(model.positions.device)
    B, V = len(source), c.vocab_size
    with eval_mode(model):
        memory = model.encode(source).repeat_interleave(K, dim=0)  # (B*K, S, C)
        sources = source.repeat_interleave(K, dim=0)  # (B*K, S)
        ids = torch.full((B, K, 1), c.begin_id, device=source.device)
        log_p = torch.full((B, K), -math.inf, device=source.device)
        log_p[:, 0] = 0.0  # K equal beginnings would be continued K times alike
        for _ in range(max_new_tokens):
            ended = (ids == c.end_id).any(dim=2)  # (B, K)
            if ended.all():
                break
            next_log_p = _next_log_p(model, ids.flatten(0, 1), memory, sources).view(B, K, V)
            next_log_p[ended] = -math.inf
            next_log_p[..., c.pad_id].masked_fill_(ended, 0.0)  # it can only be padded, at no cost
            log_p = log_p[..., None] + next_log_p  # (B, K, V)
            length = (ids[..., 1:] != c.pad_id).sum(dim=2) + ~ended  # (B, K)
            best = _best(log_p, length, length_penalty)  # (B, K), each parent * V + token
            log_p = log_p.flatten(1).gather(1, best)
            parent = ids[torch.arange(B)[:, None], best // V]  # what each of the best continues
            ids = torch.cat((parent, (best % V)[..., None]), dim=2)
    best = ids[:, 0]  # topk sorts
    return best[:, (best != c.pad_id).any(dim=0)], log_p[:, 0]


def _best(
    log_p: Float[Tensor, "B K V"], length: Int[Tensor, "B K"], penalty: float
) -> Int[Tensor, "B K"]:
    """Places of the K best, the best first, by log_p / ((5 + length) / 6) ** penalty.

    Compared by the logarithm of minus that, which no penalty makes too large or too small; of
    equals the likelier is better.
    """
    K = log_p.shape[1]
    log_length = ((5 + length.double()) / 6).log()  # (B, K)
    log_penalty = (penalty * (log_length - log_length.amax(dim=1, keepdim=True))).clamp(min=-1e300)
    cost = (-log_p).double().log() - log_penalty[..., None]  # (B, K, V)
    likelier = log_p.flatten(1).argsort(dim=1, descending=True, stable=True)  # (B, K*V)
    order = cost.flatten(1).gather(1, likelier).argsort(dim=1, stable=True)[:, :K]
    return likelier.gather(1, order)


def _next_log_p(
    model: Seq2Seq, ids: Int[Tensor, "N T"], memory: Float[Tensor, "N S C"], source: Tensor
) -> Float[Tensor, "N V"]:
    """ln of each next token's probability, given all of `ids`; padding and begin are no words."""
    logits = model.decode(ids, memory, source)[:, -1]
    if not logits.amax(dim=-1).isfinite().all():
        raise ValueError("the model's logits are not numbers: nothing can be chosen")
    compute_dtype = torch.promote_types(logits.dtype, torch.float32)
    log_p = logits.log_softmax(dim=-1, dtype=compute_dtype)  # (N, V)
    log_p[:, [model.config.pad_id, model.config.begin_id]] = -math.inf
    return log_p


def _check_max_new_tokens(model: Seq2Seq, max_new_tokens: int) -> None:
    if not 1 <= max_new_tokens <= model.config.context_length:
        limit = f"1 to context_length={model.config.context_length}"
        raise ValueError(f"max_new_tokens={max_new_tokens}, expected {limit}")
