"""Llama: what transformers' Llama, Qwen3 and Mistral compute, and files that they open.

That neither a cache nor padding changes it is test_models'.
"""

import pytest
import torch
from random_weights import randomised
from torch.nn import functional as F

from scratchformer.models import Llama, LlamaConfig
from scratchformer.models.llama import RMSNorm

SIZE = {"vocab_size": 31, "context_length": 24, "d_model": 24, "n_heads": 6, "n_layers": 2}
KINDS = {
    "llama": {"n_kv_heads": 2, "d_ff": 37, "tied": False, "norm_eps": 1e-3},
    "llama-all-heads": {"rope_base": 500.0},
    "qwen3": {"n_kv_heads": 3, "head_dim": 10, "qk_norm": True, "tied": False},
    "qwen3-window": {"n_kv_heads": 1, "qk_norm": True, "window": 5},
    "mistral": {"n_kv_heads": 2, "window": 4},
}
IDS = torch.randint(31, (3, 17), generator=torch.Generator().manual_seed(1))  # (B, T)
MASK = torch.arange(17) >= torch.tensor([0, 3, 9])[:, None]  # (B, S): padding first


def llama(**changes):
    torch.manual_seed(0)
    return randomised(Llama(LlamaConfig(**SIZE | changes)))


def largest_gap(a, b):
    return ((a - b).abs() / (1 + b.abs())).max().item()


@pytest.mark.parametrize("kind", KINDS)
def test_logits_and_gradients_are_those_of_transformers_and_it_opens_its_files(kind, tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    ours = llama(**KINDS[kind])
    ours.save(tmp_path)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    assert type(theirs).__name__.lower().startswith(kind.split("-")[0])
    logits, expected = ours(IDS), theirs(IDS).logits
    assert largest_gap(logits, expected) < 1e-5
    for tensor in (logits, expected):
        F.cross_entropy(tensor.flatten(0, 1), IDS.flip(1).flatten()).backward()
    names = {n.removeprefix("model."): p for n, p in theirs.named_parameters()}
    for name, p in ours.named_parameters():
        assert largest_gap(p.grad, names[name].grad) < 1e-5, name
    expected = theirs(IDS, attention_mask=MASK.long()).logits
    assert largest_gap(ours(IDS, mask=MASK)[MASK], expected[MASK]) < 1e-5
    again = Llama.from_pretrained(tmp_path)
    assert torch.equal(again(IDS), logits) and not again.training
    assert (again.lm_head.weight is again.embed_tokens.weight) == ours.config.tied


def test_a_window_keeps_only_what_can_still_be_seen():
    model, other = llama(window=4), IDS.clone()
    other[:, 0] = (other[:, 0] + 1) % 31
    changed = (model(IDS) != model(other)).any(dim=-1).any(dim=0)  # (T,)
    assert changed[:7].all() and not changed[7:].any()  # 1 + 2 layers of 3 tokens back
    cache = model.new_cache()
    for piece in IDS.split([15, 1, 1], dim=1):
        model(piece, cache)
    assert cache[0].k.shape[2] == 4  # the new token and three before it
    with pytest.raises(ValueError, match="batch of 3, got 2"):
        model(IDS[:2, :1], cache)


def test_sixteen_bits_stay_and_lose_no_digits_in_the_norm():
    huge = torch.full((1, 24), 300.0, dtype=torch.float16)  # its square is no 16-bit number
    assert RMSNorm(24, 1e-6).half()(huge).isfinite().all()
    assert llama(qk_norm=True, n_kv_heads=2).bfloat16()(IDS).dtype == torch.bfloat16
