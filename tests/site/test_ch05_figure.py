"""Dragged scores in a browser: weights and mixtures follow, as PyTorch has them."""

import pytest
import torch

from tests.site.browsing import number, tables
from tests.site.figures import fill, press, stored

FIGURE = "weighted_past"
SETTINGS = stored("05", FIGURE).settings
WORDS = SETTINGS["words"]


def compare(page, looks, scores, mask="causal"):
    """All numbers with PyTorch's; `scores` are those that are not 0, by (row, column)."""
    table = torch.zeros(4, 4)
    for (row, column), score in scores.items():
        table[WORDS.index(row), WORDS.index(column)] = score
    may = torch.tensor(SETTINGS["masks"][mask])
    weights = table.masked_fill(~may, -torch.inf).softmax(dim=1)
    row = WORDS.index(looks)
    steps, shown_map, mixed = tables(page, ".live-figure table")
    found = torch.tensor([[number(text) for text in line[1:]] for line in shown_map[1:]])
    assert (found - weights).abs().max() < 0.0051
    for s, (word, _, masked, _, weight, _) in enumerate(steps[1:5]):
        assert word == WORDS[s]
        assert masked == ("−∞" if not may[row, s] else f"{table[row, s]:.1f}".replace("-", "−"))
        assert number(weight) == pytest.approx(weights[row, s].item(), abs=0.0051)
    gets = (weights @ torch.tensor(SETTINGS["x"]))[row].tolist()
    assert mixed[-1][0] == f"{looks} gets"
    assert [number(text) for text in mixed[-1][1:]] == pytest.approx(gets, abs=0.0051)
    return page.locator(".sx-past-told").inner_text()


def test_weights_follow_the_scores_each_row_keeps_its_own_and_none_gets_past_the_mask(page):
    said = compare(page, "sleeps", {})
    assert said == "sleeps takes 25 % each from the, old, king and sleeps."
    scores = {("sleeps", "king"): 3, ("sleeps", "old"): -4}
    fill(page, Score_of_king=3, Score_of_old=-4)
    compare(page, "sleeps", scores)
    press(page, "old looks")
    scores["old", "king"] = 3.9
    fill(page, Score_of_king=3.9)
    said = compare(page, "old", scores)
    assert "50 % each from the and old" in said and "hides king and sleeps" in said
    press(page, "none")
    assert compare(page, "old", scores, "none").startswith("old takes 94 % from king")
    press(page, "window of 2", "sleeps looks")
    compare(page, "sleeps", scores, "window of 2")
    press(page, "All scores 0")
    compare(page, "sleeps", {}, "window of 2")
