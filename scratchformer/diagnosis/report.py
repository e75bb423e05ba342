"""What a diagnosis found: a verdict for each test, in plain words and as a row of marks."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

MARKS = {"failed": "✗", "noted": "•", "passed": "✓", "left out": "–"}


@dataclass(frozen=True)
class Finding:
    """One test: its name, a verdict out of MARKS, what was measured, and the usual mistakes.

    What is noted is true of the model, and harmless if it is meant: it makes no report unhealthy.
    `suspects` are the mistakes that leave such a trace, the likeliest first. They are guesses.
    """

    test: str
    verdict: str
    measured: str
    suspects: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{MARKS[self.verdict]} {self.test}: {self.measured}", *self.suspects]
        return "\n    often: ".join(lines)


@dataclass(frozen=True)
class Report:
    """The findings of a diagnosis, in the order of the tests. A notebook shows it as marks."""

    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether no test failed."""
        return not self.faults

    @property
    def faults(self) -> list[str]:
        """The names of the tests that failed."""
        return [finding.test for finding in self.findings if finding.verdict == "failed"]

    def __getitem__(self, test: str) -> Finding:
        """The finding of a test. Raises KeyError for a name that no test has."""
        return {finding.test: finding for finding in self.findings}[test]

    def __str__(self) -> str:
        first = {"failed": 0, "noted": 1}
        ordered = sorted(self.findings, key=lambda f: first.get(f.verdict, 2))
        return "\n".join([self._summary(), *map(str, ordered)])

    def _summary(self) -> str:
        n = {mark: sum(f.verdict == mark for f in self.findings) for mark in MARKS}
        head = "healthy" if self.healthy else f"{n['failed']} tests failed"
        noted = f", {n['noted']} noted" if n["noted"] else ""
        return f"{head}: {n['passed']} passed, {n['left out']} left out{noted}"

    def _repr_html_(self) -> str:
        style, row = "display:inline-block; margin:2px; padding:1px 6px; border-radius:4px;", ""
        for f in self.findings:
            box = f"{style} border:{3 if f.verdict == 'failed' else 1}px solid currentColor"
            mark = f'<span role="img" aria-label="{f.verdict}">{MARKS[f.verdict]}</span>'
            row += f'<li title="{escape(f.measured)}" style="{box}">{mark} {escape(f.test)}</li>'
        row = f'<ul aria-label="tests" style="list-style:none; padding:0">{row}</ul>'
        shown = [f for f in self.findings if f.verdict in ("failed", "noted")]
        text = escape("\n".join(map(str, shown)))
        return f'<p>{self._summary()}</p>{row}<pre style="white-space:pre-wrap">{text}</pre>'


@dataclass(frozen=True)
class Outcome:
    """What a test returns: whether its sentence holds (None: left out), and what it measured.

    `suspects` are the mistakes that leave such a trace; a report names them if it does not hold.
    With `noted` it does not, and is harmless if it is meant.
    """

    holds: bool | None
    measured: str
    suspects: Sequence[str] = ()
    noted: bool = False


@dataclass(frozen=True)
class Test:
    """A function that judges a case, and the one whose failure would explain its own."""

    run: Callable[..., Outcome]
    after: Callable[..., Outcome] | None = None


def run_tests(tests: Iterable[Test], *case: Any) -> Report:
    """Each test's finding, by the name of its function.

    A test is left out if the one that it comes after failed, or was left out for that reason. An
    error inside a test is a finding: the model ran before.
    """
    findings, unjudged = [], set()
    for test in tests:
        after = test.after if test.after in unjudged else None
        if after:
            outcome = Outcome(None, f"can be judged when {_name(after)} holds")
        else:
            try:
                outcome = test.run(*case)
            except Exception as error:
                outcome = Outcome(False, f"raised {type(error).__name__}: {error}")
        verdict = "passed" if outcome.holds else "noted" if outcome.noted else "failed"
        verdict = "left out" if outcome.holds is None else verdict
        if verdict == "failed" or after:
            unjudged.add(test.run)
        suspects = tuple(outcome.suspects) if verdict in ("failed", "noted") else ()
        findings.append(Finding(_name(test.run), verdict, outcome.measured, suspects))
    return Report(tuple(findings))


def _name(test: Callable) -> str:
    return test.__name__.replace("_", " ")
