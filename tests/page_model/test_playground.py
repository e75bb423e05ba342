"""The playground tells what one will see on it: its numbers are PyTorch's, computed here again."""

import math
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import yaml

from scratchformer.attention import causal_mask
from scratchformer.models import GPT
from scratchformer.shipped import shipped_record
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.page_model import describe

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book" / "playground.md").read_text(encoding="utf-8")
MODEL_PAGE = (ROOT / "book" / "model_in_javascript.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())
TEXT = yaml.safe_load(re.search(r"\n---\n(.*?)\n---\n", PAGE, re.DOTALL)[1])["text"]
NAME = "tiny-shakespeare"


@pytest.fixture(scope="module")
def model():
    return GPT.pretrained(NAME)


@pytest.fixture(scope="module")
def ids():
    return torch.tensor(CharTokenizer.pretrained(NAME).encode(TEXT))


@torch.no_grad()
def run(model, ids, heads=(), positions=True, scale=True, causal=True):
    """The mean loss, and the attention weights (L, H, T, T), with parts switched off."""
    T, H, weights = len(ids), model.config.n_heads, []
    x = model.wte(ids) + (model.wpe.weight[:T] if positions else 0)
    for i, block in enumerate(model.h):
        qkv = block.attn.c_attn(block.ln_1(x)).chunk(3, dim=-1)
        q, k, v = (t.view(T, H, -1).transpose(0, 1) for t in qkv)  # (H, T, D)
        scores = q @ k.mT / (math.sqrt(q.shape[-1]) if scale else 1)
        if causal:
            scores = scores.masked_fill(~causal_mask(T), -math.inf)
        weights.append(scores.softmax(dim=-1))
        found = weights[-1] @ v
        for head in (head for layer, head in heads if layer == i):
            found[head] = 0
        x = x + block.attn.c_proj(found.transpose(0, 1).flatten(1))
        x = x + block.mlp(block.ln_2(x))
    logits = model.lm_head(model.ln_f(x))
    return F.cross_entropy(logits[:-1], ids[1:]).item(), torch.stack(weights)


@pytest.fixture(scope="module")
def whole(model, ids):
    return run(model, ids)


def told(pattern):
    """The numbers in a sentence of the page."""
    found = re.search(pattern, PROSE)
    assert found, f"the page no longer says {pattern}"
    return [float(number) for number in found.groups()]


def test_the_passage_was_not_trained_on_and_is_as_long_as_told(model, ids):
    from scratchformer.data import load_corpus

    assert len(ids) == told(r"passage of (\d+) characters")[0]
    corpus = load_corpus("tinyshakespeare")
    if not corpus.is_real:
        pytest.skip("Tiny Shakespeare is not here")
    assert TEXT in corpus.text[int(0.9 * len(corpus.text)) :]
    assert TEXT not in corpus.text[: int(0.9 * len(corpus.text))]


def test_the_head_that_looks_back(model, whole):
    _, weights = whole
    back = torch.stack([weights.diagonal(-n, -2, -1).mean(dim=-1) for n in (1, 2)])  # (2, L, H)
    percent = 100 * back
    assert round(percent[0, 0, 2].item()) == told(r"it gives (\d+) % of its weight to the prev")[0]
    assert round(percent[1, 0, 0].item()) == told(r"it gives (\d+) % to the character before")[0]
    percent[0, 0, 2] = percent[1, 0, 0] = 0
    assert percent.max() < 50


def test_what_the_heads_are_worth(model, ids, whole):
    was, now = told(r"The loss rises from ([\d.]+) to (2[\d.]+) nats")
    base, _ = whole
    changes = {
        (i, h): run(model, ids, heads=[(i, h)])[0] - base for i in range(4) for h in range(4)
    }
    assert base == pytest.approx(was, abs=6e-4)
    assert base + changes.pop((0, 2)) == pytest.approx(now, abs=6e-4)
    assert changes.pop((0, 0)) == pytest.approx(told(r"worth ([\d.]+) nats")[0], abs=6e-4)
    assert max(changes.values()) < told(r"other fourteen less than ([\d.]+)\. Four of them")[0]
    assert sum(change < 0 for change in changes.values()) == 4
    assert min(changes.values()) > -0.01


def test_what_is_left_without_positions(model, ids):
    loss, _ = run(model, ids, positions=False)
    was, now, counted = told(
        r"Tick \*positions\* .*? The loss rises from ([\d.]+) to ([\d.]+) nats\. "
        r"That table has ([\d.]+) on"
    )
    assert loss == pytest.approx(now, abs=6e-4) and was == told(r"from ([\d.]+) to 2")[0]
    assert shipped_record(NAME)["losses"]["counted"]["1"] == pytest.approx(counted, abs=6e-4)
    assert loss > counted


def test_what_the_division_is_good_for(model, ids, whole):
    loss, weights = run(model, ids, scale=False)
    (now,) = told(r"√D\*\. .*? The loss rises to ([\d.]+) nats")
    factor, before, after = told(
        r"scores are now ([\d.]+) times .*? is ([\d.]+) on average with the division, and ([\d.]+) "
    )
    assert loss == pytest.approx(now, abs=6e-4)
    assert round(math.sqrt(32), 1) == factor
    for found, expected in ((whole[1], before), (weights, after)):
        assert found.max(dim=-1).values.mean().item() == pytest.approx(expected, abs=6e-3)


def test_the_future_disturbs_a_model_that_never_saw_it(model, ids):
    loss, weights = run(model, ids, causal=False)
    was, now, low, high = told(
        r"from ([\d.]+) to (3\.5[\d.]+) nats\. In training the model has "
        r".*? give it (\d+) to (\d+) % of"
    )
    assert loss == pytest.approx(now, abs=6e-4) and loss > was
    share = 100 * (weights * ~causal_mask(len(ids))).sum(dim=-1).mean(dim=(1, 2))  # (L,)
    assert [round(share.min().item()), round(share.max().item())] == [low, high]


def test_the_page_on_the_model_tells_its_sizes(model):
    description = describe(model, CharTokenizer.pretrained(NAME))
    letters, weights = len(description["weights"]), sum(p.numel() for p in model.parameters())
    source = (ROOT / "scratchformer_course" / "page_model" / "model.js").read_text(encoding="utf-8")
    assert f"{weights:,} weights" in MODEL_PAGE and f"{weights:,} weights" in PAGE
    assert f"{2 * weights / 1e6:.2f} MB of `float16` and {letters / 1e6:.2f} MB" in MODEL_PAGE
    losses = shipped_record(NAME)["losses"]
    assert losses["validation"] == losses["validation_float16"] == 1.4118
    assert "1.4118 nats\nbefore and after" in MODEL_PAGE
    finite = 2 * 31 * 1024  # signs, exponents below the last, fractions
    assert f"All {finite:,} finite numbers" in MODEL_PAGE
    assert source.count("\n") < 400 and "fewer than 400 lines" in MODEL_PAGE
    assert round(20e6 * 2 * 4 / 3 / 1e6) == 53 and "53 MB of text" in MODEL_PAGE
