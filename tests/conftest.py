"""Shared by all tests: shape annotations and shape comments are checked, the corpora found."""

import os
import sys
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

sys.path.insert(0, str(Path(__file__).parent / "shapes"))

import tracer

TRACER = tracer.install(install_import_hook("scratchformer", "beartype.beartype").hook)

from scratchformer.data import load_corpus  # noqa: E402  (after the hook, or it sees nothing)

os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def pytest_collection_modifyitems(items):
    """What asks which comments the other tests have reached runs after them."""
    items.sort(key=lambda item: item.name == "test_every_shape_comment_of_the_package_was_reached")


@pytest.fixture(scope="session")
def package_tracer() -> tracer.Tracer:
    """What the tests so far have shown of the package's shape comments."""
    return TRACER


@pytest.fixture(scope="session")
def shakespeare() -> str:
    """Tiny Shakespeare, or a skip that says how to have it."""
    corpus = load_corpus("tinyshakespeare")
    if not corpus.is_real:
        pytest.skip("Tiny Shakespeare is not here: set SCRATCHFORMER_DATA, or connect once")
    return corpus.text
