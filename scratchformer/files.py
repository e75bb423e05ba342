"""What every room may need of the disk: atomic writes, locks, the cache folder, offline or not.

It knows no format and no corpus.
"""

import glob
import json
import math
import os
import shutil
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HOUR = 3600.0  # seconds; what nobody has written to for so long is a dead writer's


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """A temporary path to write to: it takes the place of `path` in one step, once the block has
    ended without an error.

    After an error, or a crash, `path` is what it was. Another process may write the same file:
    one of the two wins. Folders that are missing are made. The temporary file stands in a hidden
    folder beside `path`, with all that its writer puts beside it. What a killed writer has left
    is deleted an hour later, by the next write. A link stays one: the file that it names is
    written. Raises OSError if `path` is there and is no file, but a folder or a device.
    """
    path = Path(path)
    if path.is_symlink():
        path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is a folder or a device, expected a file or nothing there")
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_parts(path, older_than=HOUR)
    folder = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    part = folder / path.name
    try:
        folder.mkdir()
        part.touch()
        mode = part.stat().st_mode  # as any new file's: some writers make theirs private
        part.unlink()
        yield part
        part.chmod(mode)
        with part.open("rb+") as file:
            os.fsync(file.fileno())  # on the disk before the name points to it
        part.replace(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_json(path: str | Path) -> dict:
    """The object in a JSON file. Raises ValueError, which names the file, if it holds no such."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} holds a {type(value).__name__}, expected an object of JSON")
    return value


def to_json(value: object, indent: int | None = None) -> str:
    """JSON, which knows no infinity: floats that are not finite are written as words ("inf")."""

    def plain(x: object) -> object:
        if isinstance(x, float) and not math.isfinite(x):
            return str(x)
        if isinstance(x, dict):
            return {key: plain(item) for key, item in x.items()}
        return [plain(item) for item in x] if isinstance(x, list | tuple) else x

    return json.dumps(plain(value), indent=indent, allow_nan=False)


def remove_parts(path: str | Path, older_than: float = 0.0) -> None:
    """Delete what killed writers of `path` have left.

    It goes if nobody has written to it for `older_than` seconds. With 0 all of it goes: then
    `path` must have no other writer.
    """
    path = Path(path)
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        with suppress(FileNotFoundError):  # another process has just deleted it
            written = max(p.stat().st_mtime for p in (part, *part.rglob("*")))
            if time.time() - written >= older_than:
                shutil.rmtree(part) if part.is_dir() else part.unlink()


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Keep other processes out of a folder while the block runs; makes it if it is missing.

    The system releases the lock when the process ends, in whatever way; an empty file `.lock`
    stays. After an error it goes, and so do folders that were made and are empty. Raises
    BlockingIOError if another process has locked the folder.
    """
    from filelock import FileLock, Timeout  # imported where it is used: most rooms lock nothing

    folder = Path(folder)
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    is_new = not (folder / ".lock").exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise BlockingIOError(f"another process is writing to {folder}") from None
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):  # a system that deletes nothing that is open
                (folder / ".lock").unlink()
        raise
    finally:
        lock.release()
        with suppress(OSError):  # one that is not empty
            for path in created:
                path.rmdir()


def cache_folder() -> Path:
    """Where downloads are kept: SCRATCHFORMER_CACHE, or the user's own cache."""
    if folder := os.environ.get("SCRATCHFORMER_CACHE"):
        return Path(folder).expanduser()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm's, in a notebook without ipywidgets
        import pooch  # where it is used, to keep the package's import quick
    return Path(pooch.os_cache("scratchformer")).expanduser()


def is_offline() -> bool:
    """Whether SCRATCHFORMER_OFFLINE forbids downloads: set, and neither empty nor 0."""
    return os.environ.get("SCRATCHFORMER_OFFLINE", "0") not in ("", "0")
