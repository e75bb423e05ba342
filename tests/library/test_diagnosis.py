"""diagnose is silent on right models, names what is wrong in broken ones, and touches nothing."""

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
from scratchformer.models import GPT, Bigram, GPTConfig, Llama, LlamaConfig
from scratchformer.training import (
    TrainingConfig,
    bits_per_byte,
    make_optimizer,
    parameter_groups,
    token_loss,
    update,
)
from scratchformer_course.ch17_speedrun.race_entry import record_settings
from scratchformer_course.ch19_since_gpt2.worth import CHANGES
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT

IDEAS = {k: v for k, v in record_settings().items() if hasattr(SpeedrunConfig, k)}
IDEAS |= {"value_embeddings": True, "qk_norm": True}
ALL_CHANGES = {k: v for switch in CHANGES.values() for k, v in switch.items()}
TEXT = torch.randint(31, (3000,), generator=torch.Generator().manual_seed(0))
SIZE = {"vocab_size": 31, "context_length": 24, "d_model": 32, "n_heads": 4, "n_layers": 2}
ELSEWHERE_HEAD = nn.Embedding(31, 31)


def gpt(**changes):
    return GPT(GPTConfig(**SIZE | changes))


def llama(**changes):
    return Llama(LlamaConfig(**SIZE | changes))


def nll(logits, y, **options):
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), **options)


def later(T):
    """(T, T): which keys (columns) come after which query."""
    return torch.ones(T, T, dtype=torch.bool).triu(1)


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


# --- models written elsewhere -------------------------------------------------------------------


class Embedded(nn.Module):
    """Tables of tokens and positions, something between, and a head."""

    def __init__(self, C=32):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(31, C), nn.Embedding(24, C)
        self.head = nn.Linear(C, 31)

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


class Outside(Embedded):
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


class LastPlace(nn.Module):
    """All places are there if targets are given, as in nanoGPT."""

    def __init__(self):
        super().__init__()
        self.net = gpt()

    def forward(self, ids, targets=None):
        logits = self.net(ids)
        return (logits[:, -1:], None) if targets is None else (logits, nll(logits, targets))


class Turned(nn.Module):
    """Frozen sines turn queries and keys, as in RoFormer; a norm may stand behind the rotation."""

    def __init__(self, norm=None):
        super().__init__()
        angles = torch.arange(24)[:, None] * 0.5 ** torch.arange(4)
        table = torch.cat([angles.sin(), angles.cos()], dim=-1)
        self.places = nn.Embedding.from_pretrained(table, freeze=True)
        self.wte, self.qkv, self.head = nn.Embedding(31, 8), nn.Linear(8, 24), nn.Linear(8, 31)
        self.norm = norm or nn.Identity()

    def turned(self, x):
        sin, cos = self.places(torch.arange(x.shape[1])).chunk(2, dim=-1)
        a, b = x.chunk(2, dim=-1)
        return self.norm(torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1))

    def forward(self, ids):
        x = self.wte(ids)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = self.turned(q) @ self.turned(k).mT / 8**0.5
        return self.head(x + scores.masked_fill(later(ids.shape[1]), -math.inf).softmax(-1) @ v)


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


class Configured(nn.Module):
    """A window that is off, ids that stand for no text, and rows that must be in one piece."""

    def __init__(self, **settings):
        super().__init__()
        settings |= {"pad_token_id": 0, "text_config": SimpleNamespace(image_token_id=7)}
        self.net, self.config = gpt(n_layers=1), SimpleNamespace(**settings)
        self.net.wte.padding_idx = 3

    def forward(self, ids):
        assert not {0, 3, 7} & {*ids.view(-1).tolist()}, "an id that stands for no text"
        return self.net(ids)


class Unused(nn.Module):
    """One layer that is never called, and one that only chooses, by rank, which features stay."""

    def __init__(self):
        super().__init__()
        self.net, self.spare, self.ranks = gpt(n_layers=1), nn.Linear(4, 4), nn.Linear(31, 31)

    def forward(self, ids):
        z = self.net(ids)
        chosen = self.ranks(z).topk(20, dim=-1).indices
        return z + torch.zeros_like(z).scatter(-1, chosen, 1.0)


class Attention(nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.fault, self.c_attn, self.c_proj = fault, nn.Linear(32, 96), nn.Linear(32, 32)
        self.slopes = nn.Parameter(0.5 ** torch.arange(1, 5).view(4, 1, 1))

    def forward(self, x):
        fault, (B, T, _) = self.fault, x.shape
        q, k, v = (t.view(B, T, 4, 8).transpose(1, 2) for t in self.c_attn(x).chunk(3, dim=-1))
        if fault == "reshape":
            q, k, v = (t.reshape(B, 4, T, 8) for t in self.c_attn(x).chunk(3, dim=-1))
        q = q if fault == "bare" else q / math.sqrt(32 if fault == "width" else 8)
        scores = q @ k.mT
        if fault in ("slopes", "bare"):  # the product of two of them with 1/√8 is 1/√32
            scores = scores - self.slopes * (torch.arange(T)[:, None] - torch.arange(T))
        closed = later(T) & (fault != "no mask")
        closed = closed | torch.eye(T, dtype=torch.bool) if fault == "strict" else closed
        heads = scores.masked_fill(closed, -1e9).softmax(dim=-1) * ~closed @ v
        if fault == "reshape":
            return self.c_proj(heads.reshape(B, T, 32))
        return self.c_proj(heads.transpose(1, 2).flatten(2))


class Faulty(Embedded):
    """A GPT that can be broken in one way; chapter 23's patients have the usual faults."""

    def __init__(self, fault):
        super().__init__()
        self.fault, block = fault, lambda: nn.ModuleList([nn.LayerNorm(32), Attention(fault)])
        blocks = [block()] * 2 if fault == "one block" else [block(), block()]
        self.h = blocks if fault == "list" else nn.ModuleList(blocks)
        for p in (self.wte.weight, self.wpe.weight):
            nn.init.normal_(p, std=1.0 if fault == "large" else 0.02)
        self.head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) if self.fault == "no positions" else self.embed(ids)
        for norm, attention in self.h:
            added = attention(norm(x))
            x = x + (added.detach() if self.fault == "detached" else added)
        logits = self.head(x)
        logits = logits / ids.shape[1] if self.fault == "length" else logits
        return logits.softmax(dim=-1) if self.fault == "probabilities" else logits


# --- right models ------------------------------------------------------------------------------


RIGHT = {
    "gpt": lambda: gpt(dropout=0.1),
    "gpt-short": lambda: gpt(context_length=4, vocab_size=5, n_layers=1, n_heads=1),
    "gpt-many-tokens": lambda: gpt(vocab_size=3000, context_length=100, d_model=16, n_layers=1),
    "qwen3": lambda: llama(n_kv_heads=2, qk_norm=True, head_dim=10, tied=False),
    "mistral": lambda: llama(n_kv_heads=1, window=4),
    "speedrun": lambda: SpeedrunGPT(SpeedrunConfig(**IDEAS | SIZE)),
    "16-bits": lambda: gpt(bias=False, n_layers=3).bfloat16(),
    "frozen": lambda: gpt(n_layers=1).requires_grad_(False),
}
ELSEWHERE = {
    "changed": lambda: SpeedrunGPT(SpeedrunConfig(**SIZE, window=16, n_experts=8)),
    "all changes": lambda: SpeedrunGPT(SpeedrunConfig(**SIZE, **ALL_CHANGES)),
    "encoder": Encoder,
    "dict": lambda: Outside(lambda logits: {"logits": logits, "loss": None}),
    "list": lambda: Outside(lambda logits: [logits, None], n_layers=6),
    "all places": lambda: page_names()["AllPlaces"](LastPlace()),
    "learned slopes": lambda: Faulty("slopes"),
    "frozen sines": Turned,
    "parts in closures": InClosures,
    "a window that is off": lambda: Configured(sliding_window=5, use_sliding_window=False),
    "a window of no layer": lambda: Configured(sliding_window=5, layer_types=["full_attention"]),
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
    assert name != "encoder" or "multiplied by 0.354" in report["attention scale"].measured
    has_window = getattr(getattr(model, "config", None), "window", None) is not None
    assert ("window" in report["attention span"].measured) is has_window
    assert all(p.grad is None for p in model.parameters())


def test_what_is_true_and_harmless_is_noted_and_no_fault():
    torch.manual_seed(0)
    report = diagnose(Unused(), 31, 24)
    assert report.healthy and report["gradients"].verdict == "noted"
    assert "spare.weight" in report["gradients"].measured and "1 noted" in str(report)
    assert "never uses" in report["gradients"].suspects[0]
    report = diagnose(Turned(nn.RMSNorm(8)), 31, 24)
    assert report.healthy and report["positions"].verdict == "noted", str(report)


def test_a_model_of_transformers_is_healthy_as_the_page_tells_it():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    sizes = {"n_positions": 24, "n_embd": 32, "n_layer": 2, "n_head": 4}
    config = transformers.GPT2Config(vocab_size=31, **sizes, bos_token_id=1, eos_token_id=2)
    report = diagnose(
        transformers.AutoModelForCausalLM.from_config(config),
        cache=page_names()["cache"],
        padding=page_names()["padding"],
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
    """Rows and targets must stand in one piece."""
    return F.cross_entropy(logits.view(-1, 31), y.view(-1), ignore_index=0)


def test_batches_and_losses_of_the_course_are_healthy():
    torch.manual_seed(0)
    batches = WindowSampler(TEXT, 4, 24, seed=0)
    report = diagnose(gpt(), loss=token_loss, batches=batches, tokens=TEXT, pad_id=-100)
    assert_healthy(report)
    assert report["padded targets"].verdict == "passed"
    assert_healthy(diagnose(gpt(), loss=nll_of_pieces, pad_id=0))


def test_a_model_that_has_run_is_healthy_even_where_no_gradients_are_kept():
    model = Outside()
    model(TEXT[None, :9])
    maps = model.maps
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert_healthy(diagnose(model, 31, 24))
    assert model.maps is maps and maps.requires_grad


class ClampedNorm(nn.Module):
    """RMSNorm with a bound below its root, where others add one inside of it."""

    def __init__(self, eps: float = 1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(32))

    def forward(self, x):
        return self.weight * 32**0.5 * F.normalize(x, dim=-1, eps=self.eps)


def test_a_norm_that_clamps_its_root_is_no_fault():
    model = Outside()
    model.norms = nn.ModuleList(ClampedNorm() for _ in model.norms)
    assert diagnose(model, 31, 24)["norms"].verdict == "passed"


def test_a_wrong_norm_is_found():
    model = Outside()
    for wrong, suspect in (
        (lambda x: x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-12), "outside"),
        (
            lambda x: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt(),
            "C - 1",
        ),
    ):
        model.norms[0].forward = wrong
        assert suspect in diagnose(model, 31, 24)["norms"].suspects[0]


def test_what_is_examined_stays_as_it_is():
    torch.manual_seed(0)
    model = gpt(dropout=0.2)
    model.h[1].eval()
    nll(model(TEXT[None, :9]), TEXT[None, 1:10]).backward()

    def seen():
        weights = {
            name: (id(p), p.tolist(), p.grad.tolist()) for name, p in model.named_parameters()
        }
        hooks = [(m.training, *m._forward_hooks, *m._forward_pre_hooks) for m in model.modules()]
        return weights, hooks, TEXT.tolist(), torch.get_rng_state().tolist()

    before = seen()
    diagnose(model, loss=token_loss, batches=[(TEXT[None, :9], TEXT[None, 1:10])], pad_id=0)
    diagnose_training(own_step(), model)
    assert seen() == before


def test_a_part_that_no_copy_can_reach_is_refused_by_name():
    model = gpt(n_layers=1)
    model.forward = lambda ids, call=model.forward: call(ids) + ELSEWHERE_HEAD(ids)
    model.shared = ELSEWHERE_HEAD
    with pytest.raises(ValueError, match=r"still computes with shared\.weight of the original"):
        diagnose(model)


def test_a_loss_that_raises_is_named_in_each_finding_that_needs_it():
    report = diagnose(gpt(n_layers=1), loss=lambda logits, y: 1 / 0, pad_id=0)
    assert report.faults == ["initial loss", "targets", "padded targets"]
    for test in report.faults:
        assert report[test].measured == "raised ZeroDivisionError: division by zero"


# --- faults ------------------------------------------------------------------------------------


FAULTS = {  # of Faulty: (test, suspect)
    "width": ("attention scale", "√d_model"),
    "bare": ("attention scale", "not divided"),
    "strict": ("attention span", "closes the token itself"),
    "no mask": ("causality", "mask missing"),
    "reshape": ("context", "bare reshape"),
    "one block": ("shared weights", "one block"),
    "list": ("gradients", "plain list"),
    "large": ("initial loss", "too large"),
    "no positions": ("positions", "not added"),
    "detached": ("gradients", "detach"),
    "probabilities": ("logits", "softmax in the model"),
    "length": ("prefix", "something computed over, or counted from"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_named(fault):
    torch.manual_seed(0)
    report, (test, suspect) = diagnose(Faulty(fault), 31, 24), FAULTS[fault]
    assert test in report.faults and not report.healthy, str(report)
    assert suspect in report[test].suspects[0] and f"✗ {test}" in str(report)


def over_all_places(logits, y):
    return nll(logits, y, ignore_index=0, reduction="sum") / y.numel()


def untied(model):
    """Another model with the weights of a tied one, whose head is no more its table."""
    other = reloaded(model)
    other.lm_head.weight = nn.Parameter(other.wte.weight.detach().clone())
    return other


@pytest.mark.parametrize(
    ("options", "test", "suspect"),
    [
        ({"reload": untied}, "saved", "a tie that loading has undone"),
        ({"batches": [(TEXT[None, :9], TEXT[None, :9])]}, "targets", "not shifted"),
        ({"loss": over_all_places, "pad_id": 0}, "padded targets", "mean over all places"),
    ],
)
def test_a_fault_of_files_batches_or_loss_is_found_and_named(options, test, suspect):
    torch.manual_seed(0)
    report = diagnose(gpt(n_layers=1), **options)
    assert report.faults == [test] and suspect in report[test].suspects[0], str(report)
    assert test != "saved" or "; 16 tensors become 17" in report[test].measured


# --- training ----------------------------------------------------------------------------------


class Unscaling(torch.optim.AdamW):
    """An optimiser that takes a scale out of gradients, as a fused one does for a scaler."""

    def step(self):
        for p in [p for group in self.param_groups for p in group["params"]]:
            p.grad /= 512
        super().step()


def loop(fault=None):
    """A training loop that is written out, and can be broken in one way, or scale its loss."""

    def training(model):
        weights = list(model.parameters())
        groups = parameter_groups(model, 0.1)[: 1 if fault == "part" else 2]
        kind = Unscaling if fault == "scale" else torch.optim.AdamW
        optimizer = kind(groups, lr=1e-3, fused=fault == "scaler")
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=20)
        scaler = torch.amp.GradScaler("cpu", init_scale=512, enabled=fault == "scaler")

        def step(batches):
            targets = sum(y.numel() for _, y in batches)
            optimizer.zero_grad()
            for x, y in batches:
                loss = F.cross_entropy(model(x).view(y.numel(), -1), y.view(-1), reduction="sum")
                loss = loss / (y.numel() if fault == "summed" else targets)
                loss = loss.detach().requires_grad_() if fault == "detached" else loss
                loss = loss * {"wrong sign": -1, "scale": 512}.get(fault, 1)
                scaler.scale(loss).backward()
                if fault == "one lost" and x is not batches[-1][0]:
                    optimizer.zero_grad()
                if fault == "stepped early":
                    optimizer.step()
                if fault == "too fast":
                    scheduler.step()
            if fault not in ("summed", "scale", "scaler"):
                nn.utils.clip_grad_norm_(weights, 0.1)
            scaler.step(torch.optim.SGD(weights) if fault == "another" else optimizer)
            scaler.update()
            scheduler.step()
            model.train(fault != "evaluation")

        return optimizer, step

    return training


def own_step(**settings):
    """The course's optimiser and step."""

    def training(model):
        config = TrainingConfig(steps=10, lr=1e-3, seed=0, **settings)
        optimizer = make_optimizer(model, config)
        options = {"clip": config.clip, "precision": config.precision}
        return optimizer, lambda batches: update(
            model, optimizer, batches, lambda m, x, y: token_loss(m(x), y), **options
        )

    return training


TRAININGS = {
    "a loop": loop(),
    "bfloat16": own_step(precision="bfloat16"),
    "muon": own_step(muon_lr=0.02),
    "a rate for matrices": own_step(matrix_lr=0.01, clip=math.inf),
    "a scaler": loop("scaler"),
    "a scale": loop("scale"),
}


@pytest.mark.parametrize("training", TRAININGS.values(), ids=TRAININGS)
def test_a_right_step_is_healthy(training):
    torch.manual_seed(0)
    assert_healthy(diagnose_training(training, gpt(dropout=0.1, n_layers=1)))


TRAINING_FAULTS = {  # of `loop`: (test, suspect)
    "part": ("movement", "other weights"),
    "summed": ("accumulation", "summed"),
    "one lost": ("accumulation", "zeroed between"),
    "stepped early": ("one step", "inside the loop"),
    "too fast": ("schedule", "once a micro-batch"),
    "evaluation": ("training mode", "eval"),
    "another": ("one step", "another optimiser"),
    "detached": ("movement", "cut off"),
    "wrong sign": ("accumulation", "wrong sign"),
}


@pytest.mark.filterwarnings("ignore:Detected call of .lr_scheduler.step")
@pytest.mark.parametrize("fault", TRAINING_FAULTS)
def test_a_fault_of_training_is_found_and_named(fault):
    torch.manual_seed(0)
    report, (test, suspect) = (
        diagnose_training(loop(fault), llama(n_layers=1)),
        TRAINING_FAULTS[fault],
    )
    assert test in report.faults and suspect in report[test].suspects[0], str(report)


def test_weights_that_become_nan_are_found():
    torch.manual_seed(0)
    report = diagnose_training(loop(), gpt(n_layers=1).half())
    assert report.faults == ["movement"] and "nan" in report["movement"].measured


# --- sampling, bits per byte, reports ------------------------------------------------------------


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
        ({"size": lambda text, ids: len(text.encode()) + 2 * ("é" in text)}, "bytes of text"),
        ({"mean": True}, "windows"),
        ({"stop": -1}, "windows"),
    ]:
        assert test in diagnose_bits_per_byte(by_the_byte(**mistake)).faults, mistake


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
        (lambda ids: ids, SIZES, "function"),
        (torch.jit.ScriptModule(), SIZES, "Script"),
        (bogus(), {}, "does not say its vocab_size: expected vocab_size=…"),
        (bogus(), SIZES | {"context_length": 3}, "context_length=3, exp"),
        (
            bogus(),
            SIZES | {"vocab_size": 50},
            "vocab_size=50 failed in .*, line .*Pass a model",
        ),
        (bogus((slice(None), -1)), SIZES, r"gave logits \(3, 9\), expected \(3, 8, 9\)"),
        (bogus(), SIZES | {"batches": [(TEXT[:4], TEXT[:4])]}, "a batch has shapes"),
    ],
)
def test_what_cannot_be_examined_is_refused(model, options, message):
    with pytest.raises((ValueError, TypeError, TypeCheckError), match=message):
        diagnose(model, **options)


def test_what_is_no_step_and_no_nucleus_is_refused():
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
