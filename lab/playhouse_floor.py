"""What a reader of windows can reach at best on Playhouse -> playhouse_floor.json.

Usage: python -m lab.playhouse_floor [--quick | --write]

A model that reads windows of 64 characters cannot reach the entropy of the text: at the start of
a window it does not know what came before. The least loss that it can have follows from the
grammar. It is computed here on a sample of windows, in less than a minute.
"""

import math
import statistics
from collections import defaultdict
from functools import cache, lru_cache
from graphlib import TopologicalSorter

from lab import runs
from scratchformer.data.playhouse import RULES, Playhouse

WINDOW, WINDOWS, SEED = 64, 300, 9
SETTINGS = {"window": WINDOW, "windows": WINDOWS, "seed": SEED}

# A node is (the words and symbols still to come, whether a line has just begun, which of the two
# characters speaks). A guess is (node, its spelling, characters of it already seen, the names known
# so far). Guesses with weights are all that a reader knows.


@cache
def names_for(known: tuple, role: int) -> list[tuple[tuple, float]]:
    """(the names known so far, with that of `role`; chance) for each name it could be."""
    if known[role]:
        return [(known, 1.0)]
    chances: dict[tuple, float] = defaultdict(float)
    for first, p in zip(RULES["CAST"].alternatives, RULES["CAST"].probabilities, strict=True):
        others = RULES[f"NOT-{first[0]}"]
        for second, q in zip(others.alternatives, others.probabilities, strict=True):
            pair = (first[0], second[0])
            if all(name in (None, drawn) for name, drawn in zip(known, pair, strict=True)):
                chances[(*known[:role], pair[role], *known[role + 1 :])] += p * q
    total = sum(chances.values())
    return [(names, chance / total) for names, chance in chances.items()]


@cache
def opened(stack: tuple) -> list[tuple[tuple, float]]:
    """(stack with a word on top, chance): all that the symbol on top may become."""
    rule, below = RULES.get(stack[-1]), stack[:-1]
    if stack[-1] == "CAST":
        return [((*below, "SECOND", "and", "FIRST"), 1.0)]
    if rule is None:
        return [(stack, 1.0)]
    choices = zip(rule.alternatives, rule.probabilities, strict=True)
    return [(s, p * q) for parts, p in choices for s, q in opened(below + parts[::-1])]


@cache
def following(node: tuple) -> list[tuple[tuple, float]]:
    """(node, chance) for each that can follow; behind the last word a new scene begins."""
    (*below, word), _, speaker = node
    speaker = speaker ^ (word == ":") if below else 0
    return [((s, word[0] == "/", speaker), p) for s, p in opened(tuple(below) or ("SCENE",))]


@cache
def spellings(node: tuple, known: tuple) -> list[tuple[str, tuple, float]]:
    """(characters, names known afterwards, chance) for each way to write the word on top."""
    stack, line_begins, speaker = node
    word = stack[-1]
    if word in ("/", "//"):
        return [("\n" * len(word), known, 1.0)]
    space = "" if line_begins or word in ",.;:?" else " "
    if word not in ("FIRST", "SECOND", "OTHER"):
        return [(space + word, known, 1.0)]
    role = {"FIRST": 0, "SECOND": 1, "OTHER": speaker}[word]
    return [(space + names[role], names, p) for names, p in names_for(known, role)]


def after(guesses: dict, character: str) -> dict:
    """The guesses that foresaw the character, moved on by it."""
    moved: dict[tuple, float] = defaultdict(float)
    for (node, text, seen, known), weight in guesses.items():
        if text[seen] != character:
            continue
        if seen + 1 < len(text):
            moved[node, text, seen + 1, known] += weight
            continue
        known = known if len(node[0]) > 1 else (None, None)  # a new scene, a new cast
        for n, p in following(node):
            for spelled, names, q in spellings(n, known):
                moved[n, spelled, 0, names] += weight * p * q
    return moved


def anywhere() -> dict[str, dict]:
    """The guesses of a reader who opens the text at any place, by the next character."""
    starts = [((stack, True, 0), p) for stack, p in opened(("SCENE",))]
    graph: dict[tuple, list[tuple]] = {}  # node -> all that can follow it in its scene
    waiting = [node for node, _ in starts]
    while waiting:
        node = waiting.pop()
        if node not in graph:
            graph[node] = [n for n, _ in following(node)] if len(node[0]) > 1 else []
            waiting += graph[node]
    order = [*TopologicalSorter(graph).static_order()]  # each behind all that can follow it
    visits = defaultdict(float, starts)
    for node in reversed(order):
        for n, p in following(node) if len(node[0]) > 1 else []:
            visits[n] += visits[node] * p
    guesses: dict[str, dict] = defaultdict(dict)
    for node, visited in visits.items():
        for text, names, p in spellings(node, (None, None)):
            for i, character in enumerate(text):
                guesses[character][node, text, i, names] = visited * p
    return guesses


def window_floor(T: int, windows: int, seed: int) -> tuple[float, float]:
    """The least loss of a model that reads Playhouse in windows of T, and its standard error.

    In nats a character; the first character of a window is given. From a sample of windows: how
    much more each costs a reader who opens the text there than one who read the whole scene. That
    difference varies little, and the cost of the second reader is the entropy, which is exact.
    """
    text = Playhouse(seed).text(1000 * windows)
    surprise: list[float] = []
    guesses: dict[tuple, float] = {}
    for node, p in [((stack, True, 0), p) for stack, p in opened(("SCENE",))]:
        for spelled, names, q in spellings(node, (None, None)):
            guesses[node, spelled, 0, names] = p * q
    for character in text:
        before, guesses = sum(guesses.values()), after(guesses, character)
        now = sum(guesses.values())
        surprise.append(math.log(before / now))
        guesses = {guess: weight / now for guess, weight in guesses.items()}

    opening, extra = anywhere(), []
    first = lru_cache(maxsize=None)(lambda c: after(opening[c], c))
    second = lru_cache(maxsize=None)(lambda pair: after(first(pair[0]), pair[1]))
    for i in range(windows):
        window = text[(start := 1000 * i + 500) : start + T + 1]
        guesses, cost = first(window[0]), -sum(surprise[start + 1 : start + T + 1])
        for t, character in enumerate(window[1:], 1):
            before = sum(guesses.values())
            guesses = second(window[:2]) if t == 1 else after(guesses, character)
            cost += math.log(before / sum(guesses.values()))
        extra.append(cost / T)
    error = statistics.stdev(extra) / windows**0.5
    return Playhouse().entropy_per_char() + statistics.mean(extra), error


def measure(options) -> dict:
    """What is stored."""
    windows = 15 if options.quick else WINDOWS
    floor, error = window_floor(WINDOW, windows, SEED)
    return {"entropy": Playhouse().entropy_per_char(), "floor": floor, "standard_error": error}


main = runs.script(__doc__, "playhouse_floor", measure, SETTINGS)


if __name__ == "__main__":
    main()
