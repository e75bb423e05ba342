"""Chapter 21's figure and lessons: what they say of an answer is true."""

from scratchformer_course.ch21_answers.old_english import LESSONS, sounds_old
from tests.node import Node

in_node = Node(A="ch21_answers/live.js")


def test_an_answer_is_judged_as_in_python():
    texts = ["47+38", "47+48", "40+45", "4++38", "40?\n62?", "00+85"]
    found = in_node("return input.texts.map((text) => A.judge(85, text))", texts=texts)
    right = {"right": True, "borrow": True}
    wrong = {"right": False, "borrow": True}
    easy = {"right": True, "borrow": False}
    assert found == [right, wrong, easy, None, None, easy]


def test_lessons_sound_old_and_plain_answers_do_not():
    assert len(LESSONS) == 30 and all(question.endswith(("?", ".")) for question, _ in LESSONS)
    assert sum(sounds_old(reply) for _, reply in LESSONS) >= 28
    plain = ["The capital of France is Paris.", "A ship is a vessel."]
    assert not any(map(sounds_old, plain))
