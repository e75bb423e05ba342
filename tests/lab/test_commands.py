"""Each command that a page names, above all in a table *How we know*, is one that exists."""

import re

import pytest
from readers import NOTEBOOKS

from lab import runs

PAGES = [*NOTEBOOKS, *sorted((runs.ROOT / "book").glob("*.md")), *sorted(runs.ROOT.glob("*.md"))]
PAGES = [page for page in PAGES if page.name != "CHANGELOG.md"] + [runs.LAB / "README.md"]
SCRIPT = re.compile(r"python -m lab\.(\w+)|measure NAME=(\w+)|`lab\.(\w+)|\blab/(\w+)\.py")
TEST = re.compile(r"\b(tests/[\w/]+\.py)(?:::(test_\w+))?")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_script_or_a_test_that_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    for names in SCRIPT.findall(text):
        name = "".join(names)
        assert (runs.LAB / f"{name}.py").is_file() or name in ("NAME", "configs"), name
    for file, test in TEST.findall(text):
        assert f"def {test}" in (runs.ROOT / file).read_text(encoding="utf-8"), (file, test)
