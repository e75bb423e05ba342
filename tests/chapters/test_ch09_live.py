"""The block with switches and the hidden number: what JavaScript shows is PyTorch's."""

import itertools

import pytest
import torch
from torch import nn

from scratchformer.blocks import TransformerBlock
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch09_block.live import after, inside, raised, reading_block, sentence
from scratchformer_course.page_model import describe
from tests.node import Node

in_node = Node("page_model/model.js", M="ch09_block/live.js")
in_model = Node(
    *(f"page_model/{name}.js" for name in ("model", "tokenizer", "scene", "explorer")),
    F="ch09_block/hidden_number.js",
)
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


def test_a_hidden_number_is_read_and_set_as_in_pytorch():
    model, tok = (kind.pretrained("tiny-shakespeare") for kind in (GPT, CharTokenizer))
    model = model.eval()
    line = "Old kings and husbands sleep, hand and foot"
    ids, places = tok.encode(line), [(12, 398, 0.0), (33, 398, 5.7), (42, 7, -0.1)]
    shown = in_model(
        """const model = course.model.load(input.description);
        const run = F.inside(model, input.ids);
        const next = input.places.map((place) => Array.from(F.next(model, run, ...place)));
        const logits = input.places.map(([, n]) => Array.from(F.raised(model, n)));
        return [Array.from(run.sums), next, logits];""",
        description=describe(model, tok),
        ids=ids,
        places=places,
    )
    sums, stream = inside(model, torch.tensor([ids]))
    next_ = [after(model, sums[t], stream[t], n, value) for t, n, value in places]
    logits = torch.stack([raised(model, n) for _, n, _ in places])
    expected = sums.flatten(), torch.stack(next_), logits
    for found, numbers in zip(shown, expected, strict=True):
        torch.testing.assert_close(torch.tensor(found), numbers, atol=1e-3, rtol=0)
    with torch.no_grad():
        whole = model(torch.tensor([ids]))[0].softmax(dim=1)
    space = tok.encode(" ")[0]
    alone = after(model, sums[12], stream[12], 398, None)
    torch.testing.assert_close(alone, whole[12], atol=1e-5, rtol=0)
    without = after(model, sums[12], stream[12], 398, 0.0)
    assert alone[space] > without[space]
