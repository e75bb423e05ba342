"""A Sphinx extension: a guess covers its answer, and nothing else, until the reader has guessed.

A page asks for a guess with an empty `<div class="course-guess" data-question="name" …>` (all its
attributes: book/_assets/guess.js). Here, what answers it is put into one `course-guess-answer`:

- The answer is the next output that is neither folded nor a live figure.
- `data-answer-is="prose"`: no output answers. The answer is the next prose.
- It goes on to an empty `course-guess-end` with the same name, or else to the first paragraph, and
  at the latest to the next code, heading, exercise, live figure or other HTML.
- Code and folds stay open: outputs move out of their cells, into the answer, which stands below
  the code of the first, and above what is folded beside the others.

An answer can be read without JavaScript: one line in the page's head covers it, and guess.js puts a
low bar in its place.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

MARKER = re.compile(r'<div\s[^>]*\bclass="course-guess(-end|)"[^>]*>')
OUTSIDE = {"course-exercise", "course-fold", "dropdown", "toggle"}  # they stay as they are
# Before the first paint. If the script has not come when all else has, nothing is covered.
COVER = """(() => {
  const root = document.documentElement;
  let never = null;
  try { never = localStorage.getItem("course-guess-never"); } catch {}
  if (never === null) root.classList.add("course-guess-first");
  addEventListener("load", () => globalThis.course?.guess ||
    root.classList.remove("course-guess-first"));
})();"""


class GuessAnswer(nodes.container):
    """What answers a question."""


def visit_answer(self: Any, node: GuessAnswer) -> None:
    attributes = {"class": "course-guess-answer", "data-question": node["question"]}
    self.body.append(self.starttag(node, "div", **attributes))


def depart_answer(self: Any, node: GuessAnswer) -> None:
    self.body.append("</div>\n")


def blocks_of(parent: nodes.Element) -> Iterator[nodes.Element]:
    """The blocks of a page in the order of reading: headings, prose, cells, folds, raw HTML."""
    for node in parent.children:
        if isinstance(node, nodes.section) and not OUTSIDE & set(node["classes"]):
            yield from blocks_of(node)
        elif isinstance(node, nodes.Element) and not isinstance(
            node, (nodes.Invisible, nodes.target)
        ):
            yield node


def parts_of(block: nodes.Element, kind: str) -> list[nodes.Node]:
    """What a cell shows as its "source" or "output", outside folds; nothing of any other block."""
    children = (x for x in block.children if isinstance(x, nodes.Element))
    return [x for x in children if x.get("nb_element") == f"cell_code_{kind}"]


def is_cell(node: nodes.Element) -> bool:
    return node.get("nb_element") == "cell_code"


def can_answer(node: nodes.Element) -> bool:
    """Whether a block belongs to an answer: no heading, exercise, HTML of a page, live figure."""
    if isinstance(node, (nodes.section, nodes.title, nodes.raw)) or OUTSIDE & set(node["classes"]):
        return False
    return not any("live-figure" in text.astext() for text in node.findall(nodes.raw))


def marker(node: nodes.Node) -> dict[str, str]:
    """The attributes of an element for a guess, `kind` among them; empty if it is none."""
    tag = MARKER.search(node.astext()) if isinstance(node, nodes.raw) else None
    if not tag:
        return {}
    attributes = re.findall(r'([\w-]+)="([^"]*)"', tag[0])
    return {name: unescape(value) for name, value in attributes} | {"kind": tag[1]}


def answers(blocks: list[nodes.Element]) -> Iterator[tuple[str, list[nodes.Element]]]:
    """Each question of a page, and the blocks that answer it.

    Raises ValueError, with the question, where there are none.
    """
    markers = [(i, attrs) for i, node in enumerate(blocks) if (attrs := marker(node))]
    places = {(attrs["kind"], attrs["data-question"]): i for i, attrs in markers}
    for kind, question in places:
        if ("", question) not in places:
            raise ValueError(f"course-guess{kind} of {question}: nobody asks this")
    for i, attrs in markers:
        if attrs["kind"]:
            continue
        question = attrs["data-question"]
        end = places.get(("-end", question))
        by_prose = attrs.get("data-answer-is") == "prose"
        if by_prose and end is None:
            raise ValueError(f"the guess {question} is answered by prose and has no end")
        after = blocks[i + 1 : end]
        for j, node in enumerate(after):
            if can_answer(node) and (not is_cell(node) if by_prose else parts_of(node, "output")):
                yield question, list(up_to_end(after[j:], closed=end is not None))
                break
        else:
            raise ValueError(f"nothing answers the guess {question}")


def up_to_end(blocks: list[nodes.Element], closed: bool) -> Iterator[nodes.Element]:
    """An answer: its first block, and those that follow until something else begins."""
    for i, node in enumerate(blocks):
        if i and (parts_of(node, "source") or not can_answer(node)):
            return
        yield node
        if isinstance(node, nodes.paragraph) and not closed:
            return


def cover_answers(app: Sphinx, doctree: nodes.document) -> None:
    """`doctree-read`: puts what answers a question together, without the code of its cells."""
    try:
        answered = list(answers(list(blocks_of(doctree))))
    except ValueError as error:
        logging.getLogger(__name__).warning(str(error), location=app.env.docname)
        return
    for question, blocks in answered:
        answer = GuessAnswer("", question=question)
        parent, place = blocks[0].parent, blocks[0].parent.index(blocks[0])
        for node in blocks:
            outputs = parts_of(node, "output")
            if not is_cell(node) or outputs == node.children:
                parent.remove(node)
                answer += node
            elif outputs:
                for output in outputs:
                    node.remove(output)
                look = {"nb_element": "cell_code", "classes": node["classes"]}
                answer += nodes.container("", *outputs, **look)
        parent.insert(place + (blocks[0].parent is parent), answer)


def add_files(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: styles and scripts for a page with a guess, before those of models."""
    if 'class="course-guess"' not in context.get("body", ""):
        return
    app.add_css_file("guess.css", priority=900)  # after course.css, whose colours it takes
    app.add_js_file(None, body=COVER, priority=100)
    for name in ("guess-verdicts.js", "guess.js"):
        app.add_js_file(name, defer="defer", priority=150)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks: answers are put together when all else is in its place."""
    app.add_node(GuessAnswer, html=(visit_answer, depart_answer))
    app.connect("doctree-read", cover_answers, priority=900)
    app.connect("html-page-context", add_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
