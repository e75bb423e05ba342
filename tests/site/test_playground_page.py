"""The playground and the page on model.js as built: the clicks they ask for, and their code."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup
from test_browser import start

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (ROOT / "book" / "playground.md").read_text(encoding="utf-8")


def loss(page):
    return page.locator(".sx-losses tbody tr").nth(1).locator("td").inner_text()


def test_the_clicks_of_the_experiments_give_the_losses_told(site, browser):
    context, page, faults = start(browser)
    page.set_viewport_size({"width": 1200, "height": 900})
    page.goto((site / "book" / "playground.html").as_uri())
    field = page.get_by_label("Prompt").first
    field.wait_for()
    given = yaml.safe_load(re.search(r"\n---\n(.*?)\n---\n", SOURCE, re.DOTALL)[1])
    assert field.input_value() == given["prompt"]
    page.get_by_role("tab", name="Switch off").first.click()
    tokens = page.locator(".sx-tokens").first.locator("span")
    assert tokens.count() == len(given["text"])
    assert loss(page) == "1.410"
    for name, told in (
        ("Switch off head 3 of block 1", "2.617"),
        ("Switch off head 1 of block 1", "1.901"),
    ):
        page.get_by_role("button", name=name, exact=True).click()
        assert loss(page) == told
        page.get_by_role("button", name="All on again").click()
    for name, told in (
        ("positions", "3.560"),
        ("the division by √D", "1.913"),
        ("the causal mask", "3.506"),
    ):
        page.get_by_label(name).check()
        assert loss(page) == told and told in SOURCE
        page.get_by_label(name).uncheck()
    assert faults == []
    context.close()


@pytest.fixture(scope="module")
def boxes(site):
    path = site / "book" / "model_in_javascript.html"
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    return [box.get_text() for box in page.select("article .highlight pre")]


def test_all_code_on_the_page_is_that_of_the_files(boxes):
    assert len(boxes) == 11
    files = [
        (ROOT / "scratchformer" / name).read_text(encoding="utf-8")
        for name in ("page_model/model.js", "models/speedrun.py", "explorer/export.py")
    ]
    for box in boxes:
        lines = [line.strip() for line in box.strip().splitlines()]
        assert 2 <= len(lines) <= 45, box
        text = "\n".join(lines)
        plain = ["\n".join(line.strip() for line in file.splitlines()) for file in files]
        assert any(text in file for file in plain), box


@pytest.mark.parametrize("name", ["model_in_javascript", "train_in_this_tab"])
def test_no_line_of_its_code_is_cut_off_at_1200_px(site, browser, name):
    context, page, faults = start(browser)
    page.set_viewport_size({"width": 1200, "height": 900})
    page.goto((site / "book" / f"{name}.html").as_uri())
    cut = page.locator("article .highlight pre").evaluate_all(
        "boxes => boxes.filter(b => b.scrollWidth > b.clientWidth)"
        ".map(b => b.textContent.split('\\n').reduce((a, b) => a.length > b.length ? a : b))"
    )
    assert cut == [] and faults == []
    context.close()


# ---- the directives ----

NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {},
    "cells": [
        {
            "id": "a",
            "cell_type": "code",
            "source": "",
            "metadata": {},
            "execution_count": 1,
            "outputs": [
                {
                    "output_type": "execute_result",
                    "execution_count": 1,
                    "metadata": {},
                    "data": {
                        "text/html": '<div class="live-figure" data-figure="one" data-files="" '
                        'data-models="" data-settings="{}">Still.</div>'
                    },
                }
            ],
        }
    ],
}


def built(folder, text):
    """Whether Sphinx builds a page of this text without a warning, and the page."""
    extension = str(ROOT / "book" / "_ext")
    (folder / "notebooks").mkdir(exist_ok=True)
    (folder / "notebooks" / "01_a.ipynb").write_text(json.dumps(NOTEBOOK))
    (folder / "conf.py").write_text(
        f"import sys\nsys.path[:0] = [{str(ROOT)!r}, {extension!r}]\n"
        "extensions = ['myst_parser', 'live_ext']\nmyst_enable_extensions = ['colon_fence']\n"
        "exclude_patterns = ['notebooks']\n"
    )
    (folder / "index.md").write_text(f"# A page\n\n{text}\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-E", "-b", "html"]
    done = subprocess.run([*command, str(folder), str(folder / "out")], capture_output=True)
    page = folder / "out" / "index.html"
    return done.returncode == 0, page.read_text(encoding="utf-8") if page.is_file() else ""


def test_a_chapters_figure_is_shown_linked_or_left_out(tmp_path):
    ok, html = built(
        tmp_path,
        ":::{live} 01_a one\nBelow **this** text.\n:::\n\n"
        ":::{live} 01_a one\n:link:\nText alone.\n:::\n\n"
        ":::{live} 01_a two\n:optional:\nNot to be seen.\n:::\n\n"
        "```{drawing} typed_array matrix_in_a_row\n```\n",
    )
    assert ok
    assert html.count("data-figure=") == 1 and html.count("Still.") == 1
    assert "<strong>this</strong>" in html and "Text alone." in html
    assert "Not to be seen" not in html and 'class="course-drawing"' in html


@pytest.mark.parametrize(
    "text",
    [
        ":::{live} 01_a two\n:::",
        ":::{live} 02_b one\n:optional:\n:::",
        "```{drawing} typed_array nothing\n```",
        "```{drawing} nothing at_all\n```",
    ],
)
def test_what_is_not_there_fails_the_build(tmp_path, text):
    assert not built(tmp_path, text)[0]
