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

from scratchformer.attention import causal_mask
from scratchformer.data import load_corpus
from scratchformer.models import GPT
from scratchformer.shipped import shipped_record
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model import describe
from scratchformer_course.page_model.fewer_bits import in_int8, round_model
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
    return round_model(GPT.pretrained(NAME))


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


def test_the_passage_was_not_trained_on_and_is_as_long_as_told(ids):
    assert not absent(PAGE, str(len(ids)))
    corpus = load_corpus("tinyshakespeare")
    if not corpus.is_real:
        pytest.skip("Tiny Shakespeare is not here")
    cut = int(0.9 * len(corpus.text))
    assert TEXT in corpus.text[cut:] and TEXT not in corpus.text[:cut]


def test_the_heads_that_look_back(whole):
    _, weights = whole
    back = torch.stack([weights.diagonal(-n, -2, -1).mean(dim=-1) for n in (1, 2)])  # (2, L, H)
    percent = 100 * back
    assert not absent(PAGE, f"{percent[0, 0, 2]:.0f}", f"{percent[1, 0, 0]:.0f}")
    block, head = divmod(percent[0].argmax().item(), 4)
    assert answer("looks-back") == f"{block + 1} | {head + 1}"
    percent[0, 0, 2] = percent[1, 0, 0] = 0
    assert percent.max() < 50


def test_what_the_heads_are_worth(model, ids, whole):
    base, _ = whole
    changes = {
        (i, h): run(model, ids, heads=[(i, h)])[0] - base for i in range(4) for h in range(4)
    }
    looks_back, other = changes.pop((0, 2)), changes.pop((0, 0))
    assert not absent(PAGE, f"{base:.3f}", f"{base + looks_back:.3f}", f"{other:.3f}")
    assert answer("worth-of-the-head") == f"{looks_back:.3f}"
    assert max(changes.values()) < 0.1 and sum(change < 0 for change in changes.values()) == 4


def test_what_is_left_without_positions_division_and_mask(model, ids, whole):
    without = {name: run(model, ids, **{name: False}) for name in ("positions", "scale", "causal")}
    assert not absent(PAGE, *(f"{loss:.3f}" for loss, _ in without.values()))
    counted = shipped_record(NAME)["losses"]["counted"]["1"]
    assert not absent(PAGE, f"{counted:.3f}") and without["positions"][0] > counted
    assert answer("without-positions") == "no"
    assert without["scale"][0] < without["positions"][0] and answer("without-division") == "less"
    assert without["causal"][0] > whole[0] and answer("without-mask") == "rises"
    largest = (w.max(dim=-1).values.mean() for w in (whole[1], without["scale"][1]))
    assert not absent(PAGE, f"{math.sqrt(32):.1f}", *(f"{x:.2f}" for x in largest))
    future = without["causal"][1] * ~causal_mask(len(ids))
    shares = 100 * future.sum(dim=-1).mean(dim=(1, 2))  # (L,)
    assert not absent(PAGE, f"{shares.min():.0f}", f"{shares.max():.0f}")


def test_what_is_carried_over_restores_the_shares_told(model):
    """Activation patching by the parts of the model, without the view's code."""
    tok = CharTokenizer.pretrained(NAME)
    section = PAGE.split("### Is a head")[1].split("### ")[0].split("\n## ")[0]
    texts = re.search(r"Prompt = (.*?) \| Altered text = (.*?)\"", section).groups()
    clean, altered = (torch.tensor([tok.encode(text)]) for text in texts)
    T, H = clean.shape[1], model.config.n_heads
    changed = (clean != altered)[0].nonzero().flatten().tolist()
    assert changed == [11, 12]

    @torch.no_grad()
    def run(ids, put=None, put_head=None):
        """Logits at the end, the stream and heads by block; (block, place) may be another's."""
        x = model.wte(ids) + model.wpe.weight[:T]
        stream, outputs, weights = [], [], []
        for i, block in enumerate(model.h):
            qkv = block.attn.c_attn(block.ln_1(x)).view(1, T, 3, H, -1).permute(2, 0, 3, 1, 4)
            q, k, v = qkv  # (1, H, T, D)
            scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~causal_mask(T), -math.inf)
            weights.append(scores.softmax(dim=-1)[0])
            heads = scores.softmax(dim=-1) @ v
            if put_head and put_head[0] == i:
                heads[0, put_head[1], -1] = put_head[2][i][0, put_head[1], -1]
            outputs.append(heads.clone())
            x = x + block.attn.c_proj(heads.transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
            if put and put[0] == i:
                x[0, put[1]] = put[2][i][0, put[1]]
            stream.append(x.clone())
        return model.lm_head(model.ln_f(x))[0, -1], stream, outputs, weights

    (end, stream, outputs, weights), (other, *_) = run(clean), run(altered)
    one, two = end.argmax().item(), other.argmax().item()
    assert (tok.decode([one]), tok.decode([two])) == ("t", " ")

    def share(logits):
        now, full, none = ((z[one] - z[two]).item() for z in (logits, end, other))
        return 100 * (now - none) / (full - none)

    restored = {
        (i, h): share(run(altered, put_head=(i, h, outputs))[0]) for i in range(4) for h in range(4)
    }
    on = {(i, h): 100 * weights[i][h, -1, changed].sum().item() for i, h in restored}
    assert abs(restored[2, 0]) < 0.5 and answer("weight-and-worth") == "nothing"
    assert sorted(restored, key=restored.get)[-2:] == [(3, 2), (3, 3)]
    cells = {(i, t): share(run(altered, put=(i, t, stream))[0]) for i in (0, 2) for t in range(T)}
    told = [restored[3, 3], restored[3, 2], on[2, 0], on[3, 3]]
    told += [cells[at] for at in ((0, 12), (0, 11), (0, 13), (2, 20))]
    assert not absent(section, *(f"{n:.0f}" for n in told))
    assert max(abs(cells[2, t]) for t in range(13, 20)) < 5


def test_the_page_on_the_model_tells_its_sizes(model):
    described = describe(model, CharTokenizer.pretrained(NAME))
    letters = [len(each["weights"]) for each in (described, in_int8(described))]
    weights = sum(p.numel() for p in model.parameters())
    losses, fewer = shipped_record(NAME)["losses"], load_measurements("page_bits")
    assert losses["validation"] == losses["validation_float16"]
    assert round(fewer["validation"]["16"], 4) == losses["validation"]
    assert round(fewer["validation"]["row"]["8"], 4) == losses["validation"]
    finite = 2 * 31 * 1024  # signs, exponents below the last, fractions
    told = [f"{weights:,}", f"{2 * weights / 1e6:.2f}", f"{finite:,}"]
    told += [f"{n / 1e6:.2f}" for n in letters] + [f"{0.75 * letters[1] / 1e6:.2f}"]
    told += [f"{losses['validation']:.4f}", f"{fewer['largest_change_of_a_logit']:.2f}"]
    told += [f"{fewer['validation'][each]['8']:.4f}" for each in ("tensor", "group")]
    assert not absent(MODEL_PAGE, *told)
    assert not absent(PAGE, f"{weights:,}")
