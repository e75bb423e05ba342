"""Pins and constraints agree, and the lower bounds are those of the package."""

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import versions

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "constraints").glob("*.txt"))


def fixed(path):
    """Name -> version, as a constraints file says."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def disagreements(pins, constraints, python):
    """The pins for `python` that the constraints leave out or fix at another version."""
    for pin in pins:
        if versions.applies(pin, python=python):
            found = constraints.get(canonicalize_name(pin.name))
            if found is None or not pin.specifier.contains(found, prereleases=True):
                yield f"{pin}: {found}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_constraints_agree_with_every_pin(path):
    assert list(disagreements(versions.requirements(), fixed(path), path.stem)) == []


def test_a_pin_that_the_constraints_contradict_or_forget_is_told():
    pins = [Requirement(line) for line in ("a==1", "B_c==2", 'd==3; python_version < "3.11"')]
    assert list(disagreements(pins, {"a": "1", "b-c": "2"}, "3.11")) == []
    assert list(disagreements(pins, {"a": "1.5"}, "3.11")) == ["a==1: 1.5", "B_c==2: None"]
    assert list(disagreements(pins, {"a": "1", "b-c": "2"}, "3.10")) != []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_constraints_are_exact_and_good_for_any_index(path):
    for name, number in fixed(path).items():
        assert re.fullmatch(r"[a-z0-9-]+", name) and re.fullmatch(r"[0-9][\w.]*", number), name


def test_all_that_is_installed_here_is_fixed():
    path = ROOT / "constraints" / f"{versions.PYTHON}.txt"
    if not path.is_file():
        pytest.skip(f"there are no constraints for Python {versions.PYTHON}")
    try:
        pins = [p for p in versions.requirements() if versions.applies(p)]
        pinned = all(p.specifier.contains(version(p.name)) for p in pins)
    except PackageNotFoundError:
        pinned = False
    if not pinned:
        pytest.skip("other versions than those of requirements.txt are installed")
    assert fixed(path) == versions.installed(), "run `make constraints`"


def test_the_lowest_versions_are_the_bounds_of_the_package():
    command = [sys.executable, "tools/versions.py", "lowest"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    bounds = [r for r in versions.runtime() if any(s.operator == ">=" for s in r.specifier)]
    assert len(bounds) > 10
    for bound in bounds:
        name, (floor,) = canonicalize_name(bound.name), [s.version for s in bound.specifier]
        assert [line for line in lines if line.startswith(f"{name}=={floor}")], bound
    assert "pytest" in lines and "-e ." in lines
    assert not any("@" in line or "://" in line for line in lines)
