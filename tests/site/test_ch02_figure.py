"""The map of words in a browser: by mouse, by touch, by keys and by typing."""

import pytest

from scratchformer_course.ch02_embeddings.live import load_map
from tests.site.browsing import number, rows
from tests.site.figures import fill, press

FIGURE = "word_map"
MAP = load_map()


def check(page, word):
    """The list, the status and the map show this word and its nearest."""
    expected = MAP.nearest(word, 8)
    names = page.locator(".sx-list button").all_text_contents()
    assert names == [name for name, _ in expected]
    cosines = page.locator(".sx-list td:nth-child(2)").all_text_contents()
    assert [number(c) for c in cosines] == pytest.approx([c for _, c in expected], abs=6e-3)
    assert f"Chosen: {word}." in page.locator("svg").get_attribute("aria-label")
    assert page.locator("text.sx-chosen").text_content() == word
    assert page.get_by_label("Word", exact=True).input_value() == word


def test_a_typed_word_is_chosen_and_a_neighbour_can_be_pressed(page):
    check(page, "tears")
    fill(page, Word="Sword")
    page.get_by_label("Word", exact=True).press("Enter")
    assert page.locator(".sx-list button").first.text_content() == MAP.nearest("sword", 1)[0][0]
    neighbour = page.locator(".sx-list button").nth(2)
    name = neighbour.text_content()
    neighbour.focus()
    page.keyboard.press("Enter")
    check(page, name)
    assert page.evaluate("document.activeElement.tagName") == "BUTTON"


def test_a_word_that_is_not_there_is_told_and_nothing_moves(page):
    fill(page, Word="kingfisher")
    page.get_by_label("Word", exact=True).press("Enter")
    said = page.locator(".sx-nearest > .sx-status").inner_text()
    assert "“kingfisher” is not among the 600 words" in said and "king" in said
    assert page.locator("text.sx-chosen").text_content() == "tears"


@pytest.mark.parametrize("by", ["mouse", "touch"])
def test_a_word_on_the_map_is_chosen_by_a_press(page, by):
    label = page.locator("text.sx-far").nth(5)
    name = label.text_content()
    label.scroll_into_view_if_needed()
    box = label.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    if by == "mouse":
        page.mouse.click(x, y)
    else:
        devtools = page.context.new_cdp_session(page)
        for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
            devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.wait_for_function(
            "name => document.querySelector('text.sx-chosen').textContent === name", arg=name
        )
    check(page, name)


def test_arrow_keys_walk_over_the_map(page):
    page.locator(".sx-stage").focus()
    before = MAP.places[MAP.words.index("tears")]
    page.keyboard.press("ArrowLeft")
    name = page.locator("text.sx-chosen").text_content()
    check(page, name)
    assert MAP.places[MAP.words.index(name)][0] <= before[0] and name != "tears"


def test_an_analogy_is_answered_with_the_place_of_the_expected_word(page):
    unit = MAP.unit.double()
    a, b, c, d = (MAP.words.index(word) for word in ("brother", "sister", "father", "mother"))
    similar = unit @ (unit[b] - unit[a] + unit[c])
    similar[[a, b, c]] = -9
    place = 1 + int((similar > similar[d]).sum())
    fill(page, First_word="brother", Second_word="sister", Third_word="father")
    told = page.locator(".sx-verdict").inner_text()
    assert f"Expected: mother, which comes at place {place} of 597" in told
    assert "Of all 240 questions of this kind (man : woman)" in told
    table = rows(page, ".sx-analogy table")
    assert table[1][1].removesuffix(" ✓") == MAP.words[int(similar.argmax())]
    fill(page, Third_word="sword")
    assert "Nobody has written down" in page.locator(".sx-analogy").inner_text()
    press(page, "Another question")
    assert "Expected:" in page.locator(".sx-verdict").inner_text()
