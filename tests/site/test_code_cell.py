"""The cells of exercises that run in their pages: the words of the notebook, in real browsers.

They are there where the site was built with Pyodide, which npm fetches.
"""

import functools
import gzip
import http.server
import json
import re

import nbformat
import pytest
from bs4 import BeautifulSoup

from lab.firefox import PROGRAM, Firefox
from tests.chapters.tables import EXERCISES, PATIENCE
from tests.node import Node
from tests.site.browsing import DESK, PHONE, TOO_SMALL, axe_finds, opened, parsed, reload
from tests.site.conftest import ROOT, serving

CHAPTERS = ["01_bpe", "15_costs"]
BOX = 'section[data-exercise="1.1"]'
WITHOUT = "The site is built without Pyodide: no exercise ran in its page (npm ci, then make book)."
RUN = """([number, code]) => new Promise((done) => {
  const cell = document.querySelector(`section[data-exercise="${number}"] .course-code`);
  const status = cell.querySelector("[role=status]");
  cell.querySelector("textarea").value = code;
  cell.querySelector("button").click();
  const watch = new MutationObserver(() => {
    const said = [...status.children].at(-1);
    if (said.matches("p") && said.textContent.endsWith("…")) return;
    watch.disconnect();
    done(said.textContent);
  });
  watch.observe(status, { childList: true });
})"""
PASSES = """def count_pairs(words):
    counts = Counter()
    for word, n in words.items():
        for pair in pairwise(word):
            counts[pair] += n
    return counts
"""
ENDLESS = """def count_pairs(words):
    while True:
        try:
            while True:
                pass
        except:
            pass
"""


@pytest.fixture(scope="module")
def built(site):
    """The site, if its exercises run in their pages."""
    if 'src="../_static/code-cell.js' not in (site / "notebooks/01_bpe.html").read_text("utf-8"):
        pytest.skip(WITHOUT)
    return site


@functools.cache
def answers(chapter):
    """[number, code] of all answers of the table and the notebook, and what is said of each."""
    room, found = f"scratchformer_course.ch{chapter}", []
    for exercise in EXERCISES[chapter]:
        listed = [(f"solutions[{i}]", answer) for i, answer in enumerate(exercise.solutions)]
        listed += [(f"mistakes[{i}].function", x.function) for i, x in enumerate(exercise.mistakes)]
        for place, answer in listed:
            table = f"from {room} import exercises as table\n"
            code = f"{table}{exercise.name} = table.{exercise.name}.{place}"
            html = exercise(answer, limit=PATIENCE)._repr_html_()
            found.append(([exercise.number, code], BeautifulSoup(html, "html.parser").get_text()))
    for cell in nbformat.read(ROOT / f"notebooks/{chapter}.ipynb", as_version=4).cells:
        if number := re.match(r"# @title Worked solution (\d+\.\d)", cell.source):
            html = cell.outputs[-1]["data"]["text/html"]
            said = BeautifulSoup(html, "html.parser").get_text()
            found.append(([number[1], cell.source.replace("_solution", "")], said))
    return found


# ---- what is built, and what is calculated -----------------------------------------------------


def test_python_is_a_script_of_its_own_that_no_page_loads_by_itself(built):
    (script,) = parsed(built / "notebooks" / "01_bpe.html").select("script[data-scripts]")
    python = built / "notebooks" / script["data-scripts"].split()[0]
    text = python.read_bytes()
    assert text.startswith(b"// Pyodide ") and len(text) < 9e6 and len(gzip.compress(text)) < 6e6
    for path in built.glob("notebooks/*.html"):
        scripts = parsed(path).select("script[data-scripts]")
        assert len(scripts) == (path.stem in CHAPTERS), path
        assert not any(python.name in each["src"] for each in parsed(path).select("script[src]"))
        for address in " ".join(script["data-scripts"] for script in scripts).split():
            assert (path.parent / address).is_file()


@pytest.mark.parametrize(
    ("key", "text", "selected", "then"),
    [
        ("Tab", "x", (1, 1), ("x   ", 4, 4)),
        ("Tab", "if x:\na\nb", (6, 9), ("if x:\n    a\n    b", 10, 17)),
        ("Shift+Tab", "a\n      b", (7, 7), ("a\n  b", 3, 3)),
        ("Shift+Tab", "    a", (1, 1), ("a", 0, 0)),
        ("Shift+Tab", "  a\n\tb", (0, 3), ("a\n\tb", 0, 1)),
        ("Backspace", "if x:\n        y", (14, 14), ("if x:\n    y", 10, 10)),
        ("Backspace", "      y", (6, 6), ("    y", 4, 4)),
        ("Enter", "  if x:", (7, 7), ("  if x:\n      ", 14, 14)),
        ("Enter", "  x = 1", (5, 7), ("  x =\n  ", 8, 8)),
    ],
)
def test_keys_indent(key, text, selected, then):
    in_node = Node("../book/_assets/code-cell.js")
    body = "return course.codeCell.edit(input.key, input.text, ...input.selected)"
    made = in_node(body, key=key, text=text, selected=selected)
    after = text[: made["from"]] + made["insert"] + text[made["to"] :]
    assert (after, made["start"], made["end"]) == then


# ---- the words of the notebook, in two browsers --------------------------------------------------


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_listed_answer_gets_the_words_of_the_notebook_in_chromium(browser, built, name):
    with opened(browser, (built / "notebooks" / f"{name}.html").as_uri()) as page:
        for asked, said in answers(name):
            assert page.evaluate(RUN, asked) == said, asked


@pytest.mark.skipif(PROGRAM is None, reason="no Firefox on the PATH: no exercise ran in it")
def test_every_listed_answer_gets_the_words_of_the_notebook_in_firefox(built):
    with Firefox() as page:
        page.goto((built / "notebooks" / "01_bpe.html").as_uri())
        for asked, said in answers("01_bpe"):
            assert page.evaluate(f"({RUN})({json.dumps(asked)})") == said, asked


# ---- the cell ------------------------------------------------------------------------------------


def said_in(page):
    return page.locator(f"{BOX} .course-code [role=status]")


def button(page, name):
    return page.locator(f"{BOX} .course-code").get_by_role("button", name=name, exact=True)


@pytest.mark.parametrize("way", ["from a server", "from disk"])
def test_it_is_written_run_stopped_kept_and_printed(browser, built, server, axe, way):
    folder = server if way == "from a server" else f"{built.as_uri()}/"
    with opened(browser, f"{folder}notebooks/01_bpe.html", mode="dark", width=PHONE) as page:
        field = page.locator(f"{BOX} textarea")
        stub = field.input_value()
        assert stub.startswith("def count_pairs(") and stub.endswith("(count_pairs)")
        assert not button(page, "Start over").is_visible()
        field.fill("")
        page.keyboard.type("def count_pairs(words):")
        page.keyboard.press("Enter")
        page.keyboard.type("print(words)")
        page.keyboard.press("Tab")
        assert field.input_value() == "def count_pairs(words):\n    print(words)    "
        for key in ("Enter", "Shift+Tab", "Control+Enter"):
            page.keyboard.press(key)
        assert "Python" in said_in(page).inner_text()  # what happens meanwhile
        said_in(page).get_by_text("try again").wait_for(timeout=1000 * PATIENCE)
        assert "returned None" in said_in(page).inner_text()
        assert "('l', 'o', 'w'): 2" in said_in(page).locator("pre").inner_text()
        for width in (PHONE, DESK):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(TOO_SMALL, ".course-exercise") == []
        assert axe_finds(page, axe, ".course-exercise") == []

        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.textContent") == "Run"
        field.fill(ENDLESS)
        button(page, "Run").click()
        said_in(page).get_by_text("Checking").wait_for()
        button(page, "Stop").click()
        assert said_in(page).inner_text() == "It was stopped."
        field.fill(PASSES)
        reload(page)  # the code is kept
        assert field.input_value() == PASSES
        button(page, "Run").click()
        said_in(page).get_by_text("passed").wait_for(timeout=1000 * PATIENCE)
        assert page.get_by_label("Written as code (ticks itself): exercise 1.1").is_checked()

        page.emulate_media(media="print")
        assert not field.is_visible() and not said_in(page).is_visible()
        assert page.locator(f"{BOX} > .cell pre").first.is_visible()
        page.emulate_media(media="screen")
        button(page, "Start over").click()
        assert field.input_value() == stub and not button(page, "Start over").is_visible()


def test_python_that_hangs_is_ended_and_files_that_are_missing_are_asked_for_again(browser, built):
    hurried = """const later = setTimeout;
globalThis.setTimeout = (f, ms, ...rest) => later(f, ms === 10000 ? 500 : ms, ...rest);"""
    missing = ["exercises-"]

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if missing and missing[0] in self.path:
                missing.clear()
                return self.send_error(404)
            return super().do_GET()

        def log_message(self, *_):
            pass

    with serving(functools.partial(Handler, directory=str(built))) as address:
        page_address = f"{address}notebooks/01_bpe.html"
        with opened(browser, page_address, script=hurried, faults=[]) as page:
            page.locator(f"{BOX} textarea").fill(ENDLESS)
            button(page, "Run").click()
            said_in(page).get_by_text("Python failed").wait_for(timeout=1000 * PATIENCE)
            button(page, "Run").click()
            late = said_in(page).get_by_text("did not come back within 10 seconds: is there a")
            late.wait_for(timeout=1000 * PATIENCE)


def test_without_javascript_the_stub_stands_there_as_ever(browser, built, server):
    with opened(browser, f"{server}notebooks/01_bpe.html", javascript=False) as page:
        assert page.locator(f"{BOX} > .cell pre").first.is_visible()
        assert page.locator(".course-code").count() == 0
        assert "To run it, open" in page.locator(f"{BOX} .course-run").inner_text()
