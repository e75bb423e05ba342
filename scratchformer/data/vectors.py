"""Word vectors that others trained: from this computer, or by gensim's downloader.

gensim keeps them in its own folder (GENSIM_DATA_DIR, or gensim-data in the home folder). A chapter
goes on without them, so nothing here raises an error when they cannot be had.
"""

import logging
import socket
from collections.abc import Callable

from scratchformer.files import is_offline

GLOVE = "glove-wiki-gigaword-50"  # 66 MB to download: 400,000 words, 50 numbers each


def load_pretrained(
    name: str = GLOVE, limit: int = 50_000, download: Callable[[str], str] | None = None
):
    """(gensim `KeyedVectors` of the `limit` most frequent words, a sentence about them).

    Without a network, with SCRATCHFORMER_OFFLINE=1, or if the file is broken: None, and a sentence
    that says how to get them. It is the same on every computer; what went wrong on this one is
    logged at level INFO. `download` maps a name to the path of a word2vec text file; by default
    gensim's downloader, which shows its progress. Nothing that is downloaded is executed.
    """
    missing = (
        f"The pretrained vectors {name} are not on this computer. To get them, connect to the "
        "internet, unset SCRATCHFORMER_OFFLINE and run this cell again."
    )
    if is_offline():
        return None, missing
    from gensim.models import KeyedVectors  # imported where it is used: it takes a second

    patience = socket.getdefaulttimeout()
    socket.setdefaulttimeout(10)  # seconds without a byte; gensim itself would wait for ever
    try:
        path = (download or _gensim_download)(name)
        vectors = KeyedVectors.load_word2vec_format(path, limit=limit)
    except Exception as error:  # whatever the network does, the reader goes on without
        logging.getLogger(__name__).info("%s: %s: %s", name, type(error).__name__, error)
        return None, missing
    finally:
        socket.setdefaulttimeout(patience)
    return vectors, f"{name}: {len(vectors):,} words, {vectors.vector_size} numbers each"


def _gensim_download(name: str) -> str:
    import gensim.downloader

    # With return_path, gensim does not run the loader script that it downloads with the data.
    return gensim.downloader.load(name, return_path=True)
