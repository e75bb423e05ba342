"""Chapter 22's figure, and the songs it is about: what it says of a choice of heads is stored."""

import pytest
import torch

from scratchformer_course.ch22_inside.live import copied, repeats, silence
from scratchformer_course.ch22_inside.songs import (
    JUMP,
    LETTERS,
    NOTES,
    heard,
    songs,
)
from scratchformer_course.measurements import load_measurements
from tests.node import Node

in_node = Node(S="ch22_inside/live.js")
STORED = load_measurements("induction")
FILM = STORED["film"]
SHOWN = silence(STORED).settings


def drawn(n=200, seed=0, **settings):
    return songs(n, torch.Generator().manual_seed(seed), **settings)


# ---- the songs ----


def test_a_song_goes_around_its_loop_and_jumps_now_and_then():
    assert len(LETTERS) == NOTES
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


# ---- the figure ----


def test_javascript_counts_copies_as_python_does():
    song, body = FILM["song"], "return [S.repeats(input.song), S.copied(input.song, input.best)]"
    for _, best in FILM["without"][::37]:
        assert in_node(body, song=song, best=best) == [repeats(song), list(copied(song, best))]


def test_a_choice_of_heads_shows_its_own_loss_and_the_maps_that_block_2_has_then():
    body = "return S.shown(input.film, input.step, input.silenced)"
    last = len(FILM["frames"]) - 1
    for silenced in (1, 6, 16, 0b10000100, 255):
        seen = in_node(body, film=SHOWN, step=last, silenced=silenced)
        assert [seen["loss"], seen["best"]] == FILM["without"][silenced]
        assert seen["maps"][4:] == FILM["second"][silenced & 15]["maps"]
        assert seen["maps"][:4] == FILM["frames"][last]["maps"][:4]
    assert in_node(body, film=SHOWN, step=0, silenced=0) == FILM["frames"][0]
