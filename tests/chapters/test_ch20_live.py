"""Chapter 20's live figures: drafts leave the model's text as it is, and rounding is Python's."""

import copy

import pytest
import torch

from scratchformer.generation import generate
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate
from scratchformer_course.ch20_inference.counts import describe_counts, packed, unpacked
from scratchformer_course.ch20_inference.live import PASSAGE, PROMPT, WRITTEN, greedy_passes
from scratchformer_course.page_model import describe
from scratchformer_course.page_model.fewer_bits import round_model
from tests.node import Node

TABLES = describe_counts()["tables"]
in_node = Node(
    *(f"page_model/{name}.js" for name in ("model", "tokenizer", "explorer")),
    F="ch20_inference/live.js",
)


@pytest.fixture(scope="module")
def shipped():
    model, tok = (kind.pretrained("tiny-shakespeare") for kind in (GPT, CharTokenizer))
    return model, tok, describe(model, tok)


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
    totals = in_node(ENUMERATE, p=MODEL, q=draft, k=k)
    for a in range(3):
        for b in range(3):
            assert totals.get(f"{a} {b}", 0) == MODEL[0][a] * MODEL[a][b], (a, b)
    assert sum(totals.values()) == 1


WRITE = """
  const model = course.model.load(input.described);
  const tokenizer = course.tokenizer.load(input.described.tokenizer);
  const tables = F.unpack(input.tables);
  return input.rules.map((rules) => {
    const writer = F.writer(model, tokenizer, tables, { longest: 5, ...rules });
    while (writer.left() > 0) writer.step();
    const kept = writer.passes.reduce((sum, pass) => sum + pass.kept, 0);
    return [tokenizer.decode(writer.written()), writer.passes.length, kept];
  })"""


def test_greedy_text_is_the_same_with_any_draft_and_pythons(shipped):
    model, tok, described = shipped
    ids = torch.tensor([tok.encode(PROMPT)])
    text = tok.decode(generate(model, ids, WRITTEN, temperature=0.0)[0].tolist())
    rule = {"prompt": PROMPT, "most": WRITTEN, "temperature": 0, "seed": 1}
    rules = [rule | {"k": k} for k in (0, 4)]
    results = in_node(WRITE, described=described, tables=TABLES, rules=rules)
    for k, (written, passes, kept) in zip((0, 4), results, strict=True):
        assert PROMPT + written == text
        assert passes == greedy_passes(text, len(PROMPT), unpacked(TABLES), k)
        assert passes + kept == WRITTEN, "each pass writes one token of the model's own"
    assert results[0][1] == WRITTEN > results[1][1]


def test_the_loss_in_fewer_bits_is_pythons(shipped):
    model, tok, described = shipped
    ids = tok.encode(PASSAGE)
    body = """const model = course.model.load(input.described);
      return input.ways.map((way) =>
        F.meanLoss(F.roundedModel(model, input.described.tensors, ...way), input.ids))"""
    losses = in_node(body, described=described, ids=ids, ways=[(16, "row"), (3, "group")])
    models = model, round_model(copy.deepcopy(model), 3, "group")
    expected = [evaluate(rounded, torch.tensor(ids), 256) for rounded in models]
    assert losses == pytest.approx(expected, abs=1e-4)


def test_a_table_is_packed_and_unpacked():
    tables = [{"": [("e", 1.0)]}, {"q": [("u", 0.8), (" ", 0.2)], "\n": [("T", 1.0)]}]
    assert unpacked(packed(tables)) == tables
