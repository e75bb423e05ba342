"""Chapter 13's fooled networks: which texts are turned, how, and what is stored."""

import random

from lab import object_first, runs
from scratchformer.data.synthetic_pairs import random_sentence


def test_the_phrases_trade_places_and_the_verbs_stay():
    turned = object_first.object_first("der alte Hund kann jede Katze sehen".split())
    assert " ".join(turned) == "jede Katze kann der alte Hund sehen"


def test_only_texts_are_turned_in_which_an_article_says_who_acts():
    allowed = {
        "der Hund sieht jede Katze": True,
        "jede Katze sieht den Hund": True,
        "jede Katze sieht die Kuh": False,
        "der Hund sieht den Hund": False,  # both nouns are one
        "heute sieht der Hund jede Katze": False,
        "wir wissen , dass der Hund jede Katze sieht": False,
    }
    assert {text: object_first.allows_it(text.split()) for text in allowed} == allowed


def test_turning_changes_a_share_of_these_texts_and_no_english():
    generator = random.Random(0)
    drawn = (random_sentence(generator) for _ in range(2000))
    pairs = [(english.split(), german.split()) for english, german in drawn]
    allowed = sum(object_first.allows_it(german) for _, german in pairs)
    for share in (0.0, 0.5, 1.0):
        turned = object_first.turned(pairs, share, seed=1)
        assert [a for a, _ in turned] == [a for a, _ in pairs]
        assert [sorted(b) for _, b in turned] == [sorted(b) for _, b in pairs]
        changed = sum(b != other for (_, b), (_, other) in zip(pairs, turned, strict=True))
        assert abs(changed / allowed - share) < 0.1


def test_the_script_runs_from_end_to_end():
    result, stored = object_first.main(["--quick"]), runs.read(object_first.FILE)
    for part in ("gaps", "judges"):
        assert {tuple(row) for row in result[part]["found"]} == {
            tuple(row) for row in stored[part]["found"]
        }
