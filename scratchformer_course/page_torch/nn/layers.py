"""Layers and containers of `torch.nn`."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from scratchformer_course.page_torch.creation import empty, ones, zeros
from scratchformer_course.page_torch.generator import default_generator
from scratchformer_course.page_torch.missing import bind_methods, guarded, lack, torch_error
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


class ModuleList(Module):
    """Modules by place."""

    def __init__(self, modules: Iterable[Module] = ()):
        super().__init__()
        self.extend(modules)

    def append(self, module: Module) -> Any:
        """One more at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """More at the end."""
        for module in modules:
            self.append(module)
        return self

    def _lines_of_parts(self) -> list[str]:
        """Parts that are written alike, one behind the other, are shown once: `(0-3): 4 x …`."""
        if isinstance(self, Sequential):
            return super()._lines_of_parts()
        words = [repr(module).replace("\n", "\n  ") for module in self]
        lines, start = [], 0
        for end in range(1, len(words) + 1):
            if end < len(words) and words[end] == words[start]:
                continue
            n = end - start
            name = f"({start}-{end - 1}): {n} x " if n > 1 else f"({start}): "
            lines.append(name + words[start])
            start = end
        return lines

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, i: Any) -> Any:
        own = list(self._modules.values())
        if isinstance(i, slice):
            return type(self)(own[i])
        if not -len(own) <= i < len(own):
            raise torch_error(IndexError, f"index {i} is out of range")
        return own[i]

    def __setitem__(self, i: int, module: Module) -> None:
        self._modules[str(i % len(self))] = module

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def _is_not_here(self, *_: Any) -> Any:
        lack("this use of a list of modules")

    __add__ = __delitem__ = insert = pop = _is_not_here


class Sequential(ModuleList):
    """Modules one behind the other."""

    def __init__(self, *modules: Any):
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            Module.__init__(self)
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            super().__init__(modules)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return Sequential(*list(self._modules.values())[i])
        return super().__getitem__(i)

    def forward(self, x: Any) -> Any:
        """What the last one makes of what the one before it has made."""
        for module in self:
            x = module(x)
        return x


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None):
        super().__init__()
        for name, module in dict(modules or {}).items():
            self.add_module(name, module)

    def __getitem__(self, name: str) -> Any:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __delitem__(self, _: str) -> None:
        lack("taking a module out of `nn.ModuleDict`")

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def items(self) -> Any:
        """Names and modules."""
        return self._modules.items()


class ParameterList(Module):
    """Parameters by place."""

    def __init__(self, values: Iterable[Tensor] = ()):
        super().__init__()
        for value in values:
            self.append(value)

    def append(self, value: Tensor) -> "ParameterList":
        """One more at the end."""
        value = value if isinstance(value, Parameter) else Parameter(value)
        self.register_parameter(str(len(self)), value)
        return self

    def __repr__(self) -> str:
        lack("printing `nn.ParameterList`")

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())

    def __getitem__(self, i: int) -> Parameter:
        return list(self._parameters.values())[i]


def _guard_layers() -> None:
    """A layer calls nothing of the reader's: whatever fails in it is ours."""
    containers = (ModuleList, Sequential, ModuleDict, ParameterList)
    for cls in [x for x in globals().values() if isinstance(x, type) and issubclass(x, Module)]:
        if cls in containers:
            bind_methods(cls)
        elif cls is not Module:
            for name in ("__init__", "forward"):
                setattr(cls, name, guarded(vars(cls)[name], f"nn.{cls.__name__}"))


_guard_layers()
