"""What a page says of several GPUs: the ring that is drawn adds up, and the run is the one told."""

from itertools import pairwise

import torch

from scratchformer_course.pages.drawings import ring_passes


def test_a_ring_adds_up_and_sends_what_the_drawing_and_the_formula_say():
    """Four processes pass pieces of their gradients around, and count what they send."""
    n, numbers = 4, 12
    rows = [torch.randn(numbers, dtype=torch.float64) for _ in range(n)]
    expected, sent = sum(rows), 0
    pieces = [list(row.clone().chunk(n)) for row in rows]
    drawn = ring_passes(n)
    assert len(drawn) == 1 + 2 * (n - 1)
    for turn, ((before, _), (after, changed)) in enumerate(pairwise(drawn)):
        old = [list(row) for row in pieces]
        assert {receiver for receiver, _ in changed} == set(range(n))  # each is sent one piece
        for receiver, i in changed:
            arrived = old[(receiver - 1) % n][i]
            adds = turn < n - 1  # once around to add up, once around to hand out the sums
            pieces[receiver][i] = old[receiver][i] + arrived if adds else arrived.clone()
            grown = before[receiver][i] * adds + before[(receiver - 1) % n][i]
            assert after[receiver][i] == grown
            sent += len(arrived)
    for row in pieces:
        torch.testing.assert_close(torch.cat(row), expected)
    assert drawn[-1][0] == [[n] * n] * n
    assert sent / n == 2 * (n - 1) / n * numbers
