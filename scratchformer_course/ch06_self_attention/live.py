"""Self-attention on a few words: press one, see what it reads, and change W_q or W_k. And a head of
SmolLM2 on any text.

Calculated here is only the row that stands on a page without JavaScript, and without the mask.
"""

import math
from collections.abc import Sequence
from html import escape

from scratchformer_course.ch06_self_attention.exercises import FEATURES
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import RECORDED, still_chances, table
from scratchformer_course.measurements import load_measurements

Matrix = Sequence[Sequence[float | int]]

# The head that opens chapter 06, which writes these matrices cell by cell
SENTENCE = "the old king sleeps".split()
KINDS = "article adjective noun verb royal aged asleep".split()
LOOKS_FOR = [[4, 0], [4, 0], [0, 4], [4, 0], [0, 0], [0, 0], [0, 0]]  # a noun, a verb
FOUND_BY = [[0, 0], [0, 0], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]
HAND = 0.5  # radians a word
GIVES = [[0, 0, 0]] * 4 + [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def old_king() -> LiveFigure:
    """*the old king sleeps*: the first head of chapter 06, in which an adjective finds its noun.

    x is (T, C), W_q and W_k are (C, D) and can be edited, and W_v is (C, E). There is no mask at
    first, and *old* asks.
    """
    settings = {
        "words": SENTENCE,
        "features": KINDS,
        "columns": ["noun", "verb"],
        "gives": KINDS[4:],
        "x": [FEATURES[word] for word in SENTENCE],
        "W_q": LOOKS_FOR,
        "W_k": FOUND_BY,
        "W_v": GIVES,
        "asks": SENTENCE.index("old"),
    }
    return LiveFigure("attention_steps", settings, _still(settings))


def young_maid() -> LiveFigure:
    """*the old king loves the young maid*, with a hand that turns: the plan of exercise 6.2.

    It begins as the first head does, which asks for a noun alone; both columns of the hand are
    empty. Only the rows of W_q and W_k that the exercise needs are there to be edited.
    """
    words = "the old king loves the young maid".split()
    kinds = {"loves": "sleeps", "young": "old", "maid": "king"}
    x = []
    for t, word in enumerate(words):
        kind = FEATURES[kinds.get(word, word)][:4]
        means = FEATURES[word][4:] if word in FEATURES else [0, 0, 0]
        x.append([*kind, *means, math.cos(HAND * t), math.sin(HAND * t)])
    W_q, W_k = ([[0] * 3 for _ in range(9)] for _ in "qk")
    W_q[1][0], W_k[2][0] = 4, 1
    settings = {
        "words": words,
        "features": [*KINDS, "cos", "sin"],
        "columns": ["noun", "cos", "sin"],
        "gives": KINDS[4:],
        "x": x,
        "W_q": W_q,
        "W_k": W_k,
        "W_v": [*GIVES, [0, 0, 0], [0, 0, 0]],
        "asks": words.index("young"),
        "shown": [1, 2, 7, 8],
        "step": HAND,
        "pairs": [[1, 2], [5, 6]],
    }
    q, keys = _times(x[5], W_q), [_times(word, W_k) for word in x]
    grown = [
        math.exp(sum(a * b for a, b in zip(q, key, strict=True)) / math.sqrt(3)) for key in keys
    ]
    rows = [(word, f"{one / sum(grown):.2f}") for word, one in zip(words, grown, strict=True)]
    still = "<p>JavaScript brings this figure to life.</p>" + table(("young reads", "weight"), rows)
    return LiveFigure("near_noun", settings, still)


def real_head() -> LiveFigure:
    """Head 24.5 of SmolLM2 and its neighbours, on the chapter's sentence and on the reader's."""
    stored = load_measurements("real_endings")
    found, heads = stored["head"], stored["settings"]["heads"]
    recorded = {name: found[name] for name in ("text", "pieces", "maps", "next")}
    settings = {"block": stored["settings"]["block"], "heads": heads, "chosen": 5}
    T, at = len(found["pieces"]), heads.index(5)
    rows = []
    for t, piece in enumerate(found["pieces"]):
        if piece == " is":
            weights = found["maps"][at][t * T : (t + 1) * T]
            most = max(range(T), key=weights.__getitem__)
            rows.append(
                (f"is, at place {t}", escape(found["pieces"][most]), f"{weights[most]:.2f}")
            )
    still = f"{RECORDED}<p>{escape(found['text'])}</p>" + table(
        ("head 24.5", "looks at", "with"), rows
    )
    still += still_chances(("with all heads", "without 24.5"), found["next"][at])
    return LiveFigure("real_head", {**settings, "recorded": recorded}, still)


def _times(vector: Sequence[float | int], matrix: Matrix) -> list[float | int]:
    """vector (C) @ matrix (C, D) -> (D)"""
    return [
        sum(a * b for a, b in zip(vector, column, strict=True))
        for column in zip(*matrix, strict=True)
    ]


def _still(s: dict) -> str:
    """The row of one word, as a table: for a page without JavaScript."""
    words, row, x = s["words"], s["asks"], s["x"]
    q = _times(x[row], s["W_q"])
    keys = [_times(vector, s["W_k"]) for vector in x]
    values = [_times(vector, s["W_v"]) for vector in x]
    scores = [sum(a * b for a, b in zip(q, key, strict=True)) for key in keys]
    scaled = [score / math.sqrt(len(q)) for score in scores]
    grown = [math.exp(score - max(scaled)) for score in scaled]
    weights = [number / sum(grown) for number in grown]
    mixture = _times(weights, values)
    columns = (
        map(escape, words),
        map(_vector, keys),
        map(_number, scores),
        map(_number, scaled),
        (f"{weight:.2f}" for weight in weights),
        map(_vector, values),
    )
    head = ("word", "key", "q · k", f"÷ √{len(q)}", "weight", "value")
    learnt = ", ".join(
        f"{escape(n)} {_digits(m)}" for n, m in zip(s["gives"], mixture, strict=True)
    )
    return (
        "<p>This figure is live where JavaScript runs: there every number of W_q and W_k can be "
        f"changed. Here is one row of it. <em>{escape(words[row])}</em> asks, with the query "
        f"{_vector(q)}.</p>{table(head, zip(*columns, strict=True))}"
        f"<p>The weights mix the values. <em>{escape(words[row])}</em> gets: {learnt}.</p>"
    )


def _number(number: float | int) -> str:
    """A whole number as it is, any other with two digits."""
    is_whole = abs(number - round(number)) < 1e-9
    return str(round(number)).replace("-", "−") if is_whole else _digits(number)


def _digits(number: float | int) -> str:
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _vector(numbers: Sequence[float | int]) -> str:
    return f"({', '.join(map(_number, numbers))})"
