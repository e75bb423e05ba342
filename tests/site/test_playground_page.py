"""The playground as built: the clicks that it asks for; what it cannot show fails the build."""

import re
import subprocess
import sys

import nbformat

from tests.quoted_numbers import absent
from tests.site.browsing import LIVE, opened
from tests.site.conftest import ROOT
from tests.site.figures import press

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


def test_a_figure_a_drawing_or_a_pair_of_prompts_that_is_not_there_fails_the_build(tmp_path):
    wrong = [
        ":::{live} 01_a two\n:::\n\n",
        ":::{live} 02_b law\n:::\n\n",
        "```{drawing} page_model nothing\n```\n\n",
        "```{drawing} nothing at_all\n```\n\n",
        ":::{explorer} tiny-shakespeare\n:prompt: and what\n:altered: and\n:views: patch\n:::\n\n",
    ]
    (tmp_path / "notebooks").mkdir()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell()])
    nbformat.write(notebook, tmp_path / "notebooks" / "01_a.ipynb")
    (tmp_path / "index.md").write_text("# A page\n\n" + "".join(wrong))
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'book' / '_ext')!r}]\n"
        "extensions = ['myst_parser', 'live_ext']\nmyst_enable_extensions = ['colon_fence']\n"
        "exclude_patterns = ['notebooks']\n"
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", tmp_path, tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True)
    complaints = re.findall(r"index\.md:\d+: (?:ERROR|WARNING): (.*)", done.stderr)
    assert len(complaints) == len(wrong), complaints
