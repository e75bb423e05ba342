"""Hints and questions of the exercises: each has them, and what a question says is true.

The page shows what is tested here; that it shows it is tested in tests/site/test_exercise_box.py.
"""

import ast
import builtins
import json

from scratchformer_course.kit.checks.question import Number, Which, source
from tests.chapters.tables import ALL, exported, of
from tests.node import Node

NUMBERS, WHICH = (
    [(chapter, exercise) for chapter, exercise in ALL if isinstance(exercise.question, kind)]
    for kind in (Number, Which)
)
in_node = Node("../book/_assets/guess-verdicts.js", E="../book/_assets/exercise.js")
KNOWN = {"torch", "math", "F", "nn"}  # to the code that a question shows
LARGEST = 2000  # bytes of a question, as the page holds it
LINES, COLUMNS = 9, 62


@of(ALL)
def test_an_exercise_has_two_hints_and_a_small_question_and_their_backticks_end(exercise):
    assert len(exercise.hints) == 2 and min(map(len, exercise.hints)) > 10
    question = exported(exercise)
    assert len(json.dumps(question, ensure_ascii=False).encode()) <= LARGEST
    wrong = question["wrong"].values() if question["kind"] == "number" else question["reasons"]
    for text in (*exercise.hints, question["ask"], *wrong):
        assert text.count("`") % 2 == 0 and "\n" not in text


@of(NUMBERS)
def test_all_right_answers_give_the_number_and_three_mistakes_give_others(exercise):
    question = exported(exercise)
    numbers = {exercise.question.of(answer) for answer in exercise.solutions}
    assert numbers - {None} == {question["right"]}  # some designs do not fit the question's case
    assert len(question["wrong"]) >= 3 and question["right"] not in question["wrong"]


def test_the_page_takes_each_right_number_and_tells_each_wrong_one_its_diagnosis():
    judged = in_node(
        """return input.questions.map((question) => [
          E.judgeNumber(question, question.right).state === "right",
          ...Object.entries(question.wrong).map(([typed, words]) =>
            E.judgeNumber(question, typed).text.startsWith(words)),
        ]);""",
        questions=[exported(exercise) for _, exercise in NUMBERS],
    )
    assert all(map(all, judged))


def unknown_names(code):
    """What a snippet uses beside its own names, Python's and those of the chapters' imports."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    defined = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    defined |= {getattr(node, "arg", None) for node in nodes}
    defined |= {getattr(node, "name", None) for node in nodes}  # of functions, classes, imports
    return {name.id for name in names} - defined - KNOWN - set(dir(builtins))


@of(WHICH)
def test_the_answer_shown_is_short_and_stands_alone(exercise):
    question = exported(exercise)
    assert 3 <= len(question["reasons"]) == len(set(question["reasons"])) <= 4
    code = question["code"]
    lines = code.splitlines()
    assert len(lines) <= LINES and max(map(len, lines)) <= COLUMNS, code
    assert not unknown_names(code), code


@of(ALL)
def test_no_question_shows_an_answer_that_passes(exercise):
    question = exported(exercise)
    shown = [question.get("code", ""), question["ask"], *question.get("reasons", ())]
    for answer in exercise.solutions:
        body = source(answer, exercise.name).partition("\n")[2]
        assert body and not any(body in text for text in shown)
