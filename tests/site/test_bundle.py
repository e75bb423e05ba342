"""`make bundle`: the zip holds what a reader without a network needs, and opens from a disk."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from test_pages import Page, faults_of_links

from tests.site.browsing import parsed

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def unpacked(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    command = [sys.executable, "-m", "tools.bundle", folder / "course.zip"]
    subprocess.run(command, cwd=ROOT, check=True)
    with zipfile.ZipFile(folder / "course.zip") as archive:
        archive.extractall(folder)
    return folder / "transformers-from-scratch"


def test_the_bundle_holds_site_notebooks_and_package(unpacked):
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert (unpacked / "notebooks" / path.name).read_bytes() == path.read_bytes()
    (wheel,) = unpacked.glob("*.whl")
    assert wheel.name in (unpacked / "START_HERE.txt").read_text(encoding="utf-8")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    packages = [ROOT / "scratchformer", ROOT / "scratchformer_course"]
    files = [path for package in packages for path in package.rglob("*") if path.is_file()]
    kept = {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}
    assert names == kept


def test_the_pages_of_the_bundle_lead_to_pages_of_the_bundle(unpacked):
    files = (unpacked / "site" / "book").rglob("*.html")
    pages = {path: Page(parsed(path)) for path in files}
    welcome = unpacked / "site" / "book" / "welcome.html"
    assert list(faults_of_links(welcome, pages[welcome], pages)) == []
