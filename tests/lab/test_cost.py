"""What book/past_one_machine.md computes and quotes: hours, costs, the ring, the measured table."""

import json
import re
import statistics
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from lab import cost
from scratchformer import cli
from scratchformer_course.pages.drawings import ring_passes

ROOT = Path(__file__).resolve().parents[2]


def test_hours_costs_and_bytes_are_those_of_the_formulas():
    assert cost.training_hours(1e9, 1e9, 10, 1e14, 0.5) == pytest.approx(6e18 / 5e14 / 3600)
    assert cost.implied_mfu(1e9, 1e9, 10, 1e14, 6e18 / 5e14 / 3600) == pytest.approx(0.5)
    assert cost.ring_bytes(100, 2) == 400 and cost.ring_bytes(100, 4) == 600
    ours = cli.read_config(ROOT / "lab" / "configs" / "gpt2-124m.toml")
    windows = ours["training"]["batch_size"] * ours["training"]["gradient_accumulation_steps"]
    assert windows * ours["model"]["context_length"] == cost.STEP_TOKENS == 524_288
    assert ours["training"]["steps"] * cost.STEP_TOKENS == cost.TOKENS
    assert ours["training"]["batch_size"] % 8 == 0  # the same share for each of eight
    big = cli.read_config(ROOT / "lab" / "configs" / "shakespeare-10m.toml")
    tokens = big["training"]["steps"] * big["training"]["batch_size"]
    assert tokens * big["model"]["context_length"] == cost.BIG_TOKENS


def test_a_ring_adds_up_and_sends_what_the_drawing_and_the_formula_say():
    """Four processes pass pieces of their gradients around, and count what they send."""
    n, numbers = 4, 12
    rows = [torch.randn(numbers, dtype=torch.float64) for _ in range(n)]
    expected, sent = sum(rows), 0
    pieces = [list(row.clone().chunk(n)) for row in rows]
    drawn = ring_passes(n)
    assert len(drawn) == 1 + 2 * (n - 1)
    for turn, ((before, _), (after, changed)) in enumerate(pairwise(drawn)):
        old = [list(row) for row in pieces]
        assert {receiver for receiver, _ in changed} == set(range(n))  # each is sent one piece
        for receiver, i in changed:
            arrived = old[(receiver - 1) % n][i]
            adds = turn < n - 1  # once around to add up, once around to hand out the sums
            pieces[receiver][i] = old[receiver][i] + arrived if adds else arrived.clone()
            grown = before[receiver][i] * adds + before[(receiver - 1) % n][i]
            assert after[receiver][i] == grown
            sent += len(arrived)
    for row in pieces:
        torch.testing.assert_close(torch.cat(row), expected)
    assert drawn[-1][0] == [[n] * n] * n
    assert sent / n * 4 == cost.ring_bytes(numbers, n)


def test_the_page_tells_the_baseline_and_the_record_as_the_table_has_them():
    page = cost.PAGE.read_text(encoding="utf-8")
    (*_, first_minutes, first_tokens), *_, (number, *_, minutes, tokens) = cost.RECORDS
    faster, fewer = first_minutes / minutes, first_tokens / tokens
    assert f"is {faster:.0f} times as fast as the first" in page
    assert f"the first run reads {fewer:.0f} times as many tokens" in page
    assert f"{faster / fewer:.1f} times as many\ntokens a second" in page
    assert f"six of the {number} records" in page and len(cost.RECORDS) == 6
    assert sorted(cost.RECORDS, key=lambda row: -row[3]) == list(cost.RECORDS)
    assert f"{6 * cost.GPT2 * cost.TOKENS / 1e18:.1f} · 10¹⁸ operations" in page
    assert f"{cost.NANOGPT_TOKENS / cost.TOKENS:.0f} times as many tokens" in page
    assert f"once through {cost.TOKENS / 1e9:.2f} billion\n  tokens" in page
    gigabytes = cost.TOKENS / 0.999 * 2 / 1e9  # 16 bits a token; a thousandth is for validation
    assert f"writes {gigabytes:.0f} GB" in page


def test_the_page_quotes_what_was_measured_and_computed():
    page = cost.PAGE.read_text(encoding="utf-8")
    assert cost.renewed(page) == page, "run `python -m lab.cost --write`"
    assert "another 15 %" in page and round(12 * 12 * 768 * 1024 / (6 * cost.GPT2), 2) == 0.15
    result = json.loads((ROOT / "lab" / "ddp.json").read_text())
    whole, pieces, two = (
        statistics.median(result["big"]["seconds"][way]) for way in ("whole", "in turn", "together")
    )
    assert whole / two > 2 and (whole - pieces) / (whole - two) > 0.5  # "twice", "most of that"
    for row in result["rows"]:
        share = int(re.search(r"(\d+)%", row["note"])[1]) / 100
        assert share < (1 - row["ratio"][0] / 2) / 2  # "the smaller part of what is missing"
    with pytest.raises(ValueError, match="has no place for the table 'measured'"):
        cost.renewed("")
