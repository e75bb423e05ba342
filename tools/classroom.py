"""`make classroom`: notebooks for students, with the package, in build/classroom and as a zip.

Usage: python -m tools.classroom [CHAPTERS], such as 05-10 or 05,07. All, if none is named.

A student's notebook has every stub and every check of the chapter. Gone are the worked answers, the
cells of *Checks*, and what cells have printed; where the chapter goes on with a worked answer, it
takes the one of the check's table. The learner is honest: the package and the site show answers.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.bundle import ROOT, build_wheel

FOLDER = ROOT / "build" / "classroom"
STUB = re.compile(r"^checks\.(\w+)\(\1\)$", re.MULTILINE)
CHOICE = re.compile(r"^\w+ = checks\.\w+\.choose\(\w+\)$", re.MULTILINE)
SET_UP = """# @title Set-up
import importlib.util

# the first time, from the file beside this notebook (in Colab: upload it under Files)
if importlib.util.find_spec("scratchformer") is None:
    %pip install -q WHEEL
    importlib.invalidate_caches()

from scratchformer_course.kit import chapter

chapter.setup()"""
README = """Transformers from Scratch: notebooks for students

You need Python 3.10 to 3.14. The first cell of a notebook installs the package in the file
WHEEL, which must be in the folder of the notebook. On your computer, in this folder
(on Windows, .venv\\Scripts in place of .venv/bin):
    python -m venv .venv
    .venv/bin/python -m pip install torch --index-url https://download.pytorch.org/whl/cpu
    .venv/bin/python -m pip install WHEEL jupyterlab
    .venv/bin/python -m jupyter lab
Leave the second line out if you have a GPU; then pip fetches 6 GB in place of 1.6.

Run the cells from top to bottom. In an exercise, replace the ... and run the cell: its last line
checks what you wrote. You can go on without: the notebook then takes a right function from the
package. Hand in the notebook, as your teacher says, and keep the names of the functions.
"""


def chosen(asked: str) -> list[Path]:
    """The notebooks of chapters such as "05-10" or "05,07", or of all. ValueError for others."""
    paths = {int(path.name[:2]): path for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    numbers: set[int] = set()
    for part in re.split(r"[,\s]+", asked or f"{min(paths)}-{max(paths)}"):
        match = re.fullmatch(r"(\d{1,2})(?:-(\d{1,2}))?", part)
        chapters = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
        if not chapters or not paths.keys() >= {*chapters}:
            expected = (
                f"expected chapters from {min(paths):02} to {max(paths)}, such as 05-10 or 05,07"
            )
            raise ValueError(f"{expected}, and got {asked!r}")
        numbers.update(chapters)
    return [paths[number] for number in sorted(numbers)]


def for_students(notebook: NotebookNode, wheel: str) -> NotebookNode:
    """The notebook without answers and outputs, whose first cell installs the wheel."""
    names = [m[1] for c in notebook.cells if (m := STUB.search(c.source)) and "..." in c.source]
    worked = rf"\b({'|'.join(names)})_?[sS]olution\b"
    cells = []
    for cell in notebook.cells:
        source = cell.source
        if cell.cell_type == "code":
            source = re.sub(rf"\.choose\(\s*(\w+),\s*{worked}\s*\)", r".choose(\1)", source)
            if source.startswith("# @title Set-up"):
                source = SET_UP.replace("WHEEL", wheel)
            elif source.startswith("# @title Worked solution"):
                source = "\n".join(CHOICE.findall(source))
            elif source.startswith("# @title Check"):
                source = ""
            source = re.sub(worked, r"checks.\1.right", source)
            cell = nbformat.v4.new_code_cell(source, id=cell.id, metadata=cell.metadata)
        cells += [cell] if source else []
    return nbformat.v4.new_notebook(cells=cells, metadata=notebook.metadata)


def classroom(paths: list[Path], folder: Path = FOLDER) -> Path:
    """Write the folder and, beside it, its zip, in place of earlier ones; returns the zip."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        content = Path(temporary) / folder.name
        content.mkdir()
        wheel = Path(shutil.copy(build_wheel(Path(temporary)), content)).name
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
    print(f"{path}: {', '.join(path.stem for path in paths)}, {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
