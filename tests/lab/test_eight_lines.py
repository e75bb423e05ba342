"""The eight lines on classes of others: what is stored has a verdict, and a new class gets one."""

import pytest

from lab import eight_lines
from scratchformer_course.measurements import load_measurements


def test_every_stored_class_has_a_verdict_and_a_reason():
    for found in load_measurements("eight_lines")["releases"].values():
        assert found["fine"] and found["rows"]
        for row in found["rows"]:
            assert row == eight_lines.told(row)
            assert row.get("why") if row["verdict"] == "not built" else "by_design" in row


def test_a_process_that_was_ended_is_a_class_that_was_not_built():
    row = {"kind": "new", "class": "New", "test": "not built", "measured": "no end in 30 s"}
    told = eight_lines.told(row)
    assert told["verdict"] == "not built" and told["why"] == "no end in 30 s"


def test_a_causal_class_passes_and_one_that_reads_both_ways_does_not():
    pytest.importorskip("transformers", reason="transformers is not installed")
    (row,) = eight_lines.examine("gpt2", "GPT2LMHeadModel")
    assert row["verdict"] == "fine" and row["moved"] < 1e-4
    (row,) = eight_lines.examine("xlnet", "XLNetLMHeadModel")
    assert row["verdict"] == "sees the future" and row["off"] > 1e-4
