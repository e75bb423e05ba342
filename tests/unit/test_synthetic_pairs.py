"""Dates and the two languages: right, endless, and held out by rule."""

import random
import re
import zlib
from datetime import date

import pytest

from scratchformer.data.synthetic_pairs import (
    DATE_FORMATS,
    FIRST,
    MODALS,
    NOUNS,
    VERBS,
    _noun_phrase,
    random_date,
    random_sentence,
    written_date,
)


def drawn(draw, n=2000, seed=0, **options):
    rng = random.Random(seed)
    return [draw(rng, **options) for _ in range(n)]


def test_a_date_is_written_in_each_format_as_people_write_it():
    written = [written_date(date(2019, 3, 7), form) for form in DATE_FORMATS]
    assert written == [
        "7 March 2019",
        "07 Mar 2019",
        "the 7th of March, 2019",
        "Thursday, 7th March 2019",
        "March 7, 2019",
        "Mar 7th 2019",
        "Thu Mar 7 2019",
        "2019 March 7",
        "7.3.2019",
        "07.03.2019",
        "3/7/2019",
        "03/07/2019",
    ]


@pytest.mark.parametrize(
    ("day", "written"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (12, "12th"), (13, "13th"), (21, "21st")],
)
def test_ordinals(day, written):
    assert written_date(date(2019, 3, day), "{th}") == written


def test_no_held_out_day_is_ever_drawn_for_training_and_no_other_one_for_testing():
    for held_out in (False, True):
        pairs = drawn(random_date, held_out=held_out)
        numbers = [(date.fromisoformat(iso) - FIRST).days for _, iso in pairs]
        assert {n % 10 == 0 for n in numbers} == {held_out}
        assert len({source[-1] for source, _ in pairs}) >= 10 and len(set(pairs)) > 1900
        years = [int(iso[:4]) for _, iso in pairs]
        assert min(years) >= 1900 and max(years) <= 2099


def test_held_out_sentences_are_those_with_the_right_checksum():
    for held_out in (False, True):
        sums = {zlib.crc32(e.encode()) % 10 for e, _ in drawn(random_sentence, held_out=held_out)}
        assert sums == ({0} if held_out else set(range(1, 10)))


def test_a_seed_repeats_the_draw():
    for draw in (random_date, random_sentence):
        assert drawn(draw, 50) == drawn(draw, 50) != drawn(draw, 50, seed=1)


NOUN_PHRASES = """
the dog: der Hund, den Hund | the old dog: der alte Hund, den alten Hund
a dog: ein Hund, einen Hund | a small dog: ein kleiner Hund, einen kleinen Hund
every rich man: jeder reiche Mann, jeden reichen Mann | this cat: diese Katze, diese Katze
the young cat: die junge Katze, die junge Katze | a big goose: eine große Gans, eine große Gans
the child: das Kind, das Kind | the loud child: das laute Kind, das laute Kind
a poor child: ein armes Kind, ein armes Kind | every girl: jedes Mädchen, jedes Mädchen
the birds: die Vögel, die Vögel | the clever birds: die klugen Vögel, die klugen Vögel
these old women: diese alten Frauen, diese alten Frauen"""


def test_articles_and_adjectives_agree_in_gender_number_and_case():
    rng, found = random.Random(0), {}
    for _ in range(20_000):
        for case in (0, 1):
            english, german, plural = _noun_phrase(rng, case)
            assert plural == (english[0] == "these" or english[-1] not in SINGULAR)
            found.setdefault(" ".join(english), [set(), set()])[case].add(" ".join(german))
    for line in NOUN_PHRASES.replace("\n", "|").split("|")[1:]:
        english, german = line.strip().split(": ")
        assert found[english] == [{form} for form in german.split(", ")]
    assert all(len(forms) == 1 for both in found.values() for forms in both)


SINGULAR = {row[0] for row in NOUNS}


def test_the_german_verb_is_second_or_at_the_end_and_agrees_with_its_subject():
    subject = "(?:der|die|das|ein|eine|jede[rs]?|diese[rs]?)(?: [a-zß]+)? [A-ZÖ][a-zäöü]+"
    finite = "|".join(word for row in (*VERBS, *MODALS) for word in row[2:])
    last = "|".join(row[3] for row in VERBS)
    object_ = "(?:de[nr]|die|das|ein|eine[n]?|jede[ns]?|diese[ns]?)(?: [a-zß]+)? [A-ZÖ][a-zäöü]+"
    main = f"{subject} (?:{finite}) {object_}(?: (?:{last}))?"
    asked = f"(?:heute|hier|jetzt) (?:{finite}) {subject} {object_}(?: (?:{last}))?"
    clause = f"wir wissen , dass {subject} {object_}(?: (?:{last}))? (?:{finite})"
    known = {}
    for english, german in drawn(random_sentence):
        assert re.fullmatch(f"{main}|{asked}|{clause}", german), german
        assert known.setdefault(english, german) == german
        modal = re.search(" (?:can|must|will) ", english)
        assert bool(modal) == bool(re.search("kann|können|muss|müssen|wird|werden", german))
        behind = english.removeprefix("we know that ").split()
        start = 1 if behind[0] in ("today", "here", "now") else 0
        noun = next(w for w in behind[start:] if any(w in row[:2] for row in NOUNS))
        if not modal:
            verb = behind[behind.index(noun) + 1]
            row = next(row for row in VERBS if verb in row[:2])
            assert row[2 if verb == row[0] else 3] in german.split()
