"""All styles of a page meet all figures of it: those of a figure name the figure."""

import re

import pytest

from scratchformer_course.kit.figure.live_figure import PACKAGE

STYLES = sorted(PACKAGE.glob("ch*/live.css"))


def selectors(css: str) -> list[str]:
    """The selectors of all rules, also of those in a media query; no comma parts them inside ()."""
    text = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    heads = [head.strip() for head in re.findall(r"([^{};]+)\{", text)]
    return [
        part.strip()
        for head in heads
        if not head.startswith("@")
        for part in re.split(r",(?![^()]*\))", head)
    ]


def test_selectors_are_read_as_a_browser_reads_them():
    css = "/* a {} */ a, b:is(c, d) { x: y; z: u } @media (w) { e { x: y } f {} }"
    assert selectors(css) == ["a", "b:is(c, d)", "e", "f"]


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.parent.name)
def test_a_figures_rules_are_for_that_figure_alone(path):
    script = path.with_suffix(".js").read_text(encoding="utf-8")
    own = {f'.live-figure[data-figure="{name}"]' for name in re.findall(r"figures\.(\w+)", script)}
    found = selectors(path.read_text(encoding="utf-8"))
    assert found
    for selector in found:
        assert selector.split(" ")[0] in own, selector
