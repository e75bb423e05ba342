"""Parallel corpora: sentences and their translations, from two text files.

Nothing is tokenized or shuffled here.
"""

from pathlib import Path


def load_pairs(source: str | Path, target: str | Path) -> list[tuple[str, str]]:
    """(source sentence, target sentence) from two files: `load_pairs("train.de", "train.en")`.

    A line holds a sentence. Blanks around a sentence are cut off; an item with an empty side is
    left out. Raises ValueError for files of different lengths, FileNotFoundError for a missing one.
    """
    ours, theirs = _lines(Path(source)), _lines(Path(target))
    if len(ours) != len(theirs):
        raise ValueError(
            f"{source} has {len(ours):,} lines and {target} {len(theirs):,}: expected as many, "
            "each the translation of the other"
        )
    stripped = ((a.strip(), b.strip()) for a, b in zip(ours, theirs, strict=True))
    return [(a, b) for a, b in stripped if a and b]


def _lines(path: Path) -> list[str]:
    """Lines end at a newline and nowhere else: a sentence may hold U+2028 or a form feed."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error})") from error
    return text.removesuffix("\n").split("\n") if text else []
