"""Where the time of one token goes: the same model with other products, with fewer small
operations, or with a clock at each product."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from scratchformer.models import Llama

NAMES = ("queries", "keys", "values", "back", "gate", "up", "down")  # the products of a block
SMALL = 64 * 1024 // 4  # numbers of an array that fits into a core's own cache: 64 kB


def seconds(*works, turns=12):
    times: list[list[float]] = [[] for _ in works]  # by turns
    for _ in range(turns):
        for work, own in zip(works, times, strict=True):
            work()  # not timed: its data are as it leaves them
            start = time.process_time()  # without the turns of other programs
            work()
            own.append(time.process_time() - start)
    return [sorted(own)[turns // 2] for own in times]  # the middle ones


def on_large_pages(count: int) -> Tensor:
    """`count` numbers, on pages of 2 MB if the system has such, because NumPy asks for them."""
    return torch.from_numpy(np.empty(count, np.float32))


@torch.no_grad()
def move_weights(model: torch.nn.Module, memory: Tensor) -> None:
    """All weights of a model, one after another, into a tensor of as many numbers."""
    weights = list(model.parameters())
    parts = memory.split([weight.numel() for weight in weights])
    for weight, part in zip(weights, parts, strict=True):
        weight.data = part.view_as(weight).copy_(weight)


@contextmanager
def products_replaced(product: Callable[..., Tensor]) -> Iterator[None]:
    """Every product with a matrix of weights is product(x, weight, bias) instead."""
    with mock.patch.object(F, "linear", product):
        yield


def nothing(x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """A tensor of the right shape, and no product: no weight is read."""
    return torch.zeros((*x.shape[:-1], len(weight)))


def only_read(x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """A sum that reads every weight once, and no product."""
    return weight.sum().expand(*x.shape[:-1], len(weight))


def adding(numbers: Tensor) -> Callable[..., Tensor]:
    """As many additions as `only_read` makes, all of them over `numbers`: no weight is read."""

    def only_add(x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
        length = min(len(numbers), weight.numel())
        total = numbers[:length].expand(weight.numel() // length, -1).sum()
        return total.expand(*x.shape[:-1], len(weight))

    return only_add


def multiplying(kilobytes: int) -> Callable:
    """A stand-in for a product that multiplies as often, and reads some rows of the weights alone.

    The first rows, of so many kilobytes together, are multiplied with as many vectors as it takes.
    """

    @cache
    def vectors(inputs: int, n: int) -> Tensor:
        return torch.randn(inputs, n)

    def only_multiply(x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
        outputs, inputs = weight.shape
        rows = min(outputs, max(1, 256 * kilobytes // inputs))
        product = weight[:rows] @ vectors(inputs, -(-outputs // rows))
        return product.flatten()[:outputs].expand(*x.shape[:-1], outputs)

    return only_multiply


@torch.no_grad()
def lean_token(model: Llama, token: Tensor, cache: list) -> Tensor:
    """The logits (V) after one more token (), as `model` computes them, in fewer operations.

    The angles are computed once, not in every block; queries and keys turn together; a norm is one
    call; no mask is made, for a single token may look at all before it; and no key is copied for
    the heads that share it. Norms on queries and keys, and windows, are not handled.
    """
    c, D = model.config, model.config.D
    rate = c.rope_base ** -(torch.arange(0, D, 2, dtype=torch.float32) / D)
    angle = (len(cache[0]) * rate).repeat(2)  # (D)
    cos, sin = angle.cos(), angle.sin()
    sin[: D // 2] *= -1
    x = model.embed_tokens.weight[token][None]
    for block, kept in zip(model.layers, cache, strict=True):
        b: Any = block
        own, mlp = b.self_attn, b.mlp
        y = F.rms_norm(x, (c.d_model,), b.input_layernorm.weight, c.norm_eps)
        qk = torch.cat((F.linear(y, own.q_proj.weight), F.linear(y, own.k_proj.weight)), dim=1)
        qk = qk.view(-1, D)  # (heads of queries and of keys, D)
        qk = qk * cos + qk.roll(D // 2, -1) * sin
        q, k = qk[None, : c.n_heads, None], qk[None, c.n_heads :, None]
        kept.append(k, F.linear(y, own.v_proj.weight).view(k.shape))
        y = F.scaled_dot_product_attention(q, kept.k, kept.v, enable_gqa=True)
        x = x + F.linear(y.view(1, -1), own.o_proj.weight)
        y = F.rms_norm(x, (c.d_model,), b.post_attention_layernorm.weight, c.norm_eps)
        y = F.silu(F.linear(y, mlp.gate_proj.weight)) * F.linear(y, mlp.up_proj.weight)
        x = x + F.linear(y, mlp.down_proj.weight)
    y = F.rms_norm(x, (c.d_model,), model.norm.weight, c.norm_eps)
    return F.linear(y, model.lm_head.weight)[0]


class _Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.names.append(operation.name().split("::")[1].split(".")[0])
        return operation(*args, **(kwargs or {}))


# they only look at numbers that are there, or are products of weights
VIEWS = {"view", "_unsafe_view", "t", "transpose", "slice", "select", "expand", "unsqueeze"}
VIEWS |= {"alias", "detach", "split", "squeeze", "squeeze_", "permute", "promote_types"}
PRODUCTS = {"mm", "mv", "addmv", "linear"}


def operations(compute: Callable[[], Any]) -> tuple[int, int]:
    """How many products compute() makes, and how many other operations that are no views."""
    with torch.no_grad(), _Names() as seen:
        compute()
    products = sum(name in PRODUCTS for name in seen.names)
    views = sum(name in VIEWS for name in seen.names)
    return products, len(seen.names) - products - views


def clocked(compute: Callable[[], Any]) -> list[tuple[float, float]]:
    """Seconds from the start of compute() at which each product begins and ends."""
    linear, clock, times = F.linear, time.process_time, []

    def timed(*given: Any) -> Tensor:
        begins = clock()
        result = linear(*given)
        times.append((begins - start, clock() - start))
        return result

    with products_replaced(timed):
        start = clock()
        compute()
    return times
