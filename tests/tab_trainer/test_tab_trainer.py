"""The trainer in JavaScript: its gradients and steps are PyTorch's, with every product it has."""

import base64
import gzip
import math
import random
import struct
from collections import Counter
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from lab import tab
from scratchformer.data.corpora import Corpus
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import TrainingConfig, evaluate, make_optimizer
from scratchformer_course.page_model import describe
from scratchformer_course.page_model.speedrun import SpeedrunGPT
from scratchformer_course.tab_trainer import race
from scratchformer_course.tab_trainer.race import FIXED
from tests.node import JavaScriptError, Node
from tests.tab_trainer.gradients import (
    COMPUTE,
    IDEAS,
    ROWS,
    SMALL,
    compare,
    for_the_trainer,
    make_batch,
    make_model,
)

B = ROWS
in_node = Node(
    "page_model/model.js",
    "tab_trainer/kernels.js",
    "tab_trainer/matrix.js",
    Tr="tab_trainer/trainer.js",
    Text="tab_trainer/text.js",
    Counts="tab_trainer/counts.js",
    Export="tab_trainer/export.js",
    Session="tab_trainer/session.js",
)
SETTINGS = [
    IDEAS,
    {**IDEAS, "positions": "learned"},
    {**IDEAS, "smear": 0},
    {**IDEAS, "bigram_rows": 0},
    {"positions": "learned"},
]
LOAD = """
const run = Tr.newRun(input.config, input.settings, 0, input.kind);
for (const [name, rows] of Object.entries(input.weights))
  run.weights[name].data.set(rows.flat());
"""


@pytest.mark.parametrize(
    ("ideas", "kind"), [(IDEAS, "plain"), *((ideas, "simd") for ideas in SETTINGS)]
)
def test_the_gradients_of_every_weight_are_pytorchs(ideas, kind):
    compute = f"return ({COMPUTE})({{ ...input, kind: {kind!r} }})"
    compared = compare(lambda asked: in_node(compute, **asked), **ideas)
    assert compared["kind"] == kind and compared["loss"] < 1e-5
    for name, (difference, largest) in compared["weights"].items():
        assert difference < 1e-4 and largest > 1e-3, name


@pytest.mark.parametrize(
    ("ideas", "rates"),
    [
        (IDEAS, {"muon_lr": 0.1}),
        (SETTINGS[1], {"muon_lr": None}),
        (IDEAS, {"muon_lr": None, "matrix_lr": 0.01}),
    ],
    ids=["muon", "adamw-learned", "adamw-two-rates"],
)
def test_ten_steps_of_training_are_pytorchs(ideas, rates):
    model, steps = make_model(std=0.1, **ideas), 10
    weights = for_the_trainer(model)
    config = TrainingConfig(
        steps=steps, lr=3e-2, seed=0, **rates, muon_momentum=0.87, betas=(0.4, 0.9),
        weight_decay=0.0, precision="float32",
    )  # fmt: skip
    optimizer, losses = make_optimizer(model, config), []
    batches = [make_batch(seed) for seed in range(steps)]
    for step, (x, y) in enumerate(batches):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate(step, group["initial_lr"])
        optimizer.step()
        losses.append(loss.item())
    body = """
        const losses = input.batches.map(([x, y]) =>
          run.update({ x: Int32Array.from(x.flat()), y: Int32Array.from(y.flat()) }));
        return { losses, logits: run.logits(Int32Array.from(input.batches[0][0][0])) };"""
    settings = {
        "batch_size": B, "steps": steps, "lr": 3e-2, **rates, "muon_momentum": 0.87,
        "betas": [0.4, 0.9],
    }  # fmt: skip
    trained = in_node(
        LOAD + body,
        **weights,
        settings=settings,
        kind="simd",
        batches=[(x.tolist(), y.tolist()) for x, y in batches],
    )
    assert trained["losses"] == pytest.approx(losses, abs=1e-3)
    assert len({round(loss, 2) for loss in losses}) > 3, "nothing moved"
    with torch.no_grad():
        expected = model(batches[0][0][:1]).flatten()
    assert (torch.tensor(trained["logits"]) - expected).abs().max() < 2e-2


@pytest.mark.parametrize("kind", ["plain", "simd", "fused"])
def test_the_product_is_right_for_any_shape_and_any_strides(kind):
    body = """
      const M = course.matrix, engine = M.create(2 ** 22, input.kind);
      const numbers = new Float32Array(engine.buffer);
      let seed = 1;
      const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
      let worst = 0;
      for (const [m, n, k] of input.shapes) for (const turned of [0, 1, 2, 3]) {
        let next = engine.reserved / 4;
        const take = (n) => numbers.subarray(next, (next += n));
        const [a, b, c] = [m * k, k * n, m * n].map(take);
        for (const all of [a, b, c]) all.forEach((_, i) => { all[i] = random() - 0.5; });
        const A = turned & 1 ? M.view(a, 1, 0, m) : M.view(a, k);
        const B = turned & 2 ? M.view(b, 1, 0, k) : M.view(b, n);
        const at = (V, i, j) => V.data[V.start + i * V.rowStride + j * V.columnStride];
        const expected = Array.from(c);
        for (let i = 0; i < m; i++) for (let j = 0; j < n; j++)
          for (let p = 0; p < k; p++) expected[i * n + j] += at(A, i, p) * at(B, p, j);
        engine.product(M.view(c, n), A, B, m, n, k);
        expected.forEach((x, i) => { worst = Math.max(worst, Math.abs(x - c[i])); });
      }
      return { worst, kind: engine.kind };"""
    shapes = [(4, 8, 3), (5, 9, 7), (64, 65, 33), (1, 1, 1), (130, 17, 5), (3, 8, 2), (4, 7, 0)]
    flags = ["--experimental-wasm-relaxed-simd"] if kind == "fused" else []
    checked = in_node(body, *flags, shapes=shapes, kind=kind)
    assert checked["kind"] == kind and checked["worst"] < 2e-5


def test_the_windows_of_a_pass_have_no_token_twice():
    body = """
      const ids = Int32Array.from({ length: 1000 }, (_, i) => i);
      const batches = Tr.windows(ids, 4, 9, 3), seen = [];
      for (let i = 0; i < 27; i++) seen.push(batches.next().value);
      return seen;"""
    batches = in_node(body)
    inputs = [i for b in batches for i in b["x"]]
    assert len(inputs) == len(set(inputs)) == 27 * 36
    assert all(y == x + 1 for b in batches for x, y in zip(b["x"], b["y"], strict=True))
    assert inputs != sorted(inputs)


def test_the_score_of_a_text_counts_every_target_once():
    model, ids = make_model(**IDEAS), torch.randint(13, (150,)).tolist()
    body = """
        let sum = 0, count = 0, right = 0;
        for (const piece of Tr.scoringBatches(Int32Array.from(input.ids), 9, 4)) {
          const judged = run.judge(piece);
          sum += judged.loss * piece.y.length;
          right += judged.right * piece.y.length;
          count += piece.y.length;
        }
        return [sum / count, right, count];"""
    settings = {"batch_size": B, "steps": 1, "lr": 0, "muon_lr": None, "betas": [0, 0]}
    asked = {**for_the_trainer(model), "settings": settings, "kind": "simd", "ids": ids}
    loss, right, count = in_node(LOAD + body, **asked)
    assert count == 149
    windows = [ids[i : i + 10] for i in range(0, 149, 9)]
    with torch.no_grad():
        named = [model(torch.tensor([window[:-1]]))[0].argmax(-1).tolist() for window in windows]
    both = zip(named, windows, strict=True)
    assert right == sum(
        n == t for some, window in both for n, t in zip(some, window[1:], strict=True)
    )
    assert loss == pytest.approx(evaluate(model, torch.tensor(ids), 9), abs=1e-4)


# ---- the text ----


def test_a_text_becomes_ids_a_validation_part_and_a_prompt():
    text = "Zwölf 🙂 Boxkämpfer.\n" * 50
    config = {"context_length": 9, "d_model": 24, "bigram_rows": 100}
    body = """
      const { text, packed, config } = input;
      const read = await Text.read({ packed });
      const prepare = (prompt) => Text.prepare(read, prompt, config, { batch_size: 5 });
      return { same: read === text, ...prepare("Zwölf"), other: prepare("xyz").first };"""
    packed = base64.b64encode(gzip.compress(text.encode())).decode()
    prepared = in_node(body, text=text, packed=packed, config=config)
    characters = sorted(set(text))
    ids = [characters.index(c) for c in text]
    cut = int(0.9 * len(ids))
    assert prepared["same"] and prepared["characters"] == characters
    assert prepared["train"] == ids[:cut] and prepared["validation"] == ids[cut:]
    assert prepared["first"] == ids[:5]
    other = "".join(characters[i] for i in prepared["other"])
    assert len(other) == 9 and other in text[cut:], "the end of a prompt from the text"
    assert prepared["config"] == {**config, "vocab_size": len(characters)}


def test_without_a_prompt_the_text_gives_one():
    body = """
      const config = { context_length: 32, d_model: 24, bigram_rows: 0 };
      const made = Text.prepare(input.text, "", config, { batch_size: 2 });
      return Array.from(made.first, (id) => made.characters[id]).join("");"""
    text = "the cat sat on the mat, and then " * 20
    prompt = in_node(body, text=text)
    assert 10 < len(prompt) <= 25 and f" {prompt} " in text, "whole words"


def test_a_text_is_long_enough_just_when_it_has_what_is_needed():
    body = """
      const config = { context_length: 9, d_model: 24, bigram_rows: 0 };
      const settings = { batch_size: 5 };
      const needed = Text.needed(config, settings);
      const { train } = Text.prepare("ab".repeat(needed).slice(0, needed), "", config, settings);
      Tr.windows(train, 5, 9, 0).next();
      try {
        Text.prepare("ab".repeat(needed).slice(0, needed - 1), "", config, settings);
      } catch (error) {
        return [needed, error.isRefusal, error.message];
      }"""
    needed, is_refusal, why = in_node(body)
    assert is_refusal and str(needed) in why and str(needed - 1) in why


def tables_of_counts(text, cut, longest):
    """What counts.js gives, by dictionaries: each character of the end is looked up alone."""
    V, tables = sorted(set(text)), []
    for most in range(longest + 1):
        right = nats = 0.0
        for t in range(cut + 1, len(text)):
            p = dict.fromkeys(V, 1 / len(V))
            for n in range(most + 1):
                follow = Counter(
                    text[i] for i in range(n, cut) if text[i - n : i] == text[t - n : t]
                )
                all_, kinds = sum(follow.values()), len(follow)
                if all_:
                    p = {c: (follow[c] + kinds * p[c]) / (all_ + kinds) for c in V}
            right += max(V, key=p.__getitem__) == text[t]
            nats -= math.log(p[text[t]])
        tables.append((right / (len(text) - cut - 1), nats / (len(text) - cut - 1)))
    return tables


def test_the_tables_of_counts_are_those_of_dictionaries():
    draw = random.Random(1)
    text = "".join(draw.choice(["a rose", " is ", "a ", "nose", "\n"]) for _ in range(80)) + "xyz"
    cut = int(0.9 * len(text))
    characters = sorted(set(text))
    ids = [characters.index(c) for c in text]
    body = "return Counts.judge(Int32Array.from(input.ids), input.cut, input.V, 3)"
    tables = in_node(body, ids=ids, cut=cut, V=len(characters))
    expected = tables_of_counts(text, cut, 3)
    for table, (right, nats) in zip(tables, expected, strict=True):
        assert table["right"] == pytest.approx(right) and table["nats"] == pytest.approx(nats)
    assert tables[3]["nats"] < tables[0]["nats"] - 0.5


# ---- a run that is told what to do by messages ----

SESSION = """
  const posted = [], waiting = [];
  const { receive } = Session.newSession(
    course, (m) => posted.push(m), (f) => waiting.push(f));
  const settle = () => new Promise(setImmediate);
  const turn = async (n) => {
    for (await settle(); n && waiting.length; n--, await settle()) waiting.shift()();
  };
  const text = Array.from({ length: 1000 }, (_, i) => "abcdefghijklm"[(i * i) % 13]).join("");
  const start = () => receive({ do: "start", config: input.config, settings: input.settings,
    fixed: {}, seed: 1, text: input.text ?? text, prompt: "abeja", every: 3 });
  SCRIPT
  return posted.map(
    (m) => ({ ...m, maps: m.maps?.map((w) => w.length), weights: m.weights?.length }));"""
RUN = {"config": {**SMALL, **IDEAS}, "settings": {
    "batch_size": B, "steps": 6, "lr": 3e-2, "muon_lr": 0.1, "muon_momentum": 0.87,
    "betas": [0.4, 0.9]}}  # fmt: skip


def session(script, **changes):
    """The messages of a session that is told what `script` tells it."""
    return in_node(SESSION.replace("SCRIPT", script), **{**RUN, **changes})


def kinds(posted):
    return [m["is"] for m in posted]


def test_a_session_tells_each_step_looks_scores_and_ends():
    posted = session("start(); await turn(100);")
    assert posted[0]["is"] == "begun" and posted[0]["config"]["vocab_size"] == 7
    assert [m["step"] for m in posted if m["is"] == "step"] == [1, 2, 3, 4, 5, 6]
    looks = [m for m in posted if m["is"] == "look"]
    assert [m["step"] for m in looks] == [0, 3, 6]
    assert all(m["maps"] == [2 * 5 * 5] * 2 and len(m["ids"]) == 160 for m in looks)
    assert looks[0]["loss"] == pytest.approx(math.log(7)), "the first look is before any step"
    assert looks[0]["ids"] != looks[-1]["ids"] and looks[0]["right"] <= looks[-1]["right"] <= 1
    assert posted[-3]["is"] == "score" and posted[-3]["share"] == 1
    done, counted = posted[-2:]
    assert counted["is"] == "counted" and len(counted["tables"]) == 6
    assert 0 <= done["right"] <= 1
    assert done["is"] == "done" and done["weights"] == 14 and 0 < done["loss"] < 4
    losses = [m["loss"] for m in posted if m["is"] == "step"]
    assert losses[-1] < losses[0]


def test_a_paused_session_waits_and_goes_on_where_it_was():
    begun = (
        "start(); await turn(3); receive({ do: 'pause' });"
        "await turn(50); posted.push({ is: 'waited' });"
    )
    posted = session(begun + "receive({ do: 'resume' }); await turn(100);")
    without = [m for m in posted if m["is"] != "waited"]
    assert kinds(posted).index("waited") < 6
    assert [m["step"] for m in without if m["is"] == "step"] == [1, 2, 3, 4, 5, 6]
    straight = session("start(); await turn(100);")
    assert without[-2]["loss"] == straight[-2]["loss"]


def test_a_stopped_session_is_silent_and_another_can_start():
    begun = "start(); await turn(3); receive({ do: 'stop' }); await turn(50); posted.length = 0;"
    assert session(begun + "await turn(9);") == []
    posted = session(begun + "start(); start(); await turn(100);")
    assert kinds(posted).count("done") == 1 and kinds(posted).count("step") == 6


def test_a_run_that_diverges_ends_and_one_that_cannot_start_says_why():
    settings = {**RUN["settings"], "lr": 1e30, "muon_lr": 1e30}
    posted = session("start(); await turn(100);", settings=settings)
    assert kinds(posted)[-1] == "step" and posted[-1]["loss"] is None  # JSON knows no NaN
    long = {**RUN["config"], "context_length": 3000}
    posted = session("start(); await turn(100);", config=long)
    assert kinds(posted) == ["refused"]
    assert "1,000" in posted[0]["why"] and "7,502" in posted[0]["why"]
    broken = {**RUN["settings"], "betas": None}
    posted = session("start(); await turn(100);", settings=broken)
    assert kinds(posted) == ["begun", "failed"]


def test_a_run_that_is_measured_in_node_learns():
    text = torch.arange(1000) ** 2 % 13
    runner = SimpleNamespace(splits={"validation": (text[:900], text[900:])}, vocab_size=13)
    run = tab.in_node(runner, 0, RUN["config"], RUN["settings"])
    assert 0 < run["loss"] < math.log(13) and run["seconds"] > 0


# ---- what is done with a trained model ----


def test_python_opens_the_saved_file_and_gets_the_same_logits(tmp_path):
    body = """
      const run = Tr.newRun(input.config, input.settings, 2);
      const ids = Int32Array.from({ length: 900 }, (_, i) => (i * i) % 13);
      const batches = Tr.windows(ids, 5, 9, 1);
      for (let i = 0; i < 6; i++) run.update(batches.next().value);
      const weights = Object.entries(run.weights).map(([name, W]) =>
        ({ name, shape: [W.rows, W.columns], data: W.data }));
      const config = { ...input.fixed, ...input.config };
      return { logits: run.logits(ids.slice(0, 9)), ids: ids.slice(0, 9),
        file: Export.safetensors(config, weights, input.characters),
        description: Export.describe(config, weights, input.characters) };"""
    characters = list("abcdefghijklm")
    exported = in_node(body, **RUN, fixed=FIXED, characters=characters)
    path = tmp_path / "trained.safetensors"
    path.write_bytes(bytes(exported["file"]))
    model = SpeedrunGPT.from_pretrained(path)
    with torch.no_grad():
        logits = model(torch.tensor([exported["ids"]]))[0]
    assert (torch.tensor(exported["logits"]).view_as(logits) - logits).abs().max() < 1e-4
    expected = describe(model, CharTokenizer("".join(characters)))
    for part in ("config", "tensors", "tokenizer", "weights"):  # float16, rounded as PyTorch does
        assert exported["description"][part] == expected[part]


def test_float16_is_pythons_for_any_number():
    draw = random.Random(0)
    numbers = [draw.uniform(-1, 1) * 10 ** draw.uniform(-9, 4.8) for _ in range(3000)]
    numbers += [0.0, -0.0, 65504.0, 2.0**-24, 2.0**-25, 3 * 2.0**-25, 2.0**-14, 1 + 2.0**-11]
    rounded = in_node("return input.numbers.map(Export.float16)", numbers=numbers)
    assert rounded == [struct.unpack("<H", struct.pack("<e", x))[0] for x in numbers]
    with pytest.raises(JavaScriptError, match="which float16 cannot hold"):
        in_node("Export.float16(NaN)")


def test_the_race_names_its_text_and_only_shakespeare_has_rivals():
    text = "To be, or not to be: that is the question.\n" * 100
    shakespeare = ("tinyshakespeare", "Tiny Shakespeare", 2, False)
    playhouse = ("playhouse", "Playhouse, a text written for this course", 0, True)
    for name, shown, curves, has_floor in (shakespeare, playhouse):
        settings = race(Corpus(name, text, "directory")).settings
        assert len(settings["curves"]) == curves and settings["corpus"] == shown
        assert (settings["goal"] is not None) == (curves > 0)
        assert (settings["floor"] is not None) == has_floor
    with pytest.raises(ValueError, match="0 characters of text, expected at least 3,000"):
        race(Corpus("mine", "", "directory"))
