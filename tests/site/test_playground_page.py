"""The playground and the page on model.js as built: the clicks they ask for, and their code."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import nbformat

from tests.quoted_numbers import absent
from tests.site.browsing import LIVE, opened
from tests.site.figures import press

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (ROOT / "book" / "playground.md").read_text(encoding="utf-8")


def test_do_it_brings_the_figure_to_its_answer_whatever_was_pressed_before(site, browser):
    """What is told are PyTorch's numbers (tests/page_model/test_playground.py), and those on screen
    are, too (test_explorer_page.py)."""
    with opened(browser, (site / "book" / "playground.html").as_uri()) as page:
        page.locator(LIVE).first.wait_for()
        boxes = page.locator(".course-do")
        assert boxes.count() == 6 == len(re.findall("data-answer=", SOURCE))
        for n in (5, 0, 4, 1, 3, 2):  # up and down
            boxes.nth(n).get_by_role("button").press("Enter")
            beside = boxes.nth(n).locator("+ .live-figure")
            beside.wait_for()
            assert page.evaluate("document.activeElement.textContent") == "Do it"
            assert page.locator(".live-figure .sx-switches").count() == 1
            if n == 0:
                chosen = beside.get_by_role("button", name="Block 1, head 3", exact=True)
                assert chosen.get_attribute("aria-pressed") == "true"
            elif n == 5:
                beside.locator(".sx-carried").wait_for()
            else:
                loss = page.locator(".sx-losses tbody tr").nth(1).locator("td").inner_text()
                answers = page.locator(".course-do + .live-figure ~ .course-guess-answer")
                assert not absent(answers.first.evaluate("answer => answer.textContent"), loss)
        press(page, "Bring it back")
        beside.wait_for(state="detached")
        assert page.evaluate("document.activeElement.closest('.live-figure') !== null")


# ---- the directives ----

STILL = '<div class="live-figure" data-figure="law" data-models="" data-settings="{}">Still.</div>'


def built(folder, text):
    """What Sphinx complains of when it builds a page of this text, and the page.

    It may show a live figure, `01_a law`, which is the stored output of a notebook.
    """
    extension = str(ROOT / "book" / "_ext")
    output = nbformat.v4.new_output("execute_result", {"text/html": STILL}, execution_count=1)
    cell = nbformat.v4.new_code_cell(outputs=[output], execution_count=1)
    (folder / "notebooks").mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "notebooks" / "01_a.ipynb")
    (folder / "conf.py").write_text(
        f"import sys\nsys.path[:0] = [{str(ROOT)!r}, {extension!r}]\n"
        "extensions = ['myst_parser', 'live_ext']\nmyst_enable_extensions = ['colon_fence']\n"
        "exclude_patterns = ['notebooks']\n"
    )
    (folder / "index.md").write_text(f"# A page\n\n{text}\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", folder, folder / "out"]
    done = subprocess.run(command, capture_output=True, text=True)
    complaints = re.findall(r"index\.md:\d+: (?:ERROR|WARNING): (.*)", done.stderr)
    return complaints, (folder / "out" / "index.html").read_text(encoding="utf-8")


VIEW = (
    ":::{explorer} tiny-shakespeare\n:prompt: and what thou offer's\n"
    ":altered: ALTERED\n:views: patch switches\n:::\n\n"
)


def test_a_page_shows_links_or_leaves_out_figures_and_opens_a_view_on_its_own_prompts(tmp_path):
    complaints, html = built(
        tmp_path,
        ":::{live} 01_a law\nBelow **this** text.\n:::\n\n"
        ":::{live} 01_a law\n:link:\nText alone.\n:::\n\n"
        "```{drawing} page_model matrix_in_a_row\n```\n\n"
        + VIEW.replace("ALTERED", "and what they offer's"),
    )
    assert not complaints
    assert html.count('data-figure="law"') == 1 and html.count("Still.") == 1
    assert "<strong>this</strong>" in html and "Text alone." in html
    assert 'class="course-drawing"' in html
    settings = json.loads(unescape(re.findall(r'data-settings="([^"]*)"', html)[1]))
    assert settings["altered"] == "and what they offer's"
    assert settings["views"] == ["patch", "switches"]
    assert html.count("holds these tokens likeliest") == 2


def test_what_is_not_there_or_does_not_fit_fails_the_build(tmp_path):
    wrong = [
        ":::{live} 01_a two\n:::\n\n",
        ":::{live} 02_b law\n:::\n\n",
        "```{drawing} page_model nothing\n```\n\n",
        "```{drawing} nothing at_all\n```\n\n",
        VIEW.replace("ALTERED", "and"),
    ]
    complaints, _ = built(tmp_path, "".join(wrong))
    assert len(complaints) == len(wrong), complaints
