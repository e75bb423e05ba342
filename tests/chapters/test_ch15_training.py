"""What the page *What training costs* says of memory, operations and the softmax in parts."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from scratchformer.models import GPT, GPTConfig
from scratchformer_course.ch15_costs.memory import most_at_once
from scratchformer_course.ch15_costs.online_softmax import attend_in_parts

V, T, C, L, B = 65, 64, 48, 3, 8


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return GPT(GPTConfig(V, T, d_model=C, n_heads=4, n_layers=L))


def operations(compute, *inputs):
    with FlopCounterMode(display=False) as counter:
        compute(*inputs)
    return counter.get_total_flops()


def kept_for_backward(compute, parameters=()):
    """Bytes that compute() keeps for its backward pass."""
    own, kept = {p.untyped_storage().data_ptr() for p in parameters}, {}

    def pack(tensor):
        memory = tensor.untyped_storage()
        if memory.data_ptr() not in own:
            kept[memory.data_ptr()] = memory  # held: its place stays taken
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        compute()
    return sum(memory.nbytes() for memory in kept.values())


def test_a_step_keeps_16_bytes_a_parameter_and_activations_by_the_rule(model):
    x, y = torch.randint(V, (2, B, T))

    def loss():
        return F.cross_entropy(model(x).flatten(0, 1), y.flatten())

    kept = kept_for_backward(loss, model.parameters())
    assert kept == 5_110_276  # as drawn
    rule = 4 * B * T * ((16 * L + 2) * C + V)  # here the loss keeps one of the three rows
    assert rule / kept == pytest.approx(0.988, abs=1e-3)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = kept_for_backward(loss, model.parameters())
    copies = 2 * (12 * L * C**2 + V * C)
    assert (mixed - copies) / kept == pytest.approx(0.59, abs=0.01)

    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    loss().backward()
    optimizer.step()
    held = [*model.parameters(), *(p.grad for p in model.parameters())]
    held += [s[name] for s in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
    n = sum(p.numel() for p in model.parameters())
    assert sum(t.nbytes for t in held) == 16 * n == 4 * 364_416


def test_checkpoints_keep_under_two_fifths_for_at_most_a_third_more_operations():
    blocks = GPT(GPTConfig(V, T, d_model=C, n_heads=4, n_layers=8)).h
    stream = torch.randn(B, T, C, requires_grad=True)

    def through(is_checkpointed):
        out = stream
        for block in blocks:
            out = checkpoint(block, out, use_reentrant=False) if is_checkpointed else block(out)
        out.square().sum().backward()

    ways = (False, True)
    most = [most_at_once(lambda way=way: through(way), blocks.parameters()) for way in ways]
    spent = [operations(through, way) for way in ways]
    assert 0.2 < most[1] / most[0] < 0.4 and 1.1 < spent[1] / spent[0] < 1.34


@pytest.mark.parametrize("size", [1, 7, 100, 300])
@pytest.mark.parametrize("times", [1, 30])
def test_a_softmax_in_parts_is_the_full_one(size, times):
    q = times * torch.randn(64)
    k, v = torch.randn(2, 300, 64)
    full = (k @ q / math.sqrt(64)).softmax(dim=0) @ v
    assert torch.allclose(attend_in_parts(q, k, v, size), full, atol=1e-5)


def test_the_fused_kernel_keeps_no_table():
    def plain(q, k, v):
        later = torch.ones(q.shape[-2], q.shape[-2]).triu(1).bool()
        return (q @ k.mT / 8).masked_fill(later, -math.inf).softmax(dim=-1) @ v

    def fused(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    keeps = {}
    for length in (512, 1024):
        q, k, v = (t.clone() for t in torch.randn(3, 1, 12, length, 64, requires_grad=True))
        assert torch.allclose(fused(q, k, v), plain(q, k, v), atol=1e-5)
        for way in (fused, plain):
            keeps[way, length] = kept_for_backward(lambda way=way: way(q, k, v))  # noqa: B023
    assert keeps[fused, 1024] == 2 * keeps[fused, 512]
    assert keeps[plain, 1024] > 3.4 * keeps[plain, 512]


def test_training_takes_six_operations_a_parameter_and_for_gpt2_14_percent_more():
    with torch.device("meta"):
        gpt2 = GPT(GPTConfig(50_257, 1024, 768, n_heads=12, n_layers=12))
        ids = torch.zeros((1, 1024), dtype=torch.long)
    n = sum(p.numel() for p in gpt2.parameters())
    both = operations(lambda: gpt2(ids).sum().backward())
    assert both == 3 * operations(gpt2, ids)
    assert both / (6 * n * 1024) == pytest.approx(1.14, abs=0.005)


def test_eight_parts_of_a_network_add_up_to_the_whole():
    first, second = nn.Linear(64, 256, bias=False), nn.Linear(256, 64, bias=False)
    x = torch.randn(5, 64)
    parts = [  # each chip has some rows of the first and columns of the second
        F.gelu(x @ up.T) @ down.T
        for up, down in zip(first.weight.chunk(8), second.weight.chunk(8, dim=1), strict=True)
    ]
    assert torch.allclose(sum(parts), second(F.gelu(first(x))), atol=1e-5)
