"""Weights of fewer bits: each is the nearest of its grid, and pages expand int8 as Python does."""

import copy

import pytest
import torch
import torch.nn.functional as F

from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch20_inference.live import PASSAGE
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model import describe
from scratchformer_course.page_model.fewer_bits import (
    SHARED,
    in_int8,
    round_model,
    rounded,
    to_whole,
)
from tests.library.refusals import refused
from tests.node import Node

NAME = "tiny-shakespeare"
STORED = load_measurements("page_bits")
node = Node(M="page_model/model.js")


@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("bits", (2, 5, 8))
def test_no_weight_moves_by_more_than_half_a_step(bits, shared):
    weight = torch.randn(6, 64, generator=torch.Generator().manual_seed(bits)).half().float()
    weight[2] = 0
    integers, scales = to_whole(weight, bits, shared)
    assert len(scales) == {"tensor": 1, "row": 6, "group": 12}[shared]
    most = 2 ** (bits - 1) - 1
    assert integers.abs().max() == most and integers.eq(integers.round()).all()
    moved = (rounded(weight, bits, shared) - weight).abs().view(len(scales), -1)
    # a scale is a float16, so the largest weight may lie just beyond the largest whole number
    assert (moved <= scales * (0.5 + most / 2048)).all()
    assert rounded(weight, bits, shared)[2].eq(0).all()


@pytest.mark.parametrize("size", [3e-8, 1e-6, 3e-6, 1e-4])
def test_small_weights_neither_vanish_nor_are_cut_off(size):
    weight = size * torch.linspace(-1, 1, 33)[None, 1:]
    _, scales = to_whole(weight, 8)
    moved = (rounded(weight, 8) - weight).abs()
    assert scales.min() > 0 and (moved <= scales * 0.5001 + size / 2048).all()


ROWS = torch.ones(3, 4)
test_what_cannot_be_rounded_is_refused = refused(
    {
        "bits=1": lambda: rounded(ROWS, 1),
        "bits=9": lambda: rounded(ROWS, 9),
        "shared='column'": lambda: rounded(ROWS, 8, "column"),
        "rows of 4 weights, expected groups of 32": lambda: rounded(ROWS, 8, "group"),
        "no float16 is their scale": lambda: to_whole(ROWS * 1e30, 8),
    }
)


def test_javascript_expands_int8_to_pythons_weights_and_logits_from_half_the_bytes():
    """To the tolerance of float16; and the logits before are as near as was measured."""
    model, tokenizer = GPT.pretrained(NAME), CharTokenizer.pretrained(NAME)
    described = describe(model, tokenizer)
    in_bytes = in_int8(described)
    assert in_bytes["hash"] == described["hash"] and in_bytes["bits"] == 8
    assert len(in_bytes["weights"]) < 0.52 * len(described["weights"])
    body = """const model = M.load(input.described), { logits } = M.forward(model, input.ids);
    return { logits, losses: M.losses(logits, input.ids),
      weights: input.names.map((name) => model.weights[name]) }"""
    ids = tokenizer.encode(PASSAGE)
    after = round_model(copy.deepcopy(model))
    names = ["wte.weight", "h.1.attn.c_attn.bias", "h.3.mlp.c_proj.weight"]
    result = node(body, described=in_bytes, ids=ids, names=names)
    for name, weights in zip(names, result["weights"], strict=True):
        assert weights == after.get_parameter(name).flatten().tolist()
    with torch.no_grad():
        before, now = (gpt(torch.tensor([ids]))[0] for gpt in (model, after))
    logits = torch.tensor(result["logits"]).view_as(now)
    assert (logits - now).abs().max() < 1e-4
    losses = F.cross_entropy(now[:-1], torch.tensor(ids[1:]), reduction="none")
    assert result["losses"] == pytest.approx(losses.tolist(), abs=1e-4)
    assert 0.01 < (logits - before).abs().max() <= STORED["largest_change_of_a_logit"]
