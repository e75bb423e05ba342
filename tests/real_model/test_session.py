"""What a page asks of the real model is answered: tokens, chances, texts written and steered."""

import numpy as np
import pytest
import torch

from scratchformer.generation import generate
from scratchformer.generation.conversation import SYSTEM
from scratchformer.models import Llama
from scratchformer.tokenizers import ByteBPE
from scratchformer_course.measurements import load_measurements
from tests.library.small_gguf import write_real_shape
from tests.node import JavaScriptError
from tests.real_model.in_node import node, real_file

# `model` is the page's client, whose worker is the page itself
CLIENT = """
require(`${process.cwd()}/scratchformer_course/kit/figure/workers.js`);
for (const part of ["session", "client"]) {
  require(`${process.cwd()}/scratchformer_course/real_model/model_${part}.js`);
}
const model = course.modelClient.newClient();
model.open(new Blob([require("fs").readFileSync(input.path)]));
const steps = [];
const write = (prompt, signal) => model.write(prompt, (step) => steps.push(step), signal);
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_real_shape(tmp_path_factory.mktemp("small") / "a.gguf")


def asked(path, body, **given):
    return node(f"{CLIENT}{body}", path=str(path), **given)


def test_what_is_read_is_pythons(path):
    body = """
      const { ids, pieces } = await model.encode({ text: "Hé" });
      const { chances, top } = await model.read({ text: "Hé x", top: 2, chances: ["a", " "] });
      const chat = await model.encode({ chat: "hi" });
      const { length } = await model.lens({ ids: [5, 6], top: 1 });
      return { ids, pieces, chances, top, chat: chat.ids, length, config: await model.config() }"""
    found = asked(path, body)
    model, tok = Llama.from_gguf(path), ByteBPE.from_gguf(path)
    p = model(torch.tensor([tok.encode("Hé x")]))[0, -1].softmax(-1)
    assert found["ids"] == tok.encode("Hé") and found["pieces"][0] == "H"
    first = [tok.encode(text)[0] for text in ("a", " ")]
    assert np.allclose(found["chances"], p[first].tolist(), atol=1e-5)
    best = p.topk(2).indices.tolist()
    assert [token["id"] for token in found["top"]] == best
    assert [token["text"] for token in found["top"]] == [tok.decode([i]) for i in best]
    assert (found["length"], found["config"]["n_layers"]) == (31, 30)
    turns = f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
    turns += "<|im_start|>assistant\n"
    assert found["chat"] == tok.encode(turns, allow_special=True)


def test_the_lens_ends_with_what_the_model_says(path):
    body = """
      const { top } = await model.read({ text: "abc", top: 3 });
      return [top, (await model.lens({ text: "abcd", place: 1 })).at(-1)]"""
    top, last = asked(path, body)
    assert [token["id"] for token in top] == [token["id"] for token in last]


def test_what_is_written_is_pythons_and_a_second_text_goes_on_from_what_was_read(path):
    body = """
      const rules = { temperature: 0 }, first = await write({ text: "abc", rules, most: 5 });
      const ids = [...(await model.encode({ text: "abc" })).ids, ...first.ids, 7, 8];
      return [first.ids, (await write({ ids, rules, most: 3 })).ids,
              (await write({ ids, rules, most: 3, change: { blocks: [2] } })).ids, steps]"""
    first, second, changed, steps = asked(path, body)
    model, tok = Llama.from_gguf(path), ByteBPE.from_gguf(path)

    def python(ids, n):
        return generate(model, torch.tensor([ids]), n, 0.0)[0, len(ids) :].tolist()

    ids = tok.encode("abc")
    assert first == python(ids, 5)
    assert second == python([*ids, *first, 7, 8], 3) != changed
    assert [step["id"] for step in steps] == first + second + changed
    assert all(step["p"] == 1 and step["top"][0]["id"] == step["id"] for step in steps)


def test_a_text_is_steered_and_stopped_while_it_is_written_and_others_are_answered(path):
    body = """
      const stop = new AbortController(), most = 300, all = [];
      const rules = { temperature: 0 };
      const writing = model.write({ text: "abc", rules, most }, ({ id }) => {
        all.push(id);
        if (all.length === 3) model.steer({ change: { blocks: [1, 2, 3] } });
        if (all.length === 9) stop.abort();
      }, stop.signal);
      const read = await model.read({ text: "a" }).then(() => all.length);
      await writing;
      const plain = await write({ text: "abc", rules, most: 9 });
      return { read, all, plain: plain.ids }"""
    found = asked(path, body)
    assert found["read"] < 9 <= len(found["all"]) < 20
    assert found["all"][:3] == found["plain"][:3] and found["all"][:9] != found["plain"]


def test_bits_are_lowered_from_those_of_the_file_and_come_back(path):
    body = """
      const p = async () => (await model.read({ text: "abc" })).top.map((token) => token.p);
      const seen = [await p()];
      for (const bits of [2, 3, 2, 4]) { await model.lower(bits); seen.push(await p()); }
      return seen"""
    file, two, three, again, back = asked(path, body)
    assert file == back and two == again and len({*map(tuple, (file, two, three))}) == 3


def test_what_fails_is_a_sentence(path, tmp_path):
    with pytest.raises(JavaScriptError, match=r"no head 31\.1"):
        asked(path, "await model.read({ text: 'a', change: { heads: [[31, 1]] } })")
    with pytest.raises(JavaScriptError, match="got no token"):
        asked(path, "await model.read({ text: '' })")
    with pytest.raises(JavaScriptError, match="not loaded"):
        asked(path, "model.close(); await model.config()")
    (tmp_path / "a.gguf").write_bytes(b"no model")
    with pytest.raises(JavaScriptError, match="cannot be read"):
        asked(tmp_path / "a.gguf", "await model.config()")


def test_smollm2_answers():
    body = """
      const chat = "What is the capital of France?";
      return (await write({ chat, rules: { temperature: 0 } })).text"""
    assert asked(real_file(), body) == "The capital of France is Paris."


def test_smollm2_writes_what_chapter_12_has_recorded():
    """By the two rules that draw nothing; two languages draw differently."""
    stored = load_measurements("real_endings")
    names = ["greedy", "penalty"]
    given = {"text": stored["settings"]["night"], "most": stored["settings"]["written"]}
    given["rules"] = [stored["settings"]["rules"][name] for name in names]
    body = """
      const texts = [];
      for (const rules of input.rules) {
        const { ids } = await write({ text: input.text, rules, most: input.most, top: 0 });
        texts.push((await model.encode({ ids })).pieces);
      }
      return texts"""
    assert asked(real_file(), body, **given) == [stored["rules"][name] for name in names]
