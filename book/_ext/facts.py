"""What the chapters say of themselves: their titles, what they need, their minutes and exercises.

The first cell of a chapter holds a line of facts, and that line is the only source: the welcome
page's cards, routes and map are made from it at each build. It knows nothing of Sphinx.
"""

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[2]
FACTS = re.compile(
    r"Needs: (?P<needs>.*?) Reading: about (?P<minutes>\d+) minutes\. "
    r"Running: about (?P<seconds>\d+) seconds"
)
CHAPTER = re.compile(r"<(?:/notebooks/)?(\d\d)_\w+>")
EXERCISE = re.compile(r"^### Exercise (\d+\.\d+) · ", re.MULTILINE)


class Chapter(NamedTuple):
    """A chapter; others are named by their two digits."""

    number: str  # "05"
    docname: str  # notebooks/05_averaging
    title: str  # without the number
    needs: tuple[str, ...]  # chapters to have read before
    helped_by: tuple[str, ...]  # chapters that help, and that it does without
    minutes: int  # of reading
    seconds: int  # of running
    exercises: tuple[str, ...]  # "5.1", …


@lru_cache(maxsize=1)
def chapters(root: Path = ROOT) -> dict[str, Chapter]:
    """All chapters by number, in order. ValueError for one without a title or a line of facts."""
    return {(c := read(path)).number: c for path in sorted(root.glob("notebooks/*.ipynb"))}


def read(path: Path) -> Chapter:
    """The facts of one notebook."""
    cells = json.loads(path.read_text(encoding="utf-8")).get("cells", [])
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    if not texts:
        raise ValueError(f"{path.name}: no markdown cell, expected one with a title and the facts")
    title = re.match(r"# (\d\d) · (.*)\n", texts[0])
    facts = FACTS.search(" ".join(texts[0].split()))
    if not title or not facts:
        raise ValueError(f"{path.name}: no title or no line of facts in its first cell")
    needs, helped_by = split_needs(facts["needs"])
    return Chapter(
        number=title[1],
        docname=f"notebooks/{path.stem}",
        title=title[2].split(":")[0],
        needs=needs,
        helped_by=helped_by,
        minutes=int(facts["minutes"]),
        seconds=int(facts["seconds"]),
        exercises=tuple(EXERCISE.findall("\n\n".join(texts))),
    )


def split_needs(line: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The chapters that a line of facts needs, and those that it says help."""
    needs, helped_by = [], []
    for clause in re.split(r"[;.]", line):
        if "not needed" not in clause:
            (helped_by if "helps" in clause else needs).extend(CHAPTER.findall(clause))
    return tuple(sorted(needs)), tuple(sorted(helped_by))


def parts(root: Path = ROOT) -> dict[str, list[str]]:
    """The chapters of each part of the table of contents, by the part's name."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    found = {
        part["caption"]: [
            number[1]
            for page in part["chapters"]
            if (number := re.match(r"notebooks/(\d\d)_", page["file"]))
        ]
        for part in toc["parts"]
    }
    return {name: numbers for name, numbers in found.items() if numbers}


def taken_for_granted(route: list[str]) -> list[str]:
    """What the chapters of a route need, and the route does not hold before them."""
    known = chapters()
    return sorted(
        {
            need
            for i, number in enumerate(route)
            for need in known[number].needs
            if need not in route[:i]
        }
    )


def missing_arrows() -> set[tuple[str, str]]:
    """Needs that other needs imply, as (needed, chapter): the map leaves these arrows out."""
    known = chapters()

    def before(number: str) -> set[str]:
        return {p for need in known[number].needs for p in {need, *before(need)}}

    return {
        (need, chapter.number)
        for chapter in known.values()
        for need in chapter.needs
        if any(need in before(other) for other in chapter.needs if other != need)
    }


def pages_address(repository: str) -> str:
    """The GitHub Pages address of `https://github.com/owner/name`, with a slash at its end."""
    owner, name = repository.rstrip("/").split("/")[-2:]
    site = f"{owner}.github.io"
    return f"https://{site}/" if name.lower() == site.lower() else f"https://{site}/{name}/"
