"""Parallel corpora from two files, and rows of datasets, and what is said when they do not fit."""

import json
import sys

import pytest

from scratchformer.data.hugging_face import dataset_rows
from scratchformer.data.pairs import load_pairs

PAIRS = [("Ein Hund.", "A dog."), ("Zwei Kätzchen\u2028schlafen.", "Two kittens\x0csleep.")]
PAIRS += [("Es ward grün.", "It is green.")]


@pytest.fixture
def two_files(tmp_path):
    paths = tmp_path / "train.de", tmp_path / "train.en"
    for path, sentences in zip(paths, zip(*PAIRS, strict=True), strict=True):
        path.write_bytes("".join(f"{sentence}\n" for sentence in sentences).encode())
    return paths


def test_two_files_are_paired_line_by_line_and_items_with_an_empty_side_left_out(two_files):
    assert load_pairs(*two_files) == PAIRS
    two_files[0].write_text("Ein Hund.\n\nEs ward grün.\n", encoding="utf-8")
    assert load_pairs(*two_files) == [PAIRS[0], PAIRS[2]]


def test_windows_line_ends_blanks_and_a_missing_last_one_are_no_matter(two_files):
    text = "\ufeff" + "\r\n".join(f" {a}\t" for a, _ in PAIRS)
    two_files[0].write_bytes(text.encode())
    assert load_pairs(*two_files) == PAIRS


def test_files_that_make_no_pairs_are_named(two_files, tmp_path):
    with two_files[1].open("a") as file:
        file.write("One more.\n")
    with pytest.raises(ValueError, match=r"train\.de has 3 lines and .*train\.en 4: expected as"):
        load_pairs(*two_files)
    two_files[0].write_bytes("Grün\n\n\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"train\.de is not UTF-8"):
        load_pairs(*two_files)
    with pytest.raises(FileNotFoundError, match=r"train\.fr"):
        load_pairs(two_files[1], tmp_path / "train.fr")


# --- rows of Hugging Face datasets, from files on this disk -------------------------------------


def test_rows_of_a_split_are_read_in_their_order(datasets, tmp_path):
    rows = [{"de": a, "en": b} for a, b in PAIRS]
    for split in ("train", "test"):
        text = "".join(json.dumps(row | {"split": split}) + "\n" for row in rows)
        (tmp_path / f"{split}.jsonl").write_text(text, encoding="utf-8")
    assert list(dataset_rows(tmp_path, "test")) == [row | {"split": "test"} for row in rows]
    with pytest.raises(ValueError, match="cannot read split 'valid' of dataset"):
        next(dataset_rows(tmp_path, "valid"))


def test_a_dataset_that_cannot_be_had_says_what_to_do(datasets, monkeypatch):
    def offline(*args, **kwargs):
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    words = "dataset 'wmt14' .de-en.: ConnectionError: no network. Check the names and the conn"
    with pytest.raises(ValueError, match=words):
        next(dataset_rows("wmt14", subset="de-en"))


def test_without_the_optional_package_its_installation_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match="not installed: run `pip install datasets`"):
        next(dataset_rows("wmt14"))
