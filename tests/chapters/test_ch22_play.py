"""Chapter 22's play: who owes which rhyme, and that no word on the way tells."""

import pytest
import torch

from scratchformer.data.playhouse import RULES
from scratchformer_course.ch22_inside import play


@pytest.fixture(scope="module")
def couplets():
    return play.couplets(3, scenes=150)


def words_at(couplets, name, shift=0):
    rows = torch.arange(len(couplets))
    return [play.VOCABULARY[i] for i in couplets.ids[rows, couplets.at[name] + shift].tolist()]


def test_the_grammar_forgets_the_rhyme_until_the_slot():
    for article, name, alternative in zip(
        play.ARTICLES, play.CLASSES, RULES["RHYME"].alternatives, strict=True
    ):
        assert alternative == (article, name, ",", "/", "ANSWER", f"{name}S", ".")


def test_the_tokens_of_a_play_are_its_words_signs_and_breaks():
    assert play.split("Alas, the day,\nstill love") == "Alas , the day , \n still love".split(" ")
    first = [play.VOCABULARY[i] for i in play.tokens(0, 5_000)[:3].tolist()]
    assert first == ["Scene", ".", "A"]


def test_each_part_of_a_couplet_stands_where_it_is_said_to(couplets):
    assert len(couplets) > 50 and couplets.ids.shape[1] == play.CONTEXT
    assert set(words_at(couplets, "comma")) == {","}
    assert set(words_at(couplets, "line break")) == {"\n"}
    owed = [play.FIRST[c] for c in couplets.rhyme.tolist()]
    assert all(w in own for w, own in zip(words_at(couplets, "rhyme word"), owed, strict=True))


def test_the_answer_after_the_slot_has_the_owed_rhyme(couplets):
    slot, rows = couplets.at["slot"], torch.arange(len(couplets))
    inside = slot + 1 < play.CONTEXT
    answers = couplets.ids[rows[inside], slot[inside] + 1]
    assert torch.equal(play.OF_ANSWER[answers], couplets.rhyme[inside])
    assert (slot > couplets.at["first word"]).all()


def test_a_pair_differs_in_the_article_and_the_rhyme_word_alone():
    pairs = play.pairs()
    differ = (pairs.clean != pairs.other).any(dim=0).nonzero().flatten().tolist()
    assert differ == [pairs.start, pairs.start + 1] and len(pairs.clean) == 120
    for ids, rhyme in ((pairs.clean, pairs.rhyme), (pairs.other, pairs.other_rhyme)):
        for row, c in zip(ids, rhyme.tolist(), strict=True):
            article, word = (play.VOCABULARY[i] for i in row[pairs.start :][:2].tolist())
            assert article == play.ARTICLES[c] and word in play.FIRST[c]
    assert (pairs.rhyme != pairs.other_rhyme).all()


def test_classes_by_chance_are_of_the_same_words_and_of_no_rhyme():
    right, by_chance = play.class_of(play.FIRST), play.shuffled_classes(0)
    assert torch.equal(right >= 0, by_chance >= 0)
    known = right >= 0
    assert (right == by_chance)[known].float().mean() < 0.5
    assert by_chance[known].bincount().tolist() == [5, 4, 4, 4, 4, 4]
