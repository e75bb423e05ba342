"""A text so short that every script runs in seconds."""

import pytest
import torch

from lab import runs


@pytest.fixture(autouse=True)
def as_run(plain_signatures):
    """Scripts run as they are run elsewhere: without the checks of signatures, and far faster."""


@pytest.fixture
def short_text(monkeypatch):
    """In place of each corpus; threads are afterwards as they were."""

    class Short:
        is_real, text = True, "to be or not to be, that is the question. " * 150

    monkeypatch.setattr(runs, "load_corpus", lambda name: Short)
    threads = torch.get_num_threads()
    yield Short.text
    torch.set_num_threads(threads)
