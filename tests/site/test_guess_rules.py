"""A guess: what can be typed, what is said of it, and what of a page it covers (guess_ext.py)."""

import re

import pytest
from docutils import nodes

from book._ext import guess_ext
from tests.node import Node

in_node = Node(guess="../book/_assets/guess-verdicts.js")


def parsed(texts):
    """The numbers that the page takes texts for; None for what is none."""
    return in_node("return input.texts.map(guess.parse)", texts=texts)


def test_typed_numbers():
    typed = {
        "30": 30, " 2.5 ": 2.5, "0,5": 0.5, "1,234,567": 1234567, "1,234.5": 1234.5, "−2": -2,
        "1/256": 1 / 256, ".5": 0.5, "0,125": 0.125, "12.": 12, "abc": None, "": None, "1/0": None,
        "1e3": 1000, "70 %": 0.7, "½": 0.5, "1 2": None,
        "1/2/3": None, "0x10": None, "Infinity": None,
    }  # fmt: skip
    assert parsed(list(typed)) == list(typed.values())


def test_units_faults_and_verdicts():
    def calls(name, *given):
        return in_node(f"return input.given.map((each) => guess.{name}(...each))", given=given)

    assert calls("bare", [" 30 % ", "%"], ["4,600 Tokens", "tokens"]) == ["30", "4,600"]
    faults = calls("fault", ["12", "%"], ["120", "days"], ["", ""], ["many", ""], ["120", "%"])
    assert [bool(fault) for fault in faults] == [False, False, True, True, True]
    assert "many" in faults[3] and len(set(faults)) == 4
    assert calls(
        "verdict",
        ["30", "12", "%"],
        ["3,000", "4,608", "tokens"],
        ["0,5", "10.61", "nats"],
        ["1/16", "1/256", ""],
        ["0.1", "0.10", ""],
        ["0.0000001", "0", ""],
        ["0.000001", "0", ""],
    ) == [
        "You are 18 points too high.",
        "You are 1,608 too low.",
        "You are 10.11 too low.",
        "You are 0.059 too high.",
        "You are exactly right.",
        "You are very close.",
        "You are 0.000001 too high.",
    ]


SEVERAL = {"ask": "first | second", "answer": "1 | 2", "unit": "%"}
CHOICE = {"ask": "which", "choices": "a | b", "answer": "b", "answerIs": "prose"}


def on_each(name, *given):
    """What a function of a question says of each guess: (data-attributes, values) of each."""
    body = f"return input.given.map(([data, values]) => guess.{name}(guess.read(data), values))"
    return in_node(body, given=given)


def test_each_value_of_a_guess_has_its_own_fault():
    given = [(SEVERAL, ["1", "many"]), (SEVERAL, ["1"]), (CHOICE, ["c"]), (CHOICE, ["a"])]
    faults = [[bool(fault) for fault in of_guess] for of_guess in on_each("faults", *given)]
    assert faults == [[False, True], [False, True], [True], [False]]


def test_each_of_several_numbers_gets_its_own_verdict():
    head, first, second = on_each("lines", (SEVERAL, ["1", "5"]))[0]
    assert "first" in first and "right" in first and "second" not in first
    assert re.findall(r"\d+", second) == ["5", "2", "3"] and "second" in second
    assert not re.search(r"\d", head)


def test_an_output_does_not_show_what_prose_tells():
    (_, prose), (_, shown) = on_each("lines", (CHOICE, ["a"]), (CHOICE | {"answerIs": ""}, ["a"]))
    assert "output" in shown and "output" not in prose and "right" not in prose


# ---- what is covered ----


def tree(*blocks):
    """A page of these blocks: h a heading, p prose, l a list, o code and its output, d an output
    alone, f a folded cell, i one whose code is folded, v a live figure in an output, w one by
    itself, x an exercise, ?a a guess, *a one that prose answers, !a its end."""
    document = nodes.document(None, None)
    section = nodes.section()
    document.append(section)
    for block in blocks:
        if block == "h":
            section = nodes.section("", nodes.title("", "", block=block))
            document.append(section)
        else:
            section.append(element(block))
            section[-1]["block"] = block
    return document


def element(block):
    kind, name = block[0], block[1:]
    if name and kind in "?*!":
        suffix = "-end" if kind == "!" else ""
        is_prose = ' data-answer-is="prose"' if kind == "*" else ""
        text = f'<div class="course-guess{suffix}" data-question="{name}"{is_prose}></div>'
        return nodes.raw("", text, format="html")
    live = nodes.raw("", '<div class="live-figure"></div>', format="html")
    if kind in "odfiv":
        code = nodes.container("", nb_element="cell_code_source")
        shown = live if kind == "v" else nodes.paragraph()
        output = nodes.container("", shown, nb_element="cell_code_output")
        inside = {"f": [code, output], "i": [code]}.get(kind, [])
        fold = [nodes.container("", *inside, classes=["hide"])] if inside else [code]
        parts = {"d": [output], "f": fold, "i": [output, *fold]}.get(kind, [code, output])
        return nodes.container("", *parts, nb_element="cell_code")
    if kind == "x":
        return nodes.container("", element("o"), nodes.paragraph(), classes=["course-exercise"])
    return {"p": nodes.paragraph(), "l": nodes.bullet_list(), "w": live}[kind]


def covered(text):
    """The blocks of a page as they stand behind the build: [an answer], in which . is an
    output that has left its cell."""
    document = tree(*text.split())
    guess_ext.cover_answers(None, document)
    return " ".join(
        "[" + " ".join(x.get("block", ".") for x in node) + "]"
        if isinstance(node, guess_ext.GuessAnswer)
        else node["block"]
        for section in document
        for node in section
    )


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("p ?a p o p p", "p ?a p o [. p] p"),
        ("?a f o f p p", "?a f o [. p] f p"),  # what is folded stays as it is
        ("?a i l d p p", "?a i [. l d p] p"),
        ("?a d i p", "?a [d . p] i"),  # code that is folded beside a figure
        ("?a o h p", "?a o [.] h p"),  # the next heading ends the answer
        ("?a o o p", "?a o [.] o p"),  # and so does code
        ("?a o p p l !a p", "?a o [. p p l] !a p"),
        ("?a o p v p !a", "?a o [. p] v p !a"),
        ("?a v w o p", "?a v w o [. p]"),  # live figures stay, and answer nothing
        ("?a x o x p", "?a x o [.] x p"),
        ("*a w p l !a p", "*a w [p l] !a p"),
        ("*a p o p !a", "*a [p] o p !a"),
        ("?a o ?b o p p", "?a o [.] ?b o [. p] p"),
    ],
)
def test_a_guess_covers_its_answer_and_nothing_else(page, expected):
    assert covered(page) == expected


@pytest.mark.parametrize("page", ["?a p h p", "*a p", "o !a p", "*a w !a p", "?a v"])
def test_a_guess_without_its_answer_or_its_end_is_refused(page):
    with pytest.raises(ValueError, match=r"\b[ab]\b"):
        list(guess_ext.answers(list(guess_ext.blocks_of(tree(*page.split())))))
