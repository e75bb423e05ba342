"""Drawings: letters that can be read on a phone, the page's own colours, a description in words."""

import xml.etree.ElementTree as ET

import pytest

from scratchformer_course.kit.canvas import COLOURS, SMALLEST_LETTERS, WIDEST, Drawing, drawing

WORDS = "Two boxes, and an arrow that leads from the first one to the second."


def elements(drawing, kind):
    return ET.fromstring(drawing.svg(WORDS)).findall(f".//{{*}}{kind}")


def test_a_drawing_is_described_fits_its_column_and_follows_the_page():
    drawing = Drawing(300, 100)
    drawing.box(10, 10, 80, 30, "a <b>\nc", "query")
    for name in COLOURS:
        drawing.text(10, 10, "x", name)
    root = ET.fromstring(drawing.svg(f"  {WORDS}\n\n  It is read 'aloud' & \"in full\".  "))
    assert root.get("role") == "img" and root.get("viewBox") == "0 0 300 100"
    assert root.get("aria-label") == f"{WORDS} It is read 'aloud' & \"in full\"."
    assert "max-width: 405px" in root.get("style") and "width: 100%" in root.get("style")
    texts = elements(drawing, "text")
    assert [text.text for text in texts[:2]] == ["a <b>", "c"]
    assert [text.get("fill") for text in texts[2:]] == list(COLOURS.values())
    assert drawing.show(WORDS).data == drawing.svg(WORDS)


def test_an_arrow_ends_where_it_is_told_to_and_bends_to_the_left_of_its_way():
    drawing = Drawing(300, 100)
    drawing.arrow(10, 50, 200, 50, bend=20)
    assert elements(drawing, "polygon")[0].get("points").startswith("200,50")
    x, y = (float(word.strip("QM")) for word in elements(drawing, "path")[0].get("d").split()[2:4])
    assert x == pytest.approx(105) and y == pytest.approx(10)


def test_a_grid_is_as_dark_as_its_numbers():
    drawing = Drawing(300, 100)
    drawing.grid(10, 20, [[1, 0.5], [0, 0]], cell=30, colour="value")
    cells = elements(drawing, "rect")
    assert [float(cell.get("fill-opacity")) for cell in cells] == [0.85, 0.425, 0, 0]
    assert [(float(c.get("x")), float(c.get("y"))) for c in cells[1:3]] == [(40, 20), (10, 50)]


def test_a_row_says_where_the_middles_of_its_boxes_are():
    drawing = Drawing(300, 100)
    looks = [("query", 0.2), ("key", 0.4, True)]
    assert drawing.row(10, 20, ("a", 7), (30, 24), looks, 40) == [25, 65]
    boxes = elements(drawing, "rect")
    assert [float(box.get("fill-opacity")) for box in boxes] == [0.2, 0.4]
    assert [box.get("stroke-dasharray") for box in boxes] == [None, "5 4"]
    assert [(text.text, text.get("x")) for text in elements(drawing, "text")] == [
        ("a", "25"),
        ("7", "65"),
    ]


def test_a_flow_has_level_and_upright_arrows_between_its_boxes():
    drawing = Drawing(300, 200)
    boxes = [(0, 0, 40, 20, "a"), (60, 0, 40, 30, "b"), (50, 60, 20, 20, "c"), (0, 60, 40, 20)]
    drawing.flow(boxes)
    tips = [head.get("points").split()[0] for head in elements(drawing, "polygon")]
    assert tips == ["58,10", "65,58", "42,70"]
    assert [path.get("d").split()[0] for path in elements(drawing, "path")] == ["M42", "M65", "M48"]


def test_a_legend_has_its_words_beside_its_boxes():
    drawing = Drawing(300, 100)
    drawing.legend(10, 20, [("query", 0.2, "near"), ("key", 0.4, "far")], down=30)
    assert [box.get("y") for box in elements(drawing, "rect")] == ["20", "50"]
    assert [(t.text, t.get("x"), t.get("y")) for t in elements(drawing, "text")] == [
        ("near", "34", "28"),
        ("far", "34", "58"),
    ]


def test_words_begin_and_end_where_they_are_told_to():
    drawing = Drawing(300, 100)
    drawing.text_from(10, 20, "a")
    drawing.text_to(90, 20, "b")
    assert [text.get("text-anchor") for text in elements(drawing, "text")] == ["start", "end"]


def test_the_docstring_of_a_drawing_describes_it():
    @drawing(300, 100, size=15)
    def two_boxes(d):
        """Two boxes, and an arrow that leads
        from the first one to the second.
        """
        d.flow([(0, 0, 40, 20, "a"), (60, 0, 40, 20, "b")])

    root = ET.fromstring(two_boxes().data)
    assert root.get("aria-label") == WORDS and root.get("viewBox") == "0 0 300 100"
    assert {text.get("font-size") for text in root.findall(".//{*}text")} == {"15"}


@pytest.mark.parametrize(
    ("words", "draw"),
    [
        ("at most 480", lambda drawing: Drawing(WIDEST + 1, 100)),
        ("at least 13", lambda drawing: drawing.text(0, 0, "x", size=SMALLEST_LETTERS - 1)),
        ("no colour called 'red'", lambda drawing: drawing.box(0, 0, 9, 9, colour="red")),
        ("too short", lambda drawing: drawing.svg("A picture.")),
    ],
)
def test_what_could_not_be_read_is_refused(words, draw):
    with pytest.raises(ValueError, match=words):
        draw(Drawing(300, 100))
