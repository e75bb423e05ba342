"""Dragged scores in a browser: weights and mixtures follow, as PyTorch has them."""

import pytest
import torch

from tests.site.browsing import number
from tests.site.figures import press, stored

FIGURE = "weighted_past"
SETTINGS = stored("05", FIGURE).settings
WORDS = SETTINGS["words"]
SHOWN = """() => [...document.querySelectorAll(".live-figure table")].map((table) =>
  [...table.querySelectorAll("tr")].map((row) => [...row.children].map((c) => c.textContent)))"""


def drag_to(page, word, score):
    """Set a score by keys, as a slider takes them: Home is -4, and each arrow is 0.1."""
    slider = page.get_by_role("slider", name=f"Score of {word}", exact=True)
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(round((score + 4) * 10)):
        page.keyboard.press("ArrowRight")
    assert float(slider.input_value()) == pytest.approx(score)


def compare(page, looks, scores, mask="causal"):
    """All numbers with PyTorch's; `scores` are those that are not 0, by (row, column)."""
    table = torch.zeros(4, 4)
    for (row, column), score in scores.items():
        table[WORDS.index(row), WORDS.index(column)] = score
    may = torch.tensor(SETTINGS["masks"][mask])
    weights = table.masked_fill(~may, -torch.inf).softmax(dim=1)
    row = WORDS.index(looks)
    steps, shown_map, mixed = page.evaluate(SHOWN)
    found = torch.tensor([[number(text) for text in line[1:]] for line in shown_map[1:]])
    assert (found - weights).abs().max() < 0.0051
    for s, (word, _, masked, power, weight, _) in enumerate(steps[1:5]):
        assert word == WORDS[s]
        assert masked == ("−∞" if not may[row, s] else f"{table[row, s]:.1f}".replace("-", "−"))
        expected = (table.exp() * may)[row, s].item()
        assert number(power) == pytest.approx(expected, abs=0.0051)
        assert number(weight) == pytest.approx(weights[row, s].item(), abs=0.0051)
    gets = (weights @ torch.tensor(SETTINGS["x"]))[row].tolist()
    assert mixed[-1][0] == f"{looks} gets"
    assert [number(text) for text in mixed[-1][1:]] == pytest.approx(gets, abs=0.0051)
    return page.locator(".sx-past-told").inner_text()


def test_a_raised_score_takes_more_and_none_gets_past_the_mask(page):
    said = compare(page, "sleeps", {})
    assert said == "sleeps takes 25 % each from the, old, king and sleeps."
    drag_to(page, "king", 3)
    said = compare(page, "sleeps", {("sleeps", "king"): 3})
    assert said == "sleeps takes 87 % from king, and 4 % each from the, old and sleeps."
    press(page, "All scores 0")
    drag_to(page, "the", 1.5)
    press(page, "old looks")
    drag_to(page, "king", 4)
    scores = {("sleeps", "the"): 1.5, ("old", "king"): 4}  # each row keeps its own
    said = compare(page, "old", scores)
    assert "50 % each from the and old" in said and "hides king and sleeps" in said
    press(page, "none")
    assert compare(page, "old", scores, "none").startswith("old takes 95 % from king")
    press(page, "window of 2", "sleeps looks")
    compare(page, "sleeps", scores, "window of 2")
    assert page.locator(".sx-past-closed").count() == 9
    page.get_by_role("button", name="sleeps looks").focus()
    page.keyboard.press("ArrowUp")
    compare(page, "king", scores, "window of 2")


@pytest.mark.parametrize("by", ["mouse", "touch"])
def test_a_slider_can_be_dragged(page, by):
    slider = page.get_by_role("slider", name="Score of king", exact=True)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    places = [box["x"] + (0.5 + 0.06 * i) * box["width"] for i in range(6)]
    y = box["y"] + box["height"] / 2
    if by == "mouse":
        page.mouse.move(places[0], y)
        page.mouse.down()
        page.mouse.move(places[-1], y, steps=5)
        page.mouse.up()
    else:
        devtools = page.context.new_cdp_session(page)
        kinds = ["touchStart", *["touchMove"] * 5]
        for kind, points in (*zip(kinds, places, strict=True), ("touchEnd", None)):
            points = [{"x": points, "y": y}] if points else []
            devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    score = float(slider.input_value())
    assert 1.5 < score < 4
    compare(page, "sleeps", {("sleeps", "king"): score})
