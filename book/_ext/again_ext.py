"""A Sphinx extension: what again.js asks once more, in `guesses.js` a line for each guess.

A line has the paragraph before the guess, as plain text, and the attributes of the guess. A chapter
fetches the file only on a day when one of its reader's earlier guesses is due. A build that writes
some pages only (without --all) would list only theirs.
"""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from guess_ext import blocks_of, marker
from search_ext import text_of
from sphinx.application import Sphinx

FILE = "_static/guesses.js"
CHAPTER = re.compile(r"notebooks/(\d\d_\w+)")
DATA = {"data-ask": "ask", "data-choices": "choices", "data-unit": "unit", "data-answer": "answer"}
GUESSES: dict[str, list[str]] = {}  # of each page that was written, its lines


def lines(page: str, doctree: nodes.document) -> list[str]:
    """The guesses of a page, each as JSON."""
    title, context, found = doctree[0][0].astext(), "", []
    for block in blocks_of(doctree):
        if isinstance(block, nodes.paragraph):
            context = " ".join(text_of(block).split())
        attributes = marker(block)
        if attributes and not attributes["kind"]:
            data = {DATA[name]: value for name, value in attributes.items() if name in DATA}
            section = block.parent["ids"][0]
            question = attributes["data-question"]
            asked = {"page": page, "question": question, "title": title, "place": section}
            line = {**asked, "context": re.sub(r" (?=[.,;?])", "", context), "data": data}
            found.append(json.dumps(line, ensure_ascii=False))
    return found


def add_files(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: notes a chapter's guesses; the scripts that ask those of others."""
    chapter = CHAPTER.fullmatch(pagename)
    if not chapter or app.builder.name != "html":
        return
    GUESSES[pagename] = lines(chapter[1], doctree)
    app.add_css_file("guess.css", priority=900)
    for name in ("guess-verdicts.js", "guess.js", "again.js"):
        app.add_js_file(name, defer="defer", priority=150)


def write(app: Sphinx, error: Exception | None) -> None:
    """`build-finished`: the file of all guesses."""
    if error is None and GUESSES:
        asked = ",\n".join(line for page in sorted(GUESSES) for line in GUESSES[page])
        script = f'course.define("asked", () => [\n{asked}\n]);\n'
        Path(app.outdir, FILE).write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks."""
    app.connect("html-page-context", add_files)
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
