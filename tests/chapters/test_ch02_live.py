"""The map of words: JavaScript finds the nearest words that PyTorch finds."""

from itertools import permutations

import pytest
import torch

from scratchformer_course.ch02_embeddings.live import load_map, word_map
from tests.node import Node

MAP = load_map()
SETTINGS = word_map().settings
in_node = Node(M="ch02_embeddings/live.js")


def test_javascript_reads_the_stored_vectors():
    unit, places = in_node(
        "const m = M.load(input.settings); return [m.unit, m.places]", settings=SETTINGS
    )
    assert torch.allclose(torch.tensor(unit), MAP.unit, atol=1e-6)
    assert places == [[x / 1000, y / 1000] for x, y in MAP.places]


def test_the_nearest_words_are_those_of_pytorch():
    body = """const m = M.load(input.settings);
      return input.words.map((word) => M.ranked(m, m.unit[m.ids.get(word)], [m.ids.get(word)])
        .slice(0, 8).map(({ id, cosine }) => [m.words[id], cosine]))"""
    words = ["tears", "king", "hand"]
    for word, found in zip(words, in_node(body, settings=SETTINGS, words=words), strict=True):
        for (name, cosine), (expected, its) in zip(found, MAP.nearest(word, 8), strict=True):
            assert name == expected and cosine == pytest.approx(its, abs=1e-5)


def test_labels_never_cover_each_other_and_the_chosen_word_has_one():
    body = """const m = M.load(input.settings);
      return M.labels(m, [7, ...m.words.keys()], 330, 380).map(({ id, box }) => [id, box])"""
    shown = in_node(body, settings=SETTINGS)
    assert shown[0][0] == 7 and len(shown) > 30
    for (_, a), (_, b) in permutations(shown, 2):
        assert a[0] > b[2] or b[0] > a[2] or a[1] > b[3] or b[1] > a[3]
