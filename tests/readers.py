"""The stubs of the chapters' exercises, and a reader who fills all of them, rightly or wrongly."""

import re
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

NOTEBOOKS = sorted(Path(__file__).resolve().parents[1].glob("notebooks/[0-9]*.ipynb"))
CALL = re.compile(r"^checks\.(\w+)\((\w+)\)$", re.MULTILINE)
ANSWERS = {"right": "solutions[-1]", "wrong": "mistakes[0].function"}


def stubs(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, str]]:
    """The cells in which a reader writes, each with the name of what is asked for."""
    for cell in notebook.cells:
        call = CALL.search(cell.source) if cell.cell_type == "code" else None
        if call and call.group(1) == call.group(2) and "..." in cell.source:
            yield cell, call.group(1)


def fill(notebook: NotebookNode, answer: str) -> None:
    """Put a "right" or a "wrong" answer in the place of every stub; such a cell shows nothing."""
    for cell, name in stubs(notebook):
        cell.source = (
            f"{name} = checks.{name}.{ANSWERS[answer]}\n"
            f"check = checks.{name}({name})\n"
            f"assert bool(check) is {answer == 'right'}, str(check)"
        )
        cell.outputs, cell.metadata["tags"] = [], []


def choices(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells that say whose function the page uses from there on."""
    return [c for c in notebook.cells if c.cell_type == "code" and ".choose(" in c.source]
