"""Training and evaluation: every token scored once, runs repeat, and learning meets counting."""

import math

import pytest
import torch
import torch.nn.functional as F

from scratchformer.models import GPT, GPTConfig, KneserNey
from scratchformer.training import evaluate, parameter_groups, train

TEXT = torch.tensor([0, 1, 2, 3, 1, 2, 0, 2, 1, 3] * 60)


def small_gpt(seed=0):
    torch.manual_seed(seed)
    return GPT(GPTConfig(vocab_size=4, context_length=8, d_model=16, n_heads=2, n_layers=2))


def run(model, seed=0, steps=20, **changes):
    settings = {"steps": steps, "batch_size": 4, "context_length": 8, "lr": 1e-2, "seed": seed}
    return train(model, TEXT[:500], TEXT[500:], **settings | changes)


@pytest.mark.parametrize(("n", "batch_size"), [(2, 1), (8, 1), (9, 3), (50, 3)])
def test_evaluate_scores_every_token_but_the_first_exactly_once(n, batch_size):
    model = small_gpt()
    ids = torch.randint(4, (n,), generator=torch.Generator().manual_seed(n))
    losses = []
    for i in range(1, n):  # one prediction at a time, from what its window holds before it
        context = ids[(i - 1) // 8 * 8 : i]
        losses.append(F.cross_entropy(model(context[None])[0, -1], ids[i]).item())
    assert evaluate(model, ids, 8, batch_size) == pytest.approx(sum(losses) / (n - 1), abs=1e-6)


def test_evaluate_needs_a_token_to_predict_and_restores_the_mode_after_an_error():
    model = small_gpt()
    for ids, context_length, words in (
        (TEXT[:1], 8, "got 1 tokens, expected at least 2"),
        (TEXT, 9, "context_length"),
        (TEXT, 0, "context_length=0"),
    ):
        with pytest.raises(ValueError, match=words):
            evaluate(model, ids, context_length)
        assert model.training


@pytest.mark.parametrize("mode", [True, False])
def test_evaluate_switches_dropout_and_gradients_off_and_restores_the_mode(mode):
    config = GPTConfig(4, 8, d_model=16, n_heads=2, n_layers=1, dropout=0.5)
    model, recorded = GPT(config).train(mode), set()
    model.h[0].eval()  # a part that was frozen in evaluation mode stays there
    modes = [module.training for module in model.modules()]
    model.register_forward_pre_hook(lambda *_: recorded.add(torch.is_grad_enabled()))
    assert evaluate(model, TEXT, 8) == evaluate(model, TEXT, 8)
    assert [module.training for module in model.modules()] == modes and recorded == {False}


def test_evaluation_computes_in_the_precision_asked_for():
    model, seen = small_gpt(), []
    model.register_forward_hook(lambda _, inputs, logits: seen.append(logits.dtype))
    exact, rough = evaluate(model, TEXT, 8), evaluate(model, TEXT, 8, precision="bfloat16")
    assert set(seen) == {torch.float32, torch.bfloat16}
    assert exact != rough and exact == pytest.approx(rough, abs=0.02)


def test_a_seed_repeats_a_run_and_leaves_torchs_global_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    runs = []
    for seed in (0, 0, 1):
        model = small_gpt()
        torch.manual_seed(5)
        runs.append(run(model, seed=seed, evaluate_every=5))
        assert torch.equal(torch.rand(1), expected)
    first, again, other = runs
    assert first.train_loss == again.train_loss and first.val_loss == again.val_loss
    assert first.train_loss != other.train_loss


def test_history_has_one_entry_an_evaluation_and_the_callback_sees_it():
    seen, reported = [], []

    def watch(state):
        seen.append(state.step)
        if state.evaluated:
            history = state.history
            reported.append((state.step, history.train_loss[-1], history.val_loss[-1]))

    history = run(small_gpt(), steps=12, evaluate_every=5, callbacks=[watch])
    assert history.steps == [5, 10, 12] and seen == list(range(1, 13))
    assert reported == list(zip(history.steps, history.train_loss, history.val_loss, strict=True))
    assert len(history.seconds) == 3 and history.seconds == sorted(history.seconds)


def test_losses_are_those_of_the_batches_since_the_last_evaluation_and_of_the_trained_model():
    each = run(small_gpt(), steps=6, evaluate_every=1).train_loss
    model = small_gpt()
    pooled = run(model, steps=6, evaluate_every=3)
    assert pooled.train_loss == pytest.approx([sum(each[:3]) / 3, sum(each[3:]) / 3])
    assert pooled.val_loss[-1] == evaluate(model, TEXT[500:], 8, batch_size=4) and model.training


def test_only_matrices_decay():
    model = small_gpt()
    decayed, rest = parameter_groups(model, 0.1)
    names = {id(p): name for name, p in model.named_parameters()}
    assert decayed["weight_decay"] == 0.1 and rest["weight_decay"] == 0.0
    assert all("ln_" in names[id(p)] or "bias" in names[id(p)] for p in rest["params"])
    assert all(
        names[id(p)].endswith("weight") and "ln_" not in names[id(p)] for p in decayed["params"]
    )
    both = decayed["params"] + rest["params"]
    assert len(both) == len({id(p) for p in both}) == len(names)  # each once, the tied one too


def test_gpt_learns_what_the_bigram_cannot_see():
    # The text repeats every ten tokens, so looking back makes it certain; one token does not.
    history = run(small_gpt(), steps=100, batch_size=8, evaluate_every=50)
    assert history.val_loss[0] > history.val_loss[-1]
    unigram, bigram = (KneserNey(n).fit(TEXT[:500], 4).nats_per_token(TEXT[500:]) for n in (1, 2))
    assert unigram < math.log(4) and history.val_loss[-1] < 0.6 * bigram
