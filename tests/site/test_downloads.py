"""`make downloads`: the site offers the PDF and the bundle once they are there."""

import shutil

import pytest
from bs4 import BeautifulSoup

from tools import downloads


def test_the_page_offers_files_that_are_there_and_commands_before(site, tmp_path):
    page = tmp_path / "site" / downloads.PAGE
    page.parent.mkdir(parents=True)
    shutil.copy(site / downloads.PAGE, page)

    def place():
        return BeautifulSoup(page.read_text("utf-8"), "html.parser").select_one(".course-downloads")

    commands = {code.get_text() for code in place().select("code")}
    assert {"make pdf", "make bundle"} <= commands and not place().select("a")
    files = [(tmp_path / name, name) for name in ("course.pdf", "course.zip")]
    with pytest.raises(FileNotFoundError):
        downloads.offer(tmp_path / "site", files)
    assert not place().select("a")
    for path, _ in files:
        path.write_bytes(b"x" * 2_000_000)
    for _ in range(2):
        downloads.offer(tmp_path / "site", files)
        links = place().select("a")
        assert [(page.parent / a["href"]).resolve().stat().st_size for a in links] == [2e6, 2e6]
        assert place().get_text().count("2 MB") == 2
