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
from graphlib import TopologicalSorter
from importlib.util import resolve_name

import pytest
from readers import NOTEBOOKS, ROOT

from scratchformer_course.pages.drawings import house

LIBRARY, COURSE = "scratchformer", "scratchformer_course"
# What stands at the end: the laboratory, the extensions of the site, and the tools. Room -> what a
# module of it may import besides its own room. Nothing imports a test.
END = {
    "lab": {LIBRARY, COURSE},
    "book": {LIBRARY, COURSE, "lab"},
    "tools": {LIBRARY, COURSE, "book"},
}
ROOTS = (LIBRARY, COURSE, *END, "tests")
LIBRARY_LINES = 6000  # an afternoon's reading, of which a fifth is the diagnosis
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
    "page_torch": set(),
    "kit": {"page_torch"},
    "measurements": set(),
    "pages": {"kit", "measurements"},
    "page_model": {"kit"},
    "tab_trainer": {"kit", "measurements", "page_model"},
    "real_model": {"kit", "page_model"},
    "a slice": {"kit", "measurements", "page_model", "tab_trainer", "real_model"},
    "teaching": {"kit", "a slice"},
    "blank": {"kit", "teaching"},
}
SLICE_FILES = {"exercises.py", "drawings.py", "live.py", "live.js", "live.css", "model.py"}


def modules(*folders):
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def dotted(path):
    """`scratchformer/models/gpt.py` -> `scratchformer.models.gpt`, `…/__init__.py` -> `…`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def lines_of_code(source):
    """How many lines hold code."""
    documented = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTION) and ast.get_docstring(node):
            documented |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in empty | {tokenize.ENDMARKER}:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - documented)


def too_large(source, is_shipped=True):
    """What of a module is longer than the limits, or has more parameters.

    A table of exercises may be as long as its chapter has mistakes: nobody reads it at once. A
    script that is not shipped may be as long as its measurement has parts.
    """
    tree = ast.parse(source)
    if not ast.get_docstring(tree):
        yield "no docstring"
    if (n := lines_of_code(source)) > CODE and is_shipped and " = exercise(" not in source:
        yield f"{n} lines of code"
    for node in (node for node in ast.walk(tree) if isinstance(node, FUNCTION)):
        if (n := node.end_lineno - node.lineno + 1) > LINES:
            yield f"{node.name} has {n} lines"
        parameters = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        if (n := len(parameters - {"self", "cls"})) > PARAMETERS:
            yield f"{node.name} has {n} parameters"


def imported(source, module, is_package=False):
    """The house's own modules that `source` imports anywhere, names included."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in getattr(node, "names", ()) if hasattr(alias, "name")]
        if isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            names = [f"{base}.{name}" for name in names]
        yield from (name for name in names if name.split(".")[0] in ROOTS)


def may_import(module, name):
    """Whether an import runs along the direction of the house."""
    (side, *room), (to, *target) = module.split("."), name.split(".")
    if side in END:
        return to in END[side] | {side}
    if side != to:
        return (side, to) == (COURSE, LIBRARY)
    if not room or not target or target[0].startswith("__") or target[0] == room[0]:
        return True
    if side == LIBRARY:
        place = {name: i for i, names in enumerate(ROOMS) for name in names}
        return place.get(target[0], len(place)) < place[room[0]]
    kind, wanted = (re.sub(r"^ch\d\d_.*", "a slice", name) for name in (room[0], target[0]))
    return wanted in COURSE_ROOMS[kind]


@pytest.mark.parametrize("path", modules(LIBRARY, COURSE, *END), ids=dotted)
def test_a_file_is_small_says_what_it_is_for_and_imports_only_what_stands_before_it(path):
    source, module = path.read_text(encoding="utf-8"), dotted(path)
    assert list(too_large(source, is_shipped=module.split(".")[0] not in END)) == []
    names = imported(source, module, path.name == "__init__.py")
    assert [name for name in names if not may_import(module, name)] == []


def test_the_drawing_of_the_house_has_every_room_and_ends_at_the_last_chapter():
    description, drawn = house().data.split('aria-label="')[1].split('"', 1)
    slices = [f"ch{path.stem[:2]}" for path in (NOTEBOOKS[0], NOTEBOOKS[-1])]
    names = {*slices, *COURSE_ROOMS, LIBRARY, COURSE} - {"a slice"}
    assert [name for name in names if name not in drawn or name not in description] == []


def test_the_library_can_be_read_in_an_afternoon():
    lines = {dotted(p): lines_of_code(p.read_text("utf-8")) for p in modules(LIBRARY)}
    assert sum(lines.values()) <= LIBRARY_LINES, Counter(lines).most_common(10)


def test_no_modules_import_each_other_in_a_circle():
    names = {dotted(path): path for path in modules(LIBRARY, COURSE, "lab", "tools")}
    graph = defaultdict(set)
    for module, path in names.items():
        for name in imported(path.read_text("utf-8"), module, path.name == "__init__.py"):
            while name and name not in names:  # a function's name follows its module's
                name = name.rpartition(".")[0]
            graph[module] |= {name} - {"", module}
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_name_stands_in_two_rooms():
    """A room is entered by its name; the files that every slice has are the exception."""
    rooms = defaultdict(set)
    for folder in (LIBRARY, COURSE, "lab", "tools", "book/_ext"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".py", ".js", ".css") and path.stem[:2] != "__":
                rooms[path.name].add(path.parent)
    assert {name for name, folders in rooms.items() if len(folders) > 1} <= SLICE_FILES
    stems = {path.stem for path in modules(LIBRARY, COURSE, "lab", "tools")} - {"__init__"}
    assert stems.isdisjoint(path.parent.name for path in modules(LIBRARY, COURSE))
