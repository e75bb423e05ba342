"""A chapter as a stranger opens it: the file alone, an empty folder, no package, no network.

The setup cell, the same in every chapter (tests/chapters/test_stored_notebooks.py), installs the
package into a fresh environment; git is told to fetch the repository's address from a copy of this
tree, and everything else that asks for the network meets a closed port. Each chapter then runs
there, in a folder of its own, to its end, as a reader leaves it: in every stub a wrong answer,
which is refused, and then another right one, which the page goes on with. The corpora are out of
reach too, so it runs on its stand-ins, on the smoke budget, a few steps of each training: claims
about losses are tested where every output is compared.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat import NotebookNode
from node import ask, start
from readers import NOTEBOOKS, ROOT, environment, fill

SHELL = Path(__file__).with_name("shell.py")


def run(*command, cwd, env=None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True
    )


@pytest.fixture(scope="session")
def repository(tmp_path_factory) -> Path:
    """A git repository that holds this tree as it stands, committed or not."""
    copy = tmp_path_factory.mktemp("git") / "a copy"
    git = ["git", "--git-dir", copy / ".git", "--work-tree", ROOT]
    git += ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    for command in (["git", "init", "-q", copy], [*git, "add", "-A"], [*git, "commit", "-qm", "a"]):
        assert run(*command, cwd=ROOT).returncode == 0
    return copy


@pytest.fixture(scope="session")
def env(repository, tmp_path_factory) -> dict[str, str]:
    """The variables of somebody with no network but git's, no corpora and no cache."""
    address = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SCRATCHFORMER", "PYTEST"))}
    kept.pop("PYTHONPATH", None)
    return kept | {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{repository.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
        "GIT_TERMINAL_PROMPT": "0",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this one backwards: 0 turns isolation off
        "HTTP_PROXY": "http://127.0.0.1:9",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "",
        "SCRATCHFORMER_BUDGET": "smoke",
        "SCRATCHFORMER_LIVE": "stored",  # what is compared is stored without scripts
        "SCRATCHFORMER_CACHE": str(tmp_path_factory.mktemp("cache")),
        "TIKTOKEN_CACHE_DIR": str(tmp_path_factory.mktemp("cache") / "no tokenizer"),
        "OMP_WAIT_POLICY": "passive",
        "OMP_NUM_THREADS": "1",  # two notebooks run side by side
    }


@pytest.fixture(scope="session")
def error_of(tmp_path_factory, env) -> Callable[[NotebookNode, Path], str | None]:
    """What goes wrong as a notebook runs in a folder.

    It runs in a new environment with all of this one's packages, the course's own from the setup
    cell.
    """
    folder = tmp_path_factory.mktemp("reader")
    python = environment(folder)
    where = "import scratchformer as s; print(s.__file__)"
    assert run(python, "-c", where, cwd=folder, env=env).returncode != 0
    shell = shutil.copy(SHELL, folder)  # beside nothing of this tree
    readers = []

    def error_of(notebook, folder):
        nbformat.write(notebook, folder / "chapter.ipynb")
        program = [str(python), shell]  # once more after a test that was ended
        reader = readers.pop() if readers else start(program, stderr=None, cwd=folder, env=env)
        answer = json.loads(ask(reader, str(folder / "chapter.ipynb")))
        readers.append(reader)
        return answer

    chapter = nbformat.read(NOTEBOOKS[0], as_version=4)
    chapter.cells = [cell for cell in chapter.cells if cell.cell_type == "code"][:1]
    assert error_of(chapter, folder) is None
    installed = run(python, "-c", where, cwd=folder, env=env).stdout
    assert installed.startswith(str(folder)), "not the installed package"
    return error_of


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_lone_notebook_runs_to_the_end_with_what_the_reader_wrote(path, error_of, tmp_path):
    folder = tmp_path / "an empty földer"
    folder.mkdir()
    notebook = nbformat.read(path, as_version=4)
    fill(notebook)
    assert error_of(notebook, folder) is None
