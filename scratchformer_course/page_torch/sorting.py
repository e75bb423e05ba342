"""Order: sort, the k largest, counts."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from scratchformer_course.page_torch.dtypes import FLOAT, INTEGER, int64
from scratchformer_course.page_torch.layout import axis_of
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.selection import best, in_sorted_order
from scratchformer_course.page_torch.tape import named
from scratchformer_course.page_torch.tensor import Tensor, new_tensor, numbers_as


class Pair(tuple):
    """Values and their places, also by name: `.values`, `.indices`."""

    name = ""

    @property
    def values(self) -> Tensor:
        """The numbers."""
        return self[0]

    @property
    def indices(self) -> Tensor:
        """Where they stood."""
        return self[1]

    def __repr__(self) -> str:
        return f"torch.return_types.{self.name}(\nvalues={self[0]!r},\nindices={self[1]!r})"

    @staticmethod
    @lru_cache
    def named(name: str) -> type:
        """The pair that an operation of this name gives."""
        return type(f"torch.return_types.{name}", (Pair,), {"name": name})


def argsort(x: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The places of the numbers along an axis, from the smallest to the largest; nan is larger."""
    if not x.ndim:
        return new_tensor([0], (), int64)
    axis = axis_of(dim, x.ndim)
    lists = x.detach().movedim(axis, -1)
    own, n = lists._numbers(), x._shape[axis]
    places: list[int] = []
    for start in range(0, len(own), max(n, 1)):
        row = own[start : start + n]

        places += in_sorted_order(row, descending, stable)
    return in_order(new_tensor(places, lists._shape, int64), axis)


def in_order(lists: Tensor, axis: int) -> Tensor:
    """A tensor whose last axis is taken to its place, in new memory."""
    x = lists.movedim(-1, axis)
    return new_tensor(list(x._numbers()), x._shape, x.dtype)


def sort(x: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Pair:
    """The numbers along an axis in order, and their places."""
    at = argsort(x, dim, descending, stable)
    values = x.gather(dim, at) if x.ndim else x.clone()
    return _pair("sort", values, at)


def _pair(name: str, values: Tensor, at: Tensor) -> Pair:
    named(values, f"{name.capitalize()}Backward0")
    return Pair.named(name)((values, at))


def topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Pair:
    """The k largest along an axis, or the smallest, and their places."""
    n = x._shape[axis_of(dim, x.ndim)] if x.ndim else 1
    if not 0 <= k <= n:
        raise torch_error(RuntimeError, "selected index k out of range")
    if not x.ndim:
        return _pair("topk", x.clone(), new_tensor([0] * k, (), int64))
    axis = axis_of(dim, x.ndim)
    lists = x.detach().movedim(axis, -1)
    own = lists._numbers()
    rows = (own[start : start + n] for start in range(0, len(own), max(n, 1)))
    places = [place for row in rows for place in best(row, k, largest)]
    at = in_order(new_tensor(places, (*lists._shape[:-1], k), int64), axis)
    return _pair("topk", x.gather(axis, at), at)


def kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Pair:
    """The k-th smallest along an axis, and its place."""
    if not x.ndim:
        return _pair("kthvalue", x.clone(), new_tensor([0], (), int64))
    if not 1 <= k <= x._shape[axis_of(dim, x.ndim)]:
        text = "kthvalue(): selected number k out of range for dimension"
        raise torch_error(RuntimeError, f"{text} {axis_of(dim, x.ndim)}")
    at = argsort(x, dim).narrow(dim, k - 1, 1)
    values = x.gather(dim, at)
    return _pair("kthvalue", *((values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))))


def unique(
    x: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different numbers, in order; also which of them each one is, and how often each comes."""
    if dim is not None or x.requires_grad:
        lack("`torch.unique` along an axis, or with slopes")
    own = x._numbers()
    different = list(dict.fromkeys(own))
    different.sort()
    rank = {number: i for i, number in enumerate(different)}
    found = [new_tensor(different, (len(different),), x.dtype)]
    if return_inverse:
        found.append(new_tensor([rank[number] for number in own], x._shape, int64))
    if return_counts:
        counts = [own.count(number) for number in different]
        found.append(new_tensor(counts, (len(counts),), int64))
    return found[0] if len(found) == 1 else tuple(found)


def bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each whole number comes, or the sum of its weights."""
    own = x._numbers()
    if x.ndim != 1 or x.dtype.kind != INTEGER or (own and min(own) < 0):
        text = "bincount only supports 1-d non-negative integral inputs."
        raise torch_error(RuntimeError, text)
    kind = int64 if weights is None else weights.dtype
    sums = [0 if kind.kind < FLOAT else 0.0] * max(minlength, max(own, default=-1) + 1)
    for place, weight in zip(
        own, [1] * len(own) if weights is None else weights._numbers(), strict=True
    ):
        sums[place] += weight
    return new_tensor(sums, (len(sums),), kind)


def searchsorted(
    sorted_sequence: Tensor, input: Any, *, right: bool = False, side: str | None = None
) -> Tensor:
    """Where numbers would stand in a row that is in order."""
    import bisect

    is_tensor = isinstance(input, Tensor)
    if sorted_sequence.ndim != 1:
        lack("`torch.searchsorted` in several rows")
    find: Callable = bisect.bisect_right if right or side == "right" else bisect.bisect_left
    row = sorted_sequence._numbers()
    numbers = numbers_as(input, input.dtype) if is_tensor else [input]
    shape = input._shape if is_tensor else ()
    return new_tensor([find(row, number) for number in numbers], shape, int64)
