"""A prompt on its way: its numbers are the model's, it moves once, keys step it, nothing slides."""

import pytest
import torch

from scratchformer_course.kit import chapter_facts
from scratchformer_course.pages.flow import STAGES
from scratchformer_course.pages.flow_numbers import PROMPT, measure, on_the_one_before
from tests.site.browsing import HEIGHT, LIVE, PHONE, parsed
from tests.site.conftest import ROOT
from tests.site.figures import shipped

CHAPTERS = chapter_facts.chapters(ROOT)
FIGURE = ".live-figure[data-figure=flow]"
NAMES = list(STAGES)
# what could slide while it moves: the figure's parts, and what is below it
PLACES = f"""() => JSON.stringify([scrollY, ...[...document.querySelectorAll(
  '{FIGURE} :is(svg, .flow-name, button, .flow-said), #where-to-start')].map(e => {{
    const {{x, y, width, height}} = e.getBoundingClientRect();
    return [x, y, width, height];
  }})])"""


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


@pytest.mark.parametrize("width", [1280, PHONE])
def test_it_moves_through_all_stages_once_when_it_is_seen_and_nothing_slides(browser, site, width):
    context = browser.new_context(viewport={"width": width, "height": HEIGHT})
    page = context.new_page()
    page.clock.install()
    page.goto((site / "book" / "welcome.html").as_uri())
    page.locator(f"{FIGURE}{LIVE}").wait_for()
    page.clock.run_for(5_000)
    assert told(page).startswith(NAMES[-1]) and faint(page) == [], "it waits"
    page.locator(f"{FIGURE} .flow-now").scroll_into_view_if_needed()
    button(page, "Stop").wait_for()
    stages, places = [], set()
    while button(page, "Stop").count():
        page.clock.run_for(700)
        places.add(page.evaluate(PLACES))
        stages.append(told(page).split(".")[0])
        assert len(stages) < 20
    assert list(dict.fromkeys(stages)) == NAMES and len(places) == 1
    page.clock.run_for(10_000)
    assert button(page, "Play again").count() == 1 and faint(page) == []
    page.locator(f"{FIGURE} .flow").press("Space")
    page.clock.run_for(2_000)
    assert told(page).startswith(NAMES[1]), "the space bar plays it again"
    page.keyboard.press("ArrowLeft")
    page.clock.run_for(10_000)
    assert told(page).startswith(NAMES[0]) and faint(page) == NAMES[1:], "a key stops it"
    context.close()


def test_who_wants_no_motion_no_script_or_paper_sees_all_of_it_and_keys_step(visit):
    with visit("book/welcome") as page:  # which asks for reduced motion
        flow = page.locator(f"{FIGURE}{LIVE} .flow")
        flow.scroll_into_view_if_needed()
        before = page.evaluate(PLACES)
        page.wait_for_timeout(500)
        assert faint(page) == [] and not button(page, "Play again").count()
        steps = {"ArrowLeft": 3, "Home": 0, "ArrowRight": 1, "End": 4, "Space": 4}
        for key, place in steps.items():
            flow.press(key)
            assert told(page).startswith(NAMES[place]), key
            assert faint(page) == NAMES[place + 1 :], key
        button(page, "The next stage").click()
        assert told(page).startswith(NAMES[0]), "after the last one comes the first"
        assert faint(page) == NAMES[1:] and page.evaluate(PLACES) == before
        page.emulate_media(media="print")
        assert faint(page) == []
        assert page.locator(f"{FIGURE} li:visible").count() == len(NAMES)
    with visit("book/welcome", javascript=False) as page:
        assert faint(page) == []
        assert page.locator(f"{FIGURE} li:visible").count() == len(NAMES)
