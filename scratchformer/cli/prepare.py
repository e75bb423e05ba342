"""`scratchformer prepare`: texts or a dataset as token files, with a progress bar."""

import argparse
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
    files = [file for name in options.inputs for file in _files(name)]

    def documents() -> Iterator[Iterable[str]]:
        yield from map(text_pieces, files)
        if options.dataset:
            yield from _dataset_documents(options)

    characters = (piece for document in documents() for piece in document)
    tokenizer = tokenizer_of(options.tokenizer, characters)
    size = None if options.dataset else sum(Path(file).stat().st_size for file in files)
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


def _files(name: str) -> list[str]:
    """The file itself, or all files in a folder in a fixed order, hidden ones left out.

    ValueError for a folder without any.
    """
    if not Path(name).is_dir():
        return [name]
    inside = (p.relative_to(name) for p in sorted(Path(name).rglob("*")) if p.is_file())
    files = [str(Path(name, p)) for p in inside if not any(q[0] == "." for q in p.parts)]
    if not files:
        raise ValueError(f"{name} has no text, expected another input")
    return files
