"""A run on disk: resuming is exact; a kill, a signal or a full disk loses an interval at most."""

import json
import math
import os
import signal
import time
from dataclasses import asdict

import pytest
import safetensors.torch
import torch

from scratchformer.data.batches import WindowSampler
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import TrainingConfig, TrainingState, load_checkpoint, train
from scratchformer.training.checkpoints import read_header

IDS = torch.randint(11, (600,), generator=torch.Generator().manual_seed(0))
RUN = {"steps": 24, "lr": 1e-2, "seed": 3, "warmup": 4, "schedule": "cosine", "clip": math.inf}
RUN |= {"batch_size": 3, "context_length": 8, "gradient_accumulation_steps": 2}
RUN |= {"evaluate_every": 10}


def small_gpt(seed=0, **changes):
    """A model that counts its calls in a buffer, beside one that is not to be saved."""
    torch.manual_seed(seed)
    size = {"vocab_size": 11, "context_length": 8, "d_model": 8, "n_heads": 2, "n_layers": 1}
    model = GPT(GPTConfig(**size | {"dropout": 0.2} | changes))
    model.register_buffer("calls", torch.zeros(()))
    model.register_buffer("table", torch.zeros(seed), persistent=False)
    model.register_forward_pre_hook(lambda *_: setattr(model, "calls", model.calls + 1))
    return model


def run(model=None, **changes):
    """(history without its times, weights) of a run, by default the uninterrupted one."""
    model = model or small_gpt()
    history = asdict(train(model, IDS[:500], IDS[500:], **RUN | changes))
    del history["seconds"]
    return history, model.state_dict()


@pytest.fixture(scope="module")
def uninterrupted():
    return run()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run"


def assert_same(result, expected):
    assert result[0] == expected[0]
    for name, p in expected[1].items():
        assert torch.equal(result[1][name], p), name


class Stop(Exception):
    """What a test raises inside a run: the loop knows nothing of it."""


def stop_at(step):
    def callback(state):
        if state.step == step:
            raise Stop

    return callback


@pytest.mark.parametrize(("step", "every"), [(2, 1), (13, None), (24, 5)])
def test_a_killed_run_resumed_equals_the_uninterrupted_one_bit_for_bit(
    path, uninterrupted, step, every
):
    with pytest.raises(Stop):
        run(checkpoint=path, checkpoint_every=every, callbacks=[stop_at(step)])
    assert read_header(path)["step"] == {2: 2, 13: 10, 24: 24}[step]
    model = small_gpt(seed=7)  # weights and random states come from the file
    assert_same(run(model, checkpoint=path, checkpoint_every=every, resume=True), uninterrupted)


def test_a_run_may_be_interrupted_many_times(path, uninterrupted):
    """By Ctrl-C, a polite kill, a closed terminal; how often it is saved may change."""
    signals = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGINT))
    before = [signal.getsignal(number) for number in signals]
    for i, step in enumerate((3, 4, 9, 10, 17, 24)):

        def interrupt(state, step=step, number=signals[i % 3]):
            if state.step == step:
                os.kill(os.getpid(), number)

        every = None if i % 3 else i + 1
        with pytest.raises(KeyboardInterrupt, match=f"stopped after step {step} of 24"):
            run(checkpoint=path, resume=True, checkpoint_every=every, callbacks=[interrupt])
        assert read_header(path)["step"] == step
    assert_same(run(small_gpt(seed=1), checkpoint=path, resume=True), uninterrupted)
    assert before == [signal.getsignal(number) for number in signals]


def test_a_second_ctrl_c_stops_at_once(path):
    def twice(_):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)  # is not waited for
        raise AssertionError("the second signal was held back as well")

    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=path, callbacks=[twice])
    assert not path.exists()


def test_a_finished_run_is_not_overwritten_and_resumed_does_nothing(path, uninterrupted):
    run(checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="holds a run: pass resume=True"):
        run(checkpoint=path)
    assert path.read_bytes() == before
    assert_same(run(checkpoint=path, resume=True, callbacks=[stop_at(1)]), uninterrupted)


def test_another_run_model_or_optimiser_is_refused_and_nothing_is_changed(path):
    run(checkpoint=path, steps=5)
    options = RUN | {"steps": 5, "checkpoint": path, "resume": True}
    with pytest.raises(ValueError, match=r"tokens=\[500, 100\], got tokens=\[400, 100\]"):
        train(small_gpt(), IDS[:400], IDS[500:], **options)
    for changes, words in (
        ({"model": small_gpt(n_heads=4)}, "a run with model="),
        ({"lr": 2e-2}, "is of a run with lr=0.01, got lr=0.02"),
        ({"betas": (0.9, 0.99)}, "is of a run with betas="),
        ({"batch_size": 4}, "is of a run with batch_size=3, got batch_size=4"),
    ):
        with pytest.raises(ValueError, match=words):
            run(**options | changes)
    deeper, model = small_gpt(n_layers=2), small_gpt(seed=1)
    for other, parameters, words in (
        (deeper, deeper.parameters(), r"another model: h\.1\..* is missing in it"),
        (model, list(model.parameters())[::-1], "another optimiser: optimizer.*is"),
        (model, list(model.parameters())[:3], "another optimiser: optimizer.*is"),
    ):
        sampler = WindowSampler(IDS, 3, 8, seed=5)
        state = TrainingState(other, torch.optim.AdamW(parameters), sampler)
        random = torch.get_rng_state(), sampler.generator.get_state()
        weights = [p.clone() for p in other.parameters()]
        with pytest.raises(ValueError, match=f"is of {words}"):
            load_checkpoint(path, state, {})
        assert all(map(torch.equal, weights, other.parameters()))
        assert all(map(torch.equal, random, (torch.get_rng_state(), sampler.generator.get_state())))
        assert state.optimizer.state_dict()["state"] == {} and state.step == 0


def test_the_first_evaluation_is_saved_before_a_callback_can_raise(path):
    def full_disk(state):
        if state.evaluated:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        run(checkpoint=path, checkpoint_every=20, callbacks=[full_disk])
    assert read_header(path)["step"] == 10


@pytest.mark.parametrize("what", ["the loss", "a weight of unused", "the validation loss"])
def test_what_is_no_number_ends_a_run_and_is_neither_recorded_nor_saved(path, what):
    model, seen = small_gpt(dropout=0.0), []
    model.unused = torch.nn.Parameter(torch.ones(2))

    def spoil(state):
        seen.append(state.history)
        if state.step == 12 and what == "a weight of unused":
            model.unused.data[1] = math.inf
        elif state.step == 12:
            spoilt = what == "the loss"
            model.register_forward_hook(lambda m, _, z: z * math.nan if m.training is spoilt else z)

    rate = TrainingConfig(steps=24, lr=1e-2, seed=3, warmup=4, schedule="cosine").learning_rate
    step = 13 if what == "the loss" else 20
    words = f"at step {step}, with a learning rate of {rate(step - 1):.3g}: the run ends"
    with pytest.raises(FloatingPointError, match=f"{what}.*{words}"):
        run(model, checkpoint=path, callbacks=[spoil])
    assert read_header(path)["step"] == 10 and seen[-1].steps == [10]


# --- files that are not whole -----------------------------------------------------------------


def test_a_full_disk_leaves_the_old_checkpoint_whole(path, uninterrupted, monkeypatch):
    save, calls = safetensors.torch.save_file, []

    def full_disk(tensors, part, metadata):
        calls.append(part)
        save(tensors, part, metadata)
        if len(calls) == 3:
            part.write_bytes(part.read_bytes()[:1000])
            raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(safetensors.torch, "save_file", full_disk)
    with pytest.raises(OSError, match=r"run cannot be written: .*No space left on device"):
        run(checkpoint=path, checkpoint_every=4)
    assert read_header(path)["step"] == 8 and os.listdir(path.parent) == ["run"]
    assert_same(run(checkpoint=path, checkpoint_every=4, resume=True), uninterrupted)


def test_a_damaged_checkpoint_is_refused_and_changes_nothing(path):
    model = small_gpt()
    run(checkpoint=path, steps=5)
    data, before = path.read_bytes(), [p.clone() for p in model.parameters()]
    half = len(data) // 2
    for damaged in (
        data[:half],
        data[:half] + bytes(64) + data[half + 64 :],
        data.replace(b'step\\": 5', b'step\\": 4', 1),
    ):
        assert damaged != data
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"run is (damaged|not a complete safetensors file)"):
            run(model, checkpoint=path, steps=5, resume=True)
    assert all(map(torch.equal, before, model.parameters()))
    safetensors.torch.save_file({"model.x": torch.ones(1)}, path)
    with pytest.raises(ValueError, match="run is not a checkpoint"):
        run(checkpoint=path, resume=True)


def test_it_holds_json_no_pickle_and_a_tied_weight_once(path):
    run(checkpoint=path, steps=5)
    with safetensors.safe_open(path, "pt") as file:
        text = file.metadata()["scratchformer"]
    assert json.loads(text, parse_constant=pytest.fail)["record"]["settings"]["clip"] == "inf"
    tensors = safetensors.torch.load_file(path)
    names = {name.removeprefix("model.") for name in tensors if name.startswith("model.")}
    assert names == {*small_gpt().state_dict()} - {"lm_head.weight"}
