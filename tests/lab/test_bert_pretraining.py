"""Chapter 13's benchmark: rows, counted rivals, what is stored, and what ships."""

import pytest
import torch

from lab import bert_pretraining, runs
from scratchformer.models import BERT
from scratchformer.shipped import shipped_record, shipped_words

PAIRS = [(["a", "b"], ["A", "B"]), (["a", "c"], ["A", "C"]), (["d", "c"], ["D", "C"])]


@pytest.fixture(scope="module")
def data():
    return bert_pretraining.Data(n=50)


def test_a_table_of_pairs_knows_partners():
    table = bert_pretraining.PairTable(PAIRS)
    strengths = {w: table.strength("a", w) for w in "ABCD"}
    assert max(strengths, key=strengths.get) == "A" and strengths["D"] < 0


def test_counts_look_at_both_neighbours_and_back_off():
    table = bert_pretraining.GapTable(PAIRS)
    for left, right in (("[CLS]", "c"), ("a", "[SEP]"), ("b", "d")):
        p = table.chances(left, right, few=1.0, fewer=2.0)
        assert sum(2.718281828**score for score in p.values()) == pytest.approx(1)
    p = table.chances("[CLS]", "b", few=0.1, fewer=0.1)
    assert max(p, key=p.get) == "a"
    # never counted together: the word behind d and the word before b decide
    p = table.chances("d", "[SEP]", few=1.0, fewer=0.1)
    assert max(p, key=p.get) == "c"


def test_a_batch_is_of_one_kind_and_ends_with_its_longest_row(data):
    kinds = set()
    for seed in range(30):
        ids, segments = data.draw(torch.Generator().manual_seed(seed))
        assert ids.shape == segments.shape and (ids[:, -1] != 0).any()
        separators = (ids == bert_pretraining.SEP).sum(dim=1).unique().tolist()
        assert len(separators) == 1
        kinds.add(separators[0])
    assert kinds == {1, 2}


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


def test_what_ships_is_the_bert_of_the_first_seed():
    stored, record = runs.read(bert_pretraining.STORED), shipped_record(bert_pretraining.NAME)
    assert record["settings"]["lr"] == float(
        min(stored["rates"]["BERT"], key=stored["rates"]["BERT"].get)
    )
    for row in stored["gaps"]:
        if (row["model"], row["seed"], row["alone"]) == ("BERT", 0, False):
            shipped = record["validation"][row["kind"]][row["text"]]
            assert shipped == pytest.approx(row["share"], abs=0.005)  # float16
    words = bert_pretraining.Data(1_000).tokens()
    assert shipped_words(bert_pretraining.NAME) == words
    assert BERT.pretrained(bert_pretraining.NAME).config.vocab_size == len(words)


def test_the_script_runs_from_end_to_end():
    result, stored = bert_pretraining.main(["--quick"]), runs.read(bert_pretraining.STORED)
    assert set(stored) <= set(result)
    found = {tuple(row) for row in stored["gaps"]}
    assert {tuple(row) for row in result["gaps"]} == found
    assert {row["model"] for row in result["gaps"]} == {row["model"] for row in stored["gaps"]}
