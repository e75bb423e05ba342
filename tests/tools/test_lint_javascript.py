"""The JavaScript step of `make lint`: what it says where it cannot check, and what is pinned."""

import json
import shutil
import subprocess

import pytest

from tools import lint_javascript
from tools.lint_javascript import ROOT


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that pins a Biome, and an empty PATH."""
    pins = {"devDependencies": {"@biomejs/biome": "1.2.3"}}
    (tmp_path / "package.json").write_text(json.dumps(pins))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    return tmp_path


def test_without_node_it_says_so_and_passes(project, capsys):
    assert lint_javascript.main(project) == 0
    assert capsys.readouterr().out.startswith("javascript: not checked")


@pytest.mark.parametrize(("code", "status"), [("ENOTFOUND", 0), ("EUSAGE", 1)])
def test_without_a_network_it_passes_and_with_a_wrong_lock_it_fails(
    project, monkeypatch, capsys, code, status
):
    failed = subprocess.CompletedProcess([], 1, "", f"npm error code {code}")
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: failed)
    assert lint_javascript.main(project) == status
    printed = capsys.readouterr().out
    assert code in printed and printed.startswith("javascript: not checked") == (status == 0)


def test_the_pins_are_exact_for_every_platform_and_name_no_other_registry():
    pinned = json.loads((ROOT / "package.json").read_text())["devDependencies"]
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert locked[""]["devDependencies"] == pinned
    for name, version in pinned.items():
        package = locked[f"node_modules/{name}"]
        assert package["version"] == version
        for part, exact in package.get("optionalDependencies", {}).items():
            assert locked[f"node_modules/{part}"]["version"] == exact
    for package in locked.values():
        assert package.get("resolved", "https://registry.npmjs.org/").startswith(
            "https://registry.npmjs.org/"
        )
