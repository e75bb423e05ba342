"""How a model of `transformers` is told of its cache and of padding, for `diagnose`."""

import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

CACHES = ("cache", "past_key_values", "cache_params", "state")  # by release and kind of model


def cache_of_transformers(model: nn.Module) -> Callable | None:
    """How such a model begins a text and reads on; None for a class without a cache."""
    taken = inspect.signature(model.forward).parameters
    name = next((name for name in CACHES if name in taken), "")

    def begin(model: Any) -> Callable:
        kept = None

        def read(ids: Tensor) -> Any:
            nonlocal kept
            output = model(ids, **{name: kept}, use_cache=True)
            if not hasattr(output, name):
                kind = type(model).__name__
                raise NotImplementedError(f"{kind} takes {name} and returns none: give cache=…")
            kept = getattr(output, name)
            return output

        return read

    return begin if name and "use_cache" in taken else None


def padding_of_transformers(model: nn.Module) -> Callable | None:
    """How such a model is told of padding on the left; None if it takes no mask and positions."""
    taken = inspect.signature(model.forward).parameters

    def call(model: Any, ids: Tensor, real: Tensor) -> Any:
        places = (real.cumsum(1) - 1).clamp(min=0)
        return model(ids, attention_mask=real.long(), position_ids=places)

    return call if {"attention_mask", "position_ids"} <= set(taken) else None
