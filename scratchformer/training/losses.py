"""How surprised a model is by the right token: on a batch, on a whole split, and by the byte.

A sum and a count, not a mean: only so do batches with different numbers of targets add up.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from scratchformer.data.masking import IGNORED
from scratchformer.training import distributed


def token_loss(
    logits: Float[Tensor, "*batch V"], targets: Int[Tensor, "*batch"]
) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
    """Cross-entropy summed over the targets, in nats, and how many targets there are.

    Targets equal to IGNORED count in neither. The sum is of 32 bits at least: in 16 it would
    overflow, or stop growing.
    """
    logits = logits.reshape(-1, logits.shape[-1])
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    total = F.cross_entropy(logits, targets.flatten(), ignore_index=IGNORED, reduction="sum")
    return total, (targets != IGNORED).sum()


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """No dropout and no gradients inside; afterwards each submodule is in its own mode again."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def evaluate(
    model: nn.Module,
    ids: Integer[Tensor, " N"],
    context_length: int,
    batch_size: int = 64,
    precision: str = "float32",
) -> float:
    """Nats per token over all of `ids`: every token but the first is predicted exactly once.

    The split is cut into consecutive windows of `context_length`, the last one shorter, so a
    token sees what precedes it in its window. `precision="bfloat16"` computes matrix products
    under autocast. In a process group the processes share the windows: all of them must call
    this, and all get the same. Raises ValueError for fewer than two tokens, or an
    unknown precision.
    """
    if min(context_length, batch_size) < 1:
        sizes = f"context_length={context_length}, batch_size={batch_size}"
        raise ValueError(f"{sizes}, expected at least 1")
    if precision not in ("float32", "bfloat16"):
        raise ValueError(f"precision={precision!r}, expected 'float32' or 'bfloat16'")
    if len(ids) < 2:
        raise ValueError(f"got {len(ids)} tokens, expected at least 2: one to predict from")
    device = next(model.parameters()).device
    n = len(ids) - 1  # predictions
    in_full_windows = n // context_length * context_length
    stride = batch_size * context_length
    batches = [
        (start, min(start + stride, in_full_windows), context_length)
        for start in range(0, in_full_windows, stride)
    ]
    if in_full_windows < n:
        batches.append((in_full_windows, n, n - in_full_windows))
    total = 0.0
    with (
        eval_mode(model),
        torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"),
    ):
        for start, stop, width in batches[distributed.rank() :: distributed.world_size()]:
            part = ids[start : stop + 1].long().to(device)  # a file of ids is read bit by bit
            x, y = part[:-1].view(-1, width), part[1:].view(-1, width)
            total += token_loss(model(x), y)[0].item()
    return distributed.all_reduce(torch.tensor(total, dtype=torch.float64)).item() / n


def bits_per_byte(
    model: nn.Module, tokenizer: Any, text: str, context_length: int, batch_size: int = 64
) -> float:
    """The loss over a text in bits, divided by its bytes in UTF-8.

    A token is longer or shorter as its tokenizer has it, and a byte is a byte: models of different
    tokenizers are compared in this unit. Losses are those of `evaluate`; the first token, which
    nothing predicts, and its bytes do not count. Raises ValueError for a text that the tokenizer
    does not give back, for one whose first letter is cut by a tokenizer that has no `token_bytes`,
    and as `evaluate` does.
    """
    ids = tokenizer.encode(text)
    if tokenizer.decode(ids) != text:
        raise ValueError(
            "the tokenizer does not give the text back, expected one that loses nothing"
        )
    nats = evaluate(model, torch.tensor(ids), context_length, batch_size) * (len(ids) - 1)
    return nats / math.log(2) / (len(text.encode()) - len(_bytes_of_first(tokenizer, text, ids)))


def _bytes_of_first(tokenizer: Any, text: str, ids: list[int]) -> bytes:
    """The bytes of a text's first token, which may be a part of a letter only."""
    if hasattr(tokenizer, "token_bytes"):
        return tokenizer.token_bytes(ids[0])
    first = tokenizer.decode(ids[:1])
    if first + tokenizer.decode(ids[1:]) != text:
        raise ValueError(
            f"the first token of {text[:20]!r} is a part of a letter, expected a tokenizer with "
            "`token_bytes(id)`, or a text that begins with another letter"
        )
    return first.encode()
