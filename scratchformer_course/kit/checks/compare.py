"""Compare a learner's value with the right one, and say in words where the two differ.

A value is first rebuilt from plain built-in types and plain tensors, since several types mean the
same. torch is looked up, never imported: chapter 1 does not wait for it.
"""

import math
import re
import reprlib
import sys
from collections.abc import Mapping
from typing import Any

TOLERANCE = 1e-4  # of the number, and of the largest beside it, but of no more than 1
LEAST = 1e-7  # what float32 may leave where 0 is expected
COARSE = {"torch.bfloat16": 8e-3, "torch.float16": 1e-3}  # these hold 2 or 3 digits
USUAL = ("torch.float32", "torch.float64", "torch.int64")  # any type will do in place of these
ACCEPTED: dict[type, Any] = {bool: bool, int: int, float: int | float, str: str, bytes: bytes}


class OtherKind(Exception):
    """Carries the value that was given, and an example of the kind that is expected."""


def is_tensor(value: Any) -> bool:
    """Whether this is a tensor; False as long as nobody has imported torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def kind(value: Any) -> str:
    """The type in words: "a list", "a float32 tensor of shape (2, 3)"."""
    name = type(value).__name__
    if is_tensor(value):
        name = f"{str(value.dtype)[6:]} tensor of shape {tuple(value.shape)}"
    return f"{'an' if re.match('[aeiouAEIO]|nd', name) else 'a'} {name}"


def brief(value: Any, width: int = 80) -> str:
    """At most `width` characters in one line for anything, without memory addresses."""
    if is_tensor(value) and value.numel() > 12:
        return kind(value)
    short = reprlib.Repr()
    short.maxtuple = short.maxlist = short.maxdict = 12
    short.maxstring = short.maxlong = short.maxother = width
    text = re.sub(r"\s*\n\s*| at 0x[0-9a-fA-F]+", " ", short.repr(value)).strip()
    return text if len(text) <= width else text[: width - 1] + "…"


def written(value: Any) -> str:
    """All numbers of a tensor of at most 40, in up to four digits: "[[1., 0.25], [-3., 2.]]"."""
    if is_tensor(value):
        text = written(value.tolist() if value.numel() <= 40 else "…")
        is_usual = str(value.dtype) in (*USUAL, "torch.bool")
        return text if is_usual else f"{str(value.dtype)[6:]} {text}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{text}." if isinstance(value, float) and text.lstrip("-").isdigit() else text


def error_in_words(error: BaseException | None) -> str:
    """Type and text of an error: "ValueError: too long"; the type alone if it has no text."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".rstrip(": .")


def fresh(value: Any) -> Any:
    """A deep copy of plain data and tensors; anything else as it is."""
    if type(value) in (list, tuple):
        return type(value)(fresh(item) for item in value)
    if type(value) is dict:
        return {key: fresh(item) for key, item in value.items()}
    return value.clone() if is_tensor(value) else value


def plain(value: Any, example: Any) -> Any:
    """The value in plain types, of the kind of the example; `OtherKind` if it is of another.

    Accepted as the same kind: subclasses, tensors and numpy scalars without dimensions for
    numbers, sparse tensors for dense ones, any mapping for a dict, and a list or a row of numbers
    for a tuple unless that holds strings only (a word in pieces is a tuple; several results may
    be a list).
    """
    if is_tensor(example):
        is_exact = not example.is_floating_point()
        if not is_tensor(value) or value.is_complex() or (value.is_floating_point() and is_exact):
            raise OtherKind(value, example)
        return (value.to_dense() if value.is_sparse else value).detach().cpu()
    example, number = (x.item() if getattr(x, "ndim", None) == 0 else x for x in (example, value))
    if type(example) in ACCEPTED:
        if not isinstance(number, ACCEPTED[type(example)]):
            raise OtherKind(value, example)
        return type(example)(number)
    if isinstance(example, dict) and isinstance(value, Mapping):
        key, item = next(iter(example.items()), (None, None))
        pairs = value.items()
        return {plain(k, key): plain(v, item) for k, v in pairs} if example else dict(pairs)
    several = isinstance(example, tuple) and not all(isinstance(item, str) for item in example)
    is_row = several and all(isinstance(item, int | float) for item in example)
    if is_row and getattr(value, "shape", None) == (len(example),):
        value = value.tolist()  # of NumPy's or PyTorch's
    is_same = isinstance(value, (list, tuple) if several else type(example))
    if not is_same or not isinstance(example, list | tuple):
        raise OtherKind(value, example)
    examples = example if len(example) == len(value) else example[:1] * len(value)
    return type(example)(map(plain, value, examples or value))


def same(a: Any, b: Any) -> bool:
    """Equality of plain data; fractions to 1e-4 (less in half precision), NaN equals NaN.

    Whole numbers are equal or not. Where `b` is a boolean tensor, `a` must be one, since `~` does
    something else to numbers; and a type that is expected instead of the usual one counts.
    """
    if a is b:
        return True
    if is_tensor(a) and is_tensor(b):
        return a.shape == b.shape and has_type_of(a, b) and not bool(_apart(a, b).any())
    if isinstance(a, float) and isinstance(b, float):
        close = math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=LEAST)
        return close or (math.isnan(a) and math.isnan(b))
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(a == b)


def has_type_of(tensor: Any, expected: Any) -> bool:
    """Whether a tensor's type will do: any, unless booleans or fewer bits are asked for."""
    return tensor.dtype == expected.dtype or str(expected.dtype) in USUAL


def _apart(a: Any, b: Any) -> Any:
    """Where two tensors of one shape differ by more than rounding, as a tensor of booleans."""
    if not (a.is_floating_point() or b.is_floating_point()):
        return a != b
    near = COARSE.get(str(b.dtype), TOLERANCE)  # of what is expected
    a, b = a.detach().double(), b.detach().double()
    sizes = b[b.isfinite()].abs()
    largest = min(1.0, float(sizes.max())) if len(sizes) else 0.0
    return ~a.isclose(b, rtol=near, atol=max(near * largest, LEAST), equal_nan=True)


def matches(value: Any, known: Any) -> bool:
    """Whether a learner's value equals a known one, as far as types that mean the same go."""
    if getattr(known, "ndim", None) == 0 and not is_tensor(value):
        known = known.item()  # a tensor or a numpy scalar without dimensions
    try:
        return same(plain(value, known), known)
    except OtherKind:
        return False


def difference(got: Any, expected: Any) -> str:
    """What is wrong with a plain value, as the end of a sentence: "returned 5 at [1], …"."""
    if isinstance(got, float):
        if not math.isfinite(got) and math.isfinite(expected):
            return f"returned {got}, not a finite number"
        if f"{got:.6g}" != f"{expected:.6g}":
            return f"returned {got:.6g}, expected {expected:.6g}"
    returned, wanted, place = brief(got), brief(expected), ""
    if is_tensor(got) or returned == wanted or re.search("…|\\.\\.\\.|tensor", returned + wanted):
        got, expected, place = _first_difference(got, expected)
    if is_tensor(got) and is_tensor(expected):
        return _tensor_difference(got, expected) + (f" in `answer{place}`" if place else "")
    where = f" at {place}" if place else ""
    first = "" if place else _first_difference(got, expected)[2]
    first = f": the first that differs is {first}" if first.count("[") == 1 and len(got) > 4 else ""
    return f"returned `{brief(got)}`{where}, expected `{brief(expected)}`{first}"


def _first_difference(got: Any, expected: Any, place: str = "") -> tuple[Any, Any, str]:
    """What differs first in two plain values, and its place in them, such as "[1][0]"."""
    if isinstance(got, str) and isinstance(expected, str) and len(got) > 40:
        pairs = enumerate(zip(got, expected, strict=False))
        at = next((i for i, (a, b) in pairs if a != b), min(len(got), len(expected)))
        return got[at : at + 40], expected[at : at + 40], f"{place}[{at}:]"
    keys: Any = []
    if isinstance(got, list | tuple) and len(got) != len(expected):
        pairs = enumerate(zip(got, expected, strict=False))
        at = next((i for i, (a, b) in pairs if not same(a, b)), min(len(got), len(expected)))
        if at > 8:  # what comes before fills a line
            return got[at:], expected[at:], f"{place}[{at}:]"
    if isinstance(got, dict):
        keys = [key for key in expected if key in got]
    elif isinstance(got, list | tuple) and len(got) == len(expected):
        keys = range(len(got))
    for key in keys:
        if not same(got[key], expected[key]):
            return _first_difference(got[key], expected[key], f"{place}[{key!r}]")
    return got, expected, place


def _tensor_difference(got: Any, expected: Any) -> str:
    if got.shape != expected.shape:
        shapes = tuple(got.shape), tuple(expected.shape)
        return "returned a tensor of shape {}, but {} is expected".format(*shapes)
    if not has_type_of(got, expected):
        wanted = kind(expected).partition(" tensor")[0].replace("bool", "boolean")
        return f"returned {kind(got)}, but {wanted} one is expected"
    if bad := int((~got.isfinite() & expected.isfinite()).sum()):
        return f"returned NaN or infinity in {bad} of {got.numel()} places"
    place = _apart(got, expected).nonzero()[0].tolist()
    a, b = got[tuple(place)].item(), expected[tuple(place)].item()
    pairs = [(f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in range(4, 18)]
    if isinstance(a, int):
        pairs = [(str(a), str(b))]
    returned, wanted = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
    where = f" at {place}" if place else ""
    return f"returned {returned}{where}, expected {wanted}"
