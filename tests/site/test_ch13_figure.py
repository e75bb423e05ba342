"""Fill the gap in a real browser: the bars follow what is typed, and are PyTorch's."""

import pytest
import torch

from scratchformer.models import BERT
from scratchformer.shipped import shipped_words
from tests.site.figures import fill, press, stored

FIGURE = "fill_gaps"
NAME = "english-german"
SHOWN = """() => [...document.querySelectorAll(".live-figure .sx-bars")].map((table) =>
  [...table.tBodies[0].rows].map((row) => [row.cells[0].textContent, row.cells[1].textContent]))"""


@pytest.fixture(scope="module")
def settings():
    return stored("13", FIGURE).settings


def in_torch(texts):
    """The five likeliest words of each gap, and their shares in percent."""
    model, words = BERT.pretrained(NAME), shipped_words(NAME)
    ids, segments = [1], [0]
    for segment, text in enumerate(text for text in texts if text):
        ids += [*(3 if word == "_" else words.index(word) for word in text.split()), 2]
        segments += [segment] * (len(ids) - len(segments))
    with torch.no_grad():
        logits = model(torch.tensor([ids]), torch.tensor([segments]))[0]
    logits[:, :4] = -torch.inf
    tops = [logits[t].softmax(dim=-1).topk(5) for t, i in enumerate(ids) if i == 3]
    return [
        [(words[i], 100 * p) for p, i in zip(*map(torch.Tensor.tolist, top), strict=True)]
        for top in tops
    ]


def compare(page, *texts):
    shown, expected = page.evaluate(SHOWN), in_torch(texts)
    assert len(shown) == len(expected)
    for gap, wanted in zip(shown, expected, strict=True):
        for (word, share), (other, p) in zip(gap, wanted, strict=True):
            if share != "<0.1 %":
                assert float(share.split()[0]) == pytest.approx(p, abs=0.11)
            if p > 2:
                assert word == other


def test_the_bars_follow_what_is_typed(page, settings):
    compare(page, *settings["texts"])
    fill(page, German="der _ sieht jede Katze")
    compare(page, settings["texts"][0], "der _ sieht jede Katze")
    fill(page, English="these _ see every cat")
    compare(page, "these _ see every cat", "der _ sieht jede Katze")


def test_without_the_second_text_the_first_is_read_alone(page, settings):
    press(page, "Hide the German text")
    compare(page, settings["texts"][0])
    assert page.get_by_label("German", exact=True).is_disabled()
    press(page, "Hide the German text")
    compare(page, *settings["texts"])


def test_a_word_that_is_pressed_is_written_and_the_surest_gap_is_filled_first(page):
    fill(page, English="the _ sees _ cat", German="_ Hund sieht jede Katze")
    gaps = in_torch(["the _ sees _ cat", "_ Hund sieht jede Katze"])
    surest = max(gaps, key=lambda gap: gap[0][1])[0][0]
    press(page, "Fill the surest gap")
    said = page.locator(".live-figure [role=status]").inner_text()
    assert said.startswith(f"Wrote {surest}")
    page.locator("[aria-label$='into gap 1']").nth(1).click()
    assert len(page.evaluate(SHOWN)) == 1
    press(page, "Fill the surest gap")
    assert "No gap" in page.locator(".live-figure [role=status]").inner_text()
    press(page, "Fill the surest gap")  # nothing is left to do


def test_a_word_it_does_not_know_is_said_and_read_as_a_gap(page, settings):
    fill(page, English="the tiger sees every cat")
    assert "does not know “tiger”" in page.locator(".live-figure [role=status]").inner_text()
    compare(page, *settings["texts"])


def test_another_sentence_is_the_next_of_the_examples(page, settings):
    press(page, "Another sentence")
    compare(page, *settings["examples"][1])
