"""The map of words in a browser: by mouse, by touch, by keys and by typing."""

import pytest

from scratchformer_course.ch02_embeddings.live import load_map
from tests.site.browsing import number

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
    check(page, "king")
    field.fill("kingfisher")
    field.press("Enter")
    said = page.locator(".sx-nearest > .sx-status").inner_text()
    assert "“kingfisher” is not among the 400 words" in said and chosen.text_content() == "king"
    page.locator(".sx-stage").focus()
    page.keyboard.press("ArrowLeft")
    name = chosen.text_content()
    check(page, name)
    left, right = (MAP.places[MAP.words.index(word)][0] for word in (name, "king"))
    assert left <= right and name != "king"
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
