"""The one loop: batches in pieces, padding, precision, seeds, and what it reports."""

import copy
import math
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from short_run import small_gpt

from scratchformer.data.batches import WindowSampler
from scratchformer.training import (
    IGNORED,
    TrainingConfig,
    evaluate,
    fit,
    loop,
    parameter_groups,
    token_loss,
    train,
    train_on,
    update,
)

TEXT = torch.tensor([0, 1, 2, 3, 1, 2, 0, 2, 1, 3] * 60)


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


def learn(model, seed=0, steps=20, **changes):
    settings = {"steps": steps, "batch_size": 4, "context_length": 8, "lr": 1e-2, "seed": seed}
    return train(model, TEXT[:500], TEXT[500:], **settings | changes)


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


def test_a_batch_of_nothing_but_padding_trains_nothing():
    x, y = padded_batch(torch.Generator().manual_seed(0))
    model = small_gpt()
    before = copy.deepcopy(model)
    history = run(model, lambda _: (x, torch.full_like(y, IGNORED)), weight_decay=0.0)
    assert history.train_loss == [0.0]
    same_parameters(model, before, rtol=0, atol=0)


def test_bfloat16_is_for_products_and_weights_stay_float32():
    types, losses = [], []

    def loss(model, x, y):
        logits = model(x)
        nats, targets = token_loss(logits, y)
        types.append((logits.dtype, nats.dtype, next(model.parameters()).dtype))
        return nats, targets

    for precision in ("bfloat16", "float32"):
        losses += run(small_gpt(), loss=loss, precision=precision, steps=10).train_loss
        assert {*types[-10:]} == {(getattr(torch, precision), torch.float32, torch.float32)}
    assert losses[0] != losses[1] and losses[0] == pytest.approx(losses[1], abs=0.02)


def test_a_seed_repeats_a_run_and_leaves_torchs_global_generator_alone():
    torch.manual_seed(5)
    expected, histories = torch.rand(1), []
    for seed in (0, 0, 1):
        model = small_gpt()
        torch.manual_seed(5)
        histories.append(learn(model, seed=seed, evaluate_every=5))
        assert torch.equal(torch.rand(1), expected)
    first, again, other = histories
    assert first.train_loss == again.train_loss and first.val_loss == again.val_loss
    assert first.train_loss != other.train_loss


def test_history_has_one_entry_an_evaluation_and_a_callback_sees_it():
    steps, reported, model = [], [], small_gpt()

    def watch(state):
        steps.append(state.step)
        if state.evaluated:
            history = state.history
            reported.append((state.step, history.train_loss[-1], history.val_loss[-1]))

    history = learn(model, steps=7, evaluate_every=3, callbacks=[watch])
    assert history.steps == [3, 6, 7] and steps == [*range(1, 8)]
    assert reported == list(zip(history.steps, history.train_loss, history.val_loss, strict=True))
    assert history.val_loss[-1] == evaluate(model, TEXT[500:], 8, batch_size=4) and model.training


def test_the_reported_loss_is_a_mean_over_targets_not_over_steps():
    counts = []

    def loss(model, x, y):
        counts.append(language_loss(model, x, y))
        return counts[-1]

    options = {"steps": 5, "gradient_accumulation_steps": 2, "evaluate_every": 4}
    history = run(small_gpt(), loss=loss, **options)
    for part, reported in zip((counts[:8], counts[8:]), history.train_loss, strict=True):
        nats, targets = (sum(numbers).item() for numbers in zip(*part, strict=True))
        assert reported == pytest.approx(nats / targets)
        assert reported != pytest.approx(sum(a / b for a, b in part).item() / len(part), rel=1e-6)


def test_seconds_are_those_of_training_alone_before_an_interruption_too(monkeypatch, tmp_path):
    clock = [0.0]  # goes only when a test moves it
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def wait(seconds, result=None):
        clock[0] += seconds
        return result

    options = {"validate": lambda: wait(100.0, 0.0), "evaluate_every": 1}
    options |= {"loss": lambda *batch: wait(1.0, language_loss(*batch)), "resume": True}
    options |= {"checkpoint": tmp_path / "run", "checkpoint_every": 1}
    with pytest.raises(ZeroDivisionError):  # after two steps
        run(small_gpt(), callbacks=[lambda _: wait(100.0), lambda s: 1 / (s.step - 2)], **options)
    history = run(small_gpt(), **options)
    assert history.val_loss == [0.0] * 3 and history.seconds == [1.0, 2.0, 3.0]


def test_evaluation_reads_no_more_rows_than_training_and_windows_as_long_as_its_longest():
    model, shapes = small_gpt(), []
    model.register_forward_pre_hook(lambda _, inputs: shapes.append((*inputs[0].shape,)))
    batches = WindowSampler(TEXT, batch_size=4, context_length=4, seed=0)
    batches.context_length = 8  # as of a sampler whose windows will double
    config = TrainingConfig(steps=1, lr=0.1, seed=0)
    train_on(batches, model, TEXT, config, 4, {})
    assert max(shapes[1:]) == (4, 8)
    with pytest.raises(ValueError, match="val_ids hold 1 tokens, expected at least 2"):
        train_on(batches, model, TEXT[:1], config, 4, {})


def test_batches_that_end_or_cannot_be_resumed_are_refused(tmp_path):
    batch = padded_batch(torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match="the batches cannot be resumed, expected state_dict"):
        run(small_gpt(), iter([batch] * 3), checkpoint=tmp_path / "run")
    assert run(small_gpt(), iter([batch] * 3)).steps == [3]
    with pytest.raises(ValueError, match="the batches have ended"):
        run(small_gpt(), iter([batch] * 2))
