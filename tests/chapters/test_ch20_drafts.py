"""Chapter 20's drafts: the text is distributed as the model's own, pass by pass and whole.

The loop is the page's: its cells are read from the notebook.
"""

import itertools
import random

import nbformat
import pytest
import torch
from readers import ROOT
from torch.nn import functional

from scratchformer.attention import KeyValueCache
from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer_course.ch20_inference import exercises

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


class Bigram:
    """A model that knows the last token; it reads with a cache, and insists on reading all."""

    context_length = 64
    p = torch.randn(V, V, generator=torch.Generator().manual_seed(1)).softmax(dim=-1)

    def new_cache(self):
        return [KeyValueCache(self.context_length)]

    def __call__(self, ids, cache):
        cache[0].append(*torch.zeros(2, 1, 1, ids.shape[1], 1))
        return self.p[ids].log()


@pytest.fixture(scope="module")
def speculate():
    """The page's loop."""
    notebook = nbformat.read(ROOT / "notebooks" / "20_inference.ipynb", as_version=4)
    cells = {cell["id"]: cell.source for cell in notebook.cells}
    rewind = cells["inf-10"].split("def rewind")[1].split("big =")[0]
    names = {"torch": torch, "F": functional, "accepted": exercises.accepted.right}
    for source in (f"def rewind{rewind}", cells["at-54"], cells["inf-54b"]):
        exec(source, names)
    return names["speculate"]


def by_rows(p):
    """A draft from a table: the last token -> a row of probabilities."""

    def draft(text, most, temperature, g):
        tokens, q = [], torch.zeros(most, p.shape[1])
        for i in range(most):
            row = p[[*text, *tokens][-1]]
            q[i] = row if temperature else torch.eye(len(row))[row.argmax()]
            tokens.append(int(torch.multinomial(q[i], 1, generator=g)))
        return tokens, q

    return draft


def test_a_whole_text_is_distributed_as_the_models_own(speculate):
    model, draft = Bigram(), by_rows(torch.tensor([0.1, 0.2, 0.3, 0.4]).expand(V, V))
    tries, counts = 1500, torch.zeros(V, V, V)
    for seed in range(tries):
        text, passes = speculate(model, [0], 3, draft, 2, seed=seed)
        counts[tuple(text[1:])] += 1
        assert 1 <= passes <= 3
    expected = tries * model.p[0][:, None, None] * model.p[:, :, None] * model.p[None]
    common = expected > 5
    apart = ((counts - expected).square() / expected)[common].sum()
    assert apart < 1.6 * common.sum(), (apart, common.sum())


@pytest.mark.parametrize("k", [0, 3])
def test_greedy_text_with_a_cache_is_that_of_generate(speculate, k):
    torch.manual_seed(0)
    gpt = GPT(GPTConfig(12, 48, d_model=24, n_heads=2, n_layers=2)).eval()
    for p in gpt.parameters():
        p.data *= 8  # a model that is sure of something
    draft = by_rows(torch.randn(12, 12).softmax(dim=-1))
    for start in ([3], [1, 2, 3, 4, 5]):
        alone = generate(gpt, torch.tensor([start]), 30, temperature=0.0)[0].tolist()
        text, passes = speculate(gpt, start, 30, draft, k, 0)
        assert text == alone and (passes == 30 if k == 0 else passes <= 30)
