"""A chapter as a stranger opens it: the file alone, an empty folder, no package, no network.

The notebook's own setup cell installs the package; git is told to fetch the repository's address
from a copy of this tree, and everything else that asks for the network meets a closed port. The
corpora are out of reach too, so the chapter runs on its stand-ins, to the end, and the cells that
must hold on any corpus are compared.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def run(*command, cwd, env=None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """A git repository that holds this tree as it stands, committed or not."""
    copy = tmp_path_factory.mktemp("git") / "a copy"
    listed = run("git", "ls-files", "-co", "--exclude-standard", "-z", cwd=ROOT)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "a copy"]):
        assert run("git", *command, cwd=copy).returncode == 0
    return copy


@pytest.fixture
def fresh_python(tmp_path) -> Path:
    """A new environment with all of this one's packages, except the course's own."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    site = run(python, "-c", "import site; print(site.getsitepackages()[0])", cwd=tmp_path)
    Path(site.stdout.strip(), "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    assert run(python, "-c", "import scratchformer", cwd=tmp_path).returncode != 0
    return python


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_lone_notebook_runs_to_the_end(notebook, repository, fresh_python, tmp_path):
    address = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    folder = tmp_path / "empty folder"
    folder.mkdir()
    shutil.copy(notebook, folder)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SCRATCHFORMER", "PYTEST"))}
    env = kept | {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{repository.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
        "GIT_TERMINAL_PROMPT": "0",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this one backwards: 0 turns isolation off
        "HTTP_PROXY": "http://127.0.0.1:9",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "",
        "SCRATCHFORMER_CACHE": str(tmp_path / "cache"),
        "TIKTOKEN_CACHE_DIR": str(tmp_path / "no tokenizer"),
        "OMP_WAIT_POLICY": "passive",
    }
    result = run(
        *(fresh_python, "-m", "pytest", "-q", "--nbval-lax", "--nbval-current-env"),
        *("--nbval-cell-timeout=300", "-p", "no:cacheprovider", notebook.name),
        cwd=folder,
        env=env,
    )
    assert result.returncode == 0, result.stdout[:4000] + result.stderr[-2000:]
    where = run(fresh_python, "-c", "import scratchformer as s; print(s.__file__)", cwd=folder)
    assert where.stdout.startswith(str(fresh_python.parents[1])), "not the installed package"
