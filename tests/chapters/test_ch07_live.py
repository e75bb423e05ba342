"""The transplanted head of chapter 07 in JavaScript looks, loses and writes as in PyTorch."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from scratchformer.models import GPT, GPTConfig
from scratchformer.models.heads import silenced
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch07_multi_head.live import HEAD, LOOKS, looking
from scratchformer_course.page_model import describe
from tests.node import Node

in_node = Node(
    "page_model/model.js",
    "page_model/tokenizer.js",
    "page_model/explorer.js",
    chapter="ch07_multi_head/transplant.js",
)
HOOK = """const { LOOKS, clock, transplant, lossOf, likeliest } = chapter;
  const lookOf = (name) => name === "mine" ? clock(1, 30) : LOOKS[name];
  const hookOf = (config, name) =>
    lookOf(name) && transplant(config, input.head, lookOf(name));"""


def small():
    torch.manual_seed(0)
    sizes = {"context_length": 40, "d_model": 32, "n_heads": 4, "n_layers": 2}
    tok = CharTokenizer.train("abcdefgh")
    model = GPT(GPTConfig(tok.vocab_size, **sizes)).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_((4 * p if p.ndim > 1 else p).half())  # as the description has it
    return model, tok


def test_every_way_to_look_gives_the_weights_of_python():
    names = [name for name, look in LOOKS.items() if look]
    body = f"{HOOK} return input.names.map((name) => [0, 1, 7, 19].map((t) => lookOf(name)(t)))"
    for name, rows in zip(names, in_node(body, names=names), strict=True):
        for t, row in zip((0, 1, 7, 19), rows, strict=True):
            assert row == pytest.approx(LOOKS[name](20)[t, : t + 1].tolist(), abs=1e-5), name


def test_the_model_loses_and_writes_with_it_what_it_does_in_python():
    """With the cache, a place that is written looks back at all before it."""
    model, tok = small()
    ids = torch.randint(0, tok.vocab_size, (1, 12), generator=torch.Generator().manual_seed(1))
    body = f"""{HOOK} const model = course.model.load(input.model);
      return input.names.map((name) => {{
        const hook = hookOf(model.config, name), made = [];
        const writer = likeliest(model, input.ids, hook);
        for (let i = 0; i < 8; i++) made.push(writer.next().value);
        return [lossOf(model, input.ids, hook), made]; }})"""
    given = {"model": describe(model, tok), "ids": ids[0].tolist(), "head": HEAD}
    found = in_node(body, names=[*LOOKS], **given)
    seen = set()
    for (name, look), (loss, made) in zip(LOOKS.items(), found, strict=True):
        all_ids = ids
        with looking(model, look), torch.no_grad():
            expected = cross_entropy(model(ids)[0, :-1], ids[0, 1:]).item()
            for _ in made:
                all_ids = torch.cat([all_ids, model(all_ids)[:, -1:].argmax(-1)], dim=1)
        assert loss == pytest.approx(expected, abs=1e-4), name
        assert made == all_ids[0, 12:].tolist(), name
        seen.add(round(loss, 4))
    assert len(seen) == len(LOOKS), "every way to look matters"


def test_a_head_that_looks_at_nothing_is_silenced_and_afterwards_all_is_as_before():
    model, _ = small()
    ids = torch.arange(8)[None]
    before = model(ids)
    with looking(model, LOOKS["nothing"]), silenced(model, [(HEAD[0] + 1, HEAD[1] + 1)]):
        silent = model(ids)
    with looking(model, LOOKS["nothing"]):
        assert torch.equal(model(ids), silent)
    assert torch.equal(model(ids), before) and not torch.allclose(silent, before)
