"""Rows of Hugging Face datasets, from files on this disk, and what is said when they do not fit."""

import json
import sys

import pytest

from scratchformer.data.hugging_face import dataset_rows

PAIRS = [("Ein Hund.", "A dog."), ("Es ward grün.", "It is green.")]


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
