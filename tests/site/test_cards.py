"""`make cards`: a deck that holds every guess, and nothing of the pages' own markup."""

import re
import sqlite3
import sys
import zipfile

import pytest

from tests.site.conftest import toc_pages
from tools import cards


@pytest.fixture(scope="module")
def deck(site):
    return cards.Deck(site)


@pytest.fixture(scope="module")
def written(deck, tmp_path_factory):
    """The notes of the written deck, each as (id, fields), and the names of its files."""
    pytest.importorskip("genanki", reason="genanki is not installed")
    folder = tmp_path_factory.mktemp("cards")
    cards.write(deck, folder / "course.apkg")
    with zipfile.ZipFile(folder / "course.apkg") as archive:
        archive.extract("collection.anki2", folder)
        media = set(re.findall(r'"([^"]+\.svg)"', archive.read("media").decode()))
    connection = sqlite3.connect(folder / "collection.anki2")
    notes = [
        (id, fields.split("\x1f"))
        for id, fields in connection.execute("select guid, flds from notes")
    ]
    connection.close()
    return notes, media


def test_every_guess_every_term_and_each_chapters_knowledge_is_there(site, written):
    notes, _ = written
    html = "".join((site / f"{name}.html").read_text("utf-8") for name in toc_pages())
    questions = [fields for _, fields in notes if len(fields) == 5]
    assert len(questions) == html.count('class="course-guess"') > 55
    assert all(context and answer and shown for context, _, answer, shown, _ in questions)
    lines = [fields for _, fields in notes if "{{c1::" in fields[0]]
    chapters = [name for name in toc_pages() if name.startswith("notebooks/")]
    assert len({chapter for _, chapter in lines}) == len(chapters)
    glossary = (site / "book" / "glossary.html").read_text("utf-8")
    terms = len(notes) - len(questions) - len(lines)
    assert terms == glossary.count("<dt id=") > 150


def test_no_markup_of_the_pages_is_left_and_what_is_to_be_filled_in_is_closed(written):
    for _, fields in written[0]:
        text = " ".join(fields)
        assert not re.search(
            r"\$|\{[a-z:]+\}`|<i>kept|headerlink|class=|href=|<td|<script", text
        ), text
        for formula in re.findall(r"\\\((.*?)\\\)", text, re.DOTALL):
            assert "}}" not in formula and "$" not in formula
        opened, closed = fields[0].count("{{c"), fields[0].count("}}")
        assert opened == closed


def test_drawings_are_files_of_the_deck_with_words_for_who_does_not_see_them(written, deck):
    notes, media = written
    images = re.findall(r'<img src="([^"]+)" alt="([^"]*)"', str(notes))
    assert {name for name, _ in images} == media == set(deck.drawings) and len(media) > 15
    assert all(len(label) > 20 for _, label in images)
    assert all("var(" not in svg and "xmlns=" in svg for svg in deck.drawings.values())


def test_ids_are_those_of_the_last_edition_and_none_is_given_twice(site, deck, written):
    ids = [id for id, _ in written[0]]
    assert len(set(ids)) == len(ids)
    import genanki

    name = "guess notebooks/05_averaging king-hidden"
    assert name in [id for id, _ in deck.guesses]
    assert genanki.guid_for(cards.COURSE, name) in ids


def test_without_the_library_a_sentence_says_what_is_missing(deck, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "genanki", None)
    with pytest.raises(SystemExit, match="genanki is missing"):
        cards.write(deck, tmp_path / "course.apkg")
