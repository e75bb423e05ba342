"""What one call cannot show: slopes reach all that is trained, and no call changes the next.

Every case is called once more, forth and back. A class keeps one object for each setting.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from scratchformer_course.kit.checks.call import Call
from scratchformer_course.kit.checks.compare import (
    difference,
    error_in_words,
    fresh,
    is_tensor,
    matches,
)
from scratchformer_course.kit.checks.verdict import Wrong, expect

NEAR = 1e-3  # slopes add up more roundings than values


def check_training(
    again: Call,
    right: Callable,
    objects: dict,
    models: dict,
    cases: Sequence[tuple],
    wanted: Sequence[str],
) -> None:
    """Raise `Wrong` if a later call gives other values, or if the slopes are others.

    The values are known to be right in a first call. `objects` and `models` hold, by their
    settings, what a class and the right class have built. Of a function's arguments, those that are
    `wanted` need slopes.
    """
    for case in [*cases, *reversed(cases)]:
        names = again.parameters
        if again.is_class:  # in place of `self` stand the settings
            names = list(inspect.signature(again.given.forward).parameters)
            names += [f"input {i}" for i in range(len(names), len(case))]  # it may take `*inputs`
        asked = [again.is_class or name in wanted for name in names]
        mine, theirs = _with_slopes(case, asked), _with_slopes(case, asked)
        expected = right(*fresh(theirs))
        again(*mine)
        again.args = case  # as a message shows it
        if again.error is not None:
            raise Wrong(f"The values are right, but not so this later call: {again.failure()}")
        if not matches(again.value, expected):
            kept = "The values are right at first, but earlier calls change them: keep nothing back"
            got = again.like(expected)
            raise Wrong(f"{kept} from a call.\n`{again}` {difference(got, expected)}.")
        ours, known = _leaves(names, mine, objects), _leaves(names, theirs, models)
        try:
            found = _slopes(again.value, ours)
        except RuntimeError as error:
            raise Wrong(
                f"The values are right, but `backward()` fails: {error_in_words(error)}."
            ) from None
        for name, slope in _slopes(expected, known).items():
            if slope is not None:
                _compare(name, found.get(name), slope)


def _with_slopes(case: tuple, asked: Sequence[bool]) -> tuple:
    """The case with tensors that ask for slopes, where they are asked and hold fractions."""
    return tuple(
        x.detach().clone().requires_grad_() if ask and is_tensor(x) and x.is_floating_point() else x
        for x, ask in zip(case, asked, strict=False)
    )


def _leaves(names: Sequence[str], case: tuple, objects: dict) -> dict[str, Any]:
    """What slopes are asked for, by name: the arguments, and the parameters of the object."""
    leaves = {n: x for n, x in zip(names, case, strict=False) if is_tensor(x) and x.requires_grad}
    if model := objects.get(repr(case[0])):
        named = model.named_parameters(remove_duplicate=False)  # a tied one under all its names
        leaves |= {name: p for name, p in named if p.requires_grad}
    return leaves


def _slopes(value: Any, leaves: dict[str, Any]) -> dict[str, Any]:
    """The slope of a mixture of all numbers in the value, by the name of the leaf."""
    import torch

    parts = value if isinstance(value, tuple | list) else [value]
    parts = [part for part in parts if is_tensor(part) and part.requires_grad]
    if not parts or not leaves:
        return {}
    mixed = [
        (part * torch.linspace(1, 9, part.numel()).cos().view(part.shape)).sum() for part in parts
    ]
    found = torch.autograd.grad(sum(mixed), list(leaves.values()), allow_unused=True)
    return dict(zip(leaves, found, strict=True))


def _compare(name: str, found: Any, right: Any) -> None:
    """Raise `Wrong` if a slope is missing or another one."""
    import torch

    found = torch.zeros_like(right) if found is None else found
    found = found.to_dense().to(right.dtype)
    near = NEAR * max(1.0, float(right.abs().max()))
    cut = "`.data`, `.detach()`, `.item()` or NumPy cut it off from training"
    none = f"The values are right, but no slopes reach `{name}`: {cut}."
    expect(found.any() or right.abs().max() < near, none)
    if right.dim() == 2 and "." in name:
        lost = (right.abs().amax(1) > near) & ~found.any(dim=1)
        row = int(lost.int().argmax())
        lone = f"The values are right, but no slopes reach row {row} of `{name}`"
        expect(not lost.any(), f"{lone}: training cannot change it. Is it a `padding_idx`?")
    if not torch.allclose(found, right, rtol=NEAR, atol=near):
        part = ": is a part cut off by `.data`, `.detach()` or `.item()`?"
        wrong = f"The values are right, the slopes at `{name}` are not"
        wrong += part if found.isfinite().all() else "."
        raise Wrong(f"{wrong}\n`backward()` {difference(found, right)}.")
