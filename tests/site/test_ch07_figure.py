"""Heads taken out in a browser: the losses are PyTorch's, with the rows of W_o set to 0."""

import copy

import pytest
import torch
import torch.nn.functional as F

from tests.site.browsing import PHONE, number
from tests.site.figures import press, shipped

FIGURE = "heads_out"


@torch.no_grad()
def loss(text, *out):
    """Nats a character without these heads, which are counted from 1."""
    gpt, tok = shipped()
    model = copy.deepcopy(gpt)
    for block, head in out:
        model.h[block - 1].attn.c_proj.weight[:, 32 * (head - 1) : 32 * head] = 0
    ids = torch.tensor(tok.encode(text))
    return F.cross_entropy(model(ids[None])[0, :-1], ids[1:]).item()


def shown(page):
    """The loss of the model, of the changed one, and their difference."""
    return [number(text) for text in page.locator(".sx-losses tbody td").all_inner_texts()]


def check(page, *out):
    text = page.get_by_label("Prompt").input_value()
    was, now = loss(text), loss(text, *out)
    assert shown(page) == pytest.approx([was, now, now - was], abs=2e-3)


def test_the_losses_without_heads_are_pytorchs(page):
    check(page)
    press(page, "Switch off head 3 of block 1", "Switch off head 2 of block 4")
    check(page, (1, 3), (4, 2))
    press(page, "All on again")
    check(page)
    box = page.get_by_label("the division by √D")
    assert not box.is_visible()
    page.get_by_text("Other parts").click()
    box.check()
    assert shown(page)[2] > 0.05


def test_a_line_of_the_readers_own_is_measured_and_continued_on_a_phone(page):
    page.set_viewport_size({"width": PHONE, "height": 844})
    press(page, "Switch off head 3 of block 1")
    line = "JULIET:\nO Romeo, Romeo"
    page.get_by_label("Prompt").fill(line)
    page.get_by_text("22 tokens.").wait_for()
    check(page, (1, 3))
    page.get_by_text("Both: temperature").wait_for(timeout=60_000)
    before, after = page.locator(".sx-text").all_text_contents()
    assert before.startswith(line) and after.startswith(line) and before != after
    assert len(before) == len(after) == len(line) + 50
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
