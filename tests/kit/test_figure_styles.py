"""All styles of a page meet all figures of it: those of a figure name the figure."""

import re

import pytest

from scratchformer_course.kit.figure.live_figure import PACKAGE

STYLES = sorted(PACKAGE.glob("ch*/live.css"))


def blocks(css: str) -> list[str]:
    """What stands before the outermost braces, in which a figure's rules are nested."""
    text = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    while (inner := re.sub(r"(\{[^{}]*)\{[^{}]*\}", r"\1", text)) != text:
        text = inner
    return [head.strip() for head in re.findall(r"([^{}]+)\{", text)]


def test_blocks_are_those_outside():
    css = "/* a {} */ a:is(c, d) { x: y; e { z: u } @media (w) { e { x: y } f {} } } b {}"
    assert blocks(css) == ["a:is(c, d)", "b"]


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.parent.name)
def test_a_figures_rules_are_for_that_figure_alone(path):
    script = path.with_suffix(".js").read_text(encoding="utf-8")
    figures = set(re.findall(r"figures\.(\w+)", script))
    heads = blocks(path.read_text(encoding="utf-8"))
    assert heads
    for head in heads:
        assert head.startswith(".live-figure") and "," not in re.sub(r"\(.*?\)", "", head), head
        names = set(re.findall(r'\[data-figure="(\w+)"\]', head))
        assert names and names <= figures, head
