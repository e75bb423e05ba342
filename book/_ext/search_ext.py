"""A Sphinx extension: what the site's search looks in, instead of Sphinx's own index.

One entry for each section and for each term of the glossary: its address, its titles from the
page's down, its prose, and the words that stand in its code, in its folds and in what is covered
until the reader guessed. These are found too, but no excerpt shows them. The file is a script, so
that the search page (`_assets/search.js`) can load it from a disk.
"""

import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from exercise_ext import Fold
from guess_ext import GuessAnswer
from sphinx.addnodes import glossary, pending_xref
from sphinx.application import Sphinx

FILE = "search-sections.js"
SPHINX_SCRIPTS = ("searchtools.js", "language_data.js", "sphinx_highlight.js")
SIGNS = {
    "cdot": "·",
    "times": "×",
    "infty": "∞",
    "sqrt": "√",
    "approx": "≈",
    "text": "",
    "frac": "",
    "tfrac": "",
    "left": "",
    "right": "",
}
SEPARATE_NODES = (nodes.section, nodes.title, nodes.raw, nodes.Invisible, glossary)


def is_unshown(node: nodes.Node) -> bool:
    """Whether excerpts leave a node out: code, and what a reader has to open."""
    if isinstance(node, (nodes.literal_block, Fold, GuessAnswer)):
        return True
    return isinstance(node, nodes.container) and node.get("design_component") == "dropdown"


def parts_of(node: nodes.Node) -> list[nodes.Node]:
    """A node's children, without its title and the sections and terms in it."""
    return [part for part in node.children if not isinstance(part, SEPARATE_NODES)]


def text_of(node: nodes.Node) -> str:
    """The prose of a node."""
    if isinstance(node, nodes.Text):
        return str(node)
    if isinstance(node, pending_xref) and node["refdomain"] == "cite":
        return ""  # the key of a work
    if isinstance(node, nodes.math_block):
        return "…"
    if isinstance(node, nodes.math):
        formula = re.sub(r"\\([a-zA-Z]+)", lambda name: SIGNS.get(name[1], name[1]), node.astext())
        return re.sub(r"[{}\\]", "", formula)
    parts = [text_of(part) for part in parts_of(node) if not is_unshown(part)]
    return ("" if isinstance(node, nodes.TextElement) else " ").join(parts)


def unshown_words(node: nodes.Node) -> set[str]:
    """The words that no excerpt of a node shows, in lower case."""
    if is_unshown(node):
        return set(re.findall(r"[a-z]{3,}", node.astext().lower()))
    return set().union(*map(unshown_words, parts_of(node)))


def entry(page: str, id: str, titles: list[str], node: nodes.Node) -> list[Any]:
    """What is written of a section, or of a term's definition."""
    text = re.sub(r" (?=[.,;])", "", " ".join(text_of(node).split()))
    words = unshown_words(node) - set(re.findall(r"[a-z]+", text.lower()))
    return [f"{page}.html#{id}", titles, text, " ".join(sorted(words))]


def entries(page: str, document: nodes.document) -> Iterator[list[Any]]:
    """All sections and terms of a page, in its order."""
    for section in document.findall(nodes.section):
        titles: list[str] = []
        ancestor: nodes.Node | None = section
        while isinstance(ancestor, nodes.section):
            titles.insert(0, ancestor[ancestor.first_child_matching_class(nodes.title)].astext())
            ancestor = ancestor.parent
        yield entry(page, section["ids"][0], titles, section)
    for term_list in document.findall(glossary):
        title = document[0][0].astext()
        for item in term_list.findall(nodes.definition_list_item):
            term = item[0]
            yield entry(page, term["ids"][0], [title, term.astext()], item[-1])


def search_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """`html-collect-pages`: the file of all sections, and the page that loads it."""
    pages = sorted(app.env.found_docs)
    sections = [entry for page in pages for entry in entries(page, app.env.get_doctree(page))]
    lines = ",\n".join(json.dumps(section, ensure_ascii=False) for section in sections)
    script = f'course.define("sections", () => [\n{lines}\n]);\n'.encode()
    Path(app.outdir, FILE).write_bytes(script)
    yield "search", {"sections": f"{FILE}?v={zlib.crc32(script):08x}"}, "search.html"


def leave_out_sphinx(app: Sphinx) -> None:
    """`builder-inited`: Sphinx makes no index."""
    if app.builder.format == "html":
        app.builder.search = False  # type: ignore[attr-defined]


def leave_out_scripts(app: Sphinx, error: Exception | None) -> None:
    """`build-finished`: what nothing loads is not shipped."""
    for name in SPHINX_SCRIPTS if not error else ():
        Path(app.outdir, "_static", name).unlink(missing_ok=True)


def choose_scripts(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: no page marks what Sphinx's search has found; one page searches."""
    if pagename == "search":
        app.add_js_file("search.js", defer="defer")
    files = context["script_files"]
    files[:] = [file for file in files if not (file.filename or "").endswith(SPHINX_SCRIPTS)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks; the search page has no source."""
    app.connect("builder-inited", leave_out_sphinx)
    app.connect("html-page-context", choose_scripts)
    app.connect("html-collect-pages", search_page)
    app.connect("build-finished", leave_out_scripts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
