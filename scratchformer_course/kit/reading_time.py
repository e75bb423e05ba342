"""How many minutes a chapter takes to read, from the cells of its notebook.

What is open on the built page counts: no folded code, no live or drawn figure but its caption. An
exercise is told apart, from its heading to its worked answer.
"""

import re
from html import unescape
from typing import Any

PROSE, CODE = 170, 100  # words a minute: of prose, and of code and what it prints
GUESS, EXERCISE = 0.5, 10  # minutes
HIDES = {  # the tags of cells of which something is folded: what is open
    "hide-cell": (),
    "remove-cell": (),
    "hide-input": ("outputs",),
    "remove-input": ("outputs",),
}
HEADING = re.compile(r"^(?=#+ )", re.MULTILINE)  # before one
EXERCISES = re.compile(r"^### Exercise (\d+\.\d+) · ", re.MULTILINE)
WORKED = re.compile("# @title worked solution", re.IGNORECASE)
GUESSES = re.compile(r'<div\s[^>]*\bclass="course-guess"')
LIVE = re.compile(r'^<(div class="live-figure"|svg)')
MARKUP = re.compile(
    r"<details.*?</details>|<svg.*?</svg>|<(?:style|script).*?</(?:style|script)>|<[^>]*>"
    r"|^ *[:`]{3,}[^\n]*$|^:\w+:[^\n]*$|\{[\w.-]+\}(?=`)|\]\([^)]*\)",
    re.DOTALL | re.MULTILINE,
)
WORD = re.compile(r"\w+(?:['’.,-]\w+)*")


def text(cell: dict[str, Any]) -> str:
    """What a cell's author wrote."""
    return "".join(cell["source"])


def minutes(cells: list[dict[str, Any]]) -> int:
    """Minutes for what the cells of a notebook show, without its exercises."""
    total, in_exercise = 0.0, False
    for cell in cells:
        source = text(cell)
        if cell["cell_type"] == "markdown":
            for part in HEADING.split(source):
                if HEADING.match(part):
                    in_exercise = bool(EXERCISES.match(part))
                if not in_exercise:
                    total += words(part) / PROSE + GUESS * len(GUESSES.findall(part))
        elif not in_exercise:
            total += minutes_of_code(cell)
        if in_exercise and WORKED.match(source):
            in_exercise = False
    return round(total)


def minutes_of_code(cell: dict[str, Any]) -> float:
    """Minutes for the caption and for what is not folded of a cell and its outputs."""
    metadata = cell["metadata"]
    shown: tuple[str, ...] = ("source", "outputs")
    for tag in set(metadata.get("tags", ())) & set(HIDES):
        shown = HIDES[tag]
    caption = metadata.get("mystnb", {}).get("figure", {}).get("caption", "")
    code = words(text(cell)) if "source" in shown else 0
    if "outputs" in shown:
        code += sum(words(printed(output)) for output in cell.get("outputs", ()))
    return words(caption) / PROSE + code / CODE


def printed(output: dict[str, Any]) -> str:
    """What a reader reads of an output: nothing of a figure."""
    data = output.get("data", {})
    shown = "".join(data.get("text/html") or data.get("text/plain") or output.get("text", ""))
    return "" if LIVE.match(shown) else unescape(shown)


def words(source: str) -> int:
    """How many words, and numbers, of a piece of Markdown, HTML or code are read."""
    return len(WORD.findall(MARKUP.sub(" ", source)))
