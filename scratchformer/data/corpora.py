"""The course's corpora: found on disk, downloaded, or replaced by Playhouse with a notice.

A file counts only if its sha256 is the pinned one, so no chapter ever runs on half a corpus or
on a web page in its place. What a corpus is used for is not known here.
"""

import hashlib
import io
import os
import textwrap
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from scratchformer.files import atomic_write, cache_folder, is_offline

from .playhouse import Playhouse


class Source(NamedTuple):
    """Where a corpus comes from, and the sum that proves it whole."""

    url: str
    sha256: str
    filename: str
    title: str  # with the terms it comes under


CORPORA = {
    "tinyshakespeare": Source(
        "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
        "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
        "tinyshakespeare.txt",
        "Tiny Shakespeare: scenes by William Shakespeare, about 1 MB (public domain)",
    ),
    "the-verdict": Source(
        "https://raw.githubusercontent.com/rasbt/LLMs-from-scratch/main/ch02/01_main-chapter-code/the-verdict.txt",
        "b41e41a68f0398a3154ae69e2e4c0e2694e17fe0d66730536837f1b01935b31f",
        "the-verdict.txt",
        "The Verdict: a story by Edith Wharton, 1908 (public domain)",
    ),
}
_failed_downloads: dict[str, str] = {}  # url -> reason: one wait for the network a process


class CorpusNotice(UserWarning):
    """A corpus file was refused or not found, and this is what to do about it."""


# Shown at each call, as the reader may run the same cell again; a filter of theirs goes first.
warnings.simplefilter("always", CorpusNotice, append=True)


@dataclass(frozen=True)
class Corpus:
    """A text and where it comes from: "directory", "cache", "download" or "embedded"."""

    name: str  # "tinyshakespeare", "the-verdict", or "playhouse" where that had to stand in
    text: str
    source: str

    @property
    def is_real(self) -> bool:
        """False for Playhouse."""
        return self.name != "playhouse"


def load_corpus(name: str) -> Corpus:
    """The corpus `name`: "tinyshakespeare", "the-verdict" or "playhouse".

    Looks into the folder named by SCRATCHFORMER_DATA, then into the cache (SCRATCHFORMER_CACHE or
    the user's own), then downloads the file into the cache, unless SCRATCHFORMER_OFFLINE=1 or a
    download has failed in this process before. If all fail, the text is Playhouse's, and a
    CorpusNotice says why and what to do; a notice also reports a broken file or cache that was
    passed over. SCRATCHFORMER_PLAYHOUSE asks for another number of characters of Playhouse.
    Raises ValueError if there is no such corpus.
    """
    if name == "playhouse":
        return Corpus("playhouse", _playhouse_text(), "embedded")
    if name not in CORPORA:
        raise ValueError(f"no corpus {name!r}: there are {', '.join([*CORPORA, 'playhouse'])}")
    wanted, corpus, notes, broken = CORPORA[name], None, [], False
    for source in ("directory", "cache", "download"):
        try:
            corpus = Corpus(name, _find(wanted, source).decode(), source)
            break
        except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: an unknown ~user
            notes.append(f"{source}: {error}")
            broken |= not isinstance(error, FileNotFoundError)
    if corpus and corpus.source == "download":
        try:
            with atomic_write(cache_folder() / wanted.filename) as part:
                part.write_bytes(corpus.text.encode())
        except OSError as error:
            notes.append(f"cache: cannot keep the download: {error}")
            broken = True
    if corpus is None or broken:
        outcome = f"taken from the {corpus.source}, but" if corpus else "Playhouse stands in for it"
        advice = (
            f"To mend it, save {wanted.url}\n  as {wanted.filename} (sha256 {wanted.sha256})\n"
            "  in a folder, and set SCRATCHFORMER_DATA to that folder. Delete a file refused above."
        )
        message = "\n  ".join([f"{name}: {outcome}", *notes, advice])
        warnings.warn(message, CorpusNotice, stacklevel=2)
    return corpus or load_corpus("playhouse")


def _find(wanted: Source, source: str) -> bytes:
    """The verified bytes, FileNotFoundError if there are none, or another error if they are bad."""
    if source == "download":
        return _download(wanted)
    folder = os.environ.get("SCRATCHFORMER_DATA") if source == "directory" else cache_folder()
    if not folder:
        raise FileNotFoundError("SCRATCHFORMER_DATA is not set")
    path = Path(folder).expanduser() / wanted.filename
    return _verified(path.read_bytes(), wanted, path)


def _download(wanted: Source) -> bytes:
    if is_offline():
        raise FileNotFoundError("switched off by SCRATCHFORMER_OFFLINE")
    if wanted.url in _failed_downloads:
        raise ConnectionError(f"not tried again in this process: {_failed_downloads[wanted.url]}")
    import pooch

    body = io.BytesIO()  # nothing touches the disk before the sum is right
    try:
        pooch.HTTPDownloader(timeout=10)(wanted.url, body, None)  # 10 s without a byte, at most
        return _verified(body.getvalue(), wanted, wanted.url)
    except Exception as error:  # whatever the network does, the reader gets a text
        reason = textwrap.shorten(f"{type(error).__name__}: {error}", 400)
        _failed_downloads[wanted.url] = reason
        raise ConnectionError(reason) from error


def _verified(data: bytes, wanted: Source, place: str | Path) -> bytes:
    digest = hashlib.sha256(data).hexdigest()
    if digest != wanted.sha256:
        raise ValueError(
            f"refused {place}: {len(data):,} bytes beginning {data[:16]!r}, sha256 {digest}, "
            f"expected {wanted.sha256}"
        )
    return data


@lru_cache(maxsize=1)
def _playhouse_text() -> str:
    length = os.environ.get("SCRATCHFORMER_PLAYHOUSE", "1115394")  # as long as Tiny Shakespeare
    return Playhouse(seed=0).text(int(length))


Row = TypeVar("Row", bound=Any)  # str, list, tensor: whatever has a length and can be sliced


def train_val_split(sequence: Row, fraction: float = 0.9) -> tuple[Row, Row]:
    """The first `fraction` of a text, list or tensor to train on, and the rest to validate."""
    if not 0 < fraction < 1:
        raise ValueError(f"fraction={fraction} is not between 0 and 1")
    n = int(fraction * len(sequence))
    return sequence[:n], sequence[n:]


SPLITS = ("validation", "development", "rotated")


def scored_split(sequence: Row, name: str) -> tuple[Row, Row]:
    """What to train on and what to score, by the name of the split.

    "validation": the last tenth is scored, the nine before it are trained on. "development": the
    validation tenth is put away, and the rest is split in the same way; settings are chosen there.
    "rotated": the first tenth is scored, the nine after it are trained on; for texts on which
    nothing may have been chosen. Raises ValueError for another name.
    """
    if name not in SPLITS:
        raise ValueError(f"split={name!r}, expected one of {', '.join(SPLITS)}")
    if name == "rotated":
        n = len(sequence) // 10
        return sequence[n:], sequence[:n]
    training, validation = train_val_split(sequence)
    return (training, validation) if name == "validation" else train_val_split(training)
