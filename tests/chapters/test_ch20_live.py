"""Chapter 20's live figures: the draft's rule is exact, and the rounding is Python's."""

import copy
import random

import pytest
import torch

from scratchformer.generation import generate
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate
from scratchformer_course.ch20_inference.counts import (
    describe_counts,
    guess,
    packed,
    unpacked,
)
from scratchformer_course.ch20_inference.live import (
    BITS,
    PASSAGE,
    PROMPT,
    WRITTEN,
    greedy_passes,
    size,
)
from scratchformer_course.page_model import describe
from scratchformer_course.page_model.fewer_bits import SHARED, round_model, rounded
from tests.node import Node

NAME = "tiny-shakespeare"
TABLES = unpacked(describe_counts()["tables"])
in_node = Node(
    "page_model/model.js",
    "page_model/tokenizer.js",
    "page_model/explorer.js",
    F="ch20_inference/live.js",
)


@pytest.fixture(scope="module")
def model():
    return GPT.pretrained(NAME)


@pytest.fixture(scope="module")
def tok():
    return CharTokenizer.pretrained(NAME)


@pytest.fixture(scope="module")
def described(model, tok):
    return describe(model, tok)


# ---- the rule of the draft ----

# Rows by the token before; with these numbers every decision falls on a whole quarter
MODEL = [[0.5, 0.25, 0.25], [0.0, 0.25, 0.75], [1.0, 0.0, 0.0]]
DRAFT = [[0.25, 0.5, 0.25], [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]
# Each way in which the random numbers may fall, once: quarters of the line from 0 to 1
ENUMERATE = """
  const { p, q, k } = input;
  const totals = {};
  let path = [];
  for (;;) {
    let at = 0;
    const random = () => {
      if (at === path.length) path.push(0);
      return (path[at++] + 0.5) / 4;
    };
    const text = [];
    while (text.length < 2) {
      const last = text.at(-1) ?? 0;
      const draft = (drafted) => q[drafted.at(-1) ?? last];
      const judge = (drafted) => [last, ...drafted].map((id) => p[id]);
      const pass = F.onePass(k, draft, judge, random);
      text.push(...pass.drafted.slice(0, pass.kept), pass.own);
    }
    const key = text.slice(0, 2).join(" ");
    totals[key] = (totals[key] ?? 0) + 4 ** -path.length;
    while (path.length && path.at(-1) === 3) path.pop();
    if (!path.length) return totals;
    path.push(path.pop() + 1);
  }"""


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("draft", [DRAFT, MODEL], ids=["another", "the model's own"])
def test_two_tokens_have_exactly_the_models_probabilities(k, draft):
    found = in_node(ENUMERATE, p=MODEL, q=draft, k=k)
    for a in range(3):
        for b in range(3):
            assert found.get(f"{a} {b}", 0) == MODEL[0][a] * MODEL[a][b], (a, b)
    assert sum(found.values()) == 1


WRITE = """
  const model = course.model.load(input.described);
  const tokenizer = course.tokenizer.load(input.described.tokenizer);
  const tables = F.unpack(input.tables);
  return input.rules.map((rules) => {
    const { prompt } = input;
    const writer = F.writer(model, tokenizer, tables, { prompt, longest: 5, ...rules });
    while (writer.left() > 0) writer.step();
    const kept = writer.passes.reduce((sum, pass) => sum + pass.kept, 0);
    return [tokenizer.decode(writer.written()), writer.passes.length, kept];
  })"""


def write(described, *rules):
    tables = describe_counts()["tables"]
    return in_node(WRITE, described=described, tables=tables, prompt=PROMPT, rules=rules)


def test_greedy_text_is_the_same_with_any_draft_and_pythons(model, tok, described):
    ids = torch.tensor([tok.encode(PROMPT)])
    text = tok.decode(generate(model, ids, WRITTEN, temperature=0.0)[0].tolist())
    lengths = (0, 4)
    found = write(
        described, *({"most": WRITTEN, "temperature": 0, "seed": 1, "k": k} for k in lengths)
    )
    for k, (written, passes, kept) in zip(lengths, found, strict=True):
        assert PROMPT + written == text
        assert passes == greedy_passes(text, len(PROMPT), TABLES, k)
        assert passes + kept == WRITTEN, "each pass writes one token of the model's own"
    assert found[0][1] == WRITTEN > found[1][1]


# ---- the table of counts ----


def test_the_table_in_javascript_guesses_as_python_does():
    draw, text = random.Random(0), PASSAGE + "zq?zzqqx"
    texts = [text[: draw.randint(0, len(text))] for _ in range(60)]
    body = """const tables = F.unpack(input.tables);
      return input.texts.map((text) => [0, 3, 5].map((n) => F.guess(tables, text, n)))"""
    found = in_node(body, tables=describe_counts()["tables"], texts=texts)
    for text, rows in zip(texts, found, strict=True):
        for longest, row in zip((0, 3, 5), rows, strict=True):
            expected = guess(TABLES, text, longest)
            assert [c for c, _ in row] == [c for c, _ in expected]
            assert [p for _, p in row] == pytest.approx([p for _, p in expected])


# ---- fewer bits ----


@pytest.mark.parametrize("shared", SHARED)
def test_the_rounding_in_javascript_is_pythons(shared):
    g = torch.Generator().manual_seed(0)
    weight = (torch.randn(6, 64, generator=g) * 0.1).half().float()
    weight[1] = 0
    weight[2] = torch.arange(64) / 64  # many lie just between two
    weight[3] *= 1e-6  # a scale below the normal float16
    body = """return input.bits.map((bits) =>
      F.rounded(Float32Array.from(input.weight), [6, 64], bits, input.shared))"""
    found = in_node(body, bits=BITS[1:], weight=weight.flatten().tolist(), shared=shared)
    for bits, row in zip(BITS[1:], found, strict=True):
        assert row == rounded(weight, bits, shared).flatten().tolist(), bits


def test_the_loss_in_fewer_bits_is_pythons(model, tok, described):
    ids = tok.encode(PASSAGE)
    body = """const model = course.model.load(input.described);
      return input.ways.map(([bits, shared]) =>
        F.meanLoss(F.roundedModel(model, input.described.tensors, bits, shared), input.ids))"""
    ways = [(16, "row"), (3, "group")]
    for (bits, shared), loss in zip(
        ways, in_node(body, described=described, ids=ids, ways=ways), strict=True
    ):
        own = copy.deepcopy(model)
        own = own if bits == 16 else round_model(own, bits, shared)
        assert loss == pytest.approx(evaluate(own, torch.tensor(ids), 256), abs=1e-4)


def test_bytes_are_pythons(model, described):
    ways = [(bits, shared) for bits in BITS for shared in SHARED]
    body = "return input.ways.map(([bits, shared]) => F.bytes(input.tensors, bits, shared))"
    found = in_node(body, tensors=described["tensors"], ways=ways)
    assert found == [size(model, *way) for way in ways]
    assert size(model, 16, "row") == 2 * sum(p.numel() for p in model.parameters())


# ---- the figures ----


def test_float16_in_javascript_is_pytorchs():
    g = torch.Generator().manual_seed(1)
    numbers = torch.randn(2000, generator=g) * 10.0 ** torch.randint(-9, 4, (2000,), generator=g)
    numbers = torch.cat([numbers, torch.tensor([0.0, 1 + 2**-11, 1 + 3 * 2**-11, 2**-24, 2**-25])])
    found = in_node("return input.numbers.map(F.half)", numbers=numbers.tolist())
    assert found == numbers.half().tolist()


def test_the_drafts_probabilities_follow_the_temperature():
    body = """return [0, 0.5, 1].map((t) =>
      F.asProbabilities([["b", 0.75], ["a", 0.25]], (c) => "abc".indexOf(c), 3, t))"""
    assert in_node(body) == [[0, 1, 0], pytest.approx([0.1, 0.9, 0]), [0.25, 0.75, 0]]


def test_a_table_is_packed_and_unpacked():
    tables = [{"": [("e", 1.0)]}, {"q": [("u", 0.8), (" ", 0.2)], "\n": [("T", 1.0)]}]
    assert unpacked(packed(tables)) == tables
