"""`torch.nn.utils`: slopes cut to a length, and texts filled up to one."""

from collections.abc import Iterable, Sequence
from typing import Any

from scratchformer_course.page_torch.creation import full, tensor
from scratchformer_course.page_torch.joining import cat, stack
from scratchformer_course.page_torch.missing import guard_module, lack
from scratchformer_course.page_torch.tape import GradMode
from scratchformer_course.page_torch.tensor import Tensor


def _with_slopes(parameters: Any) -> list[Tensor]:
    own = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [parameter for parameter in own if parameter.grad is not None]


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Shorten all slopes by one factor, if together they are longer than `max_norm`."""
    if norm_type != 2.0 or error_if_nonfinite:
        lack("`clip_grad_norm_` with these settings")
    own = _with_slopes(parameters)
    if not own:
        return tensor(0.0)
    with GradMode(False):
        length = stack([parameter.grad.norm() for parameter in own]).norm()
        factor = (max_norm / (length + 1e-6)).clamp(max=1.0)
        for parameter in own:
            parameter.grad.mul_(factor)
    return length


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Cut each slope to a size."""
    with GradMode(False):
        for parameter in _with_slopes(parameters):
            parameter.grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All numbers of all parameters in a row."""
    return cat([parameter.view(-1) for parameter in parameters])


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Texts of several lengths, filled up to the longest: (T, B, …), or (B, T, …)."""
    longest = max(x._shape[0] for x in sequences)
    shape = (len(sequences), longest, *sequences[0]._shape[1:])
    out = full(shape, padding_value, dtype=sequences[0].dtype)
    for i, x in enumerate(sequences):
        start = 0 if padding_side == "right" else longest - x._shape[0]
        out[i, start : start + x._shape[0]] = x
    return out if batch_first else out.transpose(0, 1)


guard_module(globals(), "utils", "nn.utils")
