"""The heart of byte-pair encoding: learn merges from weighted words, and apply them in order.

Works on pieces of any type that can be hashed and joined with `+`: `str` for WordBPE, `bytes`
for ByteBPE. It does not split text into words and knows nothing of ids.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TypeVar

Piece = TypeVar("Piece", str, bytes)


def learn_merges(words: list[list[Piece]], counts: list[int]) -> Iterator[tuple[Piece, Piece]]:
    """Merge the most frequent adjacent pair, again and again; yield each pair when it is merged.

    `words[i]` is a distinct word as a list of pieces, `counts[i]` how often it occurs; the lists
    in `words` are rewritten as merges happen. Of equally frequent pairs the one seen first, in
    the order of `words`, wins. The caller decides when to stop.

    The merges are those of the textbook loop, which recounts all pairs at every step
    (Sennrich et al. 2016, algorithm 1). Here a merge visits only the words that hold its pair,
    and changes only the counts of the pairs around it. Ties are searched one by one, so the far
    end, where hundreds of pairs occur twice, is slow: beyond some 10,000 merges on a megabyte.
    """
    pair_counts = defaultdict(int)  # (left, right) -> occurrences
    where = defaultdict(set)  # (left, right) -> indices of words that hold the pair, or once did
    for i, word in enumerate(words):
        for pair in pairwise(word):
            pair_counts[pair] += counts[i]
            where[pair].add(i)
    by_count = defaultdict(set)  # occurrences -> the pairs that have so many
    for pair, n in pair_counts.items():
        by_count[n].add(pair)

    def seen_first(pair):
        for i in sorted(where[pair]):
            for j, here in enumerate(pairwise(words[i])):
                if here == pair:
                    return i, j
        raise AssertionError(f"{pair} is counted but stands in no word")

    top = max(by_count, default=0)
    while top > 0:
        if not (tied := by_count[top]):
            top -= 1  # no pair is ever more frequent than the one just merged
            continue
        best = min(tied, key=seen_first) if len(tied) > 1 else next(iter(tied))
        tied.remove(best)
        left, right = best
        joined = left + right
        change = defaultdict(int)  # (left, right) -> occurrences won or lost by this merge
        for i in where.pop(best):
            word, n, j = words[i], counts[i], 0
            while j + 1 < len(word):
                if word[j] == left and word[j + 1] == right:
                    if j > 0:
                        change[word[j - 1], left] -= n
                        change[word[j - 1], joined] += n
                        where[word[j - 1], joined].add(i)
                    if j + 2 < len(word):
                        change[right, word[j + 2]] -= n
                        change[joined, word[j + 2]] += n
                        where[joined, word[j + 2]].add(i)
                    word[j : j + 2] = [joined]
                j += 1
        change.pop(best, None)
        del pair_counts[best]
        for pair, delta in change.items():
            if delta:
                by_count[pair_counts[pair]].discard(pair)
                pair_counts[pair] += delta
                by_count[pair_counts[pair]].add(pair)
        yield best


def apply_merges(word: Iterable[Piece], rank: Callable[[Piece, Piece], int | None]) -> list[Piece]:
    """Join the adjacent pair that was learned earliest, the leftmost first, until none is left.

    `rank(left, right)` is the place of the pair in the order of learning, None if it was never
    learned. The time grows with the square of the word's length: words are short.
    """
    word = list(word)
    while True:
        ranks = [(r, j) for j, p in enumerate(pairwise(word)) if (r := rank(*p)) is not None]
        if not ranks:
            return word
        _, j = min(ranks)
        word[j : j + 2] = [word[j] + word[j + 1]]
