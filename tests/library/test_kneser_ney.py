"""Kneser–Ney: a probability distribution, equal to a slow independent one and to hand counts."""

import math
from collections import Counter

import numpy as np
import pytest
from refusals import refused

from scratchformer.models import KneserNey


class SlowKneserNey:
    """The textbook formulas read literally: tuples in dictionaries, recursion over orders."""

    def __init__(self, ids, order, vocab_size):
        self.vocab_size = vocab_size
        self.counts = {order: Counter(zip(*(ids[i:] for i in range(order)), strict=False))}
        for n in range(order - 1, 0, -1):
            longer = self.counts[n + 1]
            self.counts[n] = Counter(gram[1:] for gram in longer)  # over distinct longer n-grams

    def probability(self, context, token):
        n = len(context) + 1
        below = 1 / self.vocab_size if n == 1 else self.probability(context[1:], token)
        following = {g[-1]: c for g, c in self.counts[n].items() if g[:-1] == tuple(context)}
        if not following:
            return below
        counted = Counter(self.counts[n].values())  # how many n-grams occur once, twice, …
        d = counted[1] / (counted[1] + 2 * counted[2]) if counted[1] else 0.5
        kept = max(following.get(token, 0) - d, 0)
        return (kept + d * len(following) * below) / sum(following.values())


@pytest.mark.parametrize("order", [1, 3])
def test_equals_the_slow_textbook_form(order):
    skewed = 7 * np.random.default_rng(0).random(380) ** 2  # some n-grams often, some never
    train, held_out = np.split(skewed.astype(np.int64), [300])
    slow, fast = SlowKneserNey(train.tolist(), order, 7), KneserNey(order).fit(train, 7)
    contexts = [held_out[max(0, i - order + 1) : i].tolist() for i in range(80)]
    expected = np.array([[slow.probability(c, token) for token in range(7)] for c in contexts])
    np.testing.assert_allclose(fast.probabilities(held_out), expected, atol=1e-14)
    for i in (0, 1, 2, 40):
        np.testing.assert_allclose(fast.next_probabilities(held_out[:i]), expected[i], atol=1e-14)
    nats = -np.log(expected[np.arange(80), held_out]).mean()
    assert fast.nats_per_token(held_out) == pytest.approx(nats, abs=1e-12)


def test_abab_c_by_hand():
    # a b a b c with V = 4. Bigrams: ab 2, ba 1, bc 1, so n1 = 2, n2 = 1 and D = 2 / 4 = 1/2.
    # Continuations: b after a; a after b; c after b: each 1, so n1 = 3, n2 = 0, D = 1 and
    # the unigrams hand everything down: P(w) = 1 * 3 / 3 * 1/4 = 1/4.
    model = KneserNey(2).fit([0, 1, 0, 1, 2], vocab_size=4)
    np.testing.assert_allclose(model.next_probabilities([]), [1 / 4] * 4)
    # After a: b kept (2 - 1/2) / 2 = 3/4; one kind of follower hands on 1/2 * 1 / 2 = 1/4.
    np.testing.assert_allclose(model.next_probabilities([0]), np.array([1, 13, 1, 1]) / 16)
    # After b: a and c kept 1/4 each; two kinds hand on 1/2 * 2 / 2 = 1/2.
    np.testing.assert_allclose(model.next_probabilities([1]), np.array([3, 1, 3, 1]) / 8)
    # After c nothing was seen: the unigrams answer.
    np.testing.assert_allclose(model.next_probabilities([2]), [1 / 4] * 4)
    without_singletons = KneserNey(2).fit([0, 0, 0, 0], vocab_size=3)
    assert math.isfinite(without_singletons.nats_per_token([0, 1, 2, 2])), "unseen tokens"


def scored(ids, order=2):
    return lambda: KneserNey(order).fit([0, 1, 2], 5).nats_per_token(ids)


test_errors_say_what_was_expected = refused(
    {
        "order=0, expected at least 1": scored([0], order=0),
        "vocab_size=50257 to the power of order=5": lambda: KneserNey(5).fit([0] * 9, 50257),
        "got token 5, expected 0 to 4": scored([0, 1, 5]),
        "got 3 tokens, expected at least order=4": scored([0], order=4),
        "no tokens to score": scored([]),
        "expected one dimension": scored([[0, 1]]),
    }
)
