"""Playhouse: the same text everywhere, one derivation for each, and an entropy that is true."""

import functools
import hashlib
import itertools
import math
import re

import pytest

from scratchformer.data.playhouse import RULES, Playhouse, _others, _read_grammar


def test_the_text_of_a_seed_is_the_same_everywhere_and_as_long_as_asked():
    text = Playhouse(seed=0).text(200_000)
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "1e3c2af9e8ac9b5e34fe514644389cc35a8219f49d638092934bf10223ebbcaf"
    )
    assert Playhouse(seed=0).text(1234) == text[:1234] != Playhouse(seed=4).text(1234)


def test_an_ambiguous_grammar_is_refused():
    with pytest.raises(ValueError, match="two alternatives of B begin with the same word"):
        _read_grammar("A: x B  B: the cat | C  C: a dog | the dog  NAME: Ann | Bob")


@functools.cache
def by_first_word(symbol):
    """Word -> the place of that alternative of a symbol which begins with it."""
    if symbol not in RULES:
        return {symbol: 0}
    choices = RULES[symbol].alternatives
    return {word: i for i, parts in enumerate(choices) for word in by_first_word(parts[0])}


def log_prob(text):
    """ln of the probability that the stream begins with these scenes, read word by word."""
    words = [word.replace("\n", "/") for word in re.findall(r"\n+|[,.;:?]|[^\s,.;:?]+", text)]
    log_p, stack = 0.0, []  # what the scene still has to spell, the next symbol last
    for word, other in zip(words, _others(words), strict=True):
        word = "OTHER" if word == other else word
        stack = stack or ["SCENE"]
        while (symbol := stack.pop()) in RULES:
            chosen = by_first_word(symbol)[word]  # a word leaves one way to go on
            log_p += math.log(RULES[symbol].probabilities[chosen])
            stack.extend(reversed(RULES[symbol].alternatives[chosen]))
        assert symbol == word
    assert not stack
    return log_p


def test_the_exact_entropy_agrees_with_the_measured_log_probability_of_many_scenes():
    scenes = list(itertools.islice(Playhouse(seed=1).scenes(), 2000))
    entropy = Playhouse(seed=1).entropy_per_char()
    costs = [-log_prob(scene) for scene in scenes]
    n, length = len(scenes), sum(map(len, scenes))
    measured = sum(costs) / length
    # Standard error of a ratio of sums (delta method): that of the residuals' mean over the
    # mean length.
    residuals = [c - measured * len(scene) for c, scene in zip(costs, scenes, strict=True)]
    error = math.sqrt(sum(r * r for r in residuals) / (n - 1) / n) / (length / n)
    assert error < 0.007 * entropy  # else agreement would mean little
    assert abs(measured - entropy) < 4 * error
