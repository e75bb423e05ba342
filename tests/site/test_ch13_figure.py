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


def in_torch(texts):
    """The five likeliest words of each gap, and their shares in percent."""
    model, words = BERT.pretrained(NAME), shipped_words(NAME)
    ids, segments = [1], [0]
    for segment, text in enumerate(texts):
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
    return expected


def test_the_bars_follow_what_is_typed_and_what_is_pressed(page):
    settings = stored("13", FIGURE).settings
    said = page.locator(".live-figure [role=status]")
    english, german = settings["texts"]
    compare(page, english, german)
    fill(page, English="the tiger sees every cat")
    assert "does not know “tiger”" in said.inner_text()
    compare(page, english, german)  # it is read as a gap
    press(page, "Hide the German text")
    compare(page, english)
    press(page, "Hide the German text", "Another sentence")
    compare(page, *settings["examples"][1])

    texts = {"English": "the _ sees _ cat", "German": "_ Hund sieht jede Katze"}
    fill(page, **texts)
    gaps = compare(page, *texts.values())
    surest = max(gaps, key=lambda gap: gap[0][1])[0][0]
    press(page, "Fill the surest gap")
    assert said.inner_text().startswith(f"Wrote {surest}")
    page.locator("[aria-label$='into gap 1']").nth(1).click()
    assert len(page.evaluate(SHOWN)) == 1
    press(page, "Fill the surest gap")
    assert "No gap" in said.inner_text()
