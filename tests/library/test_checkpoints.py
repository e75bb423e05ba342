"""A run on disk: resuming is exact; a kill, a signal or a full disk loses an interval at most."""

import json
import math
import os
import signal
import time
from dataclasses import asdict

import pytest
import safetensors.torch
import short_run
import torch

from scratchformer.data.batches import WindowSampler
from scratchformer.training import TrainingConfig, TrainingState, load_checkpoint, train
from scratchformer.training.checkpoints import read_header

IDS = torch.randint(11, (600,), generator=torch.Generator().manual_seed(0))
RUN = {"steps": 24, "lr": 1e-2, "seed": 3, "warmup": 4, "schedule": "cosine", "clip": math.inf}
RUN |= {"batch_size": 3, "context_length": 8, "gradient_accumulation_steps": 2}
RUN |= {"evaluate_every": 10}


def small_gpt(seed=0, **changes):
    """A model that counts its calls in a buffer, beside one that is not to be saved."""
    size = {"vocab_size": 11, "d_model": 8, "n_layers": 1, "dropout": 0.2}
    model = short_run.small_gpt(seed, **size | changes)
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


@pytest.fixture
def stopped(path):
    """A checkpoint of five steps."""
    run(checkpoint=path, steps=5)
    return path


def assert_same(result, expected):
    assert result[0] == expected[0]
    for name, p in expected[1].items():
        assert torch.equal(result[1][name], p), name


class Stop(Exception):
    """What a test raises inside a run: the loop knows nothing of it."""


def at(step, act):
    """A callback that acts after a step."""
    return lambda state: act() if state.step == step else None


def stop():
    raise Stop


@pytest.mark.parametrize(("step", "every"), [(2, 1), (13, None), (24, 5)])
def test_a_killed_run_resumed_equals_the_uninterrupted_one_bit_for_bit(
    path, uninterrupted, step, every
):
    with pytest.raises(Stop):
        run(checkpoint=path, checkpoint_every=every, callbacks=[at(step, stop)])
    assert read_header(path)["step"] == {2: 2, 13: 10, 24: 24}[step]
    model = small_gpt(seed=7)  # weights and random states come from the file
    assert_same(run(model, checkpoint=path, checkpoint_every=every, resume=True), uninterrupted)


def test_a_run_may_be_interrupted_many_times(path, uninterrupted):
    """By Ctrl-C, a polite kill, a closed terminal; how often it is saved may change."""
    signals = [signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGINT)]
    if signal.getsignal(signals[2]) is signal.SIG_IGN:  # as under nohup, where a run goes on
        signals[2] = signal.SIGINT
    before = [signal.getsignal(number) for number in signals]
    for i, step in enumerate((3, 4, 9, 10, 17, 24)):
        # to this thread: a signal to the process may reach a busy one after its last step
        kill = at(step, lambda number=signals[i % 3]: signal.raise_signal(number))
        every = None if i % 3 else i + 1
        with pytest.raises(KeyboardInterrupt, match=f"stopped after step {step} of 24"):
            run(checkpoint=path, resume=True, checkpoint_every=every, callbacks=[kill])
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


def test_a_run_is_not_overwritten(stopped):
    before = stopped.read_bytes()
    with pytest.raises(FileExistsError, match="holds a run: pass resume=True"):
        run(checkpoint=stopped, steps=5)
    assert stopped.read_bytes() == before


OTHER_RUNS = [
    ({"model": small_gpt(n_heads=4)}, "a run with model="),
    ({"lr": 2e-2}, "is of a run with lr=0.01, got lr=0.02"),
    ({"batch_size": 4}, "is of a run with batch_size=3, got batch_size=4"),
    ({"context_length": 4}, "is of a run with context_length=8, got"),
    ({"sampling": {"replacement": False}}, "is of a run with replacement='nothing', got"),
]


@pytest.mark.parametrize(("changes", "words"), OTHER_RUNS)
def test_another_run_is_refused(stopped, changes, words):
    with pytest.raises(ValueError, match=words):
        run(**RUN | {"steps": 5, "checkpoint": stopped, "resume": True} | changes)


@pytest.mark.parametrize(
    ("changes", "parameters", "words"),
    [
        ({"n_layers": 2}, slice(None), r"another model: h\.1\..* is missing in it"),
        ({}, slice(None, None, -1), "another optimiser: optimizer.*is"),
        ({}, slice(3), "another optimiser: optimizer.*is"),
    ],
)
def test_another_model_or_optimiser_is_refused_and_changes_nothing(
    stopped, changes, parameters, words
):
    model, sampler = small_gpt(seed=1, **changes), WindowSampler(IDS, 3, 8, seed=5)
    optimizer = torch.optim.AdamW([*model.parameters()][parameters])
    state = TrainingState(model, optimizer, sampler)
    random = torch.get_rng_state(), sampler.generator.get_state()
    before = [p.clone() for p in model.parameters()]
    with pytest.raises(ValueError, match=f"is of {words}"):
        load_checkpoint(stopped, state, {})
    assert all(map(torch.equal, before, model.parameters()))
    assert all(map(torch.equal, random, (torch.get_rng_state(), sampler.generator.get_state())))
    assert optimizer.state_dict()["state"] == {} and state.step == 0


def test_the_first_evaluation_is_saved_before_a_callback_can_raise(path):
    with pytest.raises(Stop):
        run(checkpoint=path, checkpoint_every=20, callbacks=[at(10, stop)])
    assert read_header(path)["step"] == 10


@pytest.mark.parametrize("what", ["the loss", "a weight of unused", "the validation loss"])
def test_what_is_no_number_ends_a_run_and_is_neither_recorded_nor_saved(path, what):
    model, histories, in_training = small_gpt(dropout=0.0), [], what == "the loss"
    model.unused = torch.nn.Parameter(torch.ones(2))

    def spoil():
        if what == "a weight of unused":
            model.unused.data[1] = math.inf
        else:
            model.register_forward_hook(
                lambda m, _, z: z * math.nan if m.training is in_training else z
            )

    rate = TrainingConfig(steps=24, lr=1e-2, seed=3, warmup=4, schedule="cosine").learning_rate
    step = 13 if in_training else 20
    words = f"at step {step}, with a learning rate of {rate(step - 1):.3g}: the run ends"
    callbacks = [at(12, spoil), lambda state: histories.append(state.history)]
    with pytest.raises(FloatingPointError, match=f"{what}.*{words}"):
        run(model, checkpoint=path, callbacks=callbacks)
    assert read_header(path)["step"] == 10 and histories[-1].steps == [10]


# --- files that are not whole -----------------------------------------------------------------


def test_a_full_disk_leaves_the_old_checkpoint_whole(path, uninterrupted, monkeypatch):
    save, parts = safetensors.torch.save_file, []

    def full_disk(tensors, part, metadata):
        parts.append(part)
        save(tensors, part, metadata)
        if len(parts) == 3:
            part.write_bytes(part.read_bytes()[:1000])
            raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(safetensors.torch, "save_file", full_disk)
    with pytest.raises(OSError, match=r"run cannot be written: .*No space left on device"):
        run(checkpoint=path, checkpoint_every=4)
    assert read_header(path)["step"] == 8 and os.listdir(path.parent) == ["run"]
    assert_same(run(checkpoint=path, checkpoint_every=4, resume=True), uninterrupted)


def test_a_damaged_checkpoint_is_refused_and_changes_nothing(stopped):
    data, model = stopped.read_bytes(), small_gpt()
    before, half = [p.clone() for p in model.parameters()], len(data) // 2
    for damaged in (
        data[:half],
        data[:half] + bytes(64) + data[half + 64 :],
        data.replace(b'step\\": 5', b'step\\": 4', 1),
    ):
        assert damaged != data
        stopped.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"run is (damaged|not a complete safetensors file)"):
            run(model, checkpoint=stopped, steps=5, resume=True)
    assert all(map(torch.equal, before, model.parameters()))
    safetensors.torch.save_file({"model.x": torch.ones(1)}, stopped)
    with pytest.raises(ValueError, match="run is not a checkpoint"):
        run(checkpoint=stopped, resume=True)


def test_it_holds_json_no_pickle_and_a_tied_weight_once(stopped):
    with safetensors.safe_open(stopped, "pt") as file:
        text = file.metadata()["scratchformer"]
    assert json.loads(text, parse_constant=pytest.fail)["record"]["settings"]["clip"] == "inf"
    names = {n.removeprefix("model.") for n in safetensors.torch.load_file(stopped) if n[0] == "m"}
    assert names == {*small_gpt().state_dict()} - {"lm_head.weight"}
