"""A table that fills until it fails, and a ball under five cups that a table follows, live."""

from itertools import combinations
from string import ascii_uppercase

import torch
from torch import Tensor
from torch.nn.functional import normalize

from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.kit.figure.still import table

SIZE, KEYS, START, DECAY, SHARP = 16, 40, 8, 0.95, 64.0
CUPS, BALL, SWAPS, BETA = 5, 2, 10_000, 2.0
RULES = ("sum", "decay", "delta")
WITHOUT = (
    "<p>This figure is live where JavaScript runs, and in a notebook after its cell has run. "
    "Without it, the table shows {}.</p>"
)
Writes = list[tuple[int, int]]  # a key's number and a letter's, in the order of writing


def pairs_to_write() -> dict:
    """Keys and codes of letters, all of length 1, a letter for each key, and another one."""
    g = torch.Generator().manual_seed(2)
    drawn = normalize(torch.randn(KEYS + 26, SIZE, generator=g), dim=1)
    rounded = [[round(x, 3) for x in row] for row in drawn.tolist()]
    first = torch.randint(26, (KEYS,), generator=g)
    later = (first + torch.randint(1, 26, (KEYS,), generator=g)) % 26
    return {
        "keys": rounded[:KEYS],
        "codes": rounded[KEYS:],
        "first": first.tolist(),
        "later": later.tolist(),
        "letters": ascii_uppercase,
        "start": START,
        "decay": DECAY,
    }


def recalled(settings: dict, writes: Writes, rule: str) -> list[list[int]]:
    """For each key that was written: its number, and its letter by the table and by the cache."""
    keys, codes = (torch.tensor(settings[name]).double() for name in ("keys", "codes"))
    rows = torch.zeros(SIZE, SIZE).double()
    for key, letter in writes:
        k, v = keys[key], codes[letter]
        old = k @ rows if rule == "delta" else 0 * v
        rows = (settings["decay"] if rule == "decay" else 1) * rows + torch.outer(k, v - old)
    asked = list(dict.fromkeys(key for key, _ in writes))
    written, values = (torch.tensor(each) for each in zip(*writes, strict=True))
    shares = (SHARP * (keys[asked] @ keys[written].T)).softmax(dim=1)
    by_table, by_cache = (
        (read @ codes.T).argmax(dim=1) for read in (keys[asked] @ rows, shares @ codes[values])
    )
    return torch.stack((torch.tensor(asked), by_table, by_cache), dim=1).tolist()


def fixed_table() -> LiveFigure:
    """Pairs of a number and a letter, in a table of fixed size and in a cache."""
    settings, lines = pairs_to_write(), []
    for n in (START, 16, 24, KEYS):
        found = recalled(settings, list(enumerate(settings["first"][:n])), "sum")
        table_right, cache_right = (
            sum(row[i] == settings["first"][row[0]] for row in found) for i in (1, 2)
        )
        numbers = f"{4 * SIZE**2:,}", f"{cache_right}", f"{8 * SIZE * n:,}"
        lines.append((f"{n}", f"{table_right}", *numbers))
    head = ("pairs written", "right by the table", "bytes", "right by the cache", "bytes")
    still = WITHOUT.format("how many letters come back") + table(head, lines)
    return LiveFigure("fixed_table", settings, still)


PAIRS = list(combinations(range(CUPS), 2))


def swaps(n: int) -> list[tuple[int, int]]:
    """The swaps of the figure, the same each time."""
    state, found = 21, []
    for _ in range(n):
        state = (1664525 * state + 1013904223) % 2**32
        found.append(PAIRS[state * len(PAIRS) // 2**32])
    return found


def follow(n: int, beta: float) -> tuple[Tensor, int]:
    """After n swaps: the table (5, 5), written to with strength beta, and the ball's cup."""
    rows, at = torch.eye(CUPS).double(), BALL
    for i, j in swaps(n):
        change = beta * (rows[i] - rows[j]) / 2
        rows[i] -= change
        rows[j] += change
        at = {i: j, j: i}.get(at, at)
    return rows, at


def ball_and_cups() -> LiveFigure:
    """Five cups, and a table that follows what is under each."""
    settings = {"cups": CUPS, "ball": BALL, "pairs": PAIRS, "beta": BETA, "swaps": SWAPS}
    settings["most"] = 100_000
    lines = []
    for beta in (2.0, 1.9, 1.0):
        for n in (2, 20, SWAPS):
            rows, at = follow(n, beta)
            numbers = " ".join(f"{x:.2f}" for x in rows[:, BALL].tolist())
            lines.append((f"{beta:.2f}", f"{n:,}", f"{at + 1}", numbers))
    head = ("β", "swaps", "the ball’s cup", "what the table has for cups 1 to 5")
    still = WITHOUT.format("the column of the ball") + table(head, lines)
    return LiveFigure("ball_and_cups", settings, still)
