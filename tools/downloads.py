"""`make downloads`: put bundle, PDF, EPUB and cards into the built site, and link to them.

Usage: python -m tools.downloads

All must have been made. The page *How to use this course* then offers the files, with their sizes,
where it says otherwise by which commands a reader makes them.
"""

import re
import shutil
from pathlib import Path

from tools import bundle, cards, epub, pdf

PAGE = "book/how_to_use.html"
COMMANDS = re.compile(r'(<div class="course-downloads">).*?(</div>)', re.DOTALL)
FILES = [
    (pdf.FILE, "The course as a PDF"),
    (epub.FILE, "The course as an EPUB"),
    (cards.FILE, "Cards for Anki"),
    (bundle.FILE, "The bundle, a zip"),
]


def offer(site: Path, files: list[tuple[Path, str]]) -> None:
    """Copy files into the site and link to them. FileNotFoundError if one is missing."""
    links = ""
    for path, title in files:
        shutil.copy(path, site)
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        links += f'<li><a href="../{path.name}" download>{title}</a> ({size})</li>'
    html = (site / PAGE).read_text(encoding="utf-8")
    html = COMMANDS.sub(rf"\g<1><ul>{links}</ul>\2", html)
    (site / PAGE).write_text(html, encoding="utf-8")


if __name__ == "__main__":
    offer(bundle.SITE, FILES)
