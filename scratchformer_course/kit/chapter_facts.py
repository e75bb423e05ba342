"""The facts of the chapters, from where each is kept: the notebook, and the table of contents.

A notebook's metadata holds, under `course`, what cannot be computed: the chapters it needs
(`needs`), those that help (`helped_by`), the words of its line of needs where they say more than
chapters (`needs_text`, with "{05}" for a link), and the seconds of its last execution (`seconds`,
which `tools/execute.py` writes). `can` may go on after "You can now" at the chapter's end. Title
and exercises come from its cells, minutes from `reading_time.py`, and its part from `_toc.yml`.
"""

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from scratchformer_course.kit import reading_time
from scratchformer_course.kit.reading_time import EXERCISE, EXERCISES, minutes, text

SOURCES = (__file__, reading_time.__file__)  # a page with facts is built anew after a change
TITLE = re.compile(r"# (\d\d) · (.*)\n")


class Chapter(NamedTuple):
    """A chapter; others are named by their two digits."""

    number: str  # "05"
    docname: str  # notebooks/05_averaging
    title: str  # without the number
    needs: tuple[str, ...]  # chapters to have read before
    helped_by: tuple[str, ...]  # chapters that help, and that it does without
    needs_text: str  # words for these, in which "{05}" stands for a link to chapter 05
    minutes: int  # of reading, without exercises
    seconds: int  # of running
    exercises: tuple[str, ...]  # "5.1", …
    can: str = ""  # what goes on after "You can now"

    @property
    def exercise_minutes(self) -> int:
        """What the exercises take, roughly."""
        return EXERCISE * len(self.exercises)


@lru_cache(maxsize=2)
def chapters(root: Path) -> dict[str, Chapter]:
    """All chapters of the repository at `root` by number, in order. ValueError as of `read`."""
    return {(c := read(path)).number: c for path in sorted(root.glob("notebooks/*.ipynb"))}


def read(path: Path) -> Chapter:
    """The facts of one notebook. ValueError for one without a title, or without its facts."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = notebook.get("cells", [])
    facts = notebook.get("metadata", {}).get("course", {})
    prose = "\n\n".join(text(cell) for cell in cells if cell["cell_type"] == "markdown")
    title = TITLE.match(prose)
    if not title:
        raise ValueError(f"{path.name}: no markdown cell, expected one that begins “# NN · Title”")
    if not {"needs", "seconds"} <= set(facts):
        raise ValueError(f"{path.name}: metadata course={facts}, expected needs and seconds")
    known = [*facts["needs"], *facts.get("helped_by", ())]
    words = facts.get("needs_text") or " and ".join(f"chapter {{{n}}}" for n in known)
    if missing := set(known) - set(re.findall(r"\{(\d\d)\}", words)):
        raise ValueError(f"{path.name}: needs_text={words!r} does not name {sorted(missing)}")
    return Chapter(
        number=title[1],
        docname=f"notebooks/{path.stem}",
        title=title[2].split(":")[0],
        needs=tuple(facts["needs"]),
        helped_by=tuple(facts.get("helped_by", ())),
        needs_text=words,
        minutes=minutes(cells),
        seconds=facts["seconds"],
        exercises=tuple(EXERCISES.findall(prose)),
        can=facts.get("can", ""),
    )


def line(chapter: Chapter, known: dict[str, Chapter]) -> str:
    """The line of facts below a chapter's title, as Markdown."""

    def link(match: re.Match[str]) -> str:
        return f"{{doc}}`{match[1]}{match[2]} </{known[match[2]].docname}>`"

    needs = re.sub(r"(chapter |)\{(\d\d)\}", link, chapter.needs_text)
    reading = f"about {chapter.minutes} minutes"
    if chapter.exercises:
        count = len(chapter.exercises)
        reading += f", and about {chapter.exercise_minutes} more for the {count} exercises"
    return (
        f"{{.course-facts}}\n*Needs: {needs}. Reading: {reading}. "
        f"Running: about {chapter.seconds} seconds on two CPU cores.*"
    )


def parts(root: Path) -> dict[str, list[str]]:
    """The chapters of each part of the table of contents, by the part's name."""
    import yaml

    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    chapters_of = {
        part["caption"]: re.findall(r"notebooks/(\d\d)_", str(part["chapters"]))
        for part in toc["parts"]
    }
    return {name: numbers for name, numbers in chapters_of.items() if numbers}
