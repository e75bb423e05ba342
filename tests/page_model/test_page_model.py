"""The model in JavaScript: in Node it gives PyTorch's numbers, whatever model and switches."""

import base64
import functools
import itertools
import json
import math
import random
import re
from html import unescape
from unittest import mock

import pytest
import torch
from torch import nn

from scratchformer.attention import causal_mask
from scratchformer.generation import sampling
from scratchformer.models import GPT, GPTConfig
from scratchformer.tokenizers import ByteBPE, CharTokenizer
from scratchformer_course.page_model import describe, explore
from scratchformer_course.page_model import explorer as view
from scratchformer_course.page_model import speedrun as speedrun_module
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT
from tests.library.refusals import refused
from tests.node import Node

TOLERANCE = 1e-4
SMALL = {"vocab_size": 11, "context_length": 12, "d_model": 16, "n_heads": 4, "n_layers": 2}
SPEEDRUN = {
    "norm_weights": False,
    "embedding_norm": True,
    "activation": "relu2",
    "positions": "rotary",
    "qk_norm": True,
    "tied": False,
    "smear": 2,
    "bigram_rows": 7,
    "value_embeddings": True,
    "bias": False,
}
SETTINGS = [{}, *({name: value} for name, value in SPEEDRUN.items()), SPEEDRUN]
SWITCHES = [
    {"heads": [[0, 0], [1, 3], [1, 2]]},
    {"blocks": [0, 1]},
    {"positions": True},
    {"scale": True},
    {"causal": True},
    {"heads": [[1, 0]], "blocks": [0], "positions": True, "scale": True, "causal": True},
]
WITH_MODEL = "const model = input.description && M.load(input.description);"
both_models = pytest.mark.parametrize("options", [{}, SPEEDRUN], ids=["gpt", "speedrun"])
IDS = [3, 1, 4, 1, 5, 9, 2, 6, 5]
node = Node(
    tokenizers="page_model/tokenizer.js",
    M="page_model/model.js",
    explorer="page_model/explorer.js",
    patch="page_model/views/patch.js",
)


def in_node(body, **given):
    """What the JavaScript `body` returns; `model`, `M` and `input.…` are there for it."""
    return node(WITH_MODEL + body, **given)


def large(model, seed=0):
    """Large random weights, that float16 holds exactly, so that every part shows in the logits."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_((torch.randn(p.shape, generator=g) * 0.5 + (".ln" in name)).half().float())
    return model.eval()


def small(seed=0, **options):
    return large(SpeedrunGPT(SpeedrunConfig(**SMALL | options)), seed)


def letters(n=11):
    return CharTokenizer("".join(chr(ord("a") + i) for i in range(n)))


def in_torch(model, ids, monkeypatch, off=None):
    """Logits, attention of each layer and the stream of a SpeedrunGPT with parts switched off."""
    off, attention, stream = off or {}, [], []

    def attend(self, q, k, v):
        scores = q @ k.mT / (1 if off.get("scale") else math.sqrt(q.shape[-1]))
        if not off.get("causal"):
            scores = scores.masked_fill(~causal_mask(scores.shape[-1]), -math.inf)
        weights = scores.softmax(dim=-1)
        attention.append(weights[0])
        heads = weights @ v
        for layer, head in off.get("heads", []):
            if model.h[layer].attn is self:
                heads[:, head] = 0
        return heads, weights

    def pass_on(_, args, output):
        attention[-1] = None
        return args[0]

    monkeypatch.setattr(speedrun_module.Attention, "attend", attend)
    if off.get("positions"):
        monkeypatch.setattr(speedrun_module, "rotary", lambda x, *_: x)
        if model.config.positions == "learned":
            zeros = torch.zeros_like(model.wpe.weight)
            monkeypatch.setattr(model.wpe.weight, "data", zeros)
    hooks = [model.h[0].register_forward_pre_hook(lambda _, args: stream.append(args[0][0]))]
    for i, block in enumerate(model.h):
        if i in off.get("blocks", []):
            hooks.append(block.register_forward_hook(pass_on))
        hooks.append(block.register_forward_hook(lambda _, args, x: stream.append(x[0])))
    with torch.no_grad():
        logits = model(torch.tensor([ids]))[0]
    for hook in hooks:
        hook.remove()
    monkeypatch.undo()
    return logits, attention, stream


def close(ours, theirs, tolerance=TOLERANCE):
    ours = torch.tensor(ours, dtype=torch.float64)
    assert ours.numel() == theirs.numel()
    scale = max(1.0, theirs.abs().max().item())
    return (ours.view(theirs.shape) - theirs).abs().max().item() <= tolerance * scale


def all_close(result, expected):
    logits, attention, stream = expected
    assert close(result["logits"], logits)
    for ours, theirs in zip(result["attention"], attention, strict=True):
        assert (ours is None) if theirs is None else close(ours, theirs)
    for ours, theirs in zip(result["stream"], stream, strict=True):
        assert close(ours, theirs)


# ---- the export ----


class ReadersGPT(nn.Module):
    """As chapter 10 has it: GPT-2's names, no config."""

    def __init__(self, n_heads=2, is_causal=True):
        super().__init__()
        gpt, self.is_causal = GPT(GPTConfig(**SMALL | {"n_heads": n_heads})), is_causal
        for name, part in gpt.named_children():
            self.add_module(name, part)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        for block in self.h:
            x = block(x, is_causal=self.is_causal)
        return self.lm_head(self.ln_f(x))


def test_a_readers_own_gpt_is_read_its_heads_are_counted_and_its_logits_given():
    models = [large(ReadersGPT(n_heads)).train() for n_heads in (1, 2, 8)]
    state = torch.get_rng_state()
    descriptions = [describe(model, letters()) for model in models]
    assert torch.equal(torch.get_rng_state(), state), "the reader's own draws would change"
    assert [d["config"]["n_heads"] for d in descriptions] == [1, 2, 8] and models[0].training
    assert len({d["hash"] for d in (*descriptions, describe(small(1), letters()))}) == 4
    body = "return input.models.map((model) => M.forward(M.load(model), input.ids).logits)"
    for model, logits in zip(models, in_node(body, models=descriptions, ids=IDS), strict=True):
        with torch.no_grad():
            assert close(logits, model(torch.tensor([IDS]))[0])
    assert explore(models[0], letters()).settings["prompt"] == "a", "a text that it can read"


def spoiled(name, value):
    """A model one of whose weights is this value."""
    model = small()
    model.get_parameter(name).data.view(-1)[0] = value
    return model


def with_bias():
    model = ReadersGPT()
    model.lm_head.bias = nn.Parameter(torch.zeros(11))
    return model


def giving(change):
    """A model whose logits are changed on their way out."""
    model = ReadersGPT()
    forward = model.forward
    model.forward = lambda ids: change(forward(ids))
    return model


def describing(make, tokenizer=None):
    return lambda: describe(make(), tokenizer or letters())


test_a_model_that_computes_something_else_is_refused = refused(
    {
        "computes something else": describing(lambda: large(ReadersGPT(is_causal=False))),
        r"lm_head\.bias": describing(with_bias),
        r"no parameter wte\.weight": describing(lambda: nn.Linear(2, 2)),
        r"mlp\.c_fc\.weight holds 70000": describing(lambda: spoiled("h.0.mlp.c_fc.weight", 7e4)),
        "holds numbers that are not finite": describing(lambda: spoiled("wte.weight", math.nan)),
        "norm='rms': the model of the page cannot": describing(lambda: small(norm="rms")),
        "activation='swiglu': the model": describing(lambda: small(activation="swiglu")),
        "window=3: the model": describing(lambda: small(window=3)),
        "3 tokens, expected the model's vocab_size=11": describing(small, CharTokenizer("abc")),
        "the model gives tuple, expected logits": describing(lambda: giving(lambda z: (z, z))),
        "the model gives NoneType, expected": describing(lambda: giving(lambda z: None)),
        r"gives \(12, 11\), expected logits of": describing(lambda: giving(lambda z: z[0])),
    }
)
test_another_tokenizer_is_refused = refused(
    {"got a str, expected a CharTokenizer or a ByteBPE": describing(small, "abc")}, TypeError
)


# ---- equal to PyTorch ----


def test_logits_attention_and_stream_are_pytorchs_for_models_of_any_size(monkeypatch):
    """Drawn by chance, with texts of any length, in one call of Node."""
    draw = random.Random(0)
    models, given = [], []
    for options in 2 * SETTINGS:
        H, V, length = draw.randint(1, 4), draw.randint(1, 26), draw.randint(1, 9)
        D = draw.randint(1, 5) * (2 if options.get("positions") == "rotary" else 1)
        config = SpeedrunConfig(V, length, H * D, H, draw.randint(1, 3), **options)
        models.append(large(SpeedrunGPT(config), seed=len(models)))
        ids = [draw.randrange(V) for _ in range(draw.randint(1, length))]
        given.append({"description": describe(models[-1], letters(V)), "ids": ids})
    body = "return input.given.map((text) => M.forward(M.load(text.description), text.ids))"
    for model, text, result in zip(models, given, in_node(body, given=given), strict=True):
        all_close(result, in_torch(model, text["ids"], monkeypatch))


@both_models
def test_each_switch_is_the_same_change_made_in_pytorch_with_a_cache_and_without(
    options, monkeypatch
):
    model = small(**options)
    untouched, _, _ = in_torch(model, IDS, monkeypatch)
    body = """
      const inPieces = (off, lengths) => {
        const cache = M.newCache(model);
        let start = 0;
        return lengths.flatMap((n) =>
          [...M.forward(model, input.ids.slice(start, (start += n)), { cache, off }).logits]);
      };
      return input.switches.map((off) => ({
        ...M.forward(model, input.ids, { off }),
        cached: off.causal ? [] : [[1, 1, 1, 1, 5], [2, 3, 1, 3]].map((n) => inPieces(off, n)),
      }))"""
    described = describe(model, letters())
    results = in_node(body, description=described, ids=IDS, switches=[{}, *SWITCHES])
    for off, result in zip([{}, *SWITCHES], results, strict=True):
        expected = in_torch(model, IDS, monkeypatch, off)
        all_close(result, expected)
        assert all(close(logits, expected[0]) for logits in result["cached"])
        changes = not torch.allclose(expected[0], untouched, atol=1e-2)
        assert changes == bool(off), "the switch does nothing"


def test_every_float16_is_read_as_it_is():
    """All finite ones: positive and negative, normal and not."""
    numbers = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(torch.float16)
    numbers = numbers[numbers.isfinite()]
    description = {
        "config": {},
        "tensors": [{"name": "all", "shape": [len(numbers)]}],
        "weights": base64.b64encode(numbers.numpy().tobytes()).decode(),
    }
    assert in_node("return model.weights.all", description=description) == numbers.tolist()


def test_hooks_see_queries_and_values_and_the_lens_reads_each_layer(monkeypatch):
    model = small()
    body = """
      const seen = {};
      const hook = (name, array) => { seen[name] = Array.from(array); };
      const { stream } = M.forward(model, input.ids, { hook });
      return { seen, read: stream.map((x) => M.readOut(model, x)) }"""
    result = in_node(body, description=describe(model, letters()), ids=IDS)
    _, _, stream = in_torch(model, IDS, monkeypatch)
    with torch.no_grad():
        q, _, v = model.h[0].attn.c_attn(model.h[0].ln_1(stream[0])).chunk(3, dim=-1)
        read = [model.lm_head(model.ln_f(x)) for x in stream]
    assert close(result["seen"]["h.0.attn.q"], q) and close(result["seen"]["h.0.attn.v"], v)
    for ours, theirs in zip(result["read"], read, strict=True):
        assert close(ours, theirs)


# ---- patching ----


def patched(model, clean, altered, name, t, channels=slice(None)):
    """PyTorch's logits at the end of `altered`, with these numbers of the run on `clean`."""
    readers, carried = {"embedding": model.h[0]}, []  # who reads the numbers of that name
    for i, block in enumerate(model.h):
        following = [*model.h, model.ln_f][i + 1]
        readers |= {f"h.{i}": following, f"h.{i}.attn.heads": block.attn.c_proj}

    def carry(_, args):
        x = args[0].clone()
        carried.append(x[0, t, channels].clone())
        x[0, t, channels] = carried[0]
        return (x, *args[1:])

    hook = readers[name].register_forward_pre_hook(carry)
    with torch.no_grad():
        model(torch.tensor([clean]))
        logits = model(torch.tensor([altered]))[0, -1]
    hook.remove()
    return logits


CARRY = """
  const runs = patch.patching(model, input.clean, input.altered);
  const ends = input.places.map(([name, t, start, width]) => runs.carry(name, t, start, width));
  return {ends, clean: runs.clean.end, altered: runs.altered.end,
    same: input.places.map(([name, t]) => runs.isSame(name, t))};
"""


@both_models
def test_what_is_carried_over_gives_pytorchs_logits(options):
    """Each boundary and each head, at places before, in and after what was changed."""
    model, altered = small(**options), [*IDS[:4], 7, 7, *IDS[6:8], 1]
    D = SMALL["d_model"] // SMALL["n_heads"]
    places = [(name, t, 0, 4 * D) for name in ("embedding", "h.0", "h.1") for t in (2, 4, 5, 6, 8)]
    places += [
        (f"h.{i}.attn.heads", t, h * D, D) for i in range(2) for h in range(4) for t in (4, 6, 8)
    ]
    given = {"description": describe(model, letters()), "clean": IDS, "altered": altered}
    result = in_node(CARRY, **given, places=places)
    with torch.no_grad():
        clean, plain = (model(torch.tensor([ids]))[0, -1] for ids in (IDS, altered))
    assert close(result["clean"], clean) and close(result["altered"], plain)
    moved = 0
    for place, ours, same in zip(places, result["ends"], result["same"], strict=True):
        name, t, start, width = place
        expected = patched(model, IDS, altered, name, t, slice(start, start + width))
        assert close(ours, expected), place
        assert not same or torch.equal(expected, plain)
        moved += not torch.allclose(expected, plain, atol=1e-2)
    assert moved > 12 and 0 < sum(result["same"]) < len(places) / 2


@pytest.mark.parametrize("second", [[2.5, 0, 1], [0.5, 2, 60], [0, 9, 8.5]])
def test_a_question_is_what_one_text_expects_against_what_the_other_does(second):
    body = """
      const [from, to] = input.logits.map((z) => Float32Array.from(z));
      const asked = explorer.question(from, to);
      return {asked, odds: [from, to].map((z) => explorer.logOdds(z, asked))};
    """
    logits = [[1, 3, -2], second]
    p = torch.tensor(logits).double().softmax(dim=-1)
    asked, rival = p.argmax(dim=-1).tolist()
    others = 1 - p[:, asked] if asked == rival else p[:, rival]
    result = node(body, logits=logits)
    assert result["odds"] == pytest.approx((p[:, asked] / others).log().tolist(), abs=1e-5)
    assert result["asked"] == {"asked": asked, "rival": None if asked == rival else rival}


# ---- sampling ----


def test_probabilities_are_those_of_generate():
    """All rules together, on logits with ties and without."""
    draw = random.Random(0)
    top_ps = None, 1e-9, 0.31, 0.77, 0.9, 1.0
    rules = list(itertools.product((0.05, 0.5, 1.0, 2.0), (None, 1, 2, 5, 99), top_ps))
    logits = [[draw.randint(-20, 20) / 4 for _ in range(draw.randint(1, 9))] for _ in rules]
    body = """
      return input.logits.map((z, i) => {
        const [temperature, top_k, top_p] = input.rules[i];
        return M.probabilities(Float32Array.from(z), {temperature, top_k, top_p});
      })"""
    ours = in_node(body, logits=logits, rules=rules)
    for z, (temperature, top_k, top_p), probabilities in zip(logits, rules, ours, strict=True):
        p = sampling._probabilities(torch.tensor([z], dtype=torch.float64), temperature)
        theirs = sampling._truncate(p, top_k, top_p)[0]
        assert probabilities == pytest.approx((theirs / theirs.sum()).tolist(), abs=1e-9)


def test_greedy_text_is_that_of_generate_past_the_context_too():
    body = """
      const g = M.generate(model, input.ids, {temperature: 0});
      return Array.from({length: 20}, () => g.next().value)"""
    for options in ({}, SPEEDRUN):
        model, ids = small(**options), torch.tensor([[1, 2, 3]])
        description = describe(model, letters())
        expected = sampling.generate(model, ids, 20, temperature=0.0)[0, 3:].tolist()
        assert in_node(body, description=description, ids=ids[0].tolist()) == expected


def test_draws_repeat_with_a_seed_and_follow_the_probabilities():
    body = """
      const drawn = (seed) => {
        const random = M.generator(seed);
        return Array.from({ length: 20000 }, () => M.pick(input.p, random()));
      };
      return [drawn(1), drawn(1), drawn(2), M.pick([0.5, 0.4, 0], 0.99)]"""
    p = [0.5, 0, 0.2, 0.3]
    drawn, again, other, beyond = in_node(body, p=p)
    assert drawn == again != other and beyond == 1
    assert [drawn.count(i) / 20000 for i in range(4)] == pytest.approx(p, abs=0.02)


# ---- tokenizers ----

TRAINING = "the old king sleeps. naïve cafés, 12 kings' 345 old ｗords  \n\t and 🎭 the end"


def test_byte_pieces_are_pythons_on_any_text():
    tok, draw = ByteBPE.train(TRAINING * 3, 300, ("<|end|>",)), random.Random(0)
    codes = [*range(0x250), *range(0x2000, 0x2070), 0x3000, 0x1F3AD, *[0x20, 0x27] * 200]
    texts = ["".join(map(chr, draw.choices(codes, k=30))) for _ in range(100)]
    texts += [TRAINING, "", "it's  two\u00a0 \u2003spaces\x85\x1c\ufeff", "\ufeffstart", "<|end|>"]
    broken = [tok.vocab_size - 1, 0xC3, 104]
    body = """
      const {encode, decode} = tokenizers.load(input.tokenizer);
      const pairs = input.texts.map((text) => [encode(text), decode(encode(text))]);
      return {pairs, broken: decode(input.broken)}"""
    description = describe(large(GPT(GPTConfig(tok.vocab_size, 4, 4, 1, 1))), tok)["tokenizer"]
    result = in_node(body, tokenizer=description, texts=texts, broken=broken)
    assert result["pairs"] == [[tok.encode(text), text] for text in texts]
    assert result["broken"] == tok.decode(broken)


# ---- what is wrong is said ----


def test_a_broken_input_is_told():
    refusals = {
        "M.forward(model, [])": "got no token",
        "M.forward(model, [11])": "id 11 is not one of 11 tokens",
        "M.forward(model, [0.5])": "id 0.5 is not",
        "M.forward(model, Array(13).fill(1))": "got 13 tokens, expected at most",
        "M.forward(model, [1], {off: {haeds: []}})": "off has haeds, expected heads, blocks",
        "M.forward(model, [1], {off: {heads: [[0, 4]]}})": "block 0, head 4: there is none",
        "M.forward(model, [1], {off: {blocks: [2]}})": "block 2, head 0: there is none",
        "M.forward(model, [1], {cache, off: {causal: true}})": "a cache without the causal mask",
        "M.probabilities([1, 2], {temperature: NaN})": "temperature=NaN, expected 0 or more",
        "M.probabilities([1, 2], {top_k: 0})": "top_k=0, expected at least 1",
        "M.probabilities([1, 2], {top_p: 0})": "top_p=0, expected 0 < top_p <= 1",
        "M.load({...input.description, weights: 'AAAA'})": "got 3 bytes of weights, expected",
        "tokenizers.load({tokenizer: 'WordBPE'})": "no tokenizer WordBPE",
        "tokenizers.load(input.description.tokenizer).encode('az')": "“z” is not one of the 11",
    }
    tries = ", ".join(f"() => {call}" for call in refusals)
    body = f"""
      const cache = M.newCache(model);
      M.forward(model, [1], {{cache}});
      const message = (f) => {{ try {{ f(); return "none"; }} catch (e) {{ return e.message; }} }};
      return [{tries}].map(message)"""
    messages = in_node(body, description=describe(small(), letters()))
    for words, message in zip(refusals.values(), messages, strict=True):
        assert words in message


def test_any_text_becomes_one_of_known_characters():
    body = """
      const t = tokenizers.load({tokenizer: "CharTokenizer", characters: input.known});
      const fitted = t.fit(input.text);
      t.encode(fitted.text);
      return fitted"""
    naive = {"“": "'", "N": "n", "ï": "i", "…": "...", "”": "'"}
    numbers = dict.fromkeys("n204", "") | {"\u00a0": " ", "á": "a"}
    for known, text, read, changes in (
        (" 'IadeinsvE-.", "“Naïve…”", "'naive...'", naive),
        (" Ia", "In 2024 I\u00a0a\u0301", "I  I a", numbers),
        ("as", "ß🎭漢", "ss", {"ß": "ss", "🎭": "", "漢": ""}),
        ("ab", "", "", {}),
    ):
        fitted = node(body, known=list(known), text=text)
        assert (fitted["text"], dict(fitted["changes"])) == (read, changes)


# ---- the view ----


@functools.cache
def shipped():
    name = "tiny-shakespeare"
    return GPT.pretrained(name), CharTokenizer.pretrained(name)


def test_a_live_view_asks_nothing_of_a_server_and_a_stored_one_holds_no_script(monkeypatch):
    live, weights = explore(*shipped()), describe(*shipped())["weights"]
    html = live._repr_html_()
    assert html.count(weights) == 1
    html = html.replace(weights, "")
    assert not re.search(r"fetch\(|import\(|new Worker\(", html)
    addresses = set(re.findall(r"""https?://[^"'\s]+""", html))
    assert addresses == {"http://www.w3.org/2000/svg"}, "the name of SVG, which nobody loads"
    monkeypatch.setenv("SCRATCHFORMER_LIVE", "stored")
    html = live._repr_html_()
    assert len(html) < 2_000 and "<script" not in html
    assert live.descriptions[0]["hash"] in html and "needs JavaScript" in html
    assert html == explore(*shipped())._repr_html_(), "nbval would see a change"


def test_no_text_ends_the_script_or_the_attribute():
    text = "</script><!-- \"'&<b>"
    tok = CharTokenizer.train(text)
    model = large(GPT(GPTConfig(tok.vocab_size, 32, 8, 2, 1)))
    html = explore(model, tok, text, text=text).html()
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 1 and "<!--" not in scripts[0]
    assert html.count("<script") == html.count("</script>") == 1
    settings = re.search(r'data-settings="([^"]*)"', html)[1]
    assert json.loads(unescape(settings))["prompt"] == text


def exploring(explore=explore, **options):
    return lambda: explore(*shipped(), **{"prompt": "To be"} | options)


test_what_cannot_be_explored_is_told = refused(
    {
        r"views=\['heatmap'\], expected some of attention, next": exploring(views=["heatmap"]),
        "prompt='', expected at least one token": exploring(prompt=""),
        "character 'ï' is not one of": exploring(prompt="naïve"),
        "altered has 4 tokens, expected 5, as many as the prompt": exploring(altered="To b"),
        "altered has 6 tokens, expected 5": exploring(altered="To be "),
        r"views=\['lens'\] do not use altered, expected patch": exploring(
            altered="So be", views=["lens"]
        ),
        "seed is -1, expected a whole number of at least 0": exploring(seed=-1),
        "has 834,432 weights, expected at most 1,000": exploring(
            mock.patch.object(view, "LARGEST", 1000)(explore)
        ),
    }
)
