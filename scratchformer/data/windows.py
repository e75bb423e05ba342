"""A text's ids as overlapping windows, in order: a dataset for PyTorch's DataLoader.

It does not draw at random (`scratchformer.data.batches` does) and does not pad.
"""

from jaxtyping import Integer
from torch import Tensor
from torch.utils.data import Dataset


class SlidingWindows(Dataset):
    """Pairs (x, y), each (T,) with T = `context_length`; y is one position ahead of x.

    A window starts every `stride` ids (default: T, so that windows touch and do not overlap).
    The last window is kept: where the steps do not end at the text's end, it starts earlier than
    a whole step, so that its last target is the last id. Raises ValueError if a window does not
    fit or the stride is less than 1.
    """

    def __init__(
        self, ids: Integer[Tensor, "N"], context_length: int, stride: int | None = None
    ) -> None:
        stride = context_length if stride is None else stride
        if not 0 < context_length < len(ids):
            raise ValueError(
                f"context_length={context_length} must be at least 1, and less than the number "
                f"of ids, {len(ids)}: the last target lies one past the window"
            )
        if stride < 1:
            raise ValueError(f"stride={stride} must be at least 1: a window must move on")
        self.ids, self.context_length, self.stride = ids, context_length, stride
        self.last = len(ids) - context_length - 1  # start of the last window

    def __len__(self) -> int:
        return -(-self.last // self.stride) + 1  # rounded up: a part of a step is a window too

    def __getitem__(self, i: int) -> tuple[Integer[Tensor, "T"], Integer[Tensor, "T"]]:
        if not 0 <= i < len(self):  # a for loop needs it to find the end
            raise IndexError(f"window {i}: there are {len(self)}, counted from 0")
        start = min(i * self.stride, self.last)
        window = self.ids[start : start + self.context_length + 1]  # (T + 1,)
        return window[:-1], window[1:]
