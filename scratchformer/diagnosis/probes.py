"""The instruments of a diagnosis: how a model is copied, called and compared."""

import inspect
import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def logits_of(output: Any) -> Tensor:
    """The logits in what a model returns: a tensor, the first of several, or named so."""
    output = output["logits"] if isinstance(output, dict) else getattr(output, "logits", output)
    return output[0] if isinstance(output, (tuple, list)) else output


def gap(a: Tensor, b: Tensor) -> float:
    """The largest difference, as a share of the largest number in `b`; infinite for nan."""
    difference = (a - b).abs().max() / b.abs().max().clamp(min=1e-12)
    return difference.nan_to_num(math.inf, math.inf).item()


def mean_loss(loss: Callable | None, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """A mean in nats by `loss(logits, y)` or `loss(model, x, y)`, by cross-entropy for None."""
    if loss is None:
        return F.cross_entropy(logits_of(model(x)).flatten(0, 1), y.flatten())
    parameters = inspect.signature(loss).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD]
    result = loss(logits_of(model(x)), y) if len(needed) == 2 else loss(model, x, y)
    return result[0] / result[1] if isinstance(result, tuple) else result


def copy_of(model: nn.Module, sharp: bool = False, wide: bool = False) -> nn.Module:
    """A copy in evaluation mode, if `wide` with weights of at least 32 bits.

    A `sharp` copy, wide too, has large random weights: small ones, and zeros, hide faults.
    """
    model = getattr(model, "_orig_mod", model)  # torch.compile's original
    kept = [t for m in model.modules() for t in vars(m).values() if isinstance(t, Tensor)]
    copy = deepcopy(model, {id(t): t.detach() for t in kept}).eval()  # as weights kept for a plot
    if (sharp or wide) and any(p.element_size() < 4 for p in copy.parameters()):
        copy = copy.float()
    for p in copy.parameters() if sharp else ():
        noise = torch.randn(p.shape).to(p)
        p.data = noise / math.sqrt(max(p.shape[1:])) if p.dim() > 1 else p.data + 0.1 * noise
    return copy


def padding_of(model: nn.Module) -> Callable | None:
    """How a model of this package is told which tokens are real."""
    takes_mask = (
        hasattr(model, "new_cache") and "mask" in inspect.signature(model.forward).parameters
    )
    return (lambda model, ids, real: model(ids, mask=real)) if takes_mask else None


def cache_of(model: nn.Module) -> Callable | None:
    """How a model of this package begins a text, and reads on."""

    def begin(model: Any) -> Callable:
        cache = model.new_cache()
        return lambda ids: model(ids, cache)

    return begin if hasattr(model, "new_cache") else None
