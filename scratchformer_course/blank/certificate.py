"""A sign of completion: who did what, on which day, and a hash over all of it.

`climb` writes one of the rungs that five files passed, and the site's welcome page one of a
reader's ticks (book/_assets/certificate.js), with the same line and the same picture. It proves
that the line is as it was written and, beside the five files, that it belongs to them. Who did
what it says it cannot prove.
"""

from __future__ import annotations

import hashlib
import subprocess
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import strftime
from typing import Any

from scratchformer.files import atomic_write
from scratchformer_course.blank.mine import FILES

ANSWERS = "to a published model that answers out of them."


def write(folder: Path, name: str, reached: dict[str, Any]) -> str:
    """Write certificate.txt and certificate.svg into the folder; returns the line."""
    name = " ".join(name.replace("|", " ").split())
    parts = [name, strftime("%Y-%m-%d"), f"{len(reached)} rungs", course(), _files(folder)]
    line = " | ".join(parts)
    line = f"{line} | {_hash(line)}"
    did = (f"wrote five empty files full, and climbed {parts[2]}", ANSWERS)
    picture = drawing(name, did, [parts[1], *parts[3:]])
    for path, text in (("certificate.txt", line + "\n"), ("certificate.svg", picture)):
        with atomic_write(folder / path) as part:
            part.write_text(text, encoding="utf-8")
    return line


def verify(path: Path) -> str:
    """What a certificate says, in words. SystemExit, with what is wrong, if it does not hold."""
    try:
        line = path.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} cannot be read: {error}") from None
    text, _, found = line.rpartition(" | ")
    parts = text.split(" | ")
    if len(parts) != 5:
        raise SystemExit(f"{path} is no certificate: expected six parts between bars")
    if _hash(text) != found:
        raise SystemExit(f"{path} was changed after it was written: its hash is another")
    name, day, done, edition, of_what = parts
    beside = all((path.parent / file).is_file() for file in FILES)
    if of_what.startswith("files ") and beside and _files(path.parent) != of_what:
        raise SystemExit(f"{path} belongs to other files than those beside it")
    return f"{name}: {done} on {day}, {edition}. The hash holds; who did it, it cannot say."


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def _files(folder: Path) -> str:
    """A hash over the five files, line ends aside."""
    texts = [(folder / name).read_bytes().replace(b"\r\n", b"\n") for name in FILES]
    return f"files {hashlib.sha256(b'|'.join(texts)).hexdigest()[:16]}"


def course() -> str:
    """The version of the course: its commit where there is a checkout."""
    try:
        number = version("scratchformer")
    except PackageNotFoundError:
        number = "?"
    words = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        commit = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = ""
    return f"scratchformer {number} {commit}".strip()


def drawing(name: str, did: tuple[str, str], facts: list[str]) -> str:
    """The certificate as a picture, 640 by 360: what somebody did, in two lines."""
    rows = [
        (96, 18, "Transformers from Scratch"),
        (160, 34, name),
        (206, 18, did[0]),
        (240, 18, did[1]),
        (304, 13, " · ".join(facts)),
    ]
    lines = "".join(
        f'<text x="320" y="{y}" font-size="{size}" text-anchor="middle">{escape(text)}</text>'
        for y, size, text in rows
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 360" role="img" '
        f'font-family="sans-serif" aria-label="{escape(f"{name} {did[0]}")}">'
        '<rect x="8" y="8" width="624" '
        f'height="344" rx="12" fill="#fffdf7" stroke="#1f83c4" stroke-width="4"/>{lines}</svg>\n'
    )
