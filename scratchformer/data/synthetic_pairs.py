"""Endless pairs to learn from: English sentences and their German translations.

They are generated, so what is held out is held out by a rule and not by luck: whole sentences, and
combinations of an adjective with a noun. The German is correct but tiny, and no corpus. A sentence
is a `Meaning` first; each language is written from that, so a meaning can be changed on purpose.
"""

import itertools
import random
import zlib
from typing import NamedTuple

SPLITS = ("train", "seen", "unseen")


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


class Phrase(NamedTuple):
    """A noun and what stands before it: rows of the tables above."""

    noun: list[str]
    plural: bool
    article: str
    adjective: list[str] | None


class Meaning(NamedTuple):
    """What a sentence says, in no language."""

    subject: Phrase
    object: Phrase
    verb: list[str]
    modal: list[str] | None
    opening: list[str] | str | None  # a row of ADVERBS, or "we know that"


def _random_phrase(rng: random.Random) -> Phrase:
    noun, plural = rng.choice(NOUNS), rng.random() < 0.4
    article = rng.choice(("the", "these") if plural else ("the", "this", "every", "a"))
    return Phrase(noun, plural, article, rng.choice(ADJECTIVES) if rng.random() < 0.5 else None)


def _random_meaning(rng: random.Random) -> Meaning:
    subject, object_ = _random_phrase(rng), _random_phrase(rng)
    verb, modal = rng.choice(VERBS), None
    if rng.random() < 0.4:
        verb, modal = rng.choice(VERBS), rng.choice(MODALS)
    opening = rng.choice([None, None, "we know that", *ADVERBS])
    return Meaning(subject, object_, verb, modal, opening)


def _phrase_in_both(phrase: Phrase, case: int) -> tuple[list[str], list[str]]:
    """English and German; case 0 is the subject's, 1 the object's."""
    noun, nouns, noun_de, nouns_de, gender = phrase.noun
    dies_ending, ein_ending, after_dies, after_ein = (
        e.split()[case].strip("-") for e in ENDINGS[gender]
    )
    if phrase.plural:
        dies_ending, after_dies = "e", "en"  # in all genders
    article = phrase.article
    words = {"the": THE[dies_ending], "a": f"ein{ein_ending}", "every": f"jed{dies_ending}"}
    english, german = [article], [words.get(article, f"dies{dies_ending}")]
    if phrase.adjective:
        adjective, adjective_de = phrase.adjective
        english.append(adjective)
        german.append(adjective_de + (after_ein if article == "a" else after_dies))
    english.append(nouns if phrase.plural else noun)
    if article == "a" and english[1][0] in "aeiou":
        english[0] = "an"
    return english, [*german, nouns_de if phrase.plural else noun_de]


def _in_both(meaning: Meaning) -> tuple[str, str]:
    """The sentence in English and in German."""
    (subject, subject_de), (object_, object_de) = (
        _phrase_in_both(phrase, case) for case, phrase in enumerate(meaning[:2])
    )
    plural, opening = meaning.subject.plural, meaning.opening
    verb, verb_de = (pair[plural] for pair in _halves(meaning.modal or meaning.verb))
    last: list[str] = []  # the verb that a modal verb goes with
    last_de: list[str] = []
    if meaning.modal:
        _, verb_plain, _, infinitive = meaning.verb
        last, last_de = [verb_plain], [infinitive]
    english = [*subject, verb, *last, *object_]
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


def random_sentence(rng: random.Random, split: str = "train") -> tuple[str, str]:
    """("today the old dog can see a cat", "heute kann der alte Hund eine Katze sehen").

    The German verb comes second, or last behind "dass"; with a modal verb the other one comes
    last; articles and adjectives agree with gender, number and case. There are about 10⁸
    sentences. What the three splits hold is decided by rules, so no two of them share a sentence:

    - "unseen" has at least one of the twelve combinations of an adjective and a noun that no
      training sentence has (`is_held_out`);
    - "seen" has an adjective too, but only combinations that occur in training; its English has a
      checksum (crc32) that ends in 0;
    - "train" is drawn from all other sentences.

    Raises ValueError for another split.
    """
    return _in_both(_random_of_split(rng, split))


def random_scramble(rng: random.Random, split: str = "train") -> tuple[str, str, str]:
    """English, its German translation, and German that says something else with the same words.

    In the third text the two nouns, or the two phrases, or the adjectives (also a single one, which
    then stands before the other noun) have traded places, and everything agrees again. So no word
    tells the two German texts apart, as in PAWS (Zhang et al. 2019). `split` is that of the
    English, as in `random_sentence`; a scrambled text has a held-out combination in "unseen" only,
    and not always there. Raises ValueError for another split.
    """
    while True:
        meaning = _random_of_split(rng, split)
        subject, object_ = meaning.subject, meaning.object
        first, second = rng.choice(
            (
                (subject._replace(noun=object_.noun), object_._replace(noun=subject.noun)),
                (object_, subject),
                (
                    subject._replace(adjective=object_.adjective),
                    object_._replace(adjective=subject.adjective),
                ),
            )
        )
        scrambled = meaning._replace(subject=first, object=second)
        if subject.noun == object_.noun or _in_both(scrambled) == _in_both(meaning):
            continue
        if split == "unseen" or _split_of(_in_both(scrambled)[0]) != "unseen":
            return (*_in_both(meaning), _in_both(scrambled)[1])


def _random_of_split(rng: random.Random, split: str) -> Meaning:
    if split not in SPLITS:
        raise ValueError(f"split={split!r}, expected one of {', '.join(SPLITS)}")
    while True:
        meaning = _random_meaning(rng)
        if _split_of(_in_both(meaning)[0]) == split:
            return meaning


def is_held_out(adjective: str, noun: str) -> bool:
    """Whether no training sentence has this English adjective before this noun, "small dog".

    Each noun, in singular and plural, has one such adjective of the eight. Raises KeyError for a
    word that the grammar does not have.
    """
    return (_NUMBER[noun] + _NUMBER[adjective]) % len(ADJECTIVES) == 0


_NUMBER = {word: i for i, row in enumerate(NOUNS) for word in row[:2]}
_NUMBER |= {row[0]: i for i, row in enumerate(ADJECTIVES)}
_ADJECTIVES = {row[0] for row in ADJECTIVES}


def _split_of(english: str) -> str:
    """The split that a sentence belongs to; "" for a test sentence without an adjective."""
    words = english.split()
    pairs = [pair for pair in itertools.pairwise(words) if pair[0] in _ADJECTIVES]
    if any(is_held_out(*pair) for pair in pairs):
        return "unseen"
    if zlib.crc32(english.encode()) % 10 == 0:
        return "seen" if pairs else ""
    return "train"
