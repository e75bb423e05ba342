"""What every room may need of the disk: atomic writes, the cache folder, offline or not.

It knows no format and no corpus.
"""

import glob
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HOUR = 3600.0  # seconds; a temporary file that nobody has written to for so long is a dead writer's


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to: it takes the place of `path` in one step, once
    the block has ended without an error.

    After an error, or a crash, `path` is what it was. Another process may write the same file:
    one of the two wins. Folders that are missing are made. What a killed writer of this `path`
    has left is deleted an hour later, by the next write.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_parts(path, older_than=HOUR)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        part.touch()
        mode = part.stat().st_mode  # as any new file's: some writers make theirs private
        part.unlink()
        yield part
        part.chmod(mode)
        with part.open("rb+") as file:
            os.fsync(file.fileno())  # on the disk before the name points to it
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def remove_parts(path: str | Path, older_than: float = 0.0) -> None:
    """Delete the temporary files of writers of `path` that were killed.

    They are those that nobody has written to for `older_than` seconds. With 0 all of them go:
    then `path` must have no other writer.
    """
    path = Path(path)
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        with suppress(FileNotFoundError):  # another process has just deleted it
            if time.time() - part.stat().st_mtime >= older_than:
                part.unlink()


def cache_folder() -> Path:
    """Where downloads are kept: SCRATCHFORMER_CACHE, or the user's own cache."""
    import pooch  # imported where it is used, to keep the package's import quick

    return Path(
        os.environ.get("SCRATCHFORMER_CACHE") or pooch.os_cache("scratchformer")
    ).expanduser()


def is_offline() -> bool:
    """Whether SCRATCHFORMER_OFFLINE forbids downloads: set, and neither empty nor 0."""
    return os.environ.get("SCRATCHFORMER_OFFLINE", "0") not in ("", "0")
