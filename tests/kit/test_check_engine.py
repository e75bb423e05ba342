"""The engine behind the exercises survives whatever a learner returns, and says what it was."""

import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter, OrderedDict, namedtuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scratchformer import checks
from scratchformer_course.kit.checks.compare import brief
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.sandbox import MEMORY, PAUSE
from scratchformer_course.kit.checks.verdict import Verdict, Wrong


@exercise("0.1")
class repeat:
    """repeat(word, times) -> list of str"""

    cases = (("ab", 2),)

    def right(word, times):
        return [word] * times

    def joins_the_words(word, times):
        """The words are joined"""
        return [word * times]


@exercise("0.2")
class double:
    """double(x: (N,)) -> (N,)"""

    cases = (torch.tensor([1.0, 2.0]),)

    def right(x):
        return 2 * x


@exercise("0.3")
class whole:
    """whole(x: int) -> int"""

    cases = (3,)

    def right(x):
        return x + 1


@exercise("0.4")
class total:
    """total(data: dict of lists) -> float"""

    cases = ({"a": [1, 2], "b": [3]},)

    def right(data):
        return float(sum(map(sum, data.values())))


@exercise("0.5")
class table:
    """table(n: int) -> dict"""

    cases = (3,)

    def right(n):
        return {("a", "b"): n}


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
        (iter("ab"), "iterator"),
        (np.array(["ab", "ab"]), "is an ndarray"),
        (["ab", None], "`None` is a NoneType, but a str"),
        ([...], "replace the `...`"),
        (float("nan"), "is a float"),
        (object, "is a type"),
        (brief, "is a function"),
    ],
    ids=range(13),
)
def test_odd_answers_do_not_crash_a_check(answer, fragment):
    verdict = repeat(lambda word, times: answer)
    assert not verdict and fragment in verdict.message, verdict
    assert len(verdict.message) < 400 and " at 0x" not in verdict.message


def test_subclasses_and_scalars_that_serve_as_the_plain_type_are_accepted():
    class Words(list):
        pass

    assert repeat(lambda word, times: Words([word, word]))
    assert all(whole(lambda x, four=four: four) for four in (4, np.int64(4), torch.tensor(4)))
    assert not whole(lambda x: 4.0) and not whole(lambda x: torch.tensor([4]))
    assert all(total(lambda data, six=six: six) for six in (6, np.float32(6), torch.tensor(6.0)))
    assert total(lambda data: torch.tensor(6.0, requires_grad=True))
    for mapping in (Counter, OrderedDict):
        assert table(lambda n, mapping=mapping: mapping({("a", "b"): n}))
    pair = namedtuple("pair", "x y")
    windows = checks.first_network.windows
    assert windows(lambda ids, length, stride: pair(*windows.right(ids, length, stride)))


@pytest.mark.parametrize(
    ("answer", "fragment"),
    [
        (torch.tensor([2.0, 4.0, 6.0]), "of shape (3,), but (2,) is expected"),
        (torch.tensor([2.0, float("nan")]), "NaN or infinity in 1 of 2"),
        (torch.tensor([2.0, float("inf")]), "NaN or infinity in 1 of 2"),
        (torch.tensor([2.0, 5.0]), "returned 5 at [1], expected 4"),
        (torch.tensor([2j, 4j]), "is a complex64 tensor"),
        (torch.tensor([True, False]), "returned 1 at [0], expected 2"),
        (np.array([2.0, 4.0]), "is an ndarray"),
        ([2.0, 4.0], "is a list, but a float32 tensor of shape (2,)"),
        (torch.zeros(3000, 3000), "of shape (3000, 3000)"),
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


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (lambda word: [word] * 2, "takes `(word, times)`, but yours is `(word)`"),
        (["ab", "ab"], "give the check `repeat` itself, without (): got `['ab', 'ab']`, a list"),
        (None, "got `None`, a NoneType"),
        (..., "write `repeat` first"),
    ],
)
def test_what_is_no_such_function_is_told(function, fragment):
    assert fragment in repeat(function).message


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
    threads, start = threading.active_count(), time.perf_counter()
    verdict = repeat(function, limit=0.1)
    assert "`repeat('ab', 2)` did not come back within 0.1 seconds" in verdict.message
    assert "restart" not in verdict.message and threading.active_count() == threads
    assert time.perf_counter() - start < 3


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
        messages.add(whole(noisy).message)
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


def test_the_checks_of_chapter_1_need_no_torch_and_an_unknown_chapter_is_named():
    code = "from scratchformer import checks; checks.bpe; import sys; assert 'torch' not in "
    code += "sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no checks called 'bp': there are primer, bpe"):
        _ = checks.bp


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
from scratchformer import checks
def merge_pair(word, pair):
    merged, i = [], 0
    while i < len(word):
        merged.append(word[i] + word[i])
    return tuple(merged)
def swallows(word, pair):
    merged = []
    while True:
        try:
            merged.append([0] * 1000)
        except BaseException:
            pass
print(checks.bpe.merge_pair(FUNCTION))
for line in open("/proc/self/status"):
    if line.startswith("VmHWM:"):  # the most memory held by this program, in kB
        print(int(line.split()[1]) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no one tells the memory held now")
@pytest.mark.parametrize("function", ["merge_pair", "swallows"])
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


@exercise("0.6")
class pair_of:
    """pair_of(n: int) -> (values: (n,), weights: (n, n))"""

    cases = (30, 3)

    def right(n):
        return torch.zeros(n), torch.eye(n)

    def also(n):
        return torch.zeros(n), torch.ones(n).diag()

    def no_diagonal(n):
        """The weights are empty"""
        return torch.zeros(n), torch.zeros(n, n)

    def short(n):
        """… of shape"""
        return torch.zeros(n - 1), torch.eye(n)


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


@exercise("0.7")
class long_text:
    """long_text(n: int) -> str"""

    cases = (200,)

    def right(n):
        return "a" * n + "b"


def test_long_texts_that_begin_alike_are_shown_from_where_they_differ():
    assert "returned `'c'` at [200:], expected `'b'`" in long_text(lambda n: "a" * n + "c").message


@exercise("0.8")
class scaled:
    """scaled(x: (N,), mode: int) -> (N,)"""

    cases = ((torch.ones(2), 1), (torch.ones(2), 2), (torch.ones(2), 3))

    def right(x, mode):
        return x * mode

    def always_doubles(x, mode):
        """The mode is ignored"""
        return x * 2

    def squares_the_mode(x, mode):
        """The mode is squared"""
        return x * mode**2

    def doubles_the_mode(x, mode):
        return x * mode * 2

    def explain(got, x, mode):
        if (got < 0).any():
            raise Wrong("No number may be negative.")


def test_of_two_mistakes_that_fit_the_one_that_fits_most_cases_is_named():
    assert "The mode is squared" in scaled(lambda x, mode: x * 2 * mode).message
    assert "The mode is ignored" in scaled(lambda x, mode: x + 1).message
    # Right in the first case, where `always_doubles` is not: its diagnosis would mislead.
    message = scaled(lambda x, mode: x * (mode if mode < 3 else 2)).message
    assert "ignored" not in message and "returned 2 at [0], expected 3" in message
    assert scaled(lambda x, mode: -x).message == "No number may be negative."


def test_choose_says_which_function_the_chapter_goes_on_with(capsys):
    def mine(word, times):
        return [word for _ in range(times)]

    assert repeat.choose(mine, repeat.right) is mine
    assert capsys.readouterr().out == "From here on: your `repeat`.\n"
    assert repeat.choose(lambda word, times: ..., repeat.right) is repeat.right
    assert capsys.readouterr().out == "From here on: the worked `repeat`.\n"


@exercise("0.9")
class Gate:
    """Gate(d_model): x (T, C) -> (T, C), x weighted by the sigmoid of a linear layer `gate`"""

    cases = (({"d_model": 3}, torch.ones(2, 3)), ({"d_model": 2}, torch.eye(2)))

    class right(nn.Module):
        def __init__(self, d_model):
            super().__init__()
            self.gate = nn.Linear(d_model, d_model)

        def forward(self, x):
            return x * self.gate(x).sigmoid()

    class also(right):
        def forward(self, x):
            return x / (1 + (-F.linear(x, self.gate.weight, self.gate.bias)).exp())

    class forgets_the_sigmoid(right):
        """The sigmoid is missing"""

        def forward(self, x):
            return x * self.gate(x)

    class has_no_bias(right):
        """… the parameter `gate.bias` is missing"""

        def __init__(self, d_model):
            super().__init__(d_model)
            self.gate = nn.Linear(d_model, d_model, bias=False)


class Unfilled(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.gate = ...


class Unfinished(Gate.right):
    def forward(self, x):
        return ...


class Renamed(nn.Module):
    def __init__(self, width):
        super().__init__()


class Wide(Gate.right):
    def __init__(self, d_model):
        super().__init__(d_model + 1)


class Crashes(Gate.right):
    def forward(self, x):
        return x @ x


class Spoils(Gate.right):
    def forward(self, x):
        return super().forward(x) * x.zero_()


@pytest.mark.parametrize(
    ("cls", "state", "fragment"),
    [
        (Gate.right, "passed", "in all 2 calls"),
        (Gate.solutions[1], "passed", "in all 2 calls"),
        (Gate.mistakes[0].function, "try again", "The sigmoid is missing"),
        (Gate.mistakes[1].function, "try again", "the parameter `gate.bias` is missing"),
        (Unfilled, "not yet", "replace the `...`"),
        (Unfinished, "not yet", "replace the `...`"),
        (Renamed, "try again", "takes `(d_model)`, but yours is `(width)`"),
        (Wide, "try again", "`gate.weight` has shape (4, 4), but (3, 3) is expected"),
        (Crashes, "try again", "`Gate(d_model=3)("),
        (Spoils, "try again", "in place: work on a copy"),
        (Gate.right(3), "try again", "give the check the class `Gate` itself"),
        (..., "not yet", "write `Gate` first"),
    ],
)
def test_a_class_is_an_exercise_too(cls, state, fragment):
    verdict = Gate(cls)
    assert (verdict.state, fragment in verdict.message) == (state, True), verdict
