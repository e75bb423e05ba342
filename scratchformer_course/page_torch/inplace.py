"""Writing into a tensor, and what the tape must then know of its memory.

The operation is computed beside, and its numbers are written into the memory. The tensor then comes
from the node of that operation. If it is a view, so does the tensor into which it looks: a part of
that came from the operation, and the rest from where it came before.
"""

from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.creation import tensor
from scratchformer_course.page_torch.dtypes import FLOAT, bool_, converted, int64
from scratchformer_course.page_torch.layout import overlaps, places
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.tape import Node, is_grad_enabled, node_of
from scratchformer_course.page_torch.tensor import (
    Tensor,
    new_tensor,
    numbers_as,
)
from scratchformer_course.page_torch.views import cleared, expand, order_in, spread


def write(target: Tensor, numbers: list) -> None:
    """Put numbers, in order, into the memory of a tensor, and count the change."""
    own = target._storage.numbers
    if target.numel() == len(own) and target.is_contiguous():
        own[:] = numbers
    else:
        offsets = places(target._shape, target._strides, target._offset)
        for place, number in zip(offsets, numbers, strict=True):
            own[place] = number
    target._changes[0] += 1


def check_overlap(target: Tensor) -> None:
    """Raise if a number stands at several indices: which of their values would it have?"""
    if overlaps(target._shape, target._strides):
        text = "unsupported operation: more than one element of the written-to tensor refers to"
        raise torch_error(
            RuntimeError,
            f"{text} a single memory location. Please clone() the tensor before performing the "
            "operation.",
        )


def check_shared(target: Tensor, *values: Any) -> None:
    """Lack what real PyTorch does if a tensor is written into memory from which it is read."""
    for value in values:
        if not isinstance(value, Tensor) or value._storage is not target._storage:
            continue
        own, theirs = (places(x._shape, x._strides, x._offset) for x in (target, value))
        if own != theirs and not set(own).isdisjoint(theirs):
            lack("writing a tensor into memory that it shares")


def check_writable(target: Tensor) -> None:
    """Raise if the tape forbids to write into a tensor."""
    if not is_grad_enabled():
        return
    if target._is_leaf_with_slopes and target._node is None:
        view = "a view of " if target._base is not None else ""
        text = f"{view}a leaf Variable that requires grad is being used in an in-place operation."
        raise torch_error(RuntimeError, text)
    base = target._base
    if base is not None and base._is_leaf_with_slopes and base._node is None:
        text = (
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )
        raise torch_error(RuntimeError, text)
    if target._is_one_of_many and target.requires_grad:
        raise torch_error(
            RuntimeError,
            f"Output 0 of {target._is_one_of_many} is a view and is being modified inplace. This "
            "view is the output of a function that returns multiple views. Such functions do not "
            "allow the output views to be modified inplace. You should replace the inplace "
            "operation by an out-of-place one.",
        )


def assign(target: Tensor, value: Tensor, name: str = "CopyBackwards") -> Tensor:
    """Write the numbers of `value`, stretched to the target's shape, into its memory."""
    check_writable(target)
    while value.ndim > target.ndim and value._shape[0] == 1:
        value = value[0]
    if value._shape != target._shape:
        value = expand(value, target._shape)
    check_shared(target, value)
    numbers = numbers_as(value, target.dtype)
    source = node_of(value) if target.dtype.kind >= FLOAT else None
    before = node_of(target)
    if name == "CopyBackwards":
        check_overlap(target)
    write(target, list(numbers))
    if is_grad_enabled() and (source or before):
        edges = [(source, lambda slope: slope.to(value.dtype))] if source else []
        if before and target._base is None:
            edges.append((before, lambda slope: slope._filled_with(0.0)))
        _comes_from(target, Node(name, edges))
    return target


def _comes_from(target: Tensor, node: Node) -> None:
    """Note that the numbers of a tensor, which was written into, come from a node."""
    base = target._base
    if base is None:
        target._node = node
        return
    order, shape, rest = order_in(base, target), target._shape, node_of(base)

    def of_the_part(slope: Tensor) -> Tensor:
        numbers = slope._numbers()
        return new_tensor([numbers[place] for place in order], shape, slope.dtype)

    edges = [(rest, lambda slope: cleared(slope, order))] if rest else []
    edges.append((node, of_the_part))
    base._node = Node("CopySlices", edges)
    target._seen = target._version
    slope_of_base = [(base._node, lambda slope: spread(base._shape, order, slope))]
    target._node = Node("AsStridedBackward0", slope_of_base)


def in_place(operation: Callable, name: str) -> Callable:
    """The operation that writes its result into its first tensor, such as `add_`."""

    def call(target: Tensor, *given: Any, **named: Any) -> Any:
        check_writable(target)
        check_shared(target, *given)
        before = new_tensor(list(target._numbers()), target._shape, target.dtype)
        before._node = node_of(target)
        result = operation(before, *given, **named)
        if result is NotImplemented:
            return result
        if result.dtype.kind > target.dtype.kind and target.dtype is bool_:
            lack("such a result written into bools")
        if result.dtype.kind > target.dtype.kind:
            raise torch_error(
                RuntimeError,
                f"result type {result.dtype.word} can't be cast to the desired output type "
                f"{target.dtype.word}",
            )
        if result._shape != target._shape:
            raise torch_error(
                RuntimeError,
                f"output with shape {list(target._shape)} doesn't match the broadcast shape "
                f"{list(result._shape)}",
            )
        check_overlap(target)
        write(target, list(numbers_as(result, target.dtype)))
        if is_grad_enabled():
            node = result._node
            if node is not None:
                node.saved = [
                    (target, target._version) if tensor is result else (tensor, version)
                    for tensor, version in node.saved
                ]
                node.result = target
                _comes_from(target, node)
        return target

    call.__name__ = name
    return call


def copy_(x: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the numbers of another tensor into this one."""
    return assign(x, src)


def fill_(x: Tensor, value: Any) -> Tensor:
    """Write one number everywhere."""
    check_writable(x)
    if not isinstance(value, Tensor):
        value = tensor(value, dtype=x.dtype)
    return assign(x, value, "FillBackward0")


def zero_(x: Tensor) -> Tensor:
    """Write zeros."""
    check_writable(x)
    return assign(x, new_tensor(converted([0], int64, x.dtype), (), x.dtype), "ZeroBackward0")


def fill_diagonal_(x: Tensor, fill_value: complex) -> Tensor:
    """Write one number on the diagonal of a matrix."""
    check_writable(x)
    fill_(x.diagonal(), fill_value)
    return x
