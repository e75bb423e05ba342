"""Chapter 21's two figures: what they say of an answer is true, and faults are told."""

import itertools

from scratchformer_course.ch21_answers.live import TOLD
from scratchformer_course.ch21_answers.rules import RULES
from scratchformer_course.measurements import load_measurements
from tests.node import Node

in_node = Node(A="ch21_answers/live.js")
STORED = load_measurements("answers")
FILMS = STORED["checkers"]


def test_an_answer_is_judged_as_in_python():
    texts = ["47+38", "47+48", "40+45", "4++38", "40?\n62?", "00+85"]
    found = in_node("return input.texts.map((text) => A.judge(85, text))", texts=texts)
    right = {"right": True, "borrow": True}
    wrong = {"right": False, "borrow": True}
    easy = {"right": True, "borrow": False}
    assert found == [right, wrong, easy, None, None, easy]


def test_every_choice_of_rules_has_its_film():
    names = {" ".join(c) for k in range(5) for c in itertools.combinations(RULES, k)}
    assert set(STORED["checkers"]) == names and set(TOLD) == set(RULES)
    rules = [[rule, ""] for rule in RULES]
    body = "return A.key(input.rules, new Set(input.on))"
    for name in names:
        assert in_node(body, rules=rules, on=name.split()[::-1]) == name


def test_a_hole_is_called_one():
    body = "return input.films.map((own) => A.verdict(own.at(-1), own[0]))"
    said = in_node(body, films=[*FILMS.values(), [{"reward": 1.0, "right": 0.65}]])
    assert "nothing to learn" in said.pop()
    holes = {name for name, text in zip(FILMS, said, strict=True) if "forgot" in text}
    assert holes == set(FILMS) - {"", "form units tens", "form units tens carry"}
