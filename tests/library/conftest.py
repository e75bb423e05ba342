"""Shared by the tests of the library."""

import pytest


@pytest.fixture
def datasets(monkeypatch, tmp_path_factory):
    """Hugging Face's package without a network, and with a cache of its own."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    package = pytest.importorskip("datasets", reason="datasets is not installed")
    cache = tmp_path_factory.mktemp("cache of datasets")
    monkeypatch.setattr(package.config, "HF_DATASETS_CACHE", cache)
    return package
