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
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class FaultDirective(SphinxDirective):
    """What is shown of a fault: Markdown, made of its name and the words on the page."""

    has_content = True
    required_arguments = 1
    markdown: Callable[[str, str], str]

    def run(self) -> list[nodes.Node]:
        (name,), words = self.arguments, "\n".join(self.content)
        try:
            text = self.markdown(name, words)
        except KeyError as error:
            raise self.error(f"{error} is no patient, or has no words") from error
        for module in ("clinic", "faults", "invariants", "program"):
            self.env.note_dependency(f"scratchformer_course/ch23_silent_bugs/{module}.py")
        box = nodes.container()
        self.state.nested_parse(StringList(text.splitlines()), self.content_offset, box)
        return box.children


def curve(name: str, symptom: str) -> str:
    """The symptom, beside the curves of patient and twin."""
    return f""":::::{{grid}} 1 1 2 2
::::{{grid-item}}
{symptom}
::::
::::{{grid-item}}
:::{{drawing}} ch23_silent_bugs.appendix curves {name}
:::
::::
:::::
"""


def diagnosis(name: str, cause: str) -> str:
    """The cause, its repair, its prices, which tests find it, and perhaps who has met it."""
    from scratchformer_course.ch23_silent_bugs.clinic import CLINIC
    from scratchformer_course.ch23_silent_bugs.faults import FAULTS

    fault, met = FAULTS[name], ""
    if not cause:
        case = CLINIC[name]
        cause = case.cause
        where = "A near relation in public" if case.near else "In public"
        met = f"**{where}.** {case.found} See [{thread_name(case.thread)}]({case.thread})."
    repair, test = "\n".join(fault.diff()), "\n".join(code_of(fault.invariant))
    own, twin = f"silent_bugs.patients.{name}", f"silent_bugs.twins.{fault.setting}"
    trained = str(fault.trained).lower()
    return f"""**{fault.title}.** {cause} The repair, in `{fault.function.__qualname__}`:

```diff
{repair}
```

:::{{measured}}
{{% from "patients.md" import prices, found_by %}}
{{{{ prices({own}, {twin}, "{fault.setting}", "{fault.how}", {trained}) }}}}

**With {{doc}}`diagnose <diagnosis>`.** {{{{ found_by(diagnoses.patients.{name}) }}}}
:::

**The test that finds it.** {inspect.getdoc(fault.invariant)}

```python
{test}
```

{met}
"""


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


class CurveDirective(FaultDirective):
    markdown = staticmethod(curve)


class DiagnosisDirective(FaultDirective):
    markdown = staticmethod(diagnosis)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the two directives."""
    app.add_directive("curve", CurveDirective)
    app.add_directive("diagnosis", DiagnosisDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
