"""The answers of the guesses: each is what the stored output of its chapter says.

A guess stands in a markdown cell as an empty element (see book/_assets/guess.js). The table below
reads its answer off the output that the page shows it beside. Where prose answers, the veiled prose
must hold the numbers. What is veiled is tested on small pages (book/_ext/veil_ext.py).
"""

import ast
import math
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
import veil_ext  # noqa: E402  (a Sphinx extension, not part of the package)

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = sorted((ROOT / "book").glob("*.md"))
in_node = Node(guess="../book/_assets/guess-verdicts.js")


def found(pattern, flags=0):
    """The one group of a pattern in a text."""
    return lambda text: re.search(pattern, text, flags)[1]


def between(answer, low, pattern, high):
    """The answer, if the one group of a pattern is a number between two others."""
    return when(answer, lambda text: low <= float(found(pattern, re.MULTILINE)(text)) <= high)


def when(answer, holds):
    """The answer, if something holds of the text."""
    return lambda text: answer if holds(text) else ""


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text)]


def largest(pattern, choose=max):
    """The name whose number is the largest; the pattern finds pairs of name and number."""
    return lambda text: choose(
        re.findall(pattern, text, re.MULTILINE), key=lambda pair: float(pair[1])
    )[0].strip()


def all_of(answers):
    """Several answers as an attribute holds them; of the groups of a pattern, the one that fits."""
    return " | ".join("".join(answer) for answer in answers)


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


def beam_right(text):
    changes = [int(b) - int(a) for a, b in re.findall(r"greedy (\d+), by beam (\d+)", text)]
    assert all(abs(change) < 10 for change in changes)
    return "about as many"


def gpt_language(text):
    english, german = (numbers(line) for line in re.findall(r"^GPT .*", text, re.MULTILINE))
    return "German" if min(german) > 90 and max(english) < 50 else "neither"


def one_vector(text):
    found = re.search(r"one vector +1,000 steps +seen(.*) of ([\d,]+)", text)
    share = sum(numbers(found[1])) / 3 / float(found[2].replace(",", ""))
    return "most" if share > 0.6 else ""


def without_teacher(text):
    (_, taught, n), (free, m) = rows(text)[:2]
    return {(True, False): "the words", (False, True): "the sentences"}.get(
        (free < taught, m < n), "both"
    )


def plain_memory(text):
    *_, half, whole = (row[-1] for row in rows(text))
    return "between 3 and 4 times as much" if 3 < whole / half < 4 else ""


def hidden_in_fresh(text):
    found = re.findall(
        r"^([a-z ]+?\w(?: 1)?)  +[\d.]+ +[\d.]+ +([\d.]+) +[\d.]+$", text, re.MULTILINE
    )
    return next(name for name, fresh in found if float(fresh) == 0)


def survives_a_column(text):
    found = re.findall(r"4 bits, each (\w+) +\+([\d.]+)", text)
    few = [group for group, nats in found if float(nats) < 0.2]
    return "32 weights" if few == ["32"] else ""


def sixteen_texts(text):
    took = {(texts, tokens): ms for texts, tokens, ms, *_ in rows(text)}
    return "less than 8 times as long" if took[16, 1] < 8 * took[1, 1] else ""


def many_texts(text):
    gains = [float(gain) for gain in re.findall(r"([\d.]+) times as fast", text)]
    return "less than with one text" if gains[-1] < gains[0] else ""


def without_balance(text):
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", text)]  # with, without, …
    apart = [without - with_it for with_it, without in zip(losses[::2], losses[1::2], strict=True)]
    return "about the same" if max(map(abs, apart)) < 0.05 else ""


def momentum(text):
    away = [float(end) for end in re.findall(r"rate 0.1 .*: *([\d.]+) away", text)]
    return {(False, True): "only with momentum", (True, True): "with and without"}.get(
        tuple(end < 0.5 for end in away), "never"
    )


def bytes_left(text):
    left = re.search(r"bytes; ([\d,]+) are left", text)[1]
    return f"{int(left.replace(',', '')) / 1e6:.0f}"


def hindi_times(text):
    tokens = found(r"^Hindi .* ([\d.]+) +0$", re.MULTILINE)(text)
    return f"{float(tokens):.0f} times as many"


def two_measures(text):
    """The drawing's own check: of b and c, which has the larger product and cosine with a."""
    assert "measures[0][0] < measures[1][0] and measures[0][1] > measures[1][1]" in text
    return "c by the dot product, b by the cosine"


def mistake_found(text):
    spreads = re.findall(r"(mistake .) +spread ([\d.]+)", text)
    found = [mistake for mistake, spread in spreads if float(spread) > 1]
    return {0: "neither", 1: found[0], 2: "both"}[len(found)]


def arrives(text):
    away = [abs(place - 3) for place in numbers(text.splitlines()[0])]
    return "never" if max(away[-4:]) > 1.9 else ""


def counters_beaten(text):
    network = max(numbers(re.search(r"seeds: (.*)", text)[1]))
    return str(sum(float(loss) > network for loss in re.findall(r": loss ([\d.]+)", text)))


def future_gone(text):
    losses = [float(loss) for loss in re.findall(r"with it ([\d.]+)", text)]
    blind = len(losses) == 3 and min(losses) > math.log(65)
    return "above 4.17, worse than a blind guess" if blind else ""


def equal_rows(same, different):
    """Whether the two lines of a text hold the same numbers."""
    return lambda text: same if rows(text)[0] == rows(text)[1] else different


def eight_heads(text):
    parameters = {row[0]: row[2] for row in rows(text) if len(row) == 4}
    assert parameters[8] == parameters[1]
    return f"{parameters[8]:,.0f}"


def place_place(text):
    near, far = numbers(found(r"place·place(.*)")(text))
    return "changes" if near != far else "stays"


def which_noun(text):
    _, _, king, _, _, _, queen = rows(text)[0]  # the old king loves the young queen
    return "both alike" if king == queen else "“king”" if king > queen else "“queen”"


def old_before_king(text):
    the, old, king, loves = rows(text)[1]
    assert king == loves == 0
    return "“the” and itself alike" if the == old else "itself alone"


def wide_heads(text):
    divided, *undivided = (row for row in rows(text) if row[0] == 1024)
    for row in undivided:
        assert min(row[1:5]) > 2 * min(divided[1:5]) and sorted(row[-3:])[1] > 50  # losses, percent
    return "both learn, the divided one better"


def square_length(text):
    """Where 4 T² C and 24 T C² are equal, by the formulas of the figure's code."""
    wide = int(re.search(r'"GPT-2, (\d+) wide"', text)[1])
    assert "4 * lengths**2 * wide, 2 * lengths * matrices" in text
    assert f"{wide}, 12 * {wide}**2" in text
    return f"{2 * 12 * wide**2 // (4 * wide):,}"


def turned_keys(text):
    by_own, by_zero = re.findall(r"as all at once: (\w+)", text)
    assert by_own == "True"
    return {"True": "the same", "False": "others"}[by_zero]


def more_probable(text):
    circles, shakespeare = rows(text)
    return "its own circles" if min(circles) > max(shakespeare) else "Shakespeare"


def all_true(true, false):
    return lambda text: true if "True" in text and "False" not in text else false


def one_head(text):
    """Each row is heads, rate and the errors of three seeds."""
    best = min(sum(row[2:]) / 3 for row in rows(text)[1:] if row[0] == 1)
    return "about 0.5" if 0.4 < best < 0.6 else ""


def all_fourteen(text):
    alone, together = numbers(text)
    return "more than 0.6" if together > 0.6 > alone else ""


def who_recovers(text):
    loss = {kind: float(mean) for kind, mean in re.findall(r"^(\w+) +([\d.]+) \(", text, re.M)}
    better = [kind for kind in ("waves", "rotary") if loss[kind] < loss["none"] - 0.1]
    return "only rotary" if better == ["rotary"] else ""


def shares(text):
    """The right answers in percent, of all seeds and rates, by version."""
    found = {}
    for name, line in re.findall(r"^(.*?) *, rate [\d.]+ *: (.*)$", text, re.MULTILINE):
        found.setdefault(name, []).extend(numbers(line))
    return found


def learns_alone(text):
    found = shares(text)
    able = [part for part in ("no attention", "no feed-forward") if max(found[part]) > 80]
    return "neither" if not able and min(found["both"]) > 95 else ""


def taken_out(text):
    cost = {
        part: float(n) for part, n in re.findall(r"^(\S+ ?\S*) +gained.*costs (\S+)", text, re.M)
    }
    names = {"four heads": "one head instead of four", "positions": "no positions"}
    return names.get(min(cost, key=lambda part: abs(cost[part])).strip(), "no feed-forward network")


def steps_of(text):
    return int(re.sub(r"\D", "", text))


def batch_and_rate(text):
    """Of 1, 4 and 16, the factor that is nearest to the one between the best rates."""
    rates = [float(lr) for lr in re.findall(r"best rate ([\d.]+)", text)]
    factors = {"1": 1.0, "4": 4.0, "16": 16.0}
    return min(factors, key=lambda name: abs(math.log(rates[-1] / rates[0] / factors[name])))


def best_rule(_figure):
    """The curves of the figure are read off in the table of the next cell."""
    notebook = next(path for path in NOTEBOOKS if path.name.startswith("12"))
    cell = next(c for c in nbformat.read(notebook, as_version=4).cells if c.id == "cell-47")
    curves = re.findall(
        r"^(?:temperature|top-[kp]|min-p) +(\d+)% +(\d+)% +(\d+)%", text_of(cell), re.M
    )
    assert len(curves) == 4
    apart = [max(map(int, at)) - min(map(int, at)) for at in zip(*curves, strict=True)]
    return "no clear winner" if max(apart) <= 3 else ""


def row_of(text, name):
    """The numbers behind a name at the beginning of a line."""
    return numbers(re.search(rf"^{name}(.*)", text, re.MULTILINE)[1])


def what_units_pay(text):
    paid, right = numbers(text)[:2]
    return "right and wrong, all rewarded" if paid > 0.9 > right > 0.05 else "another answer"


def what_leaks(text):
    clean, leaked = (row_of(text, name) for name in ("clean", "contaminated"))
    test, fresh = (after - before for before, after in zip(clean, leaked, strict=True))
    if fresh < 0.02:
        return "gain nothing"
    return "gain less than the test items" if test > fresh + 0.1 else "gain as much"


def which_path(text):
    above = [part for part in "qkv" if float(found(rf"cut out of {part}: ([\d.]+)")(text)) > 2]
    return "the keys only" if above == ["k"] else "other parts"


def which_copies(text):
    alone, with_smear = (numbers(line)[-1] for line in text.splitlines()[:2])
    return "only with smear" if with_smear < 1.2 < 1.8 < alone else "another answer"


def what_turns(text):
    names = ("difference of means", "probe's direction")
    turned = [name for name in names if row_of(text, name)[4] > 0.5]  # the new rhyme at dose 1
    return f"the {turned[0]}" if len(turned) == 1 else "both"


def what_follows_equals(text):
    sums = re.findall(r"85= -> '(\d+)\+(\d+)'", text)
    right = {int(a) + int(b) == 85 for a, b in sums}
    return (
        {True: "right sums", False: "wrong sums"}[right.pop()]
        if len(right) == 1
        else ("right and wrong sums" if right else "further questions")
    )


# page/question: the cell with the output, and how its answer is read
def what_rows_tell(text):
    above, *sums = numbers(text.splitlines()[1])
    late = above == 0 and min(sums) < 0.9
    return "the mask comes after the softmax" if late else "the mask is off by one"


def what_rates_tell(text):
    twin, patient = rows(text)[1][1:]
    return "the rate has reached 0" if patient == 0 < twin else "nothing is clipped"


def what_a_batch_tells(text):
    few = int(found(r"patient: (\d+) different")(text)) < 8
    return "rows of the batch are equal" if few else "the targets are not shifted"


# the figure's own check holds the waves above both of the others, seed by seed
WORSE_AT_ONCE = 'order = max(past["rotary", s], pair_loss) < past["waves", s]'
ANSWERS = {
    "00/first-sums": ("cell-08", lambda text: all_of(f"{row[0]:.0f}" for row in rows(text)[:2])),
    "00/row-plus-column": ("cell-12", lambda text: f"{rows(text)[1][2]:.0f}"),
    "00/true-entries": ("compare-2", lambda text: str(text.count("True"))),
    "00/dot-product": ("cell-14", lambda text: str(int(*set(numbers(text))))),
    "01/new-words": ("cell-06", found(r"(\d+)% of the words are new")),
    "01/round-of-the": ("cell-21", found(r"merge (\d): th \+ e")),
    "01/chunks": ("cell-30", lambda text: str(len(ast.literal_eval(text)))),
    "01/doublings": ("cell-35", lambda t: all_of(re.findall(r"(\d+)%", t)[i] for i in (1, -1))),
    "01/four-digits": ("why-numbers-cell", found(r"^4 +(\d+) numbers", re.MULTILINE)),
    "01/most-tokens": ("cell-62", hindi_times),
    "02/ids-right": ("cell-11", lambda text: all_of(re.findall(r"(\d+)% right", text))),
    "02/two-measures": ("cell-44", two_measures),
    "02/vectors-right": ("cell-53", found(r"right: (\d+)%")),
    "02/mixed-right": ("cell-56", found(r"mixed text: +(\d+)%")),
    "02/no-negatives": ("cell-64", lambda t: all_of(re.findall(r"[\d.]+", t.splitlines()[1]))),
    "03/two-sums": ("cell-04", equal_rows("are equal", "differ")),
    "03/sums-with-places": ("cell-10", equal_rows("are equal", "differ")),
    "03/cosine-at-500": ("cell-17", lambda text: f"{numbers(text.splitlines()[-1])[-1]:.2f}"),
    "03/mistake-found": ("cell-46", mistake_found),
    "04/used-twice": ("cell-tape-4", lambda text: f"{numbers(text)[0]:g}"),
    "04/forgotten-slopes": ("cell-65", arrives),
    "04/counters-beaten": ("cell-71", counters_beaten),
    "05/which-word": ("hook-3", largest(r"^without (\S+) +([\d.]+)", min)),
    "05/three-means": ("cell-13", lambda text: all_of(f"{n:.0f}" for n in numbers(text)[1:])),
    "05/leaks": ("cell-37", found(r"(\d+) of 28 future pairs leak")),
    "05/hidden-too-late": ("late-2", found(r"(\d+) of 28 future pairs leak, too")),
    "05/future-gone": ("leak-1", future_gone),
    "06/scores-doubled": ("cell-11", lambda text: f"{rows(text)[4][2]:.0f}"),
    "06/which-noun": ("cell-26", which_noun),
    "06/old-before-king": ("cell-57", old_before_king),
    "06/counting-right": ("cell-77", found(r"counting +(\d+)%")),
    "06/with-and-without-root": ("cell-width", wide_heads),
    "07/row-of-first-head": ("cell-30", lambda t: f"{rows(t)[4][0]:.0f}"),
    "07/eight-heads": ("cell-43", eight_heads),
    "07/one-head": ("cell-45d", one_head),
    "07/all-fourteen": ("cell-76", all_fourteen),
    "08/place-place": ("cell-08", place_place),
    "08/kinds-that-pass": ("cell-39", lambda text: str(text.count("True"))),
    "08/worse-at-once": ("cell-57", when("waves", lambda t: WORSE_AT_ONCE in t)),
    "08/who-recovers": ("cell-64", who_recovers),
    "08/who-profits": ("cell-72", who_profits),
    "08/looks-where": ("cell-73c", found(r"squeezed: +looks back by (\d+)")),
    "09/straight-answers": ("cell-06", when("0 for every phrase", lambda t: not any(numbers(t)))),
    "09/hidden-numbers": ("cell-10", lambda t: all_of(f"{n:.0f}" for n in rows(t)[3])),
    "09/apart-after-8": ("cell-22", found(r"\b8 layers: apart ([\d.]+)")),
    "09/alone": ("cell-58", learns_alone),
    "09/learn-nothing": ("cell-58b", when("1", lambda t: 'failed == ["no residual"]' in t)),
    "10/worth-of-a-head": (
        "rung-5",
        when("0.02 or less", lambda t: abs(sum(numbers(t)) / 3 - 2.54) <= 0.021),
    ),
    "10/taken-out": ("worth-2", taken_out),
    "10/loudest-start": ("cell-46", largest(r"control, lm_head (.*): ([\d.]+)")),
    "10/gpt-after-800": (  # between the tables of four and of six
        "cell-49",
        between("all but the fours and the fives", 1.8, r"GPT ([\d.]+)", 1.96),
    ),
    "10/all-five": ("train-6", lambda text: max(re.findall(r"[\d,]+ steps", text), key=steps_of)),
    "11/momentum-arrives": ("cell-09", momentum),
    "11/adamw-path": (
        "cell-15",
        when("stays as it is", lambda t: len(set(re.findall(":(.*)", t))) == 1),
    ),
    "11/batch-and-rate": ("batch-2", batch_and_rate),
    "11/mean-of-means": ("cell-46", found(r"mean of the means: +([\d.]+)")),
    "11/thousand-steps": ("cell-62", found(r"bfloat16 .* times up: ([\d.]+)")),
    "12/more-probable": ("cell-15", more_probable),
    "12/the-tail": ("cell-19", lambda text: " | ".join(re.findall(r"(\d+)%", text))),
    "12/best-rule": ("cell-45", best_rule),
    "12/what-changes": ("cell-55", all_true("nothing", "")),
    "12/turned-keys": ("cell-68c", turned_keys),
    "13/padding-moves": ("cell-22", found(r"no mask +(\d) of 5")),
    "13/first-loss": ("cell-31", found(r"loss ([\d.]+)")),
    "13/gpt-language": ("cell-42", gpt_language),
    "13/fresh-judge": ("cell-56", between("about 50 %", 45, r"fresh .*unseen (\d+)%", 55)),
    "14/table-right": ("cell-10", found(r"seen +(\d+) of 300 right")),
    "14/unseen-right": (
        "cell-57",
        when("nearly as many as of “seen”", lambda t: min(r[2] / r[1] for r in rows(t)) > 0.9),
    ),
    "14/one-vector": ("neck-1", one_vector),
    "14/without-teacher": ("cell-63", without_teacher),
    "14/beam-right": ("cell-78", beam_right),
    "15/square-length": ("costs-29", square_length),
    "15/qwen-days": ("roof-33", found(r"operations, (\d+) days")),
    "15/one-reader": ("roof-43", found(r"^ +1 texts: +([\d,]+)")),
    "15/mixed-share": ("roof-65", between("between half and all", 56, r"bytes, (\d+)%", 94)),
    "15/plain-memory": ("costs-62", plain_memory),
    "16/highest-floor": ("law-21", lambda text: f"{max(numbers(text)):.2f}"),
    "16/large-runs": ("law-large", lambda t: all_of(re.findall(r"measured ([\d.]+),", t))),
    "16/best-size": ("law-37", found(r"best size: ([\d,]+)")),
    "16/free-floor": ("law-free", found(r"it foretells ([\d.]+)")),
    "16/reads-again": ("law-63", when("the counts", lambda t: rows(t)[-1][-1] > rows(t)[-1][-2])),
    "17/times-as-fast": ("cell-66", found(r"times as fast: (\d+)")),
    "17/directions": ("cell-30", found(r"lies in (\d+) of 64 directions")),
    "17/peeking-loss": ("cell-48", found(r"looks ahead +([\d.]+)")),
    "17/seeds-below": ("cell-57", lambda t: str(sum(loss < 1.865 for loss in numbers(t)[:3]))),
    "18/three-transposed": (  # of the logit and the difference
        "cell-07",
        when(
            "as large as the largest logit", lambda t: abs(numbers(t)[1] / numbers(t)[0] - 1) < 0.1
        ),
    ),
    "18/bytes-left": ("cell-11", bytes_left),
    "18/same-tokens": (
        "cell-40",
        lambda t: str(len(re.findall(r"(?m)^drawn, seed \d: +equal True$", t))),
    ),
    "18/hidden-in-fresh": ("cell-48", hidden_in_fresh),
    "18/mask-enough": ("cell-51", when("still move", lambda t: numbers(t)[-1] > 0.1)),
    "19/norm-time": ("norm-15", when("slower", lambda t: rows(t)[2][-1] > 1.3 * rows(t)[0][-1])),
    "19/cache-bytes": ("share-26", found(r": ([\d,]+) bytes a token")),
    "19/reach": ("window-35", found(r"reached: (\d+)")),
    "19/no-balance": ("balance-59", without_balance),
    "20/sixteen-texts": ("inf-11", sixteen_texts),
    "20/four-bits": ("inf-29", between("0.01 to 0.1", 0.01, r"^4 bits, a .* row +\+([\d.]+)", 0.1)),
    "20/outlier-column": ("inf-38", survives_a_column),
    "20/a-pass": ("inf-59", between("about 1.3", 0, r"^shuffled(?: +[\d.]+){3} +([\d.]+)", 1.64)),
    "20/many-texts": ("inf-66", many_texts),
    "21/base-writes": ("respond", what_follows_equals),
    "21/random-weights": ("three", between("about 0.01", 0, r"^random weights\D*([\d.]+)", 0.059)),
    "21/ten-more": (
        "noise",
        between("the direction is lost", 0, r"^r \+ 10 {5,}\D*([\d.]+)", 0.29),
    ),
    "21/variety": ("rewarded", when("fewer than 10", lambda t: row_of(t, "reward ")[1] < 10)),
    "21/hole": ("hole", what_units_pay),
    "21/contaminated": ("leak", what_leaks),
    "22/untrained": ("table", when("always", lambda t: row_of(t, "rhyme word")[-1] > 0.99)),
    "22/erased": ("bars", when("more than 0.9", lambda t: row_of(t, "line break")[0] > 0.9)),
    "22/lever": ("doses", what_turns),
    "22/one-block": ("songs-07", which_copies),
    "22/path": ("songs-22", which_path),
    "22/always-six": (
        "songs-25",
        when("worse than chance", lambda t: row_of(t, "loops of 5")[0] > math.log(32)),
    ),
    "23/first-diagnosis": ("sums", what_rows_tell),
    "23/third-diagnosis": ("rates", what_rates_tell),
    "23/fourth-diagnosis": ("batch", what_a_batch_tells),
    "23/shared-text": (
        "shared-used",
        between("about nine tenths", 0.86, r"^patient\D*([\d.]+)", 0.94),
    ),
    "23/sixth-diagnosis": (
        "second",
        when("√D is missing", lambda t: 14 < row_of(t, "patient")[-1] < 18),
    ),
}


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
    """(page/question, attributes, the prose that is veiled), for chapters and other pages."""
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
    assert [name for name, *_ in GUESSES] == sorted(ANSWERS, key=lambda n: list(ANSWERS).index(n))
    assert len(GUESSES) >= 25 and PROSE
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


# ---- what is veiled ----


def tree(*blocks):
    """A page of these blocks: h a heading, p prose, l a list, o an output, f a folded cell, i one
    whose code is folded, c the fold of checks, v a live figure in an output, w one by itself, x an
    exercise, ?a a guess, *a one that prose answers, >a the place of its result, !a its end."""
    document = nodes.document(None, None)
    section = nodes.section()
    document.append(section)
    for block in blocks:
        if block == "h":
            section = nodes.section("", nodes.title())
            document.append(section)
        else:
            section.append(element(block))
    return document


def element(block):
    kind, name = block[0], block[1:]
    if name and kind in "?*>!":
        suffix = {">": "-result", "!": "-end"}.get(kind, "")
        is_prose = ' data-answer-is="prose"' if kind == "*" else ""
        text = f'<div class="course-guess{suffix}" data-question="{name}"{is_prose}></div>'
        return nodes.raw("", text, format="html")
    live = nodes.raw("", '<div class="live-figure"></div>', format="html")
    if kind in "ofiv":
        code = nodes.container("", nb_element="cell_code_source")
        shown = live if kind == "v" else nodes.paragraph()
        output = nodes.container("", shown, nb_element="cell_code_output")
        inside = {"f": [code, output], "i": [code]}.get(kind, [])
        fold = [nodes.container("", *inside, classes=["hide"])] if inside else [code]
        rest = [] if kind == "f" else [output]
        return nodes.container("", *fold, *rest, nb_element="cell_code")
    if kind == "x":
        return nodes.container("", element("o"), nodes.paragraph(), classes=["course-exercise"])
    if kind == "c":
        return nodes.container("", element("o"), classes=["course-fold", "course-checks"])
    return {"p": nodes.paragraph(), "l": nodes.bullet_list(), "w": live}[kind]


def veiled(text):
    """For each block of a page, the questions that cover it: a capital where it answers one."""
    blocks = list(veil_ext.blocks_of(tree(*text.split())))
    questions, shows = veil_ext.covered(blocks)

    def sign(i):
        return "".join(q.upper() if q in shows.get(i, ()) else q for q in questions.get(i, ()))

    return " ".join(sign(i) or "-" for i in range(len(blocks)))


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("p ?a p o p p", "- - a A a -"),
        ("?a f o f p p", "- a A a a -"),  # what is folded is covered, but no answer
        ("?a o p p c", "- A a - a"),  # the checks of its section
        ("?a o p ?b o p c h c", "- A a - B b ab - -"),
        ("?a i l p p", "- A a a -"),  # code that is folded above an open output
        ("?a o h p", "- A - -"),  # the next heading ends the answer
        ("?a o p p l !a p", "- A a a a - -"),
        ("?a v w o p", "- - - A a"),  # live figures stay, and answer nothing
        ("?a x o p", "- A a"),
        ("?a p o >a p o p p", "- - - - a A a -"),  # the result comes later
        ("*a w p l !a p", "- - A a - -"),
        ("?a o ?b o p p", "- A - aB ab -"),  # one paragraph for both
    ],
)
def test_what_answers_a_guess_is_veiled_and_nothing_else(page, expected):
    assert veiled(page) == expected


@pytest.mark.parametrize("page", ["?a p h p", "*a p", "o !a p", "?b o p >a p", "*a w !a p", "?a v"])
def test_a_guess_without_its_answer_or_its_end_is_refused(page):
    with pytest.raises(ValueError, match=r"\b[ab]\b"):
        veiled(page)


def test_neighbours_share_a_veil_and_the_answer_has_its_own():
    document = tree("?a", "p", "l", "o", "p", "p")
    veil_ext.veil_answers(None, document)
    found = list(document.findall(veil_ext.veil))
    assert [len(veil) for veil in found] == [2, 1, 1]
    assert [veil["shows"] for veil in found] == [[], ["a"], []]
