"""Heads that learn to copy, in the film of a run, each of which can be silenced; and the 64 numbers
of SmolLM2 that hold a capital."""

import itertools
from collections.abc import Mapping

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import RECORDED, still_chances
from scratchformer_course.measurements import load_measurements

LEVELS = "0123456789abcdefghijklmnopqrstuvwxyz"  # of a weight, from 0 to 1
HEADS = [f"{block}.{head}" for block in (1, 2) for head in (1, 2, 3, 4)]


def capital_patch() -> LiveFigure:
    """Two countries, a head, and the chances of both capitals: the head's numbers go across."""
    stored = load_measurements("real_endings")
    asked, found = stored["settings"], stored["patch"]
    others = load_measurements("real_capitals")["settings"]["capitals"]
    capitals = asked["countries"] | {"Japan": "Tokyo"} | others
    settings = {
        "block": asked["block"],
        "heads": asked["heads"],
        "chosen": 5,
        "capitals": capitals,
        "frame": asked["frame"],
        "recorded": found,
    }
    own, other = found["countries"]
    before, after = found["next"][asked["heads"].index(5)]
    rows = [
        (capitals[country], p, q)
        for country, p, q in zip(found["countries"], before["p"], after["p"], strict=True)
    ]
    still = f"{RECORDED}<p>{asked['frame'].format(own)} …</p>"
    still += still_chances(("as it is", f"with head 24.5 of {other}"), rows)
    return LiveFigure("capital_patch", settings, still)


def silence(stored: Mapping) -> LiveFigure:
    """The film of `lab/induction.py`: a slider over a run, and a switch for each head."""
    film = stored["film"]
    without = film["without"]
    settings = {key: film[key] for key in ("song", "frames", "second")} | {"heads": HEADS}
    settings |= {"losses": [loss for loss, _ in without], "best": "".join(b for _, b in without)}
    return LiveFigure("silence", settings, _still(film))


def repeats(song: str) -> list[bool]:
    """For each note but the first: whether it has followed the one before it already."""
    pairs = list(itertools.pairwise(song))
    return [pair in pairs[:i] for i, pair in enumerate(pairs)]


def copied(song: str, best: str) -> tuple[int, int]:
    """How many of the repeated notes are expected, and how many there are."""
    again = repeats(song)
    right = [
        b == note for b, note, is_repeat in zip(best, song[1:], again, strict=True) if is_repeat
    ]
    return sum(right), sum(again)


def _strongest(before: list[float]) -> int:
    return max(range(4), key=lambda i: before[i])


def _still(film: dict) -> str:
    last, song = film["frames"][-1], film["song"]
    i, j = _strongest(last["before"]), 4 + _strongest(last["after"])
    without = film["without"][1 << i]
    d = Drawing(476, 318)
    pair = ((i, 4, "query", last["maps"][i]), (j, 246, "key", last["maps"][j]))
    for head, left, colour, own in pair:
        d.text_from(left, 10, f"Head {HEADS[head]} attends to", colour, bold=True)
        what = "the note before" if head < 4 else "what came after this note"
        d.text_from(left, 29, what, colour)
        _map(d, left, 44, own, len(song) - 1, colour)
    for y, name, notes in (
        (246, "song", song),
        (274, "all heads", " " + last["best"]),
        (302, f"without {HEADS[i]}", " " + without[1]),
    ):
        d.text_from(4, y, name, size=14)
        for k, note in enumerate(notes):
            wrong = y > 250 and k and repeats(song)[k - 1] and note != song[k]
            d.text(100 + 19 * k, y, note, "key" if wrong else "ink", mono=True, bold=bool(wrong))
    all_copied, some, total = copied(song, last["best"])[0], *copied(song, without[1])
    words = (
        f"Two attention maps after {last['step']} steps. Head {HEADS[i]} attends to the note "
        f"before, and head {HEADS[j]} to the notes that came after earlier plays of the same "
        f"note. With all heads the loss is {last['loss']:.2f} and {all_copied} of {total} repeated "
        f"notes are expected; without head {HEADS[i]} it is {without[0]:.2f}, and {some} are."
    )
    return f"<p>This figure is live where JavaScript runs. {words}</p>" + d.svg(words)


def _map(d: Drawing, x: int, y: int, pattern: str, n: int, colour: str) -> None:
    """The lower half of a map, a square for each weight of at least a tenth."""
    cell, at = 190 / n, 0
    d.line([(x, y), (x, y + 190 * 0.92), (x + 190 * 0.92, y + 190 * 0.92)], "muted", width=1)
    for t in range(n):
        for k in range(t + 1):
            weight = LEVELS.index(pattern[at]) / 35
            at += 1
            if weight >= 0.1:
                middle = y + (t + 0.5) * cell * 0.92
                left, right = x + k * cell * 0.92, x + (k + 1) * cell * 0.92
                d.line([(left, middle), (right, middle)], colour, width=round(9 * weight, 1))
