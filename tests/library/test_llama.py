"""Llama: what transformers' Llama, Qwen3 and Mistral compute, and files that they open."""

import pytest
import torch
from torch.nn import functional as F

from scratchformer.models import Llama, LlamaConfig
from scratchformer.models.llama import RMSNorm, WindowCache, rotate_halves
from scratchformer.models.pretrained import read_model, write_model
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


@pytest.fixture(params=KINDS, scope="module")
def both(request, tmp_path_factory):
    """Ours, and what transformers' AutoModelForCausalLM makes of its files."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    ours, folder = llama(**KINDS[request.param]), tmp_path_factory.mktemp("llama")
    ours.save(folder)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    assert type(theirs).__name__.lower().startswith(request.param.split("-")[0])
    return ours, theirs.eval()


def largest_gap(a, b):
    return ((a - b).abs() / (1 + b.abs())).max().item()


@pytest.mark.parametrize("T", [1, 17])
def test_logits_and_gradients_are_those_of_transformers(both, T):
    ours, theirs = both
    ids = IDS[:, :T]
    targets = IDS.flip(1)[:, :T].flatten()
    logits = ours(ids), theirs(ids).logits
    assert largest_gap(*logits) < 1e-5
    for model, each in zip(both, logits, strict=True):
        model.zero_grad()
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


@pytest.mark.parametrize("sizes", [(1, 1, 8, 7), (5, 1, 1, 1, 1, 8)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_changes_nothing(kind, sizes):
    model = llama(**KINDS[kind])
    cache = model.new_cache()
    parts = [model(piece, cache) for piece in IDS.split(sizes, dim=1)]
    assert largest_gap(torch.cat(parts, dim=1), model(IDS)) < 1e-5
    assert len(cache[0]) == 17


def test_a_cache_with_padding_changes_nothing():
    for kind in KINDS.values():
        model = llama(**kind)
        mask = torch.arange(17) >= torch.tensor([0, 3, 9])[:, None]
        cache = model.new_cache()
        parts = [model(IDS[:, :11], cache, mask[:, :11])]
        parts += [model(IDS[:, t : t + 1], cache, mask[:, : t + 1]) for t in range(11, 17)]
        at_once = model(IDS, mask=mask)
        assert largest_gap(torch.cat(parts, dim=1)[mask], at_once[mask]) < 1e-5


def test_a_window_keeps_only_what_can_still_be_seen():
    model, other = llama(window=4), IDS.clone()
    other[:, 0] = (other[:, 0] + 1) % 31
    changed = (model(IDS) != model(other)).any(dim=-1).any(dim=0)  # (T,)
    assert changed[:7].all() and not changed[7:].any()  # 1 + 2 layers of 3 tokens back
    cache = model.new_cache()
    model(IDS, cache)
    for t in range(3):
        model(IDS[:, t : t + 1], cache)
    assert isinstance(cache[0], WindowCache) and len(cache[0]) == 20
    assert cache[0].k.shape[2] == 4  # the new token and three before it
    with pytest.raises(ValueError, match="batch of 3, got 2"):
        model(IDS[:2, :1], cache)


@pytest.mark.parametrize("kind", ["llama-all-heads", "qwen3-window"])
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


def test_the_norm_is_pytorchs_and_keeps_its_digits_in_sixteen_bits():
    norm, x = RMSNorm(24, 1e-3), torch.randn(2, 5, 24)
    torch.nn.init.normal_(norm.weight)
    expected = F.rms_norm(x, (24,), norm.weight, 1e-3)
    assert largest_gap(norm(x), expected) < 1e-6
    huge = torch.full((1, 24), 300.0, dtype=torch.float16)  # its square is no 16-bit number
    assert RMSNorm(24, 1e-6).half()(huge).isfinite().all()
    assert llama(qk_norm=True, n_kv_heads=2).bfloat16()(IDS).dtype == torch.bfloat16


def test_a_mask_that_does_not_fit_is_refused(plain_signatures):
    with pytest.raises(ValueError, match=r"torch.int64 \(3, 17\), expected torch.bool \(3, 17\)"):
        llama()(IDS, mask=torch.ones(3, 17, dtype=torch.int64))


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ({}, {"model_type": "gpt2"}, "model_type='gpt2', expected one of llama, qwen3, mistral"),
        ({}, {"hidden_size": 30}, "is of another model"),
        ({}, {"num_hidden_layers": 3}, "is of another model"),
        (KINDS["qwen3-window"], {"max_window_layers": 1}, "layers with a window='some'"),
    ],
)
def test_files_of_another_model_are_refused(tmp_path, kind, change, message):
    llama(**kind).save(tmp_path)
    config, weights = read_model(tmp_path)
    weights = {name: tensor.clone() for name, tensor in weights.items()}
    write_model(tmp_path, config | change, weights)
    with pytest.raises(ValueError, match=message):
        Llama.from_pretrained(tmp_path)
