"""The engine behind the exercises survives whatever a learner returns, and says what it was."""

import builtins
import os
import pickle
import random
import re
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter, OrderedDict, namedtuple
from itertools import permutations
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scratchformer_course.kit.checks import Verdict, exercise, expect, mistake, refused, sandbox
from scratchformer_course.kit.checks.cases import drawn
from scratchformer_course.kit.checks.compare import brief


def small(task, *given, right, mistakes=(), cases=(), **more):
    return exercise("0.1", task, cases=[*given, *cases], right=[right], mistakes=mistakes, **more)


def judge_any_divisor(call, n=12):
    got = call(n).like(1)
    expect(got > 1 and n % got == 0, f"{got} does not divide {n}.")
    return f"{got} divides {n}."


repeat = small(
    "repeat(word, times) -> list of str",
    ("ab", 2),
    right=lambda word, times: [word] * times,
    mistakes=[mistake("joins", "The words are joined.", lambda word, times: [word * times])],
)
double = small("double(x: (N,)) -> (N,)", torch.tensor([1.0, 2.0]), right=lambda x: 2 * x)
add_one = small("add_one(x: int) -> int", 3, right=lambda x: x + 1)
total = small(
    "total(data: dict of lists) -> float",
    {"a": [1, 2], "b": [3]},
    right=lambda data: float(sum(map(sum, data.values()))),
)
table = small("table(n: int) -> dict", 3, right=lambda n: {("a", "b"): n})
pair_of = small(
    "pair_of(n: int) -> (values: (n,), weights: (n, n))",
    *(30, 3),
    right=lambda n: (torch.zeros(n), torch.eye(n)),
    mistakes=[
        mistake("none", "The weights are empty", lambda n: (torch.zeros(n), torch.zeros(n, n)))
    ],
)
is_long = small("is_long(word) -> bool", "ab", "abcdef", right=lambda word: len(word) > 3)
any_divisor = small("any_divisor(n) -> int", judge=judge_any_divisor, right=lambda n: n)
EVERY_KIND = [repeat, double, add_one, total, table, pair_of, is_long, any_divisor]
of_every_kind = pytest.mark.parametrize("check", EVERY_KIND, ids=lambda check: check.name)


class Grump:
    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None
    __repr__ = __bool__ = __len__ = __eq__

    def __getattr__(self, name):
        raise RuntimeError("no")


def raises(*args):
    raise ValueError("something else")


# What can go wrong in any exercise is tried here, on each kind of answer, and in no exercise again.
UNIVERSAL = [
    (lambda *args: ..., "not yet", "replace the `...`"),
    (lambda *args: len(...), "not yet", "replace the `...`"),
    (lambda *args: None, "try again", "is the `return` missing?"),
    (lambda *args: {1, 2}, "try again", "is a set"),
    (lambda *args: (i for i in "ab"), "try again", "is a generator"),
    (raises, "try again", "ValueError: something else in line"),
    (lambda: 1, "try again", "but yours is `()`"),
    ("text", "try again", "itself, without ()"),
    (lambda *args: sys.exit(), "try again", "ends the program"),
]


@of_every_kind
def test_what_can_go_wrong_in_any_exercise_is_said(check):
    for function, state, fragment in UNIVERSAL:
        verdict = check(function)
        assert (verdict.state, fragment in verdict.message) == (state, True), verdict


def only_floats(convert):
    def style(value):
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        return convert(value) if is_float else value

    return style


def as_numpy_number(value):
    types = {bool: np.bool_, int: np.int64, float: np.float64}
    return types[type(value)](value) if type(value) in types else value


def as_tensor_without_dimensions(value):
    return torch.tensor(value) if isinstance(value, bool | int | float) else value


@of_every_kind
def test_a_right_answer_in_another_type_that_means_the_same_passes(check):
    convert = map(only_floats, (torch.Tensor.double, torch.Tensor.bfloat16, torch.Tensor.to_sparse))
    for style in (*convert, as_numpy_number, as_tensor_without_dimensions):

        def other(*args, style=style):
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


def test_odd_answers_do_not_crash_a_check():
    deep = []
    deep.append(deep)
    for answer, fragment in (
        (["ab"], "returned `['ab']`, expected `['ab', 'ab']`"),
        (["abab"], "The words are joined"),
        (Grump(), "is a Grump"),
        ([Grump(), "ab"], "is a Grump, but a str"),
        (["ab"] * 10_000, ", ...]`, expected"),
        (np.array(["ab", "ab"]), "is an ndarray"),
        (["ab", None], "`None` is a NoneType, but a str"),
        ([...], "replace the `...`"),
        (brief, "is a function"),
        (deep, "is a list, but a str"),
        (10**5000, "is an int, but a list"),
    ):
        verdict = repeat(lambda word, times, answer=answer: answer)
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
    assert double(lambda x: (x * 2).requires_grad_()) and double(lambda x: (x * 2).long())


def test_a_wrong_tensor_is_described():
    for answer, fragment in (
        (torch.tensor([2.0, 4.0, 6.0]), "of shape (3,), but (2,) is expected"),
        (torch.tensor([2.0, float("nan")]), "NaN or infinity in 1 of 2"),
        (torch.tensor([2.0, 5.0]), "returned 5 at [1], expected 4"),
        (torch.tensor([2.0004, 4.0]), "returned 2.0004 at [0], expected 2."),
        (torch.tensor([2j, 4j]), "is a complex64 tensor"),
        ([2.0, 4.0], "is a list, but a float32 tensor of shape (2,)"),
        (torch.empty(2, device="meta"), "cannot be examined"),
    ):
        verdict = double(lambda x, answer=answer: answer)
        assert not verdict and fragment in verdict.message, verdict


def test_an_error_is_told_with_the_learners_own_line():
    def divides(word, times):
        return times / 0

    line = divides.__code__.co_firstlineno + 1
    message = repeat(divides).message
    assert message == (
        "`repeat('ab', 2)` fails: ZeroDivisionError: division by zero "
        f"in line {line}: `return times / 0`."
    )


def test_no_exception_escapes():
    for error in (KeyboardInterrupt, SystemExit, GeneratorExit, RecursionError):

        def stops(word, times, error=error):
            raise error

        assert repeat(stops).state == "try again"
    assert repeat(lambda word, times: (_ for _ in ()).throw(NotImplementedError)).state == "not yet"


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


def replaces_what_the_engine_needs(word, times):
    builtins.len = lambda x: loops_plainly(word, times)
    return [word] * times


@pytest.mark.parametrize(
    "function", [loops_plainly, loops_and_swallows, replaces_what_the_engine_needs]
)
def test_an_endless_loop_is_stopped_and_its_thread_ends(function):
    threads = threading.active_count()
    verdict = repeat(function, limit=0.1)
    assert "`repeat('ab', 2)` did not come back within 0.1 seconds" in verdict.message
    assert "restart" not in verdict.message and threading.active_count() == threads


def test_an_endless_loop_that_fills_a_list_is_stopped_early_and_prints_no_traceback(
    monkeypatch, capfd
):
    def swallows(word, times):
        letters = []
        while True:
            try:  # noqa: SIM105
                letters.append([0] * 1000)
            except BaseException:
                pass

    monkeypatch.setattr(sandbox, "MEMORY", 50 * 2**20)
    assert "filled more than 50 MB of memory" in repeat(swallows, limit=60.0).message
    assert capfd.readouterr().err == ""


def test_a_thread_that_cannot_be_stopped_is_left_alone_and_said_so():
    verdict = repeat(lambda word, times: time.sleep(3), limit=0.1)
    assert "never ends?\nIt cannot be stopped and still runs" in verdict.message


def test_a_reader_who_interrupts_the_wait_gets_the_interrupt(monkeypatch):
    join = threading.Thread.join

    def interrupted(thread, timeout=None):
        if timeout == sandbox.PAUSE:
            raise KeyboardInterrupt
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    threads = threading.enumerate()  # the one that sleeps above may end meanwhile
    with pytest.raises(KeyboardInterrupt):
        repeat(loops_plainly)
    assert set(threading.enumerate()) <= set(threads)


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


def changes_everything(word, times):
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.autograd.set_detect_anomaly(True)
    torch.set_printoptions(precision=1)
    torch.set_float32_matmul_precision("medium")
    np.set_printoptions(precision=1)
    warnings.simplefilter("error")
    warnings.showwarning = os.environ["SEEN"] = "yes"
    sys.setrecursionlimit(5000)
    sys.path.insert(0, "nowhere")
    os.chdir("/")
    sys.stdout, builtins.sorted = None, None
    os.environ.pop("KEPT", None)
    return [word] * times


def state():
    yield torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()
    yield torch.is_anomaly_enabled(), torch.get_float32_matmul_precision(), [*sys.path]
    yield repr(torch.tensor(1 / 3)), repr(np.array([1 / 3])), [*warnings.filters]
    yield warnings.showwarning, dict(os.environ), sys.getrecursionlimit(), Path.cwd()
    yield sys.stdout, builtins.sorted


def test_a_check_gives_back_every_state_that_it_changes(monkeypatch, tmp_path):
    monkeypatch.setenv("KEPT", "yes")
    monkeypatch.chdir(tmp_path)
    before = [*state()]
    assert repeat(changes_everything)
    assert [*state()] == before


def test_a_verdict_depends_on_no_setting_of_the_notebook():
    check = small("ones(n) -> (n,)", 3, right=lambda n: torch.ones(n) / 3)
    torch.set_default_dtype(torch.float64)
    try:
        for answer in (check.right, lambda n: torch.tensor([1 / 3] * n)):
            assert check(answer), check(answer)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_check_runs_where_its_runner_says():
    def right_here(work, limit):  # as in a page, which has no threads
        return sandbox.Ended(pickle.loads(pickle.dumps(work())))  # or from another process

    def too_late(work, limit):
        return sandbox.Ended(problem=f"did not come back within {limit:g} seconds")

    assert repeat(repeat.right, run=right_here)
    assert not repeat(lambda word, times: [], run=right_here)
    assert "within 5 seconds: is there a loop" in repeat(repeat.right, run=too_late).message


def test_where_an_exercise_needs_no_torch_its_check_needs_none():
    program = "import sys; from scratchformer_course.ch16_scaling.exercises import fit_power as f; "
    program += "assert f(f.right) and not f(lambda x, y: (1, 1)) and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


def test_a_thread_that_still_runs_does_not_fill_the_memory_of_later_checks(monkeypatch):
    monkeypatch.setattr(sandbox, "MEMORY", 0)
    monkeypatch.setattr(sandbox, "_left", [threading.current_thread()])
    assert repeat(lambda word, times: [(bytes(10**7) and time.sleep(0.1)) or word, word])


# ---- what is equal -------------------------------------------------------------------------------

far = small("far() -> ids", right=lambda: torch.tensor([2_500_000_000]), cases=[()])
near_0 = small("near_0() -> rates", right=lambda: (3e-4, torch.tensor([3e-4])), cases=[()])
bits = small("bits() -> (2,) in int8", right=lambda: torch.tensor([1, 2]).char(), cases=[()])
halves = small("halves() -> (2,)", right=lambda: torch.tensor([1.0, 2.0]).half(), cases=[()])
flags = small("flags() -> (2,) bool", right=lambda: torch.tensor([True, False]), cases=[()])
two = small("two() -> two numbers", right=lambda: (1.5, 2.5), cases=[()])


@pytest.mark.parametrize(
    ("check", "answer", "fragment"),
    [
        (far, lambda: torch.tensor([2_500_000_100]), "returned 2500000100 at [0], expected 25000"),
        (near_0, lambda: (0.0003, torch.tensor([0.0004])), "`(0.0003, tensor([0.0004]))`"),
        (near_0, lambda: (0.00031, torch.tensor([0.0003])), "0.00031"),
        (bits, lambda: torch.tensor([1, 2]), "int64 tensor of shape (2,), but an int8 one is"),
        (halves, lambda: torch.tensor([1.0, 2.0]), "but a float16 one is expected"),
        (halves, lambda: torch.tensor([1.0, 2.01]).half(), "2.01 at [1], expected 2"),
        (flags, lambda: torch.tensor([True, True]), "returned True at [1], expected False"),
        (double, lambda x: torch.ones(1).expand(10**9), "(1000000000,), but a float32 tensor of"),
        (double, lambda x: _given_back(2 * x), "cannot be examined"),
        (double, lambda x: _given_back(x), "in place"),
        (two, lambda: np.array([1.5, 2.6]), "2.6"),
        (two, lambda: np.array([1.5, 2.5]), ""),
        (two, lambda: torch.tensor([1.5, 2.5]), ""),
        (table, lambda n: MappingProxyType({("a", "b"): n}), ""),
        (table, lambda n: MappingProxyType({("a", "b"): n + 1}), "4"),
    ],
)
def test_whole_numbers_are_exact_fractions_go_by_their_size_and_a_type_counts(
    check, answer, fragment
):
    verdict = check(answer)
    assert (verdict.passed, fragment in verdict.message) == (not fragment, True), verdict


def _given_back(x):
    x.untyped_storage().resize_(0)
    return x


def test_drawn_cases_refuse_and_are_not_counted():
    sides = drawn(5, lambda draw: (draw.randint(3, 9), draw.randint(3, 9)))
    check = small("area(a, b)", (2, 2), (2, 3), right=lambda a, b: a * b, more=sides)
    assert check(lambda a, b: a * b).message == "`area` gives the right answer in all 2 calls."
    assert not check(lambda a, b: 2 * b)


def test_a_function_that_keeps_something_from_a_call_is_refused():
    def first_of_a_length(word, times, kept={}):  # noqa: B006  (what a learner may write)
        return kept.setdefault(times, [word] * times)

    words = small("repeat(word, times)", ("ab", 2), ("c", 1), right=repeat.right)
    counts = iter(range(9))
    assert "`repeat('c', 1)` was right" not in words(lambda word, times: [word] * times).message
    assert "keep nothing back" in words(lambda w, n: [w] * (n + (next(counts) > 1))).message
    assert words(first_of_a_length)  # which is right, as long as no case has the same length


def test_prints_of_the_learner_come_through(capsys):
    assert double(lambda x: print("I am here") or 2 * x)
    assert capsys.readouterr().out == "I am here\n"


def test_the_first_place_that_differs_is_shown_where_the_two_look_alike():
    for change, fragment in (
        (lambda values, weights: (values, weights + 1), "returned 2 at [0, 0], expected 1 in"),
        (lambda values, weights: (values, weights + 1), "`answer[1]`"),
        (lambda values, weights: (values[1:], weights), "of shape (29,), but (30,) is expected"),
        (lambda values, weights: (values, weights * 0), "The weights are empty"),
        (lambda values, weights: (values,), "expected `("),
    ):
        verdict = pair_of(lambda n, change=change: change(*pair_of.right(n)))
        assert not verdict and fragment in verdict.message, verdict
        same = re.search(r"returned `([^`]*)`.* expected `\1`", verdict.message)
        assert not same, verdict
    long_text = small("long_text(n) -> str", 200, right=lambda n: "a" * n + "b")
    assert "returned `'c'` at [200:], expected `'b'`" in long_text(lambda n: "a" * n + "c").message


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
TWICE = mistake("twice the mode", "The mode is doubled", lambda x, mode: x * mode * 2)


@pytest.mark.parametrize("mistakes", [(DOUBLES, SQUARES, TWICE), (TWICE, SQUARES, DOUBLES)])
def test_of_mistakes_that_fit_the_one_that_fits_most_cases_is_named_in_any_order(mistakes):
    check = scaled(*mistakes)
    doubled = check(lambda x, mode: x * 2 * mode).message  # as `DOUBLES` does in the first case
    assert doubled.startswith("The mode is doubled.\n`scaled(")
    assert check(lambda x, mode: x * mode**2).message.startswith("The mode is squared.\n")
    assert check(lambda x, mode: x * 2).message.startswith("The mode is ignored.\n")
    # As `SQUARES` does in two cases, and in the third as nobody does: only what it does is said.
    message = check(lambda x, mode: x * (1, 4, 7)[mode - 1]).message
    assert message.startswith("On this input it does the same as this mistake: squares.\n`scaled(")
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


def test_an_answer_that_is_always_true_is_told_so_before_a_mistake_that_is_too():
    every = mistake("says yes", "Every word is called long", lambda word: True)
    check = small("is_long(word) -> bool", "ab", "abcdef", right=is_long.right, mistakes=[every])
    message = check(lambda word: True).message
    assert message.startswith("It is True of every case. Perhaps: Every word is called long.\n")


def test_choose_says_which_function_the_chapter_goes_on_with(capsys):
    def mine(word, times):
        return [word for _ in range(times)]

    assert repeat.choose(mine, repeat.right) is mine
    assert capsys.readouterr().out == "From here on: your `repeat`.\n"
    assert repeat.choose(lambda word, times: ..., repeat.right) is repeat.right
    assert capsys.readouterr().out == "From here on: the worked `repeat`.\n"


# ---- classes, and slopes -------------------------------------------------------------------------


class RightGate(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.gate = nn.Linear(d_model, d_model)

    def forward(self, x):
        return x * self.gate(x).sigmoid()


class HasNoBias(RightGate):
    def __init__(self, d_model):
        super().__init__(d_model)
        self.gate = nn.Linear(d_model, d_model, bias=False)


class Unfilled(RightGate):
    def __init__(self, d_model):
        super().__init__(d_model)
        self.gate = ...


class Wide(RightGate):
    def __init__(self, d_model):
        super().__init__(d_model + 1)


def gate(forward):
    """The right gate, but for what it computes."""
    return type("Gate", (RightGate,), {"forward": forward, "kept": None})


def gated(self, x, weight):
    """What the gate computes with another weight."""
    return x * F.linear(x, weight, self.gate.bias).sigmoid()


def by_hand(self, x):
    return x / (1 + (-F.linear(x, self.gate.weight, self.gate.bias)).exp())


def without_the_sigmoid(self, x):
    return x * self.gate(x)


def keeps_the_first_gate(self, x):
    self.kept = self.gate(x) if self.kept is None else self.kept
    return x * self.kept.sigmoid()


def keeps_its_graph(self, x):
    self.kept = self.gate.weight.exp() if self.kept is None else self.kept
    return gated(self, x, self.kept.log())


def leaves_a_row_out(self, x):
    w = self.gate.weight
    return gated(self, x, torch.cat((w[:1].detach(), w[1:])))


Gate = small(
    "Gate(d_model): x (T, C) -> (T, C), x weighted by the sigmoid of a linear layer `gate`",
    ({"d_model": 3}, torch.ones(2, 3)),
    ({"d_model": 2}, torch.eye(2)),
    ({"d_model": 2}, torch.eye(2) - 3),
    right=RightGate,
    mistakes=[
        mistake("forgets the sigmoid", "The sigmoid is missing", gate(without_the_sigmoid)),
        refused("has no bias", "the parameter `gate.bias` is missing", HasNoBias),
    ],
)


@pytest.mark.parametrize(
    ("cls", "state", "fragment"),
    [
        (RightGate, "passed", "in all 3 calls"),
        (gate(by_hand), "passed", "in all 3 calls"),
        (gate(without_the_sigmoid), "try again", "The sigmoid is missing"),
        (HasNoBias, "try again", "the parameter `gate.bias` is missing"),
        (Unfilled, "not yet", "replace the `...`"),
        (Wide, "try again", "`gate.weight` has shape (4, 4), but (3, 3) is expected"),
        (gate(lambda self, x: x @ x), "try again", "`Gate(d_model=3)("),
        (gate(lambda self, x: by_hand(self, x) * x.zero_()), "try again", "in place: work on a"),
        (RightGate(3), "try again", "give the check the class `Gate` itself"),
        (..., "not yet", "write `Gate` first"),
        (
            gate(lambda self, x: gated(self, x, self.gate.weight.data)),
            "try again",
            "no slopes reach `gate.weight`: `.data`",
        ),
        (gate(leaves_a_row_out), "try again", "no slopes reach row 0 of `gate.weight`"),
        (
            gate(lambda self, x: x.detach() * self.gate(x).sigmoid()),
            "try again",
            "the slopes at `x` are not",
        ),
        (
            gate(lambda self, x: torch.from_numpy(x.numpy()) * self.gate(x).sigmoid()),
            "try again",
            "not so this later call: RuntimeError: Can't call numpy()",
        ),
        (gate(keeps_the_first_gate), "try again", "earlier calls change them: keep nothing back"),
        (gate(keeps_its_graph), "try again", "`backward()` fails: RuntimeError"),
    ],
)
def test_a_class_is_an_exercise_too_and_must_be_trainable(cls, state, fragment):
    verdict = Gate(cls)
    assert (verdict.state, fragment in verdict.message) == (state, True), verdict


def test_a_class_that_keeps_the_first_input_of_a_shape_is_refused():
    def keeps(self, x):
        self.kept = self.kept or {}
        return RightGate.forward(self, self.kept.setdefault(x.shape, x.detach()))

    once = small(
        "Gate(d_model): x", ({"d_model": 3}, torch.arange(6.0).view(2, 3)), right=RightGate
    )
    assert once(RightGate).message == "`Gate` gives the right answer."
    assert not once(gate(keeps)) and not once(gate(lambda self, x: by_hand(self, x[:1])))


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
    case = {"size": 5}, torch.tensor([0, 3, 4])
    verdict = small("Table(size), table(ids)", case, right=RightTable)(NamesTheHeadFirst)
    assert verdict.passed, verdict


def test_a_function_that_a_page_trains_through_must_let_slopes_pass():
    cases = torch.tensor([1.0, 2.0]), torch.tensor([3, 4])
    halve = small("halve(x: (N,)) -> (N,)", *cases, right=lambda x: x / 2, slopes=["x"])
    assert halve(lambda x: torch.stack([n * 0.5 for n in x]))
    assert double(lambda x: 2 * x.detach())  # no page trains through this one
    for cut in (lambda x: x.detach() / 2, lambda x: torch.tensor([n / 2 for n in x.tolist()])):
        verdict = halve(cut)
        assert "no slopes reach `x`" in verdict.message, verdict
    infinite = halve(lambda x: torch.where(x > 0, x / 2, (1e30 * x).exp()))
    assert "NaN or infinity" in infinite.message, infinite


def test_slopes_must_reach_each_of_several_inputs():
    right = gate(lambda self, x, memory: x.cos() + self.gate(memory))
    cuts_x = gate(lambda self, x, memory: x.detach().cos() + self.gate(memory))
    cuts_memory = gate(lambda self, x, memory: x.cos() + self.gate(memory.detach()))
    case = {"d_model": 2}, torch.eye(2), torch.ones(2, 2)
    mixer = small("Mixer(d_model)(x: (T, C), memory: (T, C)) -> (T, C)", case, right=right)
    assert mixer(right)
    assert "no slopes reach `x`" in mixer(cuts_x).message
    assert "no slopes reach `memory`" in mixer(cuts_memory).message
