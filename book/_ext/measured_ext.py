"""A Sphinx extension: measured numbers in pages that are written by hand.

A value in a sentence, and a table whose rows come from a loop:

{measured}`forecast.corpora.playhouse.large | mean("losses.val") | fixed(3)`

:::{measured}
:check: |
:   taken_apart.splits.validation.counts["6"] < 1.6
| characters in a string | loss |
|---|---|
{% for n, loss in taken_apart.splits.validation.counts | items %}
| {{ n }} | {{ loss | fixed(3) }} |
{% endfor %}
:::

Expressions are Jinja's, in its sandbox. measurements/NAME.json is the variable NAME, and the macros
of book/_tables can be imported. What follows `check`, an expression a line, must be true: it holds
the words of the sentence beside it, and a directive may consist of checks alone. A missing value,
a failed check, and a file whose stored settings are not those of its script end the build, with the
command that makes the file.
"""

import importlib
import json
import math
import statistics
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from jinja2 import FileSystemLoader, StrictUndefined, meta
from jinja2.sandbox import SandboxedEnvironment
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import SphinxDirective, SphinxRole

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "scratchformer_course" / "measurements"
TABLES = ROOT / "book" / "_tables"


class MeasurementError(SphinxError):
    """What a page asks for is missing, not true any more, or measured with other settings."""

    category = "Measured"


# --- filters: a path such as "losses.val" leads from each row to its number ----------------------


def column(rows: Iterable | dict, path: str = "") -> list[float]:
    """The numbers of a list, or of a dictionary's values, or those to which `path` leads."""
    values = list(rows.values() if isinstance(rows, dict) else rows)
    for key in filter(None, path.split(".")):
        values = [row[int(key) if isinstance(row, list) else key] for row in values]
    return values


def mean(rows: Iterable | dict, path: str = "") -> float:
    return statistics.mean(column(rows, path))


def median(rows: Iterable | dict, path: str = "") -> float:
    return statistics.median(column(rows, path))


def least(rows: Iterable | dict, path: str = "") -> float:
    return min(column(rows, path))


def greatest(rows: Iterable | dict, path: str = "") -> float:
    return max(column(rows, path))


def where(rows: Iterable[dict], **values: Any) -> dict:
    """The one row with these values. Raises ValueError if there is none, or another."""
    same = [row for row in rows if all(row.get(key) == value for key, value in values.items())]
    if len(same) != 1:
        raise ValueError(f"{len(same)} rows have {values}, expected 1")
    return same[0]


def fixed(x: float, digits: int) -> str:
    """So many digits after the point, and a comma between thousands."""
    return f"{x:,.{digits}f}"


def figure(x: float) -> str:
    """Three digits, or all those before the point."""
    return fixed(x, max(0, 2 - math.floor(math.log10(x))))


def spread(rows: Iterable | dict, digits: int, path: str = "") -> str:
    """The least and the greatest: "a to b", or "a" where both are written alike."""
    ends = dict.fromkeys(fixed(pick(column(rows, path)), digits) for pick in (min, max))
    return " to ".join(ends)


def plain(x: float) -> str:
    """As short as it can be written: 0.03, 1e-05."""
    return f"{x:g}"


ENVIRONMENT = SandboxedEnvironment(
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    loader=FileSystemLoader(TABLES),
)
FILTERS = (column, mean, median, least, greatest, where, fixed, figure, spread, plain)
ENVIRONMENT.filters.update({function.__name__: function for function in FILTERS})


# --- values --------------------------------------------------------------------------------------


def command(name: str) -> str:
    """What makes a measurement: one command, or those of the script's STAGES."""
    stages = getattr(sys.modules.get(f"lab.{name}"), "STAGES", ("--write",))
    commands = " and then ".join(f"`python -m lab.{name} {options}`" for options in stages)
    return f"{commands} makes measurements/{name}.json"


@cache
def load(name: str) -> dict[str, Any]:
    """A measurement. Raises MeasurementError if there is no such file."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        raise MeasurementError(f"there is no measurements/{name}.json: {command(name)}")
    return json.loads(path.read_text(encoding="utf-8"))


def names_in(template: str) -> list[str]:
    """The measurements that a template asks for."""
    return sorted(meta.find_undeclared_variables(ENVIRONMENT.parse(template)))


def rendered(template: str) -> str:
    """The template with its values. Raises MeasurementError if one is missing, and says which."""
    names: list[str] = []
    try:
        names = names_in(template)
        return ENVIRONMENT.from_string(template).render({name: load(name) for name in names})
    except MeasurementError:
        raise
    except Exception as error:  # whatever an expression of a page may raise
        commands = "; ".join(map(command, names))
        raise MeasurementError(f"{template.strip()}\n  {error}; {commands}") from error


def require(expression: str) -> None:
    """Raises MeasurementError if an expression is not true."""
    if rendered(f"{{{{ {expression} }}}}") != "True":
        commands = "; ".join(map(command, names_in(f"{{{{ {expression} }}}}")))
        raise MeasurementError(f"not true any more: {expression}\n  {commands}")


def differing_settings(name: str) -> list[str]:
    """The settings in which a measurement differs from its script, lab/NAME.py."""
    stored = load(name).get("settings", {})
    script = importlib.import_module(f"lab.{name}")
    current = json.loads(json.dumps(getattr(script, "SETTINGS", {})))
    return [key for key in {**stored, **current} if stored.get(key) != current.get(key)]


def require_same_settings(app: Sphinx | None = None) -> None:
    """`builder-inited`: pages and notebooks quote nothing that was measured with other settings.

    Raises MeasurementError with the command that measures it again.
    """
    load.cache_clear()
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    for path in sorted(FOLDER.glob("*.json")):
        if keys := differing_settings(path.stem):
            raise MeasurementError(
                f"measurements/{path.name} was measured with other settings than those of "
                f"lab/{path.stem}.py ({', '.join(keys)}): {command(path.stem)}"
            )


# --- on a page -----------------------------------------------------------------------------------


class OnPage:
    """What role and directive share."""

    env: Any
    lineno: int

    def on_page(self, template: str, check: str = "") -> str:
        """The template with its values, whose files the page depends on; `check` is true."""
        expressions = [line.strip() for line in check.splitlines() if line.strip()]
        try:
            text = rendered(template)
            for expression in expressions:
                require(expression)
        except MeasurementError as error:
            place = f"{self.env.docname}, line {self.lineno}"
            raise MeasurementError(f"{place}: {error}") from error
        for name in names_in(
            "".join([template, *(f"{{{{ {expression} }}}}" for expression in expressions)])
        ):
            self.env.note_dependency(str(FOLDER / f"{name}.json"))
        for path in TABLES.glob("*"):
            self.env.note_dependency(str(path))
        return text


class MeasuredRole(SphinxRole, OnPage):
    """The value of an expression, within a sentence."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [nodes.Text(self.on_page(f"{{{{ {self.text} }}}}"))], []


class MeasuredDirective(SphinxDirective, OnPage):
    """A template of Markdown with its values, and checks of the words beside it."""

    has_content = True
    option_spec: ClassVar[dict] = {"check": str}

    def run(self) -> list[nodes.Node]:
        text = self.on_page("\n".join(self.content), self.options.get("check", ""))
        box = nodes.container()
        self.state.nested_parse(StringList(text.splitlines()), self.content_offset, box)
        return box.children


def setup(app: Sphinx) -> dict[str, Any]:
    """Register role and directive; settings are compared before the first page is read."""
    app.add_role("measured", MeasuredRole())
    app.add_directive("measured", MeasuredDirective)
    app.connect("builder-inited", require_same_settings)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
