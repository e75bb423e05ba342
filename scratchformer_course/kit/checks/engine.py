"""An exercise is data: a right answer, cases to try it on, and the usual mistakes.

One class is one exercise, written once; the check, its tests and the page of wrong answers
read it. See `book/add_an_exercise.md`:

    @exercise("5.1")
    class running_mean:
        '''running_mean(x: (T, C)) -> (T, C), row t the mean of rows 0 … t'''

        cases = (X, X[:1])

        def right(x):
            return x.cumsum(0) / torch.arange(1, len(x) + 1).unsqueeze(1)

        def also(x):
            return torch.stack([x[: t + 1].mean(0) for t in range(len(x))])

        def returns_sums(x):
            '''These are sums: divide row t by t + 1'''
            return x.cumsum(0)

`running_mean(function)` then calls the function on every case. If a value is wrong, it looks
which mistake gives the same value there, and answers with that mistake's docstring.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from scratchformer_course.kit.checks.call import Call
from scratchformer_course.kit.checks.classes import as_function, constructor_parameters
from scratchformer_course.kit.checks.compare import brief, difference, fresh, matches, same
from scratchformer_course.kit.checks.sandbox import LIMIT, Worker, own_randomness
from scratchformer_course.kit.checks.verdict import Verdict, Wrong
from scratchformer_course.kit.checks.words import words

GENERAL = "…"  # begins a docstring that quotes the engine or the judge: no diagnosis of its own


@dataclass(frozen=True)
class Mistake:
    """A usual wrong answer: what the learner did, what the check says, and the function."""

    description: str  # from the function's name
    diagnosis: str  # from its docstring, without the full stop
    function: Callable

    @property
    def is_general(self) -> bool:
        """Whether the engine or the judge finds the words; `diagnosis` quotes some of them."""
        return self.diagnosis.startswith(GENERAL)


class Exercise:
    """A check: call it with a function (or class) to get a `Verdict`.

    Public fields: `number`, `name`, `parameters`, `right` and `solutions` (functions),
    `mistakes`, and `given`: what the check takes after the function, where it takes anything.
    """

    def __init__(self, number: str, block: type):
        members = {name: value for name, value in vars(block).items() if name[0] != "_"}
        self.number, self.name = number, block.__name__
        self.__doc__, self.__module__ = block.__doc__, block.__module__
        self.given: tuple = members.pop("given", ())
        self.praise: str = members.pop("praise", "")
        self.judge: Callable | None = members.pop("judge", None)
        self.explain: Callable | None = members.pop("explain", None)
        self._cases: Any = members.pop("cases", ())
        self.right: Callable = members.pop("right")
        others = [name for name in members if name.startswith("also")]
        self.solutions = [self.right, *(members.pop(name) for name in others)]
        self.is_class = isinstance(self.right, type)
        self.parameters = (
            constructor_parameters(self.right)
            if self.is_class
            else list(inspect.signature(self.right).parameters)
        )
        self.mistakes: list[Mistake] = []
        for name, function in members.items():
            text = " ".join((vars(function).get("__doc__") or function.__doc__ or "").split())
            if not text:  # it shares the diagnosis of the mistake before it
                text = self.mistakes[-1].diagnosis
            self.mistakes.append(Mistake(name.replace("_", " "), text.rstrip("."), function))

    def __repr__(self) -> str:
        return f"<check of exercise {self.number}, {self.name}>"

    @property
    def cases(self) -> list[tuple]:
        """Tuples of arguments; made anew, since a class block may give a function for them."""
        cases: Iterable = self._cases() if callable(self._cases) else self._cases
        return [case if isinstance(case, tuple) else (case,) for case in cases]

    def __call__(self, function: Any, *given: Any, limit: float = LIMIT) -> Verdict:
        """Check a learner's function; returns within about `limit` seconds, and never raises."""
        call = Call(function, self.name, self.parameters, is_class=self.is_class)

        def work() -> Verdict:
            try:
                call.inspect()
                if self.is_class:
                    call.function = as_function(function, self.right)
                if self.judge is not None:
                    praise = self.judge(call, *(given or self.given))
                else:
                    praise = self.compare(call)
                calls = f" in all {call.count} calls" if call.count > 1 else ""
                default = f"`{self.name}` gives the right answer{calls}."
                return Verdict(self.number, "passed", praise or default)
            except Wrong as wrong:
                return Verdict(self.number, wrong.state, str(wrong))
            except Exception as error:  # an object that misbehaves when it is looked at
                why = f"what `{self.name}` returned cannot be examined ({words(error)})."
                return Verdict(self.number, "try again", why)

        with own_randomness():
            worker = Worker(work, limit)
            worker.start()
            stopped = worker.finish()
        if worker.result is not None and not worker.problem:
            return worker.result
        why = f"`{call}` {worker.problem}: is there a loop that never ends?"
        if not stopped:
            why += "\nIt cannot be stopped and still runs: restart the kernel or the program."
        return Verdict(self.number, "try again", why)

    def choose(self, mine: Any, worked: Callable, *given: Any) -> Callable:
        """The reader's function if it passes its check, else the worked one; prints which."""
        if self(mine, *given):
            print(f"From here on: your `{self.name}`.")
            return mine
        print(f"From here on: the worked `{self.name}`.")
        return worked

    def compare(self, call: Call) -> str:
        """Try all cases; raises `Wrong` with the best diagnosis. Returns the words of praise."""
        right = self._runnable(self.right)
        for number, case in enumerate(self.cases):
            expected = right(*fresh(case))
            call(*case)
            if call.error is None and matches(call.value, expected):
                continue
            why = self._diagnosis(call, number, expected)
            if call.error is not None and why:
                raise Wrong(f"{why}.\n{call.failure()}")
            try:
                got = call.like(expected)
            except Wrong as wrong:
                raise Wrong(f"{why}.\n{wrong}" if why else str(wrong)) from None
            if not why and self.explain is not None:
                self.explain(got, *fresh(case))
            why = f"{why}.\n" if why else ""
            raise Wrong(f"{why}`{call}` {difference(got, expected)}.")
        return self.praise

    def _diagnosis(self, call: Call, number: int, expected: Any) -> str:
        """The diagnosis of the mistake that does on this case what the learner's function did.

        The function was right on the cases before, so the mistake must be right there too. If
        several are, the one that does the same on the most cases.
        """
        case, found = self.cases[number], [m for m in self.mistakes if not m.is_general]
        found = [m for m in found if self._agrees(m, call, case, expected)]
        best, diagnosis = 0, ""
        for mistake in found:
            agreements = []
            for other in self.cases:
                probe = Call(call.function, self.name, self.parameters, self.is_class)
                with contextlib.suppress(Wrong):
                    probe(*other)
                agreements.append(self._agrees(mistake, probe, other))
            if all(agreements[:number]) and sum(agreements) > best:
                best, diagnosis = sum(agreements), mistake.diagnosis
        return diagnosis

    def _agrees(self, mistake: Mistake, call: Call, case: tuple, unlike: Any = ...) -> bool:
        """Whether the mistake gives what the call gave, and (here) not the right answer."""
        try:
            value = self._runnable(mistake.function)(*fresh(case))
        except Exception as error:
            return type(error) is type(call.error)
        if call.error is not None or call.value is None:
            return False
        return not same(value, unlike) and matches(call.value, value)

    def _runnable(self, answer: Any) -> Callable:
        return as_function(answer, self.right) if self.is_class else answer


def exercise(number: str) -> Callable[[type], Exercise]:
    """Turn a class block (see above) into an `Exercise`. Its parts, in any order:

    the docstring (signature with shapes, and what the function does); `cases`, each a tuple of
    arguments or the only argument (or a function that makes them); `right`; `also…`, right
    answers in another style; and any other function, a mistake. The mistake's name says what the
    learner did, its docstring is the diagnosis. Without a docstring it shares the one before; a
    docstring that begins with "…" quotes words that the engine or the judge finds.

    Optional: `judge(call, *given)` where many answers are right: it raises `Wrong` or returns
    the words of praise; `given`, what the tests put there; `explain(got, *case)` raises `Wrong`
    for a wrong answer that no mistake gives; `praise`. Names that begin with _ are ignored.
    """
    return lambda block: Exercise(number, block)


__all__ = ["Call", "Exercise", "Mistake", "Wrong", "brief", "exercise"]
