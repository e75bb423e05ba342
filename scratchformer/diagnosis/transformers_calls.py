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

    def begin(model: Any) -> Callable:
        past = None

        def read(ids: Tensor) -> Any:
            nonlocal past
            output = model(ids, **{name: past}, use_cache=True)
            if not hasattr(output, name):
                kind = type(model).__name__
                raise NotImplementedError(f"{kind} takes {name} and returns none: give cache=…")
            past = getattr(output, name)
            return output

        return read

    return begin if name and "use_cache" in parameters else None


def padding_of_transformers(model: nn.Module) -> Callable | None:
    """How such a model is told of padding on the left; None if it takes no mask and positions."""
    parameters = inspect.signature(model.forward).parameters

    def call(model: Any, ids: Tensor, real: Tensor) -> Any:
        positions = (real.cumsum(1) - 1).clamp(min=0)
        return model(ids, attention_mask=real.long(), position_ids=positions)

    return call if {"attention_mask", "position_ids"} <= set(parameters) else None
