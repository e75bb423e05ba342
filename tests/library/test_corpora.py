"""Corpora: whatever happens to files and network, never a wrong text, and a notice that helps.

Downloads come from a server on the loopback interface; nothing here reaches the outside.
"""

import hashlib
import http.server
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
import torch

from scratchformer.data import Corpus, CorpusNotice, Playhouse, corpora, load_corpus, scored_split
from scratchformer.data import train_val_split as split

TEXT = "Enter a naïve ghost — and leave.\n" * 5000  # not only ASCII, many packets long
GOOD = TEXT.encode()
FILENAME = "tinyshakespeare.txt"
CORRUPT, NOT_UTF8 = GOOD.replace(b"ghost", b"guest", 1), b"\xff" * 100


class Server(http.server.ThreadingHTTPServer):
    """Answers every request with `body`; `promised` may be more bytes than come."""

    body, promised, status, delay, requests = GOOD, None, 200, 0.0, 0

    def handle_error(self, request, client_address):
        """A client that hangs up is part of the play; the stock server prints a traceback."""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests += 1
        time.sleep(self.server.delay)
        self.send_response(self.server.status)
        promised = self.server.promised
        self.send_header("Content-Length", str(promised or len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server for the corpus, an empty cache, no directory, and nothing remembered."""
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/input.txt"
        source = corpora.CORPORA["tinyshakespeare"]
        source = source._replace(url=url, sha256=hashlib.sha256(GOOD).hexdigest())
        monkeypatch.setitem(corpora.CORPORA, "tinyshakespeare", source)
        monkeypatch.setattr(corpora, "_failed_downloads", {})
        for variable in ("SCRATCHFORMER_DATA", "SCRATCHFORMER_OFFLINE"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("SCRATCHFORMER_CACHE", str(tmp_path / "deep" / "cache"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield server
        server.shutdown()


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "deep" / "cache"


def load() -> tuple[Corpus, str]:
    """The corpus, and the one notice shown on the way ("" if none was)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        corpus = load_corpus("tinyshakespeare")
    notices = [str(w.message) for w in caught if w.category is CorpusNotice]
    assert len(notices) == len(caught) <= 1
    return corpus, "".join(notices)


def assert_real(source: str) -> str:
    """The real text is loaded from there; returns the notice."""
    corpus, notice = load()
    assert (corpus.name, corpus.source, corpus.is_real) == ("tinyshakespeare", source, True)
    assert corpus.text == TEXT
    return notice


def assert_stand_in() -> str:
    """Playhouse is loaded, with a notice that helps; returns it."""
    corpus, notice = load()
    assert (corpus.name, corpus.source, corpus.is_real) == ("playhouse", "embedded", False)
    assert corpus.text == Playhouse(seed=0).text(len(corpus.text)) and len(corpus.text) > 1_000_000
    source = corpora.CORPORA["tinyshakespeare"]
    for part in ("Playhouse", "\n  directory: ", "\n  cache: ", "\n  download: "):
        assert part in notice
    for part in ("SCRATCHFORMER_DATA", source.url, source.sha256, FILENAME):  # what to do
        assert part in notice
    return notice


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.rglob("*")} if folder.is_dir() else {}


# --- the order --------------------------------------------------------------------------------


def test_the_directory_comes_first_the_cache_second_the_download_last(
    server, cache, tmp_path, monkeypatch
):
    assert assert_real("download") == "" and files(cache) == {FILENAME: GOOD}
    assert assert_real("cache") == ""
    monkeypatch.setenv("SCRATCHFORMER_DATA", str(tmp_path))
    assert assert_real("cache") == ""  # a folder without the file is passed over
    (tmp_path / FILENAME).write_bytes(GOOD)
    assert assert_real("directory") == "" and server.requests == 1


def test_offline_asks_no_server_and_gives_playhouse_with_the_reasons(server, cache, monkeypatch):
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    notice = assert_stand_in()
    assert "SCRATCHFORMER_OFFLINE" in notice and "SCRATCHFORMER_DATA is not set" in notice
    assert str(cache / FILENAME) in notice
    assert server.requests == 0 and files(cache) == {}


def test_playhouse_by_name_needs_no_notice_and_an_unknown_name_is_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corpus = load_corpus("playhouse")
    assert (corpus.name, corpus.source, corpus.is_real) == ("playhouse", "embedded", False)
    with pytest.raises(ValueError, match="'shakespear': there are tinyshakespeare, the-verdict, p"):
        load_corpus("shakespear")


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
    done = subprocess.run(command, env=os.environ | changes, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "[]\n1000\n1000\n", done.stderr
    assert done.stderr.count(f"{script}:4: CorpusNotice: the-verdict: Playhouse") == 2


# --- wrong files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"body": CORRUPT}, hashlib.sha256(CORRUPT).hexdigest()),
        ({"body": NOT_UTF8}, "100 bytes"),
        ({"body": GOOD[:100_000], "promised": len(GOOD)}, ""),  # the connection dies in mid-body
        ({"status": 404}, "404"),
    ],
    ids=["corrupt", "not UTF-8", "cut", "an error page"],
)
def test_a_wrong_download_is_neither_used_nor_kept(server, cache, answer, words):
    for name, value in answer.items():
        setattr(server, name, value)
    assert words in assert_stand_in() and files(cache) == {}


def test_a_wrong_file_in_the_directory_is_reported_though_the_download_succeeds(
    server, cache, tmp_path, monkeypatch
):
    monkeypatch.setenv("SCRATCHFORMER_DATA", str(tmp_path))
    (tmp_path / FILENAME).write_bytes(CORRUPT)
    notice = assert_real("download")
    assert str(tmp_path / FILENAME) in notice and "expected" in notice and "To mend it" in notice
    assert (tmp_path / FILENAME).read_bytes() == CORRUPT  # the reader's file is left alone
    assert files(cache) == {FILENAME: GOOD}


def test_a_wrong_file_in_the_cache_is_reported_and_replaced(server, cache):
    cache.mkdir(parents=True)
    (cache / FILENAME).write_bytes(NOT_UTF8)
    notice = assert_real("download")
    assert str(cache / FILENAME) in notice and repr(NOT_UTF8[:16]) in notice
    assert files(cache) == {FILENAME: GOOD}
    assert assert_real("cache") == ""


# --- the network ------------------------------------------------------------------------------


def test_a_silent_server_is_given_up_after_the_timeout(server, cache, monkeypatch):
    import pooch

    patient, asked = pooch.HTTPDownloader, []
    monkeypatch.setattr(
        pooch, "HTTPDownloader", lambda timeout: asked.append(timeout) or patient(timeout=0.2)
    )
    server.delay = 1.0
    assert "timed out" in assert_stand_in().lower() and asked == [10]


def test_a_failed_download_is_not_waited_for_again_in_the_same_process(server, cache):
    server.body = b"<html>"
    first = assert_stand_in()
    server.body = GOOD
    second = assert_stand_in()
    assert server.requests == 1 and "not tried again in this process" in second
    assert "<html>" in first and "<html>" in second


# --- the cache folder -------------------------------------------------------------------------


def test_a_cache_that_cannot_exist_costs_a_notice_and_not_the_text(server, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("a regular file, where a folder would have to be")
    monkeypatch.setenv("SCRATCHFORMER_CACHE", str(tmp_path / "file" / "cache"))
    for _ in range(2):
        notice = assert_real("download")
        assert "cannot keep the download" in notice and "SCRATCHFORMER_DATA" in notice
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


# --- the real files, the split, the import ----------------------------------------------------


@pytest.mark.parametrize("kind", [str, list, torch.tensor])
def test_the_split_is_the_first_nine_tenths_and_the_rest(kind):
    row = "abcdefghijklmnopqrs" if kind is str else kind(list(range(19)))
    train, val = split(row)
    assert type(train) is type(val) is type(row)
    assert (len(train), len(val)) == (17, 2)  # int(0.9 * 19)
    assert list(train) + list(val) == list(row)
    assert len(split(row, fraction=0.5)[0]) == 9
    for fraction in (0.0, 90.0, float("nan")):
        with pytest.raises(ValueError, match="is not between 0 and 1"):
            split(row, fraction)


def test_the_three_splits_score_what_they_say():
    row = torch.arange(1000)
    bounds = {name: [(part[0].item(), part[-1].item()) for part in scored_split(row, name)]
              for name in corpora.SPLITS}  # fmt: skip
    assert bounds["validation"] == [(0, 899), (900, 999)]
    assert bounds["development"] == [(0, 809), (810, 899)]
    assert bounds["rotated"] == [(100, 999), (0, 99)]
    with pytest.raises(ValueError, match="split='test', expected one of validation, development"):
        scored_split(row, "test")
