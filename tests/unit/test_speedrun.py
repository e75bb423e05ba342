"""The speedrun: a fair rival, the rules kept, settings and figures as chapter 17 tells them."""

import ast
import json
import math
from pathlib import Path

import nbformat
import pytest
import torch

from benchmarks import speedrun
from scratchformer.cli import read_config
from scratchformer.models import GPT, GPTConfig, KneserNey, first_edition
from scratchformer.training import evaluate

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "notebooks" / "17_speedrun.ipynb"
V = 65
IDS = torch.randint(V, (700,), generator=torch.Generator().manual_seed(0))


def test_the_rival_computes_what_a_gpt_2_without_biases_computes():
    """nanoGPT's network: equal to the package's, whose GPT-2 is tested against Hugging Face's."""
    torch.manual_seed(0)
    ours = GPT(GPTConfig(V, **speedrun.NANOGPT["model"]))
    for block in ours.h:
        block.mlp.activation = torch.nn.GELU()  # exact, in place of GPT-2's approximation
    theirs = speedrun.Reference(V)
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
    theirs = speedrun.Reference(V)
    assert theirs.token.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert theirs.blocks[0]["qkv"].weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert theirs.blocks[3]["mix"].weight.std().item() == pytest.approx(0.02 / 8**0.5, rel=0.05)
    assert abs(evaluate(theirs, IDS, 64) - math.log(V)) < 0.1


def test_the_rivals_rate_rises_then_falls_to_a_tenth():
    rates = [speedrun.reference_rate(step, 2000) for step in range(2000)]
    assert rates[0] == pytest.approx(1e-3 / 101) and max(rates) == rates[100] == 1e-3
    assert rates[1050] == pytest.approx(5.5e-4) and rates[-1] == pytest.approx(1e-4, rel=1e-3)


def test_the_rival_learns_and_its_curve_ends_with_its_last_step():
    model, run = speedrun.reference_run(torch.arange(400) % 7, 7, seed=0, steps=60)
    assert run["curve"]["steps"][-1] == 60 and run["seconds"] == run["curve"]["seconds"][-1] > 0
    losses = run["curve"]["train_loss"]
    assert losses[0] > 1.5 and losses[-1] < 0.8 * losses[0]
    assert isinstance(model, speedrun.Reference)


@pytest.mark.parametrize("name", ["speedrun", "two-minutes"])
def test_the_configurations_are_whole_and_causal(name):
    config = read_config(ROOT / "configs" / f"{name}.toml")
    assert config["data"] == {"corpus": "tinyshakespeare", "tokenizer": "char"}
    torch.manual_seed(0)
    gpt = first_edition.build(V, config["model"])
    with torch.no_grad():
        for p in gpt.parameters():  # what starts at zero must be tested too
            p.normal_(std=0.1)
        T = gpt.context_length
        before = gpt(IDS[None, :T])
        for t in (0, 1, T // 2, T - 1):
            changed = IDS[None, :T].clone()
            changed[0, t] = (changed[0, t] + 1) % V
            after = gpt(changed)
            torch.testing.assert_close(after[:, :t], before[:, :t], rtol=0, atol=1e-4)
            assert not torch.allclose(after[:, t], before[:, t], atol=1e-4)


def test_every_rung_and_every_variant_can_be_built_and_trained():
    final = speedrun.configuration("speedrun")
    settings = [(m, t) for m, t in speedrun.rungs().values()]
    settings += [(final[0] | m, final[1] | t) for m, t in speedrun.WITHOUT.values()]
    for model, training in settings:
        small = model | {"d_model": 16, "n_heads": 2, "n_layers": 1}
        small |= {"bigram_rows": 64} if model.get("bigram_rows") else {}
        training = training | {"batch_size": 2}
        _, run = speedrun.our_run(small, training, IDS, V, seed=0, steps=2)
        assert run["curve"]["steps"] == [1, 2]
        assert all(map(math.isfinite, run["curve"]["train_loss"]))
        with torch.device("meta"):
            first_edition.build(V, model)  # raises for sizes that cannot be built


def test_probabilities_of_network_and_table_are_those_of_their_losses():
    torch.manual_seed(0)
    gpt = GPT(GPTConfig(V, context_length=16, d_model=16, n_heads=2, n_layers=1))
    network = speedrun.network_probabilities(gpt, IDS, 16)
    table = speedrun.table_probabilities(KneserNey(4).fit(IDS[:400], V), IDS)
    assert len(network) == len(table) == len(IDS) - 1
    assert speedrun.mixed_loss(network, table, 0.0) == pytest.approx(
        evaluate(gpt, IDS, 16), abs=1e-5
    )
    kn = KneserNey(4).fit(IDS[:400], V)
    first = -math.log(kn.next_probabilities([])[IDS[0]])
    whole = kn.nats_per_token(IDS) * len(IDS) - first  # all tokens but the first
    assert speedrun.mixed_loss(network, table, 1.0) == pytest.approx(whole / (len(IDS) - 1))
    between = speedrun.mixed_loss(network, table, 0.3)
    ends = [speedrun.mixed_loss(network, table, w) for w in (0.0, 1.0)]
    assert between <= 0.7 * ends[0] + 0.3 * ends[1]


def test_validation_is_not_read_for_any_choice(monkeypatch):
    """The table's weight and the variants come from the training part alone."""
    seen = []
    monkeypatch.setattr(speedrun, "SEEDS", (0,))

    def run(model, training, ids, *_, **__):
        seen.append(len(ids))
        torch.manual_seed(0)
        return GPT(GPTConfig(V, 64, 16, 2, 1)), {"seconds": 1.0, "curve": {}}

    monkeypatch.setattr(speedrun, "our_run", run)
    ids = IDS.repeat(30)
    speedrun.one_at_a_time(ids, V, quick=True, seeds=(0,))
    assert set(seen) == {int(0.9 * len(ids))}
    found = speedrun.quality(ids, IDS, V, quick=True, pairs=((0, 1),))
    other = speedrun.quality(ids, IDS.flip(0), V, quick=True, pairs=((0, 1),))
    assert found["weight"] == other["weight"] and found["on_dev"] == other["on_dev"]
    assert found["runs"] != other["runs"]


def chapter_calls(name):
    """The arguments of every call of `name` in the chapter, as written."""
    cells = nbformat.read(CHAPTER, as_version=4).cells
    sources = [c.source for c in cells if c.cell_type == "code" and "%pip" not in c.source]
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                yield node


def value(node, **names):
    return eval(compile(ast.Expression(node), "chapter", "eval"), {"V": V, **names})


def test_the_chapters_ladder_is_the_benchmarks():
    told = {}
    for call in chapter_calls("climb"):
        name, *changes = (value(arg) for arg in call.args)
        changes = dict(zip(("of_model", "of_training"), changes, strict=False))
        changes |= {k.arg: value(k.value) for k in call.keywords}
        told[name] = changes.get("of_model", {}), changes.get("of_training", {})
    first, *others = speedrun.LADDER
    assert list(told) == [first, *others]
    for name in others:
        assert told[name] == speedrun.LADDER[name][1:], name


def test_the_chapter_races_with_the_configuration():
    """The last rung, with the race's own number of steps, is the setting in the file."""
    cells = nbformat.read(CHAPTER, as_version=4).cells
    (source,) = [c.source for c in cells if "sprint = " in c.source]
    told = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Assign)]
    (node,) = [n for n in told if ast.unparse(n.targets[0]) == "sprint"]
    of_model, of_training = list(speedrun.rungs().values())[-1]
    sprint = value(node.value, training=of_training)
    model, training = speedrun.configuration("speedrun")
    full, own = (first_edition.build(V, settings).config for settings in (of_model, model))
    assert full == own
    assert sprint == {"warmup": 0, "context_length": model["context_length"]} | training


def stored():
    return json.loads(speedrun.STORED.read_text(encoding="utf-8"))


def test_stored_figures_are_of_the_code_as_it_is():
    found = stored()
    assert found["seeds"] == list(speedrun.SEEDS) and len(speedrun.SEEDS) >= 3
    assert {"python", "torch", "numpy"} <= set(found["versions"]) and found["hardware"]["cores"]
    as_json = json.loads(json.dumps({"nanoGPT": speedrun.NANOGPT}))
    assert found["settings"]["nanoGPT"] == as_json["nanoGPT"]
    for name in ("speedrun", "two-minutes"):
        config = json.loads(json.dumps(read_config(speedrun.CONFIGS / f"{name}.toml")))
        assert found["settings"][name] == config
    rungs = [(r["name"], r["steps"], r["model"], r["training"]) for r in found["ladder"]]
    ladder = json.loads(json.dumps([(name, *rung) for name, rung in speedrun.LADDER.items()]))
    assert [list(rung) for rung in rungs] == ladder
    assert [variant["name"] for variant in found["without"]] == list(speedrun.WITHOUT)
    pairs = found["two_minutes"]["pairs"]
    assert [pair["seeds"] for pair in pairs] == [list(pair) for pair in speedrun.PAIRS]
    seeds = [seed for pair in speedrun.PAIRS for seed in pair]
    assert [run["seed"] for run in found["two_minutes"]["runs"]] == seeds
    runs = list(found["race"].values())
    runs += [entry["runs"] for entry in found["ladder"] + found["without"]]
    assert all([run["seed"] for run in of_one] == found["seeds"] for of_one in runs)
    assert not {"host", "user", "path"} & set(json.dumps(found["hardware"]).lower().split('"'))


def test_stored_figures_say_what_they_claim():
    found = stored()
    race, long = found["race"], found["two_minutes"]
    ratios = [
        a["seconds"] / b["seconds"] for a, b in zip(race["nanoGPT"], race["ours"], strict=True)
    ]
    assert found["ratio"]["rounds"] == pytest.approx(ratios, abs=0.06)
    assert found["ratio"]["min"] > 20
    # nanoGPT's own code, measured apart: 1.898
    assert all(abs(run["val_loss"] - 1.898) < 0.03 for run in race["nanoGPT"])

    def mean(runs):
        return sum(run["val_loss"] for run in runs) / len(runs)

    assert mean(race["ours"]) <= mean(race["nanoGPT"])
    assert all(mean(rung["runs"]) < mean(race["nanoGPT"]) + 0.03 for rung in found["ladder"])
    for name, losses in long["on_dev"].items():
        assert losses[str(long["weight"][name])] == min(losses.values())
    for run in long["runs"] + long["pairs"]:
        assert run["mixed"] < min(run["val_loss"], long["table_loss"])
        assert run["seconds"] <= 130
    of_one = [run["val_loss"] for run in long["runs"]]
    for pair, two in zip(long["pairs"], zip(of_one[::2], of_one[1::2], strict=True), strict=True):
        assert pair["val_loss"] < sum(two) / 2  # a mean of probabilities, by Jensen's inequality


def test_the_benchmark_runs_from_end_to_end_and_stores_nothing_unasked(monkeypatch, tmp_path):
    monkeypatch.setattr(speedrun, "STORED", tmp_path / "speedrun.json")
    monkeypatch.setattr(speedrun, "LADDER", dict(list(speedrun.LADDER.items())[:2]))
    monkeypatch.setattr(speedrun, "WITHOUT", dict(list(speedrun.WITHOUT.items())[:2]))
    threads = torch.get_num_threads()

    class Small:
        is_real = False
        text = "to be or not to be, that is the question. " * 500

    monkeypatch.setattr(speedrun, "load_corpus", lambda name: Small)
    try:
        result = speedrun.main(["--quick"])
        with pytest.raises(SystemExit, match="not replaced"):
            speedrun.main(["--quick", "--write"])
    finally:
        torch.set_num_threads(threads)
    assert json.loads(json.dumps(result))["race"]["ours"][0]["seed"] == 0
    assert not speedrun.STORED.exists()
