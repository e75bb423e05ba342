"""Chapter 13's benchmark: rows, counted rivals and what is stored."""

import json

import pytest
import torch

from lab import pretraining as bert
from scratchformer.data.masking import IGNORED
from scratchformer_course.measurements import load_measurements

PAIRS = [(["a", "b"], ["A", "B"]), (["a", "c"], ["A", "C"]), (["d", "c"], ["D", "C"])]


@pytest.fixture(scope="module")
def data():
    return bert.Data(n=50)


def test_a_row_is_two_texts_or_one(data):
    first, second = data.pairs[0]
    ids, segments = data.row(first, second)
    n = len(first) + len(second) + 3
    assert len(ids) == len(segments) == data.T
    assert [i for i, token in enumerate(ids) if token == bert.SEP] == [len(first) + 1, n - 1]
    assert segments == [0] * (len(first) + 2) + [1] * (len(second) + 1) + [0] * (data.T - n)
    ids, segments = data.row(first)
    assert (
        ids.count(bert.SEP) == 1
        and sum(segments) == 0
        and ids.count(bert.PAD) == data.T - n + (len(second) + 1)
    )


def test_a_table_of_pairs_knows_partners():
    table = bert.PairTable(PAIRS, 1, 1)
    strengths = {w: table.strength(("a",), (w,)) for w in "ABCD"}
    assert max(strengths, key=strengths.get) == "A" and strengths["D"] < 0
    right, wrong = table.features(["d", "b"], ["D", "B"]), table.features(["d", "b"], ["D", "C"])
    assert right[0] > wrong[0]  # the weakest best partner


def test_half_of_the_judged_pairs_say_the_same():
    texts, same = bert.judged(20, "seen", seed=1)
    assert same.tolist() == [1, 0] * 10 and len({tuple(b) for _, b in texts}) == 20


def test_a_gap_that_is_filled_right_counts_and_no_other(data):
    class Copies(torch.nn.Module):
        """Knows the rows by heart, but for the word "the"."""

        def forward(self, ids, segments, mask):
            the = data.ids["the"]
            wrong = torch.where(answers == the, the + 1, answers)
            return torch.nn.functional.one_hot(wrong, data.vocab_size).float()

    texts = data.pairs[:3]
    rows = [data.row(a, b)[0] for a, b in texts for _ in a]
    answers = torch.tensor(rows)
    words = [w for a, _ in texts for w in a]
    share = bert.filled(data, Copies(), texts, which=0, alone=False)
    assert share == pytest.approx(1 - words.count("the") / len(words))


def test_seeds_of_the_same_settings_are_kept_and_others_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(bert, "STORED", tmp_path / "bert.json")
    old = {
        "settings": {"steps": 5},
        "gaps": [],
        "judged": [{"seed": 1, "model": "GPT"}],
        "seconds": {"[1]": 9},
    }
    new = {
        "settings": {"steps": 5},
        "gaps": [],
        "judged": [{"seed": 0, "model": "GPT"}],
        "seconds": {"[0]": 8},
    }
    assert bert.merged(dict(new)) == new
    bert.STORED.write_text(json.dumps(old))
    both = bert.merged(dict(new))
    assert [row["seed"] for row in both["judged"]] == [0, 1] and len(both["seconds"]) == 2
    assert bert.merged(new | {"settings": {"steps": 6}})["judged"] == new["judged"]


def test_what_is_stored_was_made_with_these_settings_and_three_seeds():
    stored = load_measurements("pretraining")
    settings = stored["settings"]
    assert settings["pretraining"] == bert.PRETRAINING and settings["tuning"] == bert.TUNING
    assert settings["texts"] == bert.TEXTS and settings["hidden"] == bert.HIDDEN
    for name in ("gaps", "judged"):
        assert {row["seed"] for row in stored[name]} == {0, 1, 2}
    assert {row["labelled"] for row in stored["judged"]} == set(bert.LABELLED)


def test_nothing_is_asked_of_padding(data):
    generator = torch.Generator().manual_seed(0)
    ids = data.inputs[0][:40]
    _, targets = bert.mask_tokens(ids, bert.MASK, data.vocab_size, bert.SPECIAL, 0.3, generator)
    assert (targets[ids == bert.PAD] == IGNORED).all() and (targets != IGNORED).any()
