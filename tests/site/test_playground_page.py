"""The playground and the page on model.js as built: the clicks they ask for, and their code."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
import yaml

from tests.quoted_numbers import absent
from tests.site.browsing import opened
from tests.site.figures import press

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (ROOT / "book" / "playground.md").read_text(encoding="utf-8")


def loss(page):
    return page.locator(".sx-losses tbody tr").nth(1).locator("td").inner_text()


def test_the_clicks_of_the_experiments_give_the_losses_told(site, browser):
    """Those on the page, which PyTorch has computed: tests/page_model/test_playground.py."""
    with opened(browser, (site / "book" / "playground.html").as_uri()) as page:
        field = page.get_by_label("Prompt").first
        field.wait_for()
        given = yaml.safe_load(re.search(r"\n---\n(.*?)\n---\n", SOURCE, re.DOTALL)[1])
        assert field.input_value() == given["prompt"]
        page.get_by_role("tab", name="Switch off").first.click()
        tokens = page.locator(".sx-tokens").first.locator("span")
        assert tokens.count() == len(given["text"])
        losses = [loss(page)]
        press(page, "Switch off head 3 of block 1")
        losses.append(loss(page))
        press(page, "All on again")
        for name in ("positions", "the division by √D", "the causal mask"):
            page.get_by_role("checkbox", name=name).check()
            losses.append(loss(page))
            page.get_by_role("checkbox", name=name).uncheck()
        assert not absent(SOURCE, *losses) and len(set(losses)) == len(losses)


@pytest.mark.parametrize("number", range(6))
def test_do_it_brings_the_figure_to_the_experiment_and_shows_the_effect(site, browser, number):
    """Whatever was pressed before; the figure stands between the button and its answer."""
    with opened(browser, (site / "book" / "playground.html").as_uri()) as page:
        page.locator(".live-figure[data-live=yes]").first.wait_for()
        boxes = page.locator(".course-do")
        assert boxes.count() == 6 == len(re.findall("data-answer=", SOURCE))
        boxes.nth(5 - number).get_by_role("button").focus()
        page.keyboard.press("Enter")
        boxes.nth(number).get_by_role("button").press("Enter")
        beside = page.locator(".course-do").nth(number).locator("+ .live-figure")
        beside.wait_for()
        assert page.locator(".live-figure .sx-switches").count() == 1
        if number == 0:
            chosen = beside.get_by_role("button", name="Block 1, head 3", exact=True)
            assert chosen.get_attribute("aria-pressed") == "true"
        elif number == 5:
            beside.locator(".sx-status", has_text="Computed").wait_for()
            beside.locator(".sx-carried").wait_for()
            rows = beside.locator(".sx-carried tbody tr")
            shown = [rows.nth(n).locator("td").first.inner_text() for n in (8, 14, 15)]
            shown += [rows.nth(n).locator("td").nth(2).inner_text() for n in (8, 15)]
            for place in ("1, place 12", "1, place 13", "1, place 14", "3, place 21"):
                cell = beside.locator(f"td[aria-label^='block {place}, ']")
                shown.append(cell.inner_text())
            prose = SOURCE.split("### Is a head")[1].split("## ")[0]
            assert len(set(shown)) == 9 and not absent(prose, *(n.strip(" %") for n in shown))
        else:
            answers = page.locator(".course-do + .live-figure ~ .course-veil")
            text = answers.first.evaluate("veil => veil.textContent")
            assert not absent(text, loss(page)), (text, loss(page))
        assert page.evaluate("document.activeElement.textContent") == "Do it"
        press(page, "Bring it back")
        beside.wait_for(state="detached")
        assert page.evaluate("document.activeElement.closest('.live-figure') !== null")


def test_no_bar_is_higher_than_a_full_one_and_no_line_is_cut(site, browser):
    with opened(browser, (site / "book" / "playground.html").as_uri()) as page:
        page.locator(".live-figure[data-live=yes]").first.wait_for()
        page.locator(".course-do button").nth(4).click()
        tokens = page.locator(".sx-tokens").first
        heights = tokens.locator("span").evaluate_all(
            "all => all.map(one => Number(one.style.getPropertyValue('--w')))"
        )
        assert sorted(heights)[-2] < max(heights) == 1, "one token loses the most"
        assert tokens.evaluate("e => e.scrollHeight <= e.clientHeight + 1")


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
                        "text/html": '<div class="live-figure" data-figure="law" data-models="" '
                        'data-settings="{}">Still.</div>'
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
        ":::{live} 01_a law\nBelow **this** text.\n:::\n\n"
        ":::{live} 01_a law\n:link:\nText alone.\n:::\n\n"
        ":::{live} 01_a two\n:optional:\nNot to be seen.\n:::\n\n"
        "```{drawing} page_model matrix_in_a_row\n```\n",
    )
    assert ok
    assert html.count("data-figure=") == 1 and html.count("Still.") == 1
    assert "<strong>this</strong>" in html and "Text alone." in html
    assert "Not to be seen" not in html and 'class="course-drawing"' in html


@pytest.mark.parametrize(("altered", "ok"), [("and what they offer's", True), ("and", False)])
def test_a_page_opens_the_view_on_its_own_pair_of_prompts(tmp_path, altered, ok):
    options = f":prompt: and what thou offer's\n:altered: {altered}\n:views: patch switches\n"
    done, html = built(tmp_path, f":::{{explorer}} tiny-shakespeare\n{options}:::")
    assert done is ok
    if ok:
        settings = json.loads(unescape(re.search(r'data-settings="([^"]*)"', html)[1]))
        assert settings["altered"] == altered and settings["views"] == ["patch", "switches"]
        assert html.count("holds these tokens likeliest") == 2


@pytest.mark.parametrize(
    "text",
    [
        ":::{live} 01_a two\n:::",
        ":::{live} 02_b law\n:optional:\n:::",
        "```{drawing} page_model nothing\n```",
        "```{drawing} nothing at_all\n```",
    ],
)
def test_what_is_not_there_fails_the_build(tmp_path, text):
    assert not built(tmp_path, text)[0]
