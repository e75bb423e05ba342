"""Rows of Hugging Face datasets, from files on this disk, and what is said when they do not fit."""

import pytest

from scratchformer.data.hugging_face import dataset_rows


def test_a_dataset_that_cannot_be_had_says_what_to_do(datasets, monkeypatch):
    def offline(*args, **kwargs):
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    words = "dataset 'wmt14' .de-en.: ConnectionError: no network. Check the names and the conn"
    with pytest.raises(ValueError, match=words):
        next(dataset_rows("wmt14", subset="de-en"))
