"""The Llama in JavaScript gives the logits of Python's class, whatever is changed and asked.

Small random files are written by the package `gguf`. What needs SmolLM2 itself is skipped where it
is not at hand.
"""

from contextlib import ExitStack

import gguf
import numpy as np
import pytest
import torch

from lab.real_lines import other
from scratchformer.attention import recorded_attention
from scratchformer.generation import generate
from scratchformer.models import Llama, llama
from scratchformer.models.heads import silenced
from scratchformer_course.page_model.fewer_bits import round_model
from tests.library.small_gguf import write_gguf
from tests.node import JavaScriptError
from tests.real_model.in_node import MODEL, logits, node, numbers, real_file

IDS = [7, 3, 49, 0, 3, 3, 21, 8, 30, 1, 2, 12, 44, 7, 3, 49, 5, 6, 11, 40]
BOUND = 2e-3  # of SmolLM2's logits, which reach 34


@torch.no_grad()
def expected(model, ids):
    return model(torch.tensor([ids]))[0].numpy()


def same(found, wanted):
    """Equal up to the last digits of float32."""
    return (
        found.shape == wanted.shape and np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max()
    )


@pytest.fixture(scope="module", params=["Q4_1", "Q8_0"])
def path(request, tmp_path_factory):
    return write_gguf(tmp_path_factory.mktemp("small") / "a.gguf", request.param)


@pytest.fixture
def model(path):
    return Llama.from_gguf(path)


# ---- logits ----


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_logits_are_pythons(tmp_path, tied, plain):
    path = write_gguf(tmp_path / "a.gguf", "Q8_0", tied)
    found = logits(path, IDS, plain=plain)
    assert same(found, expected(Llama.from_gguf(path), IDS))


@pytest.mark.parametrize("plain", [False, True])
def test_a_prompt_in_one_pass_gives_what_token_by_token_gives(path, plain):
    body = """
      const cache = L.newCache(model), all = [];
      for (const ids of input.parts) {
        all.push(...L.forward(model, ids, { cache, ask: { logits: "all" } }).logits);
      }
      give(Float32Array.from(all))"""
    parts = [IDS[:1], IDS[1:12], *([i] for i in IDS[12:])]
    found = numbers(path, body, parts=parts, plain=plain).reshape(len(IDS), -1)
    assert np.array_equal(found, logits(path, IDS, plain=plain)), "to the last bit"


def test_a_cache_that_is_cut_back_goes_on_from_there(path):
    body = """
      const cache = L.newCache(model);
      L.forward(model, [5, 6, 7, 8, 9], { cache });
      cache.ids.length = 2;
      give(L.forward(model, [1, 2], { cache }).logits)"""
    assert np.array_equal(numbers(path, body), logits(path, [5, 6, 1, 2])[-1])


# ---- what can be changed ----


def put_in(model, block, head, place, vector):
    """Python's class with a vector in place of what a head finds."""
    D = len(vector)

    def replace(module, inputs):
        found = inputs[0].clone()
        found[0, place, (head - 1) * D : head * D] = torch.tensor(vector)
        return (found,)

    return model.layers[block - 1].self_attn.o_proj.register_forward_pre_hook(replace)


def without_block(model, block):
    return model.layers[block - 1].register_forward_hook(lambda _, inputs, output: inputs[0])


@pytest.mark.parametrize("heads", [[(1, 1)], [(2, 4), (1, 2), (1, 3)]])
def test_silenced_heads_are_pythons(path, model, heads):
    with silenced(model, heads):
        wanted = expected(model, IDS)
    assert same(logits(path, IDS, change={"heads": heads}), wanted)


def test_a_silenced_block_is_pythons(path, model):
    without_block(model, 1)
    assert same(logits(path, IDS, change={"blocks": [1]}), expected(model, IDS))


def test_a_vector_of_another_prompt_put_in_is_pythons(path, model):
    other_ids = [9, 9, 1, 4]
    body = "give(L.forward(model, input.ids, { ask: { vectors: [[2, 3]] } }).vectors['2.3'])"
    found = numbers(path, body, ids=other_ids).reshape(4, 16)
    heard = []
    hook = model.layers[1].self_attn.o_proj.register_forward_pre_hook(
        lambda _, inputs: heard.append(inputs[0][0, :, 32:48])
    )
    expected(model, other_ids)
    hook.remove()
    assert same(found, heard[0].numpy())
    put_in(model, 2, 3, 5, found[-1].tolist())
    change = {"vectors": [{"block": 2, "head": 3, "place": 5, "vector": found[-1].tolist()}]}
    assert same(logits(path, IDS, change=change), expected(model, IDS))


@pytest.mark.parametrize(
    "lines", [["norm"], ["gate"], ["base"], ["pairs"], ["norm", "gate", "base", "pairs"]]
)
def test_lines_of_other_models_are_pythons(path, model, lines):
    with other(lines):
        wanted = expected(model, IDS)
    assert same(logits(path, IDS, change={"lines": lines}), wanted)
    assert not same(expected(model, IDS), wanted)


@pytest.mark.parametrize("starts", [(1000, 1000), (10_000_000, 10_000_000), (1000, 0)])
def test_a_text_that_starts_later_is_pythons(monkeypatch, path, model, starts):
    turn, n_heads = llama.rotate_halves, model.config.n_heads

    def later(x, start, base):
        return turn(x, start + starts[x.shape[1] != n_heads], base)

    before = expected(model, IDS)
    monkeypatch.setattr(llama, "rotate_halves", later)
    wanted = expected(model, IDS)
    found = logits(path, IDS, change={"starts": starts, "lines": ["angles"]})
    assert np.abs(found - wanted).max() < 1e-3 * np.abs(wanted).max()
    exact = logits(path, IDS, change={"starts": starts})
    assert same(exact, before) == (starts[0] == starts[1]), "nothing is rounded"


@pytest.mark.parametrize("plain", [False, True])
def test_weights_that_are_set_are_pythons(path, model, plain):
    with torch.no_grad():
        model.layers[1].mlp.down_proj.weight[5, 70] = 3.0
        model.layers[1].mlp.down_proj.weight[5, 71] = 0.0
        model.embed_tokens.weight[3, 9] = -2.0  # a token is read with it, and written
        model.norm.weight[4] = 7.0
    names = ["blk.1.ffn_down", "blk.1.ffn_down", "token_embd", "output_norm"]
    places = [(5, 70, 3.0), (5, 71, 0.0), (3, 9, -2.0), (0, 4, 7.0)]
    weights = [
        {"name": f"{name}.weight", "row": row, "column": column, "value": value}
        for name, (row, column, value) in zip(names, places, strict=True)
    ]
    found = logits(path, IDS, change={"weights": weights}, plain=plain)
    assert same(found, expected(model, IDS))


@pytest.mark.parametrize("bits", [3, 2])
def test_fewer_bits_are_pythons(path, model, bits):
    found = numbers(
        path,
        """
        F.lower(model, input.bits);
        const { logits } = L.forward(model, input.ids, { ask: { logits: "all" } });
        delete opened[key];
        give(logits)""",
        fresh=True,
        ids=IDS,
        bits=bits,
    ).reshape(len(IDS), -1)
    assert same(found, expected(round_model(model, bits, "group"), IDS))


# ---- what can be asked ----


def test_attention_and_stream_are_pythons_with_a_cache_too(path, model):
    body = """
      const cache = L.newCache(model), run = { attention: [], stream: [] };
      const ask = { attention: [[1, 2], [2, 4]], stream: [0, 1, 2] };
      L.forward(model, input.ids.slice(0, 5), { cache });
      const { attention, stream } = L.forward(model, input.ids.slice(5), { cache, ask });
      give(Float32Array.from([...attention["1.2"], ...attention["2.4"],
        ...stream[0], ...stream[1], ...stream[2], ...L.readOut(model, stream[1])]))"""
    stream = []
    model.embed_tokens.register_forward_hook(lambda _, __, x: stream.append(x[0, 5:]))
    for layer in model.layers:
        layer.register_forward_hook(lambda _, __, x: stream.append(x[0, 5:]))
    with recorded_attention(model) as maps:
        expected(model, IDS)
    maps = list(maps.values())
    lens = model.lm_head(model.norm(stream[1]))
    wanted = [maps[0][0, 1, 5:], maps[1][0, 3, 5:], *stream, lens]
    found = numbers(path, body, ids=IDS)
    assert same(found, torch.cat([part.detach().flatten() for part in wanted]).numpy())


def test_it_writes_by_rules_from_a_seed_and_changes_hold_while_it_writes(path):
    body = """
      const write = (n, settings, later) => {
        const text = L.generate(model, [1, 2, 3], settings), ids = [];
        for (let i = 0; i < n; i++) ids.push((i === 4 ? text.next(later) : text.next()).value.id);
        return ids;
      };
      const first = L.forward(model, [1, 2, 3]).logits;
      const all = [...L.generate(model, [1, 2, 3], { temperature: 0 })];
      return {
        best: first.indexOf(Math.max(...first)),
        greedy: write(8, { temperature: 0 }),
        seeds: [0, 0, 1].map((seed) => write(12, { seed })),
        alone: write(12, { seed: 1, top_k: 1 }),
        silenced: write(12, { temperature: 0 }, { change: { blocks: [1, 2] } }),
        length: all.length,
      }"""
    told = node(MODEL + body, path=str(path))
    assert told["greedy"][0] == told["best"] and told["alone"][:8] == told["greedy"]
    assert told["seeds"][0] == told["seeds"][1] != told["seeds"][2]
    assert told["silenced"][:4] == told["greedy"][:4]
    assert len({*told["silenced"][5:]}) == 1, "without blocks, and tied, a token repeats itself"
    assert told["length"] == 64 - 3 + 1, "until the context is full"


def test_the_last_tokens_weights_come_for_all_heads_at_once(path):
    body = """
      const heads = [[1, 1], [2, 4]], cache = L.newCache(model);
      const ask = { rows: true, attention: heads };
      L.forward(model, [1, 2], { cache });
      const { rows, attention } = L.forward(model, [3, 4], { cache, ask });
      return [[...rows], ...heads.map((head) => [...attention[head.join(".")].slice(4)])]"""
    rows, first, last = node(MODEL + body, path=str(path))
    assert len(rows) == 2 * 4 * 4 and rows[:4] == first and rows[-4:] == last


def test_a_penalty_and_min_p_are_those_of_chapter_12(path, model):
    body = """
      const write = (settings) => {
        const text = L.generate(model, [7, 3, 49], { temperature: 0, ...settings });
        return Array.from({ length: 12 }, () => text.next().value.id);
      };
      const { value } = L.generate(model, [7, 3, 49], { min_p: 0.3 }).next();
      return [write({ repetition_penalty: 1.4 }), write({}), value.p]"""
    penalised, greedy, p = node(MODEL + body, path=str(path))
    ids = torch.tensor([[7, 3, 49]])
    wanted = generate(model, ids, 12, 0.0, repetition_penalty=1.4)[0, 3:].tolist()
    assert penalised == wanted != greedy
    all_p = model(ids)[0, -1].detach().softmax(-1)
    kept = torch.where(all_p < 0.3 * all_p.max(), 0, all_p)
    assert same(np.array(p), (kept / kept.sum()).numpy())


def test_a_worker_runs_the_same_program(path):
    body = """
      const parts = ["model", "gguf", "packed", "changes", "llama"];
      const program = `${course.program(...parts)}
        const { parentPort, workerData: { blob, ids } } = require("worker_threads");
        const { forward, load } = course.llama;
        course.gguf.open(blob).then(load).then((model) => forward(model, ids).logits)
          .then((logits) => parentPort.postMessage(logits));`;
      const workerData = { blob: blob(), ids: input.ids };
      const { Worker } = require("worker_threads");
      const worker = new Worker(program, { eval: true, workerData });
      give(await new Promise((done, fail) => worker.on("message", done).on("error", fail)))"""
    assert np.array_equal(numbers(path, body, ids=IDS), logits(path, IDS)[-1])


def test_what_is_wrong_is_said(path):
    messages = {
        "[], {}": "got no token",
        "[50], {}": "id 50 is not one of 50 tokens",
        "Array(65).fill(1), {}": "got 65 tokens, expected at most context_length=64",
        "[1], { change: { haeds: [] } }": "got haeds, expected of heads, blocks",
        "[1], { change: { heads: [[0, 1]] } }": "no head 0.1: 2 blocks of 4 heads",
        "[1], { ask: { attention: [[1, 5]] } }": "no head 1.5",
        "[1], { change: { blocks: [3] } }": "there is no block 3, expected 1 to 2",
        "[1], { change: { lines: ['nrom'] } }": "there is no line nrom",
        "[1], { change: { vectors: [{ block: 1, head: 1, place: 0, vector: [1] }] } }": "1 numbers",
        "[1], { change: { weights: [{ name: 'a', row: 0, column: 0, value: 1 }] } }": "no weight a",
    }
    for given, message in messages.items():
        with pytest.raises(JavaScriptError, match=message):
            node(f"{MODEL} L.forward(model, {given})", path=str(path))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning:gguf")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arch": "gpt2"}, "of another model: its architecture is gpt2, expected llama"),
        ({"settings": [("rope_scaling_type", gguf.RopeScalingType.YARN)]}, "llama.rope.scaling"),
        ({"block_count": 1}, "it has 2 blocks, expected 1"),
        ({"block_count": 2**30}, "it has 2 blocks, expected 1073741824"),
        ({"feed_forward_length": 64}, "blk.0.ffn_gate.weight is 96,64, expected 64,64"),
        ({"rope_dimension_count": 8}, "16 channels that do not all turn"),
        ({"head_count": 0}, "its attention.head_count is 0"),
        ({"head_count_kv": 3}, "it has 4 heads and 3 of keys"),
        ({"kind": "Q8_0", "fill": np.inf}, "has weights that are no numbers"),
        ({"kind": "F16"}, "weight is packed in another way than F32, Q4_1 and Q8_0"),
        ({"kind": "F32"}, "is not packed as Q4_1 or Q8_0"),
    ],
)
def test_a_file_of_another_model_or_packing_is_refused(tmp_path, given, message):
    path = write_gguf(tmp_path / "a.gguf", **{"kind": "Q4_1", **given})
    with pytest.raises(JavaScriptError, match=message):
        node(MODEL, path=str(path))


def test_a_file_that_is_cut_short_or_of_another_kind_is_refused(tmp_path):
    data = write_gguf(tmp_path / "a.gguf", "Q4_1").read_bytes()
    body = """
      const blob = new Blob([require("fs").readFileSync(input.path)]);
      return Promise.all(input.ends.map((end) =>
        G.open(blob.slice(0, end)).then(() => "read", ({ message }) => message)))"""
    ends = [0, 2, *range(4, 2000, 37), len(data) - 9, len(data)]
    *cut, last = node(body, path=str(tmp_path / "a.gguf"), ends=ends)
    assert last == "read"
    assert {text.split(":")[0] for text in cut} == {"The file cannot be read"}
    (tmp_path / "a.gguf").write_bytes(b"PK\3\4" + bytes(60))
    (other_kind,) = node(body, path=str(tmp_path / "a.gguf"), ends=[64])
    assert other_kind == "The file cannot be read: it is no GGUF file of version 3."


# ---- SmolLM2 ----


@pytest.fixture(scope="module")
def smol():
    """The file, Python's model, and 64 tokens with Python's logits."""
    path = real_file()
    body = """
      const tokenizer = tokenizers.load(V.describe((await G.open(blob())).settings));
      return tokenizer.encode(input.text).slice(0, 64)"""
    text = "The capital of France is Paris. 12 strawberries, 3.14 or naïve 中文?\n" * 4
    model, ids = Llama.from_gguf(path), node(MODEL + body, path=str(path), text=text)
    return path, model, ids, expected(model, ids)


@pytest.mark.parametrize("plain", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_smollm2s_logits_are_pythons(smol, plain):
    path, _, ids, wanted = smol
    found = logits(path, ids, plain=plain)
    apart = np.abs(found - wanted).max()
    print(f"apart by at most {apart:.1e}, the largest logit is {np.abs(wanted).max():.1f}")
    assert found.shape == (64, 49_152) and apart < BOUND


def test_smollm2_changed_is_pythons_changed(smol):
    path, model, ids, before = smol
    vector = torch.linspace(-1, 1, 64).tolist()
    weight = model.layers[11].mlp.down_proj.weight
    change = {
        "heads": [(18, 4), (24, 5)],
        "blocks": [3],
        "vectors": [{"block": 20, "head": 2, "place": 40, "vector": vector}],
        "lines": ["base", "norm"],
        "weights": [{"name": "blk.11.ffn_down.weight", "row": 507, "column": 1229, "value": 0}],
    }
    kept = weight[507, 1229].item()
    with ExitStack() as stack, torch.no_grad():
        stack.enter_context(other(change["lines"]))
        stack.enter_context(silenced(model, change["heads"]))
        stack.callback(put_in(model, 20, 2, 40, vector).remove)
        stack.callback(without_block(model, 3).remove)
        weight[507, 1229] = 0
        wanted = expected(model, ids)
        weight[507, 1229] = kept
    found = logits(path, ids, change=change)
    print(f"apart by at most {np.abs(found - wanted).max():.1e}")
    assert np.abs(found - wanted).max() < BOUND < np.abs(wanted - before).max()
