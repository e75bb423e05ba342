"""The speedrun: a fair rival, and a chapter that races with the settings of the record."""

import math
from pathlib import Path

import nbformat
import pytest
import torch

from lab import nanogpt
from scratchformer.cli import read_config
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import evaluate

ROOT = Path(__file__).resolve().parents[2]
V = 65
IDS = torch.randint(V, (700,), generator=torch.Generator().manual_seed(0))


def test_the_rival_computes_what_a_gpt_2_without_biases_computes():
    """nanoGPT's network: equal to the package's, whose GPT-2 is tested against Hugging Face's."""
    torch.manual_seed(0)
    ours = GPT(GPTConfig(V, **nanogpt.NANOGPT["model"]))
    for block in ours.h:
        block.mlp.activation = torch.nn.GELU()  # exact, in place of GPT-2's approximation
    theirs = nanogpt.Reference(V)
    assert sum(p.numel() for p in theirs.parameters()) == 804_096  # as its own code counts
    with torch.no_grad():
        theirs.token.weight.copy_(ours.wte.weight.normal_())
        theirs.position.weight.copy_(ours.wpe.weight)
        theirs.norm.load_state_dict(ours.ln_f.state_dict())
        for block, own in zip(theirs.blocks, ours.h, strict=True):
            for mine, layer in (
                ("norm_1", own.ln_1),
                ("qkv", own.attn.c_attn),
                ("mix", own.attn.c_proj),
                ("norm_2", own.ln_2),
                ("wide", own.mlp.c_fc),
                ("narrow", own.mlp.c_proj),
            ):
                block[mine].load_state_dict(layer.state_dict())
        ids = IDS[:128].view(2, 64)
        torch.testing.assert_close(theirs(ids), ours(ids), rtol=1e-4, atol=1e-3)


def test_the_rival_starts_as_gpt_2_does():
    torch.manual_seed(0)
    theirs = nanogpt.Reference(V)
    assert theirs.token.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert theirs.blocks[0]["qkv"].weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert theirs.blocks[3]["mix"].weight.std().item() == pytest.approx(0.02 / 8**0.5, rel=0.05)
    assert abs(evaluate(theirs, IDS, 64) - math.log(V)) < 0.1


def test_the_rivals_rate_rises_then_falls_to_a_tenth():
    rates = [nanogpt.reference_rate(step, 2000) for step in (0, 100, 1050, 1999)]
    assert rates == pytest.approx([1e-3 / 101, 1e-3, 5.5e-4, 1e-4], rel=1e-3)


def test_the_chapters_loop_has_the_settings_of_the_record():
    """Its network is held equal on the page; here are the numbers that its loop writes out."""
    cells = nbformat.read(ROOT / "notebooks" / "17_speedrun.ipynb", as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    found = read_config(ROOT / "lab" / "configs" / "record-mean.toml")["training"]
    assert f"STEPS = chapter.budget(cpu={found['steps']}, smoke=" in code
    assert f"WindowSampler(ids, {found['batch_size']}, T, seed, replacement=False)" in code
    assert f'"betas": {tuple(found["betas"])}' in code
    assert f'"weight_decay": {found["weight_decay"]}' in code
    assert f"lr={found['muon_lr']})" in code and f"lr={found['lr']})" in code
    assert f"momentum={found['muon_momentum']})" in code
    assert found["replacement"] is False and found["schedule"] == "linear"
