"""The block with switches: every stream that JavaScript shows is PyTorch's."""

import itertools

import pytest
import torch
from torch import nn

from scratchformer.blocks import TransformerBlock
from scratchformer_course.ch09_block.live import reading_block, sentence
from tests.node import Node

in_node = Node("page_model/model.js", M="ch09_block/live.js")
PARTS = ("attention", "network", "stream", "norm")
SETS = [dict(zip(PARTS, on, strict=True)) for on in itertools.product((True, False), repeat=4)]


@torch.no_grad()
def by_pytorch(block, x, on, count):
    """The streams of all blocks and the weights of the last, straight from the block's parts."""
    same, x = nn.Identity(), x[None].double()
    block, blocks, weights = block.double(), [], None
    for _ in range(count):
        stations = [x]
        for part, norm in (("attention", block.ln_1), ("network", block.ln_2)):
            before = norm if on["norm"] else same
            if on[part]:
                if part == "attention":
                    written, weights = block.attn(before(x), need_weights=True)
                else:
                    written = block.mlp(before(x))
                x = x + written if on["stream"] else written
            stations.append(x)
        blocks.append(torch.cat(stations))
    return torch.stack(blocks), weights


def blocks():
    """The chapter's block and sentence, and a block of other sizes with large weights."""
    torch.manual_seed(0)
    other = TransformerBlock(5, n_heads=1, d_ff=9)
    for p in other.parameters():
        nn.init.normal_(p, std=0.5)
    return [(reading_block(), sentence()), (other, torch.randn(3, 5))]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("block", "x"), blocks(), ids=["the chapter's", "another"])
def test_with_any_switch_the_stream_is_pytorchs(block, x, count):
    weights = {name: p.tolist() for name, p in block.state_dict().items()}
    body = """return input.sets.map((on) => {
      const blocks = M.stack(input.weights, input.x, on, input.count);
      return [blocks.map((b) => b.stations), blocks.at(-1).map]; })"""
    shown = in_node(body, sets=SETS, count=count, weights=weights, x=x.tolist())
    for on, (streams, shares) in zip(SETS, shown, strict=True):
        expected, attention = by_pytorch(block, x, on, count)
        scale = expected.abs().amax(dim=(2, 3), keepdim=True).clamp(min=1)
        assert ((torch.tensor(streams).double() - expected) / scale).abs().max() < 1e-4, on
        assert (shares is None) == (not on["attention"])
        if shares:
            assert (torch.tensor(shares) - attention[0, 0]).abs().max() < 1e-4, on
