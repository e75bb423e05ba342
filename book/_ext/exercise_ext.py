"""A Sphinx extension: an exercise is one box, and folds have plain titles.

A notebook has an exercise's cells in the order in which they run: heading, task, stub, worked
answer, and then the chapter goes on. On its page the exercise ends behind its worked answer: what
follows moves out of its section. Its hints and its question come from its table
(`scratchformer_course/chNN_name/exercises.py`) at each build. Two folds end the page: *Set-up*, the
folded cells of its opening, and *Checks of this page*, its checks. Cells keep their
order within them. The folded code of a figure stands below the figure, so that no fold stands
between a title and what the page shows first. Nothing of this needs a change of a notebook.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

if TYPE_CHECKING:
    from scratchformer_course.kit.checks import Exercise

HEADING = re.compile(r"Exercise (\d+\.\d+) · ")
TITLE = re.compile(r"# @title (.*)\n")
WORKED = re.compile(r"worked solution", re.IGNORECASE)
CHECKS = re.compile(r"Checks?\b")
NOT_YET = re.compile(r"Exercise \d+\.\d+, not yet")
CHOSEN = re.compile(r"From here on: the worked .*\n")  # printed by `choose`, kit/checks/engine.py


class Box(nodes.section):
    """The section of an exercise, whose number the page's scripts look for."""


class Fold(nodes.container):
    """A `<details>` with a title; a container where there is none."""


def fold(title: str, kind: str, *children: nodes.Node) -> Fold:
    """A fold of the class `course-kind`."""
    return Fold("", *children, title=title, classes=["course-fold", f"course-{kind}"])


def visit_box(self: Any, node: Box) -> None:
    """Open the section."""
    self.section_level += 1
    self.body.append(self.starttag(node, "section", **{"data-exercise": node["exercise"]}))


def depart_box(self: Any, node: Box) -> None:
    """Close the section."""
    self.section_level -= 1
    self.body.append("</section>\n")


def visit_fold(self: Any, node: Fold) -> None:
    """Open the fold."""
    self.body.append(self.starttag(node, "details"))
    self.body.append(f"<summary>{escape(node['title'])}</summary>\n")


def depart_fold(self: Any, node: Fold) -> None:
    """Close the fold."""
    self.body.append("</details>\n")


# ---- cells ---------------------------------------------------------------------------------------


def is_cell(node: nodes.Node, hidden: str = "") -> bool:
    """Whether this is a code cell: any one, or one of which "all" or the "input" is hidden."""
    is_code = isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"
    return is_code and (not hidden or node.get("hide_mode") == hidden)


def name_cell(cell: nodes.container) -> None:
    """Take the title of a folded cell out of its code: its fold says it."""
    for block in list(cell.findall(nodes.literal_block))[:1]:
        if title := TITLE.match(block.astext()):
            cell["title"] = title[1]
            set_text(block, block.astext()[title.end() :])


def set_text(block: nodes.literal_block, text: str) -> None:
    """Give a block of code or output another text."""
    block[:] = [nodes.Text(text)]
    block.rawsource = text  # where the two differ, Sphinx colours nothing


def opened(cells: Iterable[nodes.container], headed: bool = False) -> list[nodes.Node]:
    """Cells without folds of their own, each below its title, or its section's, if `headed`."""
    shown: list[nodes.Node] = []
    for cell in cells:
        del cell["hide_mode"]
        if headed:
            title = cell.get("title", "").removeprefix("Checks: ")
            if title == "Checks":
                title = cell.parent[0].astext()
            shown.append(
                nodes.paragraph("", title[:1].upper() + title[1:], classes=["course-fold-title"])
            )
        shown.append(cell)
    return shown


def fold_cell(cell: nodes.container) -> None:
    """Put a cell into a fold with its own title, or its code alone, below what it shows."""
    hidden = cell.children[:] if is_cell(cell, "all") else cell.children[:1]
    del cell["hide_mode"]
    cell[: len(hidden)] = []
    cell += Fold("", *hidden, title=cell.get("title", "Code"), classes=["hide", "above-input"])


def quieten_choice(block: nodes.literal_block) -> None:
    """Make a line of its own of the first line of an output, if `choose` has printed it."""
    while chosen := CHOSEN.match(text := block.astext()):
        line = f'<p class="course-from-here">{inline(chosen[0].strip())}</p>'
        block.parent.insert(block.parent.index(block), raw(line))
        set_text(block, text[chosen.end() :])
        if not block.astext():
            block.parent.remove(block)
            break


# ---- an exercise ---------------------------------------------------------------------------------


def inline(text: str) -> str:
    """HTML of a text with `code` and *words* in it, as a table has them. In code an * is an *."""
    parts = escape(text, quote=False).split("`")  # every other one is code
    parts[::2] = [re.sub(r"\*(\w[^*]*)\*", r"<em>\1</em>", words) for words in parts[::2]]
    parts[1::2] = [f'<code class="literal">{code}</code>' for code in parts[1::2]]
    return "".join(parts)


def sentence(text: str) -> str:
    """The text, inline, with a full stop unless it ends in another mark."""
    return inline(text if text[-1] in ".?!" else f"{text}.")


def raw(html: str) -> nodes.raw:
    """HTML as it stands."""
    return nodes.raw("", html, format="html")


def box(section: nodes.section, exercise: Exercise, run: str) -> list[nodes.Node]:
    """The box of an exercise, and behind it what follows its worked answer."""
    children, number = section.children, exercise.number
    ends = [i for i, x in enumerate(children) if is_cell(x) and WORKED.search(x.get("title", ""))]
    if not ends:
        raise SphinxError(f"exercise {number} has no folded cell “Worked solution {number}”")
    task, worked = children[: ends[0]], children[ends[0] : ends[-1] + 1]
    for stub in filter(is_cell, task):
        if NOT_YET.search(stub[-1].astext()):
            del stub[-1]
    node = Box("", *task)
    node.attributes = {**section.attributes, "exercise": number}
    node["classes"] = [*section["classes"], "course-exercise"]
    node += raw(run)
    if exercise.question:
        question = json.dumps(exercise.question.export(exercise), ensure_ascii=False)
        question = question.replace("<", r"\u003c")  # so that no text ends the script
        html = f'<script type="application/json">{question}</script>'
        node += raw(f'<div class="course-question" data-exercise="{number}">{html}</div>')
    for i, hint in enumerate(exercise.hints, start=1):
        node += fold(f"Hint {i}", "hint", raw(f"<p>{sentence(hint)}</p>"))
    node += fold("Worked answer", "worked", *opened(filter(is_cell, worked)))
    return [node, *children[ends[-1] + 1 :]]


def how_to_run(docname: str, in_colab: bool) -> str:
    """One line on where the code of an exercise can be run."""
    file = f'<code class="literal">{docname}.ipynb</code>'
    jupyter = '<a href="../book/how_to_use.html#run-on-your-own-machine">in Jupyter</a>'
    where = f"{file} (download button, top right) {jupyter}"
    if in_colab:
        where = f"this page in Colab (rocket, top right), or {file} {jupyter}"
    return f'<p class="course-run">To run it, open {where}.</p>'


# ---- a chapter -----------------------------------------------------------------------------------


def furnish_chapter(app: Sphinx, doctree: nodes.document) -> None:
    """`doctree-read`, behind those who ask what is folded in the notebook: the page's furniture."""
    docname = app.env.docname
    name = re.fullmatch(r"notebooks/(\d\d_\w+)", docname)
    if not name:
        return
    for cell in filter(is_cell, doctree.findall(nodes.container)):
        name_cell(cell)
    for block in [x for x in doctree.findall(nodes.literal_block) if "stream" in x["classes"]]:
        quieten_choice(block)
    sections = doctree.findall(nodes.section)
    headed_by_number = [(x, match[1]) for x in sections if (match := HEADING.match(x[0].astext()))]
    if headed_by_number:
        module = importlib.import_module(f"scratchformer_course.ch{name[1]}.exercises")
        app.env.note_dependency(inspect.getfile(module))
        tables = {getattr(x, "number", ""): x for x in vars(module).values()}
        run = how_to_run(docname, app.tags.has("addressed"))
        for section, number in headed_by_number:
            at = section.parent.index(section)
            section.parent[at : at + 1] = box(section, tables[number], run)
    gather_at_end(doctree[0])
    for cell in list(filter(is_cell, doctree.findall(nodes.container))):
        if is_cell(cell, "all") or is_cell(cell, "input"):
            fold_cell(cell)


def gather_at_end(chapter: nodes.section) -> None:
    """Put the folded cells of a chapter's opening into a fold at its end, and its checks below."""
    cells = [x for x in chapter.findall(nodes.container) if is_cell(x, "all")]
    checks = [x for x in cells if CHECKS.match(x.get("title", ""))]
    setup = [x for x in cells if x.parent is chapter and x not in checks]
    for title, kind, folded in (
        ("Set-up", "setup", setup),
        ("Checks of this page", "checks", checks),
    ):
        shown = opened(folded, headed=True)
        for cell in folded:
            cell.parent.remove(cell)
        if folded:
            chapter += fold(title, kind, *shown)


def add_files(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: the styles and the script of the boxes, on the chapters alone."""
    if pagename.startswith("notebooks/"):
        app.add_css_file("exercise.css", priority=900)  # behind course.css
        app.add_js_file("guess-verdicts.js", priority=150, defer="defer")  # reads numbers
        app.add_js_file("exercise.js", priority=900, defer="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the nodes and the hooks."""
    app.add_node(Box, html=(visit_box, depart_box))
    app.add_node(Fold, html=(visit_fold, depart_fold))
    app.connect("doctree-read", furnish_chapter, priority=600)
    app.connect("html-page-context", add_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
