"""`make pdf`: a few pages of the course in one file, whose links lead to where they say."""

from pypdf import PdfReader

from tests.site.browsing import parsed
from tools import pdf

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
    assert {0, starts[chapter.title]} <= set(inside) <= set(starts.values()) and len(inside) > 50
    outside = [str(link["/A"]["/URI"]) for link in links if "/Dest" not in link]
    assert all(uri.startswith("https://") for uri in outside)
    answers = parsed(site / "notebooks" / "01_bpe.html").select(".course-guess-answer > p")
    text = "".join(words(page.extract_text()) for page in printed.pages)
    covered = [words(p.find(string=True))[:40] for p in answers]
    assert len(covered) >= 2 and [part for part in covered if part not in text] == []
