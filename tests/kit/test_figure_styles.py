"""All styles of a page meet all figures of it: those of a figure name the figure."""

import re

import pytest

from scratchformer_course.kit.figure.live_figure import PACKAGE

STYLES = sorted(PACKAGE.glob("ch*/live.css"))


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.parent.name)
def test_a_figures_rules_are_for_that_figure_alone(path):
    script = path.with_suffix(".js").read_text(encoding="utf-8")
    figures = set(re.findall(r"figures\.(\w+)", script))
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    while (outer := re.sub(r"(\{[^{}]*)\{[^{}]*\}", r"\1", text)) != text:
        text = outer
    for head in re.findall(r"([^{}]+)\{", text):
        assert head.strip().startswith((".live-figure[", ".live-figure:is(")), head
        names = set(re.findall(r'\[data-figure="(\w+)"\]', head))
        assert names and names <= figures, head
