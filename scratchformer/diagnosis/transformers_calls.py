"""How a model of `transformers` is told of its cache and of padding, for `diagnose`."""

import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

CACHES = ("cache", "past_key_values", "cache_params", "state")  # by release and kind of model


def cache_of_transformers(model: nn.Module) -> Callable | None:
    """How such a model begins a text and reads on; None for a class without a cache."""
    parameters = inspect.signature(model.forward).parameters
    name = next((name for name in CACHES if name in parameters), "")
    takes_more = any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    def begin(model: Any) -> Callable:
        past = None

        def read(ids: Tensor) -> Any:
            nonlocal past
            output = model(ids, **{name: past}, use_cache=True)
            past = getattr(output, name, None)
            if past is None:
                kind = type(model).__name__
                raise NotImplementedError(f"{kind} takes {name} and returns none: give cache=…")
            return output

        return read

    return begin if name and ("use_cache" in parameters or takes_more) else None


def padding_of_transformers(model: nn.Module) -> Callable | None:
    """How such a model is told of padding on the left; None if it cannot be told of all of it.

    It is given a mask, and positions if it takes them. A class whose table of positions has a row
    for padding counts real tokens itself, and a layer of fixed memory needs no positions.
    """
    parameters, modules = inspect.signature(model.forward).parameters, model.named_modules()
    tables = [m for name, m in modules if name.endswith("position_embeddings")]
    counts = any(getattr(table, "padding_idx", None) is not None for table in tables)

    def call(model: Any, ids: Tensor, real: Tensor) -> Any:
        told = {"attention_mask": real.long()}
        if "position_ids" in parameters and not counts:
            told["position_ids"] = (real.cumsum(1) - 1).clamp(min=0)
        return model(ids, **told)

    enough = "position_ids" in parameters or getattr(model, "_is_stateful", False)
    return call if "attention_mask" in parameters and enough else None
