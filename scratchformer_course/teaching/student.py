"""What a student wrote for one exercise, taken out of a notebook and run without the rest of it.

Run are the statements that the exercise's name needs, in the order of the notebook: its last
definition, what makes or fills a name that this uses, and so on. Where a helper is made twice, the
last one counts, up to the cell of the exercise's last definition; cells after that are asked only
for names that are not made before. Training, drawings and prints are thus left out, unless the
student's function depends on them. A definition is a `def`, a `class`, or `NAME = …`, in a cell
that has no `# @title`: such cells are the course's own.

Never run are worked answers, and statements that use the chapter's table (`checks.NAME(NAME)`,
`NAME = checks.NAME.choose(…)`): a notebook does not decide its own grade. The names of the
chapter's other exercises are those of their right answers, so that one that fails costs no other.
"""

from __future__ import annotations

import ast
import linecache
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

DEFINITION = ast.FunctionDef | ast.ClassDef
IMPORT = ast.Import | ast.ImportFrom
# IPython's lines: `%time`, `!ls`, `len?`, `files = !ls`
SHELL = re.compile(r"^([ \t]*)([%!?].*|\w[\w.]*\?\??[ \t]*|[\w, ]+=\s*[%!](?!=).*)$", re.MULTILINE)
FORBIDDEN = re.compile(r"scratchformer_course.*\bexercises\b|__globals__|_getframe|\.solutions\b")


class Unwritten(Exception):
    """The notebook has no answer that could be run; says why."""


@dataclass(frozen=True)
class Statement:
    """A statement at the top of a cell: the names that it makes or fills, and those it uses."""

    node: ast.stmt
    cell: int
    is_titled: bool
    makes: set[str]
    fills: set[str]
    uses: set[str]


def read(cells: list[str]) -> tuple[list[Statement], dict[int, str]]:
    """The statements of a notebook's code cells, and what is wrong with cells that cannot be read.

    Lines for the shell or for IPython (`!`, `%`) count as `pass`, and worked answers are no cells.
    """
    statements, unreadable = [], {}
    for i, cell in enumerate(cells):
        code = cell if _parses(cell) else SHELL.sub(r"\1pass", cell)
        if code.startswith("# @title Worked solution"):
            continue
        linecache.cache[_file(i)] = (len(code), None, code.splitlines(keepends=True), _file(i))
        try:
            tree = ast.parse(code, _file(i))
            statements += [_statement(node, i, code) for node in tree.body]
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f", in line {error.lineno}" if isinstance(error, SyntaxError) else ""
            unreadable[i] = f"{type(error).__name__}: {getattr(error, 'msg', error)}{line}."
    return statements, unreadable


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _file(cell: int) -> str:
    return f"<cell {cell}>"


def _statement(node: ast.stmt, cell: int, code: str) -> Statement:
    nodes = [*getattr(node, "decorator_list", []), node]
    source = "\n".join(ast.get_source_segment(code, each) or "" for each in nodes)
    table = symtable.symtable(source, _file(cell), "exec")
    top = table.get_symbols()
    makes = {each.get_name() for each in top if each.is_assigned() or each.is_imported()}
    uses = {each.get_name() for each in top if each.is_referenced()} | {*_globals(table)}
    fills = {_root(place) for part in ast.walk(node) for place in _changed(part)}
    return Statement(node, cell, code.startswith("# @title"), makes, fills, uses)


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    """The names that functions and classes within look up in the notebook."""
    for child in table.get_children():
        yield from (each.get_name() for each in child.get_symbols() if each.is_global())
        yield from _globals(child)


def _changed(part: ast.AST) -> Iterator[ast.expr]:
    """The object into which this puts something: `x` of `x[0] = …`, `x.a = …`, `x.append(…)`."""
    match part:
        case ast.Subscript(value=place, ctx=ast.Store()):
            yield place
        case ast.Attribute(value=place, ctx=ast.Store()):
            yield place
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=place))):
            yield place


def _root(place: ast.expr) -> str:
    """The name that a place belongs to: `x` of `x.a[0]`."""
    while isinstance(place, ast.Attribute | ast.Subscript):
        place = place.value
    return place.id if isinstance(place, ast.Name) else ""


def needed(statements: list[Statement], name: str, known: set[str]) -> list[Statement]:
    """The statements that define `name`, in order; `known` names are there already.

    Empty if nothing defines it.
    """
    tables = {alias for each in statements for alias in _aliases(each.node)} - {name}
    modules = {made for x in statements if isinstance(x.node, IMPORT) for made in x.makes}

    worked_names = {f"{one}{end}" for one in {name, *known} for end in ("_solution", "Solution")}

    def may_run(each: Statement) -> bool:
        worked = each.uses & worked_names
        is_definition = isinstance(each.node, DEFINITION)
        return not [*_aliases(each.node)] and (is_definition or not (worked | each.uses & tables))

    def of(wanted: str) -> list[Statement]:
        """The statements that make and fill a name."""
        if wanted == name:
            made = definitions
        else:
            made = [each for each in possible if wanted in each.makes]
            made = [each for each in made if each.cell <= last] or made
        filled = [each for each in possible if wanted in each.fills and each.cell <= last]
        return made + (filled if wanted not in modules else [])

    possible = [each for each in statements if may_run(each)]
    definitions = [each for each in possible if _defines(each, name)]
    if definitions and isinstance(definitions[-1].node, DEFINITION):
        definitions = definitions[-1:]  # `f = cache(f)` needs an earlier one
    last = max((each.cell for each in definitions), default=-1)
    stars = [each for each in possible if isinstance(each.node, ast.ImportFrom) and not each.makes]
    wanted, found, done = {name}, stars if definitions else [], set[str]()
    while definitions and (new := wanted - done - known):
        done |= new
        for each in (each for one in new for each in of(one) if each not in found):
            found.append(each)
            wanted |= each.uses
    return [each for each in possible if each in found]


def _defines(each: Statement, name: str) -> bool:
    """Whether a statement is the student's definition: a `def`, or `NAME = …` at the top."""
    match each.node:
        case ast.Assign(targets=targets):
            made = [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=one)):
            made = [one]
        case _:  # a `def` may also be in an `if` or a `try`
            inside = ast.walk(each.node) if isinstance(each.node, ast.If | ast.Try) else [each.node]
            made = [part.name for part in inside if isinstance(part, DEFINITION)]
    return name in made and not each.is_titled


def _aliases(node: ast.stmt) -> Iterator[str]:
    """The names under which an import makes a table of exercises known."""
    if isinstance(node, IMPORT):
        module = f"{getattr(node, 'module', '')}."
        for each in node.names:
            if re.search(r"scratchformer_course\.ch.*\bexercises\b", module + each.name):
                yield (each.asname or each.name).partition(".")[0]


def answer(cells: list[str], name: str, known: dict[str, Any]) -> Any:
    """The function or class `name` of a notebook, or `...` if it has none.

    Raises `Unwritten` with the reason in words if a cell with its definition cannot be read, or if
    something that it needs fails.
    """
    statements, unreadable = read(cells)
    found = needed(statements, name, set(known) - {name})
    for i, why in unreadable.items() if not found else ():
        if re.search(rf"^\s*(def|class) {name}\b", cells[i], flags=re.MULTILINE):
            raise Unwritten(f"The cell of `{name}` cannot be read. {why}")
    names = {**known, "__name__": "__main__", "display": lambda *a, **k: None}
    names.pop(name, None)
    for each in found:
        if sought := FORBIDDEN.search(ast.unparse(each.node)):
            raise Unwritten(f"It looks for the course's own answers: `{sought[0]}`.")
        try:
            exec(compile(ast.Module([each.node], []), _file(each.cell), "exec"), names)
        except BaseException as error:  # SystemExit too
            what = ", ".join(sorted(each.makes or each.fills))
            why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            line = linecache.getline(_file(each.cell), each.node.lineno).strip()[:100]
            raise Unwritten(f"`{what}` cannot be made. {why}, in `{line}`.") from None
    return names.get(name, ...)
