"""diagnose is silent on right models, names what is wrong in broken ones, and touches nothing."""

import functools
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from jaxtyping import TypeCheckError
from torch import nn

from scratchformer import attention
from scratchformer.data.batches import WindowSampler
from scratchformer.diagnosis import (
    Finding,
    Report,
    diagnose,
    diagnose_bits_per_byte,
    diagnose_sampling,
    diagnose_training,
    weights,
)
from scratchformer.diagnosis.case import Case
from scratchformer.models import GPT, Bigram, GPTConfig, Llama, LlamaConfig
from scratchformer.training import (
    TrainingConfig,
    bits_per_byte,
    make_optimizer,
    token_loss,
    update,
)
from scratchformer_course.ch17_speedrun.race_entry import record_settings
from scratchformer_course.ch19_since_gpt2.worth import CHANGES
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT

RECORD = {k: v for k, v in record_settings().items() if hasattr(SpeedrunConfig, k)}
RECORD |= {"value_embeddings": True, "qk_norm": True}
ALL_CHANGES = {k: v for switch in CHANGES.values() for k, v in switch.items()}
TEXT = torch.randint(31, (3000,), generator=torch.Generator().manual_seed(0))
ROW = TEXT[None, :9], TEXT[None, 1:10]
SIZE = {"vocab_size": 31, "context_length": 24, "d_model": 32, "n_heads": 4, "n_layers": 2}
PAGE = (Path(__file__).parents[2] / "book" / "diagnosis.md").read_text(encoding="utf-8")
CODES = re.findall(r"```python\n(.*?)```", PAGE, re.S)
GLOBAL_HEAD = nn.Embedding(31, 31)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def gpt(**changes):
    return GPT(GPTConfig(**SIZE | changes))


def llama(**changes):
    return Llama(LlamaConfig(**SIZE | changes))


def speedrun(**changes):
    return SpeedrunGPT(SpeedrunConfig(**SIZE | changes))


def later(T):
    """(T, T): which keys (columns) come after which query."""
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def on_page(name, edit=None):
    """What the page of the reference defines by this name, with its source edited."""
    (code,) = (code for code in CODES if re.search(rf"^(def|class) {name}\(", code, re.M))
    code = code.partition("\nassert")[0]
    for before, after in (edit or {}).items():
        assert before in code
        code = code.replace(before, after)
    names = {"torch": torch}
    exec(code, names)
    return names[name]


def assert_healthy(report):
    assert report.healthy, str(report)


def assert_fault(report, test, suspect):
    assert test in report.faults and suspect in report[test].suspects[0], str(report)


def reloaded(model):
    """Another model with its weights, as a file would hold them."""
    other = type(model)(model.config)
    other.load_state_dict(model.state_dict())
    return other


# --- models written elsewhere -------------------------------------------------------------------


class Embedded(nn.Module):
    """Tables of tokens and positions, something between, and a head."""

    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(31, 32), nn.Embedding(24, 32)
        self.head = nn.Linear(32, 31)

    def embed(self, ids):
        return self.wte(ids) + self.wpe.weight[: ids.shape[1]]


class Encoder(Embedded):
    """PyTorch's own layers as a causal model."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.net = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids):
        return self.head(self.net(self.embed(ids), mask=later(ids.shape[1]), is_causal=True))


class PostNorm(Embedded):
    """Post-norm, cosine attention, and a map that is kept."""

    def __init__(self, output=lambda logits: logits, n_layers=1):
        super().__init__()
        self.output, self.maps = output, None
        self.qkv = nn.ModuleList(nn.Linear(32, 96) for _ in range(n_layers))
        self.norms = nn.ModuleList(nn.RMSNorm(32) for _ in range(n_layers))
        self.scale = nn.Parameter(torch.full((n_layers, 16, 1, 1), 8.0))

    def forward(self, ids):
        (B, T), x = ids.shape, self.embed(ids)
        for qkv, norm, scale in zip(self.qkv, self.norms, self.scale, strict=True):
            q, k, v = qkv(x).view(B, T, 3, 16, 2).permute(2, 0, 3, 1, 4)
            scores = scale * (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT)
            self.maps = scores.masked_fill(later(T), -1e9).softmax(dim=-1)
            x = norm(x + (self.maps @ v).transpose(1, 2).flatten(2))
        return self.output(self.head(x))


class RoFormer(nn.Module):
    """Frozen sines turn queries and keys; a norm may follow, or keys may turn the other way."""

    def __init__(self, norm=None, backwards=False):
        super().__init__()
        angles = torch.arange(24)[:, None] * 0.5 ** torch.arange(4)
        table = torch.cat([angles.sin(), angles.cos()], dim=-1)
        self.places = nn.Embedding.from_pretrained(table, freeze=True)
        self.wte, self.qkv, self.head = nn.Embedding(31, 8), nn.Linear(8, 24), nn.Linear(8, 31)
        self.norm, self.backwards = norm or nn.Identity(), backwards

    def rotate(self, x, backwards=False):
        places = torch.arange(x.shape[1])
        sin, cos = self.places(23 - places if backwards else places).chunk(2, dim=-1)
        a, b = x.chunk(2, dim=-1)
        return self.norm(torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1))

    def forward(self, ids):
        x = self.wte(ids)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = self.rotate(q) @ self.rotate(k, self.backwards).mT / 8**0.5
        return self.head(x + scores.masked_fill(later(ids.shape[1]), -math.inf).softmax(-1) @ v)


class Around(nn.Module):
    """A module around a GPT, whose attributes and way of calling it are given."""

    def __init__(self, call, **attributes):
        super().__init__()
        self.net, self.call = gpt(n_layers=1), call
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, ids, **options):
        return self.call(self, ids, **options)


def last_place(model, ids, targets=None):
    """All places are there if targets are given, as in nanoGPT."""
    logits = model.net(ids)
    return (logits[:, -1:], None) if targets is None else (logits, 0.0)


def in_closures():
    """Parts that are reached through a lambda, a default value, a partial and a wrapped forward."""
    model = Around(lambda self, ids: self.last(self.gain(self.run(ids))))
    net, inner = model.net, nn.Linear(31, 31)
    model.gain, model.norm, wrapped = inner, nn.LayerNorm(31), inner.forward
    model.run = lambda ids: net(ids)
    model.last = functools.partial(lambda part, x: part(x), model.norm)
    model.gain.forward = lambda x, wrapped=wrapped: wrapped(x)
    return model


def configured(**settings):
    """A window that is off, ids that stand for no text, and rows that must be in one piece."""

    def call(self, ids):
        assert not {0, 3, 7} & {*ids.view(-1).tolist()}, "an id that stands for no text"
        return self.net(ids)

    settings |= {"pad_token_id": 0, "text_config": SimpleNamespace(image_token_id=7)}
    model = Around(call, config=SimpleNamespace(**settings))
    model.net.wte.padding_idx = 3
    return model


def unused():
    """One layer that is never called, and one that only chooses, by rank, which features stay."""

    def call(self, ids):
        z = self.net(ids)
        chosen = self.ranks(z).topk(20, dim=-1).indices
        return z + torch.zeros_like(z).scatter(-1, chosen, 1.0)

    return Around(call, spare=nn.Linear(4, 4), ranks=nn.Linear(31, 31))


def attend(scale=8**-0.5, closed=later, slopes=None, heads=lambda x: x, join=torch.transpose):
    """The library's attention, written out, to be edited."""

    def edited(q, k, v, *_):
        q, k, v = heads(q), heads(k), heads(v)  # (B, H, T, D)
        T = q.shape[-2]
        scores = (q if scale is None else q * scale) @ k.mT
        if slopes is not None:
            scores = scores - slopes * (torch.arange(T)[:, None] - torch.arange(T))
        mixed = scores.masked_fill(closed(T), -1e9).softmax(dim=-1) * ~closed(T) @ v
        return join(mixed, 1, 2).reshape(len(q), T, -1), None

    return edited


SLOPES = 0.5 ** torch.arange(1, 5).view(4, 1, 1)  # their product with 1/√8 can be 1/√32


# --- right models ------------------------------------------------------------------------------


OURS = {
    "gpt-short": lambda: gpt(context_length=4, vocab_size=5, n_layers=1, n_heads=1, dropout=0.1),
    "gpt-many-tokens": lambda: gpt(vocab_size=3000, context_length=100, d_model=16, n_layers=1),
    "qwen3": lambda: llama(n_kv_heads=2, qk_norm=True, head_dim=10, tied=False),
    "mistral": lambda: llama(n_kv_heads=1, window=4),
    "speedrun": lambda: speedrun(**RECORD | SIZE),
    "16-bits": lambda: gpt(bias=False, n_layers=3).bfloat16(),
    "frozen": lambda: gpt(n_layers=1).requires_grad_(False),
}
ELSEWHERE = {
    "all changes": lambda: speedrun(**ALL_CHANGES),
    "experts": lambda: speedrun(window=16, n_experts=8),
    "encoder": Encoder,
    "dict": lambda: PostNorm(lambda logits: {"logits": logits, "loss": None}),
    "list": lambda: PostNorm(lambda logits: [logits, None], n_layers=6),
    "all places": lambda: on_page("AllPlaces")(Around(last_place)),
    "frozen sines": RoFormer,
    "parts in closures": in_closures,
    "a window that is off": lambda: configured(sliding_window=5, use_sliding_window=False),
    "a window of no layer": lambda: configured(sliding_window=5, layer_types=["full_attention"]),
}


@pytest.mark.parametrize("name", OURS)
def test_a_model_of_the_library_is_healthy(name):
    report = diagnose(OURS[name](), reload=reloaded)
    assert_healthy(report)
    for test in ("cache", "causality", "saved", *["padding"] * (name != "speedrun")):
        assert report[test].verdict == "passed", str(report)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_model_written_elsewhere_is_healthy(name):
    model = ELSEWHERE[name]()
    report = diagnose(model, 31, 24)
    assert_healthy(report)
    assert name != "encoder" or "multiplied by 0.354" in report["attention scale"].measured
    has_window = getattr(getattr(model, "config", None), "window", None) is not None
    assert ("window" in report["attention span"].measured) is has_window
    assert all(p.grad is None for p in model.parameters())


def test_what_is_true_and_harmless_is_noted_and_no_fault():
    report = diagnose(unused(), 31, 24)
    assert report.healthy and report["gradients"].verdict == "noted"
    assert "spare.weight" in report["gradients"].measured and "1 noted" in str(report)
    assert "never uses" in report["gradients"].suspects[0]
    report = diagnose(RoFormer(nn.RMSNorm(8)), 31, 24)
    assert report.healthy and report["positions"].verdict == "noted", str(report)


def test_a_model_of_transformers_is_healthy_as_the_page_tells_it():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    sizes = {"n_positions": 24, "n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 31}
    config = transformers.GPT2Config(**sizes, bos_token_id=1, eos_token_id=2)
    report = diagnose(
        transformers.AutoModelForCausalLM.from_config(config),
        cache=on_page("cache"),
        padding=on_page("padding"),
        loss=lambda m, x, y: m(x, labels=y).loss,
        batches=((x, x) for x, _ in WindowSampler(TEXT, 4, 24, seed=0)),
        reload=reloaded,
    )
    assert_healthy(report)
    for test in ("cache", "padding", "saved", "targets", "attention scale"):
        assert report[test].verdict == "passed", test


def test_a_table_of_pairs_and_a_trained_model_are_healthy():
    assert_healthy(diagnose(Bigram(31), 31, 16, window=1))
    report = diagnose(GPT.pretrained("tiny-shakespeare"))
    assert_healthy(report)
    assert report["initial loss"].verdict == "left out"  # nobody says what it has learned


def test_a_large_model_that_cannot_learn_is_given_up_in_few_steps(monkeypatch):
    model, calls = gpt(vocab_size=50_000, d_model=88, n_layers=1), []
    given = dict.fromkeys(("cache", "padding", "window", "tokens", "loss", "pad_id", "reload"))
    case = Case(model, 50_000, 24, **given, batches=[])
    model.register_forward_hook(lambda *call: calls.append(1) or call[2].detach() + 0 * call[2])
    monkeypatch.setattr(weights, "copy_of", lambda *_, **__: model)
    assert not weights.overfitting(case).holds and len(calls) <= 33


def nll_of_pieces(logits, y):
    """Rows and targets must be contiguous."""
    return F.cross_entropy(logits.view(-1, 31), y.view(-1), ignore_index=0)


def test_batches_and_losses_of_the_course_are_healthy():
    batches = WindowSampler(TEXT, 4, 24, seed=0)
    report = diagnose(gpt(), loss=token_loss, batches=batches, tokens=TEXT, pad_id=-100)
    assert_healthy(report)
    assert report["padded targets"].verdict == "passed"
    assert_healthy(diagnose(gpt(), loss=nll_of_pieces, pad_id=0))


def test_a_model_that_has_run_is_healthy_even_where_no_gradients_are_kept():
    model = PostNorm()
    model(ROW[0])
    maps = model.maps
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert_healthy(diagnose(model, 31, 24))
    assert model.maps is maps and maps.requires_grad


@pytest.mark.parametrize(
    ("norm", "suspect"),
    [
        (lambda x: 32**0.5 * F.normalize(x, dim=-1, eps=1e-5), ""),  # clamps its root: no fault
        (lambda x: x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-12), "outside"),
        (
            lambda x: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt(),
            "C - 1",
        ),
    ],
)
def test_a_norm_is_judged_by_its_formula(norm, suspect):
    model = PostNorm()
    model.norms[0].forward = norm
    finding = diagnose(model, 31, 24)["norms"]
    assert suspect in finding.suspects[0] if suspect else finding.verdict == "passed"


def test_what_is_examined_stays_as_it_is():
    model = gpt(dropout=0.2)
    model.h[1].eval()
    F.cross_entropy(model(ROW[0])[0], ROW[1][0]).backward()

    def seen():
        tensors = [(n, id(p), p.tolist(), p.grad.tolist()) for n, p in model.named_parameters()]
        hooks = [(m.training, *m._forward_hooks, *m._forward_pre_hooks) for m in model.modules()]
        return tensors, hooks, TEXT.tolist(), torch.get_rng_state().tolist()

    before = seen()
    diagnose(model, loss=token_loss, batches=[ROW], pad_id=0)
    diagnose_training(course_step(), model)
    assert seen() == before


def test_a_loss_that_raises_is_named_in_each_finding_that_needs_it():
    report = diagnose(gpt(n_layers=1), loss=lambda logits, y: 1 / 0, pad_id=0)
    assert report.faults == ["initial loss", "targets", "padded targets"]
    for test in report.faults:
        assert report[test].measured == "raised ZeroDivisionError: division by zero"


# --- faults ------------------------------------------------------------------------------------


def listed(model):
    blocks = [*model.h]
    del model.h
    model.h = blocks


def hook(part, change):
    """An edit of a model: what a part of it gives is changed."""
    return lambda model: model.get_submodule(part).register_forward_hook(
        lambda _, args, output: change(output, args[0])
    )


ATTENTION_FAULTS = {  # how it attends, the test, a suspect; chapter 25 has the usual faults
    "width": (attend(scale=32**-0.5), "attention scale", "√d_model"),
    "bare": (attend(scale=None, slopes=SLOPES), "attention scale", "not divided"),
    "strict": (attend(closed=lambda T: ~later(T).T), "attention span", "closes the token itself"),
    "no mask": (attend(closed=lambda T: later(T) & False), "causality", "mask missing"),
    "reshape": (
        attend(heads=lambda x: x.transpose(1, 2).reshape(x.shape), join=lambda x, *_: x),
        "context",
        "bare reshape",
    ),
}
FAULTS = {  # an edit of a right model, the test, a suspect
    "one block": (lambda model: model.h.__setitem__(1, model.h[0]), "shared weights", "one block"),
    "list": (listed, "gradients", "plain list"),
    "large": (lambda model: nn.init.normal_(model.wte.weight), "initial loss", "too large"),
    "no positions": (hook("wpe", lambda z, _: 0 * z), "positions", "not added"),
    "detached": (hook("h.0.attn", lambda z, _: z.detach()), "gradients", "detach"),
    "probabilities": (hook("", lambda z, _: z.softmax(-1)), "logits", "softmax in the model"),
    "length": (hook("", lambda z, ids: z / ids.shape[1]), "prefix", "something computed over"),
}


@pytest.mark.parametrize("fault", ATTENTION_FAULTS)
def test_a_fault_of_attention_is_named(monkeypatch, fault):
    edited, test, suspect = ATTENTION_FAULTS[fault]
    monkeypatch.setattr(attention, "_attend", edited)
    assert_fault(diagnose(gpt()), test, suspect)


def test_queries_and_keys_that_turn_apart_are_named():
    report = diagnose(RoFormer(backwards=True), 31, 24)
    assert_fault(report, "positions", "queries and keys turn apart")


def test_a_place_that_looks_back_less_far_than_others_is_named(monkeypatch):
    def last_is_short(T):
        return later(T) | ((torch.arange(T) < T - 4) & (torch.arange(T) == T - 1)[:, None])

    monkeypatch.setattr(attention, "_attend", attend(closed=last_is_short))
    report = diagnose(Around(lambda self, ids: self.net(ids)), 31, 24)
    assert_fault(report, "context", "bare reshape")


def test_slopes_are_no_fault(monkeypatch):
    monkeypatch.setattr(attention, "_attend", attend(slopes=SLOPES))
    assert_healthy(diagnose(Around(lambda self, ids: self.net(ids)), 31, 24))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_model_is_named(fault):
    model, (edit, test, suspect) = gpt(), FAULTS[fault]
    edit(model)
    report = diagnose(model)
    assert_fault(report, test, suspect)
    assert not report.healthy and f"✗ {test}" in str(report)


def untied(model):
    """Another model with the weights of a tied one, whose head is no more its table."""
    other = reloaded(model)
    other.lm_head.weight = nn.Parameter(other.wte.weight.detach().clone())
    return other


def over_all_places(logits, y):
    total = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=0, reduction="sum")
    return total / y.numel()


@pytest.mark.parametrize(
    ("options", "test", "suspect"),
    [
        ({"reload": untied}, "saved", "a tie that loading has undone"),
        ({"batches": [ROW[:1] * 2]}, "targets", "not shifted"),
        ({"loss": over_all_places, "pad_id": 0}, "padded targets", "mean over all places"),
    ],
)
def test_a_fault_of_files_batches_or_loss_is_named(options, test, suspect):
    report = diagnose(gpt(n_layers=1), **options)
    assert_fault(report, test, suspect)
    assert report.faults == [test]
    assert test != "saved" or "; 16 tensors become 17" in report[test].measured


# --- training ----------------------------------------------------------------------------------


def course_step(**settings):
    """The course's optimiser and step."""

    def training(model):
        config = TrainingConfig(steps=10, lr=1e-3, seed=0, **settings)
        optimizer = make_optimizer(model, config)
        return optimizer, lambda batches: update(
            model,
            optimizer,
            batches,
            lambda m, x, y: token_loss(m(x), y),
            clip=config.clip,
            precision=config.precision,
        )

    return training


FOR, BACKWARD, STEP = "for x, y in batches:\n", "(nats / targets).backward()", "optimizer.step()"
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)"
SCALER = "torch.amp.GradScaler('cpu', init_scale=512)"
TRAININGS = {
    "clipped": on_page("training", {STEP: f"{CLIP}; {STEP}"}),
    "bfloat16": course_step(precision="bfloat16"),
    "muon": course_step(muon_lr=0.02),
    "a rate for matrices": course_step(matrix_lr=0.01, clip=math.inf),
    "a scaler": on_page("training", {
        "def step": f"scaler = {SCALER}\n    def step",
        "lr=1e-3": "fused=True, lr=1e-3",
        BACKWARD: f"scaler.scale{BACKWARD}",
        STEP: "scaler.step(optimizer); scaler.update()",
    }),
}  # fmt: skip
TRAINING_FAULTS = {  # edits of the page's loop: (edit, test, suspect)
    "part": ({"AdamW(groups": "AdamW(groups[:1]"}, "movement", "other weights"),
    "detached": ({"(nats": "(nats.detach().requires_grad_()"}, "movement", "cut off"),
    "summed": ({"/ targets": "/ y.numel()"}, "accumulation", "summed"),
    "one lost": ({FOR: f"{FOR}            optimizer.zero_grad()\n"}, "accumulation", "zeroed"),
    "wrong sign": ({"(nats": "(-nats"}, "accumulation", "wrong sign"),
    "mean of means": ({"/ targets": "/ y.numel() / len(batches)"}, "unequal batches", "of means"),
    "never zeroed": ({"optimizer.zero_grad()": ""}, "zeroed gradients", "zero_grad() missing"),
    "early": ({BACKWARD: f"{BACKWARD}; {STEP}"}, "one step", "inside the loop"),
    "another": ({f" {STEP}": " torch.optim.SGD(matrices).step()"}, "one step", "another"),
    "too fast": (
        {BACKWARD: f"{BACKWARD}; optimizer.param_groups[0]['lr'] *= 0.9"},
        "schedule",
        "a micro-batch",
    ),
    "evaluation": ({STEP: f"{STEP}; model.eval()"}, "training mode", "eval"),
    "one group": ({"AdamW(groups": "AdamW(matrices + vectors"}, "weight decay", "one group"),
}


@pytest.mark.parametrize("training", TRAININGS.values(), ids=TRAININGS)
def test_a_right_step_is_healthy(training):
    assert_healthy(diagnose_training(training, gpt(dropout=0.1, n_layers=1)))


@pytest.mark.parametrize("fault", TRAINING_FAULTS)
def test_a_fault_of_training_is_named(fault):
    edit, test, suspect = TRAINING_FAULTS[fault]
    report = diagnose_training(on_page("training", edit), llama(n_layers=1))
    assert_fault(report, test, suspect)
    assert fault != "evaluation" or report[test].measured == "1 of 2 calls"


def test_weights_that_become_nan_are_seen():
    report = diagnose_training(on_page("training"), gpt(n_layers=1).half())
    assert report.faults == ["movement"] and "nan" in report["movement"].measured


# --- sampling, bits per byte, reports ------------------------------------------------------------


KEPT = "(before < top_p)"
NUCLEUS_FAULTS = {
    f"{KEPT}.roll(-1, -1)": "kept share",
    "((before < top_p).roll(1, -1) | (before == 0))": "fewest kept",
}


@pytest.mark.parametrize("kept", NUCLEUS_FAULTS)
def test_a_nucleus_that_is_too_small_or_too_large_is_named(kept):
    report = diagnose_sampling(on_page("nucleus", {KEPT: kept}))
    assert report.faults == [NUCLEUS_FAULTS[kept]]
    assert "token" in report[report.faults[0]].suspects[0]


def test_a_nucleus_may_be_rescaled_and_not_left_in_sorted_order():
    nucleus = on_page("nucleus")
    assert_healthy(diagnose_sampling(lambda *p: F.normalize(nucleus(*p), p=1, dim=-1)))
    sort = {"torch.zeros_like(p).scatter(1, order, p * (before < top_p))": f"p * {KEPT}"}
    assert not diagnose_sampling(on_page("nucleus", sort)).healthy


BYTE_FAULTS = [  # edits of the page's count: (edit, test)
    ({" / math.log(2)": ""}, "unit"),
    ({'.encode("utf-8"))': ")"}, "bytes of text"),
    ({'len(text.encode("utf-8"))': '(len(text.encode()) + 2 * ("é" in text))'}, "bytes of text"),
    ({'text.encode("utf-8")': "ids"}, "tokens"),
    ({'"sum"': '"mean"', ".item()": ".item() * context_length"}, "windows"),
    ({"len(ids) - 1, context_length": "len(ids) - context_length, context_length"}, "windows"),
]


def test_a_wrong_count_of_bytes_is_named():
    assert_healthy(diagnose_bits_per_byte(bits_per_byte))
    for edit, test in BYTE_FAULTS:
        assert test in diagnose_bits_per_byte(on_page("measure", edit)).faults, edit


def test_a_report_can_be_read_by_people_programs_and_screen_readers():
    failed = Finding("causality", "failed", "1 < 2", ("mask missing", "mask late"))
    report = Report((Finding("rows", "passed", "0"), failed, Finding("cache", "left out", "none")))
    assert not report.healthy and report.faults == ["causality"] and report["rows"].measured == "0"
    assert "✗ causality: 1 < 2\n    often: mask missing\n    often: mask late\n" in str(report)
    html = report._repr_html_()
    assert html.count("<li") == 3 and 'aria-label="failed">✗' in html
    assert "1 &lt; 2" in html and "often: mask late" in html
    with pytest.raises(KeyError, match="bogus"):
        report["bogus"]


def table(shape=()):
    """A model of nine tokens whose logits may lose a part of their shape."""
    model = nn.Sequential(nn.Embedding(9, 9))
    model.forward = lambda ids: model[0](ids)[shape]
    return model


def shared():
    model = Around(lambda self, ids: self.net(ids) + GLOBAL_HEAD(ids), shared=GLOBAL_HEAD)
    return diagnose(model, 31, 24)


SIZES = {"vocab_size": 9, "context_length": 8}
REFUSED = {
    "no weights": lambda: diagnose(nn.Identity()),
    "function": lambda: diagnose(lambda ids: ids, **SIZES),
    "Script": lambda: diagnose(torch.jit.ScriptModule(), **SIZES),
    "does not say its vocab_size: expected vocab_size=…": lambda: diagnose(table()),
    "context_length=3, exp": lambda: diagnose(table(), 9, 3),
    "vocab_size=50 failed in .*, line .*Pass a model": lambda: diagnose(table(), 50, 8),
    r"gave logits \(3, 9\), expected \(3, 8, 9\)": lambda: diagnose(
        table((slice(None), -1)), **SIZES
    ),
    "a batch has shapes": lambda: diagnose(table(), **SIZES, batches=[(TEXT[:4], TEXT[:4])]),
    r"still computes with shared\.weight of the original": shared,
    r"expected \(optimizer, step\)": lambda: diagnose_training(lambda model: None, gpt()),
    "nucleus gave shape None, expected": lambda: diagnose_sampling(lambda p, top_p: None),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_examined_is_refused(words):
    with pytest.raises((ValueError, TypeError, TypeCheckError), match=words):
        REFUSED[words]()


def test_the_page_of_the_reference_runs_and_names_every_test():
    names = {}
    for code in CODES:
        exec(code, names)
    findings = names["report"].findings + diagnose_training(names["training"], gpt()).findings
    findings += diagnose_sampling(names["nucleus"]).findings
    findings += diagnose_bits_per_byte(names["measure"]).findings
    assert re.findall(r"^\| ([a-z ]+) \|", PAGE, re.M) == [finding.test for finding in findings]
