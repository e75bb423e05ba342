"""Rows of a Hugging Face dataset, one after the other: from their hub, or from a folder on disk."""

from collections.abc import Iterator
from pathlib import Path


def dataset_rows(
    name: str | Path, split: str = "train", subset: str | None = None
) -> Iterator[dict]:
    """The rows of a split, streamed: nothing is downloaded that is not read.

    `name` is a dataset of the hub, or a folder with .jsonl, .json, .csv or .parquet files; a folder
    of that name counts first.
    Raises ImportError without the optional package, and ValueError, which says what to check, for
    whatever it cannot open.
    """
    try:
        import datasets
    except ImportError as error:
        raise ImportError(
            "Hugging Face datasets is not installed: run `pip install datasets`"
        ) from error
    source = str(Path(name).resolve()) if Path(name).is_dir() else str(name)
    readers = getattr(datasets.packaged_modules, "_PACKAGED_DATASETS_MODULES", {})
    if source in readers:  # which would take whatever files this folder has
        raise ValueError(
            f"there is no folder {source}, and to `datasets` that is a kind of file, expected a "
            "dataset of the hub or a folder"
        )
    try:
        rows = iter(datasets.load_dataset(source, subset, split=split, streaming=True))
        first = next(rows, None)
    except Exception as error:  # its own, the hub's, the network's: many kinds
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        of = f" ({subset})" if subset else ""
        raise ValueError(
            f"cannot read split {split!r} of dataset {str(name)!r}{of}: {reason:.400}. Check the "
            "names and the connection, or pass a folder that holds its files."
        ) from error
    if first is not None:
        yield first
        yield from rows
