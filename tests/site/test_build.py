"""The build: a bad reference fails every time; the extension knows the site's address."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from sphinx.errors import SphinxError

import course
from book._ext.course_ext import pages_address, prepare_chapter
from tests.site.conftest import ROOT

TOC = """format: jb-book
root: book/welcome
chapters:
  - file: book/small
  - file: book/plain
"""
WELCOME = """# A small book

```{only} addressed
A rocket.
```
"""
PRINTED = {"output_type": "stream", "name": "stdout", "text": "3"}
ERROR = {"output_type": "error", "ename": "NameError", "evalue": "x", "traceback": []}
TITLE = {"cell_type": "markdown", "metadata": {}, "source": "# 07 · Small"}
SET_UP = """# @title Set-up
import importlib.util

# in Colab, the first time
if importlib.util.find_spec("scratchformer") is None:
    %pip install -q git+https://github.com/OWNER/scratchformer
    importlib.invalidate_caches()

from math import pi
"""


def code_cell(source: str, *outputs: dict, count: int | None = 1) -> dict:
    """A code cell of a notebook's file."""
    made = {"cell_type": "code", "metadata": {}, "source": source}
    return made | {"execution_count": count, "outputs": list(outputs)}


def test_a_chapter_that_was_not_run_to_its_end_ends_the_build():
    env = SimpleNamespace(doc2path=lambda name: f"{name}.ipynb")
    good = code_cell("print(3)", PRINTED)
    for cells, fault in (
        ([good, code_cell("y = x", ERROR)], r"07_small: cell 2 \(y = x\) stores an error"),
        ([good, code_cell("x = 3", count=None)], "was not run"),
        ([code_cell("x = 3")], "no cell has an output"),
    ):
        source = [json.dumps({"cells": [TITLE, *cells]})]
        with pytest.raises(SphinxError, match=fault):
            prepare_chapter(SimpleNamespace(env=env), "notebooks/07_small", source)


def lay_out(folder: Path, pages: dict[str, str], owner: str) -> None:
    """A book of these pages, by their files, in a folder that may hold one already."""
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    address = re.sub(r"(github\.com/)[\w-]+", rf"\1{owner}", config)
    for name in ("book/_ext", "book/_assets"):
        shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
    files = {f"book/{name}": text for name, text in pages.items()}
    for name, text in {"_config.yml": address, "_toc.yml": TOC, **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("book/references.bib", "scratchformer_course/kit/figure/loader.js"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def build(book: Path) -> subprocess.CompletedProcess:
    """Build `book` as `make book` does."""
    program = Path(sys.executable).with_name("jupyter-book")
    return subprocess.run([program, *course.BUILD], cwd=book, capture_output=True, text=True)


def test_links_to_the_repository_need_an_address_and_a_bad_reference_fails_each_time(tmp_path):
    built = tmp_path / "_build" / "html" / "book"
    python = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    for owner in ("YOUR_ACCOUNT", "a-teacher"):
        has_one = owner == "a-teacher"
        cells = [TITLE, code_cell(SET_UP.replace("OWNER", owner)), code_cell("print(3)", PRINTED)]
        notebook = {"cells": cells, "metadata": python, "nbformat": 4, "nbformat_minor": 4}
        pages = {"welcome.md": WELCOME, "small.ipynb": json.dumps(notebook), "plain.md": "# A page"}
        lay_out(tmp_path, pages, owner)
        run = build(tmp_path)
        assert run.returncode == 0, run.stdout + run.stderr
        welcome, small = (
            BeautifulSoup((built / f"{name}.html").read_text("utf-8"), "html.parser").body
            for name in ("welcome", "small")
        )
        assert "from math import pi" in small.get_text()
        assert ("importlib" in small.get_text()) == has_one
        assert bool(small.select("a[href*='colab.research']")) == has_one
        assert ("A rocket." in welcome.get_text()) == has_one
        assert bool(welcome.select(f"a[href*='github.com/{owner}']")) == has_one
        assert bool(small.select(".course-report a")) == has_one
    # on a page that Sphinx does not write again of itself, as it does those with figures
    (tmp_path / "book" / "plain.md").write_text("# A page\n\n{ref}`no-such-place`\n")
    for _ in range(2):
        run = build(tmp_path)
        assert run.returncode != 0 and "no-such-place" in run.stderr


def test_site_has_the_address_that_github_pages_gives_the_repository():
    for path, site in (("owner/name/", "owner.github.io/name/"), ("O/o.github.io", "O.github.io/")):
        assert pages_address(f"https://github.com/{path}") == f"https://{site}"
