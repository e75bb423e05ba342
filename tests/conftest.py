"""Shared by all tests: shape annotations are checked, and the corpora are found or skipped."""

import os

import pytest
from jaxtyping import install_import_hook

install_import_hook("scratchformer", "beartype.beartype")

from scratchformer.data import load_corpus  # noqa: E402  (after the hook, or it sees nothing)

os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.fixture(scope="session")
def shakespeare() -> str:
    """Tiny Shakespeare, or a skip that says how to have it."""
    corpus = load_corpus("tinyshakespeare")
    if not corpus.is_real:
        pytest.skip("Tiny Shakespeare is not here: set SCRATCHFORMER_DATA, or connect once")
    return corpus.text
