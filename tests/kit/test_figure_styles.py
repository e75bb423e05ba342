"""All styles of a page meet all figures of it: those of a figure name the figure."""

import re

import pytest

from scratchformer_course.kit.figure.live_figure import PACKAGE

STYLES = sorted(PACKAGE.glob("ch*/live.css"))


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.parent.name)
def test_a_figures_rules_are_for_that_figure_alone(path):
    script = path.with_suffix(".js").read_text(encoding="utf-8")
    figures = [f'.live-figure[data-figure="{x}"]' for x in re.findall(r"figures\.(\w+)", script)]
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    heads = [head.strip() for head in re.findall(r"([^{};]+)\{", text)]
    for head in (head for head in heads if not head.startswith("@")):
        for selector in re.split(r",(?![^()]*\))", head):  # no comma parts them inside ()
            assert selector.strip().split(" ")[0] in figures, selector
