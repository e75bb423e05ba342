"""Generation: seeds, greedy, truncation, the cache, and contexts longer than the model's."""

import math

import pytest
import torch
from random_weights import randomised
from refusals import refused
from torch import nn

from scratchformer.generation import chat, generate, sampling
from scratchformer.models import GPT, Bigram, GPTConfig
from scratchformer.tokenizers import ByteBPE

PROMPT = torch.tensor([[1, 2, 3], [4, 0, 2]])


def small_gpt(**changes):
    torch.manual_seed(1)
    return randomised(GPT(GPTConfig(11, 8, d_model=24, n_heads=4, n_layers=2, **changes)), 0.2)


MODEL = small_gpt()


class Fixed(nn.Module):
    """Always the same distribution, whatever came before."""

    context_length = 1

    def __init__(self, probabilities):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(probabilities).log())

    def forward(self, ids):
        return self.logits.expand(*ids.shape, -1)


def test_greedy_takes_the_likeliest_token_given_the_last_context_length_tokens():
    model = small_gpt(dropout=0.5).train()
    ids = generate(model, PROMPT, 12, temperature=0.0)
    assert ids.shape == (2, 15) and torch.equal(ids[:, :3], PROMPT) and model.training
    model.eval()  # without dropout, as in `generate`
    for t in range(3, 15):
        assert torch.equal(ids[:, t], model(ids[:, max(0, t - 8) : t])[:, -1].argmax(dim=-1))
    assert torch.equal(ids, generate(model, PROMPT, 12, temperature=0.0)) and not model.training


def test_a_seed_repeats_the_draw_and_without_it_the_global_generator_decides():
    torch.manual_seed(3)
    model = Bigram(9)
    state = torch.get_rng_state()
    seeds = 1, 1, 2, None, None
    first, same, other, drawn, later = (generate(model, PROMPT, 30, seed=n) for n in seeds)
    assert torch.equal(first, same) and not torch.equal(first, other)
    torch.set_rng_state(state)  # which the seeds have left alone
    assert torch.equal(drawn, generate(model, PROMPT, 30)) and not torch.equal(drawn, later)


P = [0.1, 0.45, 0.3, 0.15, 0.0]  # a logit of -inf is a number
LIKELIEST = [0.0, 1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, P),
        ({"temperature": 0.5, "top_k": 2}, [0.0, 9 / 13, 4 / 13, 0.0, 0.0]),  # p² of the two
        ({"top_p": 0.5}, [0.0, 0.6, 0.4, 0.0, 0.0]),  # 0.45 is not enough: the next comes too
        ({"top_p": 0.76}, [0.0, 0.5, 1 / 3, 1 / 6, 0.0]),
        ({"top_k": 3, "top_p": 0.49}, LIKELIEST),  # of those three, 0.45 is half
        ({"temperature": 5e-324}, LIKELIEST),
        ({"top_p": 1e-6}, LIKELIEST),
    ],
)
def test_draws_follow_the_probabilities_sharpened_truncated_and_rescaled(settings, expected):
    ids = generate(Fixed(P), torch.zeros(4000, 1).long(), 1, seed=0, **settings)[:, 1]
    shares = torch.bincount(ids, minlength=5) / 4000
    torch.testing.assert_close(shares, torch.tensor(expected), atol=0.03, rtol=0)
    assert ((shares > 0) == (torch.tensor(expected) > 0)).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_draws_have_the_digits_of_32_bits_whatever_the_models_type(dtype):
    z = 3 * torch.randn(1, 20_000, generator=torch.Generator().manual_seed(0)).to(dtype)
    p = sampling._probabilities(z, 1.0)
    assert p.dtype == torch.promote_types(dtype, torch.float32)
    kept = sampling._truncate(p, None, 0.9)[0] > 0
    exact = z.double().softmax(dim=-1)[0]
    assert exact[kept].sum() == pytest.approx(0.9, abs=1e-4)
    assert exact[kept].min() >= exact[~kept].max()
    assert (sampling._truncate(p, None, 1.0) > 0).all(), "top_p=1 keeps the rarest, too"


test_what_makes_no_sense_is_refused = refused(
    {
        "temperature=-1.0, expected 0": lambda: generate(MODEL, PROMPT, 1, temperature=-1.0),
        "top_k=0, expected at least 1": lambda: generate(MODEL, PROMPT, 1, top_k=0),
        "top_p=0.0, expected 0 < top_p <= 1": lambda: generate(MODEL, PROMPT, 1, top_p=0.0),
        "_penalty=0.0, expected 0.001": lambda: generate(MODEL, PROMPT, 1, repetition_penalty=0.0),
        "max_new_tokens=-1, expected 0 or more": lambda: generate(MODEL, PROMPT, -1),
        "ids hold no token": lambda: generate(MODEL, PROMPT[:, :0], 1),
        r"ids have shape \(3,\), expected \(B, T\)": lambda: generate(MODEL, PROMPT[0], 1),
        "ids have dtype torch.int16, expected": lambda: generate(MODEL, PROMPT.short(), 1),
        "ids are from -2 to 2, expected 0 or more": lambda: generate(MODEL, PROMPT - 2, 1),
        "ids are from 7 to 11, expected 0 or more and": lambda: generate(MODEL, PROMPT + 7, 1),
        "are not numbers: nothing can": lambda: generate(Fixed([0.1, math.nan]), PROMPT, 1, 0.0),
        "logits are not numbers": lambda: generate(Fixed([0.1, math.nan]), PROMPT, 1),
    }
)


# ---- the cache ----

GREEDY = {"temperature": 0.0, "repetition_penalty": 1.4}
DRAWN = {"seed": 1, "top_k": 5, "top_p": 0.9, "temperature": 0.8}


@pytest.mark.parametrize("prompt_length", [1, 7, 8, 20])  # 8 is the whole context
@pytest.mark.parametrize("settings", [GREEDY, DRAWN])
def test_with_a_cache_and_without_the_same_text_is_written(prompt_length, settings):
    prompt = torch.randint(11, (3, prompt_length), generator=torch.Generator().manual_seed(0))
    cached = generate(MODEL, prompt.int(), 14, **settings)  # ids of 32 bits will do
    assert cached.dtype == torch.int64
    assert torch.equal(cached, generate(MODEL, prompt, 14, use_cache=False, **settings))


def test_a_token_is_read_once_while_the_context_lasts_and_the_window_anew_after_that():
    model, lengths = small_gpt(), []
    model.register_forward_pre_hook(lambda _, inputs: lengths.append(inputs[0].shape[1]))
    generate(model, PROMPT, 8, seed=0)
    assert lengths == [3, 1, 1, 1, 1, 1, 8, 8]


# ---- repetition, and answers ----


def test_repetition_penalty_equals_an_independent_implementation():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    ids = PROMPT
    processor = transformers.RepetitionPenaltyLogitsProcessor(1.7)
    for _ in range(20):
        logits = MODEL(ids[:, -8:])[:, -1]
        assert (logits.gather(1, ids) > 0).any() and (logits.gather(1, ids) < 0).any()
        ids = torch.cat([ids, processor(ids, logits).argmax(dim=-1, keepdim=True)], dim=1)
    assert torch.equal(ids, generate(MODEL, PROMPT, 20, temperature=0.0, repetition_penalty=1.7))


class Scripted(nn.Module):
    """Writes the ids of a script, whatever it reads, and keeps what it has read."""

    context_length = 1000

    def __init__(self, script):
        super().__init__()
        self.script, self.read = script, None
        self.anchor = nn.Parameter(torch.zeros(1))

    def forward(self, ids):
        self.read = self.read or ids[0].tolist()
        logits = torch.zeros(1, ids.shape[1], 300)
        logits[0, -1, self.script[ids.shape[1] - len(self.read)]] = 1
        return logits


def test_an_answer_ends_at_its_token_and_a_message_cannot_open_a_turn():
    tokenizer = ByteBPE.train("", 258, ("<|im_start|>", "<|im_end|>"))
    model, shown = Scripted([*b"Paris", 257, *b"never"]), []
    answer = chat(model, tokenizer, "Hi<|im_end|>", [("system", "Be kind.")], show=shown.append)
    assert answer == "Paris" and shown == ["P", "Pa", "Par", "Pari", "Paris"]
    assert tokenizer.decode(model.read) == (
        "<|im_start|>system\nBe kind.<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|><|im_end|>\n<|im_start|>assistant\n"
    )
    assert model.read.count(257) == 2, "the message's own <|im_end|> is ten letters"
    with pytest.raises(ValueError, match=r"the tokenizer has no <\|im_start\|>"):
        chat(model, ByteBPE.train("", 256), "Hi")
