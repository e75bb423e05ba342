"""Classes of others under diagnosis: no row is left without a reason, and none stops the rest."""

import os

import pytest

from lab import eight_lines, in_public
from lab.in_public_why import explained
from scratchformer_course.measurements import load_measurements


def test_every_stored_row_has_a_verdict_and_a_reason():
    for release, stored in load_measurements("in_public")["releases"].items():
        assert all(row == explained(row) and row["why"] for row in stored["rows"]), release
    for stored in load_measurements("eight_lines")["releases"].values():
        assert stored["fine"] and all(row == eight_lines.told(row) for row in stored["rows"])


def test_what_nobody_has_explained_is_a_row_without_a_reason():
    row = {"kind": "new", "class": "New", "test": "causality", "found": "failed", "measured": "1"}
    assert explained(row)["why"] == explained(row)["verdict"] == ""
    assert explained(row | {"kind": "prophetnet"})["verdict"] == "fault"
    assert explained(row | {"test": "gradients", "found": "noted"})["verdict"] == "by design"


def test_a_class_that_ends_its_process_is_a_row(monkeypatch):
    monkeypatch.setattr(in_public, "examine", lambda kind, name: os._exit(9))
    (row,) = in_public.apart("some", "Some")
    assert row["test"] == "not built" and "no end" in row["measured"]


def test_a_causal_class_passes_and_one_that_reads_both_ways_does_not():
    pytest.importorskip("transformers", reason="transformers is not installed")
    assert in_public.apart("gpt2", "GPT2LMHeadModel") == []
    assert eight_lines.examine("gpt2", "GPT2LMHeadModel") == []
    (row,) = eight_lines.examine("xlnet", "XLNetLMHeadModel")
    assert row["verdict"] == "sees the future" and row["off"] > 1e-4
