"""What a GPT costs, in JavaScript: equal to the package, to real models and to what they hold."""

import random

import pytest
import torch
from torch.nn import functional as F

from scratchformer import scaling
from scratchformer.models import GPT, GPTConfig
from scratchformer_course.ch15_costs.memory import most_at_once
from tests.node import Node

in_node = Node(F="ch15_costs/live.js")
SIZES = ("vocab_size", "context_length", "d_model", "n_layers")
PARTS = {  # of the package, by the names in the figure
    "token table": "token embedding",
    "position table": "position embedding",
    "attention": "attention",
    "feed-forward": "feed-forward",
    "norms": "norms",
}
PRODUCTS = {
    "attention's matrices": "attention projections",
    "scores and mixing": "attention scores and mixing",
    "feed-forward": "feed-forward",
    "output head": "output head",
}


def fuzzed(n=60):
    draw = random.Random(0)
    return [
        {
            "vocab_size": draw.randint(2, 60_000),
            "context_length": draw.choice((1, 7, 64, 1024, 2048)),
            "d_model": 16 * draw.randint(1, 300),
            "n_layers": draw.randint(1, 48),
        }
        for _ in range(n)
    ]


def test_parameters_and_operations_are_the_packages_part_by_part():
    sizes = fuzzed()
    body = "return input.sizes.map((size) => [F.parameters(size), F.operations(size)])"
    for size, (parameters, operations) in zip(sizes, in_node(body, sizes=sizes), strict=True):
        config = GPTConfig(**size, n_heads=1)
        counted = scaling.count_parameters(config)
        assert parameters == {ours: counted[theirs] for ours, theirs in PARTS.items()}
        forward = scaling.forward_flops(config)
        T = size["context_length"]
        assert {name: n * T for name, n in operations.items()} == {
            ours: 3 * forward[theirs] for ours, theirs in PRODUCTS.items()
        }


def test_the_batch_that_fits_is_the_largest_by_the_rule_of_the_chapter():
    """16 bytes for each parameter, 4 ((16 L + 2) C + 3 V) for each token of a batch."""
    draw = random.Random(1)
    cases = [[draw.choice((10**7, 8 * 10**9, 24 * 10**9, 80 * 10**9)), s] for s in fuzzed()]
    cases.append([10**7, dict(zip(SIZES, (65, 64, 48, 3), strict=True))])
    body = """return input.cases.map(([most, size]) =>
      [F.largestBatch(most, size), F.memory(size, 3)])"""
    for (most, size), (fits, held) in zip(cases, in_node(body, cases=cases), strict=True):
        V, T, C, L = (size[name] for name in SIZES)
        n = sum(scaling.count_parameters(GPTConfig(**size, n_heads=1)).values())
        assert held["weights"] + held["gradients"] + held["optimiser"] == 16 * n
        text = T * 4 * ((16 * L + 2) * C + 3 * V)
        assert held["activations"] + held["three tables of logits"] == 3 * text
        assert fits == max(0, (most - 16 * n) // text)
    assert fits == 12


@pytest.mark.parametrize(
    ("sizes", "mixed"),
    [((2000, 32, 48, 2), True), ((2000, 32, 48, 2), False), ((300, 16, 96, 5), False)],
)
def test_the_worst_moment_of_a_step_is_what_pytorch_holds(mixed, sizes):
    V, T, C, L = sizes
    model, B = GPT(GPTConfig(V, T, C, 4, L)), 16
    x, y = (torch.randint(V, (B, T)) for _ in range(2))

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()

    size = dict(zip(SIZES, sizes, strict=True))
    body = "return F.memory(input.size, input.B, { mixed: input.mixed })"
    held = in_node(body, size=size, B=B, mixed=mixed)
    assert ("copies in 16 bits" in held) is mixed
    beside = held["weights"] + held["gradients"] + held["optimiser"]
    expected = sum(held.values()) - beside
    if L * 16 * C < V:  # else the worst moment comes later, among the blocks
        assert most_at_once(step, exclude=model.parameters()) == pytest.approx(expected, rel=0.03)
    else:
        assert most_at_once(step, exclude=model.parameters()) > 0.9 * expected
