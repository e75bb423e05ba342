"""Layers of `torch.nn`."""

import math
from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.creation import empty, ones, zeros
from scratchformer_course.page_torch.generator import default_generator
from scratchformer_course.page_torch.missing import guarded, lack, torch_error
from scratchformer_course.page_torch.nn import functional as F
from scratchformer_course.page_torch.nn import init
from scratchformer_course.page_torch.nn.module import Module
from scratchformer_course.page_torch.nn.parameter import Parameter
from scratchformer_course.page_torch.tape import GradMode
from scratchformer_course.page_torch.tensor import Tensor


class Linear(Module):
    """x @ weight.T + bias."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype, device=device))
        if bias:
            self.bias = Parameter(empty(out_features, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform numbers, as large as the size of the input allows."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        """(…, in_features) gives (…, out_features)."""
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The settings in `print(module)`."""
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class Embedding(Module):
    """A table with a row for each id."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx
        self.weight = Parameter(empty(num_embeddings, embedding_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Normal numbers, and zeros for the padding."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with GradMode(False):
                self.weight[self.padding_idx].fill_(0)

    def forward(self, ids: Tensor) -> Tensor:
        """(…) gives (…, embedding_dim)."""
        return F.embedding(ids, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """The settings in `print(module)`."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True) -> "Embedding":
        """A table of given rows."""
        state = default_generator.get_state()
        table = cls(*embeddings._shape)
        default_generator.set_state(state)  # nothing is drawn
        table.weight = Parameter(embeddings, not freeze)
        return table


class LayerNorm(Module):
    """Mean 0 and variance 1 along the last axes, then scaled and moved."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.normalized_shape, self.eps = tuple(shape), eps
        self.elementwise_affine = elementwise_affine
        for name, make, is_there in (("weight", ones, True), ("bias", zeros, bias)):
            value = Parameter(make(self.normalized_shape)) if is_there else None
            self.register_parameter(name, value if elementwise_affine else None)

    def forward(self, x: Tensor) -> Tensor:
        """The shape stays."""
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The settings in `print(module)`."""
        own = f"{self.normalized_shape}, eps={self.eps}, elementwise_affine="
        bias = ", bias=True" if self.bias is not None else ", bias=False"
        return f"{own}{self.elementwise_affine}{bias}"


class RMSNorm(Module):
    """Mean square 1 along the last axes, then scaled."""

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True
    ):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.normalized_shape, self.eps = tuple(shape), eps
        self.elementwise_affine = elementwise_affine
        weight = Parameter(ones(self.normalized_shape)) if elementwise_affine else None
        self.register_parameter("weight", weight)

    def forward(self, x: Tensor) -> Tensor:
        """The shape stays."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The settings in `print(module)`."""
        affine = f"elementwise_affine={self.elementwise_affine}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class Dropout(Module):
    """Zero in place of a part of the numbers, in training only."""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        if not 0 <= p <= 1:
            text = f"dropout probability has to be between 0 and 1, but got {p}"
            raise torch_error(ValueError, text)
        self.p, self.inplace = p, inplace

    def forward(self, x: Tensor) -> Tensor:
        """The shape stays."""
        return F.dropout(x, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The settings in `print(module)`."""
        return f"p={self.p}, inplace={self.inplace}"


def _layer_of(name: str, function: Callable, **settings: Any) -> type[Module]:
    """A layer that only calls a function, with settings of these names and usual values."""

    def start(self: Any, *given: Any, **named: Any) -> None:
        Module.__init__(self)
        if len(given) > len(settings) or not named.keys() <= settings.keys():
            lack(f"this use of `nn.{name}`")
        self.__dict__["settings"] = {**dict(zip(settings, given, strict=False)), **named}
        self.__dict__.update({**settings, **self.settings})

    def forward(self: Any, *given: Any) -> Any:
        return function(*given, **self.settings)

    def extra_repr(self: Any) -> str:
        shown = {"approximate": "approximate={!r}", "dim": "dim={}"}
        return ", ".join(
            text.format(getattr(self, key)) for key, text in shown.items() if key in settings
        )

    body = {"__init__": start, "forward": forward, "extra_repr": extra_repr}
    return type(name, (Module,), body)


GELU = _layer_of("GELU", F.gelu, approximate="none")
ReLU = _layer_of("ReLU", F.relu)
SiLU = _layer_of("SiLU", F.silu)
Tanh = _layer_of("Tanh", F.tanh)
Sigmoid = _layer_of("Sigmoid", F.sigmoid)
Softmax = _layer_of("Softmax", F.softmax, dim=None)
LogSoftmax = _layer_of("LogSoftmax", F.log_softmax, dim=None)
Identity = _layer_of("Identity", lambda x: x)
MSELoss = _layer_of("MSELoss", F.mse_loss, reduction="mean")
NLLLoss = _layer_of("NLLLoss", F.nll_loss)
BCEWithLogitsLoss = _layer_of("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits)


class CrossEntropyLoss(Module):
    """`F.cross_entropy` with its settings."""

    def __init__(
        self, *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ):
        super().__init__()
        self.settings = {
            "ignore_index": ignore_index,
            "reduction": reduction,
            "label_smoothing": label_smoothing,
        }

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        """A single number, unless `reduction` is "none"."""
        return F.cross_entropy(x, target, **self.settings)


class Flatten(Module):
    """All axes behind the first as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        """(N, …) gives (N, -1)."""
        return x.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The settings in `print(module)`."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


for _cls in [x for x in globals().values() if isinstance(x, type) and issubclass(x, Module)]:
    if _cls is not Module:  # a layer calls nothing of the reader's: whatever fails in it is ours
        for _name in ("__init__", "forward"):
            setattr(_cls, _name, guarded(vars(_cls)[_name], f"nn.{_cls.__name__}"))
