"""Two processes learn what one learns; a lost one, a signal or a restart costs no exactness.

Two processes on this machine, over loopback: see distributed_program.py, which they run.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import distributed_program as program
import pytest
import safetensors.torch
import torch

from lab import cost
from scratchformer import cli
from scratchformer.data import Playhouse
from scratchformer.models import GPT
from scratchformer.training import distributed
from scratchformer.training.checkpoints import read_header
from scratchformer.training.distributed import find_device, process_group, was_restarted
from scratchformer_course.prose.drawings import ring_passes

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(program.__file__)
ENGINES = ("ddp", "fsdp")
CONFIG = """
[data]
folder = "tokens"
[model]
n_layers = 1
n_heads = 2
d_model = 16
context_length = 16
dropout = 0.1
[training]
batch_size = 5
steps = 12
lr = 1e-2
seed = 0
evaluate_every = 4
"""


class Stop(Exception):
    """What a test raises inside a run."""


def stop_at(step):
    def callback(state):
        if state.step == step:
            raise Stop

    return callback


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder in which all launches have been made; `killed` holds what torchrun said."""
    folder = tmp_path_factory.mktemp("distributed")
    (folder / "play.txt").write_text(Playhouse().text(6000), encoding="utf-8")
    prepare = ["prepare", str(folder / "play.txt"), "--tokenizer", "char", "--out"]
    assert cli.main([*prepare, str(folder / "tokens")]) == 0
    (folder / "small.toml").write_text(CONFIG)
    (folder / "shards.toml").write_text(CONFIG + 'parallel = "fsdp"\n')
    with pytest.raises(Stop):  # leaves a checkpoint after step 4
        program.trained(checkpoint=folder / "alone.run", steps=8, callbacks=[stop_at(5)])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TORCHELASTIC")}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    commands = {
        "killed": [*torchrun, "--nproc-per-node", "2", PROGRAM, "killed", folder],
        "launches": [sys.executable, PROGRAM, folder],
    }
    for name, command in commands.items():
        done = subprocess.run(
            [str(word) for word in command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=400,
        )
        (folder / f"{name}.out").write_text(done.stdout)
        (folder / f"{name}.err").write_text(done.stderr)
        (folder / f"{name}.status").write_text(str(done.returncode))
    assert (folder / "launches.status").read_text() == "0", done.stderr
    assert ended(folder, "cases") == "well", done.stderr[-6000:]
    return folder


def record(place, rank=0):
    return json.loads((place / f"record{rank}.json").read_text())


# PyTorch's own, where no server of names answers for ::1: it wants a name for a log of its own.
NAMELESS = re.compile(r"^\[W.*socket\.cpp.*The hostname of the client socket.*\n", re.M)


def said(place, name, rank=0, stream="stderr", attempt=0):
    (log,) = place.glob(f"logs/{name}/*/attempt_{attempt}/{rank}/{stream}.log")
    return NAMELESS.sub("", log.read_text())


def ended(place, name):
    return (place / "logs" / name / "ended").read_text()


def losses(folder):
    history = json.loads((folder / "history.json").read_text())
    history.pop("seconds")
    return history


def assert_same_end(a, b):
    assert (a / "model.safetensors").read_bytes() == (b / "model.safetensors").read_bytes()
    best = [(f / "best" / "model.safetensors").read_bytes() for f in (a, b)]
    assert best[0] == best[1] and losses(a) == losses(b)


def assert_close(weights, expected, **tolerance):
    assert weights.keys() == expected.keys()
    for name, p in expected.items():
        torch.testing.assert_close(weights[name], p.detach(), **tolerance)


# --- the same learning ------------------------------------------------------------------------


@pytest.mark.parametrize("name", program.CASES)
@pytest.mark.parametrize("engine", ENGINES)
def test_two_processes_learn_what_one_learns_of_the_whole_batch(place, engine, name):
    expected, weights = program.trained(**program.CASES[name])
    found = record(place)["losses"][f"{engine} {name}"]
    # In bfloat16, where Muon iterates too, halves of a batch are rounded otherwise than the whole.
    by = {"bfloat16": 1e-3, "muon": 1e-4}.get(name, 1e-5)
    for kind in ("train", "val"):
        assert found[kind] == pytest.approx(expected[kind], abs=by)
    learnt = safetensors.torch.load_file(place / f"{engine} {name}")
    if by == 1e-5:
        assert_close(learnt, weights, atol=1e-5, rtol=0)
    start = dict(program.small_gpt().named_parameters())
    gap, way = (
        sum((weights[name] - p).abs().sum() for name, p in other.items())
        for other in (learnt, start)
    )
    assert learnt.keys() == weights.keys() and gap < 0.1 * way, float(gap / way)
    assert record(place, rank=1)["losses"] == record(place)["losses"]  # all know the same


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_exchanges_gradients_once_however_many_batches_make_it(place, engine):
    steps = program.RUN["steps"]
    one, three = (record(place)["exchanges"][f"{engine} {batches}"] for batches in (1, 3))
    # DDP has a bucket of gradients here, FSDP two blocks and what is around them. Sums: the nats
    # and targets of each batch; after each step whether to stop; at the end the validation loss.
    assert one == {"gradients": (1 if engine == "ddp" else 3) * steps, "sums": 2 * steps + 1}
    assert three == {"gradients": one["gradients"], "sums": (3 + 1) * steps + 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_one_run_may_be_of_one_process_then_of_two_then_of_one_again(place, tmp_path, engine):
    expected, weights = program.trained(steps=8)
    found = record(place)["losses"][f"{engine} resumed"]  # its first half was one process's
    for kind in ("train", "val"):
        assert found[kind] == pytest.approx(expected[kind], abs=1e-5)
    resumed = safetensors.torch.load_file(place / f"{engine} resumed")
    assert_close(resumed, weights, atol=1e-5, rtol=0)

    path = shutil.copy(place / f"{engine}.six", tmp_path)
    assert read_header(path)["step"] == 6
    found, resumed = program.trained(checkpoint=path, resume=True, steps=8)
    assert found["val"] == pytest.approx(expected["val"], abs=1e-5)
    assert_close(resumed, weights, atol=1e-5, rtol=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_checkpoint_is_that_of_one_process_and_both_random_states(place, tmp_path, engine):
    program.trained(checkpoint=tmp_path / "run", model=program.small_gpt(dropout=0.3))
    alone = safetensors.torch.load_file(tmp_path / "run")
    found = safetensors.torch.load_file(place / "rank0" / f"{engine}.run")
    assert {name: t.shape for name, t in found.items() if name != "random.cpu.1"} == {
        name: t.shape for name, t in alone.items()
    }
    assert torch.equal(found["batches.generator"], alone["batches.generator"])
    assert not torch.equal(found["random.cpu.0"], found["random.cpu.1"])


def test_only_the_first_process_writes(place):
    assert (place / "rank0" / "ddp.run").exists() and not (place / "rank1").exists()


def test_processes_that_see_different_files_are_refused_on_both_sides(place):
    for rank in (0, 1):
        refused = record(place, rank)["refused"]
        assert refused["another file"].startswith("the processes differ in the step they begin at:")
        assert "[4, 0]" in refused["another file"]
        assert "at least one for each of 2 processes" in refused["few"]


def test_one_process_of_a_machine_looks_for_data_before_the_others(place):
    assert (place / "order").read_text() == "01"


# --- the command line under torchrun ----------------------------------------------------------


def test_a_lost_process_ends_the_run_with_a_message_and_the_checkpoint_goes_on(place):
    errors = (place / "killed.err").read_text()
    assert (place / "killed.status").read_text() == "1"
    message = r"^scratchformer: another process is out of reach \(.*\); --resume goes on from"
    assert re.search(message, errors, re.M), errors
    assert "Signal 9 (SIGKILL)" in errors  # torchrun's own account of the cause
    assert errors.count("Traceback") == 1  # torchrun's
    assert ended(place, "resumed") == "well"
    assert_same_end(place / "killed", place / "whole")


def test_torchrun_restarts_a_run_from_its_checkpoint_by_itself(place):
    assert "another process is out of reach" in said(place, "restarted")
    assert "step 8 of 12" in said(place, "restarted", stream="stdout", attempt=1)
    assert "step 4 of 12" not in said(place, "restarted", stream="stdout", attempt=1)
    assert ended(place, "restarted") == "well"
    assert_same_end(place / "restarted", place / "whole")


def test_a_signal_to_torchrun_saves_after_the_step_and_says_how_to_go_on(place):
    errors = said(place, "stopped")
    assert re.search(r"stopped after step \d+ of 12 and saved. Go on with\n", errors), errors
    command = "torchrun … -m scratchformer train --config small.toml --out stopped --resume"
    assert errors.strip().endswith(command)
    assert ended(place, "stopped") == "SignalException"
    assert ended(place, "went on") == "well"
    assert_same_end(place / "stopped", place / "whole")


def test_only_the_first_process_speaks(place):
    assert "parameters on cpu × 2 (ddp)" in said(place, "whole", stream="stdout")
    assert "12/12" in said(place, "whole")
    for stream in ("stdout", "stderr"):
        assert said(place, "whole", rank=1, stream=stream) == ""
    assert "nats" not in said(place, "restarted", rank=1, attempt=1)


def test_a_model_in_shards_is_saved_whole(place):
    assert ended(place, "shards") == "well"
    assert losses(place / "shards")["val_loss"] == pytest.approx(
        losses(place / "whole")["val_loss"], abs=1e-5
    )
    for folder in ("", "best"):
        models = [GPT.from_pretrained(place / run / folder) for run in ("shards", "whole")]
        a, b = (dict(model.named_parameters()) for model in models)
        assert_close(a, b, atol=1e-4, rtol=0)
    assert "parameters on cpu × 2 (fsdp)" in said(place, "shards", stream="stdout")


# --- without a launch -------------------------------------------------------------------------


@pytest.fixture
def group(monkeypatch):
    """Makes the functions believe in a process group: group(rank, world_size)."""

    def pretend(rank, world_size):
        monkeypatch.setattr(distributed, "rank", lambda: rank)
        monkeypatch.setattr(distributed, "world_size", lambda: world_size)

    return pretend


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [1, 2, 6, 7, 8])
def test_parts_are_split_once_each_and_as_many_to_all(group, size, n):
    shares = []
    for rank in range(size):
        group(rank, size)
        shares.append(list(distributed.split_evenly(range(n))))
    assert sorted(part for share in shares for part, counts in share if counts) == list(range(n))
    assert len({len(share) for share in shares}) == 1


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_shares_of_a_batch_are_the_batch(group, size):
    batch, shares = (torch.arange(10).view(5, 2), torch.arange(5)), []
    for rank in range(size):
        group(rank, size)
        shares.append(distributed.shard_rows(batch))
    for i, tensor in enumerate(batch):
        assert torch.equal(torch.cat([share[i] for share in shares]), tensor)


def test_a_batch_without_a_row_for_each_is_refused(group):
    group(0, 3)
    with pytest.raises(ValueError, match="got a batch with 2, 2 rows, expected"):
        distributed.shard_rows((torch.ones(2), torch.ones(2)))
    group(0, 2)
    with pytest.raises(ValueError, match="got a batch with 4, 3 rows, expected as many in all"):
        distributed.shard_rows((torch.ones(4), torch.ones(3)))


def test_alone_nothing_is_wrapped_copied_or_waited_for():
    model, batch, tensor = program.small_gpt(), (torch.ones(1),), torch.ones(2)
    assert distributed.parallelize(model) is model and distributed.shard_rows(batch) is batch
    assert distributed.sum_over_processes(program.loss) is program.loss
    assert distributed.all_reduce(tensor) is tensor
    assert distributed.any_process(True) and not distributed.any_process(False)
    distributed.barrier()
    with process_group("cpu") as device:
        assert device.type == "cpu"
        assert (distributed.rank(), distributed.world_size(), distributed.local_rank()) == (0, 1, 0)
        with distributed.local_main_first():
            pass


def test_devices_that_are_not_there_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="device='abacus'"):
        find_device("abacus")
    for name, value in {"RANK": 1, "WORLD_SIZE": 2, "LOCAL_RANK": 1, "MASTER_ADDR": "x"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ValueError, match="process 1 of this machine has no GPU: it has 1"):
        find_device("cuda")
    with pytest.raises(ValueError, match="'cuda:0', expected 'cuda': each process has its own GPU"):
        find_device("cuda:0")


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, False, "cuda"), (True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_auto_finds_a_gpu_then_apples_then_the_processor(monkeypatch, cuda, mps, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    empty, asked = torch.empty, []
    monkeypatch.setattr(torch, "empty", lambda *size, device: asked.append(device) or empty(0))
    find_device("auto")
    assert asked == [expected]


def test_several_processes_do_not_take_apples_gpu(monkeypatch):
    for name, value in {"RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "x"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert find_device("auto").type == "cpu"


def test_a_restart_is_known_by_torchruns_count(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RESTART_COUNT", raising=False)
    assert not was_restarted()
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "0")
    assert not was_restarted()
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "2")
    assert was_restarted()


def test_the_module_for_torchrun_is_the_train_command():
    done = subprocess.run(
        [sys.executable, "-m", "scratchformer", "train", "--help"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0 and "--config FILE.toml" in done.stdout


# --- the page ---------------------------------------------------------------------------------


def test_hours_costs_and_bytes_are_those_of_the_formulas():
    assert cost.training_hours(1e9, 1e9, 10, 1e14, 0.5) == pytest.approx(6e18 / 5e14 / 3600)
    assert cost.dollars(hours=3, n=8, price=2.5) == 60
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


def test_the_stored_drawing_is_what_the_code_draws_and_the_page_shows_it():
    assert cost.DRAWING.read_text(encoding="utf-8") == cost.drawing(), (
        "run `python lab/cost.py --write`"
    )
    root = ET.fromstring(cost.drawing())
    assert root.get("role") == "img" and len(root.get("aria-label")) > 100
    file = cost.DRAWING.relative_to(cost.PAGE.parent).as_posix()
    assert f"```{{raw}} html\n:file: {file}\n```" in cost.PAGE.read_text(encoding="utf-8")
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [word for word in words if word.startswith("after")] == [
        f"after pass {i}" for i in range(1, 7)
    ]


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
    assert cost.renewed(page) == page, "run `python lab/cost.py --write`"
    assert "another 15 %" in page and round(12 * 12 * 768 * 1024 / (6 * cost.GPT2), 2) == 0.15
    result = json.loads((ROOT / "lab" / "ddp.json").read_text())
    whole, pieces, two = (
        statistics.median(result["big"]["seconds"][way]) for way in ("whole", "in turn", "together")
    )
    assert whole / two > 2 and (whole - pieces) / (whole - two) > 0.5  # "twice", "most of that"
    for row in result["rows"]:
        share = int(re.search(r"(\d+)%", row["note"])[1]) / 100
        assert share < (1 - row["ratio"][0] / 2) / 2  # "the smaller part of what is missing"
    for name in re.findall(r"lab/configs/[\w-]+\.toml|benchmarks/\w+\.\w+", page):
        assert (ROOT / name).exists(), name
    with pytest.raises(ValueError, match="has no place for the table 'measured'"):
        cost.renewed("")
