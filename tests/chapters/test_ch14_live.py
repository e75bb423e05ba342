"""A translation word by word: JavaScript reads a row as Python does; wrong tables are refused."""

import random

from scratchformer_course.measurements import load_measurements
from tests.node import Node

in_node = Node(M="ch14_encoder_decoder/live.js")


def test_a_row_is_read_from_its_largest_share_until_most_of_it_is_told():
    draw = random.Random(0)
    rows = [[draw.random() ** 4 for _ in range(draw.randrange(1, 12))] for _ in range(100)]
    rows = [[share / sum(row) for share in row] for row in rows]
    found = in_node("return input.rows.map((row) => M.reads(row))", rows=rows)
    for row, read in zip(rows, found, strict=True):
        order = sorted(range(len(row)), key=lambda s: -row[s])
        assert read == order[: len(read)]
        assert sum(row[s] for s in read) >= 0.8 > sum(row[s] for s in read[:-1])


def test_the_stored_translations_are_right_and_read_their_words():
    """What the page says of the figure: each row of the first sentence reads its own word."""
    stored = load_measurements("bottleneck")["words"]["translations"]
    german = {t["english"]: t["german"] for t in stored}
    assert german["the king sees the small dog"] == "der König sieht den kleinen Hund"
    first = stored[0]
    assert first["english"] == "the small dog can see the cat"
    assert first["german"] == "der kleine Hund kann die Katze sehen"
    source = [*first["english"].split(), "⊣"]
    most = [source[row.index(max(row))] for row in first["weights"][:-1]]
    assert most == "the small dog can the cat see".split()
