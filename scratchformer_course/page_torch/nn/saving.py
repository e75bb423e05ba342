"""How a module gives its numbers away, and takes others in."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from scratchformer_course.page_torch.layout import Size
from scratchformer_course.page_torch.missing import guarded, lack, torch_error
from scratchformer_course.page_torch.nn.parameter import Keys
from scratchformer_course.page_torch.tape import GradMode
from scratchformer_course.page_torch.tensor import Tensor


class Saved:
    """What a module can save, for `nn.Module` to derive from."""

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and saved buffers, by name; they share memory with the module."""
        found = OrderedDict() if destination is None else destination
        for part in ("_parameters", "_buffers"):
            for name, value in self.__dict__[part].items():
                if value is not None and name not in self._not_saved:
                    found[prefix + name] = value if keep_vars else value.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=found, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, Tensor], strict: bool = True, assign: bool = False
    ) -> Keys:
        """Copy numbers into the parameters and buffers of these names."""
        if assign:
            lack("`load_state_dict(assign=True)`")
        own = self.state_dict(keep_vars=True)
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        problems = []
        for words, names in (("Unexpected", unexpected), ("Missing", missing)):
            if names and strict:
                listed = ", ".join(f'"{name}"' for name in names)
                problems.append(f"{words} key(s) in state_dict: {listed}. ")
        with GradMode(False):
            for name, value in own.items():
                new = state_dict.get(name)
                if new is not None and new._shape == value._shape:
                    value.copy_(new)
                elif new is not None:
                    problems.append(
                        f"size mismatch for {name}: copying a param with shape {Size(new._shape)} "
                        f"from checkpoint, the shape in current model is {value.shape}."
                    )
        if problems:
            text = f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
            raise torch_error(RuntimeError, text + "\n\t".join(problems))
        return Keys((missing, unexpected))


for _name in ("load_state_dict", "state_dict"):
    setattr(Saved, _name, guarded(vars(Saved)[_name], f"Module.{_name}"))
