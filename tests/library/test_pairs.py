"""Parallel corpora from files as they are published, and what is said when they do not fit."""

import csv
import json
import sys

import pytest

from scratchformer.data.hugging_face import dataset_rows
from scratchformer.data.pairs import load_pairs

PAIRS = [("Ein Hund.", "A dog."), ("Zwei Kätzchen\u2028schlafen.", "Two kittens\x0csleep.")]
PAIRS += [("Es ward grün.", "It is green.")]


@pytest.fixture
def two_files(tmp_path):
    for i, language in enumerate(("de", "en")):
        text = "".join(pair[i] + "\n" for pair in PAIRS)
        (tmp_path / f"train.{language}").write_bytes(text.encode())
    return tmp_path


def test_two_files_are_paired_line_by_line(two_files):
    assert load_pairs(two_files / "train.de", two_files / "train.en") == PAIRS
    assert load_pairs(str(two_files / "train.en"), str(two_files / "train.de"), limit=1) == [
        ("A dog.", "Ein Hund.")
    ]


def test_a_folder_as_multi30ks_is_read_by_split_and_languages(two_files):
    assert load_pairs(two_files) == PAIRS
    assert load_pairs(two_files, languages=("en", "de")) == [(b, a) for a, b in PAIRS]


def test_windows_line_ends_blanks_and_a_missing_last_one_are_no_matter(two_files):
    text = "\ufeff" + "\r\n".join(f" {a}\t" for a, _ in PAIRS)
    (two_files / "train.de").write_bytes(text.encode())
    assert load_pairs(two_files) == PAIRS


def test_items_with_an_empty_side_are_left_out(two_files):
    (two_files / "train.de").write_text("Ein Hund.\n\nEs ward grün.\n", encoding="utf-8")
    assert load_pairs(two_files) == [PAIRS[0], PAIRS[2]]


def test_files_of_different_lengths_are_refused_with_both_numbers(two_files):
    with (two_files / "train.en").open("a") as file:
        file.write("One more.\n")
    with pytest.raises(ValueError, match=r"train\.de has 3 lines and .*train\.en 4: expected as"):
        load_pairs(two_files)


def test_a_missing_file_is_named(two_files):
    with pytest.raises(FileNotFoundError, match=r"train\.fr"):
        load_pairs(two_files / "train.de", two_files / "train.fr")
    with pytest.raises(FileNotFoundError, match=r"none\.tsv"):
        load_pairs(two_files / "none.tsv")


def test_a_file_that_is_not_utf8_is_named(two_files):
    (two_files / "train.de").write_bytes("Grün\n\n\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"train\.de is not UTF-8"):
        load_pairs(two_files)


def test_a_table_of_tabs_is_read_and_its_further_columns_ignored(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_bytes("".join(f"{a}\t{b}\tCC-BY\n" for a, b in PAIRS).encode())
    assert load_pairs(path) == PAIRS and load_pairs(path, limit=2) == PAIRS[:2]
    with path.open("a") as file:
        file.write("no tab\n")
    with pytest.raises(ValueError, match=r"pairs\.txt, line 4: no tab in 'no tab'"):
        load_pairs(path)


# --- through Hugging Face datasets, from files on this disk ------------------------------------


def as_wmt(folder, split="train"):
    rows = [{"translation": {"de": a, "en": b}} for a, b in PAIRS]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{split}.jsonl").write_text(text, encoding="utf-8")


def as_columns(folder, split="train"):
    with (folder / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("en", "de"), *((b, a) for a, b in PAIRS)])


def as_parquet(folder, split="train"):
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"de": [a for a, _ in PAIRS], "en": [b for _, b in PAIRS]}
    parquet.write_table(pa.table(columns), folder / f"{split}.parquet")


@pytest.mark.parametrize("layout", [as_wmt, as_columns, as_parquet])
def test_a_dataset_of_either_layout_is_read(datasets, tmp_path, layout):
    layout(tmp_path)
    assert load_pairs(tmp_path) == PAIRS
    assert load_pairs(tmp_path, languages=("en", "de"), limit=2) == [(b, a) for a, b in PAIRS[:2]]
    with pytest.raises(ValueError, match="no language 'fr': a row has "):
        load_pairs(tmp_path, languages=("de", "fr"))


def test_splits_are_told_apart(datasets, tmp_path):
    as_wmt(tmp_path)
    as_wmt(tmp_path, "test")
    assert load_pairs(tmp_path, split="test") == PAIRS
    with pytest.raises(ValueError, match="cannot read split 'valid' of dataset"):
        load_pairs(tmp_path, split="valid")


def test_a_dataset_that_cannot_be_had_says_what_to_do(datasets, tmp_path, monkeypatch):
    def offline(*args, **kwargs):
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    words = "dataset 'wmt14' .de-en.: ConnectionError: no network. Check the names and the conn"
    with pytest.raises(ValueError, match=words):
        load_pairs("wmt14", subset="de-en")


def test_without_the_optional_package_its_installation_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match="not installed: run `pip install datasets`"):
        next(dataset_rows("wmt14"))
