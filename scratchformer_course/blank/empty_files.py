"""`blank`: writes five empty files and a README into a folder, and never over a file."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from scratchformer_course.blank.mine import FILES


def blank(folder: Path) -> list[Path]:
    """Copy the empty files; returns the new ones. FileExistsError, before any, if one is there."""
    names = [*FILES, "README.md"]
    if present := [name for name in names if (folder / name).exists()]:
        raise FileExistsError(f"{folder} has {', '.join(present)} already: nothing was written")
    return written(folder, "files")


def written(folder: Path, source: str = "climbed") -> list[Path]:
    """Copy the empty files, or those of one climb. They are kept as text: nothing imports them."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(Path(__file__).with_name(source).iterdir())
    return [Path(shutil.copyfile(file, folder / file.name.removesuffix(".txt"))) for file in files]


def main(arguments: list[str]) -> int:
    """The command line; 2 if the folder has such files or cannot be written."""
    parser = argparse.ArgumentParser(prog="blank", description="Write five empty files.")
    parser.add_argument("folder", nargs="?", default="mine", type=Path)
    folder = parser.parse_args(arguments).folder
    try:
        blank(folder)
    except OSError as error:
        print(error)
        return 2
    print(f'{folder} has five empty files. How far they go: python course.py climb "{folder}"')
    return 0
