"""The instruments of a diagnosis: how a model is copied, called and compared."""

import functools
import inspect
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from types import CellType, FunctionType, MethodType
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
    x, y = x.contiguous(), y.contiguous()  # as the batches of a run are
    if loss is None:
        return F.cross_entropy(logits_of(model(x)).flatten(0, 1), y.flatten())
    parameters = inspect.signature(loss).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD]
    result = loss(logits_of(model(x)), y) if len(needed) == 2 else loss(model, x, y)
    return result[0] / result[1] if isinstance(result, tuple) else result


def copy_of(model: nn.Module, sharp: bool = False, wide: bool = False) -> nn.Module:
    """A copy in evaluation mode, if `wide` with weights of at least 32 bits.

    A `sharp` copy, wide too, has large random weights: small ones, and zeros, hide faults. Weights
    that are not trained stay as they are, unless none is: a table of sines, say.
    """
    model = getattr(model, "_orig_mod", model)  # torch.compile's original
    copy = _deep_copy(model).eval()
    if (sharp or wide) and any(p.element_size() < 4 for p in copy.parameters()):
        copy = copy.float()
    weights = list(copy.parameters())
    for p in [p for p in weights if p.requires_grad] or weights if sharp else ():
        noise = torch.randn(p.shape).to(p)
        is_matrix = p.numel() > max(p.shape, default=1) and p.shape[-1] > 1
        p.data = noise / math.sqrt(max(p.shape[1:])) if is_matrix else p.data + 0.1 * noise
    return copy


def _deep_copy(model: nn.Module) -> nn.Module:
    """A copy whose functions, such as a lambda that calls another layer, hold copied layers too.

    `deepcopy` alone leaves them with the layers of the original.
    """
    memo: dict[int, Any] = {}
    functions: list[tuple[FunctionType, FunctionType]] = []
    seen: set[int] = set()

    def visit(value: Any) -> bool:
        """Whether a value holds a module or a tensor; functions that do are made anew."""
        if isinstance(value, Tensor) and not value.is_leaf:
            memo[id(value)] = value.detach()  # as weights kept for a plot
        if isinstance(value, (Tensor, nn.Module)) or id(value) in memo:
            return True
        if id(value) in seen:
            return False
        seen.add(id(value))
        if isinstance(value, FunctionType):
            inside = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
            if not any_of([*inside, value.__defaults__, value.__kwdefaults__]):
                return False
            cells = tuple(CellType() for _ in value.__closure__ or ())
            copy = FunctionType(value.__code__, value.__globals__, value.__name__, None, cells)
            copy.__dict__.update(vars(value))
            memo[id(value)] = copy
            functions.append((value, copy))
            return True
        if isinstance(value, MethodType):
            return visit(value.__self__)
        if isinstance(value, functools.partial):
            return any_of([value.func, value.args, value.keywords])
        if isinstance(value, (dict, list, tuple)):
            return any_of(value.values() if isinstance(value, dict) else value)
        return False

    def any_of(values: Iterable) -> bool:
        return any(list(map(visit, values)))  # all are visited

    for module in model.modules():
        visit(vars(module))
    copied = deepcopy(model, memo)
    for function, copy in functions:
        copy.__defaults__ = deepcopy(function.__defaults__, memo)
        copy.__kwdefaults__ = deepcopy(function.__kwdefaults__, memo)
        for cell, new in zip(function.__closure__ or (), copy.__closure__ or (), strict=True):
            if cell != CellType():  # an empty one
                new.cell_contents = deepcopy(cell.cell_contents, memo)
    return copied


def special_ids(model: nn.Module, vocab_size: int) -> set[int]:
    """The ids that stand for no text: padding, begin, end, an image's place."""
    config = getattr(model, "config", None)
    ids: list[Any] = []
    for part in (config, *vars(config).values()) if hasattr(config, "__dict__") else ():
        for name, value in vars(part).items() if hasattr(part, "__dict__") else ():
            if name.endswith(("token_id", "token_index", "pad_id")):
                ids += value if isinstance(value, (list, tuple)) else [value]
    tables = [m for m in model.modules() if isinstance(m, nn.Embedding)]
    ids += [table.padding_idx for table in tables if table.num_embeddings >= vocab_size]
    return {i for i in ids if isinstance(i, int) and 0 <= i < vocab_size}


def ordinary_ids(model: nn.Module, vocab_size: int, pad_id: int | None = None) -> Tensor:
    """All other ids (n,), or all ids but `pad_id` where fewer than 4 would be left."""
    for special in (special_ids(model, vocab_size) | {pad_id}, {pad_id}):
        ids = torch.tensor([i for i in range(vocab_size) if i not in special])
        if len(ids) >= 4:
            break
    return ids.to(next(model.parameters()).device)


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
