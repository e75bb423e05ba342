"""Parallel corpora: sentences and their translations, from text files or Hugging Face datasets.

Nothing is tokenized or shuffled here.
"""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from scratchformer.data.hugging_face import dataset_rows


def load_pairs(
    source: str | Path,
    target: str | Path | None = None,
    *,
    languages: tuple[str, str] = ("de", "en"),
    split: str = "train",
    subset: str | None = None,
    limit: int | None = None,
) -> list[tuple[str, str]]:
    """(source sentence, target sentence) for each of the first `limit` items of a corpus, from

    - two files with as many lines each: `load_pairs("train.de", "train.en")`;
    - a folder with such files, as Multi30k's: `load_pairs("multi30k", languages=("de", "en"))`
      reads train.de and train.en;
    - one file of lines "source TAB target": `load_pairs("pairs.tsv")`, further columns ignored;
    - a Hugging Face dataset, or a folder with its files, where each row has a column a language,
      or as WMT's a column "translation": `load_pairs("wmt14", subset="de-en", limit=100_000)`.

    Blanks around a sentence are cut off; an item with an empty side is left out. Raises
    ValueError for files of different lengths, a line without a tab and missing languages,
    FileNotFoundError for missing files and ImportError without the package `datasets`.
    """
    path = Path(source)
    sides = [path / f"{split}.{language}" for language in languages]
    if target is not None:
        sides = [path, Path(target)]
    if target is not None or all(side.is_file() for side in sides):
        ours, theirs = (_lines(side) for side in sides)
        if len(ours) != len(theirs):
            raise ValueError(
                f"{sides[0]} has {len(ours):,} lines and {sides[1]} {len(theirs):,}: expected as "
                "many, each the translation of the other"
            )
        pairs: Iterable[tuple[str, str]] = zip(ours, theirs, strict=True)
    elif any(side.is_file() for side in sides) or (path.suffix and not path.exists()):
        missing = [side for side in [*sides, path] if not side.exists()]
        raise FileNotFoundError(f"{missing[-1] if path.suffix else missing[0]} is missing")
    elif path.is_file():
        pairs = (_columns(path, number, line) for number, line in enumerate(_lines(path), 1))
    else:
        pairs = (_sides(row, languages) for row in dataset_rows(source, split, subset))
    stripped = ((a.strip(), b.strip()) for a, b in islice(pairs, limit))
    return [(a, b) for a, b in stripped if a and b]


def _lines(path: Path) -> list[str]:
    """Lines end at a newline and nowhere else: a sentence may hold U+2028 or a form feed."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error})") from error
    return text.removesuffix("\n").split("\n") if text else []


def _columns(path: Path, number: int, line: str) -> tuple[str, str]:
    columns = line.split("\t")
    if len(columns) < 2:
        raise ValueError(f"{path}, line {number}: no tab in {line[:60]!r}, expected two columns")
    return columns[0], columns[1]


def _sides(row: dict, languages: tuple[str, str]) -> tuple[str, str]:
    row = row.get("translation", row)
    if missing := [language for language in languages if language not in row]:
        raise ValueError(f"no language {missing[0]!r}: a row has {', '.join(row)}")
    return row[languages[0]] or "", row[languages[1]] or ""  # an empty cell may be None
