"""A fault beside its healthy twin: what it replaces, what would have found it."""

import difflib
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from scratchformer_course.ch23_silent_bugs.program import Program, Setting

# What each healthy twin is trained on, and with; the patients say which of them is theirs.
TWINS = {
    "plain": Setting(),
    "modern": Setting(sizes={"rotary": True, "n_kv_heads": 2, "window": 8}),
    "lines": Setting(lines=True, micro_batches=4),
    "dropout": Setting(sizes={"dropout": 0.1}),
    "resumed": Setting(resumed=True),
    "little": Setting(characters=20_000),
    "subwords": Setting(tokens="subwords", characters=200_000),
}


@dataclass(frozen=True)
class Patient:
    """A fault. `part` names what it replaces, `twin` the setting in which it shows.

    `how` says how a right evaluation uses the model (see `scores.right`), and `trained` whether
    training differs from the twin's: where it does not, the twin's weights serve.
    """

    name: str
    title: str
    place: str  # where the fault lives: attention, cache, block, text, training, file or writing
    part: str
    faulty: Callable
    invariant: Callable[[Program], None]
    twin: str = "plain"
    how: str = "pass"
    trained: bool = True
    short: str = ""  # for a row of a figure; else the name will do

    @property
    def healthy(self) -> Program:
        """The twin."""
        return Program(TWINS[self.twin])

    @property
    def program(self) -> Program:
        """The twin with the fault."""
        return self.healthy.with_part(self.part, self.faulty)

    def code(self) -> tuple[list[str], list[str]]:
        """The lines of the broken part that differ from the healthy one's, and those repaired."""
        lines = list(difflib.ndiff(body(self.faulty), body(self.healthy.part(self.part))))
        return [x[2:] for x in lines if x[0] == "-"], [x[2:] for x in lines if x[0] == "+"]

    def diff(self) -> list[str]:
        """The repair as a diff, with at most two lines around each change."""
        pair = body(self.faulty), body(self.healthy.part(self.part))
        lines = list(difflib.unified_diff(*pair, n=2, lineterm=""))[2:]
        return ["…" if line.startswith("@@") else line for line in lines][1:]


def body(part: Callable) -> list[str]:
    """The lines of a function, or of a class's `forward`, without its head and docstring."""
    function = vars(part)["forward"] if inspect.isclass(part) else part
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    first = next(i for i, line in enumerate(lines) if line.endswith(":")) + 1
    if function.__doc__:
        first += 1 + function.__doc__.count("\n")
    return textwrap.dedent("\n".join(lines[first:])).splitlines()
