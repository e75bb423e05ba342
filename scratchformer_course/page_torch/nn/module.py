"""`nn.Module`: what keeps parameters by name, and modules in modules."""

from collections.abc import Callable, Iterator
from typing import Any

from scratchformer_course.page_torch.dtypes import FLOAT, dtype, float32, float64
from scratchformer_course.page_torch.missing import bind_methods, guarded, lack, torch_error
from scratchformer_course.page_torch.names import KNOWN
from scratchformer_course.page_torch.nn.parameter import Handle, Parameter
from scratchformer_course.page_torch.nn.saving import Saved
from scratchformer_course.page_torch.tensor import Tensor

PARTS = ("_parameters", "_modules", "_buffers")


class Module(Saved):
    """The base of all layers and models."""

    def __init__(self) -> None:
        for part in (*PARTS, "_backward_hooks", "_forward_pre_hooks", "_forward_hooks"):
            object.__setattr__(self, part, {})
        object.__setattr__(self, "_not_saved", set())
        object.__setattr__(self, "training", True)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, (Parameter, Module)):
            part = "_parameters" if isinstance(value, Parameter) else "_modules"
            if part not in own:
                what = part.strip("_").rstrip("s") if part == "_modules" else "parameters"
                words = f"cannot assign {what} before Module.__init__() call"
                raise torch_error(AttributeError, words)
            for other in (own, *(own[one] for one in PARTS if one != part)):
                other.pop(name, None)
            own[part][name] = value
            return
        for part, kind in (("_parameters", "parameter"), ("_modules", "child module")):
            if name in own.get(part, {}) and value is not None:
                asked = "torch.nn.Parameter" if kind == "parameter" else "torch.nn.Module"
                given = (
                    f"torch.{value.dtype.word}Tensor"
                    if isinstance(value, Tensor)
                    else (type(value).__name__)
                )
                text = f"cannot assign '{given}' as {kind} '{name}' ({asked} or None expected)"
                raise torch_error(TypeError, text)
        for part in PARTS:
            if name in own.get(part, {}):
                if part == "_buffers" and not (value is None or isinstance(value, Tensor)):
                    kinds = "(torch.nn.Buffer, torch.Tensor or None expected)"
                    text = f"cannot assign '{type(value).__name__}' as buffer '{name}' {kinds}"
                    raise torch_error(TypeError, text)
                own[part][name] = value
                return
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for part in PARTS:
            if name in self.__dict__.get(part, {}):
                return self.__dict__[part][name]
        if name in KNOWN["modules"]:
            lack(f"`nn.Module.{name}`")
        raise torch_error(
            AttributeError, f"'{type(self).__name__}' object has no attribute '{name}'"
        )

    def __delattr__(self, name: str) -> None:
        for part in PARTS:
            if name in self.__dict__[part]:
                del self.__dict__[part][name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *(name for part in PARTS for name in self.__dict__[part])]

    def __call__(self, *given: Any, **named: Any) -> Any:
        assert not self._backward_hooks  # asked for first, as in real PyTorch
        for hook in list(self._forward_pre_hooks.values()):
            changed = hook(self, given)
            if changed is not None:
                given = changed if isinstance(changed, tuple) else (changed,)
        out = self.forward(*given, **named)
        for hook in list(self._forward_hooks.values()):
            changed = hook(self, given, out)
            out = out if changed is None else changed
        return out

    def forward(self, *given: Any) -> Any:
        """What a module computes: to be written by who derives from this class."""
        text = f'Module [{type(self).__name__}] is missing the required "forward" function'
        raise torch_error(NotImplementedError, text)

    def _add_hook(self, hooks: dict, hook: Callable) -> Handle:
        key = object()
        hooks[key] = hook
        return Handle(hooks, key)

    def register_forward_hook(self, hook: Callable) -> Handle:
        """Have `hook(module, inputs, output)` called after each forward pass."""
        return self._add_hook(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook: Callable) -> Handle:
        """Have `hook(module, inputs)` called before each forward pass."""
        return self._add_hook(self._forward_pre_hooks, hook)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep a tensor that is not trained; it is saved unless it is not `persistent`."""
        if hasattr(self, name) and name not in self._buffers:
            raise torch_error(KeyError, f"attribute '{name}' already exists")
        if not (tensor is None or isinstance(tensor, Tensor)) or "." in name:
            lack("such a buffer")
        self._buffers[name] = tensor
        if not persistent:
            self._not_saved.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Keep a parameter, or note that there is none of this name."""
        if not (param is None or isinstance(param, Parameter)) or "." in name:
            lack("such a parameter")
        self._parameters[name] = param

    def add_module(self, name: str, module: "Module | None") -> None:
        """Keep a module of this name."""
        is_module = module is None or isinstance(module, Module)
        if not is_module or not isinstance(name, str) or "." in name:
            lack("a part of a module that is no module")
        self._modules[name] = module

    register_module = add_module

    # ---- what is in it

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, "Module"]]:
        """The module itself, and all modules in it, by name."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator["Module"]:
        """The module itself, and all modules in it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """The modules directly in it, by name."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator["Module"]:
        """The modules directly in it."""
        return (module for _, module in self.named_children())

    def _named(
        self, part: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        own = [(prefix, self)]
        all_of = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in all_of if recurse else own:
            for name, value in getattr(module, part).items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All that is trained, by name."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All that is trained."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All tensors that are kept and not trained, by name."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All tensors that are kept and not trained."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> "Module":
        """The module at a path such as "blocks.0"."""
        module = self
        for part in filter(None, target.split(".")):
            module = getattr(module, part)
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as "blocks.0.weight"."""
        path, _, name = target.rpartition(".")
        return getattr(self.get_submodule(path), name)

    # ---- changed as a whole

    def train(self, mode: bool = True) -> "Module":
        """Tell all modules that they are in training."""
        if not isinstance(mode, bool):
            lack("a mode that is no bool")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> "Module":
        """Tell all modules that they are not in training."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> "Module":
        """Have slopes carried back to all parameters, or to none."""
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the slopes of all parameters."""
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad.zero_()

    def apply(self, fn: Callable[["Module"], None]) -> "Module":
        """Call a function with each module, the inner ones first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *given: Any, **named: Any) -> "Module":
        """Turn all floating-point numbers into another type."""
        if any(isinstance(x, dtype) and x.kind < FLOAT for x in (*given, *named.values())):
            lack("a module of whole numbers")
        for module in self.modules():
            for parameter in module._parameters.values():
                if parameter is not None:
                    parameter.data = parameter.data.to(*given, **named)
            for name, buffer in module._buffers.items():
                if buffer is not None and buffer.is_floating_point():
                    module._buffers[name] = buffer.to(*given, **named)
        return self

    def double(self) -> "Module":
        """Turn all floating-point numbers into float64."""
        return self.to(float64)

    def float(self) -> "Module":
        """Turn all floating-point numbers into float32."""
        return self.to(float32)

    def cpu(self) -> "Module":
        """The module itself."""
        return self

    def extra_repr(self) -> str:
        """The settings in `print(module)`."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        parts = self._lines_of_parts()
        settings = self.extra_repr()
        if not parts:
            return f"{self._get_name()}({settings})"
        lines = [settings, *parts] if settings else parts
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def _lines_of_parts(self) -> list[str]:
        inner = {name: repr(module).replace("\n", "\n  ") for name, module in self._modules.items()}
        return [f"({name}): {words}" for name, words in inner.items()]


bind_methods(Module)
for _name in ("get_parameter", "get_submodule", "to"):
    setattr(Module, _name, guarded(vars(Module)[_name], f"Module.{_name}"))
