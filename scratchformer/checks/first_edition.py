"""The first edition's form of a check, for chapters that are not yet in the form of `engine`.

The last chapter that is rewritten deletes this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scratchformer.checks.call import Call as NewCall
from scratchformer.checks.compare import difference, same
from scratchformer.checks.sandbox import LIMIT, Worker, own_randomness
from scratchformer.checks.verdict import Verdict, Wrong, expect
from scratchformer.checks.words import words

__all__ = ["Call", "Wrong", "exercise", "expect"]


def exercise(number: str, parameters: str) -> Callable:
    """Turn a body `body(call, *given)` into a check `check(function, *given, limit=5.0)`.

    `parameters` names what the learner's function takes. The body may return the words of praise.
    The check always returns a `Verdict` and leaves the global random states as they were.
    """

    def decorate(body: Callable) -> Callable:
        name = body.__name__

        def check(function: Any, *given: Any, limit: float = LIMIT) -> Verdict:
            call = Call(function, name, parameters.split(", "))

            def work() -> Verdict:
                try:
                    call.inspect()
                    praise = body(call, *given)
                    calls = f" in all {call.count} calls" if call.count > 1 else ""
                    default = f"`{name}` gives the right answer{calls}."
                    return Verdict(number, "passed", praise or default)
                except Wrong as wrong:
                    return Verdict(number, wrong.state, str(wrong))
                except Exception as error:  # an object that misbehaves when it is looked at
                    why = f"what `{name}` returned cannot be examined ({words(error)})."
                    return Verdict(number, "try again", why)

            with own_randomness():
                worker = Worker(work, limit)
                worker.start()
                stopped = worker.finish()
            if not worker.problem:
                return worker.result
            why = f"`{call}` {worker.problem}: is there a loop that never ends?"
            if not stopped:
                why += "\nIt cannot be stopped and still runs: restart the kernel or the program."
            return Verdict(number, "try again", why)

        check.__name__ = check.__qualname__ = name
        check.__doc__, check.__module__ = body.__doc__, body.__module__
        return check

    return decorate


class Call(NewCall):
    """A call that names the wrong values it knows."""

    def gives(self, expected: Any, *mistakes: tuple[Any, str]) -> None:
        """Raise `Wrong` unless the value equals `expected`, with the diagnosis of the mistake.

        A mistake is (wrong value, diagnosis) or (exception class, diagnosis). The kind and shape
        needed, and whether integers are, is read off `expected`.
        """
        for wrong, why in mistakes:
            if isinstance(wrong, type) and isinstance(self.error, wrong):
                raise Wrong(f"{why}.\n{self.failure()}")
        got = self.like(expected)
        if not same(got, expected):
            why = next((f"{why}.\n" for wrong, why in mistakes if same(got, wrong)), "")
            raise Wrong(f"{why}`{self}` {difference(got, expected)}.")
