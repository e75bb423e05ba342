"""The costs of a GPT in a browser: sliders, keys, readers, phones; the package's numbers."""

import pytest

from scratchformer import scaling
from scratchformer.models import GPTConfig
from tests.site.browsing import rows
from tests.site.figures import fill, press, status

FIGURE = "costs"
XL = GPTConfig(50_257, 1024, 1600, n_heads=25, n_layers=48)
UNITS = {"MB": 1e-3, "GB": 1, "TB": 1e3, "million": 1e6, "billion": 1e9}


def column(page, card):
    """The numbers of a card's table, in gigabytes if they are memory."""
    cells = page.get_by_role("table", name=card).locator("tbody tr td:nth-child(2)")
    parts = [text.replace(",", "").split() for text in cells.all_inner_texts()]
    return [float(number) * (UNITS[unit[0]] if unit else 1) for number, *unit in parts]


def limits(page):
    return [row[-1] for row in rows(page, ".sx-devices")[-3:]]


def rule(config, batch, numbers=4, mixed=False):
    """Gigabytes at the worst moment, by the chapter's rules."""
    L, C, V = config.n_layers, config.d_model, config.vocab_size
    model = 4 * numbers * sum(scaling.count_parameters(config).values())
    token = 4 * ((16 * L + 2) * C + 3 * V)
    if mixed:
        model += 2 * (12 * L * C**2 + V * C)
        token = (36 * L + 6) * C + 12 * V
    return (model + batch * config.context_length * token) / 1e9


def test_numbers_are_those_of_the_package_and_of_the_rule_of_memory(page):
    assert column(page, "Parameters") == list(scaling.count_parameters(XL).values())
    products = [3 * n / 1024 for n in scaling.forward_flops(XL).values()]
    assert column(page, "Operations for a token") == pytest.approx(products, rel=5e-3)
    for buttons, numbers, mixed in (
        (["AdamW"], 4, False),
        (["SGD"], 2, False),
        (["AdamW", "mixed precision"], 4, True),
    ):
        press(page, *buttons)
        expected = rule(XL, 1, numbers, mixed)
        assert sum(column(page, "Memory, worst moment")) == pytest.approx(expected, rel=5e-3)
        assert (limits(page)[1] != "0 texts") is (expected < 24)


def test_sliders_and_presets_follow_each_other(page):
    press(page, "GPT-2 small")
    small = GPTConfig(50_257, 1024, 768, n_heads=12, n_layers=12)
    fits = int((24e9 - 1e9 * rule(small, 0)) // int(1e9 * rule(small, 1, numbers=0)))
    assert limits(page)[1] == f"{fits} texts"
    for count, least in ((fits, "24 GB"), (fits + 1, "80 GB")):
        fill(page, Texts=count - 1)  # the places of its slider begin with 1
        assert least in status(page)
    page.get_by_label("Layers, L").press("ArrowRight")
    deeper = GPTConfig(50_257, 1024, 768, n_heads=12, n_layers=16)
    assert f"{sum(scaling.count_parameters(deeper).values()):,} parameters" in status(page)
