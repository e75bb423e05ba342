"""Sliding windows lose no token and say what is wrong; pretrained vectors never stop a chapter."""

import os
import socket
import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from scratchformer.data import vectors
from scratchformer.data.vectors import load_pretrained
from scratchformer.data.windows import SlidingWindows


def pairs(n, length, stride=None):
    windows = SlidingWindows(torch.arange(n), length, stride)
    return [(x.tolist(), y.tolist()) for x, y in windows]


def test_the_last_window_is_moved_back_to_end_with_the_text():
    assert pairs(8, 3) == [([0, 1, 2], [1, 2, 3]), ([3, 4, 5], [4, 5, 6]), ([4, 5, 6], [5, 6, 7])]
    assert pairs(7, 3) == [([0, 1, 2], [1, 2, 3]), ([3, 4, 5], [4, 5, 6])]  # it ends there anyway
    assert pairs(4, 3, stride=99) == [([0, 1, 2], [1, 2, 3])]


@given(st.integers(1, 8), st.integers(1, 9), st.integers(1, 40))
def test_windows_step_by_the_stride_and_reach_the_end(length, stride, extra):
    n = length + extra
    found = pairs(n, length, stride)
    assert all(y == [i + 1 for i in x] and len(x) == length for x, y in found)
    starts = [x[0] for x, _ in found]
    assert starts[-1] == n - length - 1
    assert starts[:-1] == list(range(0, starts[-1], stride))
    if stride <= length:  # every id but the first is a target
        assert {i for _, y in found for i in y} == set(range(1, n))


def test_a_data_loader_stacks_and_shuffles_them():
    windows = SlidingWindows(torch.arange(40), 4, stride=1)
    x, y = next(iter(DataLoader(windows, batch_size=8)))
    assert x.shape == y.shape == (8, 4) and torch.equal(x + 1, y)
    shuffled = DataLoader(windows, shuffle=True, generator=torch.Generator().manual_seed(0))
    starts = [int(x[0, 0]) for x, _ in shuffled]
    assert sorted(starts) == list(range(36)) != starts


@pytest.mark.parametrize("stride", [0, -1])
def test_a_stride_that_does_not_move_on_is_refused(stride):
    with pytest.raises(ValueError, match=rf"stride={stride} must be at least 1"):
        SlidingWindows(torch.arange(9), 4, stride)


@pytest.mark.parametrize("length", [0, 9, 10])
def test_a_window_that_does_not_fit_is_refused(length):
    with pytest.raises(ValueError, match=rf"context_length={length} .* 9: the last target"):
        SlidingWindows(torch.arange(9), length)


@pytest.mark.parametrize("i", [-1, 2])
def test_a_window_that_is_not_there_is_refused(i):
    with pytest.raises(IndexError, match=f"window {i}: there are 2"):
        SlidingWindows(torch.arange(9), 4)[i]


@pytest.fixture
def online(monkeypatch):
    monkeypatch.delenv("SCRATCHFORMER_OFFLINE", raising=False)


def test_vectors_come_through_the_downloader_the_most_frequent_first(online, tmp_path):
    path = tmp_path / "small.txt"
    path.write_text("3 2\nthe 1 0\ncat 0 1\nsat 1 1\n", encoding="utf-8")
    asked = []

    def download(name):
        asked.append((name, socket.getdefaulttimeout()))
        return str(path)

    found, line = load_pretrained("small", limit=2, download=download)
    assert asked == [("small", 10)] and socket.getdefaulttimeout() is None
    assert found.index_to_key == ["the", "cat"] and found["cat"].tolist() == [0, 1]
    assert line == "small: 2 words, 2 numbers each"


def test_the_default_downloader_is_gensims_and_runs_no_downloaded_code(online, monkeypatch):
    import gensim.downloader

    calls = []
    monkeypatch.setattr(gensim.downloader, "load", lambda *a, **k: calls.append((a, k)) or "none")
    assert load_pretrained()[0] is None  # there is no file called none
    assert calls == [((vectors.GLOVE,), {"return_path": True})]


MISSING = (
    "The pretrained vectors small are not on this computer. To get them, connect to the internet, "
    "unset SCRATCHFORMER_OFFLINE and run this cell again."
)


@pytest.mark.parametrize("error", [OSError("no route\nto host"), ValueError("/home/me/cache")])
def test_without_a_network_the_reader_learns_how_to_get_them_and_nothing_of_this_computer(
    online, caplog, error
):
    def download(name):
        raise error

    with caplog.at_level("INFO", logger="scratchformer.data.vectors"):
        found, line = load_pretrained("small", download=download)
    assert found is None and line == MISSING
    assert str(error) in caplog.text  # for whoever looks for the cause
    assert socket.getdefaulttimeout() is None


def test_a_broken_file_is_not_used(online, tmp_path):
    path = tmp_path / "broken.txt"
    path.write_text("<html>not found</html>", encoding="utf-8")
    assert load_pretrained("small", download=lambda name: str(path)) == (None, MISSING)


def test_no_download_is_tried_when_switched_off(monkeypatch):
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")

    def download(name):
        pytest.fail("a download was tried")

    assert load_pretrained("small", download=download) == (None, MISSING)


def test_chapter_2s_word_vectors_are_the_same_in_every_process():
    program = (
        "import hashlib; from gensim.models import Word2Vec\n"
        "texts = [f'the {c} king {d} sat'.split() for c in 'abcdef' for d in 'uvwxyz'] * 9\n"
        "wv = Word2Vec(texts, vector_size=8, min_count=1, sg=1, seed=1, workers=1).wv\n"
        "print(hashlib.sha256(wv.vectors.tobytes()).hexdigest(), wv.index_to_key)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},  # the order of Python's sets
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
