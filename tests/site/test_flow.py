"""A text on its way: its numbers are the model's, the reader goes from stage to stage."""

import re

import pytest
import torch

from scratchformer_course.kit import chapter_facts
from scratchformer_course.pages.flow import COLOURS, EXERCISES, STAGES, TALL, WIDE, draw
from scratchformer_course.pages.flow_numbers import PROMPT, measure, on_the_one_before
from tests.node import Node
from tests.site.browsing import DESK, LIVE, PHONE, parsed
from tests.site.conftest import ROOT
from tests.site.figures import fill, shipped

CHAPTERS = chapter_facts.chapters(ROOT)
FIGURE = ".live-figure[data-figure=flow]"
NAMES = list(STAGES)
in_node = Node("page_model/model.js", "pages/flow_drawing.js")
# what could slide on the way: the figure's parts, and what is below it
PLACES = f"""() => JSON.stringify([...document.querySelectorAll(
  '{FIGURE} .flow-name, #where-to-start')].filter(e => e.checkVisibility()).map(e =>
    Math.round(e.getBoundingClientRect().y + scrollY)))"""


def told(page):
    return page.locator(f"{FIGURE} .flow-now").inner_text()


def button(page, name):
    return page.locator(FIGURE).get_by_role("button", name=name)


def faint(page):
    """The stages that the flow has not reached."""
    drawn = page.locator(f"{FIGURE} svg:visible .flow-drawn")
    shades = drawn.evaluate_all("all => all.map(e => Number(getComputedStyle(e).opacity))")
    return [name for name, shade in zip(NAMES, shades, strict=True) if shade < 0.5]


def test_the_numbers_are_the_models_and_each_stage_opens_its_chapter(site):
    model, tokenizer = shipped()
    ids = tokenizer.encode(PROMPT)
    with torch.no_grad():
        x = model.wte.weight[ids] + model.wpe.weight[: len(ids)]
        assert measure().vectors == x[:, :8].tolist()
        values, best = model(torch.tensor([ids]))[0, -1].softmax(dim=-1).topk(5)
    letters = [tokenizer.decode([i]).replace(" ", "␣") for i in (*ids, *best.tolist())]
    chances = [f"{100 * value:.1f} %" for value in values.tolist()]
    expected = [f"../{CHAPTERS[n].docname}.html" for numbers in STAGES.values() for n in numbers]
    for drawing in parsed(site / "book" / "welcome.html").select(f"{FIGURE} svg"):
        texts = [text.get_text() for text in drawing.select(".flow-drawn text")]
        assert texts[0 : 2 * len(ids) : 2] + texts[-10::2] == letters
        assert texts[1 : 2 * len(ids) : 2] == [str(i) for i in ids] and texts[-9::2] == chances
        assert [link["href"] for link in drawing.select("a")] == expected
    before, wide = (torch.tensor(head) for head in measure().heads)
    assert on_the_one_before(before) > 0.5 and wide[-1].min() > 0.03, "as the sentence has it"


@pytest.mark.parametrize("layout", [WIDE, TALL])
def test_javascript_draws_the_same_numbers_as_python(layout):
    body = "return course.flowDrawing.draw(input.n, input.layout, input.colours)"
    given = {"n": measure()._asdict(), "layout": layout._asdict(), "colours": COLOURS}
    number = re.compile(r"\d+\.?\d*")
    for ours, theirs in zip(in_node(body, **given), draw(measure(), layout), strict=True):
        assert number.sub("#", ours) == number.sub("#", theirs)
        numbers = [[float(x) for x in number.findall(shapes)] for shapes in (ours, theirs)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.11), "a tie may be rounded otherwise"


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_what_the_visitor_types_goes_through_it_and_each_stage_waits_for_him(visit, width):
    text = "My dear Anna, it’s & you"
    with visit("book/welcome", width=width) as page:
        page.locator(f"{FIGURE}{LIVE}").wait_for()
        page.locator(".sx-scene").wait_for()
        assert PROMPT in told(page) and faint(page) == []
        fill(page, Prompt=text)
        page.locator(f"{FIGURE} .flow-now", has_text="it's & you").wait_for()
        gpt, tokenizer = shipped()
        with torch.no_grad():
            ids = tokenizer.encode(text.replace("’", "'"))
            values, best = gpt(torch.tensor([ids]))[0, -1].softmax(dim=-1).topk(5)
        shown = page.locator(f"{FIGURE} svg:visible .flow-drawn text").all_text_contents()
        drawn = len(PROMPT)
        assert [int(x) for x in shown[1 : 2 * drawn : 2]] == ids[-drawn:]
        letters = [
            tokenizer.decode([i]).replace(" ", "␣").replace("\n", "⏎") for i in best.tolist()
        ]
        assert shown[-10::2] == letters
        chances = [float(share.split()[0]) for share in shown[-9::2]]
        # the page's model is rounded to eight bits
        assert chances == pytest.approx([100 * p for p in values.tolist()], abs=2)
        places = page.evaluate(PLACES)
        for place, name in enumerate(NAMES):
            button(page, "Next").click()
            page.wait_for_timeout(100)
            assert told(page).startswith(name) and faint(page) == NAMES[place + 1 :]
            assert page.evaluate(PLACES) == places, "nothing slides"
            now = page.locator(f"{FIGURE} svg:visible .flow-here .flow-band").bounding_box()
            foot = page.locator(f"{FIGURE} .flow-told").bounding_box()["y"]
            assert now["y"] > 0 and now["y"] + now["height"] < foot + 2, "it is seen"
        assert f"the last {drawn} are drawn" in page.locator(f"{FIGURE} li").first.text_content()
        button(page, "Next").click()
        assert "it's & you" in told(page) and faint(page) == [], "at the end all of it is seen"
        fill(page, Prompt="O")  # the shortest way
        page.locator(f"{FIGURE} .flow-now", has_text="“O”").wait_for()


def test_a_part_whose_exercise_is_written_is_the_readers(visit):
    for name, exercise in EXERCISES.items():
        assert any(exercise in CHAPTERS[number].exercises for number in (*STAGES[name], "10"))
    keep = "x => localStorage.setItem('course-progress', course.progress.toFile(x))"
    marks = f"{FIGURE} svg:visible .flow-mark:visible"
    with visit("book/welcome") as page:
        page.locator(f"{FIGURE}{LIVE}").wait_for()
        assert page.locator(marks).count() == 0
        page.evaluate(keep, [EXERCISES["Heads"], EXERCISES["Vectors"] + " worked out"])
        page.evaluate("dispatchEvent(new Event('course-progress'))")
        assert page.locator(marks).count() == 1, "written, not worked out"
        for _ in range(3):
            button(page, "Next").click()
        assert told(page).endswith("Yours: you have written it in exercise 6.3.")


def test_keys_step_and_without_a_script_or_on_paper_all_of_it_is_seen(visit):
    with visit("book/welcome") as page:
        flow = page.locator(f"{FIGURE}{LIVE} .flow")
        flow.scroll_into_view_if_needed()
        steps = {"ArrowRight": 0, "End": 4, "ArrowLeft": 3, "Home": 0}
        for key, place in steps.items():
            flow.press(key)
            assert told(page).startswith(NAMES[place]), key
            assert faint(page) == NAMES[place + 1 :], key
        page.emulate_media(media="print")
        assert faint(page) == []
        assert page.locator(f"{FIGURE} li:visible").count() == len(NAMES)
    with visit("book/welcome", javascript=False) as page:
        assert faint(page) == []
        assert page.locator(f"{FIGURE} li:visible").count() == len(NAMES)
