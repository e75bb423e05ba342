"""Llama: what transformers' Llama, Qwen3 and Mistral compute, and files that they open."""

import json

import pytest
import torch
from torch.nn import functional as F

from scratchformer.attention import KeyValueCache, scaled_dot_product_attention
from scratchformer.generation import generate
from scratchformer.models import Llama, LlamaConfig
from scratchformer.models.llama import RMSNorm, WindowCache, rotate_halves
from scratchformer.positions import rotary

SIZE = {"vocab_size": 31, "context_length": 24, "d_model": 24, "n_heads": 6, "n_layers": 2}
KINDS = {
    "llama": {"n_kv_heads": 2, "d_ff": 37, "tied": False, "norm_eps": 1e-5},
    "llama-all-heads": {"rope_base": 500.0},
    "qwen3": {"n_kv_heads": 3, "head_dim": 10, "qk_norm": True, "tied": False},
    "qwen3-window": {"n_kv_heads": 1, "qk_norm": True, "window": 5},
    "mistral": {"n_kv_heads": 2, "window": 4},
}
IDS = torch.randint(31, (3, 17), generator=torch.Generator().manual_seed(1))  # (B, T)


def llama(**changes):
    """A Llama whose weights are all random and large, the norms' too."""
    model = Llama(LlamaConfig(**SIZE | changes))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator))
    return model.eval()


@pytest.fixture(params=KINDS)
def both(request, tmp_path):
    """Ours, and what transformers' AutoModelForCausalLM makes of its files."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    ours = llama(**KINDS[request.param])
    ours.save(tmp_path)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, dtype=torch.float32, attn_implementation="eager"
    )
    assert type(theirs).__name__.lower().startswith(request.param.split("-")[0])
    return ours, theirs.eval()


def largest_gap(a, b):
    return ((a - b).abs() / (1 + b.abs())).max().item()


@pytest.mark.parametrize("T", [1, 7, 17])
def test_logits_and_gradients_are_those_of_transformers(both, T):
    ours, theirs = both
    ids = IDS[:, :T]
    targets = IDS.flip(1)[:, :T].flatten()
    logits = ours(ids), theirs(ids).logits
    assert largest_gap(*logits) < 1e-5
    for each in logits:
        F.cross_entropy(each.flatten(0, 1), targets).backward()
    names = {n.removeprefix("model."): p for n, p in theirs.named_parameters()}
    for name, p in ours.named_parameters():
        assert largest_gap(p.grad, names[name].grad) < 1e-5, name


def test_padding_on_the_left_is_hidden_as_transformers_hides_it(both):
    ours, theirs = both
    mask = torch.arange(17) >= torch.tensor([0, 3, 9])[:, None]  # (B, S): padding first
    expected = theirs(IDS, attention_mask=mask.long()).logits
    assert largest_gap(ours(IDS, mask=mask)[mask], expected[mask]) < 1e-5
    alone = ours(IDS[2:, 9:])
    assert largest_gap(ours(IDS, mask=mask)[2:, 9:], alone) < 1e-5


@pytest.mark.parametrize("cuts", [(1, 2, 10, 17), (5, 6, 7, 8, 9, 17), (16, 17)])
def test_a_cache_changes_nothing_for_us_or_for_transformers(both, cuts):
    ours, theirs = both
    cache, start, parts = ours.new_cache(), 0, []
    for end in cuts:
        parts.append(ours(IDS[:, start:end], cache))
        start = end
    assert largest_gap(torch.cat(parts, dim=1), ours(IDS)) < 1e-5
    assert largest_gap(torch.cat(parts, dim=1), theirs(IDS, use_cache=True).logits) < 1e-5
    assert len(cache[0]) == 17


def test_a_cache_with_padding_changes_nothing():
    for kind in KINDS.values():
        model = llama(**kind)
        mask = torch.arange(17) >= torch.tensor([0, 3, 9])[:, None]
        cache = model.new_cache()
        parts = [model(IDS[:, :11], cache, mask[:, :11])]
        parts += [model(IDS[:, t : t + 1], cache, mask[:, : t + 1]) for t in range(11, 17)]
        whole = model(IDS, mask=mask)
        assert largest_gap(torch.cat(parts, dim=1)[mask], whole[mask]) < 1e-5


def test_a_window_keeps_only_what_can_still_be_seen():
    model = llama(window=4)
    cache = model.new_cache()
    model(IDS, cache)
    for t in range(3):
        model(IDS[:, t : t + 1], cache)
    assert isinstance(cache[0], WindowCache) and len(cache[0]) == 20
    assert cache[0].k.shape[2] == 4  # the new token and three before it
    with pytest.raises(ValueError, match="batch of 3, got 2"):
        model(IDS[:2, :1], cache)


def test_the_text_is_that_of_transformers(both):
    ours, theirs = both
    ids = IDS[:, :6]
    new = theirs.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, do_sample=False
    )
    assert torch.equal(generate(ours, ids, 8, temperature=0.0), new)


def test_the_future_changes_nothing():
    for kind in KINDS.values():
        model, other = llama(**kind), IDS.clone()
        other[:, 9:] = (other[:, 9:] + 1) % 31
        assert torch.equal(model(IDS)[:, :9], model(other)[:, :9])
        assert not torch.equal(model(IDS)[:, 9:], model(other)[:, 9:])


def test_what_lies_behind_the_window_reaches_no_further_than_layers_carry_it():
    model, other = llama(window=4), IDS.clone()
    other[:, 0] = (other[:, 0] + 1) % 31
    changed = (model(IDS) != model(other)).any(dim=-1).any(dim=0)  # (T,)
    assert changed[:7].all() and not changed[7:].any()  # 1 + 2 layers of 3 tokens back


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_saves_comes_back(tmp_path, kind):
    model = llama(**KINDS[kind])
    model.save(tmp_path)
    again = Llama.from_pretrained(tmp_path)
    assert torch.equal(again(IDS), model(IDS)) and not again.training
    assert (again.lm_head.weight is again.embed_tokens.weight) == model.config.tied
    for name in ("D", "kv_heads", "hidden", "window", "qk_norm", "rope_base"):
        assert getattr(again.config, name) == getattr(model.config, name)


def test_turning_halves_is_turning_neighbours_in_another_order():
    x = torch.randn(2, 3, 7, 10, generator=torch.Generator().manual_seed(0))  # (B, H, T, D)
    order = [*range(0, 10, 2), *range(1, 10, 2)]  # channels 2i first, then 2i + 1
    expected = rotary(x, offset=4, base=900.0)[..., order]
    assert largest_gap(rotate_halves(x[..., order], 4, 900.0), expected) < 1e-6


def test_a_shared_key_serves_neighbouring_heads():
    model = llama(n_kv_heads=2)
    a, x = model.layers[0].self_attn, torch.randn(1, 5, 24)
    q = rotate_halves(a.q_proj(x).view(1, 5, 6, 4).transpose(1, 2), 0, 10_000.0)
    k = rotate_halves(a.k_proj(x).view(1, 5, 2, 4).transpose(1, 2), 0, 10_000.0)
    v = a.v_proj(x).view(1, 5, 2, 4).transpose(1, 2)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    heads = [
        scaled_dot_product_attention(q[:, h], k[:, h // 3], v[:, h // 3], mask)[0] for h in range(6)
    ]
    assert largest_gap(a(x), a.o_proj(torch.cat(heads, dim=-1))) < 1e-5


def test_the_norm_is_pytorchs_and_keeps_its_digits_in_sixteen_bits():
    norm, x = RMSNorm(24, 1e-3), torch.randn(2, 5, 24)
    torch.nn.init.normal_(norm.weight)
    expected = F.rms_norm(x, (24,), norm.weight, 1e-3)
    assert largest_gap(norm(x), expected) < 1e-6
    huge = torch.full((1, 24), 300.0, dtype=torch.float16)  # its square is no 16-bit number
    assert RMSNorm(24, 1e-6).half()(huge).isfinite().all()


def test_it_starts_as_uncertain_as_it_should():
    model = Llama(LlamaConfig(**SIZE))
    loss = F.cross_entropy(model(IDS).flatten(0, 1), IDS.roll(-1, 1).flatten())
    assert abs(loss.item() - torch.tensor(31.0).log().item()) < 0.1
    per_block = sum(p.numel() for p in model.layers[0].mlp.parameters())
    assert per_block == 8 * 24 * 24  # as many as GPT-2's two matrices of 4 d_model


def test_sixteen_bits_stay_sixteen_bits():
    model = llama(qk_norm=True, n_kv_heads=2).bfloat16()
    assert model(IDS).dtype == torch.bfloat16
    assert isinstance(model.new_cache()[0], KeyValueCache)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_kv_heads": 4}, "n_heads=6 is not divisible by n_kv_heads=4"),
        ({"head_dim": 5}, "heads are 5 wide, expected an even number"),
        ({"window": 0}, "window=0, expected at least 1"),
        ({"d_ff": -1}, "d_ff=-1, expected at least 1"),
        ({"d_model": 25}, "d_model=25 is not divisible by n_heads=6"),
    ],
)
def test_sizes_that_cannot_be_built_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        LlamaConfig(**SIZE | changes)


def test_calls_that_do_not_fit_are_refused(plain_signatures):
    model = llama()
    with pytest.raises(ValueError, match="got 25 tokens, expected at most context_length=24"):
        model(torch.zeros(1, 25, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"torch.int64 \(3, 17\), expected torch.bool \(3, 17\)"):
        model(IDS, mask=torch.ones(3, 17, dtype=torch.int64))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "gpt2"}, "model_type='gpt2', expected one of llama, qwen3, mistral"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "rope_type='llama3', expected 'default'"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_type='yarn'"),
        ({"attention_bias": True}, "attention_bias=True, expected False"),
        ({"hidden_act": "gelu"}, "hidden_act='gelu', expected 'silu'"),
        ({"hidden_size": 30}, "is of another model"),
        ({"num_hidden_layers": 3}, "is of another model"),
    ],
)
def test_files_of_another_model_are_refused(tmp_path, change, message):
    from scratchformer.models.pretrained import read_model, write_model

    llama().save(tmp_path)
    config, weights = read_model(tmp_path)
    weights = {name: tensor.clone() for name, tensor in weights.items()}
    write_model(tmp_path, config | change, weights)
    with pytest.raises(ValueError, match=message):
        Llama.from_pretrained(tmp_path)


def test_a_qwen3_with_a_window_in_some_layers_is_refused(tmp_path):
    from scratchformer.models.pretrained import read_model, write_model

    llama(qk_norm=True, window=5).save(tmp_path)
    config, weights = read_model(tmp_path)
    weights = {name: tensor.clone() for name, tensor in weights.items()}
    write_model(tmp_path, config | {"max_window_layers": 1}, weights)
    with pytest.raises(ValueError, match="layers with a window='some'"):
        Llama.from_pretrained(tmp_path)


def test_a_folder_without_a_model_says_so(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors is missing"):
        Llama.from_pretrained(tmp_path)
