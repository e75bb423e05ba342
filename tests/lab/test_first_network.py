"""Chapter 04's stored run: it begins as chance does, learns, and is what its script computes."""

import math

import pytest
import torch

from lab import first_network
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.measurements import load_measurements

STORED = load_measurements("first_network")


def test_the_run_goes_from_chance_to_what_the_chapter_says():
    frames, settings = STORED["frames"], STORED["settings"]
    losses = [frame["loss"] for frame in frames]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == pytest.approx(math.log(settings["vocab_size"]), abs=0.05)
    assert "KING HERW" in frames[-1]["text"] and frames[-1]["next"][0][0] == "t"
    assert sum(p for _, p in frames[0]["next"]) < 0.2 < frames[-1]["next"][0][1]


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
    assert found["next"][0] == ["t", 1.0] and found["loss"] == pytest.approx(0, abs=1e-3)
