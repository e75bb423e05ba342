"""The library with one function edited: its modules are run once more, from a source with the edit.

The copies import from one another and leave the library itself as it is, so that a healthy model
and several broken ones can be used side by side.
"""

import inspect
import linecache
import sys
import textwrap
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any
from unittest.mock import patch

from scratchformer import attention, blocks
from scratchformer.data import corpora
from scratchformer.generation import sampling
from scratchformer.models import gpt, llama
from scratchformer.training import config, losses
from scratchformer_course.ch25_silent_bugs import program
from scratchformer_course.ch25_silent_bugs.program import Program, Setting

# Each imports only from those before it, of these.
MODULES = (attention, blocks, gpt, llama, corpora, losses, config, sampling, program)
Edit = Mapping[str, str]


def edited_source(function: Callable, edit: Edit) -> str:
    """The function's source with each key of `edit` replaced; ValueError if one is not in it."""
    source = inspect.getsource(function)
    for before, after in edit.items():
        if before not in source:
            raise ValueError(f"{before!r} is not in the source of {function.__qualname__}")
        source = source.replace(before, after)
    return source


def edited_program(function: Callable, edit: Edit, setting: Setting, **names: Any) -> Program:
    """A program in which a function of MODULES is edited; the edit may use these `names`."""
    copies: dict[str, ModuleType] = {}
    with patch.dict(sys.modules):
        for module in MODULES:
            source, file = inspect.getsource(module), module.__file__
            copy = ModuleType(module.__name__, module.__doc__)
            if function.__module__ == module.__name__:
                source = source.replace(inspect.getsource(function), edited_source(function, edit))
                file = f"<{module.__name__}, edited: {dict(edit)}>"
                linecache.cache[file] = (len(source), None, source.splitlines(True), file)
                vars(copy).update(names)
            copies[module.__name__] = sys.modules[module.__name__] = copy
            exec(compile(source, str(file), "exec"), vars(copy))
    functions = vars(copies[program.__name__].Program)
    edited = {name: functions[name] for name in vars(Program) if not name.startswith("__")}
    return type("Program", (Program,), edited)(setting)


def merging(merge: Callable) -> Program:
    """A program whose attention merges its heads (B, H, T, D) by this function."""
    edit = {"heads.transpose(1, 2).flatten(2)": "merge(heads)"}
    return edited_program(attention._attend, edit, Setting(), merge=merge)


def body(function: Callable, edit: Edit | None = None) -> list[str]:
    """The lines of a function, edited or not, without its head, its docstring and its comments."""
    source = textwrap.dedent(edited_source(function, edit or {}))
    lines = [line.partition("  # ")[0].rstrip() for line in source.splitlines()]
    first = next(i for i, line in enumerate(lines) if line.endswith(":")) + 1
    if function.__doc__:
        first += 1 + function.__doc__.count("\n")
    return textwrap.dedent("\n".join(filter(None, lines[first:]))).splitlines()
