"""The notebooks as files: executed, whole, in order, small, and honest about what is compared."""

import ast
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def code_cells(path):
    notebook = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def parse(source):
    return ast.parse(TransformerManager().transform_cell(source))  # %pip is no Python


def draws(cell):
    return any("image/png" in output.get("data", {}) for output in cell.outputs)


def shows_something(source):
    """Whether the cell prints at its top level or ends in a value."""
    body = parse(source).body
    calls = [node.value for node in body if isinstance(node, ast.Expr)]
    prints = [c for c in calls if isinstance(c, ast.Call) and ast.unparse(c.func) == "print"]
    ends_in_value = bool(body) and isinstance(body[-1], ast.Expr) and "setup" not in source
    return bool(prints) or (ends_in_value and not source.rstrip().endswith(";"))


def problems(cells):
    """What a reader of the stored notebook would notice."""
    for i, cell in enumerate(cells):
        if cell.execution_count != i + 1:
            yield f"cell {i}: execution count {cell.execution_count}, expected {i + 1}"
        if shows_something(cell.source) and not cell.outputs:
            yield f"cell {i}: shows something but has no stored output"
        if len(cell.source.splitlines()) > 25:
            yield f"cell {i}: more than 25 lines"
        for output in cell.outputs:
            if output.get("name") == "stderr" or output.output_type == "error":
                yield f"cell {i}: stored an error or a line on stderr"
        if draws(cell):
            stored = cell.metadata.get("mystnb", {})
            if not stored.get("image", {}).get("alt") or "caption" not in stored.get("figure", {}):
                yield f"cell {i}: a figure without alt text or caption"
        if "nbval-ignore-output" in cell.metadata.get("tags", []) or draws(cell):
            has = any(isinstance(n, ast.Assert) for n in ast.walk(parse(cell.source)))
            if not has:
                yield f"cell {i}: its output is not compared and it asserts nothing"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_is_stored_executed_whole_and_described(path):
    assert list(problems(code_cells(path))) == []
    assert path.stat().st_size < 1_000_000


def test_a_stripped_notebook_would_be_noticed():
    cells = code_cells(NOTEBOOKS[0])
    for cell in cells:
        cell.outputs, cell.execution_count = [], None
    assert len(list(problems(cells))) > len(cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_every_chapter_opens_with_the_same_setup_cell(path):
    first = code_cells(path)[0].source
    assert first == code_cells(NOTEBOOKS[0])[0].source
    assert first.startswith("import") and "chapter.setup()" in first


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_prose_is_spelled_correctly(path):
    cells = nbformat.read(path, as_version=4).cells
    prose = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    command = [sys.executable, "-m", "codespell_lib", "-"]  # outputs hold invented words
    done = subprocess.run(command, input=prose, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
