"""Endless pairs to learn from: dates in many formats with their ISO form, and two languages.

Both are generated, so a pair is held out by a rule and not by luck: what the rule sets aside is
never drawn for training. The German is correct but tiny, and no corpus.
"""

import random
import zlib
from datetime import date, timedelta

FIRST, DAYS = date(1900, 1, 1), 73_049  # the last day is 2099-12-31
MONTHS = (
    "January February March April May June July August September October November December"
).split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
DATE_FORMATS = (
    "{d} {month} {y}",
    "{dd} {mon} {y}",
    "the {th} of {month}, {y}",
    "{weekday}, {th} {month} {y}",
    "{month} {d}, {y}",
    "{mon} {th} {y}",
    "{day} {mon} {d} {y}",
    "{y} {month} {d}",
    "{d}.{m}.{y}",  # dots: the day comes first
    "{dd}.{mm}.{y}",
    "{m}/{d}/{y}",  # slashes: the month does
    "{mm}/{dd}/{y}",
)


def written_date(day: date, form: str) -> str:
    """`day` in one of DATE_FORMATS, such as "the 3rd of March, 2019"."""
    d, m = day.day, day.month
    ending = "th" if 10 < d < 20 else {1: "st", 2: "nd", 3: "rd"}.get(d % 10, "th")
    month, weekday = MONTHS[m - 1], WEEKDAYS[day.weekday()]
    return form.format(
        **{"d": d, "dd": f"{d:02}", "th": f"{d}{ending}", "m": m, "mm": f"{m:02}", "y": day.year},
        **{"month": month, "mon": month[:3], "weekday": weekday, "day": weekday[:3]},
    )


def random_date(rng: random.Random, held_out: bool = False) -> tuple[str, str]:
    """A date from 1900 to 2099 in a random format, and in ISO: ("Mar 3rd 2019", "2019-03-03").

    One day in ten is held out, in all formats: those whose number, counted from the first, ends
    in 0.
    """
    n = rng.randrange(DAYS)
    while (n % 10 == 0) != held_out:
        n = rng.randrange(DAYS)
    day = FIRST + timedelta(n)
    return written_date(day, rng.choice(DATE_FORMATS)), day.isoformat()


def _table(rows: str) -> list[list[str]]:
    return [row.split() for row in rows.split("|")]


# English singular and plural, then German; a noun's gender decides the words that go with it.
NOUNS = _table("""
dog dogs Hund Hunde m | cat cats Katze Katzen f | child children Kind Kinder n |
horse horses Pferd Pferde n | bird birds Vogel Vögel m | cow cows Kuh Kühe f |
man men Mann Männer m | woman women Frau Frauen f | girl girls Mädchen Mädchen n |
king kings König Könige m | teacher teachers Lehrer Lehrer m | goose geese Gans Gänse f""")
VERBS = _table("""
sees see sieht sehen | loves love liebt lieben | hears hear hört hören | seeks seek sucht suchen |
knows know kennt kennen | feeds feed füttert füttern | praises praise lobt loben |
finds find findet finden | carries carry trägt tragen""")
MODALS = _table("can can kann können | must must muss müssen | will will wird werden")
ADJECTIVES = _table("""
small klein | old alt | big groß | young jung | loud laut | clever klug | rich reich | poor arm""")
ADVERBS = _table("today heute | here hier | now jetzt")
ENDINGS = {  # of this and of a, and of the adjective behind each: as a subject, as an object
    "m": ("er en", "- en", "e en", "er en"),
    "f": ("e e", "e e", "e e", "e e"),
    "n": ("es es", "- -", "e e", "es es"),
}
THE = {"er": "der", "e": "die", "es": "das", "en": "den"}


def _noun_phrase(rng: random.Random, case: int) -> tuple[list[str], list[str], bool]:
    """English, German, and whether it is plural; case 0 is the subject's, 1 the object's."""
    noun, nouns, noun_de, nouns_de, gender = rng.choice(NOUNS)
    this, a, after_this, after_a = (e.split()[case].strip("-") for e in ENDINGS[gender])
    plural = rng.random() < 0.4
    if plural:
        this, after_this = "e", "en"  # in all genders
    article = rng.choice(("the", "these") if plural else ("the", "this", "every", "a"))
    ending = after_a if article == "a" else after_this
    words = {"the": THE[this], "a": f"ein{a}", "every": f"jed{this}"}
    english, german = [article], [words.get(article, f"dies{this}")]
    if rng.random() < 0.5:
        adjective, adjective_de = rng.choice(ADJECTIVES)
        english.append(adjective)
        german.append(adjective_de + ending)
    english.append(nouns if plural else noun)
    if article == "a" and english[1][0] in "aeiou":
        english[0] = "an"
    return english, [*german, nouns_de if plural else noun_de], plural


def _sentence(rng: random.Random) -> tuple[str, str]:
    subject, subject_de, plural = _noun_phrase(rng, 0)
    object_, object_de, _ = _noun_phrase(rng, 1)
    verb, verb_de = (pair[plural] for pair in _halves(rng.choice(VERBS)))
    last: list[str] = []  # the verb that a modal verb goes with
    last_de: list[str] = []
    if rng.random() < 0.4:
        _, verb_plain, _, infinitive = rng.choice(VERBS)
        verb, verb_de = (pair[plural] for pair in _halves(rng.choice(MODALS)))
        last, last_de = [verb_plain], [infinitive]
    english = [*subject, verb, *last, *object_]
    opening = rng.choice([None, None, "we know that", *ADVERBS])
    if opening == "we know that":  # the verb at the very end
        german = ["wir wissen , dass", *subject_de, *object_de, *last_de, verb_de]
        english.insert(0, opening)
    elif opening:  # the verb second, so the subject third
        german = [opening[1], verb_de, *subject_de, *object_de, *last_de]
        english.insert(0, opening[0])
    else:
        german = [*subject_de, verb_de, *object_de, *last_de]
    return " ".join(english), " ".join(german)


def _halves(row: list[str]) -> tuple[list[str], list[str]]:
    return row[:2], row[2:]


def random_sentence(rng: random.Random, held_out: bool = False) -> tuple[str, str]:
    """("today the old dog can see a cat", "heute kann der alte Hund eine Katze sehen").

    The German verb comes second, or last behind "dass"; with a modal verb the other one comes
    last; articles and adjectives agree with gender, number and case. There are about 10⁸
    sentences. One in ten is held out: those whose English has a checksum (crc32) that ends in 0.
    """
    while True:
        english, german = _sentence(rng)
        if (zlib.crc32(english.encode()) % 10 == 0) == held_out:
            return english, german
