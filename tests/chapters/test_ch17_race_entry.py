"""An entry to the race: any sensible setting runs under the rules, nonsense is refused in words."""

import math

import pytest
import torch

from scratchformer.cli import read_config
from scratchformer.data import Playhouse
from scratchformer.data.corpora import Corpus
from scratchformer_course.ch17_speedrun import race_entry as entry


@pytest.fixture
def small(monkeypatch):
    """A text of a few thousand characters, and a record of few steps."""
    corpus = Corpus("playhouse", Playhouse().text(6000), "embedded")
    monkeypatch.setattr(entry, "load_corpus", lambda name: corpus)
    record = entry.record_settings() | {"steps": 2, "batch_size": 2}
    monkeypatch.setattr(entry, "record_settings", lambda: record)


def test_the_record_is_the_configuration():
    config = read_config("lab/configs/record-mean.toml")
    settings = config["model"] | config["training"]
    assert entry.record_settings() == {k: v for k, v in settings.items() if k not in entry.FIXED}


def test_the_record_against_itself_is_a_tie_and_validation_is_not_read(small, monkeypatch):
    splits, scored_split = [], entry.scored_split
    monkeypatch.setattr(
        entry, "scored_split", lambda ids, name: splits.append(name) or scored_split(ids, name)
    )
    result = entry.enter({})
    assert result.losses[0] == result.losses[1] and splits == ["development"]


def test_a_sensible_setting_is_trained_and_reported(small):
    changes = {"steps": 3, "muon_lr": None, "betas": (0.9, 0.95), "positions": "rotary"}
    result = entry.enter(changes | {"context_length": 32, "precision": "bfloat16"}, seeds=2)
    assert len(result.losses[0]) == len(result.losses[1]) == 2 and result.steps == (2, 3)
    assert all(map(math.isfinite, result.losses[1])) and "Your entry" in str(result)


def test_nonsense_and_a_run_without_end_are_refused(small, monkeypatch):
    for words, changes in {
        "no setting 'learning_rate', expected some of activation, ": {"learning_rate": 0.1},
        "expected two numbers from 0 to below 1": {"betas": (0.9, 2.0)},
        "device is not for an entry to choose": {"device": "cuda"},
    }.items():
        with pytest.raises(ValueError, match=words):
            entry.enter(changes)
    monkeypatch.setattr(entry, "LONGEST", 0)
    with pytest.raises(ValueError, match="0 seconds are over after 1 of 10000 steps"):
        entry._run(entry.entry_settings({"steps": 10_000}), torch.arange(4000) % 7, 7, 0)


@pytest.mark.parametrize(
    ("words", "losses", "seconds"),
    [
        ("misses the wanted loss by 0.035", [1.9], 0.5),
        ("takes 0.50 of its seconds, with 0.025 nats to spare", [1.84], 0.5),
        ("one seed can be off by 0.020", [1.86], 0.5),
        ("a mean of 2 seeds can be off by 0.014", [1.86, 1.86], 0.5),
        ("the clock's noise", [1.8], 0.95),
        ("but not sooner: it takes 1.20 times", [1.8], 1.2),
        ("did not learn", [math.nan], 0.5),
    ],
)
def test_the_verdict_says_by_how_much_and_whether_it_may_be_luck(words, losses, seconds):
    result = entry.Entry((60, 50), (9, 8), ([1.85], losses), ([1.0], [seconds]), 1.865, 0.01)
    assert words in result.verdict()
    assert ("luck" in result.verdict()) == (losses[0] == 1.86)
