"""The build: a bad reference fails every time; the extension numbers figures and knows the site."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

import course

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
from course_ext import faults_of_outputs, pages_address  # noqa: E402  (a Sphinx extension)

TOC = """format: jb-book
root: book/welcome
chapters:
  - file: notebooks/07_small
  - file: book/plain
"""
PLAIN = "# A page\n\nA page with no figure.\n"
WELCOME = """# A small book

See {numref}`fig-second`.

```{figure} /book/_assets/logo.svg
:name: fig-welcome
:alt: The logo
A figure on a page without a number.
```
"""
CHAPTER = """# 07 · Small

Between {numref}`fig-first` and {numref}`fig-second`.

```{figure} /book/_assets/logo.svg
:name: fig-first
:alt: The logo
The first.
```

```{figure} /book/_assets/logo.svg
:name: fig-second
:alt: The logo
The second.
```
"""


def build(book: Path) -> subprocess.CompletedProcess:
    """Build `book` as `make book` does."""
    program = Path(sys.executable).with_name("jupyter-book")
    return subprocess.run([program, *course.BUILD], cwd=book, capture_output=True, text=True)


@pytest.fixture
def small_book(tmp_path) -> Path:
    """A book of three pages with the course's own configuration, extension and assets."""
    shutil.copy(ROOT / "_config.yml", tmp_path)
    for folder in ("_ext", "_assets"):
        shutil.copytree(ROOT / "book" / folder, tmp_path / "book" / folder)
    shutil.copy(ROOT / "book" / "references.bib", tmp_path / "book")
    loader = Path("scratchformer_course", "kit", "figure", "loader.js")
    (tmp_path / loader).parent.mkdir(parents=True)
    shutil.copy(ROOT / loader, tmp_path / loader)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "_toc.yml").write_text(TOC, encoding="utf-8")
    (tmp_path / "book" / "welcome.md").write_text(WELCOME, encoding="utf-8")
    (tmp_path / "book" / "plain.md").write_text(PLAIN, encoding="utf-8")
    (tmp_path / "notebooks" / "07_small.md").write_text(CHAPTER, encoding="utf-8")
    return tmp_path


def test_figures_carry_the_number_of_their_file_in_captions_and_references(small_book):
    assert build(small_book).returncode == 0
    numbers = {}
    for name in ("book/welcome", "notebooks/07_small"):
        text = (small_book / "_build" / "html" / f"{name}.html").read_text(encoding="utf-8")
        page = BeautifulSoup(text, "html.parser").article
        captions = [part.get_text().strip() for part in page.select(".caption-number")]
        references = [part.get_text() for part in page.select("a.internal .std-numref")]
        numbers[name] = captions, references
    assert numbers["notebooks/07_small"] == (["Fig. 7.1", "Fig. 7.2"], ["Fig. 7.1", "Fig. 7.2"])
    assert numbers["book/welcome"] == (["Fig. 1"], ["Fig. 7.2"])


def test_bad_reference_fails_the_build_each_time(small_book):
    # on a page that Sphinx does not write again of itself, as it does those with figures
    page = small_book / "book" / "plain.md"
    page.write_text("# A page\n\n{ref}`no-such-place`\n", encoding="utf-8")
    assert build(small_book).returncode != 0
    assert build(small_book).returncode != 0, "a second build of the same pages passes"


def code_cell(source: str, *outputs: dict, count: int | None = 1) -> dict:
    """A code cell of a notebook's file."""
    return {
        "cell_type": "code",
        "execution_count": count,
        "metadata": {},
        "outputs": list(outputs),
        "source": source,
    }


PRINTED = {"output_type": "stream", "name": "stdout", "text": "3"}
ERROR = {"output_type": "error", "ename": "NameError", "evalue": "x", "traceback": []}


def test_a_chapter_that_was_not_run_to_its_end_is_told():
    good, silent = code_cell("print(3)", PRINTED), code_cell("x = 3")
    assert list(faults_of_outputs([good, silent])) == []
    assert list(faults_of_outputs([silent, silent])) == ["no cell has an output"]
    assert list(faults_of_outputs([good, code_cell("y = x\ny", ERROR)])) == [
        "cell 1 (y = x) stores an error: NameError"
    ]
    assert list(faults_of_outputs([good, code_cell("x = 3", count=None)])) == [
        "cell 1 (x = 3) was not run"
    ]


def test_a_stored_error_fails_the_build_which_names_chapter_and_cell(small_book):
    (small_book / "notebooks" / "07_small.md").unlink()
    title = {"cell_type": "markdown", "metadata": {}, "source": "# 07 · Small"}
    cells = [title, code_cell("print(3)", PRINTED), code_cell("y = x", ERROR)]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (small_book / "notebooks" / "07_small.ipynb").write_text(json.dumps(notebook), "utf-8")
    (small_book / "book" / "welcome.md").write_text("# A small book\n", "utf-8")
    run = build(small_book)
    assert run.returncode != 0
    assert "07_small: cell 2 (y = x)" in run.stdout + run.stderr


SET_UP = """# @title Set-up
import importlib.util

# in Colab, the first time
if importlib.util.find_spec("scratchformer") is None:
    %pip install -q git+https://github.com/OWNER/scratchformer
    importlib.invalidate_caches()

from math import pi
"""
ABOUT_COLAB = "# A small book\n\n```{only} addressed\nA rocket.\n```\n"


@pytest.mark.parametrize("owner", ["YOUR_ACCOUNT", "a-teacher"])
def test_links_to_colab_and_to_the_repository_need_an_address(small_book, owner):
    config = small_book / "_config.yml"
    address = re.sub(r"(github\.com/)[\w-]+", rf"\1{owner}", config.read_text("utf-8"))
    config.write_text(address, "utf-8")
    toc = TOC.replace("notebooks/07_small", "book/small")  # no chapter of the map
    (small_book / "_toc.yml").write_text(toc, encoding="utf-8")
    title = {"cell_type": "markdown", "metadata": {}, "source": "# Small"}
    cells = [title, code_cell(SET_UP.replace("OWNER", owner)), code_cell("print(3)", PRINTED)]
    python = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    notebook = {"cells": cells, "metadata": python, "nbformat": 4, "nbformat_minor": 4}
    (small_book / "book" / "small.ipynb").write_text(json.dumps(notebook), "utf-8")
    (small_book / "book" / "welcome.md").write_text(ABOUT_COLAB, "utf-8")
    run = build(small_book)
    assert run.returncode == 0, run.stdout + run.stderr
    site = small_book / "_build" / "html"
    pages = {
        name: BeautifulSoup((site / f"{name}.html").read_text("utf-8"), "html.parser").body
        for name in ("book/small", "book/welcome")
    }
    has_one = owner == "a-teacher"
    chapter = pages["book/small"]
    assert "from math import pi" in chapter.get_text()
    assert ("importlib" in chapter.get_text()) == has_one
    assert bool(chapter.select("a[href*='colab.research']")) == has_one
    assert ("A rocket." in pages["book/welcome"].get_text()) == has_one
    for body in pages.values():
        assert bool(body.select(f"a[href*='github.com/{owner}']")) == has_one
        assert bool(body.select(".course-report a")) == has_one


@pytest.mark.parametrize(
    ("repository", "site"),
    [
        ("https://github.com/owner/name", "https://owner.github.io/name/"),
        ("https://github.com/owner/name/", "https://owner.github.io/name/"),
        ("https://github.com/Owner/owner.github.io", "https://Owner.github.io/"),
    ],
)
def test_site_has_the_address_that_github_pages_gives_the_repository(repository, site):
    assert pages_address(repository) == site
