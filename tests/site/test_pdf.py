"""`make pdf`: a few pages of the course in one file, whose links lead to where they say."""

import os
import subprocess
import sys
from pathlib import Path

from pypdf import PdfReader

from tests.site.browsing import parsed
from tools import pdf

ROOT = Path(__file__).resolve().parents[2]
PARTS = [("", ["book/glossary"]), ("Text", ["notebooks/01_bpe"]), ("Reference", ["book/notation"])]


def words(text: str) -> str:
    """A text without spaces: Chromium sets some of them as gaps."""
    return "".join(text.split())


def test_the_outline_has_parts_and_pages_links_lead_somewhere_and_guesses_are_uncovered(
    site, browser, tmp_path
):
    pdf.make_pdf(browser, tmp_path / "course.pdf", PARTS, site)
    printed = PdfReader(tmp_path / "course.pdf")
    glossary, text, (chapter,), reference, (notation,) = printed.outline
    titles = ["Glossary", "Text", "01 · Byte-pair encoding", "Reference", "Notation and names"]
    assert [item.title for item in (glossary, text, chapter, reference, notation)] == titles
    starts = {
        item.title: printed.get_destination_page_number(item)
        for item in (glossary, chapter, notation)
    }
    for title, number in starts.items():
        assert words(printed.pages[number].extract_text()).startswith(words(title))
    links = [link.get_object() for page in printed.pages for link in page.get("/Annots", [])]
    inside = [printed.get_page_number(x["/Dest"][0].get_object()) for x in links if "/Dest" in x]
    assert {0, starts[chapter.title]} <= set(inside) <= set(starts.values())
    assert len(inside) > 50
    outside = [str(link["/A"]["/URI"]) for link in links if "/Dest" not in link]
    assert [uri for uri in outside if not uri.startswith("https://")] == []
    answers = parsed(site / "notebooks" / "01_bpe.html").select(".course-guess-answer > p")
    covered = [words(p.find(string=True))[:40] for p in answers]
    text = "".join(words(page.extract_text()) for page in printed.pages)
    assert len(covered) >= 3 and [part for part in covered if part not in text] == []


def test_without_a_browser_the_command_says_so_in_a_line(site, tmp_path):
    env = {**os.environ, "PATH": "", "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    command = [sys.executable, "-m", "tools.pdf", tmp_path / "course.pdf"]
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr.startswith("make pdf: Chromium is missing")
