"""Numbers taken from places of a tensor's order, or written there, and the slopes of both."""

from collections.abc import Sequence

from scratchformer_course.page_torch.arithmetic import laid_out
from scratchformer_course.page_torch.dtypes import rounded
from scratchformer_course.page_torch.tape import record
from scratchformer_course.page_torch.tensor import Tensor, new_tensor, numbers_as
from scratchformer_course.page_torch.views import cleared, spread


def taken(
    x: Tensor,
    order: list[int],
    shape: Sequence[int],
    name: str,
    ids: Tensor | None = None,
    like: Tensor | None = None,
) -> Tensor:
    """The numbers of x, in its order, at these places, in new memory.

    `ids` are saved where real PyTorch saves them, so that a second way back fails. The strides
    are in the order of those of `like`.
    """
    own = x._numbers()
    out = laid_out(new_tensor([own[place] for place in order], tuple(shape), x.dtype), like)
    saved = [] if ids is None else [ids]
    return record(out, name, (x, lambda slope: spread(x._shape, order, slope), *saved))


def written(x: Tensor, order: list[int], value: Tensor, adds: bool, name: str) -> Tensor:
    """A copy of x with the numbers of `value` at these places of its order, or added there."""
    numbers = list(x._numbers())
    for place, number in zip(order, numbers_as(value, x.dtype), strict=True):
        numbers[place] = numbers[place] + number if adds else number
    out = new_tensor(rounded(numbers, x.dtype), x._shape, x.dtype)
    last = {place: i for i, place in enumerate(order)}  # what is written last stays

    def of_x(slope: Tensor) -> Tensor:
        return slope if adds else cleared(slope, order)

    def of_value(slope: Tensor) -> Tensor:
        own = slope._numbers()
        parts = [own[place] if adds or last[place] == i else 0.0 for i, place in enumerate(order)]
        return new_tensor(parts, value._shape, slope.dtype).to(value.dtype)

    return record(out, name, (x, of_x), (value, of_value))
