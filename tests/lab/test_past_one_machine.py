"""What a page says of several GPUs: the ring that is drawn adds up, and the run is the one told."""

from itertools import pairwise

from scratchformer_course.pages.drawings import ring_passes


def test_a_ring_adds_up_and_sends_what_the_drawing_and_the_formula_say():
    """Of each piece it is drawn how many of four processes' gradients it holds."""
    n = 4
    drawn = ring_passes(n)
    assert len(drawn) == 1 + 2 * (n - 1)
    for turn, ((before, _), (after, changed)) in enumerate(pairwise(drawn)):
        adds = turn < n - 1  # once around to add up, once around to hand out the sums
        assert {receiver for receiver, _ in changed} == set(range(n))  # each is sent one piece
        for receiver, i in changed:
            grown = before[receiver][i] * adds + before[(receiver - 1) % n][i]
            assert after[receiver][i] == grown
    assert drawn[-1][0] == [[n] * n] * n
