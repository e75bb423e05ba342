"""The answers of the guesses: each is what the stored output of its chapter says.

A guess stands in a markdown cell as an empty element (see book/_assets/guess.js). The table below
reads its answer off the output that the page shows it beside. Where prose answers, the covered prose
must hold the numbers. What is covered is tested on small pages (book/_ext/guess_ext.py).
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from docutils import nodes

from tests.node import Node
from tests.quoted_numbers import absent

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import guess_ext  # noqa: E402  (a Sphinx extension, not part of the package)

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = sorted((ROOT / "book").glob("*.md"))
in_node = Node(guess="../book/_assets/guess-verdicts.js")


def found(pattern, flags=0):
    """The one group of a pattern in a text."""
    return lambda text: re.search(pattern, text, flags)[1]


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text)]


def all_of(answers):
    """Several answers as an attribute holds them."""
    return " | ".join(answers)


def rows(text):
    """The rows of a printed tensor or table as lists of numbers."""
    return [numbers(line) for line in text.splitlines() if numbers(line)]


# page/question: the cell with the output, and how the number that answers is read
NUMBERS = {
    "00/first-sums": ("cell-08", lambda text: all_of(f"{row[0]:.0f}" for row in rows(text)[:2])),
    "00/in-the-difference": ("forecast-3", lambda t: f"{numbers(t)[0] * numbers(t)[1]:.0f}"),
    "01/new-words": ("new-words-cell", found(r"(\d+)% of the words are new")),
    "01/four-digits": ("numbers", found(r"^4 +(\d+) numbers", re.MULTILINE)),
    "03/cosine-at-500": ("cell-17", lambda text: f"{numbers(text.splitlines()[-1])[-1]:.2f}"),
    "04/used-twice": ("cell-tape-4", lambda text: f"{numbers(text)[0]:g}"),
    "06/scores-doubled": ("cell-11", lambda text: f"{rows(text)[4][2]:.0f}"),
    "07/row-of-first-head": ("cell-30", lambda t: f"{rows(t)[4][0]:.0f}"),
    "08/kinds-that-pass": ("cell-39", lambda text: str(text.count("True"))),
    "09/two-blocks": ("two-4", lambda t: str(sum(n > 0.5 for n in numbers(t)))),
    "15/one-reader": ("roof-43", found(r"^(\d+) tokens a second")),
    "17/lead-left": ("rival-tuned", found(r"stored seeds: ([\d.]+)")),
    "18/same-tokens": ("same", lambda t: str(len(re.findall(r"(?m)^seed \d: equal True$", t)))),
    "19/cache-bytes": ("share-26", found(r": ([\d,]+) bytes a token")),
    "19/right-keys": ("wrong-1", found(r"^(\d+) of 9 heads")),
}
# page/question, cell, the choice that is right; below, what the output must show if it is
CHOICES = r"""
00/lower-loss forecast-1: always the average
    ^perfect forecast: +12\.0\nalways the average: 6\.0$
01/most-tokens languages: 9 times as many
    ^Hindi .* times (8\.[5-9]|9\.[0-4])$
02/two-measures cell-44: c by the dot product, b by the cosine
    assert measures\[0\]\[0\] < measures\[1\]\[0\] and measures\[0\]\[1\] > measures\[1\]\[1\]
02/left-in real-4: father
    ^queen, girl, father,
02/no-negatives cell-64: 1
    ^king and sword: 1\.00$
04/forgotten-slopes cell-65: never
    forgotten\[20:\]\) > 4.9  # never$
05/which-word hook-3: what
    ^what +hidden: 0\.[0-3](?!(.|\n)*hidden: 0\.[0-7])
05/future-gone leak-1: above 4.17, worse than a blind guess
    (with it 4\.(1[89]|[2-9]\d)\s+(seed .*)?){3}
06/which-noun cell-26: both alike
    ^(?:\S+ ){2}(\S+) (?:\S+ ){3}\1$
06/third-is real-5: Japan
    France\n.*Italy\n.* Japan$
07/all-fourteen cell-76: more than 0.6
    one by one 0\.[0-5]\d, together (0\.[6-9]|1\.)
07/your-head place-3: about 1.2
    ^no head 1\.3 +2\.6.*\nyours +1\.2
08/place-place cell-08: changes
    ^place·place +(\S+) +(?!\1)
08/far-out cell-real-2: the same answer, the same logits
    ^ +0: (.*)\n +1,000: \1\n100,000: \1$
09/same-after add-2: 2 pairs
    ^after  1: apart 0\.[1-9].*\nafter  2: apart 0\.0000
09/eight-heads court-5: every time
    ^(99|100)%$
10/first-below-pairs rung-11: four heads
    ^positions +(2\.(49|5\d) ?){3}\nfour heads +(2\.4[0-6] ?){3}$
10/gpt-after-300 cell-49: the pairs and the threes
    ^GPT 1\.(8[0-9]|9\d)$
10/which-duke far-2: only the network trained for longer
    short run: 'V'[\s\S]*longer: 'V'[\s\S]*short run: 'V'[\s\S]*longer: 'O'
11/adamw-path cell-15: stays the same
    ^steep +\d+(:.*)\nsteep +\d+\1$
11/first-step-clipped watch-4: just as far
    ^nothing +(moved 0\.\d+)\nclip at 1 +\1$
11/head-that-looks-back born-5: above 0.9
    ^step 1,000: .* 0\.9\d$
12/what-changes cell-55: none of them
    \A(.*: True\s*)+\Z
12/once-more real-4: over a hundred times as probable
    ^copy 2: 0\.001\d\n(.*\n)+copy 9: 0\.[45]
13/gpt-language cell-42: German
    ^GPT +[12]\d–[12]\d% +(9\d|100)%$
13/fresh-judge cell-56: about 50 %
    ^fresh .*unseen (4[5-9]|5[0-5])%
13/object-first turned: almost none
    ^object first: +\d of 200$
14/table-right cell-10: fewer than 30
    ^[12]?\d of 300 right$
14/without-teacher cell-63: the words
    \A.*\n(.*taught (89|9\d)% (\d+)\n.*alone +8\d% \3\n?){3}\Z
14/last-rows turn: cat, see, can
    ^reads: .* cat see can$
15/qwen-days roof-33: 50 days
    operations, (4[5-9]|5[0-5]) days$
15/latency-64 latency: about 3 times as long
    ^ +1 readers: +5\.\d ms.*\n[\s\S]*^ 64 readers: 1[5-7]\.\d ms
16/trillion law-14: about 0.002
    ^1,000,000,000,000 characters: 0\.002$
16/large-runs law-large: inside it
    ^measured: 0\.3(4[89]|5\d|6[0-6])
16/gpt-3 law-47: too large
    ^as printed +\d\d billion.*\nnot rounded +\d\d billion.*\nfitted again +\d\d billion
17/directions cell-30: about 6
    ^90% lies in [5-7] of 64 directions$
17/plain-lead rival-05: the same within 0.02
    ^AdamW 0\.004, 0\.03 +2\.3[2-4]
18/hidden-in-fresh table: 3, lost biases
    ^2 +\S+ +\S+ +[01]\.\d*[1-9].*\n3 +\S+ +\S+ +0\.000000
19/matters-most worth-49: rotation
    assert draw.NAMES\[best\] == "rotation"
20/four-bits inf-29: 0.01 to 0.1
    ^4 bits, per row +\+0\.0[1-9]
20/many-texts inf-66: less than with one text
    ^ +1 .* (1\.[2-9]|2\.\d) times\n[\s\S]*^ +64 .* (0\.\d|1\.0) times$
20/shuffled-table inf-59: about 130 passes
    ^shuffled +1[23]\d +160
21/random-weights three: about 0.01
    ^random weights +0\.0[0-5]
21/hole hole: right and wrong, all rewarded
    ^rewarded (0\.9\d|1\.00), right 0\.[1-8]
21/borrows rewarded: hardly ever
    ^reward +\S+ +\S+ +0\.0[0-5]
22/untrained table: always
    ^rhyme word .* 1\.00$
22/erased bars: more than 0.9
    ^line break +0\.9
22/after-24 real-after: Paris
    ^ +24 +Paris +Rome$
"""


def chosen(answer, pattern):
    """The answer, if the output shows what the pattern says."""
    return lambda text: answer if re.search(pattern, text, re.MULTILINE) else ""


ROWS = re.findall(r"^(\S+) (\S+): (.*)\n {4}(.*)$", CHOICES, re.MULTILINE)
ANSWERS = NUMBERS | {name: (where, chosen(*answer)) for name, where, *answer in ROWS}


class Elements(HTMLParser):
    """The attributes of a cell's elements for guesses."""

    def __init__(self, source):
        super().__init__()
        self.found = []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "div" and attrs.get("class", "").startswith("course-guess"):
            self.found.append(attrs)


def parts(text):
    return [part.strip() for part in text.split("|")]


def guesses():
    """(page/question, attributes, the cell whose output the page shows it beside), in order."""
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        elements = [
            (i, attrs)
            for i, cell in enumerate(cells)
            if cell.cell_type == "markdown"
            for attrs in Elements(cell.source).found
        ]
        later = {a["data-question"]: i for i, a in elements if a["class"] == "course-guess-result"}
        asked = [(i, a) for i, a in elements if a["class"] == "course-guess"]
        assert len({a["data-question"] for _, a in asked}) == len(asked), path
        for i, attrs in asked:
            if attrs.get("data-answer-is") == "prose":
                continue
            after = cells[later.get(attrs["data-question"], i) + 1 :]
            shown = next(c for c in after if c.get("outputs") and not (folded(c) or is_live(c)))
            yield f"{path.name[:2]}/{attrs['data-question']}", attrs, shown


def answered_by_prose():
    """(page/question, attributes, the prose that is covered), for chapters and other pages."""
    texts = {path.name[:2]: prose_of(path) for path in NOTEBOOKS}
    texts |= {path.stem: path.read_text(encoding="utf-8") for path in PAGES}
    for page, text in texts.items():
        for attrs in Elements(text).found:
            if attrs.get("data-answer-is") == "prose":
                question = attrs["data-question"]
                _, asked, after = text.partition(f'class="course-guess" data-question="{question}"')
                veiled, end, _ = after.partition(f'-guess-end" data-question="{question}"')
                assert asked and end, f"{page}/{question} has no end"
                yield f"{page}/{question}", attrs, veiled.partition("</div>")[2]


def prose_of(path):
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def folded(cell):
    return "hide-cell" in cell.metadata.get("tags", [])


def is_live(cell):
    return any("live-figure" in str(output.get("data")) for output in cell.outputs)


def text_of(cell):
    """What a cell printed; the code for a figure, whose numbers its own assertion checks."""
    return "".join(printed(cell)) or cell.source


def printed(cell):
    """The texts that a cell printed, without the line on whose function goes on."""
    texts = [out["text"] for out in cell.outputs if out.output_type == "stream"]
    for out in cell.outputs:
        if out.output_type == "execute_result" and "text/html" not in out.data:
            texts.append(out.data["text/plain"])
    return [re.sub(r"^(From here on: .*\n)+", "", text) for text in texts]


GUESSES = list(guesses())
PROSE = list(answered_by_prose())
ALL = [(name, attrs) for name, attrs, _ in GUESSES + PROSE]
NAMES = [name for name, _ in ALL]


def test_the_table_knows_every_guess_and_no_other():
    assert sorted(name for name, *_ in GUESSES) == sorted(ANSWERS) and PROSE
    pages = [name.split("/")[0] for name in NAMES]
    assert max(map(pages.count, pages)) <= 6


@pytest.mark.parametrize(("name", "attrs", "cell"), GUESSES, ids=[name for name, *_ in GUESSES])
def test_the_answer_is_what_the_stored_output_says(name, attrs, cell):
    where, read = ANSWERS[name]
    assert cell.id == where, "the page would show the guess beside another output"
    assert read(text_of(cell)) == attrs["data-answer"]


@pytest.mark.parametrize(("name", "attrs", "veiled"), PROSE, ids=[name for name, *_ in PROSE])
def test_the_veiled_prose_holds_the_numbers_that_answer(name, attrs, veiled):
    assert re.search(r"\w", veiled)
    if "data-choices" not in attrs:
        assert absent(veiled, *parts(attrs["data-answer"])) == set()


@pytest.mark.parametrize(("name", "attrs"), ALL, ids=NAMES)
def test_a_form_can_take_the_right_answer(name, attrs):
    options = parts(attrs.get("data-choices", ""))
    answers = parts(attrs["data-answer"])
    if options != [""]:
        assert 2 <= len(set(options)) == len(options) <= 5
    if "data-choices" in attrs:
        assert attrs["data-answer"] in options
    else:
        assert len(answers) <= 3
        assert len(answers) == 1 or len(parts(attrs["data-ask"])) == len(answers)
    assert attrs.get("data-answer-is", "prose") == "prose"
    assert set(attrs) <= {
        "class", "data-question", "data-ask", "data-choices", "data-unit", "data-answer",
        "data-answer-is",
    }  # fmt: skip


def parsed(texts):
    """The numbers that the page takes texts for; None for what is none."""
    return in_node("return input.texts.map(guess.parse)", texts=texts)


def test_every_numeric_answer_can_be_read_by_the_page():
    numeric = [a for _, a in ALL if "data-choices" not in a]
    answers = [answer for attrs in numeric for answer in parts(attrs["data-answer"])]
    for answer, number in zip(answers, parsed(answers), strict=True):
        top, _, bottom = answer.replace(",", "").partition("/")
        assert number == pytest.approx(float(top) / float(bottom or 1))


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
    faults = [[bool(fault) for fault in each] for each in on_each("faults", *given)]
    assert faults == [[False, True], [False, True], [True], [False]]


def test_each_of_several_numbers_gets_its_own_verdict():
    head, first, second = on_each("lines", (SEVERAL, ["1", "5"]))[0]
    assert "first" in first and "right" in first and "second" not in first
    assert numbers(second) == [5, 2, 3] and "second" in second
    assert numbers(head) == []


def test_an_output_does_not_show_what_prose_tells():
    (_, prose), (_, shown) = on_each("lines", (CHOICE, ["a"]), (CHOICE | {"answerIs": ""}, ["a"]))
    assert "output" in shown and "output" not in prose and "right" not in prose


# ---- what is covered ----


def tree(*blocks):
    """A page of these blocks: h a heading, p prose, l a list, o code and its output, d an output
    alone, f a folded cell, i one whose code is folded, v a live figure in an output, w one by
    itself, x an exercise, ?a a guess, *a one that prose answers, >a the place of its result, !a
    its end."""
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
    if name and kind in "?*>!":
        suffix = {">": "-result", "!": "-end"}.get(kind, "")
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
    """The blocks of a page as they stand behind the build: [an answer], in which . is an output that
    has left its cell."""
    document = tree(*text.split())
    guess_ext.cover_answers(None, document)
    found = [
        "[" + " ".join(x.get("block", ".") for x in node) + "]"
        if isinstance(node, guess_ext.GuessAnswer)
        else node["block"]
        for section in document
        for node in section
    ]
    return " ".join(found)


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
        ("?a p o >a p o p p", "?a p o >a p o [. p] p"),  # the result comes later
        ("*a w p l !a p", "*a w [p l] !a p"),
        ("*a p o p !a", "*a [p] o p !a"),
        ("?a o ?b o p p", "?a o [.] ?b o [. p] p"),
    ],
)
def test_a_guess_covers_its_answer_and_nothing_else(page, expected):
    assert covered(page) == expected


@pytest.mark.parametrize("page", ["?a p h p", "*a p", "o !a p", "?b o p >a p", "*a w !a p", "?a v"])
def test_a_guess_without_its_answer_or_its_end_is_refused(page):
    with pytest.raises(ValueError, match=r"\b[ab]\b"):
        list(guess_ext.answers(list(guess_ext.blocks_of(tree(*page.split())))))
