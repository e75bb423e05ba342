"""The map of words: JavaScript finds the nearest words and the analogies that PyTorch finds."""

from itertools import permutations

import pytest
import torch

from scratchformer_course.ch02_embeddings.live import load_map, word_map
from scratchformer_course.ch02_embeddings.questions import RELATIONS
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


@pytest.mark.parametrize("word", ["tears", "king", "hand"])
def test_the_nearest_words_are_those_of_pytorch(word):
    body = """const m = M.load(input.settings); const id = m.ids.get(input.word);
      const near = M.ranked(m, m.unit[id], [id]).slice(0, 8);
      return near.map(({ id, cosine }) => [m.words[id], cosine])"""
    found = in_node(body, settings=SETTINGS, word=word)
    for (name, cosine), (expected, its) in zip(found, MAP.nearest(word, 8), strict=True):
        assert name == expected and cosine == pytest.approx(its, abs=1e-5)


def place(a, b, c, d, only_c=False):
    a, b, c, d = (MAP.words.index(word) for word in (a, b, c, d))
    unit = MAP.unit.double()
    similar = unit @ (unit[c] if only_c else unit[b] - unit[a] + unit[c])
    own = similar[d].item()
    similar[[a, b, c]] = -9
    return 1 + int((similar > own).sum())


def test_the_share_of_analogies_that_come_first_is_that_of_pytorch():
    line = RELATIONS["man : woman"]
    pairs = [pair.split() for pair in line.split(", ")]
    body = "const m = M.load(input.settings); return M.tally(m, input.line)"
    told = in_node(body, settings=SETTINGS, line=line)
    questions = [(*p, *q) for p, q in permutations(pairs, 2)]
    for key, only_c in (("first", False), ("alone", True)):
        first = sum(place(*question, only_c=only_c) == 1 for question in questions)
        assert told[key] == pytest.approx(first / len(questions), abs=1.5 / len(questions))
    assert told["n"] == len(questions)


def test_an_expected_answer_is_known_forwards_and_backwards():
    body = """const m = M.load(input.settings);
      return input.given.map((q) => M.expected(m, input.settings.relations,
        ...q.map((word) => m.ids.get(word)))).map((e) => e && [e.name, m.words[e.d]])"""
    given = [["man", "woman", "king"], ["sister", "brother", "queen"], ["man", "hand", "king"]]
    assert in_node(body, settings=SETTINGS, given=given) == [
        ["man : woman", "queen"],
        ["man : woman", "king"],
        None,
    ]


def test_labels_never_cover_each_other_and_the_chosen_word_has_one():
    body = """const m = M.load(input.settings);
      return M.labels(m, [7, ...m.words.keys()], 330, 380).map(({ id, box }) => [id, box])"""
    shown = in_node(body, settings=SETTINGS)
    assert shown[0][0] == 7 and len(shown) > 30
    for (_, a), (_, b) in permutations(shown, 2):
        assert a[0] > b[2] or b[0] > a[2] or a[1] > b[3] or b[1] > a[3]


def test_arrow_keys_go_the_way_they_point_and_reach_most_words():
    body = """const m = M.load(input.settings);
      const ways = [[1, 0], [-1, 0], [0, 1], [0, -1]];
      return m.words.map((_, id) => ways.map(([x, y]) => M.towards(m, id, x, y)))"""
    steps = in_node(body, settings=SETTINGS)
    assert all(MAP.places[right][0] >= MAP.places[i][0] for i, (right, *_) in enumerate(steps))
    reached, waiting = {0}, [0]
    while waiting:
        new = set(steps[waiting.pop()]) - reached
        reached |= new
        waiting += new
    assert len(reached) > 0.95 * len(steps)


@pytest.mark.usefixtures("plain_signatures")
def test_a_word_that_is_not_on_the_map_is_told():
    with pytest.raises(ValueError, match="'zebra' is none of the 600 words of the map"):
        word_map(word="zebra")
