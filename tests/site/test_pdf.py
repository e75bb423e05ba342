"""`make pdf`: a few pages of the course in one file, whose links lead to where they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

from tools import pdf

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = "notebooks/01_bpe"
PARTS = [("", ["book/glossary"]), ("Text", [CHAPTER]), ("Reference", ["book/notation"])]
MILLIMETRE = 72 / 25.4
MARGINS = [float(pdf.PAPER["margin"][side].removesuffix("mm")) for side in ("bottom", "top")]


@pytest.fixture(scope="module")
def printed(site, browser, tmp_path_factory) -> PdfReader:
    path = tmp_path_factory.mktemp("pdf") / "course.pdf"
    pdf.make_pdf(browser, path, PARTS, site)
    return PdfReader(path)


@pytest.fixture(scope="module")
def texts(printed) -> list[str]:
    """What each page says, without spaces."""
    return [words(page.extract_text()) for page in printed.pages]


@pytest.fixture(scope="module")
def starts(printed) -> dict[str, int]:
    """The number of the first page of each chapter, as the outline has it."""
    found = {}

    def walk(items):
        for item in items:
            if isinstance(item, list):
                walk(item)
            else:
                found.setdefault(item.title, printed.get_destination_page_number(item))

    walk(printed.outline)
    return found


def links(page) -> list:
    return [link.get_object() for link in page.get("/Annots", [])]


def words(text: str) -> str:
    """A text without spaces: Chromium sets some of them as gaps."""
    return re.sub(r"\s+", "", text)


def chapter(site):
    html = (site / f"{CHAPTER}.html").read_text(encoding="utf-8")
    return BeautifulSoup(html, "html.parser").article


def target(printed, link) -> int:
    """The number of the page that a link leads to."""
    return printed.get_page_number(link["/Dest"][0].get_object())


def test_the_contents_lead_to_the_chapters_in_order_and_tell_their_pages(printed, starts, texts):
    titles = ["Glossary", "01 · Byte-pair encoding", "Notation and names"]
    listed = [target(printed, link) for link in links(printed.pages[1])]
    assert listed == sorted(listed) and listed[:3] == [starts[title] for title in titles]
    assert len(listed) == 4  # the answers are the last
    for title in titles:
        number = str(starts[title] + 1)
        assert words(title) + number in texts[1]
        assert texts[starts[title]].startswith(words(title))
        assert texts[starts[title]].endswith(number)


def test_every_link_leads_into_the_file_or_to_the_web(printed):
    inside, outside = [], []
    for page in printed.pages:
        for link in links(page):
            if "/Dest" in link:
                inside.append(target(printed, link))
            else:
                outside.append(str(link["/A"]["/URI"]))
    assert len(inside) > 50 and all(number is not None for number in inside)
    assert [uri for uri in outside if not uri.startswith("https://") or "127.0.0.1" in uri] == []


def test_a_term_of_a_chapter_leads_to_its_entry_in_the_glossary(printed, starts, texts, site):
    terms = [a for a in chapter(site).select("a[href*='glossary.html#']") if a.find("span")]
    pages = printed.pages[starts["01 · Byte-pair encoding"] : starts["Notation and names"]]
    until = starts["01 · Byte-pair encoding"]
    led = [
        target(printed, link)
        for page in pages
        for link in links(page)
        if "/Dest" in link and starts["Glossary"] <= target(printed, link) < until
    ]
    assert len(led) >= len(terms) > 5  # a link over two lines is two
    ids = {a["href"].split("#")[1] for a in terms}
    glossary = BeautifulSoup((site / "book" / "glossary.html").read_text("utf-8"), "html.parser")
    for name in ids:
        title = words(glossary.find(id=name).find(string=True))
        assert any(title in texts[number] for number in led), title


def test_guesses_are_uncovered_and_what_exercises_fold_stands_at_the_end(
    printed, starts, texts, site
):
    article = chapter(site)
    end = starts["Hints and worked answers"]
    body, answers = "".join(texts[:end]), "".join(texts[end:])
    veiled = [words(p.find(string=True)) for p in article.select(".course-veiled > p")]
    ends = [part for text in veiled for part in (text[:40], text[-40:])]  # a page may lie between
    assert len(veiled) > 3 and [part for part in ends if part not in body] == []
    boxes = article.select(".course-exercise")
    for box in boxes:
        for hint in box.select(".course-hint p"):
            text = words(hint.get_text())
            assert text in answers and text not in body
    back = {target(printed, link) for page in printed.pages[end:] for link in links(page)}
    pages = range(starts["01 · Byte-pair encoding"], end)
    titles = [words(box.h3.get_text()).rstrip("#") for box in boxes]
    assert back == {next(i for i in pages if title in texts[i]) for title in titles}


def cut(page) -> list[str]:
    """Texts that reach out of the margins: a part of such a line stands on another page."""
    found = []

    def note(text, matrix, text_matrix, font, size):
        scale = -matrix[3]
        if scale <= 0 or not text.strip():  # the page's number, or a layer that pypdf misplaces
            return
        baseline = matrix[5] - scale * text_matrix[5]
        bottom, top = (side * MILLIMETRE for side in MARGINS)
        above = float(page.mediabox.top) - top
        if baseline - 0.2 * size * scale < bottom or baseline + 0.6 * size * scale > above:
            found.append(text)

    page.extract_text(visitor_text=note)
    return found


def test_no_page_ends_within_a_line(printed):
    assert [(i, cut(page)) for i, page in enumerate(printed.pages) if cut(page)] == []


def test_a_line_that_is_cut_would_be_noticed(browser, tmp_path):
    lines = "<br>".join(f"line {i}" for i in range(200))
    code = f"<div style='display: inline-block; overflow: hidden'><code>{lines}</code></div>"
    page = f"<article class='bd-article'><h1>A title</h1>{code}</article>"
    (tmp_path / "a.html").write_text(f"<html lang=en>{page}</html>", encoding="utf-8")
    with pdf.served(tmp_path) as address:
        path = pdf.Printer(browser, address, tmp_path).print("a")
    assert any(map(cut, PdfReader(path).pages))


def test_the_whole_course_stays_below_twenty_megabytes(printed):
    weight = len(printed.stream.getbuffer()) / len(printed.pages)
    assert weight * 600 < 20e6


def test_without_a_browser_the_command_says_so_in_a_line(site, tmp_path):
    env = {**os.environ, "PATH": "", "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    command = [sys.executable, "-m", "tools.pdf", tmp_path / "course.pdf"]
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert run.returncode == 1 and "Traceback" not in run.stderr
    assert run.stderr.startswith("make pdf: ") and len(run.stderr.splitlines()) == 1
