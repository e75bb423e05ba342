"""The engine behind the exercises survives whatever a learner returns, and says what it was."""

import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter, OrderedDict, namedtuple
from itertools import permutations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scratchformer_course.kit.checks import (
    Verdict,
    alike,
    exercise,
    expect,
    mistake,
    refused,
)
from scratchformer_course.kit.checks.compare import brief
from scratchformer_course.kit.checks.sandbox import MEMORY, PAUSE

repeat = exercise(
    "0.1",
    "repeat(word, times) -> list of str",
    cases=(("ab", 2),),
    right=[lambda word, times: [word] * times],
    mistakes=[
        mistake("joins", "The words are joined.", lambda word, times: [word * times]),
        refused("counts", "is an int, but a list", lambda word, times: times),
    ],
)
double = exercise(
    "0.2",
    "double(x: (N,)) -> (N,)",
    cases=(torch.tensor([1.0, 2.0]),),
    right=[lambda x: 2 * x],
    mistakes=[],
)
add_one = exercise(
    "0.3", "add_one(x: int) -> int", cases=(3,), right=[lambda x: x + 1], mistakes=[]
)
total = exercise(
    "0.4",
    "total(data: dict of lists) -> float",
    cases=({"a": [1, 2], "b": [3]},),
    right=[lambda data: float(sum(map(sum, data.values())))],
    mistakes=[],
)
table = exercise(
    "0.5", "table(n: int) -> dict", cases=(3,), right=[lambda n: {("a", "b"): n}], mistakes=[]
)
pair_of = exercise(
    "0.6",
    "pair_of(n: int) -> (values: (n,), weights: (n, n))",
    cases=lambda: [30, 3],
    right=[
        lambda n: (torch.zeros(n), torch.eye(n)),
        lambda n: (torch.zeros(n), torch.ones(n).diag()),
    ],
    mistakes=[
        mistake(
            "no diagonal",
            "The weights are empty",
            lambda n: (torch.zeros(n), torch.zeros(n, n)),
        ),
    ],
)
is_long = exercise(
    "0.7",
    "is_long(word) -> bool",
    cases=("ab", "abcdef"),
    right=[lambda word: len(word) > 3],
    mistakes=[],
)


def judge_any_divisor(call, n=12):
    got = call(n).like(1)
    expect(got > 1 and n % got == 0, f"{got} does not divide {n}.")
    return f"{got} divides {n}."


any_divisor = exercise(
    "0.8",
    "any_divisor(n: int) -> int",
    judge=judge_any_divisor,
    right=[lambda n: n, lambda n: 3],
    mistakes=[refused("takes 1", "1 does not divide", lambda n: 1)],
)
EVERY_KIND = [repeat, double, add_one, total, table, pair_of, is_long, any_divisor]


class Liar(list):
    def __eq__(self, other):
        return True

    def __iter__(self):
        return iter(["ab", "ab"])

    __hash__ = None


class Grump:
    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None
    __repr__ = __bool__ = __len__ = __eq__

    def __getattr__(self, name):
        raise RuntimeError("no")


def raises(*args):
    raise ValueError("something else")


def loops(*args):
    while True:
        pass


# What can go wrong in any exercise is tried here, on each kind of answer, and in no exercise again.
UNIVERSAL = {
    "unfilled stub": (lambda *args: ..., "not yet", "replace the `...`"),
    "stub half filled": (lambda *args: len(...), "not yet", "replace the `...`"),
    "no return": (lambda *args: None, "try again", "is the `return` missing?"),
    "wrong type": (lambda *args: {1, 2}, "try again", "is a set"),
    "generator": (lambda *args: (i for i in "ab"), "try again", "is a generator"),
    "exception": (raises, "try again", "ValueError: something else in line"),
    "endless loop": (loops, "try again", "a loop that never ends?"),
    "no parameters": (lambda: 1, "try again", "but yours is `()`"),
    "no function": ("text", "try again", "itself, without ()"),
    "exit": (lambda *args: sys.exit(), "try again", "ends the program"),
}


@pytest.mark.parametrize("check", EVERY_KIND, ids=lambda check: check.name)
@pytest.mark.parametrize("name", UNIVERSAL)
def test_what_can_go_wrong_in_any_exercise_is_said(check, name):
    function, state, fragment = UNIVERSAL[name]
    verdict = check(function, limit=0.1 if name == "endless loop" else 5.0)
    assert (verdict.state, fragment in verdict.message) == (state, True), verdict


def as_double(value):
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if is_float else value


def as_bfloat16(value):
    return value if as_double(value) is value else value.bfloat16()


def as_sparse(value):
    return value.to_sparse() if isinstance(value, torch.Tensor) else value


def as_numpy_number(value):
    types = {bool: np.bool_, int: np.int64, float: np.float64}
    return types[type(value)](value) if type(value) in types else value


def as_tensor_without_dimensions(value):
    return torch.tensor(value) if isinstance(value, bool | int | float) else value


@pytest.mark.parametrize("check", EVERY_KIND, ids=lambda check: check.name)
@pytest.mark.parametrize(
    "style", [as_double, as_bfloat16, as_sparse, as_numpy_number, as_tensor_without_dimensions]
)
def test_a_right_answer_in_another_type_that_means_the_same_passes(check, style):
    def other(*args):
        value = check.right(*args)
        if isinstance(value, tuple):
            return list(map(style, value))  # "return two things": a list will do
        return style(value)

    assert check(other), check(other)


@pytest.mark.parametrize("check", [double, total, pair_of], ids=lambda check: check.name)
def test_nan_is_refused_wherever_an_answer_holds_floats(check):
    def spoil(value):
        return tuple(map(spoil, value)) if isinstance(value, tuple) else value * float("nan")

    verdict = check(lambda *args: spoil(check.right(*args)))
    assert verdict.state == "try again" and "nan" in verdict.message.lower()


def test_a_verdict_is_true_when_passed_and_shows_itself_as_text_and_html():
    good = repeat(lambda word, times: [word] * times)
    assert good and good.passed and "passed" in repr(good) and "passed" in good._repr_html_()
    bad = Verdict("1.2", "try again", "`a<b>` is\nwrong")
    assert not bad and repr(bad) == "Exercise 1.2, try again: `a<b>` is\nwrong"
    page = bad._repr_html_()
    assert "try again" in page and "a&lt;b&gt;</code> is<br>wrong" in page
    with pytest.raises(AttributeError):
        bad.message = "other"


@pytest.mark.parametrize(
    ("answer", "fragment"),
    [
        (Liar(["x"]), "returned `['x']`, expected `['ab', 'ab']`"),
        (["abab"], "The words are joined"),
        (Grump(), "is a Grump"),
        ([Grump(), "ab"], "is a Grump, but a str"),
        (["ab"] * 10_000, ", ...]`, expected"),
        ("x" * 10_000, "is a str, but a list"),
        (np.array(["ab", "ab"]), "is an ndarray"),
        (["ab", None], "`None` is a NoneType, but a str"),
        ([...], "replace the `...`"),
        (brief, "is a function"),
    ],
    ids=range(10),
)
def test_odd_answers_do_not_crash_a_check(answer, fragment):
    verdict = repeat(lambda word, times: answer)
    assert not verdict and fragment in verdict.message, verdict
    assert len(verdict.message) < 400 and " at 0x" not in verdict.message


def test_subclasses_and_scalars_that_serve_as_the_plain_type_are_accepted():
    class Words(list):
        pass

    assert repeat(lambda word, times: Words([word, word]))
    assert not add_one(lambda x: 4.0) and not add_one(lambda x: torch.tensor([4]))
    assert total(lambda data: 6) and total(lambda data: torch.tensor(6.0, requires_grad=True))
    for mapping in (Counter, OrderedDict):
        assert table(lambda n, mapping=mapping: mapping({("a", "b"): n}))
    pair = namedtuple("pair", "x y")
    assert pair_of(lambda n: pair(*pair_of.right(n)))


@pytest.mark.parametrize(
    ("answer", "fragment"),
    [
        (torch.tensor([2.0, 4.0, 6.0]), "of shape (3,), but (2,) is expected"),
        (torch.tensor([2.0, float("nan")]), "NaN or infinity in 1 of 2"),
        (torch.tensor([2.0, 5.0]), "returned 5 at [1], expected 4"),
        (torch.tensor([2.0004, 4.0]), "returned 2.0004 at [0], expected 2."),
        (torch.tensor([2j, 4j]), "is a complex64 tensor"),
        (torch.tensor([True, False]), "returned 1 at [0], expected 2"),
        (np.array([2.0, 4.0]), "is an ndarray"),
        ([2.0, 4.0], "is a list, but a float32 tensor of shape (2,)"),
        (torch.empty(2, device="meta"), "cannot be examined"),
    ],
)
def test_a_wrong_tensor_is_described(answer, fragment):
    verdict = double(lambda x: answer)
    assert not verdict and fragment in verdict.message, verdict


def test_a_tensor_with_a_gradient_or_whole_numbers_passes():
    assert double(lambda x: (x * 2).requires_grad_()) and double(lambda x: (x * 2).long())


def test_an_error_is_told_with_the_learners_own_line():
    def divides(word, times):
        return times / 0

    line = divides.__code__.co_firstlineno + 1
    message = repeat(divides).message
    assert message == (
        "`repeat('ab', 2)` fails: ZeroDivisionError: division by zero "
        f"in line {line}: `return times / 0`."
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, RecursionError])
def test_exceptions_that_are_no_errors_do_not_escape(error):
    def stops(word, times):
        raise error

    assert repeat(stops).state == "try again"
    assert repeat(lambda word, times: (_ for _ in ()).throw(NotImplementedError)).state == "not yet"


def test_an_error_that_cannot_be_printed_is_named():
    class Silent(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    def fails(word, times):
        raise Silent

    assert "Silent in line" in repeat(fails).message


def test_a_nested_argument_changed_in_place_is_told_by_its_name_and_the_original_survives():
    def spoils(data):
        data["a"].append(0)
        return 6

    assert "changes its argument `data` in place" in total(spoils).message
    assert "changes its argument `x` in place" in double(lambda x: x.mul_(2)).message


def loops_plainly(word, times):
    while True:
        pass


def loops_and_swallows(word, times):
    while True:
        try:  # noqa: SIM105  (what a learner may write)
            times += 1
        except:  # noqa: E722
            pass


def loops_and_swallows_exceptions(word, times):
    while True:
        try:
            [times for _ in range(100)]
        except Exception:
            times = 0


@pytest.mark.parametrize(
    "function", [loops_plainly, loops_and_swallows, loops_and_swallows_exceptions]
)
def test_an_endless_loop_is_stopped_and_its_thread_ends(function):
    threads = threading.active_count()
    verdict = repeat(function, limit=0.1)
    assert "`repeat('ab', 2)` did not come back within 0.1 seconds" in verdict.message
    assert "restart" not in verdict.message and threading.active_count() == threads


def test_a_thread_that_cannot_be_stopped_is_left_alone_and_said_so():
    verdict = repeat(lambda word, times: time.sleep(3), limit=0.1)
    assert "never ends?\nIt cannot be stopped and still runs" in verdict.message


def test_an_answer_that_never_ends_when_looked_at_is_stopped_too():
    class Endless:
        def __repr__(self):
            while True:
                pass

    assert "did not come back" in repeat(lambda word, times: Endless(), limit=0.2).message


def test_a_reader_who_interrupts_the_wait_gets_the_interrupt(monkeypatch):
    join = threading.Thread.join

    def interrupted(thread, timeout=None):
        if timeout == PAUSE:
            raise KeyboardInterrupt
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        repeat(loops_plainly)
    assert threading.active_count() == threads


def test_global_random_states_neither_matter_nor_change():
    def noisy(x):
        return int(random.random() * 1e6 + np.random.rand() * 1e6 + torch.rand(1).item() * 1e6)

    messages = set()
    for seed in range(3):
        random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)
        state = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
        messages.add(add_one(noisy).message)
        assert random.getstate() == state[0] and np.random.get_state()[1].tolist() == state[1]
        assert torch.equal(torch.get_rng_state(), state[2])
    assert len(messages) == 1


def test_prints_of_the_learner_come_through(capsys):
    def talks(word, times):
        print("I am here")
        return [word] * times

    assert repeat(talks) and capsys.readouterr().out == "I am here\n"


def test_any_value_is_shown_in_one_short_line():
    deep = []
    deep.append(deep)
    for value in (deep, Grump(), 10**5000, "é" * 500, torch.zeros(9, 9), b"x" * 500, object()):
        text = brief(value)
        assert len(text) <= 80 and "\n" not in text and "0x" not in text


def test_a_tensor_that_overrides_how_it_is_compared_does_not_pass():
    class Liar(torch.Tensor):
        def allclose(self, *args, **kwargs):
            return True

        __eq__ = double = detach = cpu = lambda self, *args: torch.tensor([2.0, 4.0])

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return torch.tensor([2.0, 4.0])

    liar = torch.tensor([9.0, 9.0]).as_subclass(Liar)
    assert "returned 9 at [0], expected 2" in double(lambda x: liar).message
    assert double(lambda x: torch.tensor([2.0, 4.0]).as_subclass(Liar))


FILLS_A_LIST = """
from scratchformer_course.kit.checks import exercise
def appends(word):
    letters = []
    while True:
        letters.append(word + word)
def swallows(word):
    letters = []
    while True:
        try:
            letters.append([0] * 1000)
        except BaseException:
            pass
right = [lambda word: [word]]
check = exercise("0.0", "letters(word) -> list", cases=["ab"], right=right, mistakes=[])
print(check(FUNCTION))
for line in open("/proc/self/status"):
    if line.startswith("VmHWM:"):  # the most memory held by this program, in kB
        print(int(line.split()[1]) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no one tells the memory held now")
@pytest.mark.parametrize("function", ["appends", "swallows"])
def test_an_endless_loop_that_fills_a_list_is_stopped_early_and_prints_no_traceback(function):
    # a process of its own: what one loop has filled may not be free yet when the next begins.
    # its ru_maxrss would begin at the peak of the tests' own process, which Linux hands on
    command = [sys.executable, "-c", FILLS_A_LIST.replace("FUNCTION", function)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.stderr == ""
    line, peak = ended.stdout.splitlines()
    limit = f"filled more than {MEMORY // 2**20} MB of memory", "did not come back within"
    assert any(words in line for words in limit) and "a loop that never ends?" in line
    assert int(peak) < 1000  # MB


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (lambda values, weights: (values, weights + 1), "returned 2 at [0, 0], expected 1 in"),
        (lambda values, weights: (values, weights + 1), "`answer[1]`"),
        (lambda values, weights: (values[1:], weights), "of shape (29,), but (30,) is expected"),
        (lambda values, weights: (values, weights * 0), "The weights are empty"),
        (lambda values, weights: (values,), "expected `("),
    ],
)
def test_the_first_place_that_differs_is_shown_where_the_two_look_alike(change, fragment):
    verdict = pair_of(lambda n: change(*pair_of.right(n)))
    assert not verdict and fragment in verdict.message, verdict
    same = re.search(r"returned `([^`]*)`.* expected `\1`", verdict.message)
    assert not same, verdict


long_text = exercise(
    "0.9", "long_text(n) -> str", cases=(200,), right=[lambda n: "a" * n + "b"], mistakes=[]
)


def test_long_texts_that_begin_alike_are_shown_from_where_they_differ():
    assert "returned `'c'` at [200:], expected `'b'`" in long_text(lambda n: "a" * n + "c").message


def explain_scaled(got, x, mode):
    expect((got >= 0).all(), "No number may be negative.")


def scaled(*mistakes):
    return exercise(
        "0.10",
        "scaled(x: (N,), mode: int) -> (N,)",
        cases=[(torch.ones(2), mode) for mode in (1, 2, 3)],
        right=[lambda x, mode: x * mode],
        mistakes=mistakes,
        explain=explain_scaled,
    )


DOUBLES = mistake("doubles", "The mode is ignored.", lambda x, mode: x * 2)
SQUARES = mistake("squares", "The mode is squared.", lambda x, mode: x * mode**2)
TWICE = mistake("twice the mode", "The mode is doubled", lambda x, mode: x * mode * 2)


@pytest.mark.parametrize("mistakes", list(permutations([DOUBLES, SQUARES, TWICE])))
def test_of_mistakes_that_fit_the_one_that_fits_most_cases_is_named(mistakes):
    check = scaled(*mistakes)
    doubled = check(lambda x, mode: x * 2 * mode).message  # as `DOUBLES` does in the first case
    assert doubled.startswith("The mode is doubled.\n`scaled(")
    assert check(lambda x, mode: x * mode**2).message.startswith("The mode is squared.\n")
    assert check(lambda x, mode: x * 2).message.startswith("The mode is ignored.\n")
    # Right in the first case, where `DOUBLES` is not: its diagnosis would mislead.
    message = check(lambda x, mode: x * (mode if mode < 3 else 2)).message
    assert "ignored" not in message and "returned 2 at [0], expected 3" in message
    assert check(lambda x, mode: -x).message == "No number may be negative."


ADDS = mistake("adds", "The mode is added to itself", lambda x, mode: x * (mode + mode))
ADDS_FIRST = mistake("adds", "x is added", lambda x, mode: (x + x) * mode, specific=True)


@pytest.mark.parametrize(
    ("mistakes", "diagnosis"),
    [
        ([TWICE, ADDS], "The mode is added to itself. Or: The mode is doubled."),
        ([TWICE, ADDS, ADDS_FIRST], "x is added."),
        ([SQUARES, ADDS, DOUBLES], "The mode is added to itself."),
    ],
    ids=["equal", "specific", "nearest"],
)
def test_two_mistakes_that_do_the_same_are_both_named_in_any_order(mistakes, diagnosis):
    for order in permutations(mistakes):
        message = scaled(*order)(lambda x, mode: x * mode * 2).message
        assert message.split("\n")[0] == diagnosis


def test_of_alike_answers_each_has_the_diagnosis():
    check = exercise(
        "0.11",
        "negative(x: int) -> int",
        cases=(3, -2),
        right=[lambda x: -x],
        mistakes=alike("The sign is kept.", {"as it is": lambda x: x, "abs": lambda x: abs(x)}),
    )
    for usual in check.mistakes:
        assert check(usual.function).message.startswith("The sign is kept.\n")


def test_choose_says_which_function_the_chapter_goes_on_with(capsys):
    def mine(word, times):
        return [word for _ in range(times)]

    assert repeat.choose(mine, repeat.right) is mine
    assert capsys.readouterr().out == "From here on: your `repeat`.\n"
    assert repeat.choose(lambda word, times: ..., repeat.right) is repeat.right
    assert capsys.readouterr().out == "From here on: the worked `repeat`.\n"


class RightGate(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.gate = nn.Linear(d_model, d_model)

    def forward(self, x):
        return x * self.gate(x).sigmoid()


class GateByHand(RightGate):
    def forward(self, x):
        return x / (1 + (-F.linear(x, self.gate.weight, self.gate.bias)).exp())


class ForgetsTheSigmoid(RightGate):
    def forward(self, x):
        return x * self.gate(x)


class HasNoBias(RightGate):
    def __init__(self, d_model):
        super().__init__(d_model)
        self.gate = nn.Linear(d_model, d_model, bias=False)


Gate = exercise(
    "0.12",
    "Gate(d_model): x (T, C) -> (T, C), x weighted by the sigmoid of a linear layer `gate`",
    cases=(
        ({"d_model": 3}, torch.ones(2, 3)),
        ({"d_model": 2}, torch.eye(2)),
        ({"d_model": 2}, torch.eye(2) - 3),
    ),
    right=[RightGate, GateByHand],
    mistakes=[
        mistake("forgets the sigmoid", "The sigmoid is missing", ForgetsTheSigmoid),
        refused("has no bias", "the parameter `gate.bias` is missing", HasNoBias),
    ],
)


class Unfilled(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.gate = ...


class Wide(RightGate):
    def __init__(self, d_model):
        super().__init__(d_model + 1)


class Crashes(RightGate):
    def forward(self, x):
        return x @ x


class Spoils(RightGate):
    def forward(self, x):
        return super().forward(x) * x.zero_()


@pytest.mark.parametrize(
    ("cls", "state", "fragment"),
    [
        (RightGate, "passed", "in all 3 calls"),
        (GateByHand, "passed", "in all 3 calls"),
        (ForgetsTheSigmoid, "try again", "The sigmoid is missing"),
        (HasNoBias, "try again", "the parameter `gate.bias` is missing"),
        (Unfilled, "not yet", "replace the `...`"),
        (Wide, "try again", "`gate.weight` has shape (4, 4), but (3, 3) is expected"),
        (Crashes, "try again", "`Gate(d_model=3)("),
        (Spoils, "try again", "in place: work on a copy"),
        (RightGate(3), "try again", "give the check the class `Gate` itself"),
        (..., "not yet", "write `Gate` first"),
    ],
)
def test_a_class_is_an_exercise_too(cls, state, fragment):
    verdict = Gate(cls)
    assert (verdict.state, fragment in verdict.message) == (state, True), verdict


class CutsItsWeightsOff(RightGate):
    def forward(self, x):
        return x * F.linear(x, self.gate.weight.data, self.gate.bias).sigmoid()


class LeavesARowOut(RightGate):
    def forward(self, x):
        rows = torch.cat((self.gate.weight[:1].detach(), self.gate.weight[1:]))
        return x * F.linear(x, rows, self.gate.bias).sigmoid()


class CutsAPartOff(RightGate):
    def forward(self, x):
        return x.detach() * self.gate(x).sigmoid()


class ReturnsWhatNumPyHolds(RightGate):
    def forward(self, x):
        return torch.from_numpy((x * self.gate(x).sigmoid()).detach().numpy())


class TakesNumPy(RightGate):
    def forward(self, x):
        return torch.from_numpy(x.numpy()) * self.gate(x).sigmoid()


class KeepsTheFirstGate(RightGate):
    kept = None

    def forward(self, x):
        self.kept = self.gate(x) if self.kept is None else self.kept
        return x * self.kept.sigmoid()


class KeepsItsGraph(RightGate):
    kept = None

    def forward(self, x):
        self.kept = self.gate.weight.exp() if self.kept is None else self.kept
        return x * F.linear(x, self.kept.log(), self.gate.bias).sigmoid()


@pytest.mark.parametrize(
    ("cls", "fragment"),
    [
        (CutsItsWeightsOff, "no slopes reach `gate.weight`: `.data`"),
        (LeavesARowOut, "no slopes reach row 0 of `gate.weight`"),
        (CutsAPartOff, "the slopes at `x` are not"),
        (ReturnsWhatNumPyHolds, "no slopes reach `x`"),
        (TakesNumPy, "not so this later call: RuntimeError: Can't call numpy()"),
        (KeepsTheFirstGate, "earlier calls change them: keep nothing back from a call"),
        (KeepsItsGraph, "`backward()` fails: RuntimeError"),
    ],
)
def test_a_class_that_cannot_be_trained_or_remembers_a_call_is_refused(cls, fragment):
    verdict = Gate(cls)
    assert (verdict.state, fragment in verdict.message) == ("try again", True), verdict


class RightTable(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table, self.head = nn.Embedding(size, 2), nn.Linear(2, size, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        return self.head(self.table(ids))


class NamesTheHeadFirst(RightTable):
    def __init__(self, size):
        nn.Module.__init__(self)
        self.head, self.table = nn.Linear(2, size, bias=False), nn.Embedding(size, 2)
        self.table.weight = self.head.weight


def test_a_tied_weight_has_its_slopes_under_each_of_its_names():
    tied = exercise(
        "0.14",
        "Table(size), table(ids)",
        cases=[({"size": 5}, torch.tensor([0, 3, 4]))],
        right=[RightTable],
        mistakes=[],
    )
    verdict = tied(NamesTheHeadFirst)
    assert verdict.passed, verdict


halve = exercise(
    "0.13",
    "halve(x: (N,)) -> (N,), trained through",
    cases=(torch.tensor([1.0, 2.0]), torch.tensor([3, 4])),
    slopes=["x"],
    right=[lambda x: x / 2],
    mistakes=[],
)


def test_a_function_that_a_page_trains_through_must_let_slopes_pass():
    assert halve(lambda x: torch.stack([n * 0.5 for n in x]))
    assert double(lambda x: 2 * x.detach())  # no page trains through this one
    for cut in (lambda x: x.detach() / 2, lambda x: torch.tensor([n / 2 for n in x.tolist()])):
        verdict = halve(cut)
        assert "no slopes reach `x`" in verdict.message, verdict
    infinite = halve(lambda x: torch.where(x > 0, x / 2, (1e30 * x).exp()))
    assert "NaN or infinity" in infinite.message, infinite


class RightMixer(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.gate = nn.Linear(d_model, d_model)

    def forward(self, x, memory):
        return x.cos() + self.gate(memory)


class CutsXOff(RightMixer):
    def forward(self, x, memory):
        return x.detach().cos() + self.gate(memory)


class CutsTheMemoryOff(RightMixer):
    def forward(self, x, memory):
        return x.cos() + self.gate(memory.detach())


Mixer = exercise(
    "0.14",
    "Mixer(d_model)(x: (T, C), memory: (T, C)) -> (T, C)",
    cases=(({"d_model": 2}, torch.eye(2), torch.ones(2, 2)),),
    right=[RightMixer],
    mistakes=[],
)


def test_slopes_must_reach_each_of_several_inputs():
    assert Mixer(RightMixer)
    for cls, name in ((CutsXOff, "x"), (CutsTheMemoryOff, "memory")):
        assert f"no slopes reach `{name}`" in Mixer(cls).message
