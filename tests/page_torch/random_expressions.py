"""Random programs, run once with PyTorch and once with the page's: JSON of what differs.

Usage: python random_expressions.py 1500

An example is a short program of plain `torch` code (see random_programs.py), with a `backward()`
where slopes are asked for. After each line all that a reader can see of every tensor is compared.
The JSON says how many programs ended how, which operations were not drawn, and all distinct
failures, one snippet each.
"""

import json
import math
import sys
import warnings
from collections import Counter
from typing import NamedTuple

from both import Step, attempt, flat, fresh, real, seen, small, tensors_in
from random_programs import OPERATIONS, Program

HEAD = 'import torch\nimport torch.nn.functional as F\ninf, nan = float("inf"), float("nan")\n'
LOOKS = {
    "dtype": lambda t: str(t.dtype),
    "shape": lambda t: tuple(t.shape),
    "values": lambda t: flat(t.tolist()),
    "stride": lambda t: [
        step
        for step, size in zip(t.stride(), t.shape, strict=True)
        if size > 1 and 0 not in t.shape
    ],
    "is_contiguous()": lambda t: t.is_contiguous(),
    "requires_grad": lambda t: t.requires_grad,
    "grad_fn is None": lambda t: t.grad_fn is None,
}


class Failure(NamedTuple):
    """An operation after which the two differ, in what, and the code that shows it."""

    operation: str
    kind: str
    snippet: str

    @classmethod
    def of(cls, operation, kind, lines, both):
        """A failure with its snippet: the lines, then what each of the two says."""
        real_one, small_one = (text or "no error" for text in map(str, both))
        code = [HEAD + "\n".join(lines), f"# real torch: {real_one}", f"# page_torch: {small_one}"]
        return cls(operation, kind, "\n".join(code))


def facts(value):
    """All that is compared of a value, as pairs of a kind and a fact."""
    if isinstance(value, real.Tensor | small.Tensor):
        return [("type", "Tensor"), *((kind, seen(look, value)) for kind, look in LOOKS.items())]
    if isinstance(value, list | tuple):
        size = ("length", f"{'tuple' if isinstance(value, tuple) else 'list'} of {len(value)}")
        return [size, *(fact for part in value for fact in facts(part))]
    return [("type", type(value).__name__), ("values", [value])]


def are_close(one, two, tolerance):
    """Whether numbers agree, floats relative to the largest finite one (0.05 or more) of `one`."""
    finite = [abs(a) for a in one if isinstance(a, float) and math.isfinite(a)]
    margin = tolerance * max([0.05, *finite])

    def agree(a, b):
        if type(a) is not type(b) or not isinstance(a, float):
            return type(a) is type(b) and a == b
        return a == b or (a != a and b != b) or abs(a - b) <= margin

    return len(one) == len(two) and all(agree(a, b) for a, b in zip(one, two, strict=True))


def difference(one, two, tolerance, is_slope=False):
    """The kind of the first difference and both facts, or None; the layout of slopes is free."""
    for (kind, a), (other, b) in zip(facts(one), facts(two), strict=False):
        if is_slope and kind in ("stride", "is_contiguous()"):
            continue
        if kind == other == "values" and type(a) is type(b) is list:
            same = are_close(a, b, tolerance)
        else:
            same = (kind, a) == (other, b)
        if not same:
            return kind, a, b
    return None


def is_leaf(value):
    """Whether a backward() leaves a slope at this value of PyTorch."""
    is_first = isinstance(value, real.Tensor) and value.requires_grad
    return is_first and seen(LOOKS["grad_fn is None"], value) is True


def with_slopes(steps):
    """The steps, a `backward()` from the last tensor that has a slope, and each leaf's slope."""
    names = fresh(real)
    if any(attempt(step.line, names) for step in steps):
        return steps
    last = steps[-1].result.split("[")[0]
    candidates = sorted(tensors_in(names), key=lambda pair: pair[0].split("[")[0] == last)
    for text, value in reversed(candidates):
        if seen(LOOKS["grad_fn is None"], value) is False:
            numbers = [(7 * i % 11 - 5) / 4 for i in range(value.numel())]
            weights = f"torch.tensor({numbers}, dtype={value.dtype}).reshape({tuple(value.shape)})"
            operation = f"backward() of {steps[-1].operation}"
            return [
                *steps,
                Step(operation, f"({text} * {weights}).sum().backward()", ""),
                *(
                    Step(operation, f"slope_{key} = {key}.grad", "")
                    for key, leaf in names.items()
                    if is_leaf(leaf)
                ),
            ]
    return steps


def is_rounding(lines, name, value):
    """Whether float64 tells that rounding alone changes this value of PyTorch."""
    names = fresh(real)
    errors = [attempt(line.replace("float32", "float64"), names) for line in lines]
    if any(errors):
        return False
    before, after = (
        [flat(fact) for kind, fact in facts(some) if kind == "values"]
        for some in (value, names.get(name))
    )
    return not all(are_close(a, b, 1e-6) for a, b in zip(before, after, strict=False))


def compare(steps):
    """How the steps end with both: a word, or the first failure."""
    one, two, lines = fresh(real), fresh(small), []
    for operation, line, _ in steps:
        errors = attempt(line, one), attempt(line, two)
        lines.append(line)
        if errors[1] == "NotInPage":
            return "not in page"
        if errors[0] != errors[1]:
            return Failure.of(operation, "error", [*lines, ""], errors)
        if errors[0]:
            return "same error"
        if ending := compare_values(operation, lines, one, two):
            return ending
    return "same slopes" if "backward()" in steps[-1].operation else "same"


def compare_values(operation, lines, one, two):
    """How the comparison of all names ends, or None where they are the same."""
    is_coarse = any(tensor.dtype == real.float32 for _, tensor in tensors_in(one))
    for name in [key for key in one if key[0] in "xywls"]:
        try:
            found = difference(
                one[name], two[name], 1e-5 if is_coarse else 1e-10, name.startswith("slope")
            )
        except small.NotInPage:
            return "not in page"
        if found and found[0] == "values" and is_rounding(lines, name, one[name]):
            return "rounding"
        if found:
            look = f"print({name})  # {found[0]}"
            return Failure.of(operation, found[0], [*lines, look], found[1:])
    return None


def examine(steps):
    """How a program ends; a failure comes from its first step, without the lines it can spare."""
    ending = compare(with_slopes(steps))
    if isinstance(ending, str):
        return ending
    for end in range(1, len(steps)):
        early = compare(with_slopes(steps[:end]))
        if isinstance(early, Failure):
            ending, steps = early, steps[:end]
            break
    for step in steps[:-1]:
        fewer = [other for other in steps if other is not step]
        shorter = compare(with_slopes(fewer))
        if isinstance(shorter, Failure) and shorter[:2] == ending[:2]:
            ending, steps = shorter, fewer
    return ending


def report(failures):
    """The distinct failures, one snippet each, the shortest first."""
    groups = {}
    for operation, kind, snippet in failures:
        groups.setdefault((operation, kind), []).append(snippet)
    ordered = sorted(groups.items(), key=lambda group: min(map(len, group[1])))
    return "\n".join(
        f"\n=== {operation}: {kind} ({len(found)} times)\n{min(found, key=len)}"
        for (operation, kind), found in ordered
    )


def main(examples):
    """Compare the programs of so many seeds, and print the JSON."""
    warnings.simplefilter("ignore")
    programs = [Program(seed).steps for seed in range(examples)]
    endings = [examine(steps) for steps in programs]
    ends = Counter(end if isinstance(end, str) else "different" for end in endings)
    unused = sorted(set(OPERATIONS) - {step.operation for steps in programs for step in steps})
    failures = report(end for end in endings if isinstance(end, Failure))
    print(json.dumps({"ends": ends, "unused": unused, "failures": failures}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
