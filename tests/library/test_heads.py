"""One head of a model: its own queries, keys and values, and the model without it."""

import pytest
import torch

from scratchformer.attention import (
    causal_mask,
    recorded_attention,
    scaled_dot_product_attention,
)
from scratchformer.models import GPT, GPTConfig
from scratchformer.models.heads import head_of, silenced
from scratchformer.models.llama import Llama, LlamaConfig


def llama(**changes) -> Llama:
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "context_length": 16, "d_model": 24, "n_heads": 6, "n_layers": 3}
    model = Llama(LlamaConfig(**sizes, n_kv_heads=2, head_dim=8, **changes)).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(3)  # weights far from even
    return model


def gpt() -> GPT:
    torch.manual_seed(0)
    return GPT(GPTConfig(50, context_length=16, d_model=24, n_heads=6, n_layers=3)).eval()


ids = torch.arange(12) * 7 % 50  # (T,)


@pytest.mark.parametrize("changes", [{}, {"qk_norm": True}])
@torch.no_grad()
def test_the_head_that_is_taken_out_has_the_weights_that_it_has_inside(changes):
    model = llama(**changes)
    with recorded_attention(model) as weights:
        logits = model(ids[None])
    assert torch.allclose(logits, model(ids[None]), atol=1e-5)
    for block in (1, 2, 3):
        for head in range(1, 7):
            _, own = scaled_dot_product_attention(
                *head_of(model, ids, block, head), causal_mask(len(ids))
            )
            inside = weights[f"layers.{block - 1}.self_attn"][0, head - 1]
            assert torch.allclose(own, inside, atol=1e-5)
            assert inside.amax(dim=-1).mean() < 0.999


@pytest.mark.parametrize("model", [llama(), gpt()], ids=["Llama", "GPT"])
@torch.no_grad()
def test_a_silenced_head_adds_nothing_and_comes_back(model):
    before = model(ids[None])
    with silenced(model, [(2, 3), (2, 6), (1, 1)]):
        without = model(ids[None])
    assert torch.equal(model(ids[None]), before)
    D = 8 if isinstance(model, Llama) else 4
    for block, head in ((2, 3), (2, 6), (1, 1)):
        if isinstance(model, Llama):
            last = model.layers[block - 1].self_attn.o_proj
        else:
            last = model.h[block - 1].attn.c_proj
        last.weight[:, (head - 1) * D : head * D] = 0
    assert torch.allclose(model(ids[None]), without, atol=1e-5)
    assert not torch.allclose(before, without, atol=1e-3)


@pytest.mark.parametrize("head", [(0, 1), (4, 1), (1, 0), (1, 7)])
def test_a_head_that_is_not_there_is_refused(head):
    model = llama()
    with pytest.raises(ValueError, match="3 blocks of 6 heads, counted from 1"):
        head_of(model, ids, *head)
    with pytest.raises(ValueError, match="3 blocks of 6 heads"), silenced(model, [head]):
        pass
