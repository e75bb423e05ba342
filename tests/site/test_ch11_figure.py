"""The training time machine in a real browser: at each step, what is shown is PyTorch's."""

import itertools
import re

import pytest
import torch
import torch.nn.functional as F

from scratchformer.attention import recorded_attention
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch11_training.stored_steps import load_checkpoints
from tests.site.browsing import PHONE, WIDE, number, opened
from tests.site.figures import NAME, fill, stored

FIGURE = "time_machine"
SETTINGS = stored("11", FIGURE).settings
PROMPT, LINE = SETTINGS["prompt"], SETTINGS["line"]


@pytest.fixture(scope="module")
def checkpoints():
    return load_checkpoints()


@pytest.fixture(scope="module")
def tok():
    return CharTokenizer.pretrained(NAME)


def choose(page, place):
    fill(page, Steps_of_training=place)


def shown_map(page, T):
    cells = page.locator(".sx-grid tbody td").evaluate_all(
        "cells => cells.map(c => Number(c.style.getPropertyValue('--w')))"
    )
    return torch.tensor(cells).view(T, T)


@pytest.mark.parametrize("place", [0, 9, -1])
def test_attention_text_and_losses_on_screen_are_pytorchs(page, checkpoints, tok, place):
    step, model = checkpoints[place]
    choose(page, checkpoints.index((step, model)))
    ids = torch.tensor([tok.encode(PROMPT)])
    with torch.no_grad(), recorded_attention(model) as weights:
        model(ids)
    for block, head in ((1, 1), (1, 3), (2, 4)):
        page.get_by_role("button", name=f"Block {block}, head {head}", exact=True).click()
        expected = weights[f"h.{block - 1}.attn"][0, head - 1]
        assert (shown_map(page, ids.shape[1]) - expected).abs().max() < 2e-4
    line = torch.tensor(tok.encode(LINE))
    with torch.no_grad():
        nats = F.cross_entropy(model(line[None])[0, :-1], line[1:], reduction="none")
    page.get_by_text("Every character as a table").click()
    rows = page.locator(".sx-main details tbody td").all_inner_texts()
    assert [number(text) for text in rows] == pytest.approx(nats.tolist(), abs=1e-3)
    bars = page.locator(".sx-tokens span").evaluate_all(
        "all => all.map(e => Number(e.style.getPropertyValue('--w')))"
    )
    assert bars == pytest.approx([0, *(nats / 6).clamp(max=1).tolist()], abs=1e-3)
    mean = page.get_by_text("It reads: ").inner_text()
    assert number(mean.split()[2]) == pytest.approx(nats.mean().item(), abs=1e-3)
    at = checkpoints.index((step, model))
    assert f" {SETTINGS['losses'][at]:.2f} nats" in told(page)
    dot = page.locator(".sx-dot").get_attribute("style")
    x = at / (len(checkpoints) - 1)
    assert float(re.search(r"--x: ([\d.]+)", dot)[1]) == pytest.approx(x, abs=1e-3)


def told(page):
    return page.locator(".sx-time > .sx-status").inner_text()


def test_the_page_says_which_counts_the_step_has_passed(page):
    for place, (step, loss) in enumerate(zip(SETTINGS["steps"], SETTINGS["losses"], strict=True)):
        choose(page, place)
        passed = [name for name, counted in SETTINGS["counted"] if loss < counted]
        assert [name for name, _ in SETTINGS["counted"] if name in told(page)] == passed
        assert f"{step:,} step" in told(page)


def test_a_checkpoint_is_unpacked_when_it_is_first_shown(browser, saved):
    count = (
        "window.unpacked = 0; const own = atob; "
        "window.atob = (text) => { window.unpacked++; return own(text); };"
    )
    with opened(browser, saved(FIGURE), script=count) as page:
        page.locator(LIVE).wait_for()
        assert page.evaluate("unpacked") == 1
        for place, number_of in ((3, 2), (4, 3), (3, 3)):
            choose(page, place)
            assert page.evaluate("unpacked") == number_of


def test_what_is_typed_is_read_at_every_step_and_what_is_changed_is_said(page):
    field = page.get_by_label("Prompt")
    status = page.locator(".sx-prompt .sx-status")
    field.fill("To be")
    status.filter(has_text=re.compile(r"^5 tokens\.$")).wait_for()
    choose(page, 12)
    start = page.locator(".sx-text").text_content()
    assert start.startswith("To be") and len(start) > 50
    for typed, read, said in (("naïve", "naive", "ï as i"), ("漢", "⏎", "leaves out 漢")):
        field.fill(typed)
        status.filter(has_text=said).wait_for()
        choose(page, 13)
        assert page.locator(".sx-grid thead th").all_inner_texts()[-len(read) :] == list(read)
    field.fill("abc " * 60)
    status.filter(has_text="the last of 240").wait_for()
    assert page.locator(".sx-grid tbody tr").count() == 26, "what a phone can show"


def overlap(a, b):
    """Whether two boxes share more than a pixel."""
    return all(
        min(a[x] + a[n], b[x] + b[n]) - max(a[x], b[x]) > 1
        for x, n in (("x", "width"), ("y", "height"))
    )


def test_the_names_of_the_counts_do_not_overlap(page):
    for width in (WIDE, PHONE):
        page.set_viewport_size({"width": width, "height": 900})
        boxes = [one.bounding_box() for one in page.locator(".sx-counted-name").all()]
        assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2)), width


def chosen(page):
    return int(page.get_by_role("slider").input_value())


def test_play_goes_through_all_steps_once_and_stops_where_a_reader_takes_over(browser, saved):
    last = len(SETTINGS["steps"]) - 1
    with opened(browser, saved(FIGURE)) as page:
        page.emulate_media(reduced_motion="no-preference")
        page.clock.install()
        page.goto(saved(FIGURE))
        page.clock.run_for(5_000)
        page.locator(LIVE).wait_for()
        assert chosen(page) == 0, "nothing moves until it is asked to"
        play = page.locator(".sx-slider button")
        name = play.inner_text()
        play.click()
        page.clock.run_for(3_000)
        assert 1 < chosen(page) < last and play.inner_text() != name
        play.click()
        paused = chosen(page)
        page.clock.run_for(60_000)
        assert chosen(page) == paused and play.inner_text() == name
        play.click()
        page.clock.run_for(60_000)
        assert chosen(page) == last and play.inner_text() == name
        assert f"{SETTINGS['steps'][last]:,} steps" in told(page)
        play.click()
        page.clock.run_for(1_000)
        choose(page, 11)
        page.clock.run_for(60_000)
        assert chosen(page) == 11 and play.inner_text() == name


def test_where_nothing_may_move_a_press_takes_one_step(browser, saved):
    with opened(browser, saved(FIGURE)) as page:
        page.clock.install()
        page.goto(saved(FIGURE))
        page.clock.run_for(5_000)
        page.locator(LIVE).wait_for()
        for place in (1, 2):
            page.locator(".sx-slider button").click()
            page.clock.run_for(60_000)
            assert chosen(page) == place


def test_numbers_beside_the_curve_stand_where_the_curve_has_them(page):
    box = page.locator(".sx-run").bounding_box()
    low, high = (f([*SETTINGS["losses"], *dict(SETTINGS["counted"]).values()]) for f in (min, max))
    names = page.locator(".sx-across").all()
    assert len(names) > 1
    for name in names:
        at = name.bounding_box()
        middle = (at["y"] + at["height"] / 2 - box["y"]) / box["height"]
        loss = float(name.inner_text())
        assert middle == pytest.approx(0.05 + 0.8 * (high - loss) / (high - low), abs=0.02)
    steps = [int(text.replace(",", "")) for text in page.locator(".sx-down").all_inner_texts()]
    assert steps[0] == SETTINGS["steps"][0] and steps[-1] == SETTINGS["steps"][-1]
