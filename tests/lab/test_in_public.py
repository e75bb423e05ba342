"""Classes of others under diagnosis: no row is left without a reason, and none stops the rest."""

import os

import pytest

from lab import in_public
from lab.in_public_why import explained
from scratchformer_course.measurements import load_measurements


def test_every_stored_row_has_a_verdict_and_a_reason():
    releases = load_measurements("in_public")["releases"]
    assert len(releases) >= 6 and list(releases) == sorted(releases, key=in_public.in_order)
    for release, found in releases.items():
        assert all(row == explained(row) and row["why"] for row in found["rows"]), release


def test_what_nobody_has_explained_is_a_row_without_a_reason():
    row = {"kind": "new", "class": "New", "test": "causality", "found": "failed", "measured": "1"}
    assert explained(row)["why"] == explained(row)["verdict"] == ""
    assert explained(row | {"kind": "prophetnet"})["verdict"] == "fault"
    assert explained(row | {"test": "gradients", "found": "noted"})["verdict"] == "by design"


def test_a_class_that_ends_its_process_is_a_row(monkeypatch):
    monkeypatch.setattr(in_public, "examine", lambda kind, name: os._exit(9))
    (row,) = in_public.apart("some", "Some")
    assert row["test"] == "not built" and "no end" in row["measured"]


def test_a_configuration_is_made_small_to_its_parts():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = in_public.small_config(transformers.Gemma3Config)
    assert config.text_config.hidden_size == 32 and config.text_config.num_hidden_layers == 2
    assert in_public.small_config(transformers.GPT2Config).n_layer == 2
    assert in_public.apart("gpt2", "GPT2LMHeadModel") == []
