"""Modules in modules, by place or by name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scratchformer_course.page_torch.missing import bind_methods, lack, torch_error
from scratchformer_course.page_torch.nn.module import Module
from scratchformer_course.page_torch.nn.parameter import Parameter
from scratchformer_course.page_torch.tensor import Tensor


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


for _cls in (ModuleList, Sequential, ModuleDict, ParameterList):
    bind_methods(_cls)
