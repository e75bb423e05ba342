"""The time machine: its checkpoints are of the recorded run, its JavaScript gives PyTorch's; and
the valley, whose path is Python's.
"""

import itertools
import math
import random

import pytest
import torch

from scratchformer.attention import recorded_attention
from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer.models.heads import silenced
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch11_training.live import RATES, adamw, descend, noises, valley
from scratchformer_course.ch11_training.stored_steps import load_checkpoints, training_record
from scratchformer_course.page_model import describe
from tests.node import Node

SCRIPTS = {"time": "ch11_training/live.js", "valley": "ch11_training/valley.js"}
in_node = Node("page_model/model.js", "page_model/tokenizer.js", **SCRIPTS)
LOOK = """return input.given.map(([described, prompt, rules]) => {
  const model = course.model.load(described);
  const tokenizer = course.tokenizer.load(described.tokenizer);
  return time.look({ model, tokenizer }, tokenizer.encode(prompt), rules); })"""


def test_the_checkpoints_are_of_the_recorded_run_from_its_start_on():
    checkpoints, record = load_checkpoints(), training_record()
    torch.manual_seed(record["settings"]["training"]["seed"])
    fresh = dict(GPT(checkpoints[0][1].config).named_parameters())
    for name, p in checkpoints[0][1].named_parameters():
        assert torch.equal(p, fresh[name].half().float()), name
    assert not any(model.training for _, model in checkpoints)
    assert [str(step) for step, _ in checkpoints] == list(record["validation"])


def test_attention_and_greedy_text_are_pytorchs_with_all_heads_and_without_one():
    draw, given, expected = random.Random(0), [], []
    for seed in range(6):
        V, T, H = draw.randint(2, 20), draw.randint(3, 14), draw.randint(1, 3)
        model = GPT(GPTConfig(V, T, H * draw.randint(1, 4), H, draw.randint(1, 3))).eval()
        g = torch.Generator().manual_seed(seed)
        letters = [chr(ord("a") + i) for i in range(V)]
        tok = CharTokenizer("".join(letters))
        prompt = "".join(draw.choices(letters, k=draw.randint(2, T)))
        written = draw.randint(1, 2 * T)  # past the context too
        off = [(draw.randrange(len(model.h)), draw.randrange(H))] * draw.randint(0, 1)
        heads_off = [(block + 1, head + 1) for block, head in off]
        ids = torch.tensor([tok.encode(prompt)])
        with torch.no_grad(), silenced(model, heads_off), recorded_attention(model) as weights:
            for p in model.parameters():
                p.copy_(torch.randn(p.shape, generator=g).half() / 2)
            model(ids)
        with torch.no_grad(), silenced(model, heads_off):
            text = generate(model, ids, written, temperature=0.0)[0, ids.shape[1] :].tolist()
        rules = {"written": written, "temperature": 0, "seed": 1, "off": {"heads": off}}
        given.append([describe(model, tok), prompt, rules])
        heads = [weights[f"h.{i}.attn"][0].flatten().tolist() for i in range(len(model.h))]
        expected.append((heads, tok.decode(text)))
    for ours, (heads, text) in zip(in_node(LOOK, given=given), expected, strict=True):
        for a, b in zip(ours["attention"], heads, strict=True):
            assert a == pytest.approx(b, abs=1e-4)
        assert ours["text"] == text


def test_the_number_below_a_map_is_its_largest_mean_weight_at_one_of_four_distances():
    generator, given, expected = torch.Generator().manual_seed(0), [], []
    for T in (2, 3, 5, 9, 26):
        scores = torch.randn(T, T, generator=generator).masked_fill(
            torch.ones(T, T).triu(1) > 0, -9
        )
        weights = (3 * scores).softmax(dim=1)
        given.append([weights.flatten().tolist(), T])
        means = [weights.diagonal(-k).mean().item() for k in range(1, min(5, T))]
        expected.append((max(means), 1 + means.index(max(means))))
    body = "return input.given.map(([weights, T]) => time.lookBack(weights, T))"
    for shown, (weight, distance) in zip(in_node(body, given=given), expected, strict=True):
        assert shown["weight"] == pytest.approx(weight, abs=1e-5)
        assert shown["distance"] == distance
    assert in_node("return time.lookBack([1], 1).weight") == 0


def test_the_path_in_the_valley_is_pythons_at_every_rate_momentum_and_steepness():
    runs = [(0.07, 0.0, 25.0), (0.1, 0.5, 25.0), (0.005, 0.95, 60.0), (0.5, 0.3, 2500.0)]
    steps = [(0.3, 25.0), (0.0005, 100.0), (0.5, 2500.0)]
    body = """const { runs, steps, settings } = input;
    return [
      ...runs.map(([rate, keep, steep]) => valley.descend(rate, keep, steep, settings)),
      ...steps.map(([rate, steep]) => valley.adamw(rate, steep, settings)),
      valley.descend(0.1, 0.5, 25, settings, { noise: settings.noises[1], falls: true }),
    ];"""
    paths = in_node(body, runs=runs, steps=steps, settings=valley().settings)
    expected = [descend(*run) for run in runs] + [adamw(*run) for run in steps]
    expected.append(descend(0.1, 0.5, noise=noises()[1], falls=True))
    for shown, ours in zip(paths, expected, strict=True):
        assert len(shown) == 21
        for place, wanted in zip(shown, ours, strict=True):
            assert place == pytest.approx(wanted, rel=1e-9)


def test_adamws_path_does_not_move_as_the_valley_gets_steeper_and_the_others_leave_it():
    steeper = map(float, valley().settings["steeper"])
    for steep in steeper:
        for place, wanted in zip(adamw(0.3, steep), adamw(0.3), strict=True):
            assert place == pytest.approx(wanted, abs=1e-7)
    for rate, keep in (0.07, 0.0), (0.1, 0.5):
        assert max(map(abs, descend(rate, keep)[-1])) < 3
        assert max(map(abs, descend(rate, keep, 60.0)[-1])) > 50


def test_twelve_runs_with_noise_end_nearer_where_the_rate_falls():
    draws = noises()

    def far(rate: float, keep: float, falls: bool) -> float:
        ends = [descend(rate, keep, noise=noise, falls=falls)[-1] for noise in draws]
        return sum(math.hypot(*end) for end in ends) / len(ends)

    at_one = [far(0.11, 0.5, falls) for falls in (False, True)]
    assert at_one == pytest.approx([0.90, 0.43], abs=0.005), "the page says so"
    sliders = list(itertools.product(RATES, (hundredths / 100 for hundredths in range(0, 100, 5))))
    best = [min(far(*setting, falls) for setting in sliders) for falls in (False, True)]
    assert best == pytest.approx([0.54, 0.42], abs=0.005), "the page says so"


def test_momentum_comes_home_at_a_steepness_of_100_and_adamw_nearly():
    assert math.hypot(*descend(0.03, 0.75, 100.0)[-1]) == pytest.approx(0.03, abs=0.005)
    ends = {rate: math.hypot(*adamw(rate)[-1]) for rate in RATES}
    best = min(ends, key=ends.__getitem__)
    assert best == 0.55 and max(RATES) > best, "the page says so, and a higher rate is tried"
    assert ends[0.55] == pytest.approx(0.27, abs=0.005)
