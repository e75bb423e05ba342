"""The engine behind the exercises: what can go wrong in any of them is said in the right words."""

import math
import random
import re
import sys
import threading
import time
from collections import Counter, namedtuple
from itertools import permutations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: F401  (edits name it)

from scratchformer_course.kit.checks import exercise, expect, mistake
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.mistakes import edited, edits
from scratchformer_course.kit.checks.verdict import Verdict


def small(task, *cases, right, mistakes=(), **more):
    return exercise("0.1", task, cases=cases, right=[right], mistakes=mistakes, **more)


def judge_any_divisor(call, n=12):
    got = call(n).like(1)
    expect(got > 1 and n % got == 0, f"{got} does not divide {n}.")
    return f"{got} divides {n}."


def right_repeat(word, times):
    return [word] * times


def right_pair(n):
    return torch.zeros(n), torch.eye(n)


repeat = small(
    "repeat(word, times) -> list of str",
    ("ab", 2),
    right=right_repeat,
    mistakes=edits(right_repeat, {"[word] * times -> [word * times]": "The words are joined."}),
)
double = small("double(x: (N,)) -> (N,)", torch.tensor([1.0, 2.0]), right=lambda x: 2 * x)
add_one = small("add_one(x: int) -> int", 3, right=lambda x: x + 1)
total = small(
    "total(data: dict of lists) -> float",
    {"a": [1, 2], "b": [3]},
    right=lambda data: float(sum(map(sum, data.values()))),
)
table = small("table(n: int) -> dict", 3, right=lambda n: {("a", "b"): n})
pair = small(
    "pair(n: int) -> (values: (n,), weights: (n, n))",
    *(30, 3),
    right=right_pair,
    mistakes=edits(right_pair, {"torch.eye(n) -> torch.zeros(n, n)": "The weights are empty"}),
)
is_long = small("is_long(word) -> bool", "ab", "abcdef", right=lambda word: len(word) > 3)
any_divisor = small("any_divisor(n) -> int", judge=judge_any_divisor, right=lambda n: n)
of_every_kind = pytest.mark.parametrize(
    "check",
    [repeat, double, add_one, total, table, pair, is_long, any_divisor],
    ids=lambda check: check.name,
)


def raises(*args):
    raise ValueError("something else")


LINE = raises.__code__.co_firstlineno + 1
# What can go wrong in any exercise is tried here, on each kind of answer, and in no exercise again.
UNIVERSAL = [
    (lambda *args: ..., "not yet", "replace the `...`"),
    (lambda *args: len(...), "not yet", "replace the `...`"),
    (lambda *args: None, "try again", "is the `return` missing?"),
    (lambda *args: {1, 2}, "try again", "is a set"),
    (lambda *args: (i for i in "ab"), "try again", "is a generator"),
    (raises, "try again", f"something else in line {LINE}: `raise ValueError("),
    (lambda: 1, "try again", "but yours is `()`"),
    ("text", "try again", "itself, without ()"),
    (lambda *args: sys.exit(), "try again", "ends the program"),
]


@of_every_kind
def test_what_can_go_wrong_in_any_exercise_is_said(check):
    for function, state, words in UNIVERSAL:
        verdict = check(function)
        assert (verdict.state, words in verdict.message) == (state, True), verdict


NUMBERS, TENSOR = (bool, int, float), torch.Tensor
STYLES = [
    (TENSOR, TENSOR.double),
    (TENSOR, TENSOR.bfloat16),
    (TENSOR, TENSOR.to_sparse),
    (NUMBERS, lambda number: np.array([number])[0]),
    (NUMBERS, torch.tensor),
    (tuple, list),  # "return two things": a list will do
]


@of_every_kind
def test_a_right_answer_in_another_type_that_means_the_same_passes(check):
    for types, convert in STYLES:

        def style(value, types=types, convert=convert):
            if isinstance(value, tuple):
                value = tuple(map(style, value))
            return convert(value) if isinstance(value, types) else value

        other = lambda *args, style=style: style(check.right(*args))  # noqa: E731
        assert check(other), check(other)


def test_a_verdict_shows_itself_as_text_and_html():
    bad = Verdict("1.2", "try again", "`a<b>` is\nwrong")
    assert not bad and repr(bad) == "Exercise 1.2, try again: `a<b>` is\nwrong"
    assert "a&lt;b&gt;</code> is<br>wrong" in bad._repr_html_()
    assert "passed" in repeat(right_repeat)._repr_html_() and repeat(right_repeat)


def test_an_argument_changed_in_place_is_told_by_its_name_and_the_original_survives():
    def spoils(data):
        data["a"].append(0)
        return 6

    assert "changes its argument `data` in place" in total(spoils).message
    assert "changes its argument `x` in place" in double(lambda x: x.mul_(2)).message
    assert total(total.right) and double(double.right)


def test_prints_of_the_learner_come_through_once(capsys):
    assert double(lambda x: print("I am here") or 2 * x)
    assert capsys.readouterr().out == "I am here\n"


# ---- loops without end, and seeds ----------------------------------------------------------------


def loops_and_swallows(word, times):
    while True:
        try:  # noqa: SIM105  (what a learner may write)
            times += 1
        except:  # noqa: E722
            pass


def sleeps(word, times):
    time.sleep(600)


@pytest.mark.parametrize("function", [loops_and_swallows, sleeps])
def test_an_endless_loop_is_ended(function):
    message = "`repeat('ab', 2)` did not come back within 0.1 seconds: is there a loop that never "
    assert message in repeat(function, limit=0.1).message


def test_the_alarm_waits_for_an_import(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text("import time\ntime.sleep(0.3)\nwhole = True")
    monkeypatch.syspath_prepend(tmp_path)

    def imports(word, times):
        import slow_module

        return [word] * times if slow_module.whole else []

    assert repeat(imports, limit=0.1)


def test_a_reader_who_interrupts_gets_the_interrupt_and_no_alarm_rings_later():
    def interrupts(word, times):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repeat(interrupts, limit=0.1)
    time.sleep(0.2)


def test_a_check_in_another_thread_gives_the_same_verdict_without_an_alarm():
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.append(repeat(raises)))
    thread.start()
    thread.join()
    assert verdicts == [repeat(raises)]


def test_global_random_states_neither_matter_nor_change():
    def noisy():
        return random.random(), np.random.rand(), torch.rand(1).item()

    messages, numbers = set(), []
    for seed in (0, 0, 1):
        random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)
        if numbers:
            messages.add(add_one(lambda x: int(1e6 * sum(noisy()))).message)
        numbers.append(noisy())
    assert numbers[0] == numbers[1] and len(messages) == 1


# ---- what is equal, and what is said where it is not ---------------------------------------------

far = small("far() -> ids", (), right=lambda: torch.tensor([2_500_000_000]))
near_0 = small("near_0() -> rates", (), right=lambda: (3e-4, torch.tensor([3e-4])))
bits = small("bits() -> (2,) in int8", (), right=lambda: torch.tensor([1, 2]).char())
halves = small("halves() -> (2,)", (), right=lambda: torch.tensor([1.0, 2.0]).half())
flags = small("flags() -> (2,) bool", (), right=lambda: torch.tensor([True, False]))
two = small("two() -> two numbers", (), right=lambda: (1.5, 2.5))
many = small("many() -> ids", (), right=lambda: list(range(20)))
five = small("five() -> ids", (), right=lambda: [1, 2, 3, 4, 5])
text = small("text() -> str", (), right=lambda: "a" * 200 + "b")
named = namedtuple("named", "x y")


class Words(list):
    pass


@pytest.mark.parametrize(
    ("check", "answer", "words"),
    [
        (far, lambda: torch.tensor([2_500_000_100]), "returned 2500000100 at [0], expected 25000"),
        (near_0, lambda: (0.00031, torch.tensor([0.0003])), "0.00031"),
        (bits, lambda: torch.tensor([1, 2]), "int64 tensor of shape (2,), but an int8 one is"),
        (halves, lambda: torch.tensor([1.0, 2.01]).half(), "2.01 at [1], expected 2"),
        (flags, lambda: torch.tensor([True, True]), "returned True at [1], expected False"),
        (text, lambda: "a" * 200 + "c", "returned `'c'` at [200:], expected `'b'`"),
        (many, lambda: list(range(19)), "returned `[]` at [19:], expected `[19]`"),
        (
            five,
            lambda: [1, 2, 3, 5, 4],
            "expected `[1, 2, 3, 4, 5]`: the first that differs is [3]",
        ),
        (add_one, lambda x: 4.0, "is a float, but an int such as `4`"),
        (double, lambda x: torch.ones(3), "of shape (3,), but (2,) is expected"),
        (double, lambda x: torch.tensor([2.0, math.nan]), "NaN or infinity in 1 of 2"),
        (total, lambda data: math.nan, "returned nan, not a finite number"),
        (double, lambda x: torch.tensor([2.0004, 4.0]), "returned 2.0004 at [0], expected 2."),
        (double, lambda x: torch.tensor([2j, 4j]), "is a complex64 tensor"),
        (pair, lambda n: (torch.zeros(n), torch.eye(n) + 1), "returned 2 at [0, 0], expected 1 in"),
        (pair, lambda n: (torch.zeros(n - 1), torch.eye(n)), "of shape (29,), but (30,) is expect"),
        (pair, lambda n: (torch.zeros(n),), "expected `("),
        (repeat, lambda word, times: [word], "returned `['ab']`, expected `['ab', 'ab']`"),
        (repeat, lambda word, times: [word] * 10_000, ", ...]`, expected"),
    ],
)
def test_what_differs_is_said(check, answer, words):
    message = check(answer).message
    assert words in message and len(message) < 400 and " at 0x" not in message
    assert not re.search(r"returned `([^`]*)`.* expected `\1`", message)


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (two, lambda: np.array([1.5, 2.5])),
        (two, lambda: (np.float64(1.5), torch.tensor(2.5))),
        (repeat, lambda word, times: Words([word, word])),
        (total, lambda data: 6),
        (total, lambda data: torch.tensor(6.0, requires_grad=True)),
        (table, lambda n: Counter({("a", "b"): n})),
        (pair, lambda n: named(*right_pair(n))),
        (double, lambda x: (x * 2).long()),
    ],
)
def test_what_serves_as_the_plain_type_is_accepted(check, answer):
    assert check(answer), check(answer)


def test_drawn_cases_refuse_and_are_not_counted():
    sides = drawn(5, lambda draw: (draw.randint(3, 9), draw.randint(3, 9)))
    check = small("area(a, b)", (2, 2), (2, 3), right=lambda a, b: a * b, more=sides)
    assert check(lambda a, b: a * b).message == "`area` gives the right answer in all 2 calls."
    assert not check(lambda a, b: 2 * b)


def test_the_last_drawn_case_is_large_and_the_one_before_it_has_ties():
    for ties in (True, False):
        vectors = drawn(6, lambda draw: normal(draw, draw.size(3, 5, 60), scale=0.5), ties=ties)()
        assert [len(x) > 5 for x in vectors] == [False] * 5 + [True]
        assert [bool((2 * x).frac().any()) for x in vectors] == [True] * 4 + [not ties, True]


def test_a_later_wrong_case_is_shown_if_a_line_holds_all_of_it():
    cases = torch.arange(50.0), torch.tensor([[2.0], [0.25]])
    check = small("double(x) -> like x", *cases, right=lambda x: 2 * x)
    assert check(lambda x: x + 2).message == (
        "`double([[2.], [0.25]])` returned 2.25 at [1, 0], expected 0.5."
    )


def test_a_function_that_keeps_something_from_a_call_is_refused():
    counts = iter(range(9))
    words = small("repeat(word, times)", ("ab", 2), ("c", 1), right=right_repeat)
    assert words(right_repeat)
    assert "keep nothing back" in words(lambda w, n: [w] * (n + (next(counts) > 1))).message


# ---- which mistake is named ----------------------------------------------------------------------


def explain_scaled(got, x, mode):
    expect((got >= 0).all(), "No number may be negative.")


def scaled(*mistakes):
    return small(
        "scaled(x: (N,), mode: int) -> (N,)",
        *((torch.ones(2), mode) for mode in (1, 2, 3)),
        right=lambda x, mode: x * mode,
        mistakes=mistakes,
        explain=explain_scaled,
    )


DOUBLES = mistake("doubles", "The mode is ignored.", lambda x, mode: x * 2)
SQUARES = mistake("squares", "The mode is squared.", lambda x, mode: x * mode**2)
STOPS = mistake("stops at 2", "The mode stops at 2", lambda x, mode: x * min(mode, 2))
TWICE = mistake("twice the mode", "The mode is doubled", lambda x, mode: x * mode * 2)
ADDS = mistake("adds", "The mode is added to itself", lambda x, mode: x * (mode + mode))
ADDS_FIRST = mistake("adds", "x is added", lambda x, mode: (x + x) * mode, specific=True)


@pytest.mark.parametrize(
    ("mistakes", "answer", "words"),
    [
        ((DOUBLES, SQUARES, TWICE), lambda x, mode: x * 2 * mode, "The mode is doubled.\n`scaled("),
        ((DOUBLES, SQUARES, TWICE), lambda x, mode: x * mode**2, "The mode is squared.\n`scaled("),
        ((DOUBLES, SQUARES, TWICE), lambda x, mode: x * 2, "The mode is ignored.\n`scaled("),
        # As `SQUARES` does in two cases, and in the third as nobody does.
        (
            (DOUBLES, SQUARES, TWICE),
            lambda x, mode: x * (1, 4, 7)[mode - 1],
            "This looks like a usual mistake: The mode is squared.\n`scaled(",
        ),
        # Wrong in one case only.
        (
            (STOPS, SQUARES),
            lambda x, mode: x * min(mode, 2),
            "This looks like a usual mistake: The mode stops at 2.\n`scaled(",
        ),
        # Right in the first case, where `DOUBLES` is not: its diagnosis would mislead.
        ((DOUBLES, SQUARES), lambda x, mode: x * (mode if mode < 3 else 2), "`scaled("),
        ((DOUBLES, SQUARES), lambda x, mode: -x, "No number may be negative."),
        (
            (TWICE, ADDS),
            lambda x, mode: x * mode * 2,
            "The mode is added to itself. Or: The mode is doubled.\n",
        ),
        ((TWICE, ADDS, ADDS_FIRST), lambda x, mode: x * mode * 2, "x is added.\n"),
        ((SQUARES, ADDS, DOUBLES), lambda x, mode: x * mode * 2, "The mode is added to itself.\n"),
    ],
)
def test_the_mistake_that_does_the_same_is_named_in_any_order(mistakes, answer, words):
    for order in permutations(mistakes):
        assert scaled(*order)(answer).message.startswith(words)


def test_a_mistake_that_gives_numbers_of_numpy_is_named_too():
    halves = mistake("halves", "These are halves", lambda: (np.float64(0.75), np.float64(1.25)))
    check = small("two() -> two numbers", (), right=two.right, mistakes=[halves])
    assert "These are halves." in check(lambda: (0.75, 1.25)).message


def test_an_answer_that_is_always_true_is_told_so_before_a_mistake_that_is_too():
    every = mistake("says yes", "Every word is called long", lambda word: True)
    check = small("is_long(word) -> bool", "ab", "abcdef", right=is_long.right, mistakes=[every])
    message = check(lambda word: True).message
    assert message.startswith("It is True of every case. Perhaps: Every word is called long.\n")


def test_an_edit_that_the_worked_answer_does_not_hold_is_refused():
    for change in ("[word] * times", "[words] -> [word]"):
        with pytest.raises(ValueError, match="expected `before -> after`, with a part of right_re"):
            edits(right_repeat, {change: "Something is wrong"})


def test_choose_says_which_function_the_chapter_goes_on_with(capsys):
    def mine(word, times):
        return [word for _ in range(times)]

    assert repeat.choose(mine, right_repeat) is mine
    assert capsys.readouterr().out == "From here on: your `repeat`.\n"
    assert repeat.choose(lambda word, times: ..., right_repeat) is right_repeat
    assert capsys.readouterr().out == "From here on: the worked `repeat`.\n"


# ---- classes, and slopes -------------------------------------------------------------------------


class RightGate(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.gate = nn.Linear(d_model, d_model)

    def forward(self, x):
        return x * self.gate(x).sigmoid()


WITHOUT = edits(RightGate, {".sigmoid() -> ": "The sigmoid is missing"})
Gate = small(
    "Gate(d_model): x (T, C) -> (T, C), x weighted by the sigmoid of a linear layer `gate`",
    ({"d_model": 3}, torch.ones(2, 3)),
    ({"d_model": 2}, torch.eye(2)),
    ({"d_model": 2}, torch.eye(2) - 3),
    right=RightGate,
    mistakes=WITHOUT,
)
LINEAR = "self.gate(x) -> F.linear(x, {}, self.gate.bias)"
KEEPS = "vars(self).setdefault('kept', {})"
ROW_OUT = "torch.cat((self.gate.weight[:1].detach(), self.gate.weight[1:]))"
GATES = {
    LINEAR.format("1 * self.gate.weight"): "in all 3 calls",
    ".sigmoid() -> ": "The sigmoid is missing",
    "d_model, d_model) -> d_model, d_model, bias=False)": "the parameter `gate.bias` is missing",
    "super().__init__() -> super().__init__(); self.b = nn.Linear(1, 1)": "`b.bias` is not among",
    "nn.Linear(d_model, d_model) -> ...": "replace the `...`",
    "d_model, d_model) -> d_model + 1, d_model + 1)": "has shape (4, 4), but (3, 3) is expected",
    "x * self.gate(x).sigmoid() -> x @ x": "`Gate(d_model=3)(",
    "return x * self -> return F.dropout(x, 0.5, self.training) * self": "no dropout is asked for",
    "x * self.gate(x) -> x.mul_(self.gate(x).sigmoid())": "in place: work on a",
    LINEAR.format("self.gate.weight.data"): "no slopes reach `gate.weight`: `.data`",
    LINEAR.format(ROW_OUT): "no slopes reach row 0 of `gate.weight`",
    "x * self -> x.detach() * self": "the slopes at `x` are not",
    "x * self -> torch.from_numpy(x.numpy()) * self": "not so this later call: RuntimeError: Can't",
    f"self.gate(x) -> {KEEPS.format('self.gate(x)')}": "earlier calls change them: keep nothing",
    LINEAR.format(KEEPS.format("self.gate.weight.exp()") + ".log()"): "`backward()` fails: Runtime",
}


@pytest.mark.parametrize("change", GATES)
def test_a_class_is_an_exercise_too_and_must_be_trainable(change):
    assert GATES[change] in Gate(edited(RightGate, change)).message


def test_a_class_that_keeps_the_first_input_of_a_shape_is_refused():
    case = {"d_model": 3}, torch.arange(6.0).view(2, 3)
    once = small("Gate(d_model): x", case, right=RightGate)
    assert once(RightGate).message == "`Gate` gives the right answer."
    for given in (KEEPS.format("x.detach()"), "x[:1]"):
        assert not once(edited(RightGate, f"x * self.gate(x) -> {given} * self.gate({given})"))


class RightTable(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table, self.head = nn.Embedding(size, 2), nn.Linear(2, size, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        return self.head(self.table(ids))


def test_a_tied_weight_has_its_slopes_under_each_of_its_names():
    table = small("Table(size), table(ids)", ({"size": 5}, torch.tensor([0, 3])), right=RightTable)
    swapped = "self.table, self.head = nn.Embedding(size, 2), nn.Linear(2, size, bias=False) -> "
    swapped += "self.head, self.table = nn.Linear(2, size, bias=False), nn.Embedding(size, 2)\n"
    swapped += "self.head.weight = self.table.weight -> self.table.weight = self.head.weight"
    assert table(edited(RightTable, swapped))


def test_a_function_that_a_page_trains_through_must_let_slopes_pass():
    cases = torch.tensor([1.0, 2.0]), torch.tensor([3, 4])
    halve = small("halve(x: (N,)) -> (N,)", *cases, right=lambda x: x / 2, slopes=["x"])
    assert halve(lambda x: torch.stack([n * 0.5 for n in x]))
    assert double(lambda x: 2 * x.detach())  # no page trains through this one
    for cut in (lambda x: x.detach() / 2, lambda x: torch.tensor([n / 2 for n in x.tolist()])):
        assert "no slopes reach `x`" in halve(cut).message
    infinite = halve(lambda x: torch.where(x > 0, x / 2, (1e30 * x).exp()))
    assert "NaN or infinity" in infinite.message, infinite


class RightMixer(RightGate):
    def forward(self, x, memory):
        return x.cos() + self.gate(memory)


@pytest.mark.parametrize(("part", "name"), [("x.cos()", "x"), ("(memory)", "memory")])
def test_slopes_must_reach_each_of_several_inputs(part, name):
    case = {"d_model": 2}, torch.eye(2), torch.ones(2, 2)
    mixer = small("Mixer(d_model)(x: (T, C), memory: (T, C)) -> (T, C)", case, right=RightMixer)
    cut = edited(RightMixer, f"{part} -> {part.replace(name, f'{name}.detach()')}")
    assert mixer(RightMixer) and f"no slopes reach `{name}`" in mixer(cut).message
