"""The experiments' model: GPT without changes, Llama with six, and experts that are sent tokens."""

import re

import pytest
import torch

from scratchformer.models import GPT, GPTConfig, Llama, LlamaConfig
from scratchformer_course.ch19_since_gpt2.model import CHANGES, MODERN, ChangedGPT, Experts, Sizes

SIZES = {"vocab_size": 17, "context_length": 12, "d_model": 24, "n_heads": 6, "n_layers": 2}
IDS = torch.randint(17, (3, 11), generator=torch.Generator().manual_seed(0))  # (B, T)


def changed(*changes, **sizes):
    torch.manual_seed(0)
    model = ChangedGPT(Sizes(**SIZES | {"window": 4} | sizes), changes)
    for p in model.parameters():
        p.data.add_(0.2 * torch.randn_like(p))
    return model


def test_without_changes_it_is_gpt():
    model, gpt = changed(), GPT(GPTConfig(**SIZES))
    own = model.state_dict()
    for name in list(own):
        if ".attn.q_proj." in name:
            parts = [own.pop(name.replace("q_proj", p)) for p in ("q_proj", "k_proj", "v_proj")]
            own[name.replace("q_proj", "c_attn")] = torch.cat(parts)
    gpt.load_state_dict(own)
    assert torch.allclose(model(IDS), gpt(IDS), atol=1e-5)


@pytest.mark.parametrize("more", [(), ("window",)])
def test_with_six_changes_it_is_llama(more):
    model = changed(*MODERN, *more)
    window = 4 if more else None
    config = LlamaConfig(**SIZES, n_kv_heads=1, qk_norm=True, window=window, norm_eps=1e-5)
    llama = Llama(config)
    names = [("wte", "embed_tokens"), (r"^h\.", "layers."), (r"attn\.c_proj", "attn.o_proj")]
    names += [(r"\.attn", ".self_attn"), ("ln_1", "input_layernorm"), ("ln_f", "norm")]
    names += [("ln_2", "post_attention_layernorm")]
    own = {}
    for name, tensor in model.state_dict().items():
        for old, new in names:
            name = re.sub(old, new, name)
        own[name] = tensor
    llama.load_state_dict(own)
    assert torch.allclose(model(IDS), llama(IDS), atol=1e-5)


def test_every_change_changes_something_and_no_future():
    plain = changed()(IDS)
    for change in CHANGES:
        model, other = changed(change), IDS.clone()
        other[:, 7:] = (other[:, 7:] + 1) % 17
        assert not torch.allclose(model(IDS), plain, atol=1e-3), change
        assert torch.allclose(model(IDS)[:, :7], model(other)[:, :7], atol=1e-6), change


def test_a_token_gets_what_its_two_experts_say_in_proportion():
    experts, x = changed("experts").h[0].mlp, torch.randn(1, 5, 24)
    chance = experts.router(x).softmax(dim=-1)[0]  # (T, E)
    for t in range(5):
        first, second = chance[t].argsort(descending=True)[:2]
        a, b = chance[t, first], chance[t, second]
        said = a * experts.experts[first](x[0, t]) + b * experts.experts[second](x[0, t])
        assert torch.allclose(experts(x)[0, t], said / (a + b), atol=1e-5)


def test_balance_is_one_where_all_get_the_same_and_grows_where_one_gets_all():
    experts = Experts(4, 4, 1, lambda: torch.nn.Linear(4, 4))
    torch.nn.init.eye_(experts.router.weight).data.mul_(50)
    even = torch.eye(4)[None]  # each token to an expert of its own
    experts(even)
    assert experts.balance.item() == pytest.approx(1) and experts.share.tolist() == [0.25] * 4
    experts(even[:, :1].expand(1, 4, 4))
    assert experts.balance.item() == pytest.approx(4) and experts.share.tolist() == [1, 0, 0, 0]


def test_an_unknown_change_is_refused():
    with pytest.raises(ValueError, match=r"changes=\['moe'\], expected some of rmsnorm"):
        changed("moe")
