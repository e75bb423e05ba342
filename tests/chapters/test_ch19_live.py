"""The switches of chapter 19: weights, cache and differences in JavaScript are those of Python."""

import itertools

import pytest
import torch

from scratchformer.models import Llama, LlamaConfig
from scratchformer_course.ch19_since_gpt2.live import changes
from scratchformer_course.ch19_since_gpt2.model import CHANGES, MODERN, ChangedGPT, Sizes
from scratchformer_course.ch19_since_gpt2.worth import difference, measured, six, step_ratios, worth
from tests.node import Node

in_node = Node(F="ch19_since_gpt2/live.js")
SIZES = Sizes(65, 64, 64, 4, 2)


def run(*losses):
    return {"validation": list(losses), "rate": 0.01}


STORED = {
    "alone": {"none": run(2.0, 2.1, 2.3), "rotary": run(1.9, 2.05, 2.2), "experts": run(2.0)},
    "company": {
        "none": run(1.8, 1.9, 2.0),
        "rotary": run(1.9, 2.1, 2.0),
        "window": run(1.0, 1.0, 1.0),
    },
}


def test_weights_are_those_of_the_model():
    some = [set(), set(CHANGES), *({c} for c in CHANGES)]
    some += [set(pair) for pair in itertools.combinations(CHANGES, 2)]
    found = in_node(
        "return input.some.map((on) => F.weights(input.sizes, new Set(on)))",
        some=[sorted(on) for on in some],
        sizes=vars(SIZES),
    )
    for on, n in zip(some, found, strict=True):
        assert n == sum(p.numel() for p in ChangedGPT(SIZES, on).parameters()), on


@pytest.mark.parametrize("window", [None, 16])
def test_the_cache_is_that_of_llama(window):
    on = ["grouped", *(["window"] if window else [])]
    config = LlamaConfig(65, 64, 64, 4, 2, n_kv_heads=1, window=window)
    model, n = Llama(config), 40
    cache = model.new_cache()
    with torch.no_grad():
        for _ in range(n):
            model(torch.zeros(1, 1, dtype=torch.long), cache)
    held = sum(4 * (each.k.numel() + each.v.numel()) for each in cache)
    body = "return F.cache(input.sizes, new Set(input.on), input.n)"
    shown = in_node(body, sizes=vars(SIZES), on=on, n=n)
    one = 2 * SIZES.n_layers * 16 * 4  # the newest token, which a window's cache also shows
    assert shown == held - (one if window else 0)


def test_differences_are_pythons_and_of_pairs():
    pairs = [([1.0, 2.0, 3.5], [1.1, 1.9, 3.0]), ([1.0, 1.5], [2.0, 2.25])]
    found = in_node("return input.pairs.map(([a, b]) => F.difference(a, b))", pairs=pairs)
    assert found == [pytest.approx(list(difference(a, b))) for a, b in pairs]
    same = difference([1.0, 5.0, 9.0], [0.9, 4.9, 8.9])
    assert same.mean == pytest.approx(0.1) and same.half < 1e-9 and same.decides


def test_worth_is_what_a_change_adds():
    found = worth(STORED)
    assert set(found["alone"]) == {"rotary"} and set(found["company"]) == {"rotary", "window"}
    assert found["alone"]["rotary"].mean == pytest.approx(-0.25 / 3)
    assert found["company"]["rotary"].mean == pytest.approx(-0.1)  # with it less than without it
    assert found["company"]["window"].mean == pytest.approx(-0.9)


def test_a_step_with_a_change_is_compared_with_the_same_rounds_step_without():
    alone = {"none": [4.0, 2.0, 8.0], "rotary": [6.0, 2.2, 8.8]}
    company = {"none": [6.0, 3.0, 12.0], "rotary": [3.0, 2.0, 6.0], "window": [6.0, 6.0, 6.0]}
    found = step_ratios({"seconds": {"alone": alone, "company": company}})
    assert found["alone"] == {"rotary": pytest.approx(1.1)}
    assert found["company"] == {"rotary": pytest.approx(2.0), "window": pytest.approx(1.0)}
    stored = STORED | {"seconds": {"alone": alone, "company": company}}
    difference, ratio = six(stored)
    assert difference.mean == pytest.approx(-0.7 / 3) and ratio == pytest.approx(1.5)


def test_the_figure_holds_every_run_with_seeds_and_says_them_without_javascript():
    figure = changes(SIZES, STORED)
    runs = {tuple(names): losses for names, losses in figure.settings["runs"]}
    six = tuple(c for c in MODERN if c != "rotary")
    assert set(runs) == {(), ("rotary",), MODERN, six, (*MODERN, "window")}
    assert len(measured(STORED)) == 5 and figure.still.count("<tr>") == 6
    assert "the six without rotation" in figure.still and "−0.083" in figure.still
