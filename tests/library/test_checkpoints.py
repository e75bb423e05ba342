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
from scratchformer.models.tensor_files import read_tensors, write_tensors
from scratchformer.training import TrainingConfig, TrainingState, checkpoints, train
from scratchformer.training.checkpoints import read_header

IDS = torch.randint(11, (600,), generator=torch.Generator().manual_seed(0))
RUN = {"steps": 24, "lr": 1e-2, "seed": 3, "warmup": 4, "schedule": "cosine"}
RUN |= {"batch_size": 3, "context_length": 8, "gradient_accumulation_steps": 2}
RUN |= {"evaluate_every": 10}


def small_gpt(seed=0, **changes):
    torch.manual_seed(seed)
    size = {"vocab_size": 11, "context_length": 8, "d_model": 8, "n_heads": 2, "n_layers": 1}
    return GPT(GPTConfig(**size | {"dropout": 0.2} | changes))


def run(model=None, **changes):
    """(history without its times, weights) of a run, by default the uninterrupted one."""
    model = model or small_gpt()
    history = asdict(train(model, IDS[:500], IDS[500:], **RUN | changes))
    del history["seconds"]
    return history, dict(model.named_parameters())


@pytest.fixture(scope="module")
def uninterrupted():
    return run()


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


def interrupt_at(step, number=signal.SIGINT):
    return lambda state: os.kill(os.getpid(), number) if state.step == step else None


def interrupted(path, step=2, number=signal.SIGINT, **options):
    """A run that was stopped by a signal after a step."""
    with pytest.raises(KeyboardInterrupt, match=f"stopped after step {step} of 24"):
        run(checkpoint=path, callbacks=[interrupt_at(step, number)], **options)
    assert read_header(path)["step"] == step


@pytest.mark.parametrize(("step", "every"), [(2, 1), (2, 5), (13, None), (24, 5)])
def test_a_resumed_run_equals_the_uninterrupted_one_bit_for_bit(
    tmp_path, uninterrupted, step, every
):
    path = tmp_path / "run.safetensors"
    with pytest.raises(Stop):
        run(checkpoint=path, checkpoint_every=every, callbacks=[stop_at(step)])
    saved = 24 if step == 24 else step // (every or 10) * (every or 10)
    assert (read_header(path)["step"] if path.exists() else 0) == saved
    model = small_gpt(seed=7 if saved else 0)  # weights and random states come from the file
    assert_same(run(model, checkpoint=path, checkpoint_every=every, resume=True), uninterrupted)


def test_a_run_may_be_interrupted_many_times(tmp_path, uninterrupted):
    """By Ctrl-C and by a polite kill; how often it is saved may change."""
    path, signals = tmp_path / "run", (signal.SIGINT, signal.SIGTERM)
    for i, step in enumerate((3, 4, 9, 10, 17, 24)):
        every = None if i % 3 else i + 1
        interrupted(path, step, signals[i % 2], resume=True, checkpoint_every=every)
    assert_same(run(small_gpt(seed=1), checkpoint=path, resume=True), uninterrupted)


def test_signals_are_as_before_once_a_run_is_over(tmp_path):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    run(steps=5, evaluate_every=None)
    interrupted(tmp_path / "run")
    assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))


def test_a_second_ctrl_c_stops_at_once(tmp_path):
    def twice(_):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)  # is not waited for
        raise AssertionError("the second signal was held back as well")

    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=tmp_path / "run", callbacks=[twice])
    assert not (tmp_path / "run").exists()


def test_a_finished_run_is_not_overwritten_and_resumed_does_nothing(tmp_path, uninterrupted):
    path = tmp_path / "run"
    run(checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="holds a run: pass resume=True"):
        run(checkpoint=path)
    assert path.read_bytes() == before
    assert_same(run(checkpoint=path, resume=True, callbacks=[stop_at(1)]), uninterrupted)


def test_other_data_other_settings_and_another_model_of_the_same_shapes_are_refused(tmp_path):
    interrupted(tmp_path / "run")
    settings = RUN | {"checkpoint": tmp_path / "run", "resume": True}
    with pytest.raises(ValueError, match=r"tokens=\[500, 100\], got tokens=\[400, 100\]"):
        train(small_gpt(), IDS[:400], IDS[500:], **settings)
    with pytest.raises(ValueError, match="a run with model="):
        run(small_gpt(n_heads=4), checkpoint=tmp_path / "run", resume=True)
    model = small_gpt()
    before = [p.clone() for p in model.parameters()]
    for name, value in {"lr": 2e-2, "betas": (0.9, 0.99), "batch_size": 4}.items():
        with pytest.raises(ValueError, match=rf"is of a run with {name}=.*, got {name}="):
            run(model, checkpoint=tmp_path / "run", resume=True, **{name: value})
    assert all(map(torch.equal, before, model.parameters()))


def test_what_an_observer_raises_costs_nothing_that_was_trained(tmp_path):
    def full_disk(state):
        if state.evaluated:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        run(checkpoint=tmp_path / "run", callbacks=[full_disk])
    assert read_header(tmp_path / "run")["step"] == 10


def test_buffers_are_kept(tmp_path):
    def counting_gpt():
        model = small_gpt()
        model.register_buffer("calls", torch.zeros(()))
        model.register_forward_pre_hook(lambda *_: setattr(model, "calls", model.calls + 1))
        return model

    straight, resumed = counting_gpt(), counting_gpt()
    run(straight)
    interrupted(tmp_path / "run", 7, model=counting_gpt())
    run(resumed, checkpoint=tmp_path / "run", resume=True)
    assert resumed.calls == straight.calls > 48


def test_what_state_dict_leaves_out_is_not_in_a_checkpoint(tmp_path):
    """A table that the model computes on its way, in files of today and in older ones."""

    def cached_gpt():
        model = small_gpt()
        model.register_buffer("table", torch.empty(0), persistent=False)
        model.register_forward_pre_hook(lambda *_: setattr(model, "table", torch.ones(8)))
        return model

    interrupted(tmp_path / "run", 7, model=cached_gpt())
    tensors, record = read_tensors(tmp_path / "run")
    assert "model.table" not in tensors
    straight = run(cached_gpt())
    assert_same(run(cached_gpt(), checkpoint=tmp_path / "run", resume=True), straight)
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    write_tensors(tmp_path / "run", tensors | {"model.table": torch.ones(8)}, record)
    assert_same(run(cached_gpt(), checkpoint=tmp_path / "run", resume=True), straight)


def test_a_model_that_no_checkpoint_could_bring_back_is_refused_before_the_first_step(tmp_path):
    class Extra(GPT):
        def get_extra_state(self):
            return {"calls": 3}

    overlapping, expanded, hidden = (small_gpt() for _ in range(3))
    overlapping.lm_head.weight = torch.nn.Parameter(overlapping.wte.weight.detach()[:])
    expanded.register_buffer("ones", torch.ones(1).expand(5))
    hidden._register_state_dict_hook(lambda _, state, *rest: state.__delitem__("wpe.weight"))
    more = Extra(small_gpt().config)
    for model, words in (
        (overlapping, "wte.weight and lm_head.weight share memory|lm_head.weight and wte.weight"),
        (expanded, "ones shares memory with itself"),
        (hidden, "state_dict has no wpe.weight"),
        (more, "_extra_state of the model is no tensor"),
    ):
        with pytest.raises(ValueError, match=words):
            run(model, checkpoint=tmp_path / "run", callbacks=[stop_at(1)])
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("what", ["loss", "weight", "validation"])
def test_what_is_no_number_ends_a_run_and_is_neither_recorded_nor_saved(tmp_path, what, bad):
    path, model, seen = tmp_path / "run", small_gpt(dropout=0.0), []

    def spoil(state):
        seen.append(state.history)
        if state.step == 12 and what == "weight":  # one that no window of the next steps reads
            with torch.no_grad():
                model.ln_f.bias[0] = bad
        if state.step == 12 and what == "loss":
            model.register_forward_hook(lambda m, _, z: z * bad if m.training else z)
        if state.step == 12 and what == "validation":
            model.register_forward_hook(lambda m, _, z: z if m.training else z * bad)

    rate = TrainingConfig(steps=24, lr=1e-2, seed=3, warmup=4, schedule="cosine").learning_rate
    step = 20 if what == "validation" else 13
    words = f"at step {step}, with a learning rate of {rate(step - 1):.3g}: the run ends"
    with pytest.raises(FloatingPointError, match=words):
        run(model, checkpoint=path, callbacks=[spoil])
    assert read_header(path)["step"] == 10 and seen[-1].steps == [10]


def test_the_first_evaluation_is_saved_whatever_the_interval_is(tmp_path):
    with pytest.raises(Stop):
        run(checkpoint=tmp_path / "run", checkpoint_every=20, callbacks=[stop_at(11)])
    assert read_header(tmp_path / "run")["step"] == 10


def test_settings_without_end_are_written_as_json(tmp_path, uninterrupted):
    interrupted(tmp_path / "run", 7, clip=math.inf)
    with safetensors.safe_open(tmp_path / "run", "pt") as file:
        text = file.metadata()["scratchformer"]
    assert json.loads(text, parse_constant=pytest.fail)["record"]["settings"]["clip"] == "inf"
    straight = run(clip=math.inf)
    assert_same(run(clip=math.inf, checkpoint=tmp_path / "run", resume=True), straight)


def test_another_model_or_optimiser_is_refused_and_nothing_is_changed(tmp_path):
    path = tmp_path / "run"
    run(checkpoint=path, steps=5)
    deeper, model = small_gpt(n_layers=2), small_gpt(seed=1)
    for other, parameters, words in (
        (deeper, deeper.parameters(), r"another model: h\.1\..* is missing in it"),
        (model, list(model.parameters())[::-1], "another optimiser: optimizer.*is"),
        (model, list(model.parameters())[:3], "another optimiser: optimizer.*is"),
    ):
        state = TrainingState(
            other, torch.optim.AdamW(parameters), WindowSampler(IDS, 3, 8, seed=5)
        )
        weights, random = [p.clone() for p in other.parameters()], torch.get_rng_state()
        before = state.batches.state_dict()
        with pytest.raises(ValueError, match=f"is of {words}"):
            checkpoints.load_checkpoint(path, state, {})
        assert all(map(torch.equal, weights, other.parameters()))
        assert torch.equal(before["generator"], state.batches.state_dict()["generator"])
        assert torch.equal(random, torch.get_rng_state())
        assert state.optimizer.state_dict()["state"] == {} and state.step == 0


# --- files that are not whole -----------------------------------------------------------------


def test_an_error_while_writing_leaves_the_old_checkpoint_whole(
    tmp_path, uninterrupted, monkeypatch
):
    path, save = tmp_path / "run", safetensors.torch.save_file
    calls = []

    def full_disk(tensors, part, metadata):
        calls.append(part)
        save(tensors, part, metadata)
        if len(calls) == 3:
            part.write_bytes(part.read_bytes()[:1000])
            raise OSError("No space left on device")

    monkeypatch.setattr(safetensors.torch, "save_file", full_disk)
    with pytest.raises(OSError, match="No space left"):
        run(checkpoint=path, checkpoint_every=4)
    assert read_header(path)["step"] == 8 and os.listdir(tmp_path) == ["run"]
    assert_same(run(checkpoint=path, checkpoint_every=4, resume=True), uninterrupted)


def test_a_damaged_checkpoint_is_refused_and_changes_nothing(tmp_path):
    path, model = tmp_path / "run", small_gpt()
    run(checkpoint=path, steps=5)
    data = path.read_bytes()
    half = len(data) // 2
    before = [p.clone() for p in model.parameters()]
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
    safetensors.torch.save_file({"model.x": torch.ones(1)}, tmp_path / "run")
    with pytest.raises(ValueError, match="run is not a checkpoint"):
        run(checkpoint=tmp_path / "run", resume=True)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_header(tmp_path / "none")


def test_a_disk_that_safetensors_finds_full_is_an_error_of_the_system(tmp_path, monkeypatch):
    def full_disk(tensors, part, metadata):
        raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(safetensors.torch, "save_file", full_disk)
    with pytest.raises(OSError, match=r"run cannot be written: .*No space left on device"):
        run(checkpoint=tmp_path / "run")
    assert os.listdir(tmp_path) == []


def test_it_holds_no_pickle_and_a_tied_weight_once(tmp_path):
    run(checkpoint=tmp_path / "run", steps=5)
    tensors = safetensors.torch.load_file(tmp_path / "run")
    assert "model.wte.weight" in tensors and "model.lm_head.weight" not in tensors
    n = sum(p.numel() for p in small_gpt().parameters())
    assert sum(t.numel() for k, t in tensors.items() if k.startswith("model.")) == n
    assert json.loads(json.dumps(read_header(tmp_path / "run")))["step"] == 5
