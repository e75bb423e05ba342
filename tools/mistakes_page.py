"""All exercises, chapter by chapter, and the page that lists their usual mistakes.

`python -m tools.mistakes_page` writes book/exercise_checks.md anew.
"""

import functools
import importlib
import re
from pathlib import Path

from scratchformer_course.kit.checks import Exercise, Mistake, Verdict

COMMAND = "python -m tools.mistakes_page"
PATIENCE = 60.0  # seconds for a check: a busy machine is no mistake
ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
PAGE = ROOT / "book" / "exercise_checks.md"


def exercises(chapter: str) -> list[Exercise]:
    """The exercises of a chapter, such as "08_rotary", by number."""
    table = importlib.import_module(f"scratchformer_course.ch{chapter}.exercises")
    found = [each for each in vars(table).values() if isinstance(each, Exercise)]
    return sorted(found, key=lambda each: each.number)


EXERCISES = {path.stem: exercises(path.stem) for path in NOTEBOOKS}


@functools.cache
def refusal(exercise: Exercise, mistake: Mistake) -> Verdict:
    """What an exercise says to a usual mistake: asked once, for its test and for the page."""
    return exercise(mistake.function, limit=PATIENCE)


def headings(text: str) -> dict[str, tuple[str, str]]:
    """Exercise number -> (its title, the anchor of its heading), from a notebook's text."""
    found = {}
    for heading, number, title in re.findall(r'"### (Exercise ([\d.]+) · ([^"\\]+))', text):
        found[number] = title, re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
    return found


def section(exercise: Exercise, title: str, address: str) -> list[str]:
    """An exercise's part of the page: a link to it, and a fold with its wrong answers."""
    # the second line of a message may hold line numbers: it is left out
    said = [(m, refusal(exercise, m).message.splitlines()[0]) for m in exercise.mistakes]
    return [
        f"(wrong-{exercise.number.replace('.', '-')})=",
        f"### {exercise.number} · {title}",
        "",
        f"[Exercise {exercise.number}]({address}) asks for `{exercise.name}`.",
        "",
        f":::{{dropdown}} {len(exercise.mistakes)} wrong answers, and what the check says",
        *(f"- *{mistake.description}*: {message}" for mistake, message in said),
        ":::",
        "",
    ]


def page() -> str:
    """The text of the page of wrong answers, in the order of chapters and exercises."""
    number = sum(len(each.mistakes) for found in EXERCISES.values() for each in found)
    lines = [
        "# Wrong answers the exercises know",
        "",
        "Each exercise is checked on the spot. Each check is itself tested with the wrong answers "
        f"below. It must refuse all {number} of them with the words meant for them, and "
        "several right answers that are written differently must pass. What can go wrong in any "
        "exercise is tested once, on the engine behind all checks: an unfilled stub, a missing "
        "`return`, wrong types, exceptions, NaN, arguments changed in place and loops that never "
        "end.",
        "",
        "A fold tells what is wrong with an answer, and so it tells something of the right one. "
        "Try the exercise first.",
        "",
    ]
    for path in NOTEBOOKS:
        text = path.read_text(encoding="utf-8")
        chapter, title = re.findall(r'"# (\d+) · ([^"\\]+)', text)[0]
        lines += [f"## {int(chapter)} · {title}", ""]
        for exercise in EXERCISES[path.stem]:
            heading, anchor = headings(text)[exercise.number]
            lines += section(exercise, heading, f"../notebooks/{path.name}#{anchor}")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name} is written")
