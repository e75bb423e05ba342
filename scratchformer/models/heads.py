"""One head of a trained model: what it makes of a text, and the model without it.

Blocks and heads are counted from 1, as on the pages: (24, 5) is head 5 of block 24. The weights of
all heads at once are in `scratchformer.attention.recorded_attention`.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from scratchformer.models import BERT, GPT, Llama


@torch.no_grad()
def head_of(
    model: Llama, ids: Int[Tensor, " T"], block: int, head: int
) -> tuple[Float[Tensor, "T D"], Float[Tensor, "T D"], Float[Tensor, "T D"]]:
    """Queries, keys and values of one head while the model reads a text.

    Queries and keys are turned to their places, so that a causal attention over the three gives
    the head's own weights. Heads that share keys get the same ones. Raises ValueError for a head
    that the model does not have.
    """
    _check(block, head, len(model.layers), model.config.n_heads)
    attention: Any = model.layers[block - 1].self_attn
    read: list[Tensor] = []
    hook = attention.register_forward_pre_hook(lambda module, inputs: read.append(inputs[0]))
    try:
        model(ids[None])
    finally:
        hook.remove()
    q, k, v = attention.project(read[0])  # (1, n_heads or kv_heads, T, D)
    shared = (head - 1) * model.config.kv_heads // model.config.n_heads
    return q[0, head - 1], k[0, shared], v[0, shared]


@contextmanager
def silenced(model: GPT | BERT | Llama, heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """Inside `with silenced(model, [(block, head), …]):` nothing of what these heads find is added.

    Raises ValueError for a head that the model does not have.
    """
    blocks: Any = model.layers if isinstance(model, Llama) else model.h
    with ExitStack() as stack:
        for block, head in heads:
            _check(block, head, len(blocks), model.config.n_heads)
            own_block, is_llama = blocks[block - 1], isinstance(model, Llama)
            last = own_block.self_attn.o_proj if is_llama else own_block.attn.c_proj
            D = last.in_features // model.config.n_heads

            def silence(module, inputs, channels=slice((head - 1) * D, head * D)):
                outputs = inputs[0].clone()  # (B, T, H*D)
                outputs[..., channels] = 0
                return (outputs,)

            stack.callback(last.register_forward_pre_hook(silence).remove)
        yield


def _check(block: int, head: int, n_blocks: int, n_heads: int) -> None:
    if not (1 <= block <= n_blocks and 1 <= head <= n_heads):
        counted = f"{n_blocks} blocks of {n_heads} heads, counted from 1"
        raise ValueError(f"no head {block}.{head}: the model has {counted}")
