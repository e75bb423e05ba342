"""The notebooks as files: executed, in order, small, folded, honest about what is compared."""

import ast
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from functools import cache

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from last_digits import margin_of, within
from readers import NOTEBOOKS, ROOT

FOLDS = {"hide-cell", "hide-input", "remove-input"}
WIDEST_LINE = 78  # what the page's column shows at 1200 px
MOST_OPEN_CELLS = 27
MOST_LINES = 25
MOST = {"open cells": 18, "sections": 10, "guesses": 3, "exercises": 4}  # where a moment is named
MARKS = {
    "sections": re.compile(r"^## ", re.M),
    "guesses": re.compile('class="course-guess"'),
    "exercises": re.compile(r"^### Exercise ", re.M),
}


@cache
def cells_of(path):
    return nbformat.read(path, as_version=4).cells


def code_cells(path):
    return [cell for cell in cells_of(path) if cell.cell_type == "code"]


def parse(source):
    return ast.parse(TransformerManager().transform_cell(source))  # %pip is no Python


def pictures(cell, kind):
    """The SVG of a cell's outputs: its plots (`course-plot`) or drawings (`course-drawing`)."""
    shown = (output.get("data", {}).get("text/html", "") for output in cell.outputs)
    return [html for html in shown if html.startswith(f'<svg class="{kind}"')]


def tags(cell):
    return set(cell.metadata.get("tags", []))


def sticks_out(svg):
    """The words of a drawing that reach over its edge, by the usual width of a letter."""
    root = ET.fromstring(svg)
    width, height = map(float, root.get("viewBox").split()[2:])
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
        if text.get("transform"):
            continue
        long = len(text.text or "") * size * (0.6 if "mono" in text.get("font-family") else 0.5)
        left = x - long * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")]
        if left < -2 or left + long > width + 2 or not size / 2 <= y + 1 <= height + 2 - size / 2:
            yield text.text


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
        plots = pictures(cell, "course-plot")
        if cell.execution_count != i + 1:
            yield f"cell {i}: execution count {cell.execution_count}, expected {i + 1}"
        if shows_something(cell.source) and not cell.outputs:
            yield f"cell {i}: shows something but has no stored output"
        if len(cell.source.splitlines()) > MOST_LINES + (cell.source.startswith("# @title")):
            yield f"cell {i}: more than {MOST_LINES} lines"
        for output in cell.outputs:
            if output.get("name") == "stderr" or output.output_type == "error":
                yield f"cell {i}: stored an error or a line on stderr"
        is_solution = cell.source.startswith("# @title Worked solution")
        if is_solution and any("try again" in str(output) for output in cell.outputs):
            yield f"cell {i}: a worked solution was refused, as on a machine that was too busy"
        stored = cell.metadata.get("mystnb", {})
        if plots and not stored.get("image", {}).get("alt"):
            yield f"cell {i}: a figure without alt text"
        if plots + pictures(cell, "course-drawing") and not stored.get("figure"):
            yield f"cell {i}: a picture without a caption"
        for svg in pictures(cell, "course-drawing"):
            yield from (f"cell {i}: sticks out of its drawing: {text}" for text in sticks_out(svg))
        figures = [o for o in cell.outputs if "<Figure" in str(o.get("data", {}).get("text/plain"))]
        if len(figures) != len(plots):
            yield f"cell {i}: a figure that is no SVG"
        if any("#000000" in svg for svg in plots):
            yield f"cell {i}: a figure in black, which a dark page swallows"
        asserts = any(isinstance(node, ast.Assert) for node in ast.walk(parse(cell.source)))
        if ("nbval-ignore-output" in tags(cell) or plots) and not asserts:
            yield f"cell {i}: its output is not compared and it asserts nothing"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_is_stored_executed_whole_and_described(path):
    assert list(problems(code_cells(path))) == []
    assert path.stat().st_size < 1_000_000


def test_last_digits_may_differ_and_nothing_else():
    stored = within("rate 0.003:  2.3 -0.1\nreached 1,212 of 5,000: 22%", 2)
    assert stored == "rate 0.003: 2.4  0.1\nreached 1,210 of 5,000: 24%"
    for change in ("22% 25%", "0.003 0.006", "2.3 2.6", "rate loss"):
        assert stored != stored.replace(*change.split()), change
    assert margin_of(["hide-cell", "last-digit-within-12"]) == 12
    assert margin_of(["last-digit-within-"]) is None


def page_problems(cells):
    """What would stand in a reader's way: long lines, too many open cells, half a fold."""
    for i, cell in enumerate(cells):
        for line in cell.source.splitlines():
            if len(line) > WIDEST_LINE and "%pip" not in line:  # an account's name may be long
                yield f"cell {i}: {len(line)} characters: {line}"
        folded, marks = bool(tags(cell) & FOLDS), cell.metadata
        titled = cell.source.startswith("# @title ")
        hidden = marks.get("cellView") == "form" and marks.get("jupyter", {}).get("source_hidden")
        if folded and not (titled and hidden):
            yield f"cell {i}: folds on the site, and not in Jupyter or Colab, or has no title"
        if not folded and (titled or hidden):
            yield f"cell {i}: folds in Jupyter or Colab, and not on the site"
        if not folded and re.search(r"\bis_real\b|plt\.subplots", cell.source):
            yield f"cell {i}: a stand-in or the code of a figure stands open"
    if (n := sum(not tags(cell) & FOLDS for cell in cells)) > MOST_OPEN_CELLS:
        yield f"{n} open cells"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_page_folds_what_is_not_the_idea_and_cuts_no_line(path):
    assert list(page_problems(code_cells(path))) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_chapter_keeps_to_the_budget_and_opens_with_the_setup_of_all(path):
    prose = "\n\n".join(cell.source for cell in cells_of(path) if cell.cell_type == "markdown")
    if nbformat.read(path, as_version=4).metadata.get("moment"):
        sizes = {name: len(mark.findall(prose)) for name, mark in MARKS.items()}
        sizes["open cells"] = sum(not tags(cell) & FOLDS for cell in code_cells(path))
        assert {name: n for name, n in sizes.items() if n > MOST[name]} == {}
        assert "\n## What you know now\n" in prose and "\n## How we know\n" in prose
    first = code_cells(path)[0].source
    assert first == code_cells(NOTEBOOKS[0])[0].source and "chapter.setup()" in first


def test_prose_is_spelled_correctly(tmp_path):
    for path in NOTEBOOKS:  # outputs hold invented words
        prose = [cell.source for cell in cells_of(path) if cell.cell_type == "markdown"]
        (tmp_path / f"{path.stem}.md").write_text("\n\n".join(prose), encoding="utf-8")
    command = [sys.executable, "-m", "codespell_lib", str(tmp_path)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout
