"""`make bundle`: the zip holds what a reader without a network needs, and opens from a disk.

`make downloads`: the site offers the PDF and the bundle once they are there.
"""

import shutil
import subprocess
import sys
import zipfile

from tests.site.browsing import parsed
from tests.site.conftest import ROOT
from tests.site.test_pages import Page, faults_of_links
from tools import downloads


def test_the_bundle_holds_site_notebooks_and_package_and_its_links_lead_to_its_pages(
    site, tmp_path
):
    command = [sys.executable, "-m", "tools.bundle", tmp_path / "course.zip"]
    subprocess.run(command, cwd=ROOT, check=True)
    with zipfile.ZipFile(tmp_path / "course.zip") as archive:
        archive.extractall(tmp_path)
    unpacked = tmp_path / "transformers-from-scratch"
    assert not [*unpacked.rglob("*.gguf")], "no page from disk could fetch it"
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
    pages = {path: Page(parsed(path)) for path in (unpacked / "site" / "book").rglob("*.html")}
    welcome = unpacked / "site" / "book" / "welcome.html"
    assert list(faults_of_links(welcome, pages[welcome], pages)) == []


def test_the_page_offers_files_that_are_there_and_commands_before(site, tmp_path):
    page = tmp_path / "site" / downloads.PAGE
    page.parent.mkdir(parents=True)
    shutil.copy(site / downloads.PAGE, page)
    before = parsed(site / downloads.PAGE).select_one(".course-downloads")
    assert "make pdf" in before.get_text() and not before.select("a")
    files = [(tmp_path / name, name) for name in ("course.pdf", "course.zip")]
    for path, _ in files:
        path.write_bytes(b"x" * 2_000_000)
    downloads.offer(tmp_path / "site", files)
    after = parsed(page).select_one(".course-downloads")
    sizes = [(page.parent / a["href"]).resolve().stat().st_size for a in after.select("a")]
    assert sizes == [2e6, 2e6] and after.get_text().count("2 MB") == 2
