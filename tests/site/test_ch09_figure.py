"""The block with switches in a browser: every number it shows is PyTorch's."""

import torch

from scratchformer_course.ch09_block.live import CHANNELS, WORDS, reading_block, sentence
from tests.chapters.test_ch09_live import PARTS, by_pytorch
from tests.site.browsing import number, tables
from tests.site.figures import fill, press, status

FIGURE = "block_switches"
ALL_ON = dict.fromkeys(PARTS, True) | {"post": False}


def check(page, count=1, at=1, **changed):
    """All tables, and the line below the switches."""
    on = ALL_ON | changed
    stations, weights = by_pytorch(reading_block(), sentence(), on, at)
    expected = ([weights[0, 0]] if on["attention"] else []) + [each.T for each in stations[-1]]
    for table, numbers in zip(tables(page, ".sx-blk table"), expected, strict=True):
        shown = torch.tensor([[number(text) for text in row[1:]] for row in table[1:]]).double()
        assert ((shown - numbers).abs() <= 0.0051 + 0.006 * numbers.abs()).all()
    end = by_pytorch(reading_block(), sentence(), on, count)[0][-1, 2]
    knows = [word for word, n in zip(WORDS, end[:, CHANNELS.index("hush")], strict=True) if n > 0.5]
    said = status(page)
    assert f"above 0.5 at {', '.join(knows) or 'no word'};" in said
    return said


def test_switches_orders_and_stacked_blocks_show_pytorchs_numbers(page):
    assert "at king, sleeps" in check(page)
    names = ("Attention", "Feed-forward network", "Residual stream", "Norm")
    for part, name in zip(PARTS, names, strict=False):
        page.get_by_role("switch", name=name, exact=True).press("Space")
        check(page, **{part: False})
        page.get_by_role("switch", name=name, exact=True).press("Space")
    press(page, "post-norm")
    check(page, post=True)
    press(page, "pre-norm", "12 blocks")
    for at in (1, 12):
        fill(page, Look_at_block=at)
        check(page, 12, at)
    norm = page.get_by_role("switch", name="Norm", exact=True)
    norm.click()
    assert page.get_by_role("button", name="post-norm").is_disabled()
    assert "29,433" in check(page, 12, 12, norm=False)
    norm.click()
    press(page, "post-norm")
    assert "words 0 apart" in check(page, 12, 12, post=True)
