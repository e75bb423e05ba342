"""The build: a bad reference fails every time; the extension knows the site's address."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from sphinx.errors import SphinxError

import course
from book._ext.course_ext import pages_address, prepare_chapter
from tests.site.conftest import ROOT

TOC = "format: jb-book\nroot: book/welcome\nchapters:\n  - file: book/plain\n"
PRINTED = {"output_type": "stream", "name": "stdout", "text": "3"}
ERROR = {"output_type": "error", "ename": "NameError", "evalue": "x", "traceback": []}
TITLE = {"cell_type": "markdown", "metadata": {}, "source": "# 07 · Small"}


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


def build(folder: Path, welcome: str, plain: str, owner: str) -> subprocess.CompletedProcess:
    """Build a book of two pages as `make book` does, in the repository of an owner."""
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    address = re.sub(r"(github\.com/)[\w-]+", rf"\1{owner}", config)
    for name in ("book/_ext", "book/_assets"):
        shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
    pages = {"book/welcome.md": welcome, "book/plain.md": plain}
    for name, text in {"_config.yml": address, "_toc.yml": TOC, **pages}.items():
        (folder / name).write_text(text, encoding="utf-8")
    course_files = ("kit/figure/loader.js", "real_model/sha256.js")
    for name in ("book/references.bib", *(f"scratchformer_course/{file}" for file in course_files)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    program = Path(sys.executable).with_name("jupyter-book")
    return subprocess.run([program, *course.BUILD], cwd=folder, capture_output=True, text=True)


def test_links_to_the_repository_need_an_address_and_a_bad_reference_fails_each_time(tmp_path):
    welcome = "# A small book\n\n```{only} addressed\nA rocket.\n```\n"
    for owner in ("YOUR_ACCOUNT", "a-teacher"):
        run = build(tmp_path, welcome, "# A page", owner)
        assert run.returncode == 0, run.stdout + run.stderr
        html = (tmp_path / "_build/html/book/welcome.html").read_text(encoding="utf-8")
        body = html.partition("<body")[2]
        for part in ("A rocket.", f"github.com/{owner}", "course-report"):
            assert (part in body) == (owner == "a-teacher"), part
    # on a page that Sphinx does not write again of itself, as it does those with figures
    for _ in range(2):
        run = build(tmp_path, welcome, "# A page\n\n{ref}`no-such-place`\n", owner)
        assert run.returncode != 0 and "no-such-place" in run.stderr


def test_site_has_the_address_that_github_pages_gives_the_repository():
    for path, site in (("owner/name/", "owner.github.io/name/"), ("O/o.github.io", "O.github.io/")):
        assert pages_address(f"https://github.com/{path}") == f"https://{site}"
