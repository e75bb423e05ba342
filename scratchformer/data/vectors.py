"""Word vectors that others trained, by gensim's downloader; it says so where they cannot be had.

gensim keeps them in its own folder (GENSIM_DATA_DIR, or gensim-data in the home folder).
"""

import socket
from collections.abc import Callable
from pathlib import Path

from scratchformer.files import is_offline

GLOVE = "glove-wiki-gigaword-50"  # 66 MB to download: 400,000 words, 50 numbers each


def load_pretrained(
    name: str = GLOVE, limit: int = 50_000, download: Callable[[str], str] | None = None
):
    """(gensim `KeyedVectors` of the `limit` most frequent words, a line on where they come from).

    Without a network, with SCRATCHFORMER_OFFLINE=1, or if the file is broken: (None, the reason).
    `download` maps a name to the path of a word2vec text file; by default gensim's downloader,
    which shows its progress. Nothing that is downloaded is executed.
    """
    if is_offline():
        return None, f"{name}: switched off by SCRATCHFORMER_OFFLINE"
    from gensim.models import KeyedVectors  # here: it takes a second

    patience = socket.getdefaulttimeout()
    socket.setdefaulttimeout(10)  # seconds without a byte; gensim itself would wait for ever
    try:
        path = (download or _gensim_download)(name)
        vectors = KeyedVectors.load_word2vec_format(path, limit=limit)
    except Exception as error:  # whatever the network does, the reader goes on without
        reason = " ".join(f"{type(error).__name__}: {error}".split()).replace(str(Path.home()), "~")
        return None, f"{name}: not available ({reason:.160})"
    finally:
        socket.setdefaulttimeout(patience)
    return vectors, f"{name}: {len(vectors):,} words, {vectors.vector_size} numbers each"


def _gensim_download(name: str) -> str:
    import gensim.downloader

    # With return_path, gensim does not run the loader script that it downloads with the data.
    return gensim.downloader.load(name, return_path=True)
