"""Every exercise with its wrong answers, and the page that lists them.

`python -m tools.usual_mistakes` writes book/exercise_checks.md anew.
"""

import functools
import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scratchformer_course.kit.checks import Exercise, Verdict

COMMAND = "python -m tools.usual_mistakes"
ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
PAGE = ROOT / "book" / "exercise_checks.md"


CHAPTERS = [path.stem for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))]  # "08_rotary"


@dataclass(frozen=True)
class WrongAnswer:
    """A wrong answer with the words that its check must say."""

    check: str  # "01_bpe.merge_pair"
    description: str
    fragment: str
    function: Callable


def exercises(chapter: str) -> dict[str, Exercise]:
    """The chapter's exercises, by number."""
    found = vars(importlib.import_module(f"scratchformer_course.ch{chapter}.exercises")).values()
    numbered = {each.number: each for each in found if isinstance(each, Exercise)}
    return dict(sorted(numbered.items()))


EXERCISES = {
    f"{chapter}.{each.name}": each for chapter in CHAPTERS for each in exercises(chapter).values()
}
ANSWERS = [
    WrongAnswer(check, m.description, m.diagnosis, m.function)
    for check, each in EXERCISES.items()
    for m in each.mistakes
]
RIGHT = {check: each.solutions for check, each in EXERCISES.items()}


def verdict(check: str, function: object, **options) -> Verdict:
    """What the check says to this function."""
    return EXERCISES[check](function, **options)


@functools.cache
def refusal(answer: WrongAnswer) -> Verdict:
    """What its check says to a wrong answer: asked once, for its test and for the page."""
    return verdict(answer.check, answer.function)


def headings() -> dict[str, tuple[str, str]]:
    """Exercise number -> (its title, the address of its heading), from the chapters' headings."""
    found = {}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        for heading, number, title in re.findall(r'"### (Exercise ([\d.]+) · ([^"\\]+))', text):
            slug = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            found[number] = title, f"../notebooks/{path.name}#{slug}"
    return found


def chapter_titles() -> dict[str, str]:
    """Chapter number -> what its notebook is called, such as "1 · Byte-pair encoding"."""
    pattern = re.compile(r'"# (\d+) · ([^"\\]+)')
    texts = (path.read_text(encoding="utf-8") for path in NOTEBOOKS.glob("*.ipynb"))
    matches = filter(None, map(pattern.search, texts))
    return {str(int(match[1])): f"{int(match[1])} · {match[2]}" for match in matches}


def section(check: str, exercise: Exercise, title: str, address: str) -> list[str]:
    """An exercise's part of the page: a link to it, and a fold with its wrong answers."""
    lines = [
        f"(wrong-{exercise.number.replace('.', '-')})=",
        f"### {exercise.number} · {title}",
        "",
        f"[Exercise {exercise.number}]({address}) asks for `{exercise.name}`.",
        "",
        f":::{{dropdown}} {len(exercise.mistakes)} wrong answers, and what the check says",
    ]
    for answer in (answer for answer in ANSWERS if answer.check == check):
        # the second line of a message may hold line numbers: it is left out
        lines.append(f"- *{answer.description}*: {refusal(answer).message.splitlines()[0]}")
    return [*lines, ":::", ""]


def page() -> str:
    """The text of the page of wrong answers, in the order of chapters and exercises."""
    lines = [
        "# Wrong answers the exercises know",
        "",
        "Each exercise is checked on the spot. Each check is itself tested with the wrong answers "
        f"below. It must refuse all {len(ANSWERS)} of them with the words meant for them, and "
        "several right answers that are written differently must pass. Every check is also tried "
        "with an unfilled stub, a missing `return`, wrong types, exceptions, NaN, arguments "
        "changed in place and loops that never end.",
        "",
        "A fold tells what is wrong with an answer, and so it tells something of the right one. "
        "Try the exercise first.",
        "",
    ]
    titles, where = chapter_titles(), headings()
    for chapter in CHAPTERS:
        found = exercises(chapter)
        lines += [f"## {titles[next(iter(found)).split('.')[0]]}", ""]
        for number, exercise in found.items():
            lines += section(f"{chapter}.{exercise.name}", exercise, *where[number])
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(ANSWERS)} wrong answers")
