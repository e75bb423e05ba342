"""Fill the gap in a real browser: the bars follow what is typed, and are PyTorch's."""

import pytest
import torch

from scratchformer.models import BERT
from scratchformer.shipped import shipped_words
from tests.site.browsing import tables
from tests.site.figures import fill, press, stored

FIGURE = "fill_gaps"
NAME = "english-german"


def in_torch(texts):
    """The likeliest word of each gap, and its share in percent."""
    model, words = BERT.pretrained(NAME), shipped_words(NAME)
    ids, segments = [1], [0]
    for segment, text in enumerate(texts):
        ids += [*(3 if word == "_" else words.index(word) for word in text.split()), 2]
        segments += [segment] * (len(ids) - len(segments))
    with torch.no_grad():
        logits = model(torch.tensor([ids]), torch.tensor([segments]))[0]
    logits[:, :4] = -torch.inf
    shares = logits[torch.tensor(ids) == 3].softmax(dim=-1)
    return [(words[own.argmax()], 100 * own.max().item()) for own in shares]


def compare(page, *texts):
    best = [table[1] for table in tables(page, ".sx-bars")]
    shown = [(word, float(share.split()[0])) for word, share, _ in best]
    assert shown == [(word, pytest.approx(p, abs=0.11)) for word, p in in_torch(texts)]


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
    texts = "the _ sees _ cat", "_ Hund sieht jede Katze"
    fill(page, English=texts[0], German=texts[1])
    compare(page, *texts)
    surest, _ = max(in_torch(texts), key=lambda gap: gap[1])
    press(page, "Fill the surest gap")
    assert said.inner_text().startswith(f"Wrote {surest}")
    page.locator("[aria-label$='into gap 1']").nth(1).click()
    assert len(tables(page, ".sx-bars")) == 1
