"""Chapter 24's play: who owes which rhyme, and that no word on the way tells."""

import pytest
import torch

from scratchformer_course.ch24_inside import play


@pytest.fixture(scope="module")
def couplets():
    return play.couplets(3, scenes=150)


def words(ids):
    return [play.VOCABULARY[i] for i in ids.tolist()]


def test_each_part_of_a_couplet_is_at_its_place_and_the_answer_has_the_owed_rhyme(couplets):
    at, rows = couplets.at, torch.arange(len(couplets))
    part = {name: words(couplets.ids[rows, t]) for name, t in at.items()}
    assert len(couplets) > 50 and couplets.ids.shape[1] == play.CONTEXT
    assert set(part["comma"]) == {","} and set(part["line break"]) == {"\n"}
    for word, rhyme in zip(part["rhyme word"], couplets.rhyme.tolist(), strict=True):
        assert word in play.FIRST[rhyme]
    inside = at["slot"] + 1 < play.CONTEXT
    answers = couplets.ids[rows[inside], at["slot"][inside] + 1]
    assert torch.equal(play.OF_ANSWER[answers], couplets.rhyme[inside])
    assert (at["slot"] > at["first word"]).all()


def test_a_pair_differs_in_the_article_and_the_rhyme_word_alone():
    pairs = play.pairs()
    differ = (pairs.clean != pairs.other).any(dim=0).nonzero().flatten().tolist()
    assert differ == [pairs.start, pairs.start + 1] and len(pairs.clean) == 120
    for ids, rhyme in ((pairs.clean, pairs.rhyme), (pairs.other, pairs.other_rhyme)):
        for row, c in zip(ids, rhyme.tolist(), strict=True):
            article, word = words(row[pairs.start :][:2])
            assert article == play.ARTICLES[c] and word in play.FIRST[c]
    assert (pairs.rhyme != pairs.other_rhyme).all()


def test_classes_by_chance_are_of_the_same_words_and_of_no_rhyme():
    right, by_chance = play.class_of(play.FIRST), play.shuffled_classes(0)
    assert torch.equal(right >= 0, by_chance >= 0)
    known = right >= 0
    assert (right == by_chance)[known].float().mean() < 0.5
    assert by_chance[known].bincount().tolist() == [5, 4, 4, 4, 4, 4]
