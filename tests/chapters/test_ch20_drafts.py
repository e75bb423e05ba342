"""Chapter 20's drafts: the text is distributed as the model's own, pass by pass and whole.

The loop is the page's: its cells are read from the notebook.
"""

import itertools
import random
from pathlib import Path

import nbformat
import pytest
import torch

from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer_course.ch20_inference import exercises
from scratchformer_course.ch20_inference.largest import LargestTensor

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "20_inference.ipynb"
V = 4
EIGHTHS = [row for row in itertools.product(range(9), repeat=V) if sum(row) == 8]
DRAFTS = [row for row in EIGHTHS if set(row) <= {1, 2, 4}]  # p / q is a number of eighths


@pytest.mark.parametrize("rule", exercises.accepted.solutions)
def test_the_first_token_of_a_pass_has_exactly_the_probabilities_of_the_model(rule):
    pairs = random.Random(0).sample(list(itertools.product(EIGHTHS, DRAFTS)), 60)
    for p, q in pairs:
        p, q = torch.tensor([p, [2, 2, 2, 2]]) / 8, torch.tensor([q]) / 8
        chance = torch.zeros(V)
        for token, i in itertools.product(range(V), range(8)):
            kept, rest = rule(p, q, [token], [(i + 0.5) / 8])
            chance += q[0, token] / 8 * (torch.eye(V)[token] if kept else rest)
        assert torch.allclose(chance, p[0], atol=1e-6), (p, q)


class Layer:
    """A cache that only counts."""

    def __init__(self):
        self.length = 0

    def __len__(self):
        return self.length


class Bigram:
    """A model that knows the last token; it reads with a cache, and insists on reading all."""

    context_length = 64

    def __init__(self):
        logits = torch.randn(V, V, generator=torch.Generator().manual_seed(1))
        self.p = logits.softmax(dim=-1)

    def new_cache(self):
        return [Layer()]

    def __call__(self, ids, cache):
        cache[0].length += ids.shape[1]
        return self.p[ids].log()


def page(model, vocabulary):
    """The names of the page's loop, with a model of ours."""
    cells = {cell["id"]: cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells}
    rewind = cells["inf-10"].split("def rewind")[1].split("@torch")[0]
    names = {"torch": torch, "gpt": model, "V": vocabulary, "accepted": exercises.keep}
    for source in (f"def rewind{rewind}", cells["inf-54"], cells["inf-54b"]):
        exec(source, names)
    return names


def test_a_whole_text_is_distributed_as_the_models_own():
    model = Bigram()
    speculate, q = page(model, V)["speculate"], torch.tensor([0.1, 0.2, 0.3, 0.4])
    tries, counts = 1500, torch.zeros(V, V, V)
    for seed in range(tries):
        text, passes = speculate([0], 3, lambda text: q, lambda q, n: n < 2, seed=seed)
        counts[tuple(text[1:])] += 1
        assert sum(passes) == 3
    p = model.p
    expected = tries * p[0][:, None, None] * p[:, :, None] * p[None]
    common = expected > 5
    apart = ((counts - expected).square() / expected)[common].sum()
    assert apart < 1.6 * common.sum(), (apart, common.sum())


@pytest.fixture(scope="module")
def gpt():
    torch.manual_seed(0)
    gpt = GPT(GPTConfig(12, 48, d_model=24, n_heads=2, n_layers=2)).eval()
    for p in gpt.parameters():
        p.data *= 8  # a model that is sure of something
    return gpt


@pytest.mark.parametrize("k", [0, 3])
def test_greedy_text_with_a_cache_is_that_of_generate(gpt, k):
    q = torch.randn(12, 12, generator=torch.Generator().manual_seed(2)).softmax(dim=-1)
    speculate = page(gpt, 12)["speculate"]
    for start in ([3], [1, 2, 3, 4, 5]):
        alone = generate(gpt, torch.tensor([start]), 30, temperature=0.0)[0].tolist()
        text, passes = speculate(start, 30, lambda text: q[text[-1]], lambda q, n: n < k, 0)
        assert text == alone and sum(passes) == 30


def test_the_small_world_of_exercise_4_counts_as_its_draws_do():
    p, q = exercises._world()
    assert torch.allclose(p.sum(1), torch.ones(6)) and torch.allclose(q.sum(1), torch.ones(6))
    assert exercises.tokens_per_cost(lambda q, n: False) == pytest.approx(1)
    g, last, written, cost = torch.Generator().manual_seed(0), 0, 0, 0.0
    for _ in range(2000):
        start, draft = last, []
        for _ in range(3):
            last = int(torch.multinomial(q[last], 1, generator=g))
            draft.append(last)
        before = [start, *draft]
        u = torch.rand(3, generator=g).tolist()
        n, rest = exercises.keep(p[before], q[before[:-1]], draft, u)
        last = int(torch.multinomial(rest, 1, generator=g))
        written, cost = written + n + 1, cost + exercises.PASS + 3 * exercises.TOKEN
    assert exercises.tokens_per_cost(lambda q, n: n < 3) == pytest.approx(written / cost, rel=0.05)


def test_the_largest_tensor_is_the_largest_result():
    with LargestTensor() as seen:
        (torch.ones(3, 4) @ torch.ones(4, 50)).sum()
    assert seen.numbers == 200
