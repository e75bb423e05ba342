"""The speedrun: a fair rival, and a chapter that races with the settings of the record."""

from pathlib import Path

import nbformat
import pytest
import torch

from lab import nanogpt
from scratchformer.cli import read_config

ROOT = Path(__file__).resolve().parents[2]
V = 65
IDS = torch.randint(V, (700,), generator=torch.Generator().manual_seed(0))


def test_the_rival_is_nanogpt_s_network_learns_and_has_its_rates():
    theirs = nanogpt.reference(V)
    assert sum(p.numel() for p in theirs.parameters()) == 804_096  # as its own code counts
    assert all(block.mlp.activation.approximate == "none" for block in theirs.h)
    _, curve = nanogpt.reference_run(IDS, V, seed=0, steps=60)
    assert curve["train_loss"][0] > 4 > 3.5 > curve["train_loss"][-1]
    rates = [nanogpt.reference_rate(step, 2000) for step in (0, 100, 1050, 1999)]
    assert rates == pytest.approx([1e-3 / 101, 1e-3, 5.5e-4, 1e-4], rel=1e-3)


def test_the_chapters_loop_has_the_settings_of_the_record():
    """Its network is held equal on the page; here are the numbers that its loop writes out."""
    cells = nbformat.read(ROOT / "notebooks" / "17_speedrun.ipynb", as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    training = read_config(ROOT / "lab" / "configs" / "record-mean.toml")["training"]
    assert f"STEPS = chapter.budget(cpu={training['steps']}, smoke=" in code
    assert f"WindowSampler(ids, {training['batch_size']}, T, seed, replacement=False)" in code
    assert f'"betas": {tuple(training["betas"])}' in code
    assert f'"weight_decay": {training["weight_decay"]}' in code
    assert f"lr={training['muon_lr']})" in code and f"lr={training['lr']})" in code
    assert f"momentum={training['muon_momentum']})" in code
    assert training["replacement"] is False and training["schedule"] == "linear"
