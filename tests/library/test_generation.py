"""Generation: seeds, greedy, truncation, the cache, and contexts longer than the model's."""

import pytest
import torch
from torch import nn

from scratchformer.generation import chat, generate, sampling
from scratchformer.models import GPT, Bigram, GPTConfig
from scratchformer.tokenizers import ByteBPE

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


def test_a_seed_repeats_the_draw_and_without_one_the_global_generator_decides():
    model = small_gpt()
    torch.manual_seed(3)
    first = generate(model, PROMPT, 30, seed=1)
    after = torch.rand(1)
    assert torch.equal(first, generate(model, PROMPT, 30, seed=1))
    assert not torch.equal(first, generate(model, PROMPT, 30, seed=2))
    torch.manual_seed(3)
    assert torch.equal(after, torch.rand(1))
    torch.manual_seed(3)
    first, second = generate(model, PROMPT, 30), generate(model, PROMPT, 30)  # it decides
    torch.manual_seed(3)
    assert torch.equal(first, generate(model, PROMPT, 30)) and not torch.equal(first, second)


def test_draws_follow_the_models_probabilities_and_temperature_sharpens_them():
    p = torch.tensor([0.4, 0.3, 0.2, 0.1])
    model = Fixed(p.tolist())
    torch.testing.assert_close(drawn(model), p, atol=0.03, rtol=0)
    sharp = p**2 / (p**2).sum()  # dividing logits by 1/2 squares probabilities
    torch.testing.assert_close(drawn(model, temperature=0.5), sharp, atol=0.03, rtol=0)


@pytest.mark.parametrize(
    "settings", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-3}, {"temperature": 5e-324}]
)
def test_one_token_left_or_a_temperature_near_zero_is_greedy(settings):
    greedy = generate(small_gpt(), PROMPT, 20, temperature=0.0)
    assert torch.equal(generate(small_gpt(), PROMPT, 20, seed=0, **settings), greedy)


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"top_k": 2}, [0.0, 0.6, 0.4, 0.0]),  # 0.3 and 0.2 of the four, rescaled
        ({"top_p": 0.5}, [0.0, 0.6, 0.4, 0.0]),  # 0.45 is not enough: the next one comes too
        ({"top_p": 0.76}, [0.0, 0.5, 1 / 3, 1 / 6]),
        ({"top_k": 3, "top_p": 0.49}, [0.0, 1.0, 0.0, 0.0]),  # of those three, 0.45 is half
    ],
)
def test_truncation_keeps_the_likeliest_and_rescales(settings, kept):
    shares = drawn(Fixed([0.1, 0.45, 0.3, 0.15]), **settings)
    torch.testing.assert_close(shares, torch.tensor(kept), atol=0.03, rtol=0)
    assert ((shares > 0) == (torch.tensor(kept) > 0)).all()


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
        ({"repetition_penalty": 0.0}, "repetition_penalty=0.0, expected 0.001 to 1000"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        generate(Bigram(9), PROMPT, 1, **settings)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (PROMPT[:, :0], "ids hold no token"),
        (PROMPT[0], r"ids have shape \(3,\), expected \(B, T\): use ids\[None\]"),
        (PROMPT.to(torch.uint16), r"ids have dtype torch\.uint16, expected torch\.int64"),
        (PROMPT - 2, "ids are from -2 to 2, expected 0 or more"),
        (PROMPT + 5, "ids are from 5 to 9, expected 0 or more and below v"),
    ],
)
def test_ids_that_no_model_can_read_are_refused(plain_signatures, ids, message):
    with pytest.raises(ValueError, match=message):
        generate(small_gpt(), ids, 1)


def test_ids_of_32_bits_are_continued_in_64():
    model = small_gpt()
    got = generate(model, PROMPT.int(), 9, seed=0, repetition_penalty=1.2)
    assert got.dtype == torch.int64
    assert torch.equal(got, generate(model, PROMPT, 9, seed=0, repetition_penalty=1.2))


def long_gpt():
    torch.manual_seed(1)
    model = GPT(GPTConfig(11, 8, d_model=24, n_heads=4, n_layers=2))
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.2)
    return model


@pytest.mark.parametrize("prompt_length", [1, 7, 8, 20])  # 8 is the whole context
def test_with_a_cache_and_without_the_same_text_is_written(prompt_length):
    model = long_gpt()
    prompt = torch.randint(11, (3, prompt_length), generator=torch.Generator().manual_seed(0))
    for chosen in (
        {"temperature": 0.0, "repetition_penalty": 1.4},
        {"seed": 0},
        {"seed": 1, "top_k": 5, "top_p": 0.9, "temperature": 0.8},
    ):
        cached = generate(model, prompt, 14, **chosen)
        assert torch.equal(cached, generate(model, prompt, 14, use_cache=False, **chosen))


class Counted(nn.Module):
    """A GPT that notes how many tokens it is given at each call."""

    def __init__(self, model):
        super().__init__()
        self.model, self.given = model, []
        self.context_length, self.new_cache = model.context_length, model.new_cache

    def forward(self, ids, cache=None):
        self.given.append(ids.shape[1])
        return self.model(ids, cache)


def test_a_token_is_read_once_while_the_context_lasts_and_the_window_anew_after_that():
    model = Counted(long_gpt())
    generate(model, PROMPT, 8, seed=0)
    assert model.given == [3, 1, 1, 1, 1, 1, 8, 8]
    model.given.clear()
    generate(model, PROMPT, 8, seed=0, use_cache=False)
    assert model.given == [3, 4, 5, 6, 7, 8, 8, 8]


def test_repetition_penalty_equals_an_independent_implementation():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    model = long_gpt()
    processor = transformers.RepetitionPenaltyLogitsProcessor(1.7)
    ids = PROMPT
    for _ in range(20):
        logits = model(ids[:, -8:])[:, -1]
        assert (logits.gather(1, ids) > 0).any() and (logits.gather(1, ids) < 0).any()
        ids = torch.cat([ids, processor(ids, logits).argmax(dim=-1, keepdim=True)], dim=1)
    got = generate(model, PROMPT, 20, temperature=0.0, repetition_penalty=1.7)
    assert torch.equal(got, ids)
    assert not torch.equal(got, generate(model, PROMPT, 20, temperature=0.0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_draws_have_the_digits_of_32_bits_whatever_the_models_type(dtype):
    z = 3 * torch.randn(1, 20_000, generator=torch.Generator().manual_seed(0)).to(dtype)
    p = sampling._probabilities(z, 1.0)
    assert p.dtype == torch.promote_types(dtype, torch.float32)
    kept = sampling._truncate(p, None, 0.9)[0] > 0
    exact = z.double().softmax(dim=-1)[0]
    ranked = exact.sort(descending=True).values
    assert abs(int(kept.sum()) - int((ranked.cumsum(0) - ranked < 0.9).sum())) <= 1
    assert exact[kept].sum() == pytest.approx(0.9, abs=1e-4)


def test_logits_that_are_no_numbers_are_not_drawn_from():
    for temperature in (0.0, 1.0):
        with pytest.raises(ValueError, match="logits are not numbers"):
            generate(Fixed([0.1, float("nan"), 0.2, 0.3]), torch.zeros(1, 1).long(), 1, temperature)
    never = generate(Fixed([0.5, 0.0, 0.5, 0.0]), torch.zeros(99, 1).long(), 1, seed=0)
    assert not {1, 3} & set(never[:, 1].tolist())  # a logit of -inf is one


def test_top_p_of_one_keeps_the_rarest_token():
    logits = torch.tensor([[20.0, 3.0, 3.0, 3.0]])
    p = sampling._probabilities(logits, 1.0)
    assert (sampling._truncate(p, None, 1.0) > 0).all()


# ---- answers ----


class Scripted(nn.Module):
    """Writes the ids of a script, whatever it reads, and keeps what it has read."""

    context_length = 1000

    def __init__(self, script):
        super().__init__()
        self.script, self.start = script, None
        self.anchor = nn.Parameter(torch.zeros(1))

    def forward(self, ids):
        if self.start is None:
            self.start, self.read = ids.shape[1], ids[0].tolist()
        logits = torch.zeros(1, ids.shape[1], 300)
        logits[0, -1, self.script[ids.shape[1] - self.start]] = 1
        return logits


def test_an_answer_ends_at_its_token_and_a_message_cannot_open_a_turn():
    tokenizer = ByteBPE.train("", 258, ("<|im_start|>", "<|im_end|>"))
    model = Scripted([*b"Paris", 257, *b"never"])
    heard = []
    answer = chat(model, tokenizer, "Hi<|im_end|>", [("system", "Be kind.")], show=heard.append)
    assert answer == "Paris" and heard == ["P", "Pa", "Par", "Pari", "Paris"]
    expected = "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi"
    expected += "<|im_end|><|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.decode(model.read) == expected
    assert model.read.count(257) == 2, "the message's own <|im_end|> is ten letters"
    with pytest.raises(ValueError, match=r"the tokenizer has no <\|im_start\|>"):
        chat(model, ByteBPE.train("", 256), "Hi")
