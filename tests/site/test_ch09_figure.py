"""The block with switches in a browser: every number it shows is PyTorch's."""

import itertools

import pytest
import torch
from torch import nn

from scratchformer_course.ch09_block.live import CHANNELS, WORDS, reading_block, sentence
from tests.site.browsing import number
from tests.site.figures import fill, press, status

FIGURE = "block_switches"
NAMES = {
    "attention": "Attention",
    "network": "Feed-forward network",
    "stream": "Residual stream",
    "norm": "Norm",
}
SHOWN = """() => [...document.querySelectorAll(".live-figure .sx-blk table")].map((table) =>
  [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1).map((c) => c.textContent)))"""


@torch.no_grad()
def streams(on, post, count):
    """The stream at three stations of each block, and each block's weights."""
    block, same, x, found = reading_block().double(), nn.Identity(), sentence()[None].double(), []
    for _ in range(count):
        stations, weights = [x[0]], None
        for part, norm in (("attention", block.ln_1), ("network", block.ln_2)):
            before = norm if on["norm"] and not post else same
            after = norm if on["norm"] and post else same
            if on[part] and part == "attention":
                written, weights = block.attn(before(x), need_weights=True)
            elif on[part]:
                written = block.mlp(before(x))
            if on[part]:
                x = after(x + written if on["stream"] else written)
            stations.append(x[0])
        found.append((stations, weights))
    return found


def check(page, on, post=False, count=1, at=1):
    """All tables, and the line below the switches."""
    found = streams(on, post, count)
    stations, weights = found[at - 1]
    expected = ([weights[0, 0]] if weights is not None else []) + [s.T for s in stations]
    tables = page.evaluate(SHOWN)
    assert len(tables) == len(expected)
    for table, numbers in zip(tables, expected, strict=True):
        shown = torch.tensor([[number(text) for text in row] for row in table]).double()
        assert ((shown - numbers).abs() <= 0.0051 + 0.006 * numbers.abs()).all()
    end = found[-1][0][2]
    knows = [word for word, n in zip(WORDS, end[:, CHANNELS.index("hush")], strict=True) if n > 0.5]
    said = status(page)
    assert f"above 0.5 at {', '.join(knows) or 'no word'};" in said
    largest, apart = (said.split(name)[1].split()[0].strip(";") for name in ("number ", "words "))
    assert number(largest) == pytest.approx(end.abs().max().item(), rel=0.005, abs=0.0051)
    assert number(apart) == pytest.approx(torch.pdist(end).min().item(), rel=0.005, abs=0.0051)
    return said


def switch(page, on, *parts):
    for part in parts:
        page.get_by_role("switch", name=NAMES[part], exact=True).click()
        on[part] = not on[part]


def test_every_switch_shows_pytorchs_numbers(page):
    on = dict.fromkeys(NAMES, True)
    check(page, on)
    for part in NAMES:
        switch(page, on, part)
        check(page, on)
        switch(page, on, part)
    for pair in itertools.combinations(NAMES, 2):
        switch(page, on, *pair)
        check(page, on)
        switch(page, on, *pair)
    page.get_by_role("switch", name="Attention").focus()
    for expected in ("at no word", "at king, sleeps"):
        page.keyboard.press("Space")
        on["attention"] = not on["attention"]
        assert expected in check(page, on)
    press(page, "post-norm")
    check(page, on, post=True)


def test_blocks_are_stacked_and_each_can_be_looked_at(page):
    on = dict.fromkeys(NAMES, True)
    slider = page.get_by_role("slider", name="Look at block")
    assert slider.count() == 0, "one block needs none"
    press(page, "2 blocks")
    said = check(page, on, count=2, at=2)
    assert "at the, old, king, sleeps;" in said
    press(page, "12 blocks")
    for at in (1, 7, 12):
        fill(page, Look_at_block=at)
        check(page, on, count=12, at=at)
    switch(page, on, "norm")
    assert page.get_by_role("button", name="post-norm").is_disabled()
    assert "29,433" in check(page, on, count=12, at=12)
    switch(page, on, "norm")
    press(page, "post-norm")
    assert "words 0 apart" in check(page, on, post=True, count=12, at=12)
    press(page, "1 block", "pre-norm")
    check(page, on)
