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
    assert result.losses[0] == result.losses[1] and len(set(result.parameters)) == 1
    assert splits == ["development"]


def test_a_sensible_setting_is_trained_and_reported(small):
    changes = {
        "steps": 3,
        "muon_lr": None,
        "betas": (0.9, 0.95),
        "warmup": 1,
        "positions": "rotary",
    }
    result = entry.enter(changes | {"context_length": 32, "precision": "bfloat16"}, seeds=2)
    assert len(result.losses[0]) == len(result.losses[1]) == 2 and result.steps == (2, 3)
    assert all(math.isfinite(loss) for loss in result.losses[1])
    assert all(seconds > 0 for side in result.seconds for seconds in side)
    assert "Your entry" in str(result)


def test_nonsense_is_refused_with_what_came_and_what_was_expected(small):
    for words, changes in {
        "no setting 'learning_rate', expected some of activation, ": {"learning_rate": 0.1},
        "expected two numbers from 0 to below 1": {"betas": (0.9, 2.0)},
        "device is not for an entry to choose": {"device": "cuda"},
    }.items():
        with pytest.raises(ValueError, match=words):
            entry.enter(changes)


def test_a_run_that_never_ends_is_stopped(small, monkeypatch):
    monkeypatch.setattr(entry, "LONGEST", 0)
    with pytest.raises(ValueError, match="0 seconds are over after 1 of 10000 steps"):
        entry._run(entry.entry_settings({"steps": 10_000}), torch.arange(4000) % 7, 7, 0)


def an_entry(losses, seconds, target=1.865):
    return entry.Entry((60, 50), (9, 8), ([1.85], losses), ([1.0], seconds), target, 0.01)


def test_the_verdict_says_by_how_much_and_whether_it_may_be_luck():
    for words, result in {
        "misses the wanted loss by 0.035": an_entry([1.9], [0.5]),
        "takes 0.50 of its seconds, with 0.025 nats to spare": an_entry([1.84], [0.5]),
        "one seed can be off by 0.020": an_entry([1.86], [0.5]),
        "a mean of 2 seeds can be off by 0.014": an_entry([1.86, 1.86], [0.5]),
        "the clock's noise": an_entry([1.8], [0.95]),
        "but not sooner: it takes 1.20 times": an_entry([1.8], [1.2]),
        "did not learn": an_entry([math.nan], [0.5]),
    }.items():
        assert words in result.verdict()
    assert "luck" not in an_entry([1.84], [0.5]).verdict()
