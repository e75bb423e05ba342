"""Masked-language modelling: what is chosen, what becomes of it, and what is a target."""

import math

import pytest
import torch

from scratchformer.data.masking import mask_tokens
from scratchformer.training.losses import IGNORED

PAD, SEP, MASK, V = 0, 1, 2, 40
SPECIAL = (PAD, SEP)


def masked(ids, seed=0, **options):
    return mask_tokens(
        ids, MASK, V, SPECIAL, generator=torch.Generator().manual_seed(seed), **options
    )


@pytest.fixture
def ids():
    """50,000 ordinary tokens, rows that end in SEP, PAD and a MASK that was there before."""
    ids = torch.randint(3, V, (500, 103), generator=torch.Generator().manual_seed(9))
    ids[:, 100:] = torch.tensor([SEP, PAD, MASK])
    return ids


def within(count, n, p):
    """Five standard deviations of a binomial: a right program fails once in two million."""
    return abs(count - n * p) < 5 * math.sqrt(n * p * (1 - p))


@pytest.mark.parametrize("rate", [0.15, 0.4])
def test_the_shares_are_those_of_the_paper(ids, rate):
    inputs, targets = masked(ids, rate=rate)
    chosen = targets != IGNORED
    n = int(chosen.sum())
    assert within(n, 50_000, rate)
    to_mask, same = (inputs == MASK) & chosen, (inputs == ids) & chosen
    assert within(int(to_mask.sum()), n, 0.8)
    # one random token in 37 happens to be the old one
    assert within(int(same.sum()), n, 0.1 + 0.1 / 37)
    assert within(int((chosen & ~to_mask & ~same).sum()), n, 0.1 * 36 / 37)


def test_targets_are_the_old_tokens_and_a_seed_repeats_what_is_chosen(ids):
    before = ids.clone()
    (inputs, targets), again, other = masked(ids, 3), masked(ids, 3), masked(ids, 4)
    chosen = targets != IGNORED
    assert targets[chosen].equal(ids[chosen]) and inputs[~chosen].equal(ids[~chosen])
    assert inputs.equal(again[0]) and targets.equal(again[1]) and not targets.equal(other[1])
    assert ids.equal(before)


def test_special_and_padding_tokens_are_never_chosen_and_never_put_in(ids):
    inputs, targets = masked(ids, rate=1.0)
    assert (targets[:, :100] != IGNORED).all() and (targets[:, 100:] == IGNORED).all()
    assert inputs[:, 100:].equal(ids[:, 100:])
    put_in = inputs[:, :100][inputs[:, :100] != MASK]
    assert set(put_in.tolist()) == set(range(3, V))  # every ordinary token, and no other


def test_nothing_chosen_is_no_error():
    for ids, rate in ((torch.full((2, 3), PAD), 1.0), (torch.full((2, 3), 5), 0.0)):
        inputs, targets = masked(ids, rate=rate)
        assert inputs.equal(ids) and (targets == IGNORED).all()


def test_what_cannot_be_masked_is_refused():
    with pytest.raises(ValueError, match=r"rate=1\.5, expected a probability"):
        masked(torch.arange(5), rate=1.5)
    with pytest.raises(ValueError, match="all 3 tokens are special"):
        mask_tokens(torch.zeros(1, 2, dtype=torch.long), MASK, 3, SPECIAL)
