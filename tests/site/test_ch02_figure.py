"""The map of words in a browser: by mouse, by keys and by typing."""

import pytest

from scratchformer_course.ch02_embeddings.live import load_map
from tests.site.browsing import number, rows
from tests.site.figures import fill, press

FIGURE = "word_map"
MAP = load_map()


def check(page, word):
    """The list, the field and the map show this word and its nearest."""
    shown = [(row[0], number(row[1])) for row in rows(page, ".sx-list")[1:]]
    assert shown == [(name, pytest.approx(c, abs=6e-3)) for name, c in MAP.nearest(word, 8)]
    assert f"Chosen: {word}." in page.locator("svg").get_attribute("aria-label")
    assert page.locator("text.sx-chosen").text_content() == word
    assert page.get_by_label("Word", exact=True).input_value() == word


def choose(page, word):
    fill(page, Word=word)
    page.get_by_label("Word", exact=True).press("Enter")


def test_a_word_is_chosen_by_typing_by_keys_and_by_mouse(page):
    check(page, "tears")
    page.locator(".sx-stage").focus()
    page.keyboard.press("ArrowLeft")
    name = page.locator("text.sx-chosen").text_content()
    check(page, name)
    left, start = (MAP.places[MAP.words.index(word)][0] for word in (name, "tears"))
    assert left <= start and name != "tears"
    choose(page, "Sword")
    neighbour = page.locator(".sx-list button").nth(2)
    name = neighbour.text_content()
    assert name == MAP.nearest("sword", 3)[2][0]
    neighbour.press("Enter")
    check(page, name)
    assert page.evaluate("document.activeElement.tagName") == "BUTTON"
    choose(page, "kingfisher")
    said = page.locator(".sx-nearest > .sx-status").inner_text()
    assert "“kingfisher” is not among the 600 words" in said and "king" in said
    assert page.locator("text.sx-chosen").text_content() == name, "nothing has moved"

    label = page.locator("text.sx-far").nth(5)
    name = label.text_content()
    label.scroll_into_view_if_needed()
    box = label.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    check(page, name)


def test_an_analogy_is_answered_with_the_place_of_the_expected_word(page):
    unit = MAP.unit.double()
    a, b, c, d = (MAP.words.index(word) for word in ("brother", "sister", "father", "mother"))
    similar = unit @ (unit[b] - unit[a] + unit[c])
    similar[[a, b, c]] = -9
    place = 1 + int((similar > similar[d]).sum())
    fill(page, First_word="brother", Second_word="sister", Third_word="father")
    verdict = page.locator(".sx-verdict")
    assert f"Expected: mother, which comes at place {place} of 597" in verdict.inner_text()
    assert "Of all 240 questions of this kind (man : woman)" in verdict.inner_text()
    table = rows(page, ".sx-analogy table")
    assert table[1][1].removesuffix(" ✓") == MAP.words[int(similar.argmax())]
    fill(page, Third_word="sword")
    assert "Nobody has written down" in page.locator(".sx-analogy").inner_text()
    press(page, "Another question")
    assert "Expected:" in verdict.inner_text()
