"""A Sphinx extension: a guess covers its answer until the reader has guessed.

A page asks for a guess with an empty `<div class="course-guess" data-question="name" …>` (all its
attributes: book/_assets/guess.js). Here, what answers it is put into veils:

- The answer is the next cell output that is neither folded nor a live figure, or the next one below
  an empty `course-guess-result` with the same name. The veils begin at the guess, or there.
- They end at an empty `course-guess-end` with the same name, or else with the first paragraph
  below the answer, and at the latest at the next heading.
- `data-answer-is="prose"`: no output answers. What is veiled begins below the guess and goes to
  its `course-guess-end`.

Folded cells between a guess and the end of its answer are veiled as well, and so are the *Checks*
of its section. Headings, code, exercises, live figures and other HTML stay as they are. What is
veiled can be read without JavaScript: one line in the page's head hides it, and the scripts cover
it.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

MARKER = re.compile(r'<div\s[^>]*\bclass="course-guess(-result|-end|)"[^>]*>')
OUTSIDE = {
    "course-exercise",
    "course-setup",
    "dropdown",
    "toggle",
}  # classes of what stays as it is
FOLDS = {"course-fold", "hide"}  # see exercise_ext.py
SCRIPTS = ("guess-verdicts.js", "guess-covers.js", "guess.js")
# Before the first paint. If the scripts have not come when all else has, nothing is hidden.
HIDE = """(() => {
  const root = document.documentElement;
  let never = null;
  try { never = localStorage.getItem("course-guess-never"); } catch {}
  if (never === null) root.classList.add("course-covers");
  addEventListener("load", () => {
    if (!root.dataset.courseGuess) root.classList.remove("course-covers");
  });
})();"""


class veil(nodes.General, nodes.Element):  # named as docutils names its nodes
    """What answers one or more questions; `shows`: those whose answers stand in it."""


def visit_veil(self: Any, node: veil) -> None:
    shows = {"data-shows": " ".join(node["shows"])} if node["shows"] else {}
    questions = " ".join(node["questions"])
    tag = self.starttag(node, "div", CLASS="course-veil", **{"data-question": questions}, **shows)
    self.body.append(f'{tag}<div class="course-veiled">\n')


def depart_veil(self: Any, node: veil) -> None:
    self.body.append("</div></div>\n")


def blocks_of(parent: nodes.Element) -> Iterator[nodes.Node]:
    """The blocks of a page in the order of reading: headings, prose, outputs, folds, raw HTML."""
    for node in parent.children:
        if not isinstance(node, nodes.Element) or OUTSIDE & set(node.get("classes", ())):
            continue
        if isinstance(node, nodes.section):
            yield from blocks_of(node)
        elif node.get("nb_element") == "cell_code":
            outputs = [child for child in node if is_output(child)]
            yield from outputs or filter(is_fold, node)
        elif not isinstance(node, (nodes.Invisible, nodes.target)):
            yield node


def is_output(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Element) and node.get("nb_element") == "cell_code_output"


def is_fold(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Element) and bool(FOLDS & set(node.get("classes", ())))


def is_veilable(node: nodes.Node) -> bool:
    """Whether a block can be covered: no heading, no raw HTML of a page, no live figure."""
    raw = (text for text in node.findall(nodes.raw) if "live-figure" in text.astext())
    return not isinstance(node, (nodes.title, nodes.raw)) and next(raw, None) is None


def marker(node: nodes.Node) -> dict[str, str]:
    """The attributes of an element for a guess, `kind` among them; empty if it is none."""
    found = MARKER.search(node.astext()) if isinstance(node, nodes.raw) else None
    if not found:
        return {}
    attributes = re.findall(r'([\w-]+)="([^"]*)"', found[0])
    return {name: unescape(value) for name, value in attributes} | {"kind": found[1]}


def ranges(blocks: list[nodes.Node]) -> Iterator[tuple[str, int, int, int]]:
    """Each question of a page, and where its veils begin, where its answer is, and their end.

    Raises ValueError, with the question, where there is no such place.
    """
    found = [(i, attrs) for i, node in enumerate(blocks) if (attrs := marker(node))]
    places = {(attrs["kind"], attrs["data-question"]): i for i, attrs in found}
    for kind, question in places:
        if ("", question) not in places:
            raise ValueError(f"course-guess{kind} of {question}: nobody asks this")
    for i, attrs in found:
        if attrs["kind"]:
            continue
        question = attrs["data-question"]
        begin = places.get(("-result", question), i)
        end = places.get(("-end", question))
        prose = attrs.get("data-answer-is") == "prose"
        if prose and end is None:
            raise ValueError(f"the guess {question} is answered by prose and has no end")
        after = range(begin + 1, len(blocks) if end is None else end)
        can = (j for j in after if is_veilable(blocks[j]) and not is_fold(blocks[j]))
        answer = next((j for j in can if prose or is_output(blocks[j])), None)
        if answer is None:
            raise ValueError(f"nothing answers the guess {question}")
        yield question, begin, answer, end_of_answer(blocks, answer) if end is None else end


def end_of_answer(blocks: list[nodes.Node], answer: int) -> int:
    """Behind the first paragraph below an output, but not behind a heading."""
    for i, node in enumerate(blocks[answer + 1 :], start=answer + 1):
        if isinstance(node, nodes.title):
            return i
        if isinstance(node, nodes.paragraph):
            return i + 1
    return len(blocks)


def covered(blocks: list[nodes.Node]) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """The questions whose guess uncovers a block, and those it answers, by the block's number."""
    questions: dict[int, list[str]] = {}
    shows: dict[int, list[str]] = {}
    for question, begin, answer, end in ranges(blocks):
        shows.setdefault(answer, []).append(question)
        section = blocks[begin].parent
        for i, node in enumerate(blocks[begin + 1 :], start=begin + 1):
            is_check = "course-checks" in node["classes"] and node.parent is section
            if is_check or (i < end and is_veilable(node)):
                questions.setdefault(i, []).append(question)
    return questions, shows


def veil_answers(app: Sphinx, doctree: nodes.document) -> None:
    """`doctree-read`: blocks that stand next to each other and answer the same get one veil."""
    blocks = list(blocks_of(doctree))
    try:
        questions, shows = covered(blocks)
    except ValueError as error:
        logging.getLogger(__name__).warning(str(error), location=app.env.docname)
        return
    last: veil | None = None
    for i in sorted(questions):
        node, parent = blocks[i], blocks[i].parent
        at = parent.index(node)
        beside = at > 0 and parent[at - 1] is last and i not in shows
        if last is None or not beside or last["questions"] != questions[i]:
            last = veil("", questions=questions[i], shows=shows.get(i, []))
            parent.insert(at, last)
        parent.remove(node)
        last.append(node)


def add_files(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """`html-page-context`: styles and scripts for a page with a guess, before those of models."""
    if 'class="course-guess"' not in context.get("body", ""):
        return
    app.add_css_file("guess.css", priority=900)  # after course.css, whose colours it takes
    app.add_js_file(None, body=HIDE, priority=100)
    for name in SCRIPTS:
        # before sphinx_highlight.js, which takes the words that the reader looked for away
        app.add_js_file(name, defer="defer", priority=150)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks: the veils are put on when all else is in its place."""
    app.add_node(veil, html=(visit_veil, depart_veil))
    app.connect("doctree-read", veil_answers, priority=900)
    app.connect("html-page-context", add_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
