"""Constraints: a file for every Python that is used, which agrees with every pin."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from readers import ROOT

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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_constraints_agree_with_every_pin(path):
    versions = fixed(path)
    for pin in pins():
        if pin.marker is None or pin.marker.evaluate({"python_version": path.stem}):
            version = versions[canonicalize_name(pin.name)]
            assert pin.specifier.contains(version, prereleases=True), f"{pin}: {version}"


def test_every_python_of_a_workflow_has_constraints():
    workflows = (ROOT / ".github" / "workflows").glob("*.yml")
    used = {v for path in workflows for v in re.findall(r'"(3\.\d+)"', path.read_text("utf-8"))}
    assert used and used <= {path.stem for path in FILES}


def test_the_lab_has_no_other_versions_than_the_book():
    lab, book = ({pin.name: str(pin) for pin in pins(f"requirements{x}.txt")} for x in ("-lab", ""))
    assert {pin for name, pin in lab.items() if name in book} <= {*book.values()}
