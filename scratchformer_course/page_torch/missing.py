"""What this PyTorch lacks. Where a check meets it, no verdict may follow.

Real PyTorch knows far more names, keyword arguments and slopes than are written down beside this
file. Whatever is missing raises `NotInPage`, and so does every failure of our own. Errors that real
PyTorch raises, too, are made by `torch_error`, and are the only ones that reach the reader.
"""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

from scratchformer_course.page_torch.dtypes import bool_, complex128, float64, int64
from scratchformer_course.page_torch.names import KNOWN

# other names that real PyTorch takes for a parameter: by its place, or its name
ALIASES: dict[str, int | str] = {"input": 0, "other": 1, "axis": "dim", "keepdims": "keepdim"}


PYTHON_TYPES = {bool: bool_, int: int64, float: float64, complex: complex128}


class NotInPage(BaseException):
    """Real PyTorch may know this. It is no `Exception`, which a reader's code might catch."""


lacking: list[str] = []  # what was asked for in vain, even if a bare `except:` has caught it


def lack(what: str) -> NoReturn:
    """Say that the page does not have it, such as "`torch.cdist`"."""
    lacking.append(what)
    raise NotInPage(what)


def torch_error(kind: type[Exception], text: str) -> Exception:
    """An error with the words of real PyTorch."""
    error = kind(text)
    error.is_of_torch = True  # type: ignore[attr-defined]
    return error


def guarded(function: Callable, name: str, *, has_aliases: bool = False) -> Callable:
    """The function, with `NotInPage` in place of arguments it does not take and of its failures."""
    code = function.__code__  # type: ignore[attr-defined]
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        try:
            if isinstance(named.get("dtype"), type):
                named["dtype"] = PYTHON_TYPES.get(named["dtype"], named["dtype"])
            if named and has_aliases:
                named = {_own_name(key, own): value for key, value in named.items()}
            return function(*given, **named)
        except Exception as error:
            if hasattr(error, "is_of_torch"):
                raise
            lack(f"this use of `{name}` ({type(error).__name__}: {error})")

    return call


def _own_name(key: str, own: tuple[str, ...]) -> str:
    target = ALIASES.get(key)
    if key in own or target is None:
        return key
    return target if isinstance(target, str) else own[target] if target < len(own) else key


def bound(function: Callable, name: str) -> Callable:
    """The function, which may call the reader's, with `NotInPage` for what it does not take."""

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except TypeError as error:
            traceback = error.__traceback__
            if traceback is not None and traceback.tb_next is None:  # the call itself failed
                lack(f"this use of `{name}` ({error})")
            raise

    return call


def bind_methods(cls: type) -> None:
    """Have the public methods of a class say that they lack what they do not take."""
    for name, value in list(vars(cls).items()):
        if isinstance(value, FunctionType) and (name[0] != "_" or name == "__init__"):
            setattr(cls, name, bound(value, f"{cls.__name__}.{name}"))


def guard_module(names: dict[str, Any], room: str, word: str) -> None:
    """Guard all public functions of a module, and have it lack what real PyTorch has besides."""
    for name, value in list(names.items()):
        is_ours = isinstance(value, FunctionType) and value.__module__ == names["__name__"]
        if is_ours and not name.startswith("_"):
            names[name] = guarded(value, f"{word}.{name}")
    names["__getattr__"] = missing_from(room, "torch.nn.functional" if word == "F" else word)


def missing_from(room: str, word: str) -> Callable[[str], Any]:
    """What a module does when it is asked for a name that it has not."""

    def missing(name: str) -> Any:
        if name in KNOWN[room]:
            lack(f"`{word}.{name}`")
        raise AttributeError(f"module '{word}' has no attribute '{name}'")

    return missing
