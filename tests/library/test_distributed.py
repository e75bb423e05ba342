"""Two processes learn what one learns; a lost one, a signal or a restart costs no exactness.

Two processes on this machine, over loopback: see distributed_program.py, which they run.
"""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import distributed_program as program
import pytest
import safetensors.torch
import torch
from short_run import CONFIG, losses, weights

from scratchformer import cli
from scratchformer.data import Playhouse
from scratchformer.training import distributed
from scratchformer.training.distributed import find_device

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow  # processes that import torch, start and stop each other
PROGRAM = Path(program.__file__)


class Stop(Exception):
    """What a test raises inside a run."""


def stop(state):
    if state.step == 5:
        raise Stop


@pytest.fixture(scope="module")
def launched(tmp_path_factory):
    """A folder in which all launches have been made."""
    folder = tmp_path_factory.mktemp("distributed")
    (folder / "play.txt").write_text(Playhouse().text(6000), encoding="utf-8")
    prepare = ["prepare", str(folder / "play.txt"), "--tokenizer", "char", "--out"]
    assert cli.main([*prepare, str(folder / "tokens")]) == 0
    config = CONFIG.replace("batch_size = 4", "batch_size = 5").replace("every = 5", "every = 4")
    (folder / "small.toml").write_text(config)
    with pytest.raises(Stop):  # leaves a checkpoint after step 4
        program.trained(checkpoint=folder / "alone.run", steps=8, callbacks=[stop])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TORCHELASTIC")}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(PROGRAM.parent)])
    command = [sys.executable, str(PROGRAM), str(folder)]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400)
    assert process.returncode == 0, process.stderr
    assert ended(folder, "cases") == "well", process.stderr[-6000:]
    return folder


def record(launched, rank=0):
    return json.loads((launched / f"record{rank}.json").read_text())


# PyTorch's own, where no server of names answers for ::1: it wants a name for a log of its own.
NAMELESS = re.compile(r"^\[W.*socket\.cpp.*The hostname of the client socket.*\n", re.M)


def log_of(launched, name, rank=0, stream="stderr", attempt=0):
    (log,) = launched.glob(f"logs/{name}/*/attempt_{attempt}/{rank}/{stream}.log")
    return NAMELESS.sub("", log.read_text())


def ended(launched, name):
    return (launched / "logs" / name / "ended").read_text()


def assert_same_end(a, b):
    assert weights(a) == weights(b) and weights(a / "best") == weights(b / "best")
    assert losses(a) == losses(b)


def assert_close(weights, expected):
    assert weights.keys() == expected.keys()
    for name, p in expected.items():
        torch.testing.assert_close(weights[name], p.detach(), atol=1e-5, rtol=0)


# --- the same learning ------------------------------------------------------------------------


@pytest.mark.parametrize("name", program.CASES)
def test_two_processes_learn_what_one_learns_of_the_whole_batch(launched, name):
    expected, weights = program.trained(**program.CASES[name])
    losses = record(launched)["losses"][name]
    for kind in ("train", "val"):
        assert losses[kind] == pytest.approx(expected[kind], abs=1e-5)
    assert_close(safetensors.torch.load_file(launched / name), weights)
    assert record(launched, rank=1)["losses"] == record(launched)["losses"]  # all know the same


def test_one_run_may_be_of_one_process_then_of_two_then_of_one_again(launched):
    expected, weights = program.trained(steps=8)
    again, resumed = program.trained(checkpoint=launched / "run", resume=True, steps=8)
    for learned in (
        record(launched)["losses"]["went on"],
        again,
    ):  # its first half was one process's
        for kind in ("train", "val"):
            assert learned[kind] == pytest.approx(expected[kind], abs=1e-5)
    assert_close(safetensors.torch.load_file(launched / "went on"), weights)
    assert_close(resumed, weights)


def test_processes_that_see_different_files_are_refused_on_both_sides(launched):
    for rank in (0, 1):
        refused = record(launched, rank)["refused"]
        assert refused.startswith("the processes differ in the step they begin at: [4, 0]")


# --- the command line under torchrun ----------------------------------------------------------


def test_a_lost_process_ends_the_others_and_torchrun_restarts_from_the_checkpoint(launched):
    errors = log_of(launched, "restarted")
    message = r"^scratchformer: another process is out of reach \(.*\); --resume goes on from"
    assert re.search(message, errors, re.M) and "Traceback" not in errors, errors
    printed = log_of(launched, "restarted", stream="stdout", attempt=1)
    assert "step 8 of 12" in printed and "step 4 of 12" not in printed
    assert ended(launched, "restarted") == "well"
    assert_same_end(launched / "restarted", launched / "straight")


def test_a_signal_to_torchrun_saves_after_the_step_and_says_how_to_go_on(launched):
    errors = log_of(launched, "stopped")
    assert re.search(r"stopped after step \d+ of 12 and saved. Go on with\n", errors), errors
    command = "torchrun … -m scratchformer train --config small.toml --out stopped --resume"
    assert errors.strip().endswith(command)
    assert ended(launched, "stopped") == "SignalException"
    assert ended(launched, "went on") == "well"
    assert_same_end(launched / "stopped", launched / "straight")


def test_only_the_first_process_speaks(launched):
    assert "parameters on cpu × 2 processes" in log_of(launched, "straight", stream="stdout")
    assert "12/12" in log_of(launched, "straight")
    for stream in ("stdout", "stderr"):
        assert log_of(launched, "straight", rank=1, stream=stream) == ""
    assert "nats" not in log_of(launched, "restarted", rank=1, attempt=1)


# --- without a launch -------------------------------------------------------------------------


def test_the_shares_of_a_batch_are_the_batch_and_each_has_a_row(monkeypatch):
    monkeypatch.setattr(distributed, "world_size", lambda: 3)
    batch, shares = (torch.arange(10).view(5, 2), torch.arange(5)), []
    for rank in range(3):
        monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
        shares.append(distributed.shard_rows(batch))
    for tensor, parts in zip(batch, zip(*shares, strict=True), strict=True):
        assert torch.equal(torch.cat(parts), tensor)
    for lengths, words in (
        ((2, 2), "2, 2 rows, expected"),
        ((4, 3), "4, 3 rows, expected as many"),
    ):
        with pytest.raises(ValueError, match=words):
            distributed.shard_rows(tuple(map(torch.ones, lengths)))


def test_gradients_are_averaged_in_the_last_pass_only(monkeypatch):
    monkeypatch.setattr(distributed, "world_size", lambda: 2)
    inside = []

    @contextmanager
    def no_sync():
        inside.append(True)
        yield
        inside.pop()

    model = SimpleNamespace(no_sync=no_sync)
    passes = [(batch, bool(inside)) for batch in distributed.sync_on_last(model, "abc")]
    assert passes == [("a", True), ("b", True), ("c", False)]


def torchrun(monkeypatch, processes, local_rank=0):
    """Variables of the environment, as torchrun sets them."""
    names = {"RANK": local_rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": processes}
    for name, value in (names | {"MASTER_ADDR": "x"}).items():
        monkeypatch.setenv(name, str(value))


def test_devices_that_are_not_there_are_refused(monkeypatch):
    torchrun(monkeypatch, processes=2, local_rank=1)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ValueError, match="process 1 of this machine has no GPU: it has 1"):
        find_device("cuda")
    with pytest.raises(ValueError, match="'cuda:0', expected 'cuda': each process has its own GPU"):
        find_device("cuda:0")


@pytest.mark.parametrize(
    ("cuda", "processes", "expected"), [(True, 1, "cuda"), (False, 1, "mps"), (False, 2, "cpu")]
)
def test_auto_finds_a_gpu_then_apples_for_one_process(monkeypatch, cuda, processes, expected):
    torchrun(monkeypatch, processes)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    empty, asked = torch.empty, []
    monkeypatch.setattr(torch, "empty", lambda *size, device: asked.append(device) or empty(0))
    find_device("auto")
    assert asked == [expected]
