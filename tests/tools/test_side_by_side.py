"""Two processes share the tests: what shares fixtures stays in one, what takes long begins."""

import re
from pathlib import Path

import pytest
from side_by_side import file_of

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def slow(request) -> dict[str, str]:
    plugins = request.config.pluginmanager.get_plugins()
    return next(plugin.SLOW for plugin in plugins if hasattr(plugin, "SLOW"))


def test_slow_files_are_there_and_those_that_may_be_split_make_nothing_once(slow):
    for name, way in slow.items():
        (path,) = TESTS.rglob(name)
        once = re.search(r'scope="(module|session|package)"', path.read_text(encoding="utf-8"))
        assert way == "together" or (way == "split" and not once), name


def test_a_tests_file_is_its_name_without_folders():
    assert file_of("tests/library/test_loop.py::test_it[a/b::c]") == "test_loop.py"
    assert file_of("notebooks/01_bpe.ipynb::Cell 3") == "01_bpe.ipynb"
