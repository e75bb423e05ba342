"""Two languages: right, endless, and held out by rule."""

import random
import re
import zlib
from itertools import pairwise

import pytest

from scratchformer.data.synthetic_pairs import (
    ADJECTIVES,
    MODALS,
    NOUNS,
    SPLITS,
    VERBS,
    _phrase_in_both,
    _random_phrase,
    is_held_out,
    random_scramble,
    random_sentence,
)


def drawn(draw, n=1000, seed=0, **options):
    rng = random.Random(seed)
    return [draw(rng, **options) for _ in range(n)]


def combinations(english):
    """The adjectives of a sentence, each with the noun behind it."""
    known = {row[0] for row in ADJECTIVES}
    return [pair for pair in pairwise(english.split()) if pair[0] in known]


def test_each_noun_has_one_adjective_that_is_held_out_and_each_adjective_is_met_in_training():
    for singular, plural, *_ in NOUNS:
        held_out = [row[0] for row in ADJECTIVES if is_held_out(row[0], singular)]
        assert len(held_out) == 1
        assert held_out == [row[0] for row in ADJECTIVES if is_held_out(row[0], plural)]
    drawn_often = drawn(random_sentence, 3000)
    met = {pair for english, _ in drawn_often for pair in combinations(english)}
    every = {(row[0], noun) for row in ADJECTIVES for n in NOUNS for noun in n[:2]}
    assert every - met == {pair for pair in every if is_held_out(*pair)}


def test_no_sentence_belongs_to_two_splits_and_tests_have_adjectives():
    for split in SPLITS:
        for english, _ in drawn(random_sentence, 150, split=split):
            pairs = combinations(english)
            assert any(is_held_out(*pair) for pair in pairs) == (split == "unseen")
            assert pairs or split == "train"
            if split != "unseen":
                assert (zlib.crc32(english.encode()) % 10 == 0) == (split == "seen")


def test_a_seed_repeats_the_draw_and_an_unknown_split_is_refused():
    first = drawn(random_sentence, 50)
    assert first == drawn(random_sentence, 50) != drawn(random_sentence, 50, seed=1)
    for draw in (random_sentence, random_scramble):
        with pytest.raises(ValueError, match="expected one of train, seen, unseen"):
            draw(random.Random(0), "test")


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
    for _ in range(5_000):
        for case in (0, 1):
            phrase = _random_phrase(rng)
            english, german = _phrase_in_both(phrase, case)
            assert phrase.plural == (english[0] == "these" or english[-1] not in SINGULAR)
            found.setdefault(" ".join(english), [set(), set()])[case].add(" ".join(german))
    for line in NOUN_PHRASES.replace("\n", "|").split("|")[1:]:
        english, german = line.strip().split(": ")
        assert found[english] == [{form} for form in german.split(", ")]
    assert all(len(forms) < 2 for both in found.values() for forms in both)


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


def stems(german):
    """The words without their endings: what no trade of places changes."""
    endings = "(?:e[nrs]?)?$"
    articles = "der|die|das|den|ein.*|dies.*|jed.*"
    words = [word for word in german.split() if not re.fullmatch(articles, word)]
    nouns = {form: row[2] for row in NOUNS for form in row[2:4]}
    verbs = {form: row[3] for row in (*VERBS, *MODALS) for form in row[2:]}
    known = nouns | verbs
    return sorted(known.get(word) or re.sub(endings, "", word) for word in words)


@pytest.mark.parametrize("split", ["train", "seen", "unseen"])
def test_a_scramble_has_the_same_words_and_another_meaning(split):
    rng = random.Random(1)
    traded = 0
    for _ in range(150):
        english, german, scrambled = random_scramble(rng, split)
        assert german != scrambled and stems(german) == stems(scrambled)
        pairs = combinations(english)
        assert any(is_held_out(*pair) for pair in pairs) == (split == "unseen")
        traded += german.split()[-1] != scrambled.split()[-1]
    assert traded > 15  # not always the same trade


def test_a_scramble_s_translation_is_that_of_the_grammar():
    """A scramble draws its sentence as `random_sentence` does, and another if that has no trade."""
    both = [[f(random.Random(i)) for f in (random_sentence, random_scramble)] for i in range(150)]
    same = [(german, *texts) for (english, german), (e, *texts) in both if e == english]
    assert len(same) > 75
    assert all(right == german != scrambled for right, german, scrambled in same)


def test_no_training_scramble_shows_a_held_out_combination():
    forms = {row[1]: row[0] for row in ADJECTIVES}
    singular = {form: row[0] for row in NOUNS for form in row[2:4]}
    rng = random.Random(3)
    for split in ("train", "seen"):
        for _ in range(200):
            for german in random_scramble(rng, split)[1:]:
                for adjective, noun in pairwise(german.split()):
                    stem = re.sub("(?:e[nrs]?)$", "", adjective)
                    if stem in forms and noun in singular:
                        assert not is_held_out(forms[stem], singular[noun])
