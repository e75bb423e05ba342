"""An exercise is a table: a task, cases to try it on, right answers, and the usual mistakes.

It is written once; the check, its tests and the box on the site read it. See
`book/add_an_exercise.md`:

    running_mean = exercise(
        "5.1",
        "running_mean(x: (T, C)) -> (T, C), row t the mean of rows 0 … t",
        cases=(X, X[:1]),
        right=[
            lambda x: x.cumsum(0) / torch.arange(1, len(x) + 1).unsqueeze(1),
            lambda x: torch.stack([x[: t + 1].mean(0) for t in range(len(x))]),
        ],
        mistakes=[
            mistake("returns sums", "These are sums: divide row t by t + 1", lambda x: x.cumsum(0)),
        ],
    )

`running_mean(function)` then calls the function on every case. If a value is wrong, it looks
which mistakes give the same value there, and answers with their diagnosis. The order of a table
carries no meaning.
"""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from scratchformer_course.kit.checks.call import Call
from scratchformer_course.kit.checks.classes import as_function, upside_down
from scratchformer_course.kit.checks.compare import (
    difference,
    error_in_words,
    fresh,
    matches,
    same,
)
from scratchformer_course.kit.checks.sandbox import LIMIT, Runner, usual
from scratchformer_course.kit.checks.slopes import check_training
from scratchformer_course.kit.checks.ticks import tick
from scratchformer_course.kit.checks.verdict import Verdict, Wrong

AGAIN = 8  # calls that are made a second time
Answer = Callable[..., Any]  # a function or a class, as a learner would write it
Cases = Iterable[Any] | Callable[[], Iterable[Any]]


@dataclass(frozen=True)
class Mistake:
    """A usual wrong answer: what the learner did, what the check says, and the answer."""

    description: str
    diagnosis: str  # without the full stop
    function: Answer
    is_specific: bool = False  # where several mistakes do the same, this one is named
    is_quoted: bool = False  # the engine or the judge finds the words; `diagnosis` holds some


def mistake(description: str, diagnosis: str, answer: Answer, *, specific: bool = False) -> Mistake:
    """A wrong answer that has a diagnosis of its own: what is wrong, and what to look at.

    Where two mistakes give the same values on all cases, a check says both diagnoses, unless one of
    them is `specific`.
    """
    return Mistake(description, diagnosis.rstrip("."), answer, specific)


def refused(description: str, words: str, answer: Answer) -> Mistake:
    """A wrong answer for which the judge or the engine finds the words; `words` quotes some."""
    return Mistake(description, words.rstrip("."), answer, is_quoted=True)


class Question(Protocol):
    """What an exercise asks on the page (`question.py`)."""

    def export(self, exercise: Exercise) -> dict[str, Any]:
        """What the page must know, for JSON."""


class Exercise:
    """A check: call it with a function (or class) to get a `Verdict`.

    `task` is the signature with shapes, and what the function does. `right` are right answers in
    several styles, all functions or all classes; the first computes what is expected. `cases` are
    tuples of arguments, or the only argument, or a function that makes them; `more` are such cases
    that are drawn, tried after them and not counted in what is said.

    Where many answers are right, `judge(call, *given)` raises `Wrong` or returns the words of
    praise; `given` is what the notebook hands over with the function. `explain(got, *case)` raises
    `Wrong` for a wrong answer that no mistake gives. `praise` is said of a right answer. The page
    shows the `hints`, of which the first is a question, and asks the `question`. `slopes`
    names the arguments at which `backward()` must find slopes, since a page trains through the
    function; a class needs them at all its inputs and parameters.
    """

    def __init__(
        self,
        number: str,
        task: str,
        *,
        right: Sequence[Answer],
        mistakes: Sequence[Mistake],
        cases: Cases = (),
        more: Cases = (),
        judge: Callable[..., str] | None = None,
        explain: Callable[..., None] | None = None,
        praise: str = "",
        slopes: Sequence[str] = (),
        hints: Sequence[str] = (),
        question: Question | None = None,
    ):
        self.number, self.task = number, task
        self.name = task.partition("(")[0]
        self.solutions, self.mistakes = list(right), list(mistakes)
        self.judge, self.explain = judge, explain
        self.hints, self.question = list(hints), question
        self.praise, self._cases, self.more = praise, cases, more
        self.right: Any = self.solutions[0]  # a class may be what other classes are built on
        self.is_class = isinstance(self.right, type)
        self.parameters = list(inspect.signature(self.right).parameters)
        self.slopes = slopes

    def __repr__(self) -> str:
        return f"<check of exercise {self.number}, {self.name}>"

    @property
    def cases(self) -> list[tuple]:
        """Tuples of arguments; made anew, since a table may give a function for them.

        An object also meets each of its cases upside down: other inputs of the same shapes.
        """
        cases, more = _tuples(self._cases), _tuples(self.more)
        return [*cases, *more, *(map(upside_down, cases) if self.is_class else ())]

    def add_cases(self, cases: Sequence[tuple]) -> None:
        """Try these as well from now on, as if they were drawn by the table."""
        self.more = [*_tuples(self.more), *cases]

    def __call__(
        self, function: Any, *given: Any, limit: float = LIMIT, run: Runner = usual
    ) -> Verdict:
        """Check a learner's function; returns within about `limit` seconds, and never raises."""
        call = Call(function, self.name, self.parameters, is_class=self.is_class)
        ended = run(lambda: self._verdict(call, given), limit)
        if ended.result is not None and not ended.problem:
            if ended.result:
                tick(self.number, function)
            return ended.result
        why = f"`{call}` {ended.problem}: is there a loop that never ends?"
        if not ended.is_stopped:
            why += "\nIt cannot be stopped and still runs: restart the kernel or the program."
        return Verdict(self.number, "try again", why)

    def _verdict(self, call: Call, given: tuple) -> Verdict:
        try:
            call.check_signature()
            call.function = self._runnable(call.function)
            praise = self.judge(call, *given) if self.judge else self.compare(call)
            if self.slopes or self.is_class:
                self._check_training(call.given)
            else:
                self._check_again(call)
            calls = f" in all {call.count} calls" if call.count > 1 else ""
            default = f"`{self.name}` gives the right answer{calls}."
            return Verdict(self.number, "passed", praise or default)
        except Wrong as wrong:
            state = "not yet" if wrong.state == "not yet" else "try again"  # a learner may raise it
            return Verdict(self.number, state, str(wrong))
        except Exception as error:  # an object that misbehaves when it is looked at
            why = f"what `{self.name}` returned cannot be examined ({error_in_words(error)})."
            return Verdict(self.number, "try again", why)

    def choose(self, mine: Any, worked: Answer | None = None, *given: Any) -> Answer:
        """The reader's function if it passes its check, else the worked one; prints which.

        The table's own right answer takes the place of a worked one that is not given.
        """
        if self(mine, *given):
            print(f"From here on: your `{self.name}`.")
            return mine
        print(f"From here on: {'a right' if worked is None else 'the worked'} `{self.name}`.")
        return self.right if worked is None else worked

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
        call.count -= len(self.cases) - len(_tuples(self._cases))
        return self.praise

    def _check_again(self, call: Call) -> None:
        """Raise `Wrong` if some of the calls, backwards, give other values: something was kept."""
        count = call.count
        for case in reversed(self.cases[:AGAIN]):
            with contextlib.redirect_stdout(io.StringIO()):  # a reader has seen it once
                expected, again = self.right(*fresh(case)), call(*case)
            if again.error is not None or not matches(again.value, expected):
                raise Wrong(
                    f"`{again}` was right at first, and now is not: keep nothing back from a call."
                )
        call.count = count

    def _check_training(self, function: Answer) -> None:
        """Raise `Wrong` if slopes do not pass, or if a call changes the next one."""
        objects: dict = {}
        models: dict = {}
        call = Call(function, self.name, self.parameters, self.is_class)
        call.function = self._runnable(function, objects)
        right = self._runnable(self.right, models)
        check_training(call, right, objects, models, self.cases, self.slopes)

    def _diagnosis(self, call: Call, number: int, expected: Any) -> str:
        """What is said of a mistake that does on all cases what the learner's function does.

        If several do, the specific ones speak. One that does the same here, and something else on
        other cases, lends only its description.
        """
        cases = self.cases
        candidates = [
            each
            for each in self.mistakes
            if not each.is_quoted and self._agrees(each, call, cases[number], expected)
        ]
        calls = [self._probe(call, case) for case in cases] if candidates else []
        found: dict[int, list[Mistake]] = {}  # by the number of cases on which they agree
        for candidate in candidates:
            agrees = [self._agrees(candidate, *pair) for pair in zip(calls, cases, strict=True)]
            if all(agrees[:number]) and any(agrees):
                found.setdefault(sum(agrees), []).append(candidate)
        nearest = found[max(found)] if found else []
        if nearest and max(found) < len(cases):
            same_here = f"On this input it does the same as this mistake: {nearest[0].description}"
            return same_here if len(nearest) == 1 else ""
        specific = [each for each in nearest if each.is_specific]
        said = ". Or: ".join(sorted({each.diagnosis for each in specific or nearest}))
        values = {repr(each.value) for each in calls}
        is_constant = len(calls) > 1 and len(values) == 1 and isinstance(call.value, bool)
        return (
            f"It is {call.value} of every case. Perhaps: {said}" if said and is_constant else said
        )

    def _probe(self, call: Call, case: tuple) -> Call:
        """The learner's function called on a case, whatever it does there."""
        probe = Call(call.function, self.name, self.parameters, self.is_class)
        with contextlib.suppress(Wrong):
            probe(*case)
        return probe

    def _agrees(self, mistake: Mistake, call: Call, case: tuple, right: Any = ...) -> bool:
        """Whether the mistake does what the call did, and does not give the right answer."""
        try:
            value = self._runnable(mistake.function)(*fresh(case))
        except Exception as error:
            return type(error) is type(call.error)
        if call.error is not None or call.value is None:
            return False
        return not same(value, right) and matches(call.value, value)

    def _runnable(self, answer: Any, kept: dict | None = None) -> Callable:
        return as_function(answer, self.right, kept) if self.is_class else answer


def _tuples(cases: Cases) -> list[tuple]:
    made = cases() if callable(cases) else cases
    return [case if isinstance(case, tuple) else (case,) for case in made]


exercise = Exercise  # a table is written in small letters: exercise, mistake, refused
