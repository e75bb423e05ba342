"""The stubs of the chapters' exercises, and a reader who fills all of them."""

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted(ROOT.glob("notebooks/[0-9]*.ipynb"))
CALL = re.compile(r"^checks\.(\w+)\((\w+)\)$", re.MULTILINE)
CHOSEN = re.compile(r"^(\w+) = checks\.\1\.choose\(", re.MULTILINE)
FILLED = """
wrong_answer = checks.{name}.mistakes[0].function
assert not checks.{name}(wrong_answer)
{name} = checks.{name}.solutions[-1]
verdict = checks.{name}({name})
assert verdict, str(verdict)
"""


def stubs(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, str]]:
    """The cells in which a reader writes, each with the name of what is asked for."""
    for cell in notebook.cells:
        call = CALL.search(cell.source) if cell.cell_type == "code" else None
        if call and call.group(1) == call.group(2) and "..." in cell.source:
            yield cell, call.group(1)


def environment(folder: Path) -> Path:
    """The Python of a new environment in a folder, which has all packages of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    version = "python{}.{}".format(*sys.version_info)
    borrowed = folder / "venv" / "lib" / version / "site-packages" / "borrowed.pth"
    borrowed.write_text(sysconfig.get_path("purelib"))
    return folder / "venv" / "bin" / "python"


def fill(notebook: NotebookNode) -> None:
    """In every stub a wrong answer, then another right one, which the page must go on with.

    No output is compared any more: those stored are of the worked answers.
    """
    for cell, name in stubs(notebook):
        cell.source = FILLED.format(name=name)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for name in CHOSEN.findall(cell.source):
                cell.source += f"\nassert {name} is checks.{name}.solutions[-1]"
            cell.metadata["tags"] = []
