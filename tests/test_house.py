"""The package stays readable: short functions, small modules, rooms that import from their left.

The limits are a guide for what a reader can hold in the head. A line of code is one that is neither
blank nor comment nor docstring.
"""

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "scratchformer"
LINES, PARAMETERS, CODE = 60, 10, 250

# From left to right along the flow of text: a room imports only from the rooms before its own line.
ROOMS = [
    ["files", "drawings", "measurements", "shipped"],
    ["live"],
    ["data"],
    ["tokenizers"],
    ["positions"],
    ["attention"],
    ["blocks"],
    ["models"],
    ["training"],
    ["generation"],
    ["scaling", "plots", "explorer", "trainer", "chapter"],
    ["checks"],
    ["cli"],
    ["train", "__main__"],  # ways into `cli`
]
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path, root=PACKAGE):
    """`models/gpt.py` -> `models.gpt`, `models/__init__.py` -> `models`."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def lines_of_code(source):
    """The numbers of the lines that hold code."""
    documented = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTION) and ast.get_docstring(node):
            documented |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in empty | {tokenize.ENDMARKER}:
            code |= set(range(token.start[0], token.end[0] + 1))
    return code - documented


def too_large(source):
    """What of a module is longer than the limits, or has more parameters.

    A list of exercises may be as long as its chapter has wrong answers: nobody reads it at once.
    """
    tree = ast.parse(source)
    if not ast.get_docstring(tree):
        yield "no docstring"
    if (n := len(lines_of_code(source))) > CODE and "\n@exercise(" not in source:
        yield f"{n} lines of code"
    for node in ast.walk(tree):
        if isinstance(node, FUNCTION):
            if (n := node.end_lineno - node.lineno + 1) > LINES:
                yield f"{node.name} has {n} lines"
            a = node.args
            given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
            if (n := sum(arg.arg not in ("self", "cls") for arg in given)) > PARAMETERS:
                yield f"{node.name} has {n} parameters"


def imported(source, module, is_package=False):
    """The package's modules that `source` imports anywhere, as `models.gpt`, names included."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = ["scratchformer", *package][: len(package) + 2 - node.level]
            base = ".".join([*(start if node.level else []), *filter(None, [node.module])])
            found = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in found:
            if name.startswith("scratchformer."):
                yield name.removeprefix("scratchformer.")


def imports_from_the_right(source, module, is_package=False):
    """The imports of a room that is not to the left of the module's own."""
    place = {room: i for i, rooms in enumerate(ROOMS) for room in rooms}
    own = module.split(".")[0]
    for name in imported(source, module, is_package):
        room = name.split(".")[0]
        if room.startswith("__") or room == own:
            continue
        if room not in place or place[room] >= place[own]:
            yield f"{module} imports {name}"


def cycle(graph):
    """Some modules that import each other in a circle, or None. `graph`: module -> modules."""
    done, path = set(), []

    def visit(module):
        if module in path:
            return path[path.index(module) :]
        if module in done:
            return None
        path.append(module)
        found = next(filter(None, map(visit, sorted(graph.get(module, ())))), None)
        path.pop()
        done.add(module)
        return found

    return next(filter(None, map(visit, sorted(graph))), None)


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_no_function_or_module_is_too_large_and_each_module_says_what_it_is_for(path):
    assert list(too_large(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_room_imports_only_from_rooms_to_its_left(path):
    name = name_of(path)
    if name == "__init__":
        pytest.skip("the package itself stands before all rooms")
    assert name.split(".")[0] in {room for rooms in ROOMS for room in rooms}, "in no room"
    source = path.read_text(encoding="utf-8")
    assert list(imports_from_the_right(source, name, path.name == "__init__.py")) == []


def test_no_modules_import_each_other_in_a_circle():
    names, graph = {name_of(path): path for path in modules()}, {}
    for module, path in names.items():
        source = path.read_text(encoding="utf-8")
        graph[module] = set()
        for name in imported(source, module, path.name == "__init__.py"):
            while name and name not in names:  # a function's name stands behind its module's
                name = name.rpartition(".")[0]
            if name and name != module:
                graph[module].add(name)
    assert cycle(graph) is None


def test_what_is_too_large_is_told():
    many = ", ".join(f"a{i}" for i in range(11))
    assert list(too_large(f"def f({many}):\n    pass")) == ["no docstring", "f has 11 parameters"]
    assert list(too_large("'''Doc.'''\ndef f(*, self, x):\n" + "    x = 1\n" * 60)) == [
        "f has 61 lines"
    ]
    assert list(too_large("'''Doc.'''\n# a comment\n\n" + "x = 1\n" * 251)) == ["251 lines of code"]
    assert list(too_large("'''Doc.'''\n" + "\n# a comment\nx = 1\n" * 250)) == []
    exercises = "\n@exercise('1.1')\nclass a:\n    pass"
    assert list(too_large("'''Doc.'''\n" + "x = 1\n" * 251 + exercises)) == []


def test_a_wrong_import_is_told():
    source = "def f():\n    from scratchformer.training import fit\n"
    assert list(imports_from_the_right(source, "models.gpt")) == ["models.gpt imports training.fit"]
    assert list(imports_from_the_right("from ..training import fit", "models.gpt")) != []
    assert list(imports_from_the_right("from .gpt import GPT", "models", True)) == []
    assert list(imports_from_the_right("import scratchformer.models", "cli")) == []
    assert list(imports_from_the_right("from scratchformer.utils import f", "cli")) != []


def test_a_circle_is_told():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None
