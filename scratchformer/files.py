"""What every room needs of the disk: atomic writes, the cache folder, and whether to stay offline.

It knows no format and no corpus.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """A path beside `path` to write to: it takes its place in one step if the block ends well.

    After an error, or a crash, `path` is what it was. Another process may write the same file:
    one of the two wins. Folders that are missing are made.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    part.touch()
    mode = part.stat().st_mode  # as any new file's: some writers make theirs private
    part.unlink()
    try:
        yield part
        part.chmod(mode)
        with part.open("rb+") as file:
            os.fsync(file.fileno())  # on the disk before the name points to it
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Where downloads are kept: SCRATCHFORMER_CACHE, or the user's own cache."""
    import pooch  # here, to keep the package's import quick

    return Path(
        os.environ.get("SCRATCHFORMER_CACHE") or pooch.os_cache("scratchformer")
    ).expanduser()


def is_offline() -> bool:
    """Whether SCRATCHFORMER_OFFLINE forbids downloads: set, and neither empty nor 0."""
    return os.environ.get("SCRATCHFORMER_OFFLINE", "0") not in ("", "0")
