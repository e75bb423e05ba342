"""Chapter 24's songs: loops with a jump now and then, and which notes a model could copy."""

import pytest
import torch

from scratchformer_course.ch24_inside.live import repeats
from scratchformer_course.ch24_inside.songs import JUMP, LETTERS, heard, songs


def drawn(n=200, **settings):
    return songs(n, torch.Generator().manual_seed(0), **settings)


def test_a_song_goes_around_its_loop_and_jumps_now_and_then():
    for song in drawn(jump=0.0):
        loop = song.unique()
        assert 4 <= len(loop) <= 8
        assert torch.equal(song[len(loop) :], song[: -len(loop)])
    ids = drawn(2000, shortest=8, longest=8)
    steady = drawn(2000, shortest=8, longest=8, jump=0.0)  # each loop begins in the same order
    first = (ids[:, 1] != steady[:, 1]).float().mean()
    assert first == pytest.approx(JUMP * 7 / 8, abs=0.02)  # a jump may lead to the next note


def test_what_was_heard_is_found_as_by_hand():
    ids = torch.tensor([[0, 1, 2, 0, 1, 3, 0, 1, 2]])
    assert heard(ids)[0].tolist() == [False, False, False, True, False, False, True, True]
    for song, marks in zip(drawn(5), heard(drawn(5)), strict=True):
        assert marks.tolist() == repeats("".join(LETTERS[i] for i in song))
