"""`make slides`: a deck has what its chapter shows, asks for nothing, and each slide fits."""

import json
from collections import Counter
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

from tests.site.browsing import opened, parsed
from tools import slides, slides_of_page

ROOT = Path(__file__).resolve().parents[2]
# The slides on which something does not fit, or a drawing is too small
FAULTS = """() => Reveal.getSlides().flatMap((slide, i) => {
  Reveal.slide(i);
  const { scrollHeight, scrollWidth } = slide.querySelector('.page');
  const low = [...slide.querySelectorAll('.drawn')].some(drawn => drawn.clientHeight < 200);
  return scrollHeight > 720 || scrollWidth > 1280 || low ? [[i, scrollHeight, scrollWidth]] : [];
})"""
ALIVE = """() => [...document.querySelectorAll('iframe')].every(frame =>
  frame.contentDocument.querySelector('[data-live]')?.dataset.live === 'yes')"""


@pytest.fixture(scope="session")
def decks(site, tmp_path_factory):
    """A function: the deck of a chapter, which is written once."""
    folder = tmp_path_factory.mktemp("slides")

    def deck(chapter: str) -> Path:
        target = folder / f"{Path(chapter).name}.html"
        if not target.is_file():
            slides.write_deck(ROOT / f"{chapter}.ipynb", site, target)
        return target

    return deck


def test_a_deck_has_the_moment_all_drawings_and_each_answer_after_its_guess(site, decks, chapter):
    page = parsed(site / f"{chapter}.html").article
    deck = BeautifulSoup(decks(chapter).read_text(encoding="utf-8"), "html.parser")
    shown = deck.select("section > .page")
    kinds = [slide["class"] for slide in shown]
    assert 15 <= len(shown) <= slides_of_page.MOST
    assert shown[0].h2.get_text() == page.h1.find(string=True)
    moment = json.loads((ROOT / f"{chapter}.ipynb").read_text("utf-8"))["metadata"]["moment"]
    (told,) = deck.select(".moment p")
    assert told.get_text() == moment
    drawn = page.select("svg[aria-label]:not(details svg, nav svg, .live-figure svg)")
    drawings = [svg["aria-label"] for svg in drawn]
    assert [svg["aria-label"] for svg in deck.select(".drawn > svg")] == drawings
    assert len(deck.select("iframe")) == len(page.select(".live-figure"))
    guesses = [i for i, kind in enumerate(kinds) if "guess" in kind]
    assert len(guesses) == len(page.select(".course-guess"))
    # a live figure in which the reader may try may come between
    assert all("answer" in kinds[i + 1 + ("live" in kinds[i + 1])] for i in guesses)
    ids = Counter(part["id"] for part in deck.select("[id]"))
    assert [name for name, count in ids.items() if count > 1] == []


def test_each_slide_fits_and_asks_for_nothing(browser, decks, chapter):
    size = {"viewport": {"width": 1280, "height": 720}}
    with opened(browser, decks(chapter).as_uri(), **size) as page:
        assert page.evaluate(FAULTS) == []
        page.wait_for_function(ALIVE)


def test_a_browser_prints_one_slide_a_page(browser, decks, tmp_path):
    with opened(browser, decks("notebooks/06_self_attention").as_uri()) as page:
        page.pdf(path=tmp_path / "deck.pdf", prefer_css_page_size=True)
        count = page.evaluate("Reveal.getTotalSlides()")
    printed = [page.extract_text().split() for page in PdfReader(tmp_path / "deck.pdf").pages]
    assert len(printed) == count and all(printed)


@pytest.mark.parametrize(
    ("tex", "wanted"),
    [(r"\sin x", "\u2009sin\u2009"), (r"\big( x \big)", "x"), (r"\dots", "…")],
)
def test_formulas_become_mathml(tex, wanted):
    assert wanted in slides_of_page.as_mathml(tex, as_block=False)
    with pytest.raises(ValueError, match=r"MathML, and got \\nonsense"):
        slides_of_page.as_mathml(r"\nonsense", as_block=False)


def test_sentences_are_whole_and_their_tags_are_closed():
    text = BeautifulSoup("<p>One <em>two. Three</em> four. Five?</p>", "html.parser").p
    assert slides_of_page.sentences([text], 3) == "<p>One <em>two.</em></p>"
    assert slides_of_page.sentences([text], 3, at_end=True).endswith("four. Five?</p>")


def test_what_is_missing_is_said_in_a_line(monkeypatch, capsys):
    monkeypatch.setattr(slides, "REVEAL", "no-such-package")
    assert slides.main([]) == 2
    assert "no-such-package is not installed" in capsys.readouterr().err
