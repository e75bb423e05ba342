"""The steps of attention in a real browser: every number follows an edit, as PyTorch has it."""

import itertools

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


def vector(text):
    return [number(part) for part in text.strip("()").split(", ")]


def bars(page):
    """How high the bars over the words are, in percent of their rails; what stands over them."""
    shown = page.evaluate("""[...document.querySelectorAll(".sx-att-fill")].map((bar) =>
      [parseFloat(bar.style.height), 100 * bar.parentElement.previousSibling.textContent])""")
    assert all(height == pytest.approx(share, abs=0.51) for height, share in shown)
    return [height for height, _ in shown]


def compare(page, asks, changed=(), causal=False):
    """All numbers on the page with PyTorch's; `changed` are the edited entries of W_q and W_k."""
    m = {name: torch.tensor(SETTINGS[name]).double() for name in ("x", "W_q", "W_k", "W_v")}
    for name, feature, column, value in changed:
        m[name][SETTINGS["features"].index(feature), SETTINGS["columns"].index(column)] = value
    q, k, v = (m["x"] @ m[name] for name in ("W_q", "W_k", "W_v"))
    mask = causal_mask(len(q)) if causal else None
    context, weights = scaled_dot_product_attention(q, k, v, mask)
    row = WORDS.index(asks)
    shown_map, steps, mixture = page.evaluate(SHOWN)
    assert shown_map[0][1:] == WORDS and [line[0] for line in shown_map[1:]] == WORDS
    numbers = torch.tensor([[number(text) for text in line[1:]] for line in shown_map[1:]])
    assert (numbers - weights).abs().max() < 0.0051
    assert bars(page) == pytest.approx([100 * w for w in weights[row].tolist()], abs=0.51)
    q_shown = vector(page.locator(".sx-att-row p b").first.text_content())
    assert q_shown == pytest.approx(q[row].tolist(), abs=0.0051)
    scores = k @ q[row]
    for s, (word, key, score, scaled, *open_, weight, _) in enumerate(steps[1:]):
        assert word == WORDS[s] and vector(key) == pytest.approx(k[s].tolist(), abs=0.0051)
        assert number(score) == pytest.approx(scores[s].item(), abs=0.0051)
        assert number(scaled) == pytest.approx(scores[s].item() / q.shape[1] ** 0.5, abs=0.0051)
        assert open_ == ([["open", "−∞"][s > row]] if causal else [])
        assert number(weight) == pytest.approx(weights[row, s].item(), abs=0.0051)
        assert [number(n) for n in mixture[s + 1][1:]] == pytest.approx(v[s].tolist(), abs=0.0051)
    assert mixture[-1][0] == f"{asks} gets"
    got = [number(n) for n in mixture[-1][1:]]
    assert got == pytest.approx(context[row].tolist(), abs=0.0051)
    return numbers


def test_the_sentence_and_the_map_choose_the_same_word(page):
    sentence = page.get_by_role("group", name="The sentence")
    said = page.locator(".sx-att-sentence [role=status]")
    compare(page, "old")
    assert said.inner_text() == "old reads king: 0.85"
    sentence.get_by_role("button", name="king").focus()
    page.keyboard.press("Enter")
    compare(page, "king")
    assert said.inner_text() == "king reads sleeps: 0.85"
    press(page, "the asks")
    compare(page, "the")
    pressed = sentence.get_by_role("button", pressed=True)
    assert [pressed.inner_text(), said.inner_text()] == ["the", "the reads king: 0.85"]
    page.get_by_label("W_q, adjective to noun").fill("0")
    assert said.inner_text() == "old reads the, old, king and sleeps: 0.25 each"
    steps = page.locator(".sx-att-row")
    assert not steps.locator("table").first.is_visible()
    steps.locator("summary").click()
    assert steps.locator("table").first.is_visible()


def test_an_edit_of_a_query_reaches_one_row_and_an_edit_of_a_key_the_others(page):
    page.get_by_label("W_q, adjective to noun").fill("1")
    numbers = compare(page, "old", [("W_q", "adjective", "noun", 1)])
    assert numbers[1, 2].item() == pytest.approx(0.40)
    assert page.locator(".sx-att-changed").count() == 4
    press(page, "As in the chapter")
    compare(page, "old")
    page.get_by_label("W_k, article to noun").fill("1")
    numbers = compare(page, "old", [("W_k", "article", "noun", 1)])
    assert numbers[1].tolist() == pytest.approx([0.47, 0.03, 0.47, 0.03])
    marked = page.locator(".sx-att-changed").count()
    assert marked == 12 and page.locator("tr:nth-child(3) .sx-att-changed").count() == 0
    press(page, "As in the chapter")
    page.get_by_label("W_q, noun to verb").fill("0")
    compare(page, "king", [("W_q", "noun", "verb", 0)])
    page.get_by_label("W_k, noun to noun").fill("0")
    asks = page.locator(".sx-att-asks button").inner_text()
    rows = page.locator(".sx-att-weights .sx-status").inner_text().split("rows: ")[1]
    assert asks in rows, "the row below follows a change that does not reach it"
    compare(page, asks, [("W_q", "noun", "verb", 0), ("W_k", "noun", "noun", 0)])


def test_many_edits_with_and_without_the_mask(page):
    random, changed = torch.Generator().manual_seed(1), []
    for name, feature, column in itertools.product(
        ("W_q", "W_k"), ("adjective", "noun", "royal", "asleep"), SETTINGS["columns"]
    ):
        value = round(float(torch.randn((), generator=random)) * 3, 2)
        changed.append((name, feature, column, value))
        page.get_by_label(f"{name}, {feature} to {column}").fill(str(value))
    press(page, "old asks")
    compare(page, "old", changed)
    page.get_by_label("Mask").check()
    compare(page, "old", changed, causal=True)
    assert page.locator(".sx-att-closed").count() == 6
    press(page, "As in the chapter")
    compare(page, "old")
    assert page.locator(".sx-att-changed, .sx-att-edited, .sx-att-closed").count() == 0
    field = page.get_by_label("W_q, adjective to noun")
    for wrong in ("", "100"):
        field.fill(wrong)
        assert field.get_attribute("aria-invalid") == "true"
        compare(page, "old")
    field.blur()
    assert field.input_value() == "4" and field.get_attribute("aria-invalid") == "false"
