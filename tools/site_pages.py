"""What `make epub` and `make cards` are made of: the articles of the built site."""

import re
import sys
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from tools.pdf import SITE

KEPT = "<i>kept {}</i>"  # what stands for a drawing in an article
SVG = re.compile(r"<svg\b(.*?)>(.*?</svg>)", re.DOTALL)
SPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
BY_STYLE = re.compile(r'class="(flow|course-map|sd-)')  # black without the site's styles
COLOUR = re.compile(r"var\(--[\w-]+, *([^()]+)\)")  # few programs for books know variables
CODE = re.compile(r'<span class="\w{1,3}">([^<]*)</span>')


def read_page(site: Path, name: str, coloured: bool = True) -> tuple[Any, list[str]]:
    """The article of a page, its code `coloured` or plain, and its drawings in their order.

    Drawings are XML, and a parser of HTML would take their capitals away.
    """
    kept: list[str] = []

    def keep(svg: re.Match[str]) -> str:
        if BY_STYLE.search(svg[1]):
            return ""
        head = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg[1])
        inside = re.sub(r"<(/?)a\b[^>]*>", r"<\1g>", svg[2])  # links are for the site
        kept.append(COLOUR.sub(r"\1", f"<svg {SPACES}{head}>{inside}"))
        return KEPT.format(len(kept) - 1)

    html = (site / f"{name}.html").read_text(encoding="utf-8")
    html = html[html.index("<article") : html.index("</article>")]
    html = html if coloured else CODE.sub(r"\1", html)
    return BeautifulSoup(SVG.sub(keep, html), "html.parser"), kept


def guess_of(guess: Any) -> tuple[str, str, str, str]:
    """The name of a guess, its question, the choices or the unit, and its answer."""
    given = {name: str(value).replace(" | ", " · ") for name, value in guess.attrs.items()}
    unit = given.get("data-unit", "")
    choices = given.get("data-choices", f"in {unit}" if unit else "")
    answer = f"{given['data-answer']} {unit}".strip()
    return given["data-question"], given["data-ask"], choices, answer


def target_of(command: str, file: Path) -> Path:
    """Where the command writes. SystemExit if the site has not been built."""
    if not (SITE / "index.html").is_file():
        sys.exit(f"make {command}: {SITE / 'index.html'} is missing: run `make book` first")
    return Path(sys.argv[1]) if sys.argv[1:] else file
