"""Files that are written whole or not at all, whatever happens in between."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
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
