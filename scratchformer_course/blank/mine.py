"""A learner's folder: five files, imported when a rung needs one, and their faults in words."""

from __future__ import annotations

import ast
import importlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from scratchformer_course.kit.checks import Wrong, expect

FILES = ("tokenizer.py", "attention.py", "model.py", "training.py", "generate.py")
COURSE = ("scratchformer", "scratchformer_course")


class Mine:
    """The files of a folder. `mine.get("model.py", "GPT")` imports a file and returns its GPT.

    Raises `Wrong`, with a sentence, where a file is missing or cannot be read, imports the course's
    own code, fails on import, or does not define the name; as "not yet" where a body is `...`.
    """

    def __init__(self, folder: Path):
        self.folder = folder.resolve()
        sys.path.insert(0, str(self.folder))

    def get(self, file: str, name: str) -> Any:
        """What `file` calls `name`."""
        expect((self.folder / file).is_file(), f"`{file}` is missing in {self.folder}.")
        for other in sorted({file, *(path.name for path in self.folder.glob("*.py"))}):
            for line, imported in _imports(self._tree(other)):
                where = f"`{other}`, line {line}, imports `{imported}`"
                expect(imported.partition(".")[0] not in COURSE, f"{where}: write it yourself.")
        module, own = self._module(file), [*self._own(file, name)]
        expect(own or hasattr(module, name), f"`{file}` does not define `{name}`.")
        for definition in own:
            parts = [
                definition,
                *(n for n in ast.walk(definition) if isinstance(n, ast.FunctionDef)),
            ]
            empty = [part.name for part in parts[::-1] if any(map(_is_empty, part.body))]
            if empty and empty != ["new_cache"]:  # that has a rung of its own
                whose = name if empty[0] == name else f"{name}.{empty[0]}"
                raise Wrong(f"write `{whose}` in `{file}`.", "not yet")
        return getattr(module, name)

    def _tree(self, file: str) -> ast.Module:
        try:
            return ast.parse((self.folder / file).read_bytes(), file)
        except (SyntaxError, ValueError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            what = error.msg if isinstance(error, SyntaxError) else str(error)
            raise Wrong(f"`{file}`{line}: Python cannot read it ({what}).") from None

    def _own(self, file: str, name: str) -> Iterator[ast.FunctionDef | ast.ClassDef]:
        """The definitions of a name in a file."""
        for node in self._tree(file).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                yield node

    def _module(self, file: str) -> ModuleType:
        name = file.removesuffix(".py")
        path = getattr(sys.modules.get(name), "__file__", None)
        if path is None or Path(path).resolve().parent != self.folder:
            sys.modules.pop(name, None)  # another module of this name
        try:
            return importlib.import_module(name)
        except (Exception, SystemExit) as error:
            raise Wrong(f"importing `{file}` fails: {in_words(error, self.folder)}") from None


def in_words(error: BaseException, folder: Path) -> str:
    """An error's type and words, with the last line of the learner's own that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent == folder]
    where = f"`{Path(own[-1].filename).name}`, line {own[-1].lineno}: " if own else ""
    line = f" at `{own[-1].line}`" if own and own[-1].line else ""
    return f"{where}{type(error).__name__}: {error}{line}"


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines and names of what is imported, by a statement or by a call such as `__import__`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import__", "module")):
            names = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            yield from ((node.lineno, str(name)) for name in names)


def _is_empty(node: ast.AST) -> bool:
    """Whether this is a line `...` or `return ...`, and not a `...` that slices."""
    value = node.value if isinstance(node, ast.Expr | ast.Return) else None
    return isinstance(value, ast.Constant) and value.value is ...
