"""The numbers on the playground's page are PyTorch's: here they are computed by another code.

The weights are those that the site carries, in int8.
"""

import math
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import yaml

from scratchformer.data import load_corpus
from scratchformer.models import GPT
from scratchformer.shipped import shipped_record
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model import describe
from scratchformer_course.page_model.fewer_bits import in_int8, round_model
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT
from tests.page_model.test_page_model import in_torch, patched
from tests.quoted_numbers import absent

BOOK = Path(__file__).resolve().parents[2] / "book"
PAGE, MODEL_PAGE = (
    (BOOK / f"{name}.md").read_text(encoding="utf-8")
    for name in ("playground", "model_in_javascript")
)
TEXT = yaml.safe_load(re.search(r"\n---\n(.*?)\n---\n", PAGE, re.DOTALL)[1])["text"]
NAME = "tiny-shakespeare"


def answer(question):
    """The answer of a guess on the page."""
    guess = re.search(rf'data-question="{question}".*?></div>', PAGE, re.DOTALL)[0]
    return re.search(r'data-answer="(.*?)"', guess)[1]


@pytest.fixture(scope="module")
def model():
    gpt = round_model(GPT.pretrained(NAME))
    c = gpt.config
    sizes = c.vocab_size, c.context_length, c.d_model, c.n_heads, c.n_layers
    model = SpeedrunGPT(SpeedrunConfig(*sizes)).eval()  # whose parts `in_torch` switches off
    model.load_state_dict(gpt.state_dict())
    return model


@pytest.fixture
def loss_of(model, monkeypatch):
    """A function: the mean loss with parts switched off, and the attention weights (L, H, T, T)."""
    ids = CharTokenizer.pretrained(NAME).encode(TEXT)

    def loss_of(**off):
        logits, weights, _ = in_torch(model, ids, monkeypatch, off)
        return F.cross_entropy(logits[:-1], torch.tensor(ids[1:])).item(), torch.stack(weights)

    return loss_of


def test_the_passage_was_not_trained_on_and_is_as_long_as_told():
    assert not absent(PAGE, str(len(TEXT)))
    corpus = load_corpus("tinyshakespeare")
    if not corpus.is_real:
        pytest.skip("Tiny Shakespeare is not here")
    cut = int(0.9 * len(corpus.text))
    assert TEXT in corpus.text[cut:] and TEXT not in corpus.text[:cut]


def test_the_heads_that_look_back(loss_of):
    _, weights = loss_of()
    back = torch.stack([weights.diagonal(-n, -2, -1).mean(dim=-1) for n in (1, 2)])  # (2, L, H)
    percent = 100 * back
    assert not absent(PAGE, f"{percent[0, 0, 2]:.0f}", f"{percent[1, 0, 0]:.0f}")
    block, head = divmod(percent[0].argmax().item(), 4)
    assert answer("looks-back") == f"{block + 1} | {head + 1}"
    percent[0, 0, 2] = percent[1, 0, 0] = 0
    assert percent.max() < 50


def test_what_the_heads_are_worth(loss_of):
    base, _ = loss_of()
    changes = {(i, h): loss_of(heads=[[i, h]])[0] - base for i in range(4) for h in range(4)}
    looks_back, other = changes.pop((0, 2)), changes.pop((0, 0))
    assert not absent(PAGE, f"{base:.3f}", f"{base + looks_back:.3f}", f"{other:.3f}")
    assert answer("worth-of-the-head") == f"{looks_back:.3f}"
    assert max(changes.values()) < 0.1 and sum(change < 0 for change in changes.values()) == 4


def test_what_is_left_without_positions_division_and_mask(loss_of):
    base, weights = loss_of()
    without = {name: loss_of(**{name: True}) for name in ("positions", "scale", "causal")}
    assert not absent(PAGE, *(f"{loss:.3f}" for loss, _ in without.values()))
    counted = shipped_record(NAME)["losses"]["counted"]["1"]
    assert not absent(PAGE, f"{counted:.3f}") and without["positions"][0] > counted
    assert answer("without-positions") == "no"
    assert without["scale"][0] < without["positions"][0] and answer("without-division") == "less"
    assert without["causal"][0] > base and answer("without-mask") == "rises"
    largest = (w.max(dim=-1).values.mean() for w in (weights, without["scale"][1]))
    assert not absent(PAGE, f"{math.sqrt(32):.1f}", *(f"{x:.2f}" for x in largest))
    future = without["causal"][1].triu(1)
    shares = 100 * future.sum(dim=-1).mean(dim=(1, 2))  # (L,)
    assert not absent(PAGE, f"{shares.min():.0f}", f"{shares.max():.0f}")


def test_what_is_carried_over_restores_the_shares_told(model, monkeypatch):
    """Activation patching by hooks, without the view's code."""
    tok = CharTokenizer.pretrained(NAME)
    section = PAGE.split("### Is a head")[1].split("### ")[0].split("\n## ")[0]
    texts = re.search(r"Prompt = (.*?) \| Altered text = (.*?)\"", section).groups()
    clean, altered = map(tok.encode, texts)
    changed = [t for t, (x, y) in enumerate(zip(clean, altered, strict=True)) if x != y]
    assert changed == [11, 12]
    logits, weights, _ = in_torch(model, clean, monkeypatch)
    end, other = logits[-1], in_torch(model, altered, monkeypatch)[0][-1]
    a, b = end.argmax().item(), other.argmax().item()
    assert tok.decode([a, b]) == "t "

    def restores(*place):
        moved = patched(model, clean, altered, *place)
        now, full, none = ((z[a] - z[b]).item() for z in (moved, end, other))
        return 100 * (now - none) / (full - none)

    heads, T = [(i, h) for i in range(4) for h in range(4)], len(clean)
    restored = {
        (i, h): restores(f"h.{i}.attn.heads", T - 1, slice(32 * h, 32 * h + 32)) for i, h in heads
    }
    on = {(i, h): 100 * weights[i][h, -1, changed].sum().item() for i, h in heads}
    assert abs(restored[2, 0]) < 0.5 and answer("weight-and-worth") == "nothing"
    assert sorted(restored, key=restored.get)[-2:] == [(3, 2), (3, 3)]
    cells = {(i, t): restores(f"h.{i}", t) for i in (0, 2) for t in range(T)}
    numbers = [restored[3, 3], restored[3, 2], on[2, 0], on[3, 3]]
    numbers += [cells[at] for at in ((0, 12), (0, 11), (0, 13), (2, 20))]
    assert not absent(section, *(f"{n:.0f}" for n in numbers))
    assert max(abs(cells[2, t]) for t in range(13, 20)) < 5


def test_the_page_on_the_model_tells_its_sizes(model):
    described = describe(model, CharTokenizer.pretrained(NAME))
    letters = [len(d["weights"]) for d in (described, in_int8(described))]
    weights = sum(p.numel() for p in model.parameters())
    losses, fewer = shipped_record(NAME)["losses"], load_measurements("page_bits")
    assert losses["validation"] == losses["validation_float16"]
    assert round(fewer["validation"]["16"], 4) == losses["validation"]
    assert round(fewer["validation"]["row"]["8"], 4) == losses["validation"]
    finite = 2 * 31 * 1024  # signs, exponents below the last, fractions
    numbers = [f"{weights:,}", f"{2 * weights / 1e6:.2f}", f"{finite:,}"]
    numbers += [f"{n / 1e6:.2f}" for n in letters] + [f"{0.75 * letters[1] / 1e6:.2f}"]
    numbers += [f"{losses['validation']:.4f}", f"{fewer['largest_change_of_a_logit']:.2f}"]
    numbers += [f"{fewer['validation'][shared]['8']:.4f}" for shared in ("tensor", "group")]
    assert not absent(MODEL_PAGE, *numbers)
    assert not absent(PAGE, f"{weights:,}")
