"""Small modules in place of others that the library and the tables import beside `torch`."""

import json
import struct
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from scratchformer_course.page_torch import autograd, information, linalg, nn, numpy_part, optim
from scratchformer_course.page_torch.bits import unpacked
from scratchformer_course.page_torch.dtypes import ORDER
from scratchformer_course.page_torch.missing import lack
from scratchformer_course.page_torch.tensor import Tensor, new_tensor

SAFETENSORS = {"F16": "float16", "F32": "float32", "F64": "float64", "I64": "int64", "U8": "uint8"}


def put_in_place(torch: ModuleType) -> None:
    """Let these modules be found by `import`."""
    own = {
        "torch": torch,
        "torch.nn": nn,
        "torch.nn.functional": nn.functional,
        "torch.nn.init": nn.init,
        "torch.nn.utils": nn.utils,
        "torch.nn.utils.rnn": nn.utils,
        "torch.optim": optim,
        "torch.linalg": linalg,
        "torch.autograd": autograd,
    }
    mode = information.FunctionMode
    sys.meta_path.append(Missing())
    made = {
        "torch.overrides": {"TorchFunctionMode": mode},
        "torch.utils": {},
        "torch.utils._python_dispatch": {"TorchDispatchMode": mode},
        "torch.nn.attention": {},
        "torch.cuda": {"is_available": information.no, "device_count": lambda: 0},
        "torch.backends": {"mps": SimpleNamespace(is_available=information.no)},
        "torch.distributed": {"is_initialized": information.no, "is_available": information.no},
        "numpy": {
            **{name: value for name, value in vars(numpy_part).items() if name[0] != "_"},
            "random": Draws(),
        },
        "numpy.typing": {"NDArray": Annotation, "ArrayLike": object},
        "jaxtyping": {"__getattr__": lambda name: Annotation},
        "safetensors": {
            "safe_open": SafeOpen,
            "SafetensorError": type("SafetensorError", (Exception,), {}),
        },
        "safetensors.torch": {"load_file": load_file, "load": load},
    }
    for name, module in own.items():
        sys.modules[name] = module
        vars(module).setdefault("__path__", [])  # so that `Missing` is asked for what is not here
    for name, names in made.items():
        module = ModuleType(name)
        vars(module).update({"__path__": [], "__getattr__": _missing(name), **names})
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)


def _missing(module: str) -> Any:
    def missing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"`{module}.{name}`")

    return missing


class Draws:
    """`numpy.random`, whose seed is set where a check begins; it draws nothing."""

    get_state = set_state = seed = staticmethod(information.nothing)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        lack(f"`numpy.random.{name}`")


class Missing:
    """An `import` of what a notebook has and a page has not."""

    packages = "torch numpy scipy matplotlib seaborn pandas gensim transformers einops tqdm"

    def find_spec(self, name: str, *_: Any) -> None:
        """Lack a module of these packages."""
        if name.partition(".")[0] in self.packages.split():
            lack(f"the module `{name}`")


class Absent:
    """A thing that is not here: it may be named, in an annotation, and not be used."""

    def __init__(self, what: str):
        self.what = what

    def __call__(self, *_: Any, **__: Any) -> Any:
        lack(self.what)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        lack(self.what)

    def __or__(self, _: Any) -> Any:
        return self

    def _is_used(self, *_: Any) -> Any:
        lack(self.what)

    __ror__ = __or__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _is_used
    __rtruediv__ = __pow__ = __eq__ = __lt__ = __gt__ = __float__ = __index__ = _is_used
    __getitem__ = __iter__ = __len__ = __bool__ = _is_used


class Annotation:
    """`Float[Tensor, "T C"]` is a tensor; a page checks no annotation."""

    def __class_getitem__(cls, key: Any) -> Any:
        return key[0] if isinstance(key, tuple) else key


class SafeOpen:
    """A file of tensors by name: their places stand in a header of JSON."""

    def __init__(self, path: Any, framework: str = "pt", device: str = "cpu"):
        self.data = Path(path).read_bytes()
        self.start, self.header = _header(self.data)

    def __enter__(self) -> "SafeOpen":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def metadata(self) -> Any:
        """What the file says of itself."""
        return self.header.get("__metadata__")

    def keys(self) -> list[str]:
        """The names of the tensors."""
        return [name for name in self.header if name != "__metadata__"]

    def get_tensor(self, name: str) -> Tensor:
        """One tensor."""
        return _tensor(self.data, self.start, self.header[name])


def _header(data: bytes) -> tuple[int, dict]:
    (length,) = struct.unpack("<Q", data[:8])
    return 8 + length, json.loads(data[8 : 8 + length])


def _tensor(data: bytes, start: int, entry: dict) -> Tensor:
    if entry["dtype"] not in SAFETENSORS:
        lack(f"a file of `{entry['dtype']}` numbers")
    (kind,) = (kind for kind in ORDER if kind.name == SAFETENSORS[entry["dtype"]])
    first, last = entry["data_offsets"]
    numbers = unpacked(data[start + first : start + last], kind)
    return new_tensor(numbers, tuple(entry["shape"]), kind)


def load(data: bytes) -> dict[str, Tensor]:
    """All tensors of a file's bytes."""
    start, header = _header(data)
    return {
        name: _tensor(data, start, entry)
        for name, entry in header.items()
        if name != "__metadata__"
    }


def load_file(filename: Any, device: str = "cpu") -> dict[str, Tensor]:
    """All tensors of a file."""
    return load(Path(filename).read_bytes())
