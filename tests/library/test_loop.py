"""The one loop: batches in pieces, padding, precision, and settings that make no sense."""

import copy
import math
import re
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from scratchformer.data.batches import RandomBatches
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import (
    IGNORED,
    TrainingConfig,
    fit,
    loop,
    parameter_groups,
    token_loss,
    train_on,
    update,
)
from scratchformer_course.ch17_speedrun.windows import RaceWindows

IDS = torch.tensor([0, 1, 2, 3, 1, 2, 0, 2, 1, 3] * 20)


def small_gpt(dropout=0.0):
    torch.manual_seed(0)
    return GPT(GPTConfig(4, 8, d_model=16, n_heads=2, n_layers=2, dropout=dropout))


def padded_batch(generator, rows=6):
    """Rows of 1 to 8 targets, the rest padding: no two pieces need have as many."""
    ids = torch.randint(4, (rows, 9), generator=generator)
    x, y = ids[:, :-1], ids[:, 1:].clone()
    lengths = torch.randint(1, 9, (rows, 1), generator=generator)
    return x, y.masked_fill(torch.arange(8) >= lengths, IGNORED)


def language_loss(model, x, y):
    return token_loss(model(x), y)


OF_FIT = ("validate", "callbacks", "checkpoint", "resume")


def run(model, batch=padded_batch, loss=language_loss, **changes):
    options = {name: changes.pop(name) for name in OF_FIT if name in changes}
    config = TrainingConfig(**{"steps": 3, "lr": 1e-2, "seed": 0} | changes)
    return fit(model, batch, loss, config, **options)


def optimizer_of(model, betas=(0.9, 0.95), **options):
    return torch.optim.AdamW(parameter_groups(model, 0.1), lr=1e-2, betas=betas, **options)


def same_parameters(a, b, **tolerance):
    for p, q in zip(a.parameters(), b.parameters(), strict=True):
        torch.testing.assert_close(p, q, **tolerance)


def test_pieces_with_unequal_numbers_of_targets_make_the_gradient_of_all():
    pieces = 6
    x, y = padded_batch(torch.Generator().manual_seed(1))
    counts = [(piece != IGNORED).sum().item() for piece in y.chunk(pieces)]
    assert len(set(counts)) > 1
    gradients = []
    for parts in (1, pieces):
        model = small_gpt()
        batches = zip(x.chunk(parts), y.chunk(parts), strict=True)
        _, targets = update(model, optimizer_of(model), batches, language_loss, clip=1e9)
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
        assert targets == sum(counts)
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-7)


def test_reported_loss_is_a_mean_over_targets_not_over_steps():
    model, seen = small_gpt(), []

    def loss(model, x, y):
        nats, targets = language_loss(model, x, y)
        seen.append((nats.item(), targets.item()))
        return nats, targets

    history = run(model, loss=loss, steps=4, gradient_accumulation_steps=2)
    nats, targets = map(sum, zip(*seen, strict=True))
    assert history.train_loss == [pytest.approx(nats / targets)]
    assert history.train_loss[0] != pytest.approx(sum(a / b for a, b in seen) / len(seen), rel=1e-6)


def test_a_batch_of_nothing_but_padding_trains_nothing():
    x, y = padded_batch(torch.Generator().manual_seed(0))
    model = small_gpt()
    before = copy.deepcopy(model)
    history = run(model, lambda _: (x, torch.full_like(y, IGNORED)), weight_decay=0.0)
    assert history.train_loss == [0.0]
    same_parameters(model, before, rtol=0, atol=0)


def test_steps_are_adamws_on_the_clipped_gradient_of_the_mean():
    options = {"betas": (0.5, 0.6), "eps": 1e-2}
    model, by_hand = small_gpt(), small_gpt()
    run(model, clip=0.01, schedule="constant", **options)
    generator = torch.Generator().manual_seed(0)
    optimizer = optimizer_of(by_hand, **options)
    for _ in range(3):
        x, y = padded_batch(generator)
        optimizer.zero_grad()
        F.cross_entropy(by_hand(x).mT, y, ignore_index=IGNORED).backward()
        norm = math.sqrt(sum(p.grad.square().sum().item() for p in by_hand.parameters()))
        assert norm > 0.01
        for p in by_hand.parameters():
            p.grad *= 0.01 / norm
        optimizer.step()
    same_parameters(model, by_hand, rtol=1e-3, atol=1e-5)


def test_bfloat16_is_for_products_and_weights_stay_float32():
    seen = set()

    def loss(model, x, y):
        logits = model(x)
        nats, targets = token_loss(logits, y)
        seen.add((logits.dtype, nats.dtype))
        return nats, targets

    rough, exact = small_gpt(), small_gpt()
    losses = [
        run(model, loss=loss, precision=precision, steps=10).train_loss[0]
        for model, precision in ((rough, "bfloat16"), (exact, "float32"))
    ]
    assert seen == {(torch.bfloat16, torch.float32), (torch.float32, torch.float32)}
    assert {p.dtype for p in rough.parameters()} == {torch.float32}
    assert losses[0] != losses[1] and losses[0] == pytest.approx(losses[1], abs=0.02)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": 0}, "steps=0, expected at least 1"),
        ({"checkpoint_every": -1}, "checkpoint_every=-1, expected at least 1"),
        ({"muon_lr": -0.1}, "muon_lr=-0.1, expected more than 0"),
        ({"lr": math.nan}, "lr=nan, expected more than 0"),
        ({"matrix_lr": 0.1, "muon_lr": 0.1}, "matrix_lr and muon_lr are both given"),
        ({"weight_decay": -0.1}, "weight_decay=-0.1, expected 0 or more"),
        ({"precision": "float16"}, "precision='float16', expected 'float32' or 'bfloat16'"),
        ({"schedule": "none"}, "schedule='none', expected one of"),
        ({"seed": 2**63}, "seed=9223372036854775808, expected 0 or more and less than"),
        ({"muon_momentum": 1.0}, "muon_momentum=1.0, expected 0 to below 1"),
        ({"betas": (0.9, 1.0)}, "betas=(0.9, 1.0), expected two numbers from 0 to below 1"),
        ({"warmup": 3}, "warmup=3, expected 0 or more and fewer than steps=3"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_done(wrong, message):
    def untouched(generator):
        raise AssertionError("a batch was drawn")

    with pytest.raises(ValueError, match=re.escape(message)):
        run(small_gpt(), untouched, **wrong)


def test_batches_that_end_or_cannot_be_resumed_are_refused(tmp_path, plain_signatures):
    batch = padded_batch(torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match="the batches cannot be resumed, expected state_dict"):
        run(small_gpt(), iter([batch] * 3), checkpoint=tmp_path / "run")
    assert run(small_gpt(), iter([batch] * 3)).steps == [3]
    with pytest.raises(ValueError, match="the batches have ended"):
        run(small_gpt(), iter([batch] * 2))
    with pytest.raises(TypeError, match="got a list, expected a sampler"):
        RandomBatches([batch], seed=0)


@pytest.fixture
def clock(monkeypatch):
    """The loop's clock, which goes only when a test moves it: [seconds]."""
    seconds = [0.0]
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: seconds[0]))
    return seconds


def test_seconds_are_those_of_training_alone_before_an_interruption_too(clock, tmp_path):
    def validate():
        clock[0] += 100.0
        return 0.0

    def loss(model, x, y):
        clock[0] += 1.0
        return language_loss(model, x, y)

    def stop(state):
        if state.step == 2:
            raise KeyboardInterrupt

    options = {"validate": validate, "evaluate_every": 1, "loss": loss}
    options |= {"checkpoint": tmp_path / "run", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt):
        run(small_gpt(), callbacks=[lambda _: validate(), stop], **options)
    history = run(small_gpt(), resume=True, **options)
    assert history.val_loss == [0.0] * 3 and history.seconds == [1.0, 2.0, 3.0]


def test_evaluation_reads_no_more_rows_than_training_and_windows_as_long_as_its_longest():
    model, shapes = small_gpt(), []
    model.register_forward_pre_hook(lambda _, inputs: shapes.append((*inputs[0].shape,)))
    batches = RaceWindows(IDS, batch_size=4, context_length=4, seed=0, double_after=1)
    train_on(batches, model, IDS, TrainingConfig(steps=1, lr=0.1, seed=0), 4, {})
    assert shapes[0] == (4, 4)  # the step, before the windows double
    assert max(shapes[1:]) == (4, 8)
