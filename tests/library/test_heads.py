"""A single head of a model: its queries, keys and values, and the model without it."""

import pytest
import torch
from random_weights import randomised
from refusals import refused

from scratchformer.attention import causal_mask, recorded_attention, scaled_dot_product_attention
from scratchformer.models import BERT, GPT, BERTConfig, GPTConfig
from scratchformer.models.heads import head_of, silenced
from scratchformer.models.llama import Llama, LlamaConfig

IDS = torch.arange(12) * 7 % 50  # (T,)
SIZE = {"vocab_size": 50, "context_length": 16, "d_model": 24, "n_heads": 6, "n_layers": 3}


def llama():
    config = LlamaConfig(**SIZE, n_kv_heads=2, head_dim=8, qk_norm=True)
    return randomised(Llama(config), 0.1)


MODELS = [llama(), randomised(GPT(GPTConfig(**SIZE))), randomised(BERT(BERTConfig(**SIZE)))]


@torch.no_grad()
def test_the_head_that_is_taken_out_has_the_weights_that_it_has_inside():
    model = llama()
    with recorded_attention(model) as weights:
        logits = model(IDS[None])
    torch.testing.assert_close(logits, model(IDS[None]))
    for block in (1, 2, 3):
        for head in range(1, 7):
            qkv = head_of(model, IDS, block, head)
            _, outside = scaled_dot_product_attention(*qkv, causal_mask(12))
            inside = weights[f"layers.{block - 1}.self_attn"][0, head - 1]
            torch.testing.assert_close(outside, inside, atol=1e-5, rtol=1e-4)
            assert inside.amax(dim=-1).mean() < 0.999


@pytest.mark.parametrize("model", MODELS, ids=type)
@torch.no_grad()
def test_a_silenced_head_adds_nothing_and_comes_back(model):
    before, heads = model(IDS[None]), [(2, 3), (2, 6), (1, 1)]
    with silenced(model, heads):
        without = model(IDS[None])
    assert torch.equal(model(IDS[None]), before)
    last = "layers.{}.self_attn.o_proj" if isinstance(model, Llama) else "h.{}.attn.c_proj"
    for block, head in heads:
        weight = model.get_submodule(last.format(block - 1)).weight
        weight.unflatten(1, (6, -1))[:, head - 1] = 0
    torch.testing.assert_close(model(IDS[None]), without, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(before, without, atol=1e-3)


test_a_head_that_is_not_there_is_refused = refused(
    {
        "no head 0.1: the model has 3 blocks of 6": lambda: head_of(llama(), IDS, 0, 1),
        "no head 4.1": lambda: head_of(llama(), IDS, 4, 1),
        "no head 1.0": lambda: head_of(llama(), IDS, 1, 0),
        "no head 1.7: .* 6 heads, counted from 1": lambda: silenced(llama(), [(1, 7)]).__enter__(),
    }
)
