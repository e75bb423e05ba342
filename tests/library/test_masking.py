"""Masked-language modelling: what is chosen, what becomes of it, and what is a target."""

import math

import torch
from refusals import refused

from scratchformer.data.masking import IGNORED, mask_tokens

PAD, SEP, MASK, V = 0, 1, 2, 40
# 50,000 ordinary tokens, rows that end in SEP, PAD and a MASK that was there before
IDS = torch.randint(3, V, (500, 103), generator=torch.Generator().manual_seed(9))
IDS[:, 100:] = torch.tensor([SEP, PAD, MASK])


def masked(ids=IDS, seed=0, V=V, **options):
    generator = torch.Generator().manual_seed(seed)
    return mask_tokens(ids, MASK, V, (PAD, SEP), generator=generator, **options)


def within(count, n, p):
    """Five standard deviations of a binomial: a right program fails once in two million."""
    return abs(int(count) - n * p) < 5 * math.sqrt(n * p * (1 - p))


def test_the_shares_are_those_of_the_paper_and_targets_the_old_tokens():
    before, (inputs, targets), again, other = IDS.clone(), masked(), masked(), masked(seed=4)
    chosen = targets != IGNORED
    n = int(chosen.sum())
    assert within(n, 50_000, 0.15)
    to_mask, same = (inputs == MASK) & chosen, (inputs == IDS) & chosen
    assert within(to_mask.sum(), n, 0.8)
    # one random token in 37 happens to be the old one
    assert within(same.sum(), n, 0.1 + 0.1 / 37)
    assert within((chosen & ~to_mask & ~same).sum(), n, 0.1 * 36 / 37)
    assert targets[chosen].equal(IDS[chosen]) and inputs[~chosen].equal(IDS[~chosen])
    assert inputs.equal(again[0]) and targets.equal(again[1]) and not targets.equal(other[1])
    assert IDS.equal(before)


def test_special_and_padding_tokens_are_never_chosen_and_never_put_in():
    inputs, targets = masked(rate=1.0)
    assert (targets[:, :100] != IGNORED).all() and (targets[:, 100:] == IGNORED).all()
    assert inputs[:, 100:].equal(IDS[:, 100:])
    put_in = inputs[:, :100][inputs[:, :100] != MASK]
    assert set(put_in.tolist()) == set(range(3, V))  # every ordinary token, and no other
    inputs, targets = masked(rate=0.0)
    assert inputs.equal(IDS) and (targets == IGNORED).all()


test_what_cannot_be_masked_is_refused = refused(
    {
        r"rate=1\.5, expected a probability": lambda: masked(rate=1.5),
        "all 3 tokens are special": lambda: masked(IDS[:, 100:], V=3),
        "mask_id=2, expected 0 to 1": lambda: masked(IDS[:, 100:102], V=2),
    }
)
