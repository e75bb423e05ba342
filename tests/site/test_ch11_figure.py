"""The training time machine in a real browser: at each step, what is shown is PyTorch's."""

import re

import pytest
import torch
import torch.nn.functional as F

from scratchformer.attention import recorded_attention
from scratchformer_course.ch11_training.stored_steps import load_checkpoints
from tests.site.browsing import number
from tests.site.browsing import weights as shades
from tests.site.figures import fill, press, shipped, stored

FIGURE = "time_machine"
SETTINGS = stored("11", FIGURE).settings
STEPS, LOSSES = SETTINGS["steps"], SETTINGS["losses"]
LAST = len(STEPS) - 1


def status(page):
    return page.locator(".sx-time > .sx-status").inner_text()


def check(page, place):
    """Attention, losses and the line below are those of this checkpoint."""
    _, model = load_checkpoints()[place]
    _, tok = shipped()
    ids, line = (torch.tensor(tok.encode(SETTINGS[text])) for text in ("prompt", "line"))
    with torch.no_grad(), recorded_attention(model) as weights:
        model(ids[None])
    with torch.no_grad():
        nats = F.cross_entropy(model(line[None])[0, :-1], line[1:], reduction="none")
    press(page, "Block 2, head 4")
    expected = weights["h.1.attn"][0, 3]
    shown = torch.tensor(shades(page, ".sx-grid tbody td")).view_as(expected)
    assert (shown - expected).abs().max() < 2e-4
    cells = page.locator(".sx-main details tbody td").all_text_contents()
    assert [number(text) for text in cells] == pytest.approx(nats.tolist(), abs=1e-3)
    assert f" {LOSSES[place]:.2f} nats" in status(page)
    assert f"{STEPS[place]:,} step" in status(page)
    passed = [name for name, counted in SETTINGS["counted"] if LOSSES[place] < counted]
    assert [name for name, _ in SETTINGS["counted"] if name in status(page)] == passed


def test_every_step_shows_pytorchs_numbers(page):
    for place in (0, 9, LAST):
        fill(page, Steps_of_training=place)
        check(page, place)


def test_what_is_typed_is_read_at_every_step(page):
    field, said = page.get_by_label("Prompt"), page.locator(".sx-prompt .sx-status")
    field.fill("To be")
    fill(page, Steps_of_training=12)
    said.filter(has_text=re.compile(r"^5 tokens\.$")).wait_for()
    assert page.locator(".sx-grid thead th").all_inner_texts()[-5:] == list("To␣be")
    written = page.locator(".sx-text").text_content()
    assert written.startswith("To be") and len(written) > 50


def test_play_takes_one_step_where_nothing_may_move_and_all_where_it_may(page):
    slider, play = page.get_by_role("slider"), page.locator(".sx-slider button")

    def place_after(milliseconds):
        page.clock.run_for(milliseconds)
        return int(slider.input_value())

    page.clock.install()
    assert place_after(60_000) == 0, "nothing moves until it is asked to"
    play.click()
    assert place_after(60_000) == 1
    page.emulate_media(reduced_motion="no-preference")
    page.get_by_role("button", name="Play", exact=True).wait_for()
    play.click()
    assert 1 < place_after(3_000) < LAST
    fill(page, Steps_of_training=11)
    assert place_after(60_000) == 11
    play.click()
    assert place_after(60_000) == LAST
