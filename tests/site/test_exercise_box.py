"""The boxes of exercises: built from notebook and table, and answered in a real browser."""

import json
import re
from collections import Counter

import nbformat
import pytest

from book._ext.course_ext import leave_out_installation
from tests.chapters.tables import EXERCISES, exported
from tests.node import Node
from tests.site.browsing import (
    ARTICLE,
    DESK,
    NO_STORE,
    PHONE,
    TOO_SMALL,
    axe_finds,
    open_folds,
    opened,
    parsed,
    reload,
    ticked,
)
from tests.site.conftest import ROOT
from tools.set_repository import PLACEHOLDER, current

in_node = Node("../book/_assets/guess-verdicts.js", E="../book/_assets/exercise.js")
PARTS = ["run", "question", "hint", "hint", "worked"]  # behind the stub, in order


def code_cells(chapter):
    """The code cells of a chapter's notebook, as its page has them."""
    cells = nbformat.read(ROOT / f"notebooks/{chapter}.ipynb", as_version=4).cells
    if current(ROOT) == PLACEHOLDER:
        leave_out_installation(cells)
    return [cell for cell in cells if cell.cell_type == "code"]


def title_of(cell):
    title = re.match(r"# @title (.*)", cell.source)
    return title[1] if title else ""


def code_of(source):
    """Code without its title, and without spaces: a page may break its lines."""
    return "".join(re.sub(r"^# @title .*\n", "", source).split())


def codes(part):
    return [code_of(block.get_text()) for block in part.select(".cell_input pre")]


def plain(text):
    return "".join(re.sub("[`*]", "", text).split()).rstrip(".")


# ---- as it is built -------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXERCISES)
def test_a_chapter_holds_each_exercise_in_a_box_each_cell_once_and_checks_at_its_end(site, name):
    article, cells = parsed(site / f"notebooks/{name}.html").article, code_cells(name)
    boxes = article.select("section.course-exercise")
    assert [box["data-exercise"] for box in boxes] == [e.number for e in EXERCISES[name]]
    for box, exercise in zip(boxes, EXERCISES[name], strict=True):
        assert box.h3.get_text().startswith(f"Exercise {exercise.number} · ")
        parts = [part.get("class", ["other"])[-1] for part in box.find_all(recursive=False)]
        assert parts[-len(PARTS) :] == [f"course-{part}" for part in PARTS]
        title = f"orked solution {exercise.number}"
        worked = [code_of(cell.source) for cell in cells if title in title_of(cell)]
        assert codes(box.select_one(".course-worked")) == worked
        stub = codes(box)[: -len(worked)]
        assert sum(f"checks.{exercise.name}({exercise.name})" in code for code in stub) == 1
        hints = [plain(fold.p.get_text()) for fold in box.select(".course-hint")]
        assert hints == [plain(hint) for hint in exercise.hints]
        question = json.loads(box.select_one(".course-question script").string)
        assert question == exported(exercise)  # PyTorch's numbers, as they are now

    shown = [cell for cell in cells if "remove-input" not in cell.metadata.get("tags", [])]
    assert Counter(codes(article)) == Counter(code_of(cell.source) for cell in shown)
    titled = [cell for cell in cells if re.match(r"Checks?\b", title_of(cell))]
    proofs = [code_of(x.source) for x in titled if "worked solution" not in title_of(x)]
    setup, *checks = article.section.find_all("details", recursive=False)
    assert [code for fold in checks for code in codes(fold)] == proofs and len(checks) < 2
    assert setup["class"][-1] == "course-setup" and setup.find_next_siblings() == checks
    assert article.select_one("figure, .live-figure, .cell_output").find_previous(
        "details"
    ) not in article.select("details"), "a reader meets something to see before any fold"
    assert not article.select("div.cell > details[open]")
    outputs = [plain(block.get_text()) for block in article.select(".output pre")]
    assert not any(text.startswith("Fromhereon:") for text in outputs), "it is a quiet line"
    printed = "\n".join(output.get("text", "") for cell in cells for output in cell.outputs)
    heads = re.findall("^From here on: .*", printed, re.MULTILINE)
    lines = [plain(line.get_text()) for line in article.select("p.course-from-here")]
    assert sorted(lines) == sorted(map(plain, heads))


# ---- what is said of an answer ----------------------------------------------------------------

SHARE = {
    "kind": "number",
    "digits": 2,
    "right": "0.85",
    "wrong": {"0.98": "Divide by √2 first", "4.00": "That is a score: take the softmax"},
}
COUNT = SHARE | {"digits": 0, "right": "1234", "wrong": {"-2": "Not below zero"}}
JUDGED = [
    (SHARE, ["0.85", "0,853", " .8463 ", "17/20", "85 %", "8.5e-1"], "right", ""),
    (COUNT, ["1,234", "1234.0", "[1, 2, 3, 4]", "(1, 2, 3, 4)", "1 2 3 4", "1.234e3"], "right", ""),
    (SHARE | {"digits": 3, "right": "1.000"}, ["1,000", "1"], "right", ""),
    (SHARE | {"right": "-0.50"}, ["- 0.5", "‑0.5", "−½", "−1/2"], "right", ""),
    (SHARE | {"right": "0.00", "wrong": {}}, ["-0.001", "0"], "right", ""),
    (COUNT, ["1234.4"], "wrong", "A whole number"),
    (COUNT, ["−2"], "wrong", "Not below zero."),
    (SHARE, ["0.98"], "wrong", "Divide by √2 first."),
    (SHARE, ["0.2"], "wrong", "Look again"),
    (SHARE, ["0.86", "0.84"], "wrong", "another one"),  # nearly right
    (SHARE, ["0.9"], "wrong", "Give 2 digits"),
    (SHARE, ["", "much"], "none", ""),
]


def judged(name, question, *answers):
    body = f"return input.given.map((answer) => E.{name}(input.question, ...answer))"
    return in_node(body, question=question, given=answers)


def test_a_typed_number_is_rounded_and_a_wrong_one_gets_its_diagnosis():
    for question, answers, state, words in JUDGED:
        for verdict in judged("judgeNumber", question, *([answer] for answer in answers)):
            assert verdict["state"] == state and words in verdict["text"], answers


# ---- in a browser -------------------------------------------------------------------------------

PAGE = "06_self_attention"
FIRST, SECOND = 'section[data-exercise="6.3"]', 'section[data-exercise="6.1"]'
NUMBER, WHICH = exported(EXERCISES[PAGE][2]), exported(EXERCISES[PAGE][0])


@pytest.fixture
def address(server):
    return f"{server}notebooks/{PAGE}.html"


def status(page, box):
    return page.locator(f"{box} .course-question [role=status]").inner_text()


def answer_number(page, text):
    page.locator(f"{FIRST} .course-question input").fill(text)
    page.keyboard.press("Enter")
    return status(page, FIRST)


def test_answers_are_judged_kept_tick_what_was_worked_out_and_can_be_read(browser, address, axe):
    with opened(browser, address, width=DESK) as page:
        for text in ("", "much"):  # which is no answer, and not kept
            assert "number" in answer_number(page, text)
        page.locator(f"{SECOND} button[type=submit]").click()
        assert status(page, SECOND) != "" and ticked(page) == []
        wrong, words = next(iter(NUMBER["wrong"].items()))
        assert answer_number(page, wrong) == f"Not yet. {words}."
        hint = EXERCISES[PAGE][2].hints[0].replace("`", "")
        assert answer_number(page, "7").endswith(hint) and ticked(page) == []
        page.locator(f"{FIRST} .course-hint summary").first.click()
        assert "right" in answer_number(page, NUMBER["right"])
        assert ticked(page) == ["6.3 worked out"]
        choices = page.locator(f"{SECOND} input[type=radio]")  # a choice by keys alone
        choices.nth(int(WHICH["reason"] == 0)).focus()
        for key in ("Space", "Enter"):
            page.keyboard.press(key)
        assert "Something else" in status(page, SECOND)
        choices.nth(WHICH["reason"]).focus()
        for key in ("Space", "Enter"):
            page.keyboard.press(key)
        assert ticked(page) == ["6.1 worked out", "6.3 worked out"]
        reload(page)  # the answers are kept, and so are the ticks
        assert page.locator(f"{FIRST} .course-question input").input_value() == NUMBER["right"]
        assert "right" in status(page, FIRST) and "right" in status(page, SECOND)
        page.get_by_label("Worked out (ticks itself): exercise 6.3").uncheck()
        page.get_by_label("Written as code (ticks itself): exercise 6.1").check()
        reload(page)
        both = ["6.1 worked out", "6.1"]
        assert ticked(page) == both, "a kept answer has set the tick again"

        page.emulate_media(media="print")
        for part in (".course-question", ".course-run", ".course-ticks", ".course-worked .cell"):
            assert not page.locator(f"{FIRST} {part}").first.is_visible(), part
        page.emulate_media(media="screen", color_scheme="dark")
        open_folds(page, f"{ARTICLE} .course-fold")
        for width in (PHONE, DESK):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(TOO_SMALL, ".course-exercise") == []
        assert axe_finds(page, axe, ".course-exercise") == []


def test_a_browser_that_keeps_nothing_still_answers(browser, address):
    with opened(browser, address, script=NO_STORE, faults=[]) as page:
        assert "right" in answer_number(page, NUMBER["right"])


def test_without_javascript_the_box_has_its_folds_and_no_trace_of_a_question(browser, address):
    with opened(browser, address, javascript=False) as page:
        assert page.locator(f"{FIRST} .course-question").bounding_box()["height"] == 0
        page.locator(f"{FIRST} .course-worked summary").click()
        assert page.locator(f"{FIRST} .course-worked .cell").is_visible()
