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
LOOKBACK = {"smear": 2, "bigram_rows": 121, "value_embeddings": True}
RECORD = LOOKBACK | {"norm_weights": False, "embedding_norm": True, "activation": "relu2"}
RECORD |= {"positions": "rotary", "qk_norm": True, "tied": False, "zero_init": True, "bias": False}
LLAMA = {name: value for change in MODERN for name, value in CHANGES[change].items()}
MODELS = {
    "GPT": {},
    "GPT, fused": {"explicit_attention": False},
    "record": RECORD,
    "Llama": LLAMA,
    "Llama, window, experts": LLAMA | {"window": 3, "n_experts": 8},
}
of_all_models = pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)


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


@pytest.mark.parametrize("options", [{}, {"explicit_attention": False}, LOOKBACK])
@pytest.mark.parametrize("bias", [True, False])
def test_with_everything_off_and_with_a_lookback_that_starts_at_nothing_it_is_gpt(bias, options):
    torch.manual_seed(0)
    theirs = GPT(GPTConfig(**SMALL, bias=bias))
    torch.manual_seed(0)
    ours = small(bias=bias, **options)
    for name, p in theirs.named_parameters():
        assert options is LOOKBACK or torch.equal(ours.get_parameter(name), p)  # it starts alike
        p.data.normal_(std=0.3)
    more = ours.load_state_dict(theirs.state_dict(), strict=options is not LOOKBACK)
    assert not more.unexpected_keys and bool(more.missing_keys) == (options is LOOKBACK)
    ids = torch.randint(11, (3, 8))
    torch.testing.assert_close(ours(ids), theirs(ids), rtol=0, atol=1e-5)


def test_it_reads_the_weights_of_a_gpt_2(tmp_path):
    torch.manual_seed(0)
    theirs, ids = GPT(GPTConfig(**SMALL)).eval(), torch.randint(11, (2, 8))
    save_as_gpt2(tmp_path / "gpt2", theirs)
    ours = SpeedrunGPT.from_pretrained(tmp_path / "gpt2")
    torch.testing.assert_close(ours(ids), theirs(ids), rtol=0, atol=1e-5)


@of_all_models
def test_a_changed_future_token_changes_no_past_logit(options):
    model, ids = gpt(**options), torch.randint(11, (1, 8)).repeat(8, 1)
    before = model(ids)
    after = model((ids + torch.eye(8, dtype=torch.long)) % 11)  # row t has another token t
    for t in range(8):
        torch.testing.assert_close(before[t, :t], after[t, :t], rtol=0, atol=1e-4)
        assert (before - after)[t, t].abs().max() > 1e-3


@of_all_models
def test_a_cache_read_in_pieces_gives_the_logits_of_the_whole(options):
    model, ids = gpt(**options), torch.randint(11, (2, 6))
    cache = model.new_cache()
    pieces = torch.cat([model(piece, cache) for piece in ids.split((3, 1, 2), dim=1)], dim=1)
    torch.testing.assert_close(pieces, model(ids), rtol=1e-3, atol=1e-3)


@of_all_models
def test_every_option_is_written_and_read(options, tmp_path):
    model = gpt(**options)
    model.save(tmp_path)
    again = SpeedrunGPT.from_pretrained(tmp_path)
    ids = torch.randint(11, (2, 8))
    assert again.config == model.config
    assert torch.equal(again(ids), model(ids))


@of_all_models
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


def test_a_token_gets_what_its_two_experts_say_in_proportion():
    experts, x = gpt(n_experts=8).h[0].mlp, torch.randn(1, 5, 16)
    chances, chosen = experts.router(x)[0].softmax(dim=-1).topk(2)  # (T, 2) each
    for t, (p, pair) in enumerate(zip(chances, chosen, strict=True)):
        a, b = (experts.experts[i](x[0, t]) for i in pair)
        mixed = (p[0] * a + p[1] * b) / p.sum()
        torch.testing.assert_close(experts(x)[0, t], mixed, rtol=1e-4, atol=1e-4)


def test_balance_is_one_where_all_get_the_same_and_grows_where_one_gets_all():
    experts = Experts(4, 4, 1, lambda: torch.nn.Linear(4, 4))
    torch.nn.init.eye_(experts.router.weight).data.mul_(50)
    even = torch.eye(4)[None]  # each token to an expert of its own
    experts(even)
    assert experts.balance.item() == pytest.approx(1) and experts.share.tolist() == [0.25] * 4
    experts(even[:, :1].expand(1, 4, 4))
    assert experts.balance.item() == pytest.approx(4) and experts.share.tolist() == [1, 0, 0, 0]


def test_attention_with_values_added_is_as_by_hand():
    torch.manual_seed(0)
    options = {"bias": False, "qk_norm": True, "positions": "rotary"}
    layer = Attention(SpeedrunConfig(11, 8, d_model=8, n_heads=2, n_layers=1, **options))
    x, added = torch.randn(2, 2, 5, 8)
    q, k, v = ((layer.c_attn.weight @ x.mT).mT).chunk(3, dim=-1)
    q, k, v = (t.view(2, 5, 2, 4).transpose(1, 2) for t in (q, k, v + added))
    q, k = ((t - t.mean(dim=-1, keepdim=True)) for t in (q, k))
    q, k = (rotary(2 * F.normalize(t, dim=-1)) for t in (q, k))  # length √4: variance 1
    weights = (q @ k.mT / 2).masked_fill(~causal_mask(5), -math.inf).softmax(dim=-1)
    expected = (weights @ v).transpose(1, 2).reshape(2, 5, 8) @ layer.c_proj.weight.T
    torch.testing.assert_close(layer(x, added), expected, rtol=1e-3, atol=1e-3)


def test_smear_adds_the_tokens_before_through_their_matrices():
    smear, x = Smear(2, 3), torch.randn(2, 5, 3)
    expected = x.clone()
    for back, linear in enumerate(smear.back, start=1):
        expected[:, back:] += x[:, :-back] @ linear.weight.data.normal_().T
    torch.testing.assert_close(smear(x), expected)


def test_bigram_rows_are_those_of_the_pairs_and_shared_where_there_are_fewer():
    pairs = BigramEmbedding(30, 11, 4)
    after = {(0, 5): 5, (5, 2): 27, (2, 10): 2, (0, 0): 0, (0, 7): 7}  # 11 · before + token, mod 30
    expected = pairs.table.weight[list(after.values())]
    vectors = pairs(torch.tensor([[5, 2, 10], [0, 0, 7]])).flatten(0, 1)
    assert torch.equal(vectors[[0, 1, 2, 3, 5]], expected)


def test_impossible_options_are_refused():
    for message, changes in {
        "activation='tanh', expected one of gelu_tanh, relu2, swiglu": {"activation": "tanh"},
        "n_heads=4 is not divisible by n_kv_heads=3": {"n_kv_heads": 3},
        "value_embeddings have no room": {"n_kv_heads": 2, "value_embeddings": True},
        "heads are 3 wide, expected an even width": {"d_model": 12, "positions": "rotary"},
    }.items():
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


@pytest.mark.parametrize("tied", [True, False])
def test_where_a_run_starts(tied):
    """Zeros write nothing and predict nothing; wide matrices are those that read the stream."""
    sizes = {"d_model": 64, "n_heads": 2, "tied": tied}
    model, narrow = small(wide_init=True, zero_init=True, **sizes), small(**sizes)
    for (name, p), usual in zip(model.named_parameters(), narrow.parameters(), strict=True):
        if name.endswith("c_proj.weight") or name == "lm_head.weight":
            assert (p == 0).all()
        elif name.endswith(("c_attn.weight", "c_fc.weight")):
            assert 0.9 < p.std() / (0.5 / 8) < 1.1
        elif p.dim() == 2:
            assert 0.8 < p.std() / usual.std() < 1.25
