"""Chapter 04's stored run: it begins as chance does, learns, and is what its script computes."""

import math

import pytest
import torch

from lab import first_network
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.measurements import load_measurements

STORED = load_measurements("first_network")


def test_the_run_goes_from_chance_to_what_the_chapter_says():
    frames, settings = STORED["run"]["frames"], STORED["settings"]["run"]
    losses = [frame["loss"] for frame in frames]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == pytest.approx(math.log(settings["vocab_size"]), abs=0.05)
    assert "KING HERW" in frames[-1]["text"]


def test_a_frame_is_what_the_network_writes_and_expects():
    tok = CharTokenizer.train("First Citizen\nROMEO:")
    torch.manual_seed(0)
    network = first_network.Network(tok.vocab_size)
    with torch.no_grad():
        network.out.weight.zero_()
        network.out.bias.zero_()
        network.out.bias[tok.encode("t")[0]] = 20  # sure of one letter
    ids = torch.tensor(tok.encode("tttttttttttt"))
    found = first_network.frame(network, tok, ids)
    assert found["text"] == "t" * first_network.WRITTEN
    assert found["loss"] == pytest.approx(0, abs=1e-3)


def test_the_network_of_the_page_has_the_weights_that_the_page_draws():
    network = first_network.of_the_page(65)
    draws = torch.Generator().manual_seed(first_network.SEED)
    E = torch.randn(65, 32, generator=draws, dtype=torch.float64)
    W1 = torch.randn(256, 128, generator=draws, dtype=torch.float64) / 16
    assert torch.equal(network.embed.weight, E) and torch.equal(network.hidden.weight.T, W1)
    assert not network.hidden.bias.any() and network.out.bias.dtype == torch.float64


def test_counts_foretell_what_they_have_seen():
    loss = first_network.ngram_loss("aaaa", "aa", 2, 1e-9, 2)  # after an a: three a, and the end
    assert loss == pytest.approx(math.log(4 / 3), abs=1e-6)
    guessing = first_network.ngram_loss("aaaa", "bb", 1, 1e9, 2)
    assert guessing == pytest.approx(math.log(2), abs=1e-6)
