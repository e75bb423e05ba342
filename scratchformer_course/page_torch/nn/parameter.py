"""What a module keeps and gives: parameters, the names of a file, handles of hooks."""

from scratchformer_course.page_torch.creation import empty
from scratchformer_course.page_torch.dtypes import FLOAT
from scratchformer_course.page_torch.missing import torch_error
from scratchformer_course.page_torch.printing import as_text
from scratchformer_course.page_torch.tensor import Tensor, view_of_storage


class Parameter(Tensor):
    """A tensor that a module trains."""

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> "Parameter":
        x = empty(0) if data is None else data
        out = view_of_storage(x._storage, x._shape, x._strides, x._offset, x.dtype, cls)
        out._changes = x._changes
        if requires_grad and x.dtype.kind < FLOAT:
            text = "Only Tensors of floating point and complex dtype can require gradients"
            raise torch_error(RuntimeError, text)
        out.requires_grad = requires_grad
        return out  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Parameter containing:\n{as_text(self)}"


class Keys(tuple):
    """What `load_state_dict` gives: names that were missing, and names too many."""

    missing_keys = property(lambda self: self[0])
    unexpected_keys = property(lambda self: self[1])

    def __repr__(self) -> str:
        if not self[0] and not self[1]:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self[0]}, unexpected_keys={self[1]})"


class Handle:
    """What registering a hook gives: `remove()` takes it away."""

    def __init__(self, hooks: dict, key: object):
        self.hooks, self.key = hooks, key

    def remove(self) -> None:
        """Take the hook away."""
        self.hooks.pop(self.key, None)

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
