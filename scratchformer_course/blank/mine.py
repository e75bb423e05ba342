"""A learner's folder: five files, imported when a rung needs one, and their faults in words."""

from __future__ import annotations

import ast
import importlib
import sys
import traceback
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
        for other in FILES:
            self._refuse_course(other)
        definition = self._definition(file, name)
        module = self._module(file)
        expect(
            definition is not None or hasattr(module, name), f"`{file}` does not define `{name}`."
        )
        if definition is not None and any(
            isinstance(node, ast.Constant) and node.value is ... and _is_body(node, definition)
            for node in ast.walk(definition)
        ):
            raise Wrong(f"write `{name}` in `{file}`.", "not yet")
        return getattr(module, name)

    def _tree(self, file: str) -> ast.Module:
        path = self.folder / file
        expect(path.is_file(), f"`{file}` is missing in {self.folder}: `blank` writes it.")
        try:
            return ast.parse(path.read_bytes(), file)
        except (SyntaxError, ValueError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            what = error.msg if isinstance(error, SyntaxError) else str(error)
            raise Wrong(f"`{file}`{line}: Python cannot read it ({what}).") from None

    def _refuse_course(self, file: str) -> None:
        if not (self.folder / file).is_file():
            return
        for node in ast.walk(self._tree(file)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                is_course = name.partition(".")[0] in COURSE
                where = f"`{file}`, line {getattr(node, 'lineno', 0)}"
                expect(not is_course, f"{where}, imports `{name}`: here you write it yourself.")

    def _definition(self, file: str, name: str) -> ast.AST | None:
        kinds = (ast.FunctionDef, ast.ClassDef)
        found = [n for n in self._tree(file).body if isinstance(n, kinds) and n.name == name]
        return found[-1] if found else None

    def _module(self, file: str) -> ModuleType:
        name = file.removesuffix(".py")
        sys.modules.pop(name, None) if not self._is_mine(sys.modules.get(name)) else None
        try:
            return importlib.import_module(name)
        except Wrong:
            raise
        except (Exception, SystemExit) as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [f for f in frames if Path(f.filename).parent == self.folder]
            where = (
                f"`{Path(own[-1].filename).name}`, line {own[-1].lineno}" if own else f"`{file}`"
            )
            what = f"{type(error).__name__}: {error}"
            raise Wrong(f"{where}: importing it fails ({what}).") from None

    def _is_mine(self, module: ModuleType | None) -> bool:
        path = getattr(module, "__file__", None)
        return path is not None and Path(path).resolve().parent == self.folder


def _is_body(constant: ast.Constant, definition: ast.AST) -> bool:
    """Whether this `...` is a statement, or what a `return` returns: not one that slices."""
    return any(
        isinstance(node, ast.Expr | ast.Return) and node.value is constant
        for node in ast.walk(definition)
    )
