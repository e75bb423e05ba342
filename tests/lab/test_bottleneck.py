"""Chapter 14's trial: one vector is the mean of the vectors of the words, nothing else differs."""

import pytest
import torch

from lab import bottleneck, runs

TEXTS = ["the dog sees the king", "we know that the small dog can see the old cat"]


@pytest.fixture
def model():
    return bottleneck.train("words", 0.001, 2, seed=0)


def test_one_vector_is_the_mean_of_a_sources_states_without_its_padding(model):
    source = bottleneck.sources(TEXTS)
    (words, _), (mean, seen) = (
        bottleneck.handed_over(name, model, source) for name in ("words", "mean")
    )
    torch.testing.assert_close(mean[0, 0], words[0, :6].mean(dim=0))  # five words and their end
    torch.testing.assert_close(mean[1, 0], words[1].mean(dim=0))
    assert mean.shape[1] == 1 and (seen != bottleneck.PAD).all()


def test_what_is_written_alone_is_written_in_a_batch(model):
    for name in bottleneck.LENGTHS:
        alone = [bottleneck.write(name, model, [text])[0] for text in TEXTS]
        assert bottleneck.write(name, model, TEXTS) == alone


def test_the_script_stores_what_the_chapter_reads(monkeypatch, tmp_path):
    monkeypatch.setattr(bottleneck, "FILE", tmp_path / "bottleneck.json")
    monkeypatch.setattr(bottleneck, "LENGTHS", {"words": (2,), "mean": (2, 3)})
    monkeypatch.setattr(bottleneck, "TESTED", 6)
    bottleneck.main(["--write", "--only", "words"])
    bottleneck.main(["--write", "--only", "mean"])
    stored = runs.read(tmp_path / "bottleneck.json")
    assert [run["steps"] for run in stored["mean"]["runs"]] == [2, 2, 2, 3, 3, 3]
    assert stored["mean"]["parameters"] == stored["words"]["parameters"]
    for run in stored["mean"]["runs"]:
        assert sum(n for _, n in run["unseen"].values()) == 6
