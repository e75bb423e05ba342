"""A question that an exercise asks on the page, where no code can be run.

`number(…)` asks for one number of a case that is small enough for paper. `which(…)` shows a wrong
answer of the exercise's own table, and asks what is wrong with it; a right one is never shown.
Both take all that they know from the table: nothing in a question was computed by hand.
"""

import ast
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scratchformer_course.kit.checks.engine import Exercise
from scratchformer_course.kit.checks.mistakes import Answer, Mistake
from scratchformer_course.kit.checks.sandbox import seeded


@dataclass(frozen=True)
class Number:
    """A question for one number: what is asked, and how an answer's number is found."""

    text: str
    probe: Callable[[Any], Any]  # of the learner's function or class
    digits: int = 2  # behind the point

    def export(self, exercise: Exercise) -> dict[str, Any]:
        """The right number, and each wrong one that exactly one diagnosis explains.

        A mistake that raises an error, gives no finite number, or gives the right one is left out,
        and so are two that differ in their diagnosis but not in their number.
        """
        right = self.of(exercise.right)
        if right is None:
            raise ValueError(f"exercise {exercise.number}: the right answer gives no number")
        messages: dict[str, set[str]] = {}
        for mistake in exercise.mistakes:
            got = self.of(mistake.function)
            if got is not None and got != right:
                messages.setdefault(got, set()).add(diagnosis(exercise, mistake))
        wrong = {got: texts.pop() for got, texts in messages.items() if len(texts) == 1}
        return {
            "kind": "number",
            "ask": self.text,
            "digits": self.digits,
            "right": right,
            "wrong": dict(sorted(wrong.items(), key=lambda pair: float(pair[0]))),
        }

    def of(self, answer: Answer) -> str | None:
        """The number that an answer gives, as it is written; None if it gives none."""
        try:
            with seeded():
                value = float(self.probe(answer))
        except Exception:  # a mistake may also crash
            return None
        return f"{value + 0.0:.{self.digits}f}" if math.isfinite(value) else None


@dataclass(frozen=True)
class Which:
    """A question which mistake an answer makes.

    Mistakes are named by their descriptions; the diagnoses of the `others` stand beside the right
    one. What is shown must be short, and use nothing but its arguments and the chapter's imports.
    """

    wrong: str
    others: Sequence[str]
    text: str = "This answer is wrong. What is wrong with it?"

    def export(self, exercise: Exercise) -> dict[str, Any]:
        """The code of the answer, and the reasons to choose from, by the alphabet."""
        mistakes = {mistake.description: mistake for mistake in exercise.mistakes}
        names = (self.wrong, *self.others)
        if unknown := [name for name in names if name not in mistakes]:
            raise ValueError(f"exercise {exercise.number} has no mistake {unknown[0]!r}")
        reasons = [diagnosis(exercise, mistakes[name]) for name in names]
        return {
            "kind": "which",
            "ask": self.text,
            "code": source(mistakes[self.wrong].function, exercise.name),
            "reasons": sorted(reasons),
            "reason": sorted(reasons).index(reasons[0]),
        }


number, which = Number, Which  # as a table writes them


def diagnosis(exercise: Exercise, mistake: Mistake) -> str:
    """What the check says of a mistake; asked of it, where the table only quotes some words."""
    if not mistake.is_quoted:
        return mistake.diagnosis
    return exercise(mistake.function, limit=60.0).message.splitlines()[0].rstrip(".")


def source(answer: Answer, name: str) -> str:
    """The code of a function, a class or a lambda, under the name that the exercise asks for."""
    if answer.__name__ != "<lambda>":
        code = textwrap.dedent(inspect.getsource(answer))
        return re.sub(rf"\b{answer.__name__}\b", name, code).rstrip()
    line = answer.__code__.co_firstlineno
    tree = ast.parse(Path(answer.__code__.co_filename).read_text(encoding="utf-8"))
    (node,) = (x for x in ast.walk(tree) if isinstance(x, ast.Lambda) and x.lineno == line)
    return f"def {name}({ast.unparse(node.args)}):\n    return {ast.unparse(node.body)}"
