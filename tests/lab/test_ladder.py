"""The ladder: causal rungs, heads equal to a list of heads, stored figures the chapter tells."""

import json
from pathlib import Path

import nbformat
import pytest
import torch

from lab import ladder as benchmark
from lab.variants import Rung, RungBlock
from scratchformer.attention import causal_mask
from scratchformer.blocks import TransformerBlock

ROOT = Path(__file__).resolve().parents[2]
V = 65

stored = json.loads(benchmark.STORED.read_text())
rungs = pytest.mark.parametrize("name", list(benchmark.RUNGS))


def sharpened(model):
    """Large random weights, so that a difference shows."""
    torch.manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.5)
    return model


@rungs
def test_a_changed_future_token_changes_no_past_logit(name):
    model = sharpened(benchmark.build(name, V, seed=0))
    ids = torch.randint(V, (1, 8))
    for t in range(8):
        changed = ids.clone()
        changed[0, t] = (ids[0, t] + 1) % V
        before, after = model(ids), model(changed)
        torch.testing.assert_close(before[:, :t], after[:, :t], rtol=0, atol=1e-5)
        assert not torch.allclose(before[:, t], after[:, t])


def test_attention_reads_the_past_and_the_first_rungs_do_not():
    ids = torch.randint(V, (1, 8))
    changed = ids.clone()
    changed[0, 0] = (ids[0, 0] + 1) % V
    for name in benchmark.RUNGS:
        model = sharpened(benchmark.build(name, V, seed=0))
        reads = not torch.equal(model(ids)[:, -1], model(changed)[:, -1])
        assert reads == (name not in ("bigram table", "embedding")), name


@rungs
def test_batched_heads_equal_a_list_of_heads_with_the_same_weights(name):
    batched = benchmark.build(name, V, seed=0)
    listed = benchmark.with_list_of_heads(batched)
    ids = torch.randint(V, (4, 8))
    torch.testing.assert_close(batched(ids), listed(ids))
    torch.testing.assert_close(batched(ids[:, :5]), listed(ids[:, :5]))
    count = [sum(p.numel() for p in model.parameters()) for model in (batched, listed)]
    assert count[0] == count[1]


def test_the_two_loops_learn_the_same_from_the_same_batches():
    """The textbook's loop is a fair rival: the same gradients, the same optimizer."""
    ids = torch.arange(40) % 7
    batched = benchmark.build("layer norm", 7, seed=0)
    listed = benchmark.with_list_of_heads(batched)
    benchmark.by_package(batched, ids, ids, 1, 1e-3, seed=3)
    benchmark.by_textbook(listed, ids, 1, 1e-3, seed=3)
    for name in ("wte", "lm_head", "ln_f"):
        ours, theirs = getattr(batched, name).weight, getattr(listed, name).weight
        torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-5)


def test_the_top_rungs_block_is_the_packages_block():
    ours = sharpened(RungBlock(32, 4, 8, 128, project=True, residual=True, norm=True))
    theirs = TransformerBlock(32, 4, activation="relu")
    theirs.ln_1.load_state_dict(ours.ln_1.state_dict())
    theirs.ln_2.load_state_dict(ours.ln_2.state_dict())
    theirs.attn.c_proj.load_state_dict(ours.attn[1].state_dict())
    theirs.mlp.c_fc.load_state_dict(ours.mlp[0].state_dict())
    theirs.mlp.c_proj.load_state_dict(ours.mlp[2].state_dict())
    theirs.attn.c_attn.weight.data = ours.attn[0].c_attn.weight.data
    torch.nn.init.zeros_(theirs.attn.c_attn.bias)
    x = torch.randn(3, 8, 32)
    torch.testing.assert_close(ours(x), theirs(x, causal_mask(8)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["bigram table", "embedding", "layer norm"])
def test_parameter_counts_are_those_of_the_formula(name):
    C, T, H, F = 32, 8, 32, 128
    block = 2 * 2 * C + 3 * C * H + (H + 1) * C + (C + 1) * F + (F + 1) * C
    expected = {
        "bigram table": V * V,
        "embedding": V * C + (C + 1) * V,
        "layer norm": V * C + T * C + 3 * block + 2 * C + (C + 1) * V,
    }[name]
    assert sum(p.numel() for p in benchmark.build(name, V, seed=0).parameters()) == expected


def test_one_batch_can_be_learned_by_heart():
    model = Rung(11, d_ff=128, n_layers=2, project=True, residual=True, norm=True)
    ids = torch.arange(10).repeat(3)
    history = benchmark.by_package(model, ids, ids, 60, 1e-2, seed=0)
    assert history.train_loss[-1] < 1.0 and history.val_loss[-1] < 0.2


def test_stored_figures_are_complete_and_of_the_code_as_it_is():
    assert [r["name"] for r in stored["rungs"]] == list(benchmark.RUNGS)
    assert stored["settings"]["seeds"] == list(benchmark.SEEDS)
    assert stored["settings"]["batch_size"] == 32 and stored["settings"]["context_length"] == 8
    assert {"python", "torch", "numpy"} <= set(stored["versions"]) and stored["seconds"] > 0
    assert list(stored["kneser_ney"]) == [str(n) for n in range(1, 10)]
    for rung in stored["rungs"]:
        (steps, lr), settings, published = benchmark.RUNGS[rung["name"]]
        assert (rung["steps"], rung["lr"]) == (steps, lr)
        assert (rung["settings"], rung["published"]) == (settings, published)
        assert list(rung["runs"]) == [str(seed) for seed in benchmark.SEEDS]
        model = benchmark.build(rung["name"], V, seed=0)
        assert rung["parameters"] == sum(p.numel() for p in model.parameters())
        last = [run["val_loss"][-1] for run in rung["runs"].values()]
        assert rung["val_loss"] == pytest.approx(sum(last) / len(last), abs=1e-4)
        assert max(last) - min(last) < 0.06
    measured = {m["name"]: m for m in stored["speed"]["rungs"]}
    assert list(measured) == list(benchmark.RUNGS)


def test_stored_losses_are_the_published_ones_up_to_seeds():
    for rung in stored["rungs"]:
        if rung["published"]:
            assert rung["val_loss"] == pytest.approx(rung["published"], abs=0.035), rung["name"]


def test_the_chapter_tells_the_stored_losses():
    """Its table is made of what the package holds: a notebook opened alone has it too."""
    notebook = nbformat.read(ROOT / "notebooks" / "10_bigram_to_gpt.ipynb", 4)
    (cell,) = [c for c in notebook.cells if 'load_measurements("ladder")' in c.source]
    printed = cell.outputs[0]["text"].splitlines()
    below = None  # the loss of the rung below; the line in brackets is no rung
    for rung in stored["rungs"]:
        (line,) = [row for row in printed if row.startswith(f"{rung['name']:16}")]
        last = [r["val_loss"][-1] for r in rung["runs"].values()]
        gain = below - rung["val_loss"] if below and rung["published"] else None
        below = rung["val_loss"] if rung["published"] else below
        figures = [rung["published"], rung["val_loss"], gain, max(last) - min(last)]
        told = [float(number) for number in line[16:].split()]
        assert told == pytest.approx([n for n in figures if n is not None], abs=6e-4)
    assert printed[-1].split() == ["scaled", "up", str(stored["scaled_up"]["published"])]


def test_the_benchmark_runs_from_end_to_end(monkeypatch):
    text = "to be or not to be, that is the question. " * 20

    class Small:
        is_real = False

    Small.text = text
    monkeypatch.setattr(benchmark, "load_corpus", lambda name: Small)
    few = ["--seeds", "1", "--steps", "2", "--repeats", "1", "--speed-steps", "1"]
    result = benchmark.main(few)
    assert json.loads(json.dumps(result))["rungs"][0]["runs"]["1337"]["at"] == [2]
    with pytest.raises(SystemExit, match="not replaced"):
        benchmark.main([*few, "--write"])
