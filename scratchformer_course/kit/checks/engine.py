"""An exercise is a table: a task, cases to try it on, right answers, and the usual mistakes.

It is written once; the check, its tests and the box on the site read it. See
`book/add_an_exercise.md`:

    running_mean = exercise(
        "5.1",
        "running_mean(x: (T, C)) -> (T, C), row t the mean of rows 0 … t",
        cases=(X, X[:1]),
        right=[right_running_mean],
        mistakes={
            " / torch.arange(1, len(x) + 1).unsqueeze(1) -> ": "These are sums: divide row t",
        },
    )

`running_mean(function)` then calls the function on every case. If a value is wrong, it looks
which mistakes give the same value there, and answers with their diagnosis. The order of a table
carries no meaning.
"""

import contextlib
import inspect
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scratchformer_course.kit.checks.call import Call
from scratchformer_course.kit.checks.classes import as_function, upside_down
from scratchformer_course.kit.checks.compare import difference, error_in_words, fresh, matches
from scratchformer_course.kit.checks.mistakes import Answer, Mistake, edits
from scratchformer_course.kit.checks.sandbox import LIMIT, TooLate, alarm, seeded
from scratchformer_course.kit.checks.slopes import check_later_calls
from scratchformer_course.kit.checks.ticks import tick
from scratchformer_course.kit.checks.verdict import Verdict, Wrong

Cases = Iterable[Any] | Callable[[], Iterable[Any]]


class Exercise:
    """A check: call it with a function (or class) to get a `Verdict`.

    `task` is the signature with shapes, and what the function does. `right` are right answers,
    all functions or all classes; the first computes what is expected. `cases` are
    tuples of arguments, or the only argument, or a function that makes them; `more` are such cases
    that are drawn, tried after them and not counted in what is said.

    Where many answers are right, `judge(call, *given)` raises `Wrong` or returns the words of
    praise; `given` is what the notebook hands over with the function. `explain(got, *case)` raises
    `Wrong` for a wrong answer that no mistake gives. `praise` is said of a right answer. The page
    shows the `hints`, of which the first is a question, and asks the `question` (question.py).
    `slopes` names the arguments at which `backward()` must find slopes, since a page trains through
    the function; a class needs them at all its inputs and parameters.
    """

    def __init__(
        self,
        number: str,
        task: str,
        *,
        right: Sequence[Answer],
        mistakes: Mapping[str, str] | Sequence[Mistake],
        cases: Cases = (),
        more: Cases = (),
        judge: Callable[..., str] | None = None,
        explain: Callable[..., None] | None = None,
        praise: str = "",
        slopes: Sequence[str] = (),
        hints: Sequence[str] = (),
        question: Any = None,
    ):
        self.number, self.task, self.name = number, task, task.partition("(")[0]
        self.solutions = list(right)
        if isinstance(mistakes, Mapping):
            mistakes = edits(right[0], mistakes)
        self.mistakes: list[Mistake] = list(mistakes)
        self.listed, self.more, self.slopes = cases, more, slopes
        self.judge, self.explain, self.praise = judge, explain, praise
        self.hints, self.question = list(hints), question
        self.right: Any = self.solutions[0]  # a class may be what other classes are built on
        self.is_class = isinstance(self.right, type)
        self.parameters = list(inspect.signature(self.right).parameters)

    @property
    def cases(self) -> list[tuple]:
        """Tuples of arguments; made anew, since a table may give a function for them.

        An object also meets each of its cases upside down: other inputs of the same shapes.
        """
        cases, more = _tuples(self.listed), _tuples(self.more)
        return [*cases, *more, *(map(upside_down, cases) if self.is_class else ())]

    def add_cases(self, cases: Sequence[tuple]) -> None:
        """Try these as well from now on, as if they were drawn by the table."""
        self.more = [*_tuples(self.more), *cases]

    def __call__(self, function: Any, *given: Any, limit: float = LIMIT) -> Verdict:
        """Check a learner's function; returns within about `limit` seconds (see `alarm`)."""
        call = self._call(function)
        try:
            with seeded(), alarm(limit):
                verdict = self._verdict(call, given)
        except TooLate:
            verdict = self.late(limit, call)
        for hook in after_check:
            hook(self, function, verdict)
        return verdict

    def late(self, seconds: float, call: Any = None) -> Verdict:
        """The verdict on an answer that does not come back."""
        why = f"`{call or self.name}` did not come back within {seconds:g} seconds"
        return Verdict(self.number, "try again", f"{why}: is there a loop that never ends?")

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
            why = self._diagnosis(call, number)
            why = f"{why}.\n" if why else ""
            if call.error is not None and why:
                raise Wrong(why + call.failure())
            try:
                got = call.like(expected)
            except Wrong as wrong:
                raise Wrong(f"{why}{wrong}") from None
            if not why and self.explain is not None:
                self.explain(got, *fresh(case))
            if not why:
                call = self._in_full(call, number)
                expected = right(*fresh(call.args))
                got = call.like(expected)
            raise Wrong(f"{why}`{call}` {difference(got, expected)}.")
        call.count -= len(self.cases) - len(_tuples(self.listed))
        return self.praise

    def _in_full(self, call: Call, number: int) -> Call:
        """This wrong call or a later one, which a line can show with all of its numbers."""
        later = (self._tried(call, case) for case in self.cases[number + 1 :])
        wrong = (tried for tried in later if tried.in_full() and self._is_wrong(tried))
        return call if call.in_full() else next(wrong, call)

    def _verdict(self, call: Call, given: tuple) -> Verdict:
        try:
            call.check_signature()
            call.function = self._runnable(call.given)
            praise = self.judge(call, *given) if self.judge else self.compare(call)
            with contextlib.redirect_stdout(io.StringIO()):  # a reader has seen what it prints
                check_later_calls(self._call(call.given), self.right, self.cases, self.slopes)
            calls = f" in all {call.count} calls" if call.count > 1 else ""
            default = f"`{self.name}` gives the right answer{calls}."
            return Verdict(self.number, "passed", praise or default)
        except Wrong as wrong:
            return Verdict(self.number, wrong.state, str(wrong))
        except Exception as error:  # of an object that a judge looks at
            why = f"what `{self.name}` returned cannot be examined ({error_in_words(error)})."
            return Verdict(self.number, "try again", why)

    def _diagnosis(self, call: Call, number: int) -> str:
        """What is said of the mistakes that do what the learner's function does.

        If some do the same on all cases, the specific ones of them speak, or all. Else the one that
        does the same here, and on the most cases. That is a guess, and so it is where the function
        is wrong in one case only.
        """
        cases = self.cases
        calls: list[Call] = []
        agrees: dict[Mistake, list[bool]] = {}
        for mistake in self.mistakes:
            if not mistake.is_quoted and self._agrees(mistake, call, cases[number]):
                calls = calls or [self._tried(call, case) for case in cases]
                agrees[mistake] = [
                    self._agrees(mistake, *pair) for pair in zip(calls, cases, strict=True)
                ]
        counts = {m: sum(agreed) for m, agreed in agrees.items() if all(agreed[:number])}
        most = max(counts.values(), default=0)
        nearest = [mistake for mistake, count in counts.items() if count == most]
        if most < len(cases) and len(nearest) != 1:
            return ""
        nearest = [mistake for mistake in nearest if mistake.is_specific] or nearest
        words = ". Or: ".join(sorted({mistake.diagnosis for mistake in nearest}))
        if isinstance(call.value, bool) and len({str(tried.value) for tried in calls}) == 1:
            return f"It is {call.value} of every case. Perhaps: {words}"
        is_guess = most < len(cases) or sum(map(self._is_wrong, calls)) == 1
        return f"This looks like a usual mistake: {words}" if is_guess else words

    def _is_wrong(self, tried: Call) -> bool:
        expected = self._runnable(self.right)(*fresh(tried.args))
        return tried.error is not None or not matches(tried.value, expected)

    def _call(self, function: Any) -> Call:
        return Call(function, self.name, self.parameters, self.is_class)

    def _tried(self, call: Call, case: tuple) -> Call:
        """The learner's function called on a case, whatever it does there."""
        tried = self._call(call.function)
        with contextlib.suppress(Wrong):
            tried(*case)
        return tried

    def _agrees(self, mistake: Mistake, call: Call, case: tuple) -> bool:
        """Whether the mistake does what the call did."""
        try:
            value = self._runnable(mistake.function)(*fresh(case))
        except Exception as error:
            return str(error) == str(call.error) and type(error) is type(call.error)
        is_value = call.error is None and call.value is not None
        return is_value and matches(call.value, value)

    def _runnable(self, answer: Any) -> Callable:
        return as_function(answer, self.right) if self.is_class else answer


def exercise(number: str, task: str, **parts: Any) -> Exercise:
    """The check of an exercise; `Exercise` says what its parts are."""
    return Exercise(number, task, **parts)


after_check: list[Callable[[Exercise, Any, Verdict], None]] = [tick]  # hear of each verdict


def _tuples(cases: Cases) -> list[tuple]:
    made = cases() if callable(cases) else cases
    return [case if isinstance(case, tuple) else (case,) for case in made]
