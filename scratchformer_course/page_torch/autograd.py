"""`torch.autograd`: slopes of tensors that are asked for by name."""

from collections.abc import Sequence
from typing import Any

from scratchformer_course.page_torch.missing import guard_module, lack, torch_error
from scratchformer_course.page_torch.tape import (
    NO_SLOPES,
    carry_back,
    enable_grad,
    first_slope,
    no_grad,
    set_grad_enabled,
)
from scratchformer_course.page_torch.tensor import Tensor

__all__ = ["backward", "enable_grad", "grad", "no_grad", "set_grad_enabled"]


def _listed(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
) -> tuple[Tensor | None, ...]:
    """The slopes of (the sum of) the outputs at the inputs; no `.grad` is changed."""
    if create_graph:
        lack("`create_graph=True`")
    roots, wanted = _listed(outputs), _listed(inputs)
    given: Sequence = [None] * len(roots) if grad_outputs is None else _listed(grad_outputs)
    for root in roots:
        if not root.requires_grad:
            raise torch_error(RuntimeError, NO_SLOPES)
    for x in wanted:
        if not x.requires_grad:
            text = "One of the differentiated Tensors does not require grad"
            raise torch_error(RuntimeError, text)
    slopes = [first_slope(root, one) for root, one in zip(roots, given, strict=True)]
    found = carry_back(roots, slopes, wanted, bool(retain_graph))
    for i, slope in enumerate(found):
        if slope is None and not allow_unused:
            text = f"The differentiated Tensor at index {i} appears to not have been used in the"
            raise torch_error(
                RuntimeError,
                f"{text} graph. Set allow_unused=True if this is the desired behavior.",
            )
    return tuple(found)


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None) -> None:
    """Carry slopes back from several tensors to all leaves."""
    roots = _listed(tensors)
    given: Sequence = [None] * len(roots) if grad_tensors is None else _listed(grad_tensors)
    slopes = [first_slope(root, one) for root, one in zip(roots, given, strict=True)]
    carry_back(roots, slopes, None, bool(retain_graph))


guard_module(globals(), "autograd", "torch.autograd")
