"""Tensors in words, as PyTorch writes them: four digits, aligned, and `...` in large ones."""

import math
from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.dtypes import (
    COMPLEX,
    DEFAULTS,
    FLOAT,
    bool_,
    complex64,
    float32,
    int64,
)
from scratchformer_course.page_torch.tensor import Tensor

DIGITS, WIDTH = 4, 80
THRESHOLD, EDGE = 1000, 3  # beyond so many numbers only the edges are shown
LARGEST, SMALLEST, SPAN = 1e8, 1e-4, 1000.0  # outside of these, numbers have an exponent


def _writer(numbers: list) -> Callable[[Any], str]:
    """How the numbers of a tensor are written, so that all are of one width."""
    if not numbers or not isinstance(numbers[0], float):
        width = max((len(str(number)) for number in numbers), default=0)
        return lambda number: str(number).rjust(width)
    sizes = [abs(number) for number in numbers if math.isfinite(number) and number != 0]
    are_whole = all(size == math.ceil(size) for size in sizes)
    has_exponent = bool(sizes) and (
        max(sizes) / min(sizes) > SPAN
        or max(sizes) > LARGEST
        or (not are_whole and min(sizes) < SMALLEST)
    )

    def written(number: float) -> str:
        if has_exponent:
            return f"{number:.{DIGITS}e}"
        if are_whole:
            return f"{number:.0f}." if math.isfinite(number) else f"{number:.0f}"
        return f"{number:.{DIGITS}f}"

    shown = [number for number in numbers if math.isfinite(number) and number != 0]
    width = max((len(written(number)) for number in shown), default=1)
    return lambda number: written(number).rjust(width)


def _complex_writer(numbers: list[complex]) -> Callable[[Any], str]:
    real, imaginary = _writer([z.real for z in numbers]), _writer([z.imag for z in numbers])

    def written(z: complex) -> str:
        part = imaginary(z.imag).strip()
        return real(z.real) + (part if part.startswith("-") else f"+{part}") + "j"

    return written


def _grid(x: Tensor, indent: int, shortened: bool, write: Callable[[Any], str]) -> str:
    """Brackets in brackets."""
    if not x.ndim:
        return write(x.item())
    size = x._shape[0]
    is_cut = shortened and size > 2 * EDGE
    places = [*range(EDGE), None, *range(size - EDGE, size)] if is_cut else list(range(size))
    if x.ndim == 1:
        own = x._numbers()
        width = len(write(own[0])) if own else 0
        per_line = max(1, (WIDTH - indent) // (width + 2))
        words = [" ..." if place is None else write(own[place]) for place in places]
        lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [
        "..." if place is None else _grid(x[place], indent + 1, shortened, write)
        for place in places
    ]
    between = "," + "\n" * (x.ndim - 1) + " " * (indent + 1)
    return "[" + between.join(parts) + "]"


def _edges(x: Tensor) -> list:
    """The numbers that a shortened tensor shows."""
    if not x.ndim:
        return x._numbers()
    size = x._shape[0]
    is_cut = size > 2 * EDGE
    places = [*range(EDGE), *range(size - EDGE, size)] if is_cut else range(size)
    if x.ndim == 1:
        own = x._numbers()
        return [own[place] for place in places]
    return [number for place in places for number in _edges(x[place])]


def as_text(tensor: Tensor) -> str:
    """The words of `print(tensor)`."""
    x = tensor.detach()
    start, notes = "tensor(", []
    is_usual = x.dtype in (DEFAULTS[FLOAT], int64, bool_, complex64)
    if not x.numel():
        body = "[]"
        if x.ndim != 1:
            notes.append(f"size={tuple(x._shape)}")
        is_usual = x.dtype is DEFAULTS[FLOAT]
    else:
        shortened = x.numel() > THRESHOLD
        numbers = _edges(x) if shortened else x._numbers()
        if x.dtype.kind == FLOAT and x.dtype not in (float32, DEFAULTS[FLOAT]):
            numbers = [float(number) for number in numbers]
        write = _complex_writer(numbers) if x.dtype.kind == COMPLEX else _writer(numbers)
        body = _grid(x, len(start), shortened, write)
    if not is_usual:
        notes.append(f"dtype={x.dtype}")
    if tensor.grad_fn is not None:
        notes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    words = start + body
    length = len(words) - words.rfind("\n") + 1
    for note in notes:
        if length + len(note) + 2 > WIDTH:
            words += ",\n" + " " * len(start) + note
            length = len(start) + len(note)
        else:
            words += ", " + note
            length += len(note) + 2
    return words + ")"
