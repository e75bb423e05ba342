"""The time machine: its checkpoints are what their record says, its JavaScript gives PyTorch's."""

import random

import pytest
import torch
import torch.nn.functional as F

from scratchformer.attention import recorded_attention
from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch11_training.live import time_machine
from scratchformer_course.ch11_training.stored_steps import (
    STORED,
    load_checkpoints,
    training_record,
)
from scratchformer_course.page_model import describe
from tests.node import Node

NAME = "tiny-shakespeare"  # whose tokenizer it is
COUNTED = {"1-grams": 3.35, "2-grams": 2.49}
LINE = "First Servant:\nThe king is come."
LOOK = """return input.given.map(([described, prompt, rules]) => {
  const model = course.model.load(described);
  const tokenizer = course.tokenizer.load(described.tokenizer);
  const ids = tokenizer.encode(prompt).slice(-model.config.context_length);
  return time.look({ model, tokenizer }, ids, rules); })"""
in_node = Node(
    "page_model/model.js",
    "page_model/tokenizer.js",
    time="ch11_training/live.js",
)


@pytest.fixture(scope="module")
def checkpoints():
    return load_checkpoints()


@pytest.fixture(scope="module")
def tok():
    return CharTokenizer.pretrained(NAME)


@pytest.fixture(scope="module")
def record():
    return training_record()


@pytest.fixture(scope="module")
def figure(checkpoints, tok, record):
    losses = {int(step): loss for step, loss in record["validation"].items()}
    return time_machine(checkpoints, tok, losses, COUNTED, LINE)


def small(steps=(0, 3), V=11, seed=0, **sizes):
    """Checkpoints of a small GPT, with large random weights that float16 holds."""
    generator, found = torch.Generator().manual_seed(seed), []
    options = {"context_length": 12, "d_model": 8, "n_heads": 2, "n_layers": 2} | sizes
    for step in steps:
        model = GPT(GPTConfig(V, **options)).eval()
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(torch.randn(p.shape, generator=generator).half() / 2)
        found.append((step, model))
    return found


def letters(n):
    return CharTokenizer("".join(chr(ord("a") + i) for i in range(n)))


# ---- what is shipped ----


def test_steps_rise_from_zero_and_the_record_knows_each(checkpoints, record):
    steps = [step for step, _ in checkpoints]
    assert steps[0] == 0 and steps == sorted(set(steps)) and 18 <= len(steps) <= 24
    assert steps[-1] == record["settings"]["training"]["steps"]
    for split in ("development", "validation"):
        assert list(record[split]) == [str(step) for step in steps]
    assert record["validation"]["0"] == pytest.approx(4.17, abs=0.1), "ln 65: it knows nothing"
    rates = record["rates"]["development"]
    best, tried = min(rates, key=rates.get), list(rates)
    assert float(best) == record["settings"]["training"]["lr"]
    assert best not in (tried[0], tried[-1]), "the sweep has a bottom"


def test_the_first_checkpoint_is_the_start_of_the_run(checkpoints, record):
    torch.manual_seed(record["settings"]["training"]["seed"])
    fresh = dict(GPT(checkpoints[0][1].config).named_parameters())
    for name, p in checkpoints[0][1].named_parameters():
        assert torch.equal(p, fresh[name].half().float()), name
    for model in (model for _, model in checkpoints):
        assert not model.training
        assert all(torch.equal(p, p.half().float()) for p in model.parameters())


def test_they_are_small_enough_for_the_repository_and_for_a_page(figure):
    assert STORED.stat().st_size <= 3_000_000
    weights = sum(len(description["weights"]) for description in figure.descriptions)
    assert weights <= 4_000_000 and len(figure.html().encode()) <= 4_200_000


# ---- the JavaScript ----


def test_attention_losses_and_greedy_text_are_pytorchs_for_models_of_any_size():
    draw, given, expected = random.Random(0), [], []
    for seed in range(6):
        V, T, H = draw.randint(2, 20), draw.randint(3, 14), draw.randint(1, 3)
        sizes = {"context_length": T, "d_model": H * draw.randint(1, 4), "n_heads": H}
        ((_, model),) = small((0,), V, seed, n_layers=draw.randint(1, 3), **sizes)
        prompt, line = (
            "".join(chr(ord("a") + draw.randrange(V)) for _ in range(draw.randint(2, T)))
            for _ in range(2)
        )
        written = draw.randint(1, 2 * T)  # past the context too
        tok = letters(V)
        rules = {"line": line, "written": written, "temperature": 0, "seed": 1}
        given.append([describe(model, tok), prompt, rules])
        ids, line_ids = torch.tensor([tok.encode(prompt)]), torch.tensor(tok.encode(line))
        with torch.no_grad():
            with recorded_attention(model) as weights:
                model(ids)
            nats = F.cross_entropy(model(line_ids[None])[0, :-1], line_ids[1:], reduction="none")
        text = tok.decode(
            generate(model, ids, written, temperature=0.0)[0, ids.shape[1] :].tolist()
        )
        heads = [weights[f"h.{i}.attn"][0].flatten().tolist() for i in range(len(model.h))]
        expected.append((heads, nats.tolist(), text))
    for ours, (heads, nats, text) in zip(in_node(LOOK, given=given), expected, strict=True):
        for a, b in zip(ours["attention"], heads, strict=True):
            assert a == pytest.approx(b, abs=1e-4)
        assert ours["losses"] == pytest.approx(nats, abs=1e-3)
        assert ours["text"] == text


# ---- the figure ----


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": (3, 0)}, r"got the steps \[3, 0\], expected at least two that rise"),
        ({"losses": {0: 1.0, 3: float("nan")}}, "got the loss nan, expected a finite"),
        ({"line": "a"}, "line has 1 tokens, expected 2 to 12"),
    ],
)
@pytest.mark.usefixtures("plain_signatures")
def test_what_cannot_be_shown_is_told(changes, message):
    options = {"losses": {0: 2.0, 3: 1.0}, "counted": {"x": 1.5}, "line": "abc", "prompt": "ab"}
    options |= changes
    checkpoints = small(options.pop("steps", (0, 3)))
    with pytest.raises(ValueError, match=message):
        time_machine(checkpoints, letters(11), **options)
