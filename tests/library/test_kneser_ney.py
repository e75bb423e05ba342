"""Kneser–Ney: a probability distribution, equal to a slow independent one and to hand counts."""

import math
from collections import Counter

import numpy as np
import pytest

from scratchformer.models import KneserNey


def random_ids(n, vocab_size, seed=0):
    """A skewed random text: some n-grams often, some never."""
    generator = np.random.default_rng(seed)
    return (vocab_size * generator.random(n) ** 2).astype(np.int64)


class SlowKneserNey:
    """The textbook formulas read literally: tuples in dictionaries, recursion over orders."""

    def __init__(self, ids, order, vocab_size):
        self.order, self.vocab_size = order, vocab_size
        occurrences = Counter(tuple(ids[i : i + order]) for i in range(len(ids) - order + 1))
        self.counts = {order: occurrences}
        for n in range(order - 1, 0, -1):
            longer = self.counts[n + 1]
            self.counts[n] = Counter(gram[1:] for gram in longer)  # over distinct longer n-grams

    def discount(self, n):
        ones = sum(c == 1 for c in self.counts[n].values())
        twos = sum(c == 2 for c in self.counts[n].values())
        return ones / (ones + 2 * twos) if ones else 0.5

    def probability(self, context, token):
        n = len(context) + 1
        below = 1 / self.vocab_size if n == 1 else self.probability(context[1:], token)
        following = {g[-1]: c for g, c in self.counts[n].items() if g[:-1] == tuple(context)}
        if not following:
            return below
        d, total = self.discount(n), sum(following.values())
        kept = max(following.get(token, 0) - d, 0) / total
        return kept + d * len(following) / total * below

    def nats_per_token(self, ids):
        logs = [
            math.log(self.probability(ids[max(0, i - self.order + 1) : i], ids[i]))
            for i in range(len(ids))
        ]
        return -sum(logs) / len(logs)


@pytest.mark.parametrize("order", [1, 3])
def test_equals_the_slow_textbook_form(order):
    train, held_out = random_ids(300, 7).tolist(), random_ids(80, 7, seed=1).tolist()
    slow, fast = SlowKneserNey(train, order, 7), KneserNey(order).fit(train, 7)
    assert fast.nats_per_token(held_out) == pytest.approx(slow.nats_per_token(held_out), abs=1e-12)
    for i in (0, 1, 2, 40):
        context = held_out[max(0, i - order + 1) : i]
        expected = [slow.probability(context, token) for token in range(7)]
        np.testing.assert_allclose(fast.next_probabilities(held_out[:i]), expected, atol=1e-14)


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
    # Scoring b c a: P(b) = 1/4, P(c | b) = 3/8, P(a | c) = 1/4.
    expected = -math.log(1 / 4 * 3 / 8 * 1 / 4) / 3
    assert model.nats_per_token([1, 2, 0]) == pytest.approx(expected)


def test_the_example_of_the_page_about_it_is_the_librarys():
    # book/kneser_ney.md counts after the first letter of abracadabra: D = 0.4, a share of 0.3
    letters = "abcdr"
    model = KneserNey(2).fit([letters.index(letter) for letter in "abracadabra"], vocab_size=5)
    expected = 0.3 * np.array([3, 1, 1, 1, 1]) / 7 + np.array([0, 1.6, 0.6, 0.6, 0]) / 4
    np.testing.assert_allclose(model.next_probabilities([0]), expected)
    np.testing.assert_allclose(model.next_probabilities([]), np.array([3, 1, 1, 1, 1]) / 7)


def test_unseen_tokens_and_text_without_singletons_get_finite_loss():
    model = KneserNey(2).fit([0, 0, 0, 0], vocab_size=3)
    assert math.isfinite(model.nats_per_token([0, 1, 2, 2]))


def test_errors_say_what_was_expected():
    with pytest.raises(ValueError, match="order=0, expected at least 1"):
        KneserNey(0)
    for order, ids, vocab_size, words in (
        (5, [0, 1, 2, 3, 4], 50257, "vocab_size=50257 to the power of order=5 is too large"),
        (2, [0, 1, 5], 5, "got token 5, expected 0 to 4"),
        (3, [0, 1], 5, "got 2 tokens, expected at least order=3"),
    ):
        with pytest.raises(ValueError, match=words):
            KneserNey(order).fit(ids, vocab_size)
    for ids, words in (([], "no tokens to score"), ([[0, 1]], "one dimension")):
        with pytest.raises(ValueError, match=words):
            KneserNey(2).fit([0, 1, 2], 5).nats_per_token(ids)
