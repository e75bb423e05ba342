"""Drawings: letters that can be read on a phone, the page's own colours, a description in words."""

import xml.etree.ElementTree as ET

import pytest

from scratchformer_course.kit.canvas import COLOURS, SMALLEST_LETTERS, WIDEST, Drawing

WORDS = "Two boxes, and an arrow that leads from the first one to the second."


def elements(drawing, kind):
    root = ET.fromstring(drawing.svg(WORDS))
    return list(root.iter(f"{{http://www.w3.org/2000/svg}}{kind}"))


def test_a_drawing_is_described_and_fits_its_column():
    drawing = Drawing(300, 100)
    drawing.box(10, 10, 80, 30, "a <b>\nc", "query")
    root = ET.fromstring(drawing.svg(f"  {WORDS}\n\n  It is read 'aloud' & \"in full\".  "))
    assert root.get("role") == "img" and root.get("viewBox") == "0 0 300 100"
    assert root.get("aria-label") == f"{WORDS} It is read 'aloud' & \"in full\"."
    assert "max-width: 405px" in root.get("style") and "width: 100%" in root.get("style")
    assert [text.text for text in elements(drawing, "text")] == ["a <b>", "c"]
    assert drawing.show(WORDS).data == drawing.svg(WORDS)


def test_every_colour_follows_the_page():
    drawing = Drawing(300, 100)
    for name in COLOURS:
        drawing.text(10, 10, "x", name)
    fills = [text.get("fill") for text in elements(drawing, "text")]
    assert fills == list(COLOURS.values()) and len(set(fills)) == len(fills)
    assert all(fill == "currentColor" or fill.startswith("var(--course-") for fill in fills)


@pytest.mark.parametrize("bend", [0, 20, -20])
def test_an_arrow_ends_where_it_is_said_to(bend):
    drawing = Drawing(300, 100)
    drawing.arrow(10, 50, 200, 50, bend=bend)
    tip = elements(drawing, "polygon")[0].get("points").split()[0]
    assert [float(number) for number in tip.split(",")] == [200, 50]
    words = elements(drawing, "path")[0].get("d").split()
    x, y = (float(word.strip("QM")) for word in words[2:4])
    assert x == pytest.approx(105) and y == pytest.approx(50 - 2 * bend)  # left of its way is up


def test_a_grid_is_as_dark_as_its_numbers():
    drawing = Drawing(300, 100)
    drawing.grid(10, 20, [[1, 0.5], [0, 0]], cell=30, colour="value")
    cells = elements(drawing, "rect")
    assert [float(cell.get("fill-opacity")) for cell in cells] == [0.85, 0.425, 0, 0]
    assert [(float(c.get("x")), float(c.get("y"))) for c in cells[1:3]] == [(40, 20), (10, 50)]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda d: Drawing(WIDEST + 1, 100), "at most 480"),
        (lambda d: d.text(0, 0, "x", size=SMALLEST_LETTERS - 1), "at least 13"),
        (lambda d: d.text(0, 0, "x", "red"), "no colour called 'red'"),
        (lambda d: d.box(0, 0, 9, 9, colour="red"), "no colour called 'red'"),
        (lambda d: d.svg("A picture."), "too short"),
    ],
)
def test_what_could_not_be_read_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong(Drawing(300, 100))
