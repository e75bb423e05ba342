"""The answers of the guesses: each is what the stored output of its chapter says.

A guess stands in a markdown cell as an empty element (see book/_assets/guess.js). The table below
reads its answer off the output that the page shows it beside.
"""

import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

from tests.node import Node

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
in_node = Node(guess="../book/_assets/guess.js")


def found(pattern):
    """The one group of a pattern in a text."""
    return lambda text: re.search(pattern, text)[1]


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text)]


def largest(pattern, choose=max):
    """The name whose number is the largest; the pattern finds pairs of name and number."""
    return lambda text: choose(
        re.findall(pattern, text, re.MULTILINE), key=lambda pair: float(pair[1])
    )[0].strip()


def rows(text):
    """The rows of a printed tensor or table as lists of numbers."""
    return [numbers(line) for line in text.splitlines() if numbers(line)]


def losses(text):
    """The first number of `kind  as they are (…)  squeezed (…)`, by kind."""
    return {
        kind: (float(a), float(b))
        for kind, a, b in re.findall(r"^(\w+) +([\d.]+) \(.*?\) +([\d.]+) \(", text, re.MULTILINE)
    }


def who_profits(text):
    helped = [kind for kind, (before, after) in losses(text).items() if after < before]
    return {("waves",): "only the waves", ("rotary",): "only rotary", (): "neither"}.get(
        tuple(helped), "both"
    )


def reads_again(text):
    *_, network, counter = rows(text)[-1]
    return "the counter" if counter > network else "the network"


def beam_right(text):
    changes = [int(b) - int(a) for a, b in re.findall(r"greedy (\d+), by beam (\d+)", text)]
    assert all(abs(change) < 10 for change in changes)
    return "about as many"


def gpt_language(text):
    english, german = numbers(re.search(r"GPT .*", text)[0])
    return "German" if german > 90 and english < 50 else "neither"


def after_katze(text):
    english, *_, last = text.splitlines()[1:]
    weights = numbers(last)
    return english.split()[weights.index(max(weights))]


def unseen_right(text):
    share = min(unseen / seen for _, seen, unseen in rows(text))
    return "nearly as many as of “seen”" if share > 0.9 else ""


def without_teacher(text):
    (_, taught, n), (free, m) = rows(text)[:2]
    return {(True, False): "the words", (False, True): "the sentences"}.get(
        (free < taught, m < n), "both"
    )


def tables_more(text):
    (found,) = set(re.findall(r"([\d.]+) tables more", text))
    return str(float(found)).removesuffix(".0")


def plain_memory(text):
    *_, half, whole = (row[-1] for row in rows(text))
    return "between 3 and 4 times as much" if 3 < whole / half < 4 else ""


def floors_by_size(text):
    floors = [float(floor) for floor in re.findall(r"floor ([\d.]+)", text)]
    ordered = floors in (sorted(floors), sorted(floors, reverse=True))
    return "" if ordered else "goes down and up"


def best_rate(text):
    means = {row[0]: sum(row[1:4]) for row in rows(text)}
    return str(min(means, key=means.get))


def as_large_as_the_logit(text):
    logit, difference = numbers(text)
    return "as large as the largest logit" if abs(difference / logit - 1) < 0.1 else ""


def hidden_in_fresh(text):
    found = re.findall(
        r"^([a-z ]+?\w(?: 1)?)  +[\d.]+ +[\d.]+ +([\d.]+) +[\d.]+$", text, re.MULTILINE
    )
    return next(name for name, fresh in found if float(fresh) == 0)


def nearly_even(text):
    spread = {}
    for tau, shares in re.findall(r"temperature ([\d.]+) *: \[\[(.*?)\]\]", text):
        spread[tau] = max(numbers(shares)) - min(numbers(shares))
    return str(float(min(spread, key=spread.get))).removesuffix(".0")


def valley(text):
    """The rates after which both weights are near (0, 0)."""
    ends = re.findall(r"rate ([\d.]+) *: w1 = *(\S+), w2 = *(\S+)", text)
    right = [rate for rate, a, b in ends if abs(float(a)) < 0.5 and abs(float(b)) < 0.5]
    return right[0] if right else "none of them"


def momentum(text):
    away = [float(end) for end in re.findall(r"rate 0.1 .*: *([\d.]+) away", text)]
    return {(False, True): "only with momentum", (True, True): "with and without"}.get(
        tuple(end < 0.5 for end in away), "never"
    )


def shape(text):
    table = rows(text)
    return f"({len(table)}, {len(table[0])})" if len(table) > 1 else f"({len(table[0])},)"


def equal_rows(same, different):
    """Whether the two lines of a text hold the same numbers."""
    return lambda text: same if rows(text)[0] == rows(text)[1] else different


def eight_heads(text):
    parameters = {row[0]: row[2] for row in rows(text) if len(row) == 4}
    return {1: "as many", 8: "eight times as many"}[parameters[8] / parameters[1]]


def which_noun(text):
    _, _, king, _, _, _, queen = rows(text)[0]  # the old king loves the young queen
    return "both alike" if king == queen else "“king”" if king > queen else "“queen”"


def old_before_king(text):
    the, old, king, loves = rows(text)[1]
    assert king == loves == 0
    return "“the” and itself alike" if the == old else "itself alone"


def first_pair(text):
    a, b = re.search(r"^\('(\w)', '(\w)'\)", text, re.MULTILINE).groups()
    return f"{a} and {b}"


def bowl(text):
    ends = {rate: numbers(rest)[-1] for rate, rest in re.findall(r"rate ([\d.]+): (.*)", text)}
    return min(ends, key=lambda rate: abs(ends[rate] - 3))


def variance(text):
    """The figure's own check holds the variance to 1 / positions; its last mark is at 256."""
    assert "(variance * count - 1).abs().max() < 0.15" in text
    return "1/" + re.search(r"averaging_weights\((\d+)\)", text)[1]


def square_length(text):
    """Where 4 T² C and 24 T C² are equal, by the formulas of the figure's code."""
    wide = int(re.search(r'"GPT-2, (\d+) wide"', text)[1])
    assert "4 * lengths**2 * wide, 24 * lengths * wide**2" in text
    return f"{24 * wide**2 // (4 * wide):,}"


def more_probable(text):
    circles, shakespeare = rows(text)
    return "its own circles" if min(circles) > max(shakespeare) else "Shakespeare"


def all_true(true, false):
    return lambda text: true if "True" in text and "False" not in text else false


# page/question: the cell with the output, and how its answer is read
ANSWERS = {
    "00/sum-over-axis-0": ("cell-08", lambda text: shape(text.splitlines()[0])),
    "00/row-plus-column": ("cell-12", shape),
    "01/new-words": ("cell-06", found(r"(\d+)% of the words are new")),
    "01/first-pair": ("cell-16", first_pair),
    "01/round-of-the": ("cell-21", found(r"merge (\d): th \+ e")),
    "01/most-tokens": ("cell-62", largest(r"^(English|French|Russian|Chinese) +\d+ +\d+ +(\d+)")),
    "02/ids-by-frequency": ("cell-11", found(r"by frequency +(\d+)% right")),
    "02/one-hot-shape": ("cell-18", found(r"^(\(\d+, \d+\))")),
    "02/no-strangers": ("cell-64", found(r"without strangers: .* mean cosine ([\d.]+)")),
    "03/two-sums": ("cell-04", equal_rows("are equal", "differ")),
    "03/cosine-at-500": ("cell-17", lambda text: f"{numbers(text.splitlines()[-1])[-1]:.2f}"),
    "04/questions-in-a-pair": ("cell-06", lambda text: str(text.count("->") - 1)),
    "04/loud-logits": ("cell-26", found(r"logits 50 times as large: ([\d.]+)")),
    "04/rate-of-the-bowl": ("cell-32", bowl),
    "05/leaks": ("cell-37", found(r"(\d+) of 28 future pairs leak")),
    "05/variance-left": ("cell-49", variance),
    "06/scores-not-zero": (
        "cell-11",
        lambda t: str(sum(n > 0 for r in rows(t)[:4] for n in r[:4])),
    ),
    "06/which-noun": ("cell-26", which_noun),
    "06/old-before-king": ("cell-57", old_before_king),
    "07/two-loves": ("cell-06", equal_rows("are the same", "differ")),
    "07/eight-heads": ("cell-43", eight_heads),
    "07/nan-rows": (
        "cell-59",
        lambda text: str(re.search(r"two layers: (.*)", text)[1].count("True")),
    ),
    "08/terms-that-change": (
        "cell-08",
        lambda t: str(sum(a != b for a, b in map(pair_of, tail(t)))),
    ),
    "08/kinds-that-pass": ("cell-39", lambda text: str(text.count("True"))),
    "08/who-profits": ("cell-72", who_profits),
    "09/straight-answers": (
        "cell-08",
        lambda text: "0 for every phrase" if set(numbers(text)) == {0.0} else "",
    ),
    "09/hidden-numbers": (
        "cell-10",
        lambda text: "({:.0f}, {:.0f})".format(*rows(text)[3]),
    ),
    "10/loudest-start": ("cell-46", largest(r"control, lm_head (.*): ([\d.]+)")),
    "10/kneser-ney-g": ("cell-54", lambda text: f"{numbers(text.splitlines()[0])[-1]:.2f}"),
    "11/rate-of-the-valley": ("cell-04", valley),
    "11/momentum-arrives": ("cell-09", momentum),
    "11/thousand-steps": ("cell-62", found(r"bfloat16 .* times up: ([\d.]+)")),
    "12/more-probable": ("cell-15", more_probable),
    "12/nearly-even": ("cell-22", nearly_even),
    "12/what-changes": ("cell-55", all_true("nothing", "")),
    "13/first-loss": ("cell-27", found(r"loss ([\d.]+)")),
    "13/by-frequency": ("cell-32", found(r"by frequency: ([\d.]+)")),
    "13/first-gap": ("cell-46", found(r"place +\d+: (\w+)")),
    "13/gpt-language": ("cell-50", gpt_language),
    "14/table-right": ("cell-10", found(r"seen +(\d+) of 300 right")),
    "14/after-katze": ("cell-26", after_katze),
    "14/unseen-right": ("cell-57", unseen_right),
    "14/without-teacher": ("cell-63", without_teacher),
    "14/beam-right": ("cell-78", beam_right),
    "15/parameters-of-96": ("costs-05", found(r"^([\d.]+) billion")),
    "15/square-length": ("costs-29", square_length),
    "15/gpt3-days": ("costs-41", found(r"GPT-3, .*: (\d+) days")),
    "15/tables-more": ("costs-52c", tables_more),
    "15/plain-memory": ("costs-62", plain_memory),
    "16/best-size": ("law-37", found(r"best size: ([\d,]+)")),
    "16/power-law-far": ("law-14", found(r"1e\+09: power law ([\d.]+)")),
    "16/floors-by-size": ("law-21", floors_by_size),
    "16/law-off": ("law-23", found(r"off by ([\d.]+)%")),
    "16/reads-again": ("law-63", reads_again),
    "17/times-as-fast": ("cell-66", found(r"times as fast: (\d+)")),
    "17/table-scores": ("cell-13", lambda t: " | ".join(re.findall(r"grams: ([\d.]+)", t))),
    "17/best-rate": ("cell-24", best_rate),
    "17/directions": ("cell-30", found(r"lies in (\d+) of 64 directions")),
    "17/peeking-loss": ("cell-48", found(r"looks ahead +([\d.]+)")),
    "17/seeds-below": ("cell-57", lambda t: str(sum(loss < 1.865 for loss in numbers(t)[:3]))),
    "18/three-transposed": ("cell-07", as_large_as_the_logit),
    "18/bytes-left": ("cell-11", found(r"bytes; ([\d,]+) are left")),
    "18/same-tokens": ("cell-40", all_true("are equal", "differ")),
    "18/hidden-in-fresh": ("cell-48", hidden_in_fresh),
    "18/mask-enough": (
        "cell-51",
        lambda t: "still move" if numbers(t)[-1] > 0.1 else "stay as they are",
    ),
}


def tail(text):
    return text.splitlines()[1:]


def pair_of(line):
    return numbers(line.split("·")[1])


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
        assert set(later) <= {a["data-question"] for _, a in asked}, path
        for i, attrs in asked:
            after = cells[later.get(attrs["data-question"], i) + 1 :]
            shown = next(c for c in after if c.get("outputs") and not folded(c))
            yield f"{path.name[:2]}/{attrs['data-question']}", attrs, shown


def folded(cell):
    return "hide-cell" in cell.metadata.get("tags", [])


def text_of(cell):
    """What a cell printed; the code for a figure, whose numbers its own assertion checks."""
    printed = "".join(out["text"] for out in cell.outputs if out.output_type == "stream")
    return re.sub(r"^From here on: .*\n", "", printed) or cell.source


GUESSES = list(guesses())


def test_the_table_knows_every_guess_and_no_other():
    assert [name for name, *_ in GUESSES] == sorted(ANSWERS, key=lambda n: list(ANSWERS).index(n))
    assert 25 <= len(GUESSES) <= 45
    per_chapter = [name[:2] for name, *_ in GUESSES]
    assert max(map(per_chapter.count, per_chapter)) <= 4


@pytest.mark.parametrize(("name", "attrs", "cell"), GUESSES, ids=[name for name, *_ in GUESSES])
def test_the_answer_is_what_the_stored_output_says(name, attrs, cell):
    where, read = ANSWERS[name]
    assert cell.id == where, "the page would show the guess beside another output"
    assert read(text_of(cell)) == attrs["data-answer"]
    if "data-choices" in attrs:
        choices = [choice.strip() for choice in attrs["data-choices"].split("|")]
        assert 2 <= len(set(choices)) == len(choices) <= 5
        assert attrs["data-answer"] in choices
    assert set(attrs) <= {
        "class", "data-question", "data-ask", "data-choices", "data-unit", "data-answer"
    }  # fmt: skip


def parsed(texts):
    """The numbers that the page takes texts for; None for what is none."""
    return in_node("return input.texts.map(guess.parse)", texts=texts)


def test_every_numeric_answer_can_be_read_by_the_page():
    answers = [a["data-answer"] for _, a, _ in GUESSES if "data-choices" not in a]
    for answer, number in zip(answers, parsed(answers), strict=True):
        top, _, bottom = answer.replace(",", "").partition("/")
        assert number == pytest.approx(float(top) / float(bottom or 1))


def test_typed_numbers():
    typed = {
        "30": 30, " 2.5 ": 2.5, "0,5": 0.5, "1,234,567": 1234567, "1,234.5": 1234.5, "−2": -2,
        "1/256": 1 / 256, ".5": 0.5, "0,125": 0.125, "12.": 12, "abc": None, "": None, "1/0": None,
        "1e3": None, "1 2": None, "1/2/3": None, "0x10": None, "Infinity": None,
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
