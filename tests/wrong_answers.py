"""Every exercise with its wrong answers, and the page that lists them.

`python tests/wrong_answers.py` writes book/exercise_checks.md anew.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scratchformer import checks
from scratchformer.checks.engine import GENERAL, Exercise

COMMAND = "python tests/wrong_answers.py"
PAGE = Path(__file__).parents[1] / "book" / "exercise_checks.md"


@dataclass(frozen=True)
class WrongAnswer:
    """A wrong answer with the words that its check must say."""

    check: str  # "bpe.merge_pair"
    description: str
    fragment: str
    function: Callable


def exercises(chapter: str) -> dict[str, Exercise]:
    """The chapter's exercises that are data, by number."""
    found = vars(getattr(checks, chapter)).values()
    numbered = {each.number: each for each in found if isinstance(each, Exercise)}
    return dict(sorted(numbered.items()))


EXERCISES = {
    f"{chapter}.{each.name}": each
    for chapter in checks.CHAPTERS
    for each in exercises(chapter).values()
}
ANSWERS = [
    WrongAnswer(check, m.description, m.diagnosis.lstrip(GENERAL + " "), m.function)
    for check, each in EXERCISES.items()
    for m in each.mistakes
]
RIGHT = {check: each.solutions for check, each in EXERCISES.items()}


def verdict(check: str, function: object, **options) -> checks.Verdict:
    """What the check says to this function."""
    return EXERCISES[check](function, **options)


def page() -> str:
    """The text of the page of wrong answers, in the order of chapters and exercises."""
    lines = [
        "# Wrong answers the exercises know",
        "",
        "Each exercise is checked on the spot, and each check is itself tested with the wrong "
        f"answers below: all {len(ANSWERS)} must be refused, each with the words meant for it, and "
        "several differently written right answers must pass. Beyond these, every check is tried "
        "with an unfilled stub, a missing `return`, wrong types, exceptions, NaN, arguments "
        "changed in place and loops that never end.",
    ]
    for chapter in checks.CHAPTERS:
        rows = []
        for answer in ANSWERS:
            if answer.check.startswith(f"{chapter}."):
                said = verdict(answer.check, answer.function)
                name = answer.check.split(".")[1]
                # The second line of a message may hold line numbers: it is left out.
                words = f"**{said.state}:** {said.message.splitlines()[0]}"
                cells = (f"{said.exercise} `{name}`", answer.description, words)
                rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        number = rows[0].split()[1].split(".")[0]
        lines += ["", f"## Chapter {number}", "", "| Exercise | Wrong answer | Verdict |"]
        lines += ["|---|---|---|", *sorted(rows, key=lambda row: row.split()[1])]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(ANSWERS)} wrong answers")
