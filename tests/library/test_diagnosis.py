"""diagnose is silent on right models, names what is wrong in broken ones, and touches nothing."""

import contextlib
import copy
import functools
import math
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from jaxtyping import TypeCheckError
from torch import nn

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
from scratchformer.diagnosis.model import TESTS
from scratchformer.models import GPT, Bigram, GPTConfig, Llama, LlamaConfig
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import (
    TrainingConfig,
    bits_per_byte,
    make_optimizer,
    parameter_groups,
    token_loss,
    update,
)
from scratchformer_course.ch10_bigram_to_gpt.exercises import RightGPT
from scratchformer_course.ch17_speedrun.race_entry import record_settings
from scratchformer_course.ch19_since_gpt2.worth import CHANGES
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT

IDEAS = {k: v for k, v in record_settings().items() if hasattr(SpeedrunConfig, k)}
IDEAS |= {"value_embeddings": True, "qk_norm": True}
ALL_CHANGES = {k: v for switch in CHANGES.values() for k, v in switch.items()}
TEXT = torch.randint(31, (3000,), generator=torch.Generator().manual_seed(0))
SIZE = {"vocab_size": 31, "context_length": 24, "d_model": 32, "n_heads": 4, "n_layers": 2}
BATCH = (TEXT[None, :9], TEXT[None, 1:10])


def gpt(**changes):
    return GPT(GPTConfig(**SIZE | changes))


def llama(**changes):
    return Llama(LlamaConfig(**SIZE | changes))


def nll(logits, y, **options):
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), **options)


@cache
def page_names():
    """What stands in the page of the reference, after its code has run."""
    page = (Path(__file__).parents[2] / "book" / "diagnosis.md").read_text(encoding="utf-8")
    names = {"page": page}
    for code in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(code, names)
    return names


def assert_healthy(report):
    assert report.healthy, str(report)


def reloaded(model):
    """Another model with its weights, as a file would hold them."""
    other = type(model)(model.config)
    other.load_state_dict(model.state_dict())
    return other


class Wrapped(nn.Module):
    """PyTorch's own layers as a causal model."""

    def __init__(self, norm_first):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(31, 32), nn.Embedding(24, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, norm_first=norm_first, batch_first=True)
        self.net = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 31)

    def forward(self, ids):
        T = ids.shape[1]
        x, mask = self.wte(ids) + self.wpe.weight[:T], torch.ones(T, T).triu(1).bool()
        return self.head(self.net(x, mask=mask, is_causal=True))


class ClampedNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(32)), 1e-12

    def forward(self, x):
        return self.weight * 32**0.5 * F.normalize(x, dim=-1, eps=self.eps)


class Outside(nn.Module):
    """A model as others write it: post-norm, cosine attention, and a map that is kept."""

    def __init__(self, output=lambda logits: logits, n_layers=1):
        super().__init__()
        self.output, self.maps = output, None
        self.wte, self.wpe = nn.Embedding(31, 32), nn.Embedding(24, 32)
        self.qkv = nn.ModuleList(nn.Linear(32, 96) for _ in range(n_layers))
        self.norms = nn.ModuleList(ClampedNorm() for _ in range(n_layers))
        self.scale = nn.Parameter(torch.full((n_layers, 16, 1, 1), 8.0))
        self.head = nn.Linear(32, 31)

    def forward(self, ids):
        (B, T), x = ids.shape, self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        for qkv, norm, scale in zip(self.qkv, self.norms, self.scale, strict=True):
            q, k, v = qkv(x).view(B, T, 3, 16, 2).permute(2, 0, 3, 1, 4)
            scores = scale * (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT)
            later = torch.ones(T, T, dtype=torch.bool).triu(1)
            self.maps = scores.masked_fill(later, -1e9).softmax(dim=-1)
            x = norm(x + (self.maps @ v).transpose(1, 2).flatten(2))
        return self.output(self.head(x))


ELSEWHERE_HEAD = nn.Embedding(31, 31)


class LastPlace(nn.Module):
    """All places are there if targets are given, as in nanoGPT."""

    def __init__(self):
        super().__init__()
        self.net = gpt()

    def forward(self, ids, targets=None):
        logits = self.net(ids)
        return (logits[:, -1:], None) if targets is None else (logits, nll(logits, targets))


class Sines(nn.Module):
    """Fixed sines in a frozen table, as RoFormer keeps them, that turn queries and keys."""

    def __init__(self):
        super().__init__()
        angles = torch.arange(24)[:, None] * 0.5 ** torch.arange(4)
        table = torch.cat([angles.sin(), angles.cos()], dim=-1)
        self.places = nn.Embedding.from_pretrained(table, freeze=True)
        self.wte, self.qkv, self.head = nn.Embedding(31, 8), nn.Linear(8, 24), nn.Linear(8, 31)

    def forward(self, ids):
        x, T = self.wte(ids), ids.shape[1]
        sin, cos = self.places(torch.arange(T)).chunk(2, dim=-1)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k = (
            torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
            for a, b in (t.chunk(2, dim=-1) for t in (q, k))
        )
        later = torch.ones(T, T, dtype=torch.bool).triu(1)
        weights = (q @ k.mT / 8**0.5).masked_fill(later, -math.inf).softmax(dim=-1)
        return self.head(x + weights @ v)


class Slopes(nn.Module):
    """ALiBi whose slopes are learned. The product of two of them with 1/√8 is 1/√32."""

    def __init__(self, scaled=True):
        super().__init__()
        self.scaled = scaled
        self.slopes = nn.Parameter(torch.tensor([0.5, 0.25, 0.125, 0.0625]).view(1, 4, 1, 1))
        self.wte, self.qkv, self.head = nn.Embedding(31, 32), nn.Linear(32, 96), nn.Linear(32, 31)

    def forward(self, ids):
        x, (B, T) = self.wte(ids), ids.shape
        q, k, v = (t.view(B, T, 4, 8).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        scores = q / 8**0.5 @ k.mT if self.scaled else q @ k.mT
        far = torch.arange(T)[:, None] - torch.arange(T)
        scores = (scores - self.slopes * far).masked_fill(far < 0, -math.inf)
        return self.head(x + (scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2))


class FromPadding(nn.Module):
    """Counts positions among what is not padding, as RoBERTa does, and needs rows in one piece."""

    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(31, 32, padding_idx=1), nn.Embedding(26, 32)
        self.block, self.head = Attention(None), nn.Linear(32, 31)

    def forward(self, ids):
        flat = ids.view(-1)
        places = (ids != 1).cumsum(dim=1) * (ids != 1) + 1
        x = self.wte(flat).view(*ids.shape, 32) + self.wpe(places)
        return self.head(x + self.block(x))


class InClosures(nn.Module):
    """Parts that are reached through a lambda, a default value, a partial and a wrapped forward."""

    def __init__(self):
        super().__init__()
        self.net = net = gpt()
        self.gain, self.norm = nn.Linear(31, 31), nn.LayerNorm(31)
        self.run = lambda ids: net(ids)
        self.last = functools.partial(lambda part, x: part(x), self.norm)
        inner = self.gain.forward
        self.gain.forward = lambda x, inner=inner: inner(x)

    def forward(self, ids):
        return self.last(self.gain(self.run(ids)))


RIGHT = {
    "gpt": lambda: gpt(dropout=0.1),
    "gpt-short": lambda: gpt(context_length=4, vocab_size=5, n_layers=1, n_heads=1),
    "gpt-many-tokens": lambda: gpt(vocab_size=3000, context_length=100, d_model=16, n_layers=1),
    "qwen3": lambda: llama(n_kv_heads=2, qk_norm=True, head_dim=10, tied=False),
    "mistral": lambda: llama(n_kv_heads=1, window=4),
    "speedrun": lambda: SpeedrunGPT(SpeedrunConfig(**IDEAS | SIZE)),
    "16-bits": lambda: gpt(bias=False, n_layers=3).bfloat16(),
    "frozen": lambda: gpt(n_layers=1).requires_grad_(False),
    "64-bits": lambda: llama(n_layers=1).double(),
}
ELSEWHERE = {
    "changed": lambda: SpeedrunGPT(SpeedrunConfig(**SIZE, window=16, n_experts=8)),
    "all changes": lambda: SpeedrunGPT(SpeedrunConfig(**SIZE, **ALL_CHANGES)),
    "encoder": lambda: Wrapped(norm_first=True),
    "encoder, post-norm": lambda: Wrapped(norm_first=False),
    "chapter 10": lambda: RightGPT(31, 24, 32, 4, 2),
    "dict": lambda: Outside(lambda logits: {"logits": logits, "loss": None}),
    "list": lambda: Outside(lambda logits: [logits, None], n_layers=6),
    "all places": lambda: page_names()["AllPlaces"](LastPlace()),
    "no fault": lambda: Faulty(None),
    "frozen sines": Sines,
    "learned slopes": Slopes,
    "positions from padding": FromPadding,
    "parts in closures": InClosures,
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_model_is_healthy(name):
    torch.manual_seed(0)
    report = diagnose(RIGHT[name](), reload=reloaded)
    assert_healthy(report)
    for test in ("cache", "causality", "saved", *["padding"] * (name != "speedrun")):
        assert report[test].verdict == "passed", str(report)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_model_written_elsewhere_is_healthy(name):
    torch.manual_seed(0)
    model = ELSEWHERE[name]()
    report = diagnose(model, 31, 24)
    assert_healthy(report)
    if isinstance(model, Wrapped):
        assert report["attention scale"].measured == "scores are multiplied by 0.354"
    assert all(p.grad is None for p in model.parameters())


def test_a_part_that_no_copy_can_reach_is_refused_by_name():
    model = gpt(n_layers=1)
    model.forward = lambda ids, call=model.forward: call(ids) + ELSEWHERE_HEAD(ids)
    with pytest.raises(ValueError, match=r"still computes with shared\.weight of the original"):
        model.shared = ELSEWHERE_HEAD
        diagnose(model)


def test_learned_slopes_are_no_scale():
    assert "not divided" in diagnose(Slopes(scaled=False), 31, 24)["attention scale"].suspects[0]


class Configured(nn.Module):
    """A model with a configuration, as of transformers, beside its code."""

    def __init__(self, **settings):
        super().__init__()
        self.net, self.config = gpt(n_layers=1), SimpleNamespace(**settings)

    def forward(self, ids):
        assert not {0, 7} & set(ids.flatten().tolist()), "an id that stands for no text"
        return self.net(ids)


@pytest.mark.parametrize(
    "settings",
    [
        {"sliding_window": 0},
        {"sliding_window": 5, "use_sliding_window": False},
        {"sliding_window": 5, "layer_types": ["full_attention"]},
    ],
)
def test_a_window_that_is_off_is_none_and_ids_with_a_meaning_are_left_alone(settings):
    settings |= {"pad_token_id": 0, "text_config": SimpleNamespace(image_token_id=7)}
    report = diagnose(Configured(**settings), 31, 24)
    assert report.faults == [] and "window" not in report["attention span"].measured


class BehindTheRotation(Sines):
    """A norm with learned weights between rotation and product."""

    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(8)

    def forward(self, ids):
        x, T = self.wte(ids), ids.shape[1]
        angles = torch.arange(T)[:, None] * 0.5 ** torch.arange(4)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k = (
            self.norm(torch.cat([a * angles.cos() - b * angles.sin(),
                                 b * angles.cos() + a * angles.sin()], dim=-1))
            for a, b in (t.chunk(2, dim=-1) for t in (q, k))
        )  # fmt: skip
        later = torch.ones(T, T, dtype=torch.bool).triu(1)
        weights = (q @ k.mT / 8**0.5).masked_fill(later, -math.inf).softmax(dim=-1)
        return self.head(x + weights @ v)


class Unused(nn.Module):
    """One layer that is never called, and one that only chooses, by rank, which features stay."""

    def __init__(self):
        super().__init__()
        self.net, self.spare, self.ranks = gpt(n_layers=1), nn.Linear(4, 4), nn.Linear(31, 31)

    def forward(self, ids):
        z = self.net(ids)
        chosen = self.ranks(z).topk(20, dim=-1).indices
        return z + torch.zeros_like(z).scatter(-1, chosen, 1.0)


def test_what_is_true_and_harmless_is_noted_and_no_fault():
    torch.manual_seed(0)
    report = diagnose(Unused(), 31, 24)
    assert report.healthy and report["gradients"].verdict == "noted"
    assert "spare.weight" in report["gradients"].measured and "1 noted" in str(report)
    assert "never uses" in report["gradients"].suspects[0]
    report = diagnose(BehindTheRotation(), 31, 24)
    assert report.healthy and report["positions"].verdict == "noted", str(report)


def test_a_table_of_pairs_is_healthy():
    assert_healthy(diagnose(Bigram(31), 31, 16, window=1))


@pytest.mark.parametrize(
    ("kind", "attention"),
    [
        ("gpt2", "eager"),
        ("mistral", "eager"),
        ("gemma", "sdpa"),
    ],
)
def test_models_of_transformers_are_healthy(kind, attention):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 24}
    sizes |= {"head_dim": 8, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    if kind == "gpt2":
        sizes = {"n_positions": 24, "n_embd": 32, "n_layer": 2, "n_head": 4}
        sizes |= {"bos_token_id": 1, "eos_token_id": 2}
    if kind == "mistral":
        sizes |= {"sliding_window": 5}
    config = transformers.AutoConfig.for_model(kind, vocab_size=31, **sizes)
    config._attn_implementation = attention
    model = transformers.AutoModelForCausalLM.from_config(config)
    batches = ((x, x) for x, _ in WindowSampler(TEXT, 4, 24, seed=0))
    names = page_names()  # the page says how transformers' models are told
    report = diagnose(
        model,
        cache=names["cache"],
        padding=names["padding"],
        loss=lambda m, x, y: m(x, labels=y).loss,
        batches=batches,
        reload=reloaded,
    )
    assert_healthy(report)
    for test in ("cache", "padding", "saved", "targets", "attention scale"):
        assert report[test].verdict == "passed", test


def test_a_large_model_that_cannot_learn_is_given_up_in_few_steps(monkeypatch):
    model, calls = gpt(vocab_size=50_000, d_model=88, n_layers=1), []
    given = dict.fromkeys(("cache", "padding", "window", "tokens", "loss", "pad_id", "reload"))
    case = Case(model, 50_000, 24, **given, batches=[])
    model.register_forward_hook(lambda *call: calls.append(1) or call[2].detach() + 0 * call[2])
    monkeypatch.setattr(weights, "copy_of", lambda *_, **__: model)
    assert not weights.overfitting(case).holds and len(calls) <= 33


def test_a_trained_model_is_healthy():
    model = GPT.pretrained("tiny-shakespeare")
    report = diagnose(model)
    assert_healthy(report)
    assert report["initial loss"].verdict == "left out"  # nobody says what it has learned


def test_batches_and_losses_of_the_course_are_healthy():
    torch.manual_seed(0)
    batches = WindowSampler(TEXT, 4, 24, seed=0)
    report = diagnose(gpt(), loss=token_loss, batches=batches, tokens=TEXT, pad_id=-100)
    assert_healthy(report)
    assert report["padded targets"].verdict == "passed"
    assert_healthy(diagnose(gpt(), loss=lambda z, y: nll(z, y, ignore_index=0), pad_id=0))
    in_one_piece = diagnose(gpt(), loss=lambda z, y: F.cross_entropy(z.view(-1, 31), y.view(-1)))
    assert_healthy(in_one_piece)  # rows and targets, as a loss may expect them


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_model_that_has_run_is_healthy_even_where_no_gradients_are_kept(mode):
    model = Outside()
    model(TEXT[None, :9])
    maps = model.maps
    with mode():
        assert_healthy(diagnose(model, 31, 24))
    assert model.maps is maps and maps.requires_grad


def test_a_norm_that_clamps_its_root_is_no_fault_but_a_sum_is():
    assert diagnose(Outside(), 31, 24)["norms"].verdict == "passed"
    added = Outside()
    added.norms[0].forward = lambda x: x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-12)
    assert "outside" in diagnose(added, 31, 24)["norms"].suspects[0]


def test_what_is_examined_stays_as_it_is():
    torch.manual_seed(0)
    model = gpt(dropout=0.2)
    model.register_buffer("note", torch.ones(3))
    model.train()
    model.h[1].eval()
    nll(model(TEXT[None, :9]), TEXT[None, 1:10]).backward()
    before = copy.deepcopy(model.state_dict())
    grads = {name: p.grad.clone() for name, p in model.named_parameters()}
    identities = {name: id(p) for name, p in model.named_parameters()}
    modes = [module.training for module in model.modules()]
    random_state, kept = torch.get_rng_state(), TEXT.clone()

    def training(model):
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        return optimizer, lambda batches: update(
            model, optimizer, batches, lambda m, x, y: token_loss(m(x), y)
        )

    diagnose(model, loss=token_loss, batches=[BATCH], pad_id=0)
    diagnose_training(training, model)
    assert torch.equal(torch.get_rng_state(), random_state) and torch.equal(TEXT, kept)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert {name: id(p) for name, p in model.named_parameters()} == identities
    assert all(torch.equal(p.grad, grads[name]) for name, p in model.named_parameters())
    assert [module.training for module in model.modules()] == modes
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def failing(*args, **kwargs):
    raise ArithmeticError("on purpose")


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.run.__name__)
def test_an_error_in_the_model_or_the_loss_leaves_no_hook_and_no_gradient_behind(test):
    given = dict.fromkeys(("cache", "padding", "window", "tokens"))
    given |= {"loss": failing, "pad_id": 0, "batches": [BATCH]}
    for fails in ("loss", "model"):
        case = Case(gpt(d_model=8, n_layers=1), 31, 24, **given, reload=copy.deepcopy)
        if fails == "model":
            case.sharp.lm_head.forward = case.model.lm_head.forward = failing
        with contextlib.suppress(ArithmeticError):
            test.run(case)
        modules = [*case.sharp.modules(), *case.model.modules()]
        assert not any(m._forward_hooks or m._forward_pre_hooks for m in modules), fails
        assert all(p.grad is None for p in case.sharp.parameters()), fails


def test_a_loss_that_raises_is_named_in_each_finding_that_needs_it():
    report = diagnose(gpt(n_layers=1), loss=failing, pad_id=0)
    assert report.faults == ["initial loss", "targets", "padded targets"]
    assert {report[test].measured for test in report.faults} == {
        "raised ArithmeticError: on purpose"
    }


class Attention(nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.fault, self.c_attn, self.c_proj = fault, nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        fault, (B, T, _) = self.fault, x.shape
        q, k, v = (t.view(B, T, 4, 8).transpose(1, 2) for t in self.c_attn(x).chunk(3, dim=-1))
        if fault == "both":
            q, k, v = (t.reshape(B, 4, T, 8) for t in self.c_attn(x).chunk(3, dim=-1))
        scores = q @ k.mT / math.sqrt(32 if fault == "width" else 8)
        mask = torch.ones(T, T, dtype=torch.bool).tril(-1 if fault == "strict" else 0)
        if fault == "no mask":
            mask = mask | ~mask
        scores = scores.masked_fill(~mask, -1e9)
        heads = scores.softmax(1 if fault == "heads" else -1) * mask @ v
        if fault in ("join", "both"):
            return self.c_proj(heads.reshape(B, T, 32))
        return self.c_proj(heads.transpose(1, 2).flatten(2))


class Faulty(nn.Module):
    """A GPT that can be broken in one way; chapter 23's patients have the usual faults."""

    def __init__(self, fault):
        super().__init__()
        self.fault, block = fault, lambda: nn.ModuleList([nn.LayerNorm(32), Attention(fault)])
        self.wte, self.wpe = nn.Embedding(31, 32), nn.Embedding(24, 32)
        self.h = nn.ModuleList([block(), block()])
        if fault == "one block":
            self.h = nn.ModuleList([block()] * 2)
        if fault == "list":
            del self.h
            self.h = [block(), block()]
        self.lm_head = nn.Linear(32, 31, bias=False)
        for p in (self.wte.weight, self.wpe.weight):
            nn.init.normal_(p, std=1.0 if fault == "large" else 0.02)
        tied = self.wte.weight
        self.lm_head.weight = nn.Parameter(tied.detach().clone()) if fault == "copied" else tied

    def forward(self, ids):
        x = self.wte(ids)
        x = x if self.fault == "no positions" else x + self.wpe.weight[: ids.shape[1]]
        for norm, attention in self.h:
            found = attention(norm(x))
            x = x + (found.detach() if self.fault == "detached" else found)
        logits = self.lm_head(x)
        logits = logits.detach() if self.fault == "no gradient" else logits
        logits = logits / ids.shape[1] if self.fault == "length" else logits
        return logits.softmax(dim=-1) if self.fault == "probabilities" else logits


@pytest.mark.parametrize(
    ("fault", "test", "suspect"),
    [
        ("width", "attention scale", "√d_model"),
        ("strict", "attention span", "closes the token itself"),
        ("no mask", "causality", "mask missing"),
        ("heads", "attention axis", "wrong axis"),
        ("join", "causality", "bare reshape"),
        ("both", "context", "bare reshape"),
        ("one block", "shared weights", "one block"),
        ("list", "gradients", "plain list"),
        ("large", "initial loss", "too large"),
        ("copied", "shared weights", "copy"),
        ("no positions", "positions", "not added"),
        ("detached", "gradients", "detach"),
        ("probabilities", "logits", "softmax in the model"),
        ("no gradient", "gradients", "detach"),
        ("length", "prefix", "^something computed over, or counted from"),
    ],
)
def test_a_fault_is_found_and_named(fault, test, suspect):
    torch.manual_seed(0)
    report = diagnose(Faulty(fault), 31, 24)
    assert test in report.faults, str(report)
    assert re.search(suspect, " ".join(report[test].suspects)), str(report[test])
    assert not report.healthy and f"✗ {test}" in str(report)


def over_all_places(logits, y):
    return nll(logits, y, ignore_index=0, reduction="sum") / y.numel()


@pytest.mark.parametrize(
    ("options", "test", "suspect"),
    [
        ({"batches": [(TEXT[None, :9], TEXT[None, :9])]}, "targets", "not shifted"),
        ({"loss": over_all_places, "pad_id": 0}, "padded targets", "mean over all places"),
    ],
)
def test_a_fault_of_batches_or_loss_is_found_and_named(options, test, suspect):
    torch.manual_seed(0)
    report = diagnose(gpt(n_layers=1), **options)
    assert report.faults == [test] and re.search(suspect, report[test].suspects[0]), str(report)


def loop(fault=None):
    """A training loop that is written out, and can be broken in one way."""

    def training(model):
        weights = list(model.parameters())
        groups = parameter_groups(model, 0.1)
        optimizer = torch.optim.AdamW(groups[: 1 if fault == "part" else 2], lr=1e-3)
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=20)

        def step(batches):
            targets = sum(y.numel() for _, y in batches)
            optimizer.zero_grad()
            for x, y in batches:
                loss = nll(model(x), y, reduction="sum") / targets
                if fault == "summed":
                    loss = nll(model(x), y)
                if fault == "detached":
                    loss = loss.detach().requires_grad_()
                (-loss if fault == "wrong sign" else loss).backward()
                if fault == "one lost" and x is not batches[-1][0]:
                    optimizer.zero_grad()
                if fault == "stepped early":
                    optimizer.step()
                    scheduler.step()
            if fault != "summed":
                nn.utils.clip_grad_norm_(weights, 0.1)
            (torch.optim.SGD(weights) if fault == "another" else optimizer).step()
            scheduler.step()
            model.train(fault != "evaluation")

        return optimizer, step

    return training


@pytest.mark.parametrize(
    "settings",
    [{"precision": "bfloat16"}, {"muon_lr": 0.02}, {"matrix_lr": 0.01, "clip": math.inf}],
)
def test_the_courses_own_step_is_healthy(settings):
    def training(model):
        config = TrainingConfig(steps=10, lr=1e-3, seed=0, **settings)
        optimizer = make_optimizer(model, config)
        options = {"clip": config.clip, "precision": config.precision}
        return optimizer, lambda batches: update(
            model, optimizer, batches, lambda m, x, y: token_loss(m(x), y), **options
        )

    torch.manual_seed(0)
    assert_healthy(diagnose_training(training, gpt(dropout=0.1, n_layers=1)))


@pytest.mark.parametrize("unscales", ["scaler", "fused", "step"])
def test_an_optimiser_that_takes_the_scale_out_of_gradients_is_healthy(unscales):
    class Unscaling(torch.optim.AdamW):
        def step(self):
            for p in [p for group in self.param_groups for p in group["params"]]:
                p.grad /= 512
            super().step()

    def training(model):
        kind = Unscaling if unscales == "step" else torch.optim.AdamW
        groups = parameter_groups(model, 0.1)
        optimizer = kind(groups, lr=1e-3, fused=unscales == "fused")
        scaler = torch.amp.GradScaler("cpu", init_scale=512, enabled=unscales != "step")

        def step(batches):
            targets = sum(y.numel() for _, y in batches)
            for x, y in batches:  # which stand in one piece, as those of a run
                nats = F.cross_entropy(model(x).view(y.numel(), -1), y.view(-1), reduction="sum")
                scaler.scale(nats / targets * (512 if unscales == "step" else 1)).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()

        return optimizer, step

    torch.manual_seed(0)
    assert_healthy(diagnose_training(training, gpt(n_layers=1)))


def test_a_loop_that_is_written_out_is_healthy():
    torch.manual_seed(0)
    assert_healthy(diagnose_training(loop(), llama()))


@pytest.mark.parametrize(
    ("fault", "test", "suspect"),
    [
        ("part", "movement", "other weights"),
        ("summed", "accumulation", "summed"),
        ("one lost", "accumulation", "zeroed between"),
        ("stepped early", "one step", "inside the loop"),
        ("evaluation", "training mode", "eval"),
        ("another", "one step", "another optimiser"),
        ("detached", "movement", "cut off"),
        ("wrong sign", "accumulation", "wrong sign"),
    ],
)
def test_a_fault_of_training_is_found_and_named(fault, test, suspect):
    torch.manual_seed(0)
    report = diagnose_training(loop(fault), gpt(n_layers=1))
    assert test in report.faults and suspect in report[test].suspects[0], str(report)


def test_weights_that_become_nan_or_are_too_coarse_to_move_are_found():
    torch.manual_seed(0)
    half, coarse = (diagnose_training(loop(), model) for model in (gpt().half(), gpt().bfloat16()))
    assert half.faults == coarse.faults == ["movement"]
    assert "nan" in half["movement"].measured
    assert "precision" in coarse["movement"].suspects[0]


def cut(p, top_p, shift=0, back=True):
    """The nucleus, whose edge may be off by some tokens, or which stays in sorted order."""
    p, order = p.sort(dim=-1, descending=True)
    kept = (p.cumsum(dim=-1) - p < top_p).roll(shift, dims=-1)
    kept = p * (kept if shift < 0 else kept | (p == p[:, :1]))
    return torch.zeros_like(p).scatter(1, order, kept) if back else kept


def test_a_nucleus_is_too_small_too_large_or_right():
    assert_healthy(diagnose_sampling(cut))
    assert_healthy(diagnose_sampling(lambda p, top_p: F.normalize(cut(p, top_p), p=1, dim=-1)))
    small = diagnose_sampling(lambda p, top_p: cut(p, top_p, -1))
    assert small.faults == ["kept share"] and "dropped" in small["kept share"].suspects[0]
    large = diagnose_sampling(lambda p, top_p: cut(p, top_p, 1))
    assert large.faults == ["fewest kept"]
    assert not diagnose_sampling(lambda p, top_p: cut(p, top_p, back=False)).healthy


LN_2 = math.log(2)


def by_the_byte(unit=LN_2, size=lambda text, ids: len(text.encode()), stop=None, mean=False):
    """Bits per byte by a loop, with a mistake or without."""

    def measure(model, tokenizer, text, context_length):
        ids, losses = tokenizer.encode(text), []
        for start in range(0, len(ids) - 1, context_length)[:stop]:
            part = torch.tensor(ids[start : start + context_length + 1])  # (T + 1,)
            losses.append(F.cross_entropy(model(part[None, :-1])[0], part[1:], reduction="none"))
        total = torch.stack([each.mean() for each in losses]).mean() * (len(ids) - 1)
        total = total if mean else torch.cat(losses).sum()
        return total.item() / unit / size(text, ids)

    return measure


def test_a_wrong_count_of_bytes_is_found():
    assert_healthy(diagnose_bits_per_byte(bits_per_byte))
    assert_healthy(diagnose_bits_per_byte(by_the_byte()))
    for mistake, test in [
        ({"unit": 1}, "unit"),
        ({"size": lambda text, ids: len(text)}, "bytes of text"),
        ({"size": lambda text, ids: len(ids)}, "tokens"),
        ({"mean": True}, "windows"),
        ({"stop": -1}, "windows"),
    ]:
        assert test in diagnose_bits_per_byte(by_the_byte(**mistake)).faults, mistake


def test_bits_per_byte_leave_the_first_token_out_and_refuse_a_lossy_tokenizer():
    even = GPT(GPTConfig(4, 8, d_model=4, n_heads=1, n_layers=1)).requires_grad_(False)
    for p in even.parameters():
        p.zero_()  # four tokens, 2 bits each
    tok = CharTokenizer("abé€")  # 1, 1, 2, 3 bytes
    assert bits_per_byte(even, tok, "€ab€é", 8) == pytest.approx(4 * 2 / (1 + 1 + 3 + 2))
    tok.decode = lambda ids: "other"
    with pytest.raises(ValueError, match="does not give the text back"):
        bits_per_byte(even, tok, "ab", 8)


def test_a_report_can_be_read_by_people_programs_and_screen_readers():
    found = Finding("causality", "failed", "1 < 2", ("mask missing", "mask late"))
    report = Report((Finding("rows", "passed", "0"), found, Finding("cache", "left out", "none")))
    assert not report.healthy and report.faults == ["causality"] and report["rows"].measured == "0"
    assert "✗ causality: 1 < 2\n    often: mask missing\n    often: mask late\n" in str(report)
    html = report._repr_html_()
    assert html.count("<li") == 3 and 'aria-label="failed">✗' in html
    assert "1 &lt; 2" in html and "often: mask late" in html
    with pytest.raises(KeyError, match="bogus"):
        report["bogus"]


def bogus(shape=()):
    """A model of nine tokens whose logits may lose a part of their shape."""
    model = nn.Sequential(nn.Embedding(9, 9))
    model.forward = lambda ids: model[0](ids)[shape]
    return model


SIZES = {"vocab_size": 9, "context_length": 8}


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (nn.Identity(), {}, "no weights"),
        (bogus(), {}, "does not say its vocab_size: expected vocab_size=…"),
        (bogus(), SIZES | {"context_length": 3}, "context_length=3, exp"),
        (bogus(), SIZES | {"vocab_size": 50}, "cannot read ids.*50"),
        (bogus((slice(None), -1)), SIZES, r"gave logits \(3, 9\), expected \(3, 8, 9\)"),
        (bogus(), SIZES | {"batches": [(TEXT[:4], TEXT[:4])]}, "a batch has shapes"),
    ],
)
def test_what_cannot_be_examined_is_refused(model, options, message):
    with pytest.raises(ValueError, match=message):
        diagnose(model, **options)


def test_what_is_no_model_no_step_and_no_nucleus_is_refused():
    for other, message in ((lambda ids: ids, "function"), (torch.jit.ScriptModule(), "Script")):
        with pytest.raises((TypeError, TypeCheckError), match=message):
            diagnose(other, 9, 8)
    with pytest.raises(ValueError, match=r"expected \(optimizer, step\)"):
        diagnose_training(lambda model: None, gpt())
    with pytest.raises(ValueError, match="nucleus gave shape None, expected"):
        diagnose_sampling(lambda p, top_p: None)


def test_the_page_of_the_reference_runs_and_names_every_test():
    names = page_names()
    assert names["report"].healthy
    findings = names["report"].findings + diagnose_training(names["training"], gpt()).findings
    findings += diagnose_sampling(names["nucleus"]).findings
    findings += diagnose_bits_per_byte(names["measure"]).findings
    listed = re.findall(r"^\| ([a-z ]+) \|", names["page"], re.M)
    assert listed == [finding.test for finding in findings]
