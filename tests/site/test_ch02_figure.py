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
    assert page.locator(".sx-list button").all_text_contents() == [name for name, _ in expected]
    cosines = page.locator(".sx-list td:nth-child(2)").all_text_contents()
    assert [number(c) for c in cosines] == pytest.approx([c for _, c in expected], abs=6e-3)
    assert f"Chosen: {word}." in page.locator("svg").get_attribute("aria-label")
    assert page.locator("text.sx-chosen").text_content() == word
    assert page.get_by_label("Word", exact=True).input_value() == word


def test_a_word_is_chosen_by_typing_keys_mouse_and_touch(page):
    chosen, field = page.locator("text.sx-chosen"), page.get_by_label("Word", exact=True)
    check(page, "tears")
    field.fill("kingfisher")
    field.press("Enter")
    said = page.locator(".sx-nearest > .sx-status").inner_text()
    assert "“kingfisher” is not among the 600 words" in said and chosen.text_content() == "tears"
    page.locator(".sx-stage").focus()
    page.keyboard.press("ArrowLeft")
    name = chosen.text_content()
    check(page, name)
    left, right = (MAP.places[MAP.words.index(word)][0] for word in (name, "tears"))
    assert left <= right and name != "tears"
    field.fill("Sword")
    field.press("Enter")
    check(page, "sword")
    for by in ("mouse", "touch"):
        label = page.locator("text.sx-far").nth(5)
        name = label.text_content()
        label.scroll_into_view_if_needed()
        box = label.bounding_box()
        middle = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        if by == "mouse":
            page.mouse.click(**middle)
        else:
            devtools = page.context.new_cdp_session(page)
            for kind, points in (("touchStart", [middle]), ("touchEnd", [])):
                devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.wait_for_function(
            "name => document.querySelector('text.sx-chosen').textContent === name", arg=name
        )
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
    answer = rows(page, ".sx-analogy table")[1][1]
    assert answer.removesuffix(" ✓") == MAP.words[int(similar.argmax())]
    fill(page, Third_word="sword")
    assert "Nobody has written down" in page.locator(".sx-analogy").inner_text()
    press(page, "Another question")
    assert "Expected:" in verdict.inner_text()
