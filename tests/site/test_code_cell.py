"""The cells of exercises that run in their pages: the words of the notebook, in real browsers.

They are there where the site was built with Pyodide, which `make book` fetches by npm.
"""

import json
import re
from types import SimpleNamespace

import nbformat
import pytest
from bs4 import BeautifulSoup

from book._ext import code_ext
from lab import page_checks
from lab.firefox import PROGRAM, Firefox
from scratchformer_course.kit.checks import in_page
from scratchformer_course.teaching import packed_python
from tests.chapters.tables import EXERCISES, PATIENCE
from tests.node import Node
from tests.site.browsing import DESK, PHONE, TOO_SMALL, axe_finds, opened, parsed, reload
from tests.site.conftest import ROOT

CHAPTERS = ["01_bpe", "05_averaging", "15_costs"]
BOX = 'section[data-exercise="1.1"]'
REASON = "The site is built without Pyodide: no exercise ran in its page (make book, with npm)."
RUN = """([number, code]) => new Promise((done) => {
  const cell = document.querySelector(`section[data-exercise="${number}"] .course-code`);
  const status = cell.querySelector("[role=status]");
  cell.querySelector("textarea").value = code;
  cell.querySelector("button").click();
  const watch = new MutationObserver(() => {
    const last = status.firstElementChild;
    if (last.matches("p") && last.textContent.endsWith("…")) return;
    watch.disconnect();
    done(last.textContent);
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
# 1.2, which can be told from the table's, and 1.3, which prints whether that is what it finds
MINE = """merge_pair = lambda word, pair: checks.right_merge_pair(word, pair)
merge_pair.is_mine = True
"""
FINDS_MINE = """print(f"mine: {hasattr(merge_pair, 'is_mine')}")
encode_chunk = checks.right_encode_chunk
"""
ENDLESS = """def count_pairs(words):
    while True:
        pass
"""


@pytest.fixture(scope="module")
def built(site):
    """The site, if its exercises run in their pages."""
    if 'src="../_static/code-cell.js' not in (site / "notebooks/01_bpe.html").read_text("utf-8"):
        pytest.skip(REASON)
    return site


def answers(chapter):
    """[number, code] of the table's mistakes and the worked answers, and what is said of each."""
    for exercise in EXERCISES[chapter]:
        for i, mistake in enumerate(exercise.mistakes):
            table = f"from scratchformer_course.ch{chapter} import exercises as table\n"
            code = f"{table}{exercise.name} = table.{exercise.name}.mistakes[{i}].function"
            html = exercise(mistake.function, limit=PATIENCE)._repr_html_()
            yield [exercise.number, code], BeautifulSoup(html, "html.parser").get_text()
    for cell in nbformat.read(ROOT / f"notebooks/{chapter}.ipynb", as_version=4).cells:
        if number := re.match(r"# @title Worked solution (\d+\.\d)", cell.source):
            html = cell.outputs[-1]["data"]["text/html"]
            words = BeautifulSoup(html, "html.parser").get_text()
            yield [number[1], re.sub("_?[sS]olution\\b", "", cell.source)], words


def test_python_is_a_script_of_its_own_that_no_page_loads_by_itself(built):
    shared = set()
    for chapter, table in EXERCISES.items():
        path = built / "notebooks" / f"{chapter}.html"
        elsewhere = {exercise.number for exercise in table} & {*packed_python.notebook_only()}
        scripts = parsed(path).select("script[data-scripts]")
        assert len(scripts) == (len(elsewhere) < len(table)), path
        for script in scripts:
            assert {*script["data-elsewhere"].split()} == elsewhere
            addresses = script["data-scripts"].split()
            shared.add((*addresses[:2],))
            for address in (*addresses, script["data-notebook"]):
                assert (path.parent / address).is_file()
                assert not parsed(path).select(f"script[src='{address}']")
    assert len(shared) == 1


def test_a_site_without_python_says_what_is_missing(tmp_path):
    code_ext.core.cache_clear()
    run = '<p class="course-run">To run it, open it.</p>'
    context = {"body": f'<section class="x" data-exercise="5.1">{run}</section>'}
    app = SimpleNamespace(srcdir=tmp_path)
    code_ext.add_files(app, "notebooks/05_averaging", "", context, None)
    code_ext.core.cache_clear()
    assert "open it. This site was built without Python for the page" in context["body"]


EDITS = [  # key, text, what is selected; then text and selection
    ("Tab", "x", (1, 1), ("x   ", 4, 4)),
    ("Tab", "if x:\na\nb", (6, 9), ("if x:\n    a\n    b", 10, 17)),
    ("Shift+Tab", "  a\n\tb", (0, 3), ("a\n\tb", 0, 1)),
    ("Backspace", "if x:\n        y", (14, 14), ("if x:\n    y", 10, 10)),
    ("Enter", "  if x:", (7, 7), ("  if x:\n      ", 14, 14)),
]


def test_keys_indent_and_a_program_is_coloured_line_by_line():
    in_node = Node("../book/_assets/code-field.js")
    for key, text, selected, expected in EDITS:
        body = "return course.codeField.edit(input.key, input.text, ...input.selected)"
        edit = in_node(body, key=key, text=text, selected=selected)
        after = text[: edit["from"]] + edit["insert"] + text[edit["to"] :]
        assert (after, edit["start"], edit["end"]) == expected
    program = 'def f(x):\n    """a\n    # b"""\n    return x["if"] + 1.5  # c'
    lines = in_node("return course.codeField.coloured(input.text)", text=program)
    assert ["".join(part for _, part in line) for line in lines] == program.split("\n")
    names = [[name for name, _ in line if name] for line in lines]
    assert names == [["k", "nf"], ["s2"], ["s2"], ["k", "s2", "o", "mi", "c1"]]


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_listed_answer_gets_the_words_of_the_notebook_in_chromium(browser, built, name):
    with opened(browser, (built / "notebooks" / f"{name}.html").as_uri()) as page:
        for asked, words in answers(name):
            assert page.evaluate(RUN, asked) == words, asked


@pytest.mark.parametrize("name", EXERCISES)
def test_every_worked_answer_passes_in_its_page(browser, built, name):
    with opened(browser, (built / "notebooks" / f"{name}.html").as_uri()) as page:
        for number, code, _ in page_checks.worked_answers(name):
            assert f"{number}, passed." in page.evaluate(RUN, [number, code])


def test_what_the_page_lacks_is_said_and_no_verdict_follows(browser, built):
    code = "def averaging_weights(T):\n    return torch.cdist(torch.ones(T, 1), torch.ones(T, 1))\n"
    with opened(browser, (built / "notebooks/05_averaging.html").as_uri()) as page:
        words = page.evaluate(RUN, ["5.1", code])
        assert words.startswith("Exercise 5.1, not here.") and "torch.cdist" in words
        assert not page.get_by_label("Written as code (ticks itself): exercise 5.1").is_checked()


@pytest.mark.skipif(PROGRAM is None, reason="no Firefox on the PATH: no exercise ran in it")
def test_answers_get_the_words_of_the_notebook_in_firefox(built):
    with Firefox() as page:
        for name in CHAPTERS[:2]:
            page.goto((built / "notebooks" / f"{name}.html").as_uri())
            for asked, words in list(answers(name))[::3]:
                assert page.evaluate(f"({RUN})({json.dumps(asked)})") == words, asked


def status(page):
    return page.locator(f"{BOX} .course-code [role=status]")


def button(page, name):
    return page.locator(f"{BOX} .course-code").get_by_role("button", name=name, exact=True)


def wait_for_status(page, words):
    """Wait until the cell says so; Python may come first."""
    status(page).get_by_text(words).wait_for(timeout=1000 * PATIENCE)


@pytest.mark.parametrize("way", ["from a server", "from disk"])
def test_it_is_written_run_stopped_kept_and_printed(browser, built, server, axe, way):
    folder = server if way == "from a server" else f"{built.as_uri()}/"
    with opened(browser, f"{folder}notebooks/01_bpe.html", mode="dark", width=PHONE) as page:
        field = page.locator(f"{BOX} textarea")
        stub = field.input_value()
        assert stub.startswith("def count_pairs(") and stub.endswith("(count_pairs)")
        field.fill("")
        page.keyboard.type("def count_pairs(words):")
        page.keyboard.press("Enter")
        page.keyboard.type("print(words)")
        for key in ("Enter", "Shift+Tab", "Control+Enter"):
            page.keyboard.press(key)
        assert field.input_value() == "def count_pairs(words):\n    print(words)\n"
        assert "Python" in status(page).inner_text()  # what happens meanwhile
        wait_for_status(page, "try again")
        assert "returned None" in status(page).inner_text()
        assert "('l', 'o', 'w'): 2" in status(page).locator("pre").inner_text()
        for width in (PHONE, DESK):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(TOO_SMALL, ".course-exercise") == []
        assert axe_finds(page, axe, ".course-exercise") == []

        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.textContent") == "Run"
        field.fill(ENDLESS)
        button(page, "Run").click()
        wait_for_status(page, "Still checking")
        assert re.fullmatch(r"Still checking, \d+ s …", status(page).inner_text())
        with page.workers[0].expect_event("close"):
            button(page, "Stop").click()
        assert status(page).inner_text() == "It was stopped."
        field.fill(PASSES)
        reload(page)  # the code is kept
        assert field.input_value() == PASSES
        button(page, "Run").click()
        wait_for_status(page, "passed")
        assert page.get_by_label("Written as code (ticks itself): exercise 1.1").is_checked()
        page.emulate_media(media="print")
        assert not field.is_visible() and not status(page).is_visible()
        assert page.locator(f"{BOX} > .cell pre").first.is_visible()
        page.emulate_media(media="screen")
        button(page, "Start over").click()
        assert field.input_value() == stub and not button(page, "Start over").is_visible()


@pytest.mark.parametrize("way", ["from a server", "from disk"])
def test_an_answer_is_used_after_a_reload_and_goes_into_the_notebook(browser, built, server, way):
    folder = server if way == "from a server" else f"{built.as_uri()}/"
    with opened(browser, f"{folder}notebooks/01_bpe.html") as page:
        page.wait_for_timeout(300)
        assert page.workers == []  # Python waits for the first press of a visit
        assert "passed" in page.evaluate(RUN, ["1.2", MINE])
        with page.expect_worker():  # and then starts by itself
            reload(page)
        page.evaluate(RUN, ["1.3", FINDS_MINE])
        shown = page.locator('section[data-exercise="1.3"] .course-code [role=status]')
        assert "mine: True" in shown.inner_text()
        broken = MINE.replace("True", "1 / 0")
        page.evaluate(RUN, ["1.2", broken])
        page.evaluate(RUN, ["1.3", FINDS_MINE])
        assert "mine: False" in shown.inner_text()

        with page.expect_download() as download:
            page.get_by_role("button", name="Download with my answers").click()
        assert download.value.suggested_filename == "01_bpe.ipynb"
        notebook = nbformat.read(download.value.path(), as_version=4)
        nbformat.validate(notebook)
    original = nbformat.read(ROOT / "notebooks/01_bpe.ipynb", as_version=4)
    cells = [*zip(notebook.cells, original.cells, strict=True)]
    assert [mine.source for mine, cell in cells if mine.source != cell.source] == [
        f"{broken}\nchecks.merge_pair(merge_pair)",
        f"{FINDS_MINE}\nchecks.encode_chunk(encode_chunk)",
    ]
    assert not any(cell.get("outputs") for cell in notebook.cells)


def test_python_that_hangs_is_ended_and_files_that_are_missing_are_asked_for_again(
    browser, built, server
):
    short_timeout = """const later = setTimeout;
globalThis.setTimeout = (f, ms, ...rest) => later(f, ms === LIMIT ? 500 : ms, ...rest);"""
    script = short_timeout.replace("LIMIT", str(1000 * in_page.LIMIT))
    address = f"{server}notebooks/01_bpe.html"
    with opened(browser, address, script=script, faults=[]) as page:
        page.route("**/*exercises-*", lambda route: route.abort(), times=1)
        page.locator(f"{BOX} textarea").fill(ENDLESS)
        for words in ("Python failed", "did not come back within"):
            button(page, "Run").click()
            wait_for_status(page, words)


def test_without_javascript_the_stub_stands_there_as_ever(browser, built, server):
    with opened(browser, f"{server}notebooks/01_bpe.html", javascript=False) as page:
        assert page.locator(f"{BOX} > .cell pre").first.is_visible()
        assert page.locator(".course-code").count() == 0
        assert "To run it, open" in page.locator(f"{BOX} .course-run").inner_text()
