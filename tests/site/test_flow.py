"""A prompt on its way: its numbers are the model's, it moves once, keys step it, nothing slides."""

from pathlib import Path

import pytest
import torch

from scratchformer_course.kit import facts
from scratchformer_course.pages.flow import STAGES
from scratchformer_course.pages.flow_numbers import PROMPT, measure, on_the_one_before
from tests.site.browsing import ARTICLE, HEIGHT, LIVE, PHONE, TOO_SMALL, opened, parsed
from tests.site.figures import shipped

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = facts.chapters(ROOT)
FIGURE = ".live-figure[data-figure=flow]"
NAMES = list(STAGES)
# what could slide while it moves: the figure's parts, and what is below it
PLACES = f"""() => JSON.stringify([scrollY, ...[...document.querySelectorAll(
  '{FIGURE} :is(svg, .flow-name, button, .flow-said), #where-to-start')].map(e => {{
    const {{x, y, width, height}} = e.getBoundingClientRect();
    return [x, y, width, height];
  }})])"""


@pytest.fixture
def address(site):
    return (site / "book" / "welcome.html").as_uri()


@pytest.fixture
def figure(site):
    return parsed(site / "book" / "welcome.html").select_one(FIGURE)


def told(page):
    return page.locator(f"{FIGURE} .flow-now").inner_text()


def button(page, name):
    return page.locator(FIGURE).get_by_role("button", name=name)


def faint(page):
    """The stages that the flow has not reached."""
    drawn = page.locator(f"{FIGURE} svg:visible .flow-drawn")
    shades = drawn.evaluate_all("all => all.map(e => Number(getComputedStyle(e).opacity))")
    return [name for name, shade in zip(NAMES, shades, strict=True) if shade < 0.5]


# ---- what is drawn ------------------------------------------------------------------------------


def test_the_numbers_on_the_page_are_the_models(figure):
    model, tokenizer = shipped()
    ids = tokenizer.encode(PROMPT)
    with torch.no_grad():
        x = model.wte.weight[ids] + model.wpe.weight[: len(ids)]
        assert measure().vectors == x[:, :8].tolist()
        guesses = []
        for block in model.h:
            x = block(x[None], is_causal=True)[0]
            guesses.append(model.lm_head(model.ln_f(x[-1])).argmax().item())
        values, best = model(torch.tensor([ids]))[0, -1].softmax(dim=-1).topk(5)
    next_ones = best.tolist()
    chances = [f"{100 * value:.1f} %" for value in values.tolist()]

    def shown(characters):
        return [tokenizer.decode([i]).replace(" ", "␣") for i in characters]

    for drawing in figure.select("svg"):
        texts = [text.get_text() for text in drawing.select(".flow-drawn text")]
        count = 2 * len(ids)
        assert texts[0:count:2] == shown(ids) and texts[1:count:2] == [str(i) for i in ids]
        assert texts[count : count + 1 + len(guesses)] == shown([next_ones[0], *guesses])
        assert texts[count + 1 + len(guesses) :: 2] == shown(next_ones)
        assert texts[count + 2 + len(guesses) :: 2] == chances
    before, wide = (torch.tensor(head) for head in measure().heads)
    assert on_the_one_before(before) > 0.5 and wide[-1].min() > 0.03, "as the sentence has it"


def test_each_stage_and_each_number_opens_its_chapter(figure):
    expected = [f"../{CHAPTERS[n].docname}.html" for numbers in STAGES.values() for n in numbers]
    for drawing in figure.select("svg"):
        assert [link["href"] for link in drawing.select("a")] == expected
        for band in drawing.select(".flow-band"):
            name = band.find_parent("a").select_one(".flow-name").get_text()
            assert band.find_parent("a")["href"][13:15] == STAGES[name][0]


def test_it_is_whole_without_a_script_and_on_paper(browser, address):
    with opened(browser, address, javascript=False) as page:
        assert faint(page) == []
        assert page.locator(f"{FIGURE} li:visible").count() == len(NAMES)
        figure = page.locator(FIGURE).bounding_box()
        contents = page.locator(".bd-sidebar-secondary").bounding_box()
        assert figure["x"] + figure["width"] <= contents["x"], "which no script folds"
    with opened(browser, address) as page:
        page.locator(f"{FIGURE}{LIVE} .flow").press("Home")
        assert faint(page) == NAMES[1:]
        page.emulate_media(media="print")
        assert faint(page) == []
        assert page.locator(f"{FIGURE} li:visible").count() == len(NAMES)
        assert page.locator(f"{FIGURE} svg:visible .flow-next").is_visible()


# ---- what moves ---------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1280, PHONE])
def test_it_moves_through_all_stages_once_when_it_is_seen_and_nothing_slides(
    browser, address, width
):
    size = {"width": width, "height": HEIGHT}
    context = browser.new_context(viewport=size)
    page = context.new_page()
    page.clock.install()
    page.goto(address)
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


def test_keys_and_buttons_step_through_it_and_who_wants_no_motion_sees_all_of_it(browser, address):
    with opened(browser, address) as page:
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
        here = page.locator(f"{FIGURE} svg:visible .flow-here")
        assert here.get_attribute("aria-label").startswith(NAMES[0])
        assert page.evaluate(PLACES) == before


# ---- where it is --------------------------------------------------------------------------------


def test_it_is_as_wide_as_the_window_allows_and_beside_no_side_bar(browser, address):
    with opened(browser, address) as page:
        page.locator(f"{FIGURE}{LIVE}").wait_for()
        for width in (PHONE, 800, 1000, 1200, 1280, 1600, 2560):
            page.set_viewport_size({"width": width, "height": HEIGHT})
            page.wait_for_timeout(400)  # the theme moves its side bars slowly
            assert page.evaluate(TOO_SMALL, FIGURE) == [], width
            figure = page.locator(FIGURE).bounding_box()
            text = page.locator(f"{ARTICLE} .lead").bounding_box()
            bar = page.locator(".bd-sidebar-primary").bounding_box()
            right = figure["x"] + figure["width"]
            assert figure["x"] == pytest.approx(text["x"], abs=1) and right < width
            if width >= 1200:
                assert figure["x"] >= bar["x"] + bar["width"]
                assert right > min(width - 90, figure["x"] + 1399)
                assert page.locator(f"{FIGURE} .flow-wide").is_visible()
        page.set_viewport_size({"width": 1280, "height": HEIGHT})
        page.locator(f"{FIGURE} svg:visible").scroll_into_view_if_needed()
        contents = page.locator(".bd-sidebar-secondary")
        page.wait_for_function("document.querySelector('.bd-sidebar-secondary.hide')")
        page.wait_for_timeout(600)  # the theme folds it slowly
        assert contents.bounding_box()["height"] <= 60, "the side bar of contents is folded"
