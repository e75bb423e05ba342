"""Chapter 13's benchmark: rows, counted rivals and what is stored."""

import pytest
import torch

from lab import bert_pretraining, runs

PAIRS = [(["a", "b"], ["A", "B"]), (["a", "c"], ["A", "C"]), (["d", "c"], ["D", "C"])]


@pytest.fixture(scope="module")
def data():
    return bert_pretraining.Data(n=50)


def test_a_table_of_pairs_knows_partners():
    table = bert_pretraining.PairTable(PAIRS, 1, 1)
    strengths = {w: table.strength(("a",), (w,)) for w in "ABCD"}
    assert max(strengths, key=strengths.get) == "A" and strengths["D"] < 0
    right, wrong = table.features(["d", "b"], ["D", "B"]), table.features(["d", "b"], ["D", "C"])
    assert right[0] > wrong[0]  # the weakest best partner


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
    share = bert_pretraining.filled(data, Copies(), texts, which=0, alone=False)
    assert share == pytest.approx(1 - words.count("the") / len(words))


def test_what_is_stored_was_made_with_these_settings_and_three_seeds():
    stored, full = runs.read(bert_pretraining.STORED), bert_pretraining.FULL
    settings = stored["settings"]
    assert settings["pretraining"] == bert_pretraining.PRETRAINING
    assert settings["hidden"] == bert_pretraining.HIDDEN
    for name in ("steps", "tuning", "texts", "tested"):
        assert settings[name] == full[name]
    for name in ("gaps", "judged"):
        assert {row["seed"] for row in stored[name]} == set(full["seeds"])
    assert {row["labelled"] for row in stored["judged"]} == set(full["labelled"])


def test_the_script_runs_from_end_to_end():
    result, stored = bert_pretraining.main(["--quick"]), runs.read(bert_pretraining.STORED)
    assert set(stored) <= set(result)
    for name in ("gaps", "judged"):
        found = {tuple(row) for row in stored[name]}
        assert {tuple(row) for row in result[name]} == found
        assert {row["model"] for row in result[name]} == {row["model"] for row in stored[name]}
