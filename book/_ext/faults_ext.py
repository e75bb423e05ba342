"""A Sphinx extension: what the page of thirty silent bugs shows of the faults of chapter 23.

The symptom beside the curve, and the cause beside the faulty lines, the prices and the test:

:::{curve} missing_root
Training looks healthy, but …
:::

:::{diagnosis} missing_root
Scores are √D times too large, …
:::

The code shown is the code that is tested, and the prices are those in measurements. A patient of
the chapter's clinic has its cause there, as the live figure tells it, and who has met the fault:
its `diagnosis` has no words of its own.
"""

import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from string import Template
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

TEXTS = Path(__file__).resolve().parents[1] / "_tables"  # curve.md and diagnosis.md


class FaultDirective(SphinxDirective):
    """What is shown of a fault: Markdown, made of its name and the words on the page."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (name,), words = self.arguments, "\n".join(self.content)
        text = TEXTS / f"{self.name}.md"
        try:
            values = values_of(name, words) if self.name == "diagnosis" else {"words": words}
        except KeyError as error:
            raise self.error(f"{error} is no patient, or has no words") from error
        for module in ("clinic", "faults", "invariants", "program"):
            self.env.note_dependency(f"scratchformer_course/ch25_silent_bugs/{module}.py")
        self.env.note_dependency(str(text))
        markdown = Template(text.read_text(encoding="utf-8")).substitute(values, name=name)
        box = nodes.container()
        self.state.nested_parse(StringList(markdown.splitlines()), self.content_offset, box)
        return box.children


def values_of(name: str, cause: str) -> dict[str, str]:
    """The cause, its repair, its prices, which tests find it, and perhaps who has met it."""
    from scratchformer_course.ch25_silent_bugs.clinic import CLINIC
    from scratchformer_course.ch25_silent_bugs.faults import FAULTS

    fault, met = FAULTS[name], ""
    if not cause:
        case = CLINIC[name]
        cause = case.cause
        where = "A near relation in public" if case.near else "In public"
        met = f"**{where}.** {case.event} See [{thread_name(case.thread)}]({case.thread})."
    return {
        "title": fault.title,
        "cause": cause,
        "part": fault.function.__qualname__,
        "repair": "\n".join(fault.diff()),
        "setting": fault.setting,
        "how": fault.how,
        "trained": str(fault.trained).lower(),
        "invariant": inspect.getdoc(fault.invariant) or "",
        "test": "\n".join(code_of(fault.invariant)),
        "met": met,
    }


def code_of(function: Callable) -> list[str]:
    """The lines of a function without its decorators and its docstring."""
    source = inspect.getsource(function).replace("  # type: ignore", "")
    lines = textwrap.dedent(source).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def "))
    body = start + 1 + 1 + (function.__doc__ or "").count("\n")
    return [lines[start], *lines[body:]]


def thread_name(address: str) -> str:
    """A thread on GitHub in words, by its repository, its kind and its number."""
    owner, repository, kind, number = address.removeprefix("https://github.com/").split("/")
    return f"{owner}/{repository}, {'issue' if kind == 'issues' else 'pull request'} {number}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the two directives."""
    app.add_directive("curve", FaultDirective)
    app.add_directive("diagnosis", FaultDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
