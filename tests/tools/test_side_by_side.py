"""Two processes share the tests: what shares fixtures stays in one, what takes long begins."""

import os
import re
import subprocess
import sys
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


CONFTEST = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from side_by_side import file_of, together


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: file_of(item.nodeid) != "test_b.py")


def pytest_xdist_make_scheduler(config, log):
    split = lambda nodeid: nodeid if file_of(nodeid) == "test_b.py" else file_of(nodeid)
    return together(config, log, split)
"""
SOURCE = """
import os, pathlib, time, pytest

@pytest.mark.parametrize("i", range(6))
def test_it(i):
    time.sleep(0.05)
    with open("seen", "a") as file:
        file.write(f"{pathlib.Path(__file__).name} {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


def test_a_group_stays_in_one_process_and_the_first_file_is_begun_by_both(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name in "abc":
        (tmp_path / f"test_{name}.py").write_text(SOURCE)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # plugins take seconds
    command = "-m pytest -q --rootdir . -p no:cacheprovider -p xdist -n 2 --dist loadfile".split()
    run = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert "18 passed" in run.stdout, run.stdout + run.stderr
    seen = [line.split() for line in (tmp_path / "seen").read_text().splitlines()]
    assert {name for name, _ in seen[:4]} == {"test_b.py"}
    processes = {name: {process for file, process in seen if file == name} for name, _ in seen}
    assert list(map(len, (processes[f"test_{name}.py"] for name in "abc"))) == [1, 2, 1]
