"""A Sphinx extension: the exercises of a chapter run in its page, where Pyodide is at hand.

Pyodide is Python for browsers. `make lint` and `make downloads` fetch its core from npm, in the
version that package.json pins, and the build needs no Node.js to put it into the site. Without it
pages are as they were, and their exercises run in Jupyter and Colab alone.

A page from disk may not fetch, and may run scripts: so the core is one script, which comes with the
first press of *Run*, and the Python files of the check engine and of the chapter's table another.
A chapter is among them if its table says what its notebook has imported (IN_NOTEBOOK).
"""

import base64
import gzip
import hashlib
import importlib
import io
import json
import re
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "_static/live"
ENGINE = "scratchformer_course/kit/checks"
# what tables import besides; the packages' __init__ files import the rest of them, and stay here
EXTRA_FILES = ("scratchformer/files.py", "scratchformer/tokenizers/patterns.py")
LICENCE_COMMENT = (
    "// Pyodide {}, https://pyodide.org, Mozilla Public License 2.0. In it is Python, under the"
    " licence of the Python Software Foundation.\n"
)


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
    programs = [(folder / f"pyodide{part}.js").read_text("utf-8") for part in ("", ".asm")]
    lock = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))
    description = {
        "program": "\n".join(re.sub(r"//# sourceMappingURL.*", "", text) for text in programs),
        "wasm": base64_of(gzip.compress((folder / "pyodide.asm.wasm").read_bytes(), mtime=0)),
        "library": base64_of((folder / "python_stdlib.zip").read_bytes()),
        "lock": {"info": lock["info"], "packages": {}},
    }
    comment = LICENCE_COMMENT.format(version)
    return f"{comment}course.descriptions.python = {json.dumps(description)};\n"


def files_of(package: str, root: Path = ROOT) -> bytes:
    """A zip of the Python files that the exercises of a slice need, the same each time."""
    engine = sorted(path.relative_to(root).as_posix() for path in (root / ENGINE).glob("*.py"))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name in (*engine, f"scratchformer_course/{package}/exercises.py", *EXTRA_FILES):
            info = zipfile.ZipInfo(name)  # of the first day of 1980
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, (root / name).read_bytes())
    return archive.getvalue()


def runs_in_page(package: str) -> bool:
    """Whether the exercises of a slice can be run in its page."""
    table = importlib.import_module(f"scratchformer_course.{package}.exercises")
    return hasattr(table, "IN_NOTEBOOK")


def add_files(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: what a page needs for its exercises to run, and where Python is."""
    chapter = re.fullmatch(r"notebooks/(\d\d_\w+)", pagename)
    if not chapter or "data-exercise=" not in context.get("body", ""):
        return
    package, python = f"ch{chapter[1]}", core(Path(app.srcdir))
    if not python or not runs_in_page(package):
        return
    table = f"course.descriptions.{package} = {json.dumps(base64_of(files_of(package)))};\n"
    addresses = []
    for name, text in (("python", python), (f"{package}-exercises", table)):
        file = f"{FOLDER}/{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.js"
        path = Path(app.outdir, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        addresses.append(context["pathto"](file, resource=True))
    attributes = {"data-package": package, "data-scripts": " ".join(addresses)}
    app.add_js_file("python-worker.js", priority=900, defer="defer")
    app.add_js_file("code-cell.js", priority=901, defer="defer", **attributes)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook."""
    app.connect("html-page-context", add_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
