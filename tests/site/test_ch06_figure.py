"""The steps of attention in a real browser: every number follows an edit, as PyTorch has it."""

import pytest
import torch

from scratchformer.attention import causal_mask, scaled_dot_product_attention
from tests.site.browsing import number
from tests.site.figures import press, stored

FIGURE = "attention_steps"
SETTINGS = stored("06", FIGURE).settings
WORDS = SETTINGS["words"]
SHOWN = """() => {
  const texts = (table) => [...table.querySelectorAll("tr")].map((row) =>
    [...row.children].map((cell) => cell.textContent));
  return [...document.querySelectorAll(".live-figure .sx-att-map, .sx-att-row table")].map(texts);
}"""


def near(tensor, abs=0.0051):
    return pytest.approx(tensor.tolist(), abs=abs)


def compare(page, asks, edits=None, causal=False):
    """All numbers on the page with PyTorch's, with these entries of W_q and W_k edited."""
    m = {name: torch.tensor(SETTINGS[name]).double() for name in ("x", "W_q", "W_k", "W_v")}
    for entry, value in (edits or {}).items():
        name, feature, _, column = entry.replace(",", "").split()
        at = SETTINGS["features"].index(feature), SETTINGS["columns"].index(column)
        m[name][at] = value
    q, k, v = (m["x"] @ m[name] for name in ("W_q", "W_k", "W_v"))
    mask = causal_mask(len(q)) if causal else None
    context, weights = scaled_dot_product_attention(q, k, v, mask)
    row = WORDS.index(asks)
    shown_map, steps, mixture = page.evaluate(SHOWN)
    assert [[number(t) for t in line[1:]] for line in shown_map[1:]] == list(map(near, weights))
    bars = page.locator(".sx-att-fill").evaluate_all(
        "bars => bars.map(bar => [parseFloat(bar.style.height),"
        " 100 * bar.parentElement.previousSibling.textContent])"
    )
    assert bars == [pytest.approx([100 * w] * 2, abs=0.51) for w in weights[row].tolist()]
    for s, (word, _, score, _, *masked, weight, _) in enumerate(steps[1:]):
        assert word == WORDS[s] and number(score) == near(k[s] @ q[row])
        assert masked == ([["open", "−∞"][s > row]] if causal else [])
        assert number(weight) == near(weights[row, s])
    assert mixture[-1][0] == f"{asks} gets"
    assert [number(n) for n in mixture[-1][1:]] == near(context[row])


def edit(page, **edits):
    """Fill in the fields of W_q and W_k by their labels, as `compare` names them."""
    for label, value in edits.items():
        page.get_by_label(label, exact=True).fill(str(value))


def test_all_numbers_follow_the_words_the_edits_and_the_mask(page):
    steps = page.locator(".sx-att-row")
    assert not steps.locator("table").first.is_visible()
    steps.locator("summary").click()
    compare(page, "old")
    said = page.locator(".sx-att-sentence [role=status]")
    assert said.inner_text() == "old reads king: 0.85"
    page.get_by_role("group", name="The sentence").get_by_role("button", name="king").press("Enter")
    compare(page, "king")
    press(page, "the asks")
    compare(page, "the")

    # an edit of a query reaches one row, an edit of a key the others
    for edits, changed in (({"W_q, adjective to noun": 1}, 4), ({"W_k, article to noun": 1}, 12)):
        edit(page, **edits)
        compare(page, "old", edits)
        assert page.locator(".sx-att-changed").count() == changed
        press(page, "As in the chapter")
    edits |= {"W_q, adjective to noun": 2.51, "W_q, royal to verb": -3.2, "W_k, noun to noun": 0.4}
    edit(page, **edits)
    page.get_by_label("Mask").check()
    for word in ("sleeps", "old"):
        press(page, f"{word} asks")
        compare(page, word, edits, causal=True)
    press(page, "As in the chapter")
    compare(page, "old")
    assert page.locator(".sx-att-changed, .sx-att-edited, .sx-att-closed").count() == 0


def test_what_is_no_number_changes_nothing_and_the_row_follows_what_is_asked(page):
    field = page.get_by_label("W_q, adjective to noun")
    for wrong in ("", "100", "-99.5"):
        field.fill(wrong)
        assert field.get_attribute("aria-invalid") == "true"
    compare(page, "old")
    field.blur()
    assert field.input_value() == "4" and field.get_attribute("aria-invalid") == "false"
    edits = {"W_q, noun to verb": 0, "W_k, noun to noun": 0}  # which do not reach each row
    edit(page, **edits)
    asks = page.locator(".sx-att-asks button").inner_text()
    assert asks in page.locator(".sx-att-weights .sx-status").inner_text().split("rows: ")[1]
    compare(page, asks, edits)
