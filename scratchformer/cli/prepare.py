"""`scratchformer prepare`: texts or a dataset as token files, with a progress bar."""

import argparse
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tqdm import tqdm

from scratchformer.cli.tokenizer_names import tokenizer_of
from scratchformer.data.hugging_face import dataset_rows
from scratchformer.data.token_files import read_header, text_pieces, write_tokens


def prepare(options: argparse.Namespace) -> None:
    """Write train.bin, val.bin and tokenizer.json to the folder `options.out`."""
    if bool(options.dataset) == bool(options.inputs):
        raise ValueError("expected either texts or --dataset")
    files = [file for name in options.inputs for file in _input_files(name)]
    # A pipe has no size, and cannot be read twice
    pipes = [file for file in files if Path(file).exists() and not Path(file).is_file()]
    if pipes and options.tokenizer == "char":
        raise ValueError(f"char reads the text twice, which {pipes[0]} does not allow: save it")

    def documents() -> Iterator[Iterable[str]]:
        yield from map(text_pieces, files)
        if options.dataset:
            yield from _dataset_documents(options)

    characters = (piece for document in documents() for piece in document)
    tokenizer = tokenizer_of(options.tokenizer, characters)
    size_is_unknown = pipes or options.dataset
    size = None if size_is_unknown else sum(Path(file).stat().st_size for file in files)
    try:
        with tqdm(total=size, unit="B", unit_scale=True, desc="prepare") as bar:
            write_tokens(
                options.out,
                documents(),
                tokenizer,
                validation=options.validation,
                source=options.dataset or " ".join(options.inputs),
                overwrite=options.overwrite,
                on_bytes=bar.update,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped: nothing has been written") from None
    for path in filter(Path.exists, (options.out / "train.bin", options.out / "val.bin")):
        print(f"{path}: {read_header(path)['tokens']:,} tokens")


def _dataset_documents(options: argparse.Namespace) -> Iterator[list[str]]:
    for row in dataset_rows(options.dataset, subset=options.subset):
        if not isinstance(row.get(options.column), str):
            raise ValueError(f"no text in column {options.column!r} of {', '.join(row)}")
        yield [row[options.column]]


def _input_files(name: str) -> list[str]:
    """The file itself, or all files in a folder in a fixed order, hidden ones left out.

    Links are followed. Raises ValueError for a folder without any, and for a link that leads
    nowhere or back to where it stands.
    """
    if not Path(name).is_dir():
        return [name]
    files = [str(path) for path in _files_below(Path(name))]
    if not files:
        raise ValueError(f"{name} has no text, expected another input")
    return files


def _files_below(folder: Path) -> list[Path]:
    """All files of a folder that are not hidden, in a fixed order, those behind links too."""

    def refuse(error: OSError) -> None:
        raise error

    files: list[Path] = []
    for path, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        folders[:] = [name for name in folders if name[0] != "."]
        for link in (Path(path, name) for name in folders if Path(path, name).is_symlink()):
            if Path(path).resolve().is_relative_to(link.resolve()):
                raise ValueError(f"the link {link} leads back to {link.resolve()}: remove it")
        files += [Path(path, name) for name in names if name[0] != "."]
    if missing := [file for file in files if not file.exists()]:
        raise ValueError(f"the link {missing[0]} leads nowhere, expected a text there")
    return sorted(file for file in files if file.is_file())
