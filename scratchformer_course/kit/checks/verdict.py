"""What a check answers: a `Verdict`, and how a check says that an answer is wrong.

It knows no exercise and calls no learner's function.
"""

import html
import re
from dataclasses import dataclass
from typing import Any

COLOURS = {"passed": "#2e8b57", "not yet": "#8a7428", "try again": "#c8553d"}
COLOURS |= {"not here": "#5b6b8c"}  # something is missing where the check runs


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a check answers; true when the exercise is passed."""

    exercise: str  # such as "1.2"
    state: str  # "passed", "not yet" (the stub is unfilled), "try again", in a page also "not here"
    message: str  # one or two lines

    def __bool__(self) -> bool:
        return self.state == "passed"

    def __repr__(self) -> str:
        return f"Exercise {self.exercise}, {self.state}: {self.message}"

    def _repr_html_(self) -> str:
        # No background and no text colour of its own: readable on light and on dark pages.
        code = r"<code style='background:none;color:inherit'>\1</code>"
        parts = re.split(r"(`[^`]+`)", html.escape(self.message))
        for i in range(0, len(parts), 2):  # outside of code
            parts[i] = re.sub(r"\*(\w[^*\n]*)\*", r"<em>\1</em>", parts[i])
        text = re.sub(r"`([^`]+)`", code, "".join(parts)).replace("\n", "<br>")
        style = f"border-left:4px solid {COLOURS[self.state]};padding:0.2em 0.8em;color:inherit"
        return f"<div style='{style}'><b>Exercise {self.exercise}, {self.state}.</b> {text}</div>"


class Wrong(Exception):
    """Ends a check; carries the diagnosis, and "not yet" when the stub is unfilled."""

    def __init__(self, diagnosis: str, state: str = "try again"):
        super().__init__(diagnosis)
        self.state = state


def expect(condition: Any, diagnosis: str) -> None:
    """Raise `Wrong(diagnosis)` unless the condition holds."""
    if not condition:
        raise Wrong(diagnosis)
