"""A small Sphinx extension: self-contained pages, described, with figures numbered by chapter.

It brings MathJax from an installed package, derives the site's address from the repository's,
numbers figures by chapter, describes figures for screen readers and pages for search engines
(sphinxext-opengraph writes the tags of shared links), prints each chapter's line of facts, and
refuses a chapter whose stored outputs are no outputs.
"""

import importlib.util
import json
import re
import shutil
import textwrap
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ConfigError, SphinxError

from scratchformer_course.kit import chapter_facts

# The package's other files are for other formats. This one loads nothing more but its fonts,
# those that a page's formulas need. Its twin that draws in SVG weighs twice as much.
MATHJAX_PACKAGE = "sphinx-mathjax-offline"
MATHJAX_FILE = "static/mathjax/tex-chtml-full.js"
MATHJAX_FONTS = "output/chtml/fonts/woff-v2"  # beside the file, in the package and on the site
AT_ONCE = ("documentation_options.js", "doctools.js")  # of Sphinx: scripts in the text need them
DESCRIPTION_LENGTH = 200
NO_ACCOUNT = "YOUR_ACCOUNT"  # in the repository's address until `make set-repository` gives it one
INSTALLS_ITSELF = re.compile(r"import importlib\.util\n+# in Colab.*\n(?:if .*|    .*\n|\n)+")


def complete_config(app: Sphinx, config: Config) -> None:
    """`config-inited`: MathJax from its package, and the site's address from the repository's.

    Raises ConfigError if the package with MathJax is not installed. An address that _config.yml
    sets itself (`html.baseurl`, for a domain of one's own) is kept.
    """
    mathjax = installed_mathjax()
    config["html_static_path"] = [*config.html_static_path, str(mathjax)]
    config["mathjax_path"] = mathjax.name
    if has_address(config.html_theme_options["repository_url"]):
        app.tags.add("addressed")  # what pages say about Colab depends on it
    else:
        config["html_theme_options"] |= {"launch_buttons": {}, "use_repository_button": False}
    if not config.html_baseurl:
        config["html_baseurl"] = pages_address(config.html_theme_options["repository_url"])
    config["ogp_site_url"] = config.html_baseurl
    config["ogp_site_name"] = config.html_title


def has_address(repository: str) -> bool:
    """Whether a repository can be found: links to it, and to Colab, are shown only then."""
    return NO_ACCOUNT not in repository


def pages_address(repository: str) -> str:
    """The GitHub Pages address of `https://github.com/owner/name`, with a slash at its end."""
    owner, name = repository.rstrip("/").split("/")[-2:]
    site = f"{owner}.github.io"
    return f"https://{site}/" if name.lower() == site.lower() else f"https://{site}/{name}/"


def installed_mathjax() -> Path:
    """MathJax's script in its package. Raises ConfigError if the package is not installed."""
    package = importlib.util.find_spec(MATHJAX_PACKAGE)
    if package is None or package.origin is None:
        raise ConfigError(f"{MATHJAX_PACKAGE} is not installed: pip install -r requirements.txt")
    return Path(package.origin).parent / MATHJAX_FILE


def copy_mathjax_fonts(app: Sphinx, error: Exception | None) -> None:
    """`build-finished`: the fonts go where MathJax looks for them, beside its script."""
    if error or app.builder.format != "html":
        return
    fonts = installed_mathjax().parent / MATHJAX_FONTS
    shutil.copytree(fonts, Path(app.outdir) / "_static" / MATHJAX_FONTS, dirs_exist_ok=True)


def number_by_chapter(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """`env-get-updated`: figure 1 of `notebooks/05_name` becomes 5.1, in captions and references.

    Sphinx counts figures, tables and listings through the whole table of contents. Here they count
    from 1 on each page, after the number in the file's name if it has one.
    """
    for docname, kinds in env.toc_fignumbers.items():
        chapter = re.match(r"(\d+)_", docname.split("/")[-1])
        prefix = (int(chapter.group(1)),) if chapter else ()
        for numbers in kinds.values():
            in_order = sorted(numbers, key=lambda anchor: numbers[anchor])
            numbers.update({anchor: (*prefix, i) for i, anchor in enumerate(in_order, start=1)})
    return []  # Sphinx writes these pages again already: it finds other numbers than its own


def prepare_chapter(app: Sphinx, docname: str, source: list[str]) -> None:
    """`source-read`: a notebook with sound outputs gets described figures and its line of facts.

    SphinxError, which ends the build, for one without outputs or with an error among them, and for
    a chapter whose metadata lacks its facts.
    """
    if not app.env.doc2path(docname).endswith(".ipynb"):
        return
    notebook = json.loads(source[0])
    if faults := list(faults_of_outputs(notebook["cells"])):
        number = docname.split("/")[-1].split("_")[0]
        lines = "\n".join(f"{docname}: {fault}" for fault in faults)
        raise SphinxError(f"{lines}\n`make execute ONLY={number}` runs the chapter again")
    describe_plots(notebook["cells"])
    if not app.tags.has("addressed"):
        leave_out_installation(notebook["cells"])
    if docname.startswith("notebooks/"):
        for path in chapter_facts.SOURCES:
            app.env.note_dependency(path)
        add_facts(notebook["cells"], docname, Path(app.srcdir))
    source[0] = json.dumps(notebook)


def faults_of_outputs(cells: list[dict[str, Any]]) -> Iterator[str]:
    """Why the outputs of a notebook's cells are not those of a run to its end."""
    if not any(cell.get("outputs") for cell in cells):
        yield "no cell has an output"
        return
    for i, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        first_line = "".join(cell["source"]).partition("\n")[0]
        if cell["execution_count"] is None:
            yield f"cell {i} ({first_line}) was not run"
        for output in cell["outputs"]:
            if output["output_type"] == "error":
                yield f"cell {i} ({first_line}) stores an error: {output['ename']}"


def add_facts(cells: list[dict[str, Any]], docname: str, root: Path) -> None:
    """A chapter's line of facts, below its promise: from the metadata of all chapters."""
    try:
        known = chapter_facts.chapters(root)
    except ValueError as error:
        raise SphinxError(str(error)) from error
    (chapter,) = (chapter for chapter in known.values() if chapter.docname == docname)
    cells[0]["source"] = f"{''.join(cells[0]['source'])}\n\n{chapter_facts.line(chapter, known)}"


def describe_plots(cells: list[dict[str, Any]]) -> None:
    """Figures in SVG get the description in their cell's metadata."""
    for cell in cells:
        alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt")
        for output in cell.get("outputs", []) if alt else []:
            if "text/html" in output.get("data", {}):
                html = "".join(output["data"]["text/html"])
                described = f'<svg role="img" aria-label="{escape(alt)}" class="course-plot"'
                output["data"]["text/html"] = html.replace('<svg class="course-plot"', described)


def leave_out_installation(cells: list[dict[str, Any]]) -> None:
    """A page does not show how its set-up cell fetches the package from nowhere."""
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["source"] = INSTALLS_ITSELF.sub("", "".join(cell["source"]))


def add_to_page(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: at the end of each page, a link by which a reader reports an error."""
    # docutils gives entries of a bibliography a role that screen readers no longer know
    context["body"] = context.get("body", "").replace('role="doc-biblioentry"', 'role="listitem"')
    if doctree is None or not app.tags.has("addressed"):
        return
    subject = urlencode({"title": f"Error on the page “{app.env.titles[pagename].astext()}”"})
    address = f"{app.config.html_theme_options['repository_url']}/issues/new?{subject}"
    context["body"] += (
        f'<p class="course-report">Is something wrong or unclear on this page? '
        f'<a href="{escape(address)}">Report an error</a>.</p>'
    )


def wait_for_no_script(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: scripts run when the page is there, each once.

    Extensions of Jupyter Book add theirs twice, and nothing may be declared twice.
    """
    scripts = {(x.filename or "", str(x.attributes)): x for x in context["script_files"]}
    context["script_files"] = list(scripts.values())
    for script in context["script_files"]:
        if script.filename and not script.filename.endswith(AT_ONCE):
            script.attributes.setdefault("defer", "defer")


def describe_page(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: a page's first paragraph describes it; the course's title stands once.

    sphinxext-opengraph, which comes after, takes this description for shared links; its own would
    run on into lists and code.
    """
    if doctree is None:  # the index and the search page
        return
    title = app.env.titles[pagename].astext()
    if title == context["docstitle"]:
        context["docstitle"] = ""  # the theme would append it: "Course — Course"
    paragraphs = doctree.findall(nodes.paragraph)
    texts = (p.astext() for p in paragraphs if isinstance(p.parent, nodes.section))
    text = textwrap.shorten(next(texts, title), DESCRIPTION_LENGTH, placeholder=" …")
    context["metatags"] += f'\n<meta name="description" content="{escape(text)}" />'
    context["meta"] = {**(context["meta"] or {}), "og:description": escape(text)}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks; those with a priority of 900 see what all other extensions did."""
    app.connect("config-inited", complete_config)
    app.connect("source-read", prepare_chapter)
    app.connect("env-get-updated", number_by_chapter, priority=900)
    app.connect("html-page-context", describe_page, priority=400)
    app.connect("html-page-context", add_to_page)
    app.connect("html-page-context", wait_for_no_script, priority=900)
    app.connect("build-finished", copy_mathjax_fonts)
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
