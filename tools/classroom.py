"""`make classroom`: the students' notebooks and their package, in build/classroom, and as a zip.

Usage: python -m tools.classroom [CHAPTERS], such as 05-10 or 05,07. All, if none is named.

In a student's notebook every stub is as in the chapter. Gone are the worked solutions, what answers
a guess, *Checks*, *How we know*, what cells have printed, and prose in cells with the tag
`gives-answer`. Code with this tag is packed, since later cells need it, and so are the tables of
exercises in the wheel: `inspect` and `help` find no source there. Two lines of Python unpack it.
"""

import ast
import base64
import html
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.bundle import ROOT, build_wheel

FOLDER = ROOT / "build" / "classroom"
GIVES_ANSWER = "gives-answer"
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
FOLDS = {"hide-cell", "hide-input", "remove-input"}
STUB = re.compile(r"^checks\.(\w+)\(\1\)$", re.MULTILINE)
CHOICE = re.compile(r"^\w+ = checks\.\w+\.choose\(\w+\)$", re.MULTILINE)
GUESS = re.compile(r'<div class="course-guess(-end|)" data-question="([^"]*)"')
LABEL = re.compile(r"^\([\w-]+\)=\n", re.MULTILINE)
ROLE = re.compile(r"\{(cite|cite:t|doc|numref|ref|term)\}`(?:([^`<]*?)\s*<[^>`]*>|([^`]*))`")
GUESSED = "*What was it, and why? The page of this chapter says more.*"
PACKED = """import base64
import zlib

exec(compile(zlib.decompress(base64.b85decode("{}")), "<{}>", "exec", optimize=2))
"""
SET_UP = """# @title Set-up
import importlib.util
import os

# the first time, from the file beside this notebook
if importlib.util.find_spec("scratchformer") is None:
    if not os.path.exists("WHEEL"):
        raise FileNotFoundError(
            "Put WHEEL into the folder of this notebook, "
            "in Colab by uploading it under Files, and run this cell again."
        )
    %pip install -q WHEEL
    importlib.invalidate_caches()

from scratchformer_course.kit import chapter

chapter.setup()"""
README = """Transformers from Scratch: notebooks for students

You need Python 3.10 to 3.14. The first cell of a notebook installs the package in the file
WHEEL, which must be in the folder of the notebook.

On your computer, in this folder (on Windows, .venv\\Scripts in place of .venv/bin):
    python -m venv .venv
    .venv/bin/python -m pip install WHEEL jupyterlab
    .venv/bin/python -m jupyter lab
The first line that installs takes some minutes and, on Linux, 6 GB, since pip takes the PyTorch
for GPUs. Without a GPU, 1.6 GB are enough if you install that first:
    .venv/bin/python -m pip install torch --index-url https://download.pytorch.org/whl/cpu
In VS Code: open this folder and a notebook, and choose the Python of .venv as its kernel.
In Colab: upload a notebook, and then the file WHEEL under Files.

Run the cells from top to bottom. In an exercise, replace the ... and run the cell: its last line
checks what you wrote. You can also go on without: from there on the notebook takes a right function
from the package. Where it asks for a guess, write yours down before you run the next cell.

Some chapters read Shakespeare's plays (1 MB) and a language model (98 MB): they are fetched once,
and a chapter goes on without them.

Hand in the notebook, as your teacher says. Keep the names of the functions.
"""


def chosen(asked: str) -> list[Path]:
    """The notebooks of chapters such as "05-10" or "05,07", or of all. ValueError for others."""
    paths = {int(path.name[:2]): path for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    least, most = min(paths), max(paths)
    numbers: set[int] = set()
    for part in re.split(r"[,\s]+", asked or f"{least}-{most}"):
        match = re.fullmatch(r"(\d{1,2})(?:-(\d{1,2}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not least <= first <= last <= most:
            raise ValueError(
                f"expected chapters from {least:02} to {most}, such as 05-10 or 05,07, "
                f"and got {asked!r}"
            )
        numbers.update(range(first, last + 1))
    return [paths[number] for number in sorted(numbers)]


def packed(text: str, name: str) -> str:
    """Code that runs the code of a text; what it defines has no source to show."""
    return PACKED.format(base64.b85encode(zlib.compress(text.encode(), 9)).decode(), name)


# --- a notebook ----------------------------------------------------------------------------------


def for_students(notebook: NotebookNode, wheel: str) -> NotebookNode:
    """The notebook without answers, whose first cell installs the wheel."""
    cells, used = [], []
    names = [m[1] for c in notebook.cells if (m := STUB.search(c.source)) and "..." in c.source]
    for cell, prose in zip(notebook.cells, without_answers(notebook.cells), strict=True):
        look = {key: cell.metadata[key] for key in FOLDED if key in cell.metadata}
        if cell.cell_type == "markdown" and prose:
            text = ROLE.sub(in_plain_words, LABEL.sub("", prose))
            cells.append(nbformat.v4.new_markdown_cell(text, id=cell.id))
        elif cell.cell_type == "code" and (source := code(cell, names, wheel)):
            look = FOLDED if GIVES_ANSWER in tags(cell) else look
            used += [] if source.startswith("# @title Worked") else [cell.source]
            cells.append(nbformat.v4.new_code_cell(source, id=cell.id, metadata=look))
    drop_unused_imports([cell for cell in cells if cell.cell_type == "code"], "\n".join(used))
    kernel = {key: notebook.metadata[key] for key in ("kernelspec", "language_info")}
    return nbformat.v4.new_notebook(cells=cells, metadata=kernel)


def code(cell: NotebookNode, names: list[str], wheel: str) -> str:
    """What students run in place of a cell; "" if it is gone. `names` are those of the stubs."""
    if cell.source.startswith("# @title Set-up"):
        return SET_UP.replace("WHEEL", wheel)
    if cell.source.startswith("# @title Check"):  # Checks: …, Check of the worked solution …
        return ""
    worked = rf"\b({'|'.join(names)})_?[sS]olution\b"
    source = re.sub(rf"\.choose\(\s*(\w+),\s*{worked}\s*\)", r".choose(\1)", cell.source)
    if source.startswith("# @title Worked solution"):
        return "\n".join(CHOICE.findall(source))
    source = re.sub(worked, r"checks.\1.right", source)
    if GIVES_ANSWER in tags(cell):
        return f"# @title Code that is left out: an exercise asks for it\n{packed(source, cell.id)}"
    return source


def drop_unused_imports(cells: list[NotebookNode], used: str) -> None:
    """Take out imports of the library that no code uses: an exercise may ask for them."""
    for cell in cells:
        is_opening = cell.source.startswith("# @title") and "%" not in cell.source
        for node in reversed(ast.parse(cell.source).body) if is_opening else ():
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("scratchformer."):
                made = [(x, x.asname or x.name) for x in node.names]
                names = [x for x, name in made if len(re.findall(rf"\b{name}\b", used)) > 1]
                if len(names) < len(node.names):
                    lines = cell.source.split("\n")
                    kept = [ast.unparse(ast.ImportFrom(node.module, names, 0))] if names else []
                    lines[node.lineno - 1 : node.end_lineno] = kept
                    cell.source = "\n".join(lines)


def without_answers(cells: list[NotebookNode]) -> Iterator[str]:
    """The prose of each cell: guesses in words, and without what the site covers until the guess.

    That is what book/_ext/guess_ext.py says. Gone are *How we know*, too, and cells that give an
    answer.
    """
    closed = set(re.findall(r'class="course-guess-end" data-question="([^"]*)"', str(cells)))
    state = question = ""  # asked: an output is to come; answered: prose about it; told: it is gone
    for cell in cells:
        if cell.cell_type == "code":
            if state == "asked" and answers(cell):
                state = "answered"
            elif state in ("answered", "told") and not FOLDS & tags(cell):
                state = ""
            yield ""
            continue
        blocks = []
        for block in cell.source.split("\n\n") if GIVES_ANSWER not in tags(cell) else []:
            if guess := GUESS.match(block):
                kind, question = guess.groups()
                state = "" if kind else "answered" if "data-answer-is" in block else "asked"
                blocks += [] if kind else [asked_in_words(block)]
            elif block.startswith("#") and state != "asked":
                state = "known" if block == "## How we know" else ""
                blocks += [] if state else [block]
            elif state in ("answered", "told"):
                blocks += [GUESSED] if state == "answered" else []
                state = "told" if question in closed else ""
            elif state != "known" or block.startswith("**"):
                state = "" if state == "known" else state
                blocks.append(block)
        yield "\n\n".join(blocks)


def answers(cell: NotebookNode) -> bool:
    """Whether an output of the cell is what a guess was about."""
    return bool(cell.outputs) and "hide-cell" not in tags(cell) and "live-" not in str(cell.outputs)


def asked_in_words(element: str) -> str:
    """The question of a guess, and a place for the student's."""
    given = dict(re.findall(r'data-(\w+)="([^"]*)"', element))
    asked = [html.unescape(given[key]) for key in ("ask", "choices") if key in given]
    return f"**Guess.** {': '.join(asked).replace(' | ', ' / ')}?\n\n**My guess:** …"


def in_plain_words(role: re.Match[str]) -> str:
    """What a notebook can show of a role, which the site would make into a link."""
    name, title, target = role.groups()
    if name == "numref":
        begins = role.string[: role.start()].rstrip(" ")[-1:] in ("", "\n", ".", "?", ":")
        return "The figure" if begins else "the figure"
    if name.startswith("cite"):
        works = re.sub(r"([a-z]+)(\d+)\w*", lambda m: f"{m[1].title()} {m[2]}", target)
        return works if name == "cite:t" else f"({works.replace(',', ', ')})"
    return title or target.rsplit("/")[-1]


def tags(cell: NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))


# --- the folder ----------------------------------------------------------------------------------


def pack_tables(source: Path) -> None:
    """Pack the tables of exercises in a copy of the package's source."""
    for path in source.glob("scratchformer_course/ch*/exercises.py"):
        text = packed(path.read_text(encoding="utf-8"), f"exercises of {path.parent.name}")
        path.write_text(f'"""The checks of a chapter\'s exercises."""\n{text}', encoding="utf-8")


def classroom(paths: list[Path], folder: Path = FOLDER) -> Path:
    """Write the folder and, beside it, its zip, in place of earlier ones; returns the zip."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        content, build = Path(temporary) / folder.name, Path(temporary) / "build"
        content.mkdir()
        build.mkdir()
        wheel = Path(shutil.copy(build_wheel(build, pack_tables), content)).name
        (content / "README.txt").write_text(README.replace("WHEEL", wheel), encoding="utf-8")
        for path in paths:
            notebook = for_students(nbformat.read(path, as_version=4), wheel)
            nbformat.write(notebook, content / path.name)
        made = shutil.make_archive(f"{temporary}/made", "zip", temporary, folder.name)
        shutil.rmtree(folder, ignore_errors=True)
        content.rename(folder)
        return Path(made).replace(folder.with_suffix(".zip"))


def main(words: list[str]) -> int:
    try:
        paths = chosen(" ".join(words))
    except ValueError as error:
        print(f"classroom: {error}")
        return 2
    path = classroom(paths)
    print(f"{path}: {', '.join(each.stem for each in paths)}, {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
