"""What one call cannot show: no call changes the next, and slopes reach all that is trained."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from scratchformer_course.kit.checks.call import Call
from scratchformer_course.kit.checks.classes import as_function
from scratchformer_course.kit.checks.compare import (
    difference,
    error_in_words,
    fresh,
    is_tensor,
    matches,
)
from scratchformer_course.kit.checks.verdict import Wrong, expect

AGAIN = 8  # calls of a function through which no page trains
NEAR = 1e-3  # slopes add up more roundings than values


def check_later_calls(
    call: Call, right: Any, cases: Sequence[tuple], wanted: Sequence[str]
) -> None:
    """Raise `Wrong` if a later call gives other values, or if the slopes are others.

    The values are known to be right in a first call. A class keeps one object for each setting, and
    needs slopes at all its inputs and parameters; of a function's arguments, those `wanted` do.
    """
    mine: dict = {}  # objects by the words of their settings
    theirs: dict = {}
    names = call.parameters
    if call.is_class:
        call.function = as_function(call.given, right, mine)
        names = list(inspect.signature(call.given.forward).parameters)  # `self`: the settings
        names += [f"input {i}" for i in range(len(names), max(map(len, cases), default=0))]
        right = as_function(right, right, theirs)
    is_trained = call.is_class or bool(wanted)
    for case in [*cases, *reversed(cases)] if is_trained else cases[:AGAIN][::-1]:
        asked = [call.is_class or name in wanted for name in names]
        given, known = _with_slopes(case, asked), _with_slopes(case, asked)
        expected = right(*fresh(known))
        call(*given)
        call.args = case  # as a message shows it
        if call.error is not None:
            raise Wrong(f"The values are right, but not so this later call: {call.failure()}")
        if not matches(call.value, expected):
            kept = "The values are right at first, but earlier calls change them: keep nothing back"
            got = call.like(expected)
            raise Wrong(f"{kept} from a call.\n`{call}` {difference(got, expected)}.")
        if is_trained:
            _check_slopes(
                call.value, _leaves(names, given, mine), expected, _leaves(names, known, theirs)
            )


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
    slopes = torch.autograd.grad(sum(mixed), list(leaves.values()), allow_unused=True)
    return dict(zip(leaves, slopes, strict=True))


def _check_slopes(value: Any, leaves: dict, expected: Any, known: dict) -> None:
    try:
        slopes = _slopes(value, leaves)
    except RuntimeError as error:
        words = error_in_words(error)
        raise Wrong(f"The values are right, but `backward()` fails: {words}.") from None
    for name, slope in _slopes(expected, known).items():
        if slope is not None:
            _compare(name, slopes.get(name), slope)


def _compare(name: str, slope: Any, right: Any) -> None:
    """Raise `Wrong` if a slope is missing or another one."""
    import torch

    slope = torch.zeros_like(right) if slope is None else slope.to_dense().to(right.dtype)
    near = NEAR * max(1.0, float(right.abs().max()))
    cut = "`.data`, `.detach()`, `.item()` or NumPy cut it off from training"
    none = f"The values are right, but no slopes reach `{name}`: {cut}."
    expect(slope.any() or right.abs().max() < near, none)
    if right.dim() == 2 and "." in name:
        lost = (right.abs().amax(1) > near) & ~slope.any(dim=1)
        row = int(lost.int().argmax())
        lone = f"The values are right, but no slopes reach row {row} of `{name}`"
        expect(not lost.any(), f"{lone}: training cannot change it. Is it a `padding_idx`?")
    if not torch.allclose(slope, right, rtol=NEAR, atol=near):
        part = ": is a part cut off by `.data`, `.detach()` or `.item()`?"
        wrong = f"The values are right, the slopes at `{name}` are not"
        wrong += part if slope.isfinite().all() else "."
        raise Wrong(f"{wrong}\n`backward()` {difference(slope, right)}.")
