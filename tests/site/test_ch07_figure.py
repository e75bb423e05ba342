"""Heads taken out in a browser: the losses are PyTorch's, with the rows of W_o set to 0."""

import copy

import pytest
import torch
import torch.nn.functional as F

from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from tests.site.browsing import PHONE, number
from tests.site.figures import NAME, press

FIGURE = "heads_out"


@torch.no_grad()
def loss(text, *out):
    """Nats a character without these heads, which are counted from 1."""
    model, tok = copy.deepcopy(GPT.pretrained(NAME)), CharTokenizer.pretrained(NAME)
    for block, head in out:
        model.h[block - 1].attn.c_proj.weight[:, 32 * (head - 1) : 32 * head] = 0
    ids = torch.tensor(tok.encode(text))
    return F.cross_entropy(model(ids[None])[0, :-1], ids[1:]).item()


def shown(page):
    """The loss of the model, of the changed one, and their difference."""
    cells = page.locator(".sx-losses tbody td").all_inner_texts()
    return [number(text) for text in cells]


def check(page, *out):
    text = page.get_by_label("Prompt").input_value()
    was, now = loss(text), loss(text, *out)
    assert shown(page) == pytest.approx([was, now, now - was], abs=2e-3)


def test_the_losses_without_heads_are_pytorchs(page):
    check(page)
    press(page, "Switch off head 3 of block 1")
    check(page, (1, 3))
    press(page, "Switch off head 1 of block 1", "Switch off head 2 of block 4")
    check(page, (1, 3), (1, 1), (4, 2))
    press(page, "Switch off head 3 of block 1")
    check(page, (1, 1), (4, 2))
    press(page, "All on again")
    check(page)


def test_a_line_of_the_readers_own_is_measured_and_continued(page):
    press(page, "Switch off head 3 of block 1")
    line = "JULIET:\nO Romeo, Romeo"
    page.get_by_label("Prompt").fill(line)
    page.get_by_text("22 tokens.").wait_for()
    check(page, (1, 3))
    page.get_by_text("Both: temperature").wait_for(timeout=60_000)
    before, after = page.locator(".sx-text").all_text_contents()
    assert before.startswith(line) and after.startswith(line) and before != after
    assert len(before) == len(after) == len(line) + 50


def test_the_other_parts_wait_in_a_fold(page):
    box = page.get_by_label("the division by √D")
    assert not box.is_visible()
    page.get_by_text("Other parts").click()
    box.check()
    assert shown(page)[2] > 0.05


def test_a_finger_takes_a_head_out(browser, saved):
    context = browser.new_context(viewport={"width": PHONE, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(saved(FIGURE))
    page.locator(LIVE).wait_for()
    page.get_by_role("button", name="Switch off head 3 of block 1", exact=True).tap()
    check(page, (1, 3))
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    context.close()
