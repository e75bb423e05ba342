"""The costs of a GPT in a browser: sliders, keys, readers, phones; the package's numbers."""

import pytest

from scratchformer import scaling
from scratchformer.models import GPTConfig
from tests.site.figures import fill, press

FIGURE = "costs"
XL = GPTConfig(50_257, 1024, 1600, n_heads=25, n_layers=48)


def column(page, card, place=0):
    """A column of a card's table, by the names of its rows."""
    rows = page.get_by_role("table", name=card).locator("tbody tr")
    return {
        rows.nth(i).locator("th").inner_text(): rows.nth(i).locator("td").nth(place).inner_text()
        for i in range(rows.count())
    }


def gigabytes(text):
    number, unit = text.replace(",", "").split()
    return float(number) * {"MB": 1e-3, "GB": 1, "TB": 1e3}[unit]


def held(page):
    return sum(map(gigabytes, column(page, "Memory, worst moment").values()))


def limits(page):
    rows = page.locator(".sx-devices tbody tr")
    return [rows.nth(i).locator("td").last.inner_text() for i in range(rows.count())]


def rule(config, batch, numbers=4, mixed=False):
    """Gigabytes at the worst moment, by the chapter's rules."""
    L, C, V = config.n_layers, config.d_model, config.vocab_size
    model = 4 * numbers * sum(scaling.count_parameters(config).values())
    token = 4 * ((16 * L + 2) * C + 3 * V)
    if mixed:
        model += 2 * (12 * L * C**2 + V * C)
        token = (36 * L + 6) * C + 12 * V
    return (model + batch * config.context_length * token) / 1e9


def test_the_stored_figure_shows_the_packages_numbers_of_gpt2_xl(page):
    counts = column(page, "Parameters")
    assert [int(n.replace(",", "")) for n in counts.values()] == list(
        scaling.count_parameters(XL).values()
    )
    assert "1,557,611,200" in page.locator(".sx-cards").inner_text()
    products = scaling.forward_flops(XL)
    units = {"million": 1e6, "billion": 1e9}
    shown = [text.split() for text in column(page, "Operations for a token").values()]
    assert [float(n) * units[unit] for n, unit in shown] == pytest.approx(
        [3 * products[name] / 1024 for name in products], rel=5e-3
    )
    assert held(page) == pytest.approx(rule(XL, 1), rel=5e-3)


@pytest.mark.parametrize(
    ("buttons", "numbers", "mixed"),
    [(["SGD, momentum"], 3, False), (["SGD"], 2, False), (["AdamW", "mixed precision"], 4, True)],
)
def test_the_memory_of_each_optimizer_and_precision_follows_the_rule(page, buttons, numbers, mixed):
    press(page, *buttons)
    for name in buttons:
        assert page.locator(".sx-side [aria-pressed=true]", has_text=name).count() == 1
    expected = rule(XL, 1, numbers, mixed)
    assert held(page) == pytest.approx(expected, rel=5e-3)
    assert (limits(page)[1] != "0 texts") is (expected < 24)


def test_sliders_and_presets_follow_each_other(page):
    press(page, "GPT-2 small")
    small = GPTConfig(50_257, 1024, 768, n_heads=12, n_layers=12)
    fits = [
        int(n * 1e9 - 1e9 * rule(small, 0)) // int(1e9 * rule(small, 1, numbers=0))
        for n in (8, 24, 80)
    ]
    assert limits(page) == [f"{n} texts" for n in fits]
    layers = page.get_by_label("Layers, L")
    assert layers.get_attribute("aria-valuetext") == "12"
    layers.press("ArrowRight")
    assert layers.get_attribute("aria-valuetext") == "16"
    deeper = GPTConfig(50_257, 1024, 768, n_heads=12, n_layers=16)
    n = sum(scaling.count_parameters(deeper).values())
    assert f"{n:,} parameters" in page.locator(".sx-status").inner_text()
    assert page.get_by_role("group", name="Model").locator("[aria-pressed=true]").count() == 0
    layers.press("ArrowLeft")
    texts = page.get_by_label("Texts")
    for count, least in ((fits[1], "24 GB"), (fits[1] + 1, "80 GB")):
        fill(page, Texts=count - 1)  # the places of its slider begin with 1
        assert texts.get_attribute("aria-valuetext") == str(count)
        assert least in page.locator(".sx-status").inner_text()
