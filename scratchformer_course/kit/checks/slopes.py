"""What one call cannot show: no call changes the next, and slopes reach all that is trained."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from scratchformer_course.kit.checks.call import Call
from scratchformer_course.kit.checks.classes import as_function
from scratchformer_course.kit.checks.compare import difference, error_in_words, is_tensor, matches
from scratchformer_course.kit.checks.verdict import Wrong, expect

MAX_REPEATS = 8  # calls of a function through which no page trains
TOLERANCE = 1e-3  # slopes add up more roundings than values
CUT = "`.data`, `.detach()`, `.item()` or NumPy cut it off from training"
DROPS = "The values are right, but others in training, after `.train()`: no dropout is asked for"
KEPT = "The values are right at first, but earlier calls change them: keep nothing back from a call"


def check_later_calls(
    call: Call, right: Any, cases: Sequence[tuple], wanted: Sequence[str]
) -> None:
    """Raise `Wrong` if a later call gives other values, or if the slopes are others.

    The values are known to be right in a first call. A class keeps one object for each setting, and
    needs slopes at all its inputs and parameters; of a function's arguments, those `wanted` do.
    """
    names: Sequence[str] = call.parameters
    learner_objects: dict = {}  # objects by the words of their settings
    reference_objects: dict = {}
    if call.is_class:
        names = list(inspect.signature(call.given.forward).parameters)  # `self`: the settings
        names += [f"input {i}" for i in range(len(names), max(map(len, cases), default=0))]
        call.function = as_function(call.given, right, learner_objects)
        right, wanted = as_function(right, right, reference_objects), names

    def checked(*given: Any) -> Any:
        call(*given).args = case  # as a message shows it
        if call.error is not None:
            raise Wrong(f"The values are right, but not so this later call: {call.failure()}")
        if not matches(call.value, expected):
            reason, mismatch = KEPT, f"`{call}` {difference(call.like(expected), expected)}"
            if call.is_class:
                learner_objects[repr(case[0])].eval()
                reason = DROPS if matches(call(*given).value, expected) else KEPT
            raise Wrong(f"{reason}.\n{mismatch}.")
        return call.value

    for case in [*cases, *reversed(cases)] if wanted else cases[:MAX_REPEATS][::-1]:
        expected, expected_slopes = _slopes(right, case, names, wanted, reference_objects)
        try:
            _, slopes = _slopes(checked, case, names, wanted, learner_objects)
        except RuntimeError as error:
            words = error_in_words(error)
            raise Wrong(f"The values are right, but `backward()` fails: {words}.") from None
        for name, slope in expected_slopes.items():
            if slope is not None:
                _compare(name, slopes.get(name), slope)


def _slopes(
    function: Callable, case: tuple, names: Sequence[str], wanted: Sequence[str], objects: dict
) -> tuple[Any, dict[str, Any]]:
    """The value for a case, and the slope of a mixture of its numbers at all that is trained."""
    given = [x.detach().clone() if is_tensor(x) else x for x in case]
    pairs = [(n, x) for n, x in zip(names, given, strict=False) if n in wanted and is_tensor(x)]
    leaves = {n: x for n, x in pairs if x.is_floating_point() and x.element_size() > 2}  # no half
    for leaf in leaves.values():
        leaf.requires_grad_()
    value = function(*given)
    if model := objects and objects.get(repr(case[0])):
        named = model.named_parameters(remove_duplicate=False)  # a tied one under all its names
        leaves |= {name: p for name, p in named if p.requires_grad}
    parts = value if isinstance(value, tuple | list) else [value]
    parts = [part for part in parts if is_tensor(part) and part.requires_grad]
    if not parts or not leaves:
        return value, {}
    import torch

    mixed = [(part.flatten() * torch.linspace(1, 9, part.numel()).cos()).sum() for part in parts]
    slopes = torch.autograd.grad(sum(mixed), list(leaves.values()), allow_unused=True)
    return value, dict(zip(leaves, slopes, strict=True))


def _compare(name: str, slope: Any, right: Any) -> None:
    """Raise `Wrong` if a slope is missing or another one."""
    slope = 0 * right if slope is None else slope.to_dense().to(right.dtype)
    tolerance = TOLERANCE * max(1.0, float(right.abs().max()))
    no_slopes = f"The values are right, but no slopes reach `{name}`: {CUT}."
    expect(slope.any() or right.abs().max() < tolerance, no_slopes)
    if right.dim() == 2 and "." in name:
        missing_rows = (right.abs().amax(1) > tolerance) & ~slope.any(dim=1)
        row = int(missing_rows.int().argmax())
        no_slopes_in_row = f"The values are right, but no slopes reach row {row} of `{name}`"
        expect(
            not missing_rows.any(),
            f"{no_slopes_in_row}: training cannot change it. Is it a `padding_idx`?",
        )
    if not slope.allclose(right, rtol=TOLERANCE, atol=tolerance):
        part = ": is a part cut off by `.data`, `.detach()` or `.item()`?"
        part = part if slope.isfinite().all() else "."
        wrong = f"The values are right, the slopes at `{name}` are not{part}"
        raise Wrong(f"{wrong}\n`backward()` {difference(slope, right)}.")
