"""The speedrun's model: all off it is GPT, with six on Llama; ideas are formulas, and causal."""

import math
import re

import pytest
import torch
import torch.nn.functional as F

from scratchformer.attention import causal_mask
from scratchformer.models import GPT, GPTConfig, Llama, LlamaConfig
from scratchformer.models.pretrained import save_as_gpt2
from scratchformer.positions import rotary
from scratchformer_course.ch19_since_gpt2.worth import CHANGES, MODERN
from scratchformer_course.page_model.experts import Experts
from scratchformer_course.page_model.speedrun import (
    Attention,
    BigramEmbedding,
    Smear,
    SpeedrunConfig,
    SpeedrunGPT,
)

SMALL = {"vocab_size": 11, "context_length": 8, "d_model": 16, "n_heads": 4, "n_layers": 2}
ALL = {"vocab_size": 11, "context_length": 8, "d_model": 16, "n_heads": 4, "n_layers": 2}
SPEEDRUN = {"type": "scratchformer_course.page_model.speedrun:SpeedrunGPT"} | {
    k: v for k, v in SMALL.items() if k != "vocab_size"
}
ALL = {
    "norm_weights": False,
    "embedding_norm": True,
    "activation": "relu2",
    "positions": "rotary",
    "qk_norm": True,
    "tied": False,
    "zero_init": True,
    "smear": 2,
    "bigram_rows": 121,
    "value_embeddings": True,
    "bias": False,
}
SINCE_GPT2 = {change: {**switch} for change, switch in CHANGES.items()} | {"window": {"window": 3}}
LLAMA = {k: v for change in MODERN for k, v in SINCE_GPT2[change].items()}
ONE_BY_ONE = [{}, *({name: value} for name, value in ALL.items()), ALL, {"bigram_rows": 7}]
ONE_BY_ONE += [{"smear": 3}, *SINCE_GPT2.values(), LLAMA, LLAMA | {"window": 3, "n_experts": 8}]


def small(**options):
    return SpeedrunGPT(SpeedrunConfig(**SMALL | options))


def gpt(seed=0, **options):
    """A small model with large random weights, so that every part of it shows in the logits."""
    torch.manual_seed(seed)
    model = small(**options)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.5)
    return model.eval()


@pytest.mark.parametrize("bias", [True, False])
def test_with_everything_off_it_is_gpt(bias):
    torch.manual_seed(0)
    theirs = GPT(GPTConfig(**SMALL, bias=bias))
    torch.manual_seed(0)
    ours = SpeedrunGPT(SpeedrunConfig(**SMALL, bias=bias))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(a, b)  # it starts alike, too
    with torch.no_grad():
        for p in theirs.parameters():
            p.normal_(std=0.3)
    ours.load_state_dict(theirs.state_dict())
    ids = torch.randint(11, (3, 8))
    torch.testing.assert_close(ours(ids), theirs(ids), rtol=0, atol=1e-5)
    for model in (ours, theirs):
        F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=0, atol=1e-5)


def test_it_reads_the_weights_of_a_gpt_and_of_a_gpt_2(tmp_path):
    torch.manual_seed(0)
    theirs, ids = GPT(GPTConfig(**SMALL)).eval(), torch.randint(11, (2, 8))
    save_as_gpt2(tmp_path / "gpt2", theirs)
    ours = SpeedrunGPT.from_pretrained(tmp_path / "gpt2")
    torch.testing.assert_close(ours(ids), theirs(ids), rtol=0, atol=1e-5)
    gpt(smear=1).save(tmp_path / "ours")
    with pytest.raises(ValueError, match=r"holds no GPT: .*'norm'"):
        GPT.from_pretrained(tmp_path / "ours")


@pytest.mark.parametrize("options", ONE_BY_ONE, ids=str)
def test_a_changed_future_token_changes_no_past_logit(options):
    model, ids = gpt(**options), torch.randint(11, (1, 8)).repeat(8, 1)
    before = model(ids)
    after = model((ids + torch.eye(8, dtype=torch.long)) % 11)  # row t has another token t
    for t in range(8):
        torch.testing.assert_close(before[t, :t], after[t, :t], rtol=0, atol=1e-4)
        assert (before - after)[t, t].abs().max() > 1e-3


@pytest.mark.parametrize("options", ONE_BY_ONE, ids=str)
def test_a_cache_read_in_pieces_gives_the_logits_of_the_whole(options):
    model, ids = gpt(**options), torch.randint(11, (2, 6))
    cache = model.new_cache()
    pieces = torch.cat([model(piece, cache) for piece in ids.split((3, 1, 2), dim=1)], dim=1)
    torch.testing.assert_close(pieces, model(ids), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("options", ONE_BY_ONE, ids=str)
def test_every_option_is_written_and_read(options, tmp_path):
    model = gpt(**options)
    model.save(tmp_path)
    again = SpeedrunGPT.from_pretrained(tmp_path)
    ids = torch.randint(11, (2, 8))
    assert again.config == model.config
    assert torch.equal(again(ids), model(ids))


@pytest.mark.parametrize("options", [{}, ALL, *SINCE_GPT2.values(), LLAMA], ids=str)
def test_one_batch_is_learnt_by_heart_and_no_part_stands_idle(options):
    torch.manual_seed(0)
    model = small(**options)
    x, y = torch.randint(11, (2, 4, 8))
    x[:, 0] = torch.arange(4)  # two rows that begin alike could not both be predicted
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)
    for _ in range(80):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    assert all(p.grad is not None for p in model.parameters())


def test_with_zero_initialisation_the_first_prediction_is_uniform_and_blocks_do_nothing():
    model = small(tied=False, zero_init=True)
    assert (model(torch.randint(11, (2, 8))) == 0).all()
    x = torch.randn(2, 8, 16)
    assert torch.equal(model.h[0](x), x)
    assert small(zero_init=True).lm_head.weight.std() > 0.01  # a tied head is the token table


def test_what_the_lookback_adds_starts_at_nothing():
    torch.manual_seed(0)
    plain = GPT(GPTConfig(**SMALL))
    model = small(smear=2, bigram_rows=121, value_embeddings=True)
    model.load_state_dict(plain.state_dict(), strict=False)
    ids = torch.randint(11, (2, 8))
    torch.testing.assert_close(model(ids), plain(ids))


@pytest.mark.parametrize("window", [None, 3])
def test_with_six_changes_it_is_llama(window):
    model = gpt(**LLAMA, window=window)
    config = LlamaConfig(**SMALL, n_kv_heads=1, qk_norm=True, window=window, norm_eps=1e-5)
    llama, weights = Llama(config), {}
    names = [("wte", "embed_tokens"), (r"^h\.", "layers."), (r"attn\.c_proj", "attn.o_proj")]
    names += [(r"\.attn", ".self_attn"), ("ln_1", "input_layernorm"), ("ln_f", "norm")]
    names += [("ln_2", "post_attention_layernorm")]
    for name, tensor in model.state_dict().items():
        for ours, theirs in names:
            name = re.sub(ours, theirs, name)
        parts = tensor.split((16, 4, 4)) if "c_attn" in name else [tensor]  # heads are 4 wide
        for letter, part in zip("qkv", parts, strict=False):
            weights[name.replace("c_attn", f"{letter}_proj")] = part
    llama.load_state_dict(weights)
    ids = torch.randint(11, (3, 8))
    torch.testing.assert_close(model(ids), llama(ids), rtol=0, atol=1e-4)


def test_rms_norm_is_division_by_the_root_mean_square():
    model = small(norm="rms", norm_weights=False)
    x = torch.randn(3, 16) + 4
    expected = x / x.square().mean(dim=-1, keepdim=True).sqrt()
    for norm in (model.ln_f, model.h[1].ln_1, model.h[0].ln_2):
        torch.testing.assert_close(norm(x), expected, rtol=1e-4, atol=0)
        assert not list(norm.parameters())


@pytest.mark.parametrize("options", [{}, {"positions": "rotary"}], ids=str)
def test_the_fused_kernel_gives_the_same(options):
    ids = torch.randint(11, (2, 8))
    explicit, fused = gpt(**options)(ids), gpt(**options, explicit_attention=False)(ids)
    torch.testing.assert_close(explicit, fused, rtol=0, atol=1e-4)


def test_a_token_gets_what_its_two_experts_say_in_proportion():
    experts, x = gpt(n_experts=8).h[0].mlp, torch.randn(1, 5, 16)
    chance = experts.router(x).softmax(dim=-1)[0]  # (T, E)
    for t in range(5):
        first, second = chance[t].argsort(descending=True)[:2]
        a, b = chance[t, first], chance[t, second]
        mixed = a * experts.experts[first](x[0, t]) + b * experts.experts[second](x[0, t])
        torch.testing.assert_close(experts(x)[0, t], mixed / (a + b), rtol=1e-4, atol=1e-4)


def test_balance_is_one_where_all_get_the_same_and_grows_where_one_gets_all():
    experts = Experts(4, 4, 1, lambda: torch.nn.Linear(4, 4))
    torch.nn.init.eye_(experts.router.weight).data.mul_(50)
    even = torch.eye(4)[None]  # each token to an expert of its own
    experts(even)
    assert experts.balance.item() == pytest.approx(1) and experts.share.tolist() == [0.25] * 4
    experts(even[:, :1].expand(1, 4, 4))
    assert experts.balance.item() == pytest.approx(4) and experts.share.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("options", [{}, {"positions": "rotary"}, {"qk_norm": True}], ids=str)
def test_attention_with_values_added_by_hand(options):
    torch.manual_seed(0)
    config = SpeedrunConfig(11, 8, d_model=8, n_heads=2, n_layers=1, bias=False, **options)
    layer, x, added = Attention(config), torch.randn(2, 5, 8), torch.randn(2, 5, 8)
    q, k, v = ((layer.c_attn.weight @ x.mT).mT).chunk(3, dim=-1)
    q, k, v = (t.view(2, 5, 2, 4).transpose(1, 2) for t in (q, k, v + added))
    if "qk_norm" in options:
        q, k = ((t - t.mean(dim=-1, keepdim=True)) for t in (q, k))
        q, k = (2 * F.normalize(t, dim=-1) for t in (q, k))  # length √4: variance 1
    elif options:
        q, k = rotary(q), rotary(k)
    weights = (q @ k.mT / 2).masked_fill(~causal_mask(5), -math.inf).softmax(dim=-1)
    expected = (weights @ v).transpose(1, 2).reshape(2, 5, 8) @ layer.c_proj.weight.T
    torch.testing.assert_close(layer(x, added), expected, rtol=1e-3, atol=1e-3)


def test_smear_adds_the_tokens_before_each_through_its_matrix():
    smear, x = Smear(2, 3), torch.randn(2, 5, 3)
    with torch.no_grad():
        for linear in smear.back:
            linear.weight.normal_()
    out = smear(x)
    for t in range(5):
        expected = x[:, t]
        for k in (1, 2):
            if t - k >= 0:
                expected = expected + x[:, t - k] @ smear.back[k - 1].weight.T
        torch.testing.assert_close(out[:, t], expected)


@pytest.mark.parametrize("rows", [121, 30])
def test_bigram_rows_are_those_of_the_pairs(rows):
    pairs = BigramEmbedding(rows, 11, 4)
    ids = torch.tensor([[5, 2, 10], [0, 0, 7]])
    previous = torch.tensor([[0, 5, 2], [0, 0, 0]])
    for b in range(2):
        for t in range(3):
            row = (previous[b, t].item() * 11 + ids[b, t].item()) % rows
            assert torch.equal(pairs(ids)[b, t], pairs.table.weight[row])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": "tanh"}, "activation='tanh', expected one of gelu_tanh, relu2, swiglu"),
        ({"n_kv_heads": 3}, "n_heads=4 is not divisible by n_kv_heads=3"),
        ({"n_kv_heads": 2, "value_embeddings": True}, "value_embeddings have no room"),
        ({"smear": -1}, "smear=-1, expected 0 \\(none\\) or more"),
        ({"d_model": 12, "positions": "rotary"}, "heads are 3 wide, expected an even width"),
    ],
)
def test_impossible_options_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SpeedrunConfig(**SMALL | changes)


def test_pairs_are_dropped_in_training_only_and_about_as_often_as_asked():
    model = small(bigram_rows=49, bigram_dropout=0.25)
    torch.nn.init.ones_(model.bigrams.table.weight)
    ids = torch.randint(7, (8, 8), generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    kept = torch.stack([model.train().bigrams(ids) for _ in range(50)])
    assert set(kept.unique().tolist()) == {0.0, 1.0} and (kept.std(dim=-1) == 0).all()
    assert abs(kept.mean().item() - 0.75) < 0.03
    assert (model.eval().bigrams(ids) == 1).all()


def test_wide_matrices_are_those_that_read_the_stream():
    wide, narrow = small(wide_init=True, d_model=64, n_heads=2), small(d_model=64, n_heads=2)
    for (name, w), n in zip(wide.named_parameters(), narrow.parameters(), strict=True):
        if name.endswith(("c_attn.weight", "c_fc.weight")):
            assert 0.9 < w.std() / (0.5 / 8) < 1.1
        elif w.dim() == 2:
            assert 0.8 < w.std() / n.std() < 1.25
