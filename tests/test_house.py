"""The house stays readable: rooms that know only what stands before them, small files, few lines.

`scratchformer` is the library and knows nothing of the course. In the course the kit comes first,
then the models in the page, then the chapters' slices, which do not know each other. A line of code
is one that is neither blank nor comment nor docstring. The limits are a guide for what a reader can
hold in the head.
"""

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from scratchformer_course.pages.drawings import house

ROOT = Path(__file__).resolve().parents[1]
LIBRARY, COURSE = "scratchformer", "scratchformer_course"
# What stands at the end: the laboratory, the extensions of the site, and the tools. Room -> what a
# module of it may import besides its own room. Nothing imports a test.
END = {
    "lab": {LIBRARY, COURSE},
    "book": {LIBRARY, COURSE, "lab"},
    "tools": {LIBRARY, COURSE, "book"},
}
ROOTS = (LIBRARY, COURSE, *END, "tests")
LIBRARY_LINES = 5800  # an afternoon's reading, of which a fifth is the diagnosis
LINES, PARAMETERS, CODE = 60, 12, 250  # of a function, and of a file
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef

# The library along the flow of text: a room imports only from the lines before its own.
ROOMS = [
    ["files", "shipped"],
    ["data"],
    ["tokenizers"],
    ["positions"],
    ["attention"],
    ["blocks"],
    ["models"],
    ["training"],
    ["generation"],
    ["scaling", "plots", "diagnosis"],
    ["cli"],
    ["__main__"],
]
# The course: what each room may import of the course besides itself.
COURSE_ROOMS = {
    "kit": set(),
    "measurements": set(),
    "pages": {"kit", "measurements"},
    "page_model": {"kit"},
    "tab_trainer": {"kit", "measurements", "page_model"},
    "a slice": {"kit", "measurements", "page_model", "tab_trainer"},
    "teaching": {"kit", "a slice"},
}
SLICE_FILES = {"exercises.py", "drawings.py", "live.py", "live.js", "live.css", "model.py"}


def modules(*folders):
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def dotted(path, root=ROOT):
    """`scratchformer/models/gpt.py` -> `scratchformer.models.gpt`, `…/__init__.py` -> `…`."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


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


def too_large(source, is_shipped=True):
    """What of a module is longer than the limits, or has more parameters.

    A table of exercises may be as long as its chapter has mistakes: nobody reads it at once. A
    script that is not shipped may be as long as its measurement has parts.
    """
    tree = ast.parse(source)
    if not ast.get_docstring(tree):
        yield "no docstring"
    if (n := len(lines_of_code(source))) > CODE and is_shipped and " = exercise(" not in source:
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
    """The house's own modules that `source` imports anywhere, names included."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            found = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in found if name.split(".")[0] in ROOTS)


def wrong_ways(source, module, is_package=False):
    """The imports that run against the direction of the house."""
    own, *inside = module.split(".")
    for name in imported(source, module, is_package):
        to, *target = name.split(".")
        if own == LIBRARY:
            wrong = to != LIBRARY or not _is_before(inside, target)
        elif own in END:
            wrong = to not in END[own] | {own}
        elif to == LIBRARY or not inside:
            wrong = False
        else:
            wrong = not _may_know(inside[0], target)
        if wrong:
            yield f"{module} imports {name}"


def _is_before(inside, target):
    """Whether a module of the library may import another: one of its own room, or one before."""
    place = {room: i for i, rooms in enumerate(ROOMS) for room in rooms}
    if not inside or not target or target[0].startswith("__") or target[0] == inside[0]:
        return True
    return place.get(target[0], len(place)) < place[inside[0]]


def _may_know(room, target):
    kind, wanted = ("a slice" if re.match(r"ch\d\d_", name) else name for name in (room, target[0]))
    return target[0] == room or (wanted in COURSE_ROOMS[kind] and wanted != kind)


def circle(graph):
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


@pytest.mark.parametrize("path", modules(LIBRARY, COURSE), ids=dotted)
def test_a_file_is_small_says_what_it_is_for_and_imports_only_what_stands_before_it(path):
    source = path.read_text(encoding="utf-8")
    assert list(too_large(source)) == []
    assert list(wrong_ways(source, dotted(path), path.name == "__init__.py")) == []


@pytest.mark.parametrize("path", [ROOT / "course.py", *modules(*END)], ids=dotted)
def test_a_script_says_what_it_is_for_has_short_functions_and_imports_what_stands_before_it(path):
    source = path.read_text(encoding="utf-8")
    assert list(too_large(source, is_shipped=False)) == []
    if path.parent != ROOT:
        assert list(wrong_ways(source, dotted(path))) == []


def test_every_room_has_its_place():
    folders = {path.name for path in (ROOT / COURSE).iterdir() if path.is_dir()} - {"__pycache__"}
    chapters = {f"ch{path.stem}" for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    assert folders == {*COURSE_ROOMS} - {"a slice"} | chapters
    rooms = {dotted(path).split(".")[1] for path in modules(LIBRARY) if dotted(path) != LIBRARY}
    assert rooms == {room for rooms in ROOMS for room in rooms}


def test_the_drawing_of_the_house_has_every_room_and_ends_at_the_last_chapter():
    description, drawn = house().data.split('aria-label="')[1].split('"', 1)
    slices = sorted(path.name[:4] for path in (ROOT / COURSE).glob("ch[0-9]*"))
    names = [slices[0], slices[-1], *COURSE_ROOMS, LIBRARY, COURSE]
    names.remove("a slice")
    assert [name for name in names if name not in drawn or name not in description] == []


def test_the_library_can_be_read_in_an_afternoon():
    lines = {dotted(p): len(lines_of_code(p.read_text("utf-8"))) for p in modules(LIBRARY)}
    assert sum(lines.values()) <= LIBRARY_LINES, Counter(lines).most_common(10)


def test_no_modules_import_each_other_in_a_circle():
    names = {dotted(path): path for path in modules(LIBRARY, COURSE, "lab", "tools")}
    graph = {}
    for module, path in names.items():
        graph[module] = set()
        for name in imported(path.read_text("utf-8"), module, path.name == "__init__.py"):
            while name and name not in names:  # a function's name stands behind its module's
                name = name.rpartition(".")[0]
            if name and name != module:
                graph[module].add(name)
    assert circle(graph) is None


def test_no_name_stands_in_two_rooms():
    """A room is entered by its name; the files that every slice has are the exception."""
    rooms = defaultdict(set)
    for folder in (LIBRARY, COURSE, "lab", "tools", "book/_ext"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".py", ".js", ".css") and path.stem[:2] != "__":
                rooms[path.name].add(str(path.parent.relative_to(ROOT)))
    twice = {name: found for name, found in rooms.items() if len(found) > 1}
    assert {name for name in twice if name not in SLICE_FILES} == set(), twice
    stems = {path.stem for path in modules(LIBRARY, COURSE, "lab", "tools")} - {"__init__"}
    folders = {path.parent.name for path in modules(LIBRARY, COURSE)}
    assert stems & folders == set(), "a file and a folder of one name"


def test_what_is_too_large_is_found():
    many = ", ".join(f"a{i}" for i in range(13))
    assert list(too_large(f"def f({many}):\n    pass")) == ["no docstring", "f has 13 parameters"]
    long = "'''Doc.'''\ndef f(*, self, x):\n" + "    x = 1\n" * 60
    assert list(too_large(long)) == ["f has 61 lines"]
    assert list(too_large("'''Doc.'''\n# a comment\n\n" + "x = 1\n" * 251)) == ["251 lines of code"]
    assert list(too_large("'''Doc.'''\na = exercise(1)\n" + "x = 1\n" * 251)) == []


@pytest.mark.parametrize(
    ("module", "source", "is_wrong"),
    [
        ("scratchformer.models.gpt", "from scratchformer.training import fit", True),
        ("scratchformer.models.gpt", "def f():\n    from ..training import fit", True),
        ("scratchformer.models.gpt", "from .bert import BERT", False),
        ("scratchformer.cli.run", "from scratchformer_course.kit import chapter", True),
        ("scratchformer_course.kit.canvas", "import scratchformer_course.page_model", True),
        ("scratchformer_course.ch08_rotary.live", "import scratchformer_course.ch09_block", True),
        ("scratchformer_course.ch08_rotary.live", "from .drawings import pair", False),
        ("scratchformer_course.kit.canvas", "from lab import runs", True),
        ("lab.film", "from scratchformer_course.kit import x", False),
        ("tools.pdf", "from tests.node import Node", True),
    ],
)
def test_an_import_against_the_direction_is_found(module, source, is_wrong):
    assert bool(list(wrong_ways(source, module))) is is_wrong


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None
