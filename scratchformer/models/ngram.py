"""Counting instead of training: n-grams with interpolated Kneser–Ney smoothing.

The baseline a neural model has to beat. Plain numpy; an n-gram is packed into one 64-bit number
(its tokens are the digits in base vocab_size), so that counting is sorting.
"""

import numpy as np
from numpy.typing import ArrayLike  # a list, an array, or a torch tensor on the CPU


def _pack(ids: np.ndarray, n: int, vocab_size: int) -> np.ndarray:
    """All n-grams of `ids` in order, each as one number: (N,) -> (N - n + 1,)."""
    keys = np.zeros(len(ids) - n + 1, dtype=np.int64)
    for i in range(n):
        keys = keys * vocab_size + ids[i : len(ids) - n + 1 + i]
    return keys


class KneserNey:
    """A next-token model from the counts of 1- to `order`-grams.

    Each order takes a discount D from every count it has and hands the sum to the order below,
    down to the uniform distribution. Orders below the highest do not count how often an n-gram
    occurs but after how many different tokens ("Francisco" is frequent, yet only follows "San").
    D = n1 / (n1 + 2 n2) for each order, from the number of n-grams counted once and twice.
    Ney, Essen & Kneser 1994; Chen & Goodman 1999, section 2.7. Raises ValueError if order < 1.
    """

    def __init__(self, order: int):
        if order < 1:
            raise ValueError(f"order={order}, expected at least 1")
        self.order = order

    def fit(self, ids: ArrayLike, vocab_size: int) -> "KneserNey":
        """Count the n-grams of `ids`, forgetting earlier ones; returns self.

        Raises ValueError if there are fewer than `order` tokens, if one is not in
        0..vocab_size - 1, or if vocab_size ** order does not fit into 63 bits.
        """
        vocab_size = int(vocab_size)  # numpy's integers would overflow in silence
        if vocab_size**self.order >= 2**63:
            raise ValueError(
                f"vocab_size={vocab_size} to the power of order={self.order} is too large to "
                "number every n-gram, expected less than 2**63"
            )
        self.vocab_size = vocab_size
        ids = self._checked(ids)
        if len(ids) < self.order:
            raise ValueError(f"got {len(ids)} tokens, expected at least order={self.order}")
        self._levels = {}  # n -> (sorted n-grams, cumulative counts with a leading 0, discount)
        keys, counts = np.unique(_pack(ids, self.order, vocab_size), return_counts=True)
        for n in range(self.order, 0, -1):
            once, twice = (counts == 1).sum(), (counts == 2).sum()
            # A tiny text may have nothing that occurs once; no token may end up impossible.
            discount = once / (once + 2 * twice) if once else 0.5
            self._levels[n] = keys, np.concatenate(([0], np.cumsum(counts))), discount
            # Each distinct n-gram says once that its last n - 1 tokens can follow its first.
            keys, counts = np.unique(keys % vocab_size ** (n - 1), return_counts=True)
        return self

    def next_probabilities(self, context: ArrayLike) -> np.ndarray:
        """P(next token | context), shape (V,); uses the last order - 1 tokens or what there is."""
        context = self._checked(context)
        p = np.full(self.vocab_size, 1 / self.vocab_size)
        for n in range(1, min(self.order, len(context) + 1) + 1):
            key = _pack(context[len(context) - n + 1 :], n - 1, self.vocab_size)  # (1,)
            p = self._refine(n, key, np.arange(self.vocab_size), p)
        return p

    def probabilities(self, ids: ArrayLike) -> np.ndarray:
        """P(every token | tokens before it), at each token of `ids`: shape (N, V)."""
        ids = self._checked(ids)
        p = np.full((len(ids), self.vocab_size), 1 / self.vocab_size)
        for n in range(1, min(self.order, len(ids)) + 1):  # the first tokens have less context
            contexts = _pack(ids[:-1], n - 1, self.vocab_size)[:, None]  # (N - n + 1, 1)
            p[n - 1 :] = self._refine(n, contexts, np.arange(self.vocab_size), p[n - 1 :])
        return p

    def nats_per_token(self, ids: ArrayLike) -> float:
        """Mean of -log P(token | tokens before it) over all of `ids`, the first one included."""
        ids = self._checked(ids)
        if len(ids) == 0:
            raise ValueError("got no tokens to score, expected at least 1")
        p = np.full(len(ids), 1 / self.vocab_size)
        for n in range(1, min(self.order, len(ids)) + 1):  # the first tokens have less context
            contexts = _pack(ids[:-1], n - 1, self.vocab_size)  # (N - n + 1,)
            p[n - 1 :] = self._refine(n, contexts, ids[n - 1 :], p[n - 1 :])
        return float(-np.log(p).mean())

    def _refine(self, n: int, contexts, tokens, p) -> np.ndarray:
        """From the probability `p` of each token at order n - 1 to that at order n."""
        keys, cumulative, discount = self._levels[n]
        first = contexts * self.vocab_size  # n-grams with one context are neighbours in `keys`
        low, high = np.searchsorted(keys, first), np.searchsorted(keys, first + self.vocab_size)
        at = np.minimum(np.searchsorted(keys, first + tokens), len(keys) - 1)
        count = np.where(keys[at] == first + tokens, cumulative[at + 1] - cumulative[at], 0)
        total = cumulative[high] - cumulative[low]
        mixed = np.maximum(count - discount, 0) + discount * (high - low) * p
        return np.where(total > 0, mixed / np.maximum(total, 1), p)  # unseen context: as below

    def _checked(self, ids: ArrayLike) -> np.ndarray:
        ids = np.asarray(ids, dtype=np.int64)
        if ids.ndim != 1:
            raise ValueError(f"ids have shape {ids.shape}, expected one dimension")
        wrong = ids[(ids < 0) | (ids >= self.vocab_size)]
        if len(wrong):
            raise ValueError(f"got token {wrong[0]}, expected 0 to {self.vocab_size - 1}")
        return ids
