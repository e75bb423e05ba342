"""What Python in a page needs to check the exercises of a chapter, as zips of files.

One zip serves all chapters: the engine of the checks, the small stand-in for PyTorch
(`page_torch`) and the library. A chapter's own has its table, the modules of its slice which the
table imports, the trained weights which it reads, and what its notebook defines before it asks.
"""

import ast
import io
import json
import re
import symtable
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from scratchformer_course.kit.checks.in_page import defined

ROOT = Path(__file__).resolve().parents[2]
COURSE = "scratchformer_course"
SHARED = (
    f"{COURSE}/__init__.py",
    f"{COURSE}/kit/__init__.py",
    f"{COURSE}/kit/checks/*.py",
    f"{COURSE}/page_torch/**/*.py",
    f"{COURSE}/page_torch/**/*.json",
    "scratchformer/**/*.py",
)
NOTEBOOK_ONLY = f"{COURSE}/page_torch/notebook_only.json"
STUB = re.compile(r"^checks\.(\w+)\(\1\b", re.MULTILINE)
WORKED = re.compile(r"# @title Worked solution (\d+\.\d+)")
HEADING = re.compile(r"^#+ Exercise (\d+\.\d+) · ", re.MULTILINE)
MAGIC = re.compile(r"^(\s*)[%!].*", re.MULTILINE)
NO_PART_OF_AN_ANSWER = re.compile(r"importlib|matplotlib|scratchformer_course")


def notebook_only(root: Path = ROOT) -> list[str]:
    """The numbers of the exercises that run in Jupyter alone, such as "25.1"."""
    path = root / NOTEBOOK_ONLY
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def shared_files(root: Path = ROOT) -> bytes:
    """A zip of what the exercises of all chapters need, the same each time."""
    paths = {path for pattern in SHARED for path in root.glob(pattern)}
    return _zipped({path.relative_to(root).as_posix(): path.read_bytes() for path in paths})


def chapter_files(package: str, root: Path = ROOT) -> bytes:
    """A zip of what the exercises of a slice need besides, such as "ch05_averaging"."""
    folder = f"{COURSE}/{package}"
    names = [f"{folder}/{name}.py" for name in ("__init__", *_own_modules(root / folder))]
    names += _weights(package, "".join((root / name).read_text("utf-8") for name in names), root)
    files = {name: (root / name).read_bytes() for name in names}
    notebook = json.loads((root / f"notebooks/{package[2:]}.ipynb").read_text(encoding="utf-8"))
    files[f"{folder}/in_notebook.py"] = in_notebook(notebook).encode()
    return _zipped(files)


def _zipped(files: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name in sorted(files):
            info = zipfile.ZipInfo(name)  # of the first day of 1980
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, files[name])
    return archive.getvalue()


def _own_modules(folder: Path) -> list[str]:
    """The table of a slice, and what it imports from its own folder, directly or by others."""
    names = ["exercises"]
    for name in names:  # it grows meanwhile
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module == f"{COURSE}.{folder.name}":
                found = [alias.name for alias in node.names]  # type: ignore[attr-defined]
            else:
                found = [(module or "").removeprefix(f"{COURSE}.{folder.name}.")]
            is_here = (x for x in found if x not in names and (folder / f"{x}.py").is_file())
            names.extend(is_here)
    return names


def _weights(package: str, source: str, root: Path) -> Iterator[str]:
    """The files of the trained models that a slice names.

    Where an exercise is left to the notebook, that is the one which reads them.
    """
    chapter = int(package[2:4])
    if any(int(number.split(".")[0]) == chapter for number in notebook_only(root)):
        return
    for path in sorted((root / "scratchformer/shipped").glob("*/*")):
        if f'"{path.parent.name}"' in source:
            yield path.relative_to(root).as_posix()


# ---- a notebook ----------------------------------------------------------------------------------


def stubs(notebook: dict) -> dict[str, int]:
    """The place of each exercise's stub among a notebook's cells, by the exercise's number."""
    number, found = "", {}
    for place, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            number = (HEADING.findall(source) or [number])[-1]
        elif number and number not in found and STUB.search(source):
            found[number] = place
    return found


def in_notebook(notebook: dict) -> str:
    """Python code: what a notebook imports, and what its stubs and worked answers use of it.

    Each of its statements may fail in a page alone; `in_page.open_chapter` tries them in turn.
    """
    sources = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    places = stubs(notebook).values()
    answers = ["".join(notebook["cells"][place]["source"]) for place in places]
    answers += [source for source in sources if WORKED.match(source)]
    statements = [x for text in sources for x in ast.parse(MAGIC.sub(r"\1pass", text)).body]
    asked = {name for answer in answers for name in STUB.findall(answer)}
    wanted = _free_names(answers) - asked  # what is asked for, the chapter's table has
    chosen: list[ast.stmt] = []
    for statement in reversed(statements):  # what is used is defined above
        text = ast.unparse(statement)
        if isinstance(statement, ast.Import | ast.ImportFrom):
            is_wanted = not NO_PART_OF_AN_ANSWER.search(text)
        else:
            is_wanted = bool(wanted & defined(statement))
            wanted |= _free_names([text]) - asked if is_wanted else set()
        if is_wanted:
            chosen.append(statement)
    return "".join(f"{ast.unparse(statement)}\n" for statement in reversed(chosen))


def _free_names(sources: Iterable[str]) -> set[str]:
    """The names that code looks for outside of itself."""
    found = set()
    for source in sources:
        tables = [symtable.symtable(source, "cell", "exec")]
        for table in tables:  # it grows meanwhile
            tables.extend(table.get_children())
        top, *inner = tables
        used = {x.get_name() for x in top.get_symbols() if x.is_referenced()}
        used |= {x.get_name() for t in inner for x in t.get_symbols() if x.is_global()}
        made = (x for x in top.get_symbols() if x.is_assigned() or x.is_imported())
        found |= used - {x.get_name() for x in made}
    return found
