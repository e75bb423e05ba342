"""Corpora: whatever happens to files and network, never a wrong text, and a notice that helps."""

import hashlib
import os
import subprocess
import sys
import threading
import time
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pooch
import pytest
import torch
from refusals import refused

from scratchformer.data import CorpusNotice, Playhouse, corpora, load_corpus, scored_split
from scratchformer.data import train_val_split as split

TEXT = "Enter a naïve ghost — and leave.\n" * 5000  # not only ASCII
GOOD = TEXT.encode()
FILENAME = "tinyshakespeare.txt"
CORRUPT, NOT_UTF8 = GOOD.replace(b"ghost", b"guest", 1), b"\xff" * 100


@pytest.fixture
def network(monkeypatch, tmp_path):
    """A server that answers with `body`, None for silence; an empty cache, and no directory."""
    network = SimpleNamespace(body=GOOD, requests=[])

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            network.requests.append(self.path)
            if network.body is None:
                return time.sleep(1)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(network.body)

        def log_message(self, *_):
            pass

    for variable in ("SCRATCHFORMER_DATA", "SCRATCHFORMER_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("SCRATCHFORMER_CACHE", str(tmp_path / "deep" / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(corpora, "_failed_downloads", {})
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url, sha256 = f"http://127.0.0.1:{server.server_port}/input.txt", hashlib.sha256(GOOD)
        source = corpora.CORPORA["tinyshakespeare"]
        source = source._replace(url=url, sha256=sha256.hexdigest())
        monkeypatch.setitem(corpora.CORPORA, "tinyshakespeare", source)
        yield network
        server.shutdown()


@pytest.fixture
def cached(tmp_path):
    """Where the download is kept."""
    return tmp_path / "deep" / "cache" / FILENAME


def load(name, source):
    """Load the corpus, which must be `name` and come from there; returns the notice, or ""."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        corpus = load_corpus("tinyshakespeare")
    assert (corpus.name, corpus.source, corpus.is_real) == (name, source, name != "playhouse")
    notices = [str(w.message) for w in caught if w.category is CorpusNotice]
    assert len(notices) == len(caught) <= 1
    wanted = corpora.CORPORA["tinyshakespeare"]
    for part in ("SCRATCHFORMER_DATA", wanted.url, wanted.sha256, FILENAME):  # what to do
        assert not notices or part in notices[0]
    assert corpus.is_real or len(notices) == 1
    assert corpus.text == (TEXT if corpus.is_real else Playhouse(seed=0).text(len(corpus.text)))
    return "".join(notices)


def real(source):
    return load("tinyshakespeare", source)


def stand_in():
    return load("playhouse", "embedded")


def test_the_directory_comes_first_the_cache_second_the_download_last(
    network, cached, tmp_path, monkeypatch
):
    assert real("download") == "" and cached.read_bytes() == GOOD
    assert real("cache") == ""
    monkeypatch.setenv("SCRATCHFORMER_DATA", str(tmp_path))
    assert real("cache") == ""  # a folder without the file is passed over
    (tmp_path / FILENAME).write_bytes(GOOD)
    assert real("directory") == ""
    assert network.requests == ["/input.txt"]


def test_offline_asks_no_server_and_gives_playhouse_with_the_reasons(network, cached, monkeypatch):
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    notice = stand_in()
    assert "SCRATCHFORMER_OFFLINE" in notice and "SCRATCHFORMER_DATA is not set" in notice
    assert str(cached) in notice and network.requests == [] and not cached.exists()


@pytest.mark.parametrize(
    ("body", "words"),
    [(CORRUPT, hashlib.sha256(CORRUPT).hexdigest()), (NOT_UTF8, "100 bytes"), (None, "timed out")],
    ids=["corrupt", "not UTF-8", "silent"],
)
def test_a_wrong_download_is_neither_used_nor_kept_nor_waited_for_again(
    network, cached, body, words, monkeypatch
):
    network.body = body
    if body is None:
        impatient = pooch.HTTPDownloader(timeout=0.1)
        monkeypatch.setattr(pooch, "HTTPDownloader", lambda timeout: {10: impatient}[timeout])
    assert words in stand_in() and not cached.exists()
    network.body = GOOD
    again = stand_in()
    assert words in again and "not tried again in this process" in again
    assert len(network.requests) == 1


def test_a_wrong_file_is_reported_left_alone_in_the_directory_and_replaced_in_the_cache(
    network, cached, tmp_path, monkeypatch
):
    monkeypatch.setenv("SCRATCHFORMER_DATA", str(tmp_path))
    cached.parent.mkdir(parents=True)
    for path, data in ((tmp_path / FILENAME, CORRUPT), (cached, NOT_UTF8)):
        path.write_bytes(data)
    notice = real("download")
    for path, data in ((tmp_path / FILENAME, CORRUPT), (cached, NOT_UTF8)):
        assert str(path) in notice and repr(data[:16]) in notice
    assert (tmp_path / FILENAME).read_bytes() == CORRUPT and cached.read_bytes() == GOOD


def test_a_cache_that_cannot_exist_costs_a_notice_and_not_the_text(network, tmp_path):
    (tmp_path / "deep").write_text("a regular file, where a folder would have to be")
    assert "cannot keep the download" in real("download")


def test_the_notice_points_at_the_callers_line_and_the_room_loads_no_large_package(tmp_path):
    script = tmp_path / "chapter.py"
    script.write_text(
        "import sys, scratchformer.data\n"
        "print([m for m in ('torch', 'numpy', 'pooch', 'requests') if m in sys.modules])\n"
        "for _ in range(2):\n"
        "    print(len(scratchformer.data.load_corpus('the-verdict').text))\n"
    )
    changes = {"SCRATCHFORMER_OFFLINE": "1", "SCRATCHFORMER_DATA": "", "PYTHONWARNINGS": ""}
    changes |= {"SCRATCHFORMER_CACHE": str(tmp_path / "empty")}
    changes |= {"PYTHONPATH": str(Path(__file__).parents[2]), "SCRATCHFORMER_PLAYHOUSE": "1000"}
    command = [sys.executable, str(script)]
    process = subprocess.run(command, env=os.environ | changes, capture_output=True, text=True)
    assert process.returncode == 0 and process.stdout == "[]\n1000\n1000\n", process.stderr
    assert process.stderr.count(f"{script}:4: CorpusNotice: the-verdict: Playhouse") == 2


def test_the_splits_score_what_they_say():
    for row in ("abcdefghijklmnopqrs", [*range(19)]):
        train, val = split(row)
        assert type(train) is type(row) and train + val == row and len(val) == 2  # int(0.9 * 19)
        assert len(split(row, fraction=0.5)[0]) == 9
    row = torch.arange(1000)
    for name, bounds in (
        ("validation", [(0, 899), (900, 999)]),
        ("development", [(0, 809), (810, 899)]),
        ("rotated", [(100, 999), (0, 99)]),
    ):
        assert [(part[0], part[-1]) for part in scored_split(row, name)] == bounds


test_what_is_no_split_and_no_corpus_is_refused = refused(
    {
        "split='test', expected one of validation": lambda: scored_split([1, 2], "test"),
        r"0\.0 is not between 0 and 1": lambda: split([1, 2], 0.0),
        "nan is not between 0 and 1": lambda: split([1, 2], float("nan")),
        "'shakespear': there are tinyshakespeare, the-v": lambda: load_corpus("shakespear"),
    }
)
