"""The instruments of a diagnosis: how a model is copied, called, and watched while it computes."""

import inspect
import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode


def logits_of(output: Any) -> Tensor:
    """The logits in what a model returns: a tensor, the first of several, or `.logits`."""
    output = getattr(output, "logits", output)
    return output[0] if isinstance(output, tuple) else output


def gap(a: Tensor, b: Tensor) -> float:
    """The largest difference, as a share of the largest number in `b`; infinite for nan."""
    difference = (a - b).abs().max() / b.abs().max().clamp(min=1e-12)
    return difference.nan_to_num(math.inf, math.inf).item()


def mean_loss(loss: Callable | None, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """A mean in nats by `loss(logits, y)` or `loss(model, x, y)`, by cross-entropy for None."""
    if loss is None:
        return F.cross_entropy(logits_of(model(x)).flatten(0, 1), y.flatten())
    kinds = inspect.signature(loss).parameters.values()
    needed = [p for p in kinds if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    of_logits = len(needed) == 2 and needed[1].kind is not inspect.Parameter.VAR_POSITIONAL
    result = loss(logits_of(model(x)), y) if of_logits else loss(model, x, y)
    return result[0] / result[1] if isinstance(result, tuple) else result


def copy_of(model: nn.Module, sharp: bool = False) -> nn.Module:
    """A copy in evaluation mode. Raises ValueError if it cannot be copied.

    A `sharp` copy has large random weights of 32 bits: small ones, and zeros, hide faults.
    """
    try:
        copy = deepcopy(getattr(model, "_orig_mod", model)).eval()  # torch.compile's original
    except Exception as error:
        raise ValueError(f"the model cannot be copied ({error}), and tests run on copies") from None
    if sharp and any(p.element_size() < 4 for p in copy.parameters()):
        copy = copy.float()
    for p in copy.parameters() if sharp else ():
        noise = torch.randn(p.shape).to(p)
        p.data = noise / math.sqrt(p.shape[-1]) if p.dim() > 1 else p.data + 0.1 * noise
    return copy


def padding_of(model: nn.Module) -> Callable | None:
    """How the model is told which tokens are real, (model, ids, real) -> output, if it shows."""
    names = inspect.signature(model.forward).parameters

    def as_transformers(model: nn.Module, ids: Tensor, real: Tensor) -> Any:
        places = {"position_ids": (real.cumsum(1) - 1).clamp(min=0)}
        more = places if "position_ids" in names else {}
        return model(ids, attention_mask=real.long(), **more)

    if "attention_mask" in names:
        return as_transformers
    return (lambda model, ids, real: model(ids, mask=real)) if "mask" in names else None


def cache_of(model: nn.Module) -> Callable | None:
    """A function (model) -> reader of a new text; the reader takes the next ids to logits."""

    def ours(model: Any) -> Callable:
        cache = model.new_cache()
        return lambda ids: model(ids, cache)

    def transformers(model: nn.Module) -> Callable:
        past: list[Any] = [None]

        def read(ids: Tensor) -> Any:
            output = model(ids, past_key_values=past[-1], use_cache=True)
            past.append(output.past_key_values)
            return output

        return read

    if hasattr(model, "new_cache"):
        return ours
    known = "past_key_values" in inspect.signature(model.forward).parameters
    return transformers if known else None


@dataclass
class Softmax:
    """A softmax over scores of T queries and T keys, while a model ran."""

    weights: Tensor  # what it gave, (…, T, T)
    axis: int  # which it ran over, -1 for the last
    width: int | None  # of queries and keys: what a product summed over to give the scores
    scale: float | None  # the number that multiplied scores, or queries and keys before
    used: Tensor | None = None  # the weights that multiplied the values, where this shows


class AttentionTrace(TorchDispatchMode):
    """Inside `with`: the softmaxes of attention that run as PyTorch's own operations."""

    def __init__(self, T: int):
        super().__init__()
        self.T, self.found, self.width = T, [], None  # type: ignore[var-annotated]
        self.factors: list[tuple[tuple[int, ...], float]] = []  # (shape, what multiplied it)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
        square = (self.T, self.T)
        if name in ("bmm", "baddbmm"):
            left = args[-2]
            if out.shape[-2:] == square:
                self.width = left.shape[-1]
                self.factors.append((tuple(out.shape), float((kwargs or {}).get("alpha", 1))))
            elif left.shape[-2:] == square and self.found:
                last = self.found[-1]
                if last.used is None and left.numel() == last.weights.numel():
                    last.used = left.detach().nan_to_num().reshape(last.weights.shape)
        elif name.rstrip("_") in ("mul", "div") and isinstance(args[0], Tensor):
            number = args[1]
            if isinstance(number, Tensor):  # one for each head, or a single one
                number = number.flatten()[0].item() if 0 < number.numel() < self.T else 1
            factor = 1 / number if "div" in name and number else number
            self.factors.append((tuple(args[0].shape), float(factor)))
        elif name in ("_softmax", "_safe_softmax") and out.shape[-2:] == square:
            counted = [f for shape, f in self.factors if self._scales(shape, f, out.numel())]
            scale = math.prod(counted) if counted else None
            axis = args[1] % out.dim() - out.dim()
            self.found.append(Softmax(out.detach().nan_to_num(), axis, self.width, scale))
            self.width, self.factors = None, []
        return out

    def _scales(self, shape: tuple[int, ...], factor: float, n_scores: int) -> bool:
        """Whether a factor is one of scores, or a small one of queries or keys."""
        if shape[-2:] == (self.T, self.T):
            return 0 < factor != 1 and math.prod(shape) == n_scores
        if not self.width or self.T not in shape or len(shape) < 3 or not 0 < factor < 1:
            return False
        together = shape[-2] == self.T and math.isclose(factor, self.width**-0.5)
        return together or self.width in shape[-2:]  # all heads together, or one of them


def attention_of(model: nn.Module, ids: Tensor) -> list[Softmax]:
    """All attention in one call; none where it cannot be watched."""
    try:
        with sdpa_kernel(SDPBackend.MATH), AttentionTrace(ids.shape[1]) as trace:
            model(ids)
    except RuntimeError:  # a kernel that no mode can watch
        return []
    return trace.found
