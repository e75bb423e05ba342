"""Heads taken out in a browser: the losses are PyTorch's, with the rows of W_o set to 0."""

import copy

import pytest
import torch
import torch.nn.functional as F

from tests.site.browsing import number
from tests.site.figures import press, shipped

FIGURE = "heads_out"


@torch.no_grad()
def check(page, *out):
    """The loss of the model, of that without these heads (from 1), and their difference."""
    gpt, tok = shipped()
    changed = copy.deepcopy(gpt)
    for block, head in out:
        changed.h[block - 1].attn.c_proj.weight[:, 32 * (head - 1) : 32 * head] = 0
    ids = torch.tensor(tok.encode(page.get_by_label("Prompt").input_value()))
    was, now = (
        F.cross_entropy(model(ids[None])[0, :-1], ids[1:]).item() for model in (gpt, changed)
    )
    shown = [number(text) for text in page.locator(".sx-losses tbody td").all_inner_texts()]
    assert shown == pytest.approx([was, now, now - was], abs=2e-3)


def test_the_losses_without_heads_are_pytorchs_for_a_line_of_the_readers_own_too(page):
    check(page)
    press(page, "Switch off head 1 of block 1", "Switch off head 2 of block 4")
    line = "JULIET:\nO Romeo, Romeo"
    page.get_by_label("Prompt").fill(line)
    page.get_by_text("22 tokens.").wait_for()
    check(page, (1, 1), (4, 2))
    page.get_by_text("Both: temperature").wait_for(timeout=60_000)
    before, after = page.locator(".sx-text").all_text_contents()
    assert before.startswith(line) and after.startswith(line) and before != after
    press(page, "All on again")
    check(page)
    page.get_by_text("Other parts").click()
    page.get_by_label("the division by √D").check()
    assert number(page.locator(".sx-losses tbody td").last.inner_text()) > 0.05
