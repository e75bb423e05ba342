"""`make downloads`: put the bundle and the PDF into the built site, and link to them.

Usage: python -m tools.downloads

Both must have been made. The page *How to use this course* then offers the files, with their sizes,
where it says otherwise by which commands a reader makes them.
"""

import re
import shutil
import sys
from pathlib import Path

from tools import bundle, pdf

ROOT = Path(__file__).resolve().parents[1]
PAGE = "book/how_to_use.html"
COMMANDS = re.compile(r'(<div class="course-downloads">).*?(</div>)', re.DOTALL)
FILES = [(pdf.FILE, "The course as a PDF"), (bundle.FILE, "The bundle, a zip")]


def offer(site: Path, files: list[tuple[Path, str]]) -> None:
    """Copy files into the site and link to them. FileNotFoundError if one is missing."""
    links = []
    for path, title in files:
        shutil.copy(path, site)
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        links.append(f'<li><a href="../{path.name}" download>{title}</a> ({size})</li>')
    page = site / PAGE
    html, found = COMMANDS.subn(
        lambda match: f"{match[1]}<ul>{''.join(links)}</ul>{match[2]}",
        page.read_text(encoding="utf-8"),
    )
    if found != 1:
        raise ValueError(f"expected one place for downloads in {page}, found {found}")
    page.write_text(html, encoding="utf-8")


if __name__ == "__main__":
    try:
        offer(bundle.SITE, FILES)
    except FileNotFoundError as error:
        sys.exit(f"make downloads: {error}")
    print(f"{bundle.SITE / PAGE} offers {', '.join(path.name for path, _ in FILES)}")
