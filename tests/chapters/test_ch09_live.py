"""The block with switches: every stream that JavaScript shows is PyTorch's."""

import itertools

import pytest
import torch
from torch import nn

from scratchformer.blocks import TransformerBlock
from scratchformer_course.ch09_block.live import old_king, reading_block, sentence
from tests.node import Node

in_node = Node("page_model/model.js", M="ch09_block/live.js")
PARTS = ("attention", "network", "stream", "norm", "post")


@torch.no_grad()
def by_pytorch(block, x, on, count):
    """The streams of all blocks and the weights of the last, straight from the block's parts."""
    same, x = nn.Identity(), x[None].double()
    block, blocks, weights = block.double(), [], None
    for _ in range(count):
        stations = [x]
        for part, norm in (("attention", block.ln_1), ("network", block.ln_2)):
            before = norm if on["norm"] and not on["post"] else same
            after = norm if on["norm"] and on["post"] else same
            if on[part]:
                if part == "attention":
                    written, weights = block.attn(before(x), need_weights=True)
                else:
                    written = block.mlp(before(x))
                x = after(x + written if on["stream"] else written)
            stations.append(x)
        blocks.append(torch.cat(stations))
    return torch.stack(blocks), weights


@pytest.mark.parametrize("count", [1, 3])
def test_with_any_switch_the_stream_is_pytorchs(count):
    torch.manual_seed(0)
    anyone = TransformerBlock(5, n_heads=1, d_ff=9)
    for p in anyone.parameters():
        nn.init.normal_(p, std=0.5)
    shown = old_king().settings
    blocks = [
        (shown["weights"], shown["x"], reading_block(), sentence()),
        (
            {name: p.tolist() for name, p in anyone.state_dict().items()},
            (x := torch.randn(3, 5)).tolist(),
            anyone,
            x,
        ),
    ]
    ways = [
        dict(zip(PARTS, each, strict=True)) for each in itertools.product((True, False), repeat=5)
    ]
    body = """return input.ways.map((on) => {
      const blocks = M.stack(input.weights, input.x, on, input.count);
      return [blocks.map((b) => b.stations), blocks.at(-1).map];
    })"""
    for weights, rows, block, x in blocks:
        by_javascript = in_node(body, ways=ways, count=count, weights=weights, x=rows)
        for on, (streams, read) in zip(ways, by_javascript, strict=True):
            expected, map_ = by_pytorch(block, x, on, count)
            shown = torch.tensor(streams).double()
            scale = expected.abs().amax(dim=(2, 3), keepdim=True).clamp(min=1)
            assert ((shown - expected) / scale).abs().max() < 1e-4, on
            assert (read is None) == (not on["attention"])
            if read:
                assert (torch.tensor(read) - map_[0, 0]).abs().max() < 1e-4, on


def test_without_norms_the_words_read_as_in_chapter_06():
    on = dict.fromkeys(PARTS, True) | {"norm": False}
    _, weights = by_pytorch(reading_block(), sentence(), on, 1)
    assert [round(n, 2) for n in weights[0, 0, 1].tolist()] == [0.05, 0.05, 0.85, 0.05]
