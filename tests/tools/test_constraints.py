"""Constraints: a file for every Python that is used, which agrees with every pin."""

import json
import re
from pathlib import Path

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "constraints").glob("*.txt"))


def pins(name: str = "requirements*.txt") -> list[Requirement]:
    """The lines of the book's and the lab's requirements, for all Pythons; not the package."""
    files = ROOT.glob(name)
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    return [Requirement(line.split(" #")[0]) for line in lines if re.match(r"\w", line)]


def fixed(path: Path) -> dict[str, str]:
    """Name -> version, as a constraints file says."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def disagreements(pins: list[Requirement], constraints: dict[str, str], python: str):
    """The pins for `python` that the constraints leave out or fix at another version."""
    for pin in pins:
        if pin.marker is None or pin.marker.evaluate({"python_version": python}):
            version = constraints.get(canonicalize_name(pin.name))
            if version is None or not pin.specifier.contains(version, prereleases=True):
                yield f"{pin}: {version}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_constraints_agree_with_every_pin(path):
    assert list(disagreements(pins(), fixed(path), path.stem)) == []


def test_a_group_of_dependencies_is_a_part_of_the_pins():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    book = {canonicalize_name(pin.name): pin for pin in pins("requirements.txt")}
    for words in (word for group in project["dependency-groups"].values() for word in group):
        named = Requirement(words)
        (pinned,) = book[canonicalize_name(named.name)].specifier
        assert named.specifier.contains(pinned.version, prereleases=True), words


def test_every_python_of_a_workflow_has_constraints():
    workflows = (ROOT / ".github" / "workflows").glob("*.yml")
    used = {v for path in workflows for v in re.findall(r'"(3\.\d+)"', path.read_text("utf-8"))}
    assert used and used <= {path.stem for path in FILES}


def test_the_lab_has_no_other_versions_than_the_book():
    lab, book = ({pin.name: str(pin) for pin in pins(f"requirements{x}.txt")} for x in ("-lab", ""))
    shared = lab.keys() & book.keys()
    assert "torch" in shared
    assert {name: lab[name] for name in shared} == {name: book[name] for name in shared}


def test_what_npm_installs_are_the_pins_of_package_json():
    pinned = json.loads((ROOT / "package.json").read_text("utf-8"))["devDependencies"]
    locked = json.loads((ROOT / "package-lock.json").read_text("utf-8"))["packages"]
    assert locked[""]["devDependencies"] == pinned
    assert {name: locked[f"node_modules/{name}"]["version"] for name in pinned} == pinned
