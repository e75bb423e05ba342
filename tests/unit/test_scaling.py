"""Costs by formula equal costs by count; the law is found again where it is known."""

import ast
import importlib.util
import json
from collections import Counter
from concurrent.futures import Future
from itertools import pairwise
from pathlib import Path

import jaxtyping
import nbformat
import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from scratchformer.data.playhouse import Playhouse
from scratchformer.models import GPT, GPTConfig, SpeedrunConfig
from scratchformer.scaling import (
    ScalingLaw,
    activation_bytes,
    bootstrap,
    cache_bytes,
    count_parameters,
    fit_law,
    forward_flops,
    non_embedding,
)

ROOT = Path(__file__).resolve().parents[2]
GPT2 = {  # Radford et al. 2019's four sizes, with the parameters of the released weights
    (768, 12, 12): 124_439_808,
    (1024, 16, 24): 354_823_168,
    (1280, 20, 36): 774_030_080,
    (1600, 25, 48): 1_557_611_200,
}
CONFIGS = [
    GPTConfig(65, 16, d_model=32, n_heads=4, n_layers=3),
    GPTConfig(11, 8, d_model=16, n_heads=2, n_layers=1, bias=False),
]


@pytest.mark.parametrize("size", GPT2)
def test_gpt2_has_its_published_number_of_parameters(size):
    C, H, L = size
    assert sum(count_parameters(GPTConfig(50_257, 1024, C, H, L)).values()) == GPT2[size]


@pytest.mark.parametrize("config", CONFIGS)
def test_parameters_by_formula_equal_those_of_the_model(config):
    with torch.device("meta"):
        model = GPT(config)
    by_part = count_parameters(config)
    assert sum(by_part.values()) == sum(p.numel() for p in model.parameters())
    counted = {"attention": ".attn.", "feed-forward": ".mlp.", "norms": "ln_"}
    for part, piece in counted.items():
        own = [p.numel() for name, p in model.named_parameters() if piece in name]
        assert by_part[part] == sum(own), part


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("T", [5, 8])
def test_flops_by_formula_equal_those_counted_by_torch(config, T):
    with torch.device(
        "meta"
    ):  # there the fused kernel, which the counter does not know, is not used
        model, ids = GPT(config), torch.zeros(1, T, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model(ids)
    assert counter.get_total_flops() == sum(forward_flops(config, T).values())


@pytest.mark.parametrize("config", CONFIGS)
def test_cache_bytes_equal_those_of_a_full_cache(config):
    model = GPT(config)
    cache = model.new_cache()
    model(torch.zeros(1, config.context_length, dtype=torch.long), cache=cache)
    held = sum(x.numel() * x.element_size() for layer in cache for x in (layer.k, layer.v))
    assert held == cache_bytes(config)


def kept_for_backward(model, ids):
    """Bytes of all different tensors that autograd keeps of one forward pass, parameters aside."""
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = (storage.nbytes(), tensor)  # held, or memory is used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = model(ids)
    assert logits.requires_grad
    return sum(size for size, _ in kept.values())


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(("B", "T"), [(1, 8), (3, 5)])
def test_activation_bytes_equal_what_autograd_keeps(config, B, T):
    kept = kept_for_backward(GPT(config), torch.zeros(B, T, dtype=torch.long))
    assert kept == activation_bytes(config, B, T)


def test_non_embedding_parameters_are_those_of_blocks_and_last_norm():
    with torch.device("meta"):
        model = GPT(CONFIGS[0])
    parts = [*model.h.parameters(), *model.ln_f.parameters()]
    assert non_embedding(CONFIGS[0]) == sum(p.numel() for p in parts)


COUNTS = [count_parameters, forward_flops, cache_bytes, lambda config: activation_bytes(config, 1)]


@pytest.mark.parametrize("count", COUNTS)
def test_the_config_of_another_model_is_refused(count):
    jaxtyping.config.update("jaxtyping_disable", True)  # its check of types would come first
    try:
        with pytest.raises(ValueError, match="got a SpeedrunConfig, expected a GPTConfig"):
            count(SpeedrunConfig(11, 8, 16, 2, 1))
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def test_dropout_which_keeps_masks_is_refused_where_activations_are_counted():
    config = GPTConfig(11, 8, 16, 2, 1, dropout=0.1)
    with pytest.raises(ValueError, match=r"dropout=0\.1 is not counted"):
        activation_bytes(config, 1)
    with torch.device("meta"):
        model = GPT(config)
    assert sum(count_parameters(config).values()) == sum(p.numel() for p in model.parameters())


LAW = ScalingLaw(E=1.69, A=406.4, alpha=0.34, B=410.7, beta=0.28)  # Hoffmann et al. 2022
N, D = np.meshgrid([1e7, 1e8, 1e9, 1e10], [1e9, 1e10, 1e11])


def test_a_law_is_found_again_from_its_own_losses():
    found = fit_law(N, D, LAW(N, D))
    for name in ("E", "A", "alpha", "B", "beta"):
        assert getattr(found, name) == pytest.approx(getattr(LAW, name), rel=1e-2), name


def test_one_wild_run_does_not_move_the_law():
    loss = LAW(N, D)
    loss[1, 1] *= 1.5
    assert fit_law(N, D, loss).alpha == pytest.approx(LAW.alpha, rel=0.1)


def test_bootstrap_covers_the_law_and_repeats_with_its_seed():
    noise = np.random.default_rng(0).normal(1, 1e-3, N.shape)
    laws = bootstrap(N, D, LAW(N, D) * noise, repeats=20, seed=1)
    alphas = [law.alpha for law in laws]
    assert min(alphas) < LAW.alpha < max(alphas) and len(set(alphas)) > 1
    assert laws == bootstrap(N, D, LAW(N, D) * noise, repeats=20, seed=1)


def test_best_allocation_is_a_minimum_on_its_budget():
    flops = 5.76e23  # Chinchilla's
    n, d = LAW.best_allocation(flops)
    assert 6 * n * d == pytest.approx(flops)
    for factor in (0.9, 1.1):
        assert LAW(n * factor, d / factor) > LAW(n, d)


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (([1.0] * 5, [1.0] * 5, [1.0] * 5), "got 5 runs, expected at least 6"),
        (([1.0] * 6, [1.0] * 6, [1.0] * 5 + [float("nan")]), "positive and finite"),
        (([1.0] * 6, [0.0] * 6, [1.0] * 6), "positive and finite"),
    ],
)
def test_runs_that_make_no_sense_are_refused(runs, message):
    with pytest.raises(ValueError, match=message):
        fit_law(*runs)


# The runs that the chapter quotes, and the script that makes them


def load_benchmark():
    spec = importlib.util.spec_from_file_location("scaling_runs", ROOT / "benchmarks/scaling.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


benchmark = load_benchmark()
stored = json.loads(benchmark.STORED.read_text())


def test_stored_runs_are_those_of_the_script_and_say_what_they_were():
    wanted = benchmark.cells(benchmark.SIZES, benchmark.STEPS)
    wanted = [(corpus, *run) for corpus, runs in wanted.items() for run in runs]
    keys = ("corpus", "size", "steps", "seed", "share")
    listed = [tuple(run[key] for key in keys) for run in stored["runs"] + stored["left_out"]]
    listed = [(corpus, tuple(size), *rest) for corpus, size, *rest in listed]
    assert sorted(listed) == sorted(wanted)
    assert len(stored["left_out"]) <= 3
    assert {"python", "torch", "numpy"} <= set(stored["versions"])
    settings = stored["settings"]
    assert settings["context_length"] == benchmark.CONTEXT
    assert settings["batch_size"] == benchmark.BATCH
    assert settings["steps"] == list(benchmark.STEPS) and settings["rates"] == list(benchmark.RATES)
    for run in stored["runs"]:
        assert run["D"] == run["steps"] * benchmark.BATCH * benchmark.CONTEXT
        assert run["N"] == non_embedding(benchmark.config_of(run["size"], 65))
        assert run["seconds"] > 0 and (run["passes"] > 1.0) == (
            run["corpus"] == "tinyshakespeare" and run["D"] > 903_467 * run["share"]
        )


def test_stored_rates_are_the_best_of_those_tried():
    tried = {(t["corpus"], tuple(t["size"]), t["steps"]): t["dev"] for t in stored["tuning"]}
    first, _, third, _ = benchmark.STEPS
    for run in stored["runs"]:
        tuned_at = first if run["steps"] < third else third
        losses = tried[run["corpus"], tuple(run["size"]), tuned_at]
        assert len(losses) >= 2
        assert run["lr"] == float(min(losses, key=losses.get))


def test_playhouse_cannot_be_predicted_better_than_its_windows_allow():
    floor, error = stored["floor"]["nats"], stored["floor"]["standard_error"]
    assert Playhouse().entropy_per_char() == pytest.approx(stored["entropy"])
    assert stored["entropy"] < floor - 3 * error
    assert floor + 3 * error < min(r["val"] for r in stored["runs"] if r["corpus"] == "playhouse")


def test_a_reader_of_windows_knows_less_the_shorter_they_are():
    """With windows of one character the floor is what bigrams leave open; it falls from there."""
    text = Playhouse(3).text(200_000)
    pairs, singles = Counter(pairwise(text)), Counter(text[:-1])
    bigrams = -sum(n * np.log(n / singles[pair[0]]) for pair, n in pairs.items()) / (len(text) - 1)
    one, error = benchmark.window_floor(1, 60, seed=4)
    assert one == pytest.approx(bigrams, abs=4 * error + 0.02)
    eight, _ = benchmark.window_floor(8, 20, seed=4)
    assert Playhouse().entropy_per_char() < eight < one - 0.5


def chapter_cells(part):
    notebook = nbformat.read(ROOT / "notebooks" / "16_scaling.ipynb", 4)
    return [cell.source for cell in notebook.cells if part in cell.source]


def chapter_tables():
    """name -> value of the tables that stand in the chapter."""
    code = "\n".join(chapter_cells(" = {  # "))
    names = ("budgets", "playhouse", "playhouse_again", "shakespeare", "shakespeare_again")
    assigned = [s for s in ast.parse(code).body if isinstance(s, ast.Assign)]
    return {
        s.targets[0].id: ast.literal_eval(s.value)
        for s in assigned
        if getattr(s.targets[0], "id", "") in (*names, "by_passes")
    }


def test_the_chapter_tells_the_stored_losses():
    told = chapter_tables()
    whole = [run for run in stored["runs"] if run["share"] == 1]
    for corpus, name in (("playhouse", "playhouse"), ("tinyshakespeare", "shakespeare")):
        first = {
            (N, D): loss
            for N, row in told[name].items()
            for D, loss in zip(told["budgets"], row, strict=True)
            if loss is not None
        }
        for seed, table in ((0, first), (1, told[f"{name}_again"])):
            runs = [r for r in whole if r["corpus"] == corpus and r["seed"] == seed]
            assert table == {(r["N"], r["D"]): r["val"] for r in runs}
    cell = next(r for r in stored["runs"] if r["share"] < 1)
    same = [r for r in stored["runs"] if r["corpus"] == cell["corpus"] and r["seed"] == 0]
    same = [r for r in same if (r["N"], r["D"]) == (cell["N"], cell["D"])]
    assert told["by_passes"] == {r["passes"]: r["val"] for r in same} and len(same) == 3
    (floor,) = chapter_cells("in_windows = ")
    assert f"entropy_per_char(), {stored['floor']['nats']:.3f}  # the second is quoted" in floor


class Inline:
    """Stands in for the pool of processes: runs each job at once."""

    def __init__(self, *args, **kwargs):
        pass

    def submit(self, function, *args):
        future = Future()
        future.set_result(function(*args))
        return future

    def shutdown(self):
        pass


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The script with little to do: few steps, one short text, no processes."""

    class Short:
        is_real = True
        text = "to be or not to be, that is the question. " * 500

    monkeypatch.setattr(benchmark, "load_corpus", lambda name: Short)
    monkeypatch.setattr(benchmark, "ProcessPoolExecutor", Inline)
    monkeypatch.setattr(benchmark, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(benchmark, "STORED", tmp_path / "scaling.json")
    monkeypatch.setattr(benchmark, "window_floor", lambda T, windows, seed: (0.3, 0.01))
    threads = torch.get_num_threads()
    yield ["--steps", "2", "3", "4", "5", "--sizes", "1", "--held-out", "2000"]
    torch.set_num_threads(threads)


def test_the_script_tunes_on_one_text_and_reads_another_once(small, monkeypatch):
    result = benchmark.main([*small, "--write"])
    assert json.loads(benchmark.STORED.read_text()) == json.loads(json.dumps(result))
    assert not result["left_out"] and not benchmark.KEPT.exists()
    assert {run["corpus"] for run in result["runs"]} == set(benchmark.CORPORA)
    assert all(run["val"] and run["dev"] for run in result["runs"])
    shares = sorted(run["share"] for run in result["runs"] if run["share"] < 1)
    assert shares == [1 / 16, 1 / 4]


def test_an_interrupted_call_goes_on_where_it_was(small, monkeypatch):
    first = benchmark.main(small)

    def no_more(*args, **kwargs):
        raise AssertionError("trained again")

    monkeypatch.setattr(benchmark, "fit", no_more)
    assert benchmark.main(small)["runs"] == first["runs"]
    with pytest.raises(AssertionError, match="trained again"):
        benchmark.main([*small, "--fresh"])


def test_what_there_is_no_time_for_is_left_out_and_named(small):
    result = benchmark.main([*small, "--minutes", "0"])
    assert not result["runs"]
    cells = benchmark.cells(benchmark.SIZES[:1], (2, 3, 4, 5))
    assert len(result["left_out"]) >= sum(map(len, cells.values()))


def test_a_run_ends_when_its_time_is_over(small, tmp_path):
    job = {"corpus": "playhouse", "size": (24, 2, 2), "steps": 50, "lr": 1e-2, "seed": 0}
    job |= {"share": 1, "measure": True, "longest": 25_600, "held_out": 2000}
    assert benchmark.train_one(job | {"deadline": 0.0}) is None
    assert not list(tmp_path.rglob("*.json"))
