"""Random expressions, evaluated once with the real PyTorch and once with the small one of the page.

An example is a short program of plain `torch` code (see random_programs.py), and one `backward()` where slopes are
asked for. Both libraries run it, and after each line all that a reader can see of every tensor is compared.

Usage: python random_expressions.py 1500

It prints JSON: how many ended how, operations that were not drawn, and all distinct failures, one snippet each.
"""

import functools
import json
import math
import sys
import warnings
from collections import Counter

from random_programs import (
    NOT_IN_PAGE,
    OPERATIONS,
    Program,
    attempt,
    flat,
    fresh,
    real,
    seen,
    small,
    tensors_in,
)

EXAMPLES = 1500
HEAD = 'import torch\nimport torch.nn.functional as F\ninf, nan = float("inf"), float("nan")\n'
LOOKS = {
    "dtype": lambda t: str(t.dtype),
    "shape": lambda t: tuple(t.shape),
    "values": lambda t: flat(t.tolist()),
    "stride": lambda t: [
        step for step, size in zip(t.stride(), t.shape) if size > 1 and 0 not in t.shape
    ],
    "is_contiguous()": lambda t: t.is_contiguous(),
    "requires_grad": lambda t: t.requires_grad,
    "grad_fn is None": lambda t: t.grad_fn is None,
}


def facts(value):
    """Returns all that is compared of a value, as pairs of a kind and a fact."""
    if isinstance(value, (real.Tensor, small.Tensor)):
        return [("type", "Tensor")] + [(kind, seen(look, value)) for kind, look in LOOKS.items()]
    if isinstance(value, (list, tuple)):
        size = ("length", f"{'tuple' if isinstance(value, tuple) else 'list'} of {len(value)}")
        return [size] + [fact for part in value for fact in facts(part)]
    return [("type", type(value).__name__), ("values", [value])]


def close(one, two, tolerance):
    """Returns whether two lists of numbers agree; floats relative to the largest finite number (at least 0.05) of the first."""
    largest = max([0.05, *(abs(a) for a in one if isinstance(a, float) and math.isfinite(a))])
    return len(one) == len(two) and all(
        type(a) is type(b)
        and (
            a == b
            or isinstance(a, float)
            and (a != a and b != b or abs(a - b) <= tolerance * largest)
        )
        for a, b in zip(one, two)
    )


def difference(one, two, tolerance, is_slope=False):
    """Returns the first difference of two values as a kind and both facts, or None; the layout of slopes is free."""
    for (kind, a), (other, b) in zip(facts(one), facts(two)):
        if is_slope and kind in ("stride", "is_contiguous()"):
            continue
        same = (
            close(a, b, tolerance)
            if kind == other == "values" and type(a) is type(b) is list
            else (kind, a) == (other, b)
        )
        if not same:
            return kind, a, b
    return None


def finish(steps):
    """Returns the steps with a `backward()` from the last tensor that has a slope, and with a look at each leaf's slope."""
    names = fresh(real)
    candidates = [] if any([attempt(line, names) for _, line, _ in steps]) else tensors_in(names)
    candidates.sort(key=lambda pair: pair[0].split("[")[0] == steps[-1][2].split("[")[0])
    for text, value in reversed(candidates):
        if seen(LOOKS["grad_fn is None"], value) is False:
            weights = f"torch.tensor({[(7 * i % 11 - 5) / 4 for i in range(value.numel())]}, dtype={value.dtype}).reshape({tuple(value.shape)})"
            leaves = [
                key
                for key, leaf in names.items()
                if isinstance(leaf, real.Tensor)
                and leaf.requires_grad
                and seen(LOOKS["grad_fn is None"], leaf) is True
            ]
            operation = f"backward() of {steps[-1][0]}"
            return (
                steps
                + [(operation, f"({text} * {weights}).sum().backward()", "")]
                + [(operation, f"slope_{key} = {key}.grad", "") for key in leaves]
            )
    return steps


def wobbly(lines, name, value):
    """Returns whether float64 tells that rounding alone changes this value of the real PyTorch."""
    names = fresh(real)
    errors = [attempt(line.replace("float32", "float64"), names) for line in lines]
    numbers = [
        [flat(fact) for kind, fact in facts(v) if kind == "values"]
        for v in (value, names.get(name))
    ]
    return not any(errors) and not all(close(a, b, 1e-6) for a, b in zip(*numbers))


def check(steps):
    """Runs the steps with both; returns how it ended, or a failure (operation, kind, snippet)."""
    one, two, lines = fresh(real), fresh(small), []
    for operation, line, _ in steps:
        errors = attempt(line, one), attempt(line, two)
        lines.append(line)
        if errors[1] == "NotInPage":
            return "not in page"
        if errors[0] != errors[1]:
            return operation, "error", snippet(lines, "", errors)
        if errors[0]:
            return "same error"
        tolerance = (
            1e-5 if any(tensor.dtype == real.float32 for _, tensor in tensors_in(one)) else 1e-10
        )
        for name in [key for key in one if key[0] in "xywls"]:
            try:
                found = difference(one[name], two[name], tolerance, name.startswith("slope"))
            except NOT_IN_PAGE:
                return "not in page"
            if found and found[0] == "values" and wobbly(lines, name, one[name]):
                return "rounding"
            if found:
                return (
                    operation,
                    found[0],
                    snippet(lines, f"print({name})  # {found[0]}", found[1:]),
                )
    return "same slopes" if "backward()" in steps[-1][0] else "same"


def snippet(lines, last, facts_of_both):
    """Returns the code that shows a failure."""
    real_one, small_one = (text or "no error" for text in map(str, facts_of_both))
    return "\n".join(
        [HEAD + "\n".join(lines), last, f"# real torch: {real_one}", f"# page_torch: {small_one}"]
    )


def examine(steps):
    """Checks a program; a failure is traced to its first step and rid of the lines that it does not need."""
    outcome = check(finish(steps))
    if isinstance(outcome, str):
        return outcome
    for end in range(1, len(steps)):
        early = check(finish(steps[:end]))
        if not isinstance(early, str):
            outcome, steps = early, steps[:end]
            break
    for step in steps[:-1]:
        fewer = [other for other in steps if other is not step]
        shorter = check(finish(fewer))
        if not isinstance(shorter, str) and shorter[:2] == outcome[:2]:
            outcome, steps = shorter, fewer
    return outcome


@functools.cache
def outcomes(examples):
    """Returns, for every seed, the steps and how the comparison ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        programs = [Program(seed).steps for seed in range(examples)]
        return [(steps, examine(steps)) for steps in programs]


def report(examples, most=None):
    """Returns the distinct failures, one snippet each, the shortest first."""
    groups = {}
    for _, outcome in outcomes(examples):
        if not isinstance(outcome, str):
            groups.setdefault(outcome[:2], []).append(outcome[2])
    ordered = sorted(groups.items(), key=lambda group: min(map(len, group[1])))
    return "\n".join(
        f"\n=== {operation}: {kind} ({len(found)} times)\n{min(found, key=len)}"
        for (operation, kind), found in ordered[:most]
    )


if __name__ == "__main__":
    count = int(sys.argv[1])
    ends = Counter(end if isinstance(end, str) else "different" for _, end in outcomes(count))
    drawn = {step[0] for steps, _ in outcomes(count) for step in steps}
    unused = sorted(set(OPERATIONS) - drawn)
    print(json.dumps({"ends": ends, "unused": unused, "failures": report(count)}))
