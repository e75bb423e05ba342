"""The steps of attention in a real browser: every number follows an edit, as PyTorch has it."""

import pytest
import torch

from scratchformer.attention import causal_mask, scaled_dot_product_attention
from tests.site.browsing import number, tables
from tests.site.figures import press, stored

FIGURE = "attention_steps"
SETTINGS = stored("06", FIGURE).settings
WORDS = SETTINGS["words"]


def near(tensor):
    return pytest.approx(tensor.tolist(), abs=0.0051)


def compare(page, asks, edits=None, causal=False):
    """All numbers on the page with PyTorch's, with these entries of W_q and W_k edited."""
    m = {name: torch.tensor(SETTINGS[name]).double() for name in ("x", "W_q", "W_k", "W_v")}
    for entry, value in (edits or {}).items():
        page.get_by_label(entry, exact=True).fill(str(value))
        name, feature, _, column = entry.replace(",", "").split()
        at = SETTINGS["features"].index(feature), SETTINGS["columns"].index(column)
        m[name][at] = value
    q, k, v = (m["x"] @ m[name] for name in ("W_q", "W_k", "W_v"))
    mask = causal_mask(len(q)) if causal else None
    context, weights = scaled_dot_product_attention(q, k, v, mask)
    row = WORDS.index(asks)
    shown_map, steps, mixture = tables(page, ".live-figure .sx-word-map, .sx-att-row table")
    assert [[number(t) for t in line[1:]] for line in shown_map[1:]] == list(map(near, weights))
    for s, (word, _, score, _, *masked, weight, _) in enumerate(steps[1:]):
        assert word == WORDS[s] and number(score) == near(k[s] @ q[row])
        assert masked == ([["open", "−∞"][s > row]] if causal else [])
        assert number(weight) == near(weights[row, s])
    assert mixture[-1][0] == f"{asks} gets"
    assert [number(n) for n in mixture[-1][1:]] == near(context[row])


def test_all_numbers_follow_the_words_the_edits_and_the_mask(page):
    page.locator(".sx-att-row summary").click()
    compare(page, "old")
    said = page.locator(".sx-att-sentence [role=status]")
    assert said.inner_text() == "old reads king: 0.85"
    press(page, "the asks")
    compare(page, "the")
    press(page, "old asks")
    # an edit of a query reaches one row, an edit of a key the others
    for edits, changed in (({"W_q, adjective to noun": 1}, 4), ({"W_k, article to noun": 1}, 12)):
        compare(page, "old", edits)
        assert page.locator(".sx-att-changed").count() == changed
        press(page, "As in the chapter")
    page.get_by_label("Mask").check()
    press(page, "sleeps asks")
    edits = {"W_q, adjective to noun": 2.51, "W_q, royal to verb": -3.2, "W_k, noun to noun": 0.4}
    compare(page, "sleeps", edits, causal=True)
    press(page, "As in the chapter")
    compare(page, "sleeps")
    assert page.locator(".sx-att-changed, .sx-att-edited, .sx-closed").count() == 0


def test_what_is_no_number_changes_nothing_and_the_row_follows_what_is_asked(page):
    field = page.get_by_label("W_q, adjective to noun")
    for wrong in ("", "100", "-99.5"):
        field.fill(wrong)
        assert field.get_attribute("aria-invalid") == "true"
    compare(page, "old")
    field.blur()
    assert field.input_value() == "4" and field.get_attribute("aria-invalid") == "false"
    compare(page, "king", {"W_q, noun to verb": 0})
