"""A class as an exercise: build it, give it the right class's weights, call it.

A case of such an exercise is `({"d_model": 8, "n_heads": 2}, x, …)`: the constructor's arguments by
name, and what the object is called with. The stub fixes these names and the names of the
parameters, so both classes can hold the same numbers.
"""

from collections.abc import Callable
from typing import Any

from scratchformer_course.kit.checks.compare import is_tensor
from scratchformer_course.kit.checks.verdict import Wrong, expect

SEED = 1
drawn_weights: dict[tuple, tuple[dict, Any]] = {}  # by class and settings, with what comes next


def upside_down(case: tuple) -> tuple:
    """The case with the first axis of each tensor in reverse, as texts of a batch may come."""
    return tuple(x.flip(0) if is_tensor(x) and x.dim() else x for x in case)


def _weights(right: Any, settings: dict) -> dict:
    """The weights with which objects of these settings are compared, drawn once."""
    import torch

    key = (right, repr(settings))
    if key not in drawn_weights:
        torch.default_generator.manual_seed(SEED)  # `torch.manual_seed` resets GPUs, and is slow
        weights = dict(right(**settings).named_parameters(remove_duplicate=False))
        for value in weights.values():
            if value.dim() == 1:  # a fresh norm of weight 1 and bias 0 cannot be told from another
                torch.nn.init.normal_(value)
        drawn_weights[key] = weights, torch.get_rng_state()
    weights, state = drawn_weights[key]
    torch.set_rng_state(state)
    return weights


def as_function(cls: Any, right: Any, kept: dict | None = None) -> Callable:
    """`function(settings, *inputs)`: what an object of `cls` answers with the weights of `right`.

    Each call has an object of its own. Or `kept` holds them, by the words of their settings, and in
    training: no exercise asks for dropout.
    Raises `Wrong` if a part is still `...`, or if names or shapes of the parameters differ.
    """

    def function(settings: dict, *inputs: Any) -> Any:
        objects = {} if kept is None else kept
        if repr(settings) not in objects:
            objects[repr(settings)] = build(settings)
        return objects[repr(settings)](*inputs)

    def build(settings: dict) -> Any:

        weights = _weights(right, settings)
        model = cls(**settings)
        if any(value is ... for value in vars(model).values()):
            raise Wrong(f"replace the `...` in the constructor of `{cls.__name__}`.", "not yet")
        parameters = dict(model.named_parameters(remove_duplicate=False))
        for name in sorted(weights.keys() - parameters.keys()):
            raise Wrong(f"the parameter `{name}` is missing.")
        for name in sorted(parameters.keys() - weights.keys()):
            raise Wrong(f"the parameter `{name}` is not among those that are asked for.")
        for name, value in weights.items():
            got, expected = tuple(parameters[name].shape), tuple(value.shape)
            expect(got == expected, f"`{name}` has shape {got}, but {expected} is expected.")
        model.load_state_dict(weights, strict=False)  # buffers are the learner's own affair
        return model.train(kept is not None)

    return function
