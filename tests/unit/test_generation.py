"""Generation: seeds, greedy, truncation, and contexts longer than the model's."""

import pytest
import torch
from torch import nn

from scratchformer.generation import generate
from scratchformer.models import GPT, Bigram, GPTConfig

PROMPT = torch.tensor([[1, 2, 3], [4, 0, 2]])


def small_gpt(dropout=0.0):
    torch.manual_seed(0)
    model = GPT(GPTConfig(9, 6, d_model=16, n_heads=2, n_layers=2, dropout=dropout))
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.3)  # far from flat, so that the context decides
    return model


class Fixed(nn.Module):
    """Always the same distribution, whatever came before."""

    context_length = 1

    def __init__(self, probabilities):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(probabilities).log())

    def forward(self, ids):
        return self.logits.expand(*ids.shape, -1)


def drawn(model, n=4000, **settings):
    """Shares of each token among n draws."""
    ids = generate(model, torch.zeros(n, 1, dtype=torch.long), 1, seed=0, **settings)[:, 1]
    return torch.bincount(ids, minlength=4) / n


@pytest.mark.parametrize("model", [small_gpt(), Bigram(9)], ids=["gpt", "bigram"])
def test_prompt_is_kept_and_continued_past_the_context_length(model):
    ids = generate(model, PROMPT, 20, seed=0)
    assert ids.shape == (2, 23) and torch.equal(ids[:, :3], PROMPT)
    assert ids.min() >= 0 and ids.max() < 9
    assert torch.equal(generate(model, PROMPT, 0), PROMPT)


def test_greedy_takes_the_likeliest_token_given_the_last_context_length_tokens():
    model = small_gpt()
    ids = generate(model, PROMPT, 12, temperature=0.0)
    for t in range(3, 15):
        window = ids[:, max(0, t - 6) : t]
        assert torch.equal(ids[:, t], model(window)[:, -1].argmax(dim=-1))


def test_a_seed_repeats_the_draw_and_leaves_the_global_generator_alone():
    model = small_gpt()
    torch.manual_seed(3)
    first = generate(model, PROMPT, 30, seed=1)
    after = torch.rand(1)
    assert torch.equal(first, generate(model, PROMPT, 30, seed=1))
    assert not torch.equal(first, generate(model, PROMPT, 30, seed=2))
    torch.manual_seed(3)
    assert torch.equal(after, torch.rand(1))


def test_without_a_seed_the_global_generator_decides():
    model = small_gpt()
    torch.manual_seed(1)
    first, second = generate(model, PROMPT, 30), generate(model, PROMPT, 30)
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(first, generate(model, PROMPT, 30))


def test_draws_follow_the_models_probabilities_and_temperature_sharpens_them():
    p = torch.tensor([0.4, 0.3, 0.2, 0.1])
    model = Fixed(p.tolist())
    torch.testing.assert_close(drawn(model), p, atol=0.03, rtol=0)
    sharp = p**2 / (p**2).sum()  # dividing logits by 1/2 squares probabilities
    torch.testing.assert_close(drawn(model, temperature=0.5), sharp, atol=0.03, rtol=0)


def test_top_k_of_one_equals_greedy():
    model = small_gpt()
    greedy = generate(model, PROMPT, 20, temperature=0.0)
    assert torch.equal(generate(model, PROMPT, 20, top_k=1, seed=0), greedy)
    assert torch.equal(generate(model, PROMPT, 20, top_p=1e-6, seed=0), greedy)


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"top_k": 2}, [0.0, 0.6, 0.4, 0.0]),  # 0.3 and 0.2 of the four, rescaled
        ({"top_k": 99}, [0.1, 0.45, 0.3, 0.15]),
        ({"top_p": 0.5}, [0.0, 0.6, 0.4, 0.0]),  # 0.45 is not enough: the next one comes too
        ({"top_p": 0.76}, [0.0, 0.5, 1 / 3, 1 / 6]),
        ({"top_p": 1.0}, [0.1, 0.45, 0.3, 0.15]),
        ({"top_k": 3, "top_p": 0.49}, [0.0, 1.0, 0.0, 0.0]),  # of those three, 0.45 is half
    ],
)
def test_truncation_keeps_the_likeliest_and_rescales(settings, kept):
    shares = drawn(Fixed([0.1, 0.45, 0.3, 0.15]), **settings)
    torch.testing.assert_close(shares, torch.tensor(kept), atol=0.03, rtol=0)
    assert ((shares > 0) == (torch.tensor(kept) > 0)).all()


def test_rows_of_a_batch_do_not_disturb_each_other():
    model = small_gpt()
    both = generate(model, PROMPT, 15, temperature=0.0)
    assert torch.equal(both[1:], generate(model, PROMPT[1:], 15, temperature=0.0))


@pytest.mark.parametrize("mode", [True, False])
def test_dropout_is_off_and_the_mode_restored(mode):
    model = small_gpt(dropout=0.5).train(mode)
    first = generate(model, PROMPT, 10, temperature=0.0)
    assert torch.equal(first, generate(model, PROMPT, 10, temperature=0.0))
    assert model.training is mode


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -1.0}, "temperature=-1.0, expected 0"),
        ({"top_k": 0}, "top_k=0, expected at least 1"),
        ({"top_p": 0.0}, "top_p=0.0, expected 0 < top_p <= 1"),
        ({"top_p": 1.5}, "top_p=1.5, expected 0 < top_p <= 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        generate(Bigram(9), PROMPT, 1, **settings)


def test_an_empty_prompt_is_refused():
    with pytest.raises(ValueError, match="ids hold no token"):
        generate(Bigram(9), PROMPT[:, :0], 1)
