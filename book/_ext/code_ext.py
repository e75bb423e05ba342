"""A Sphinx extension: the exercises of a chapter run in its page, where Pyodide is at hand.

Pyodide is Python for browsers. `make book` fetches its core from npm, in the version that
package.json pins, and the build needs no Node.js to put it into the site. Without it a box says
what is missing, and the exercises run in Jupyter and Colab alone.

A page from disk may not fetch, and may run scripts. So what comes with the first press of *Run* are
three scripts: Pyodide's core, the Python files that all chapters share, and those of the chapter
(teaching/packed_python.py). A fourth, the notebook without its outputs, comes when a reader wants
it with his answers. An exercise that page_torch/notebook_only.json lists has no field.

Pyodide loads its second half as a module, which a worker of a page from disk may not import. It
takes that half ready as well, if it believes that its worker is of the new kind: hence `core`.
"""

import base64
import gzip
import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

from scratchformer_course.teaching import packed_python as packed

FOLDER = "_static/live"
LICENCE_COMMENT = (
    "// Pyodide {}, https://pyodide.org, Mozilla Public License 2.0. In it is Python, under the"
    " licence of the Python Software Foundation.\n"
)
MODULE_ENDS = "export default _createPyodideModule;"
MISSING = (
    " This site was built without Python for the page:"
    ' <code class="literal">make book</code> with npm at hand puts it in.'
)
BOX = re.compile(r'<section[^>]* data-exercise="([\d.]+)"')
RUN = re.compile(r'(<p class="course-run">.*?)</p>', re.DOTALL)
logger = logging.getLogger(__name__)


def base64_of(data: bytes) -> str:
    """Bytes as text."""
    return base64.b64encode(data).decode("ascii")


@lru_cache(maxsize=1)
def core(root: Path) -> str:
    """Pyodide as a script that only describes it; nothing if it is not in node_modules."""
    folder = root / "node_modules" / "pyodide"
    if not (folder / "package.json").is_file():
        return ""
    version = json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"]
    loader = (folder / "pyodide.js").read_text(encoding="utf-8")
    module = (folder / "pyodide.asm.mjs").read_text(encoding="utf-8")
    module = module.replace(MODULE_ENDS, "").replace("import.meta.url", "location.href")
    programs = ["importScripts = undefined;", re.sub(r"//# sourceMapping.*", "", loader), module]
    lock = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))
    description = {
        "program": "\n".join(programs),
        "wasm": base64_of(gzip.compress((folder / "pyodide.asm.wasm").read_bytes(), mtime=0)),
        "library": base64_of((folder / "python_stdlib.zip").read_bytes()),
        "lock": {"info": lock["info"], "packages": {}},
    }
    return LICENCE_COMMENT.format(version) + described("python", description)


def described(name: str, description: Any) -> str:
    """A script that brings a description, and does nothing else."""
    return f"course.descriptions[{json.dumps(name)}] = {json.dumps(description)};\n"


@lru_cache(maxsize=1)
def shared() -> str:
    """The Python files of all chapters, as a script."""
    return described("course-python", base64_of(packed.shared_files()))


def notebook_without_outputs(package: str) -> dict[str, Any]:
    """A chapter's notebook, and the place of each exercise's stub among its cells."""
    path = packed.ROOT / f"notebooks/{package[2:]}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    return {"notebook": notebook, "stubs": packed.stubs(notebook), "file": path.name}


def write_script(app: Sphinx, context: dict, name: str, text: str) -> str:
    """Put a script into the site; its address, seen from the page."""
    file = f"{FOLDER}/{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.js"
    path = Path(app.outdir, file)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        path.write_text(text, encoding="utf-8")
    return context["pathto"](file, resource=True)


def add_files(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: what a page needs for its exercises to run, and where Python is."""
    chapter = re.fullmatch(r"notebooks/(\d\d_\w+)", pagename)
    numbers = BOX.findall(context.get("body", "")) if chapter else []
    if chapter is None or not numbers:
        return
    package, python = f"ch{chapter[1]}", core(Path(app.srcdir))
    if not python:
        context["body"] = RUN.sub(rf"\1{MISSING}</p>", context["body"])
        return
    elsewhere = [number for number in numbers if number in packed.notebook_only()]
    if elsewhere == numbers:
        return
    notebook = described(f"notebook-{package}", notebook_without_outputs(package))
    scripts = {
        "python": python,
        "course-python": shared(),
        f"{package}-exercises": described(package, base64_of(packed.chapter_files(package))),
    }
    attributes = {
        "data-package": package,
        "data-scripts": " ".join(write_script(app, context, *pair) for pair in scripts.items()),
        "data-notebook": write_script(app, context, f"{package}-notebook", notebook),
        "data-elsewhere": " ".join(elsewhere),
    }
    app.add_js_file("python-worker.js", priority=900, defer="defer")
    app.add_js_file("page-python.js", priority=901, defer="defer")
    app.add_js_file("code-field.js", priority=901, defer="defer")
    app.add_js_file("code-cell.js", priority=902, defer="defer", **attributes)


def tell(app: Sphinx, error: Exception | None) -> None:
    """`build-finished`: one line on how many exercises run in their pages."""
    pages = [
        Path(app.outdir, f"{name}.html") for name in app.env.found_docs if "notebooks/" in name
    ]
    numbers = [n for path in pages if path.is_file() for n in BOX.findall(path.read_text("utf-8"))]
    elsewhere = [number for number in packed.notebook_only() if number in numbers]
    if error is None and core(Path(app.srcdir)):
        others = f"; in the notebook only: {', '.join(elsewhere)}" if elsewhere else ""
        logger.info(f"exercises: {len(numbers) - len(elsewhere)} run in their pages{others}")
    elif error is None:
        logger.info("exercises: none runs in its page; Pyodide is not in node_modules")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks."""
    app.connect("html-page-context", add_files)
    app.connect("build-finished", tell)
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
