"""How long the exercises take in their pages, and with which words -> page_checks.json.

Usage: python -m lab.page_checks [--quick | --write]

In Chromium and in Firefox each chapter of the built site is opened from disk, and each worked
answer of its notebook is typed and run twice: `first` are seconds by the clock from the press to
the verdict, `again` those of the second press, and the first of a chapter has Python's start in it,
which `start` gives alone. A phone is about four times slower than this machine (`LIKE_A_PHONE`).
`words` says whether the verdict is that of the notebook, with PyTorch, word for word.
"""

import html
import json
import re
import statistics
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab import runs
from lab.firefox import Firefox
from scratchformer_course.teaching import packed_python

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build/html/notebooks"
LIKE_A_PHONE = 4
RUN = """([number, code]) => new Promise((done) => {
  const cell = document.querySelector(`section[data-exercise="${number}"] .course-code`);
  const status = cell.querySelector("[role=status]");
  const start = performance.now();
  let begun = start;
  cell.querySelector("textarea").value = code;
  cell.querySelector("button").click();
  const watch = new MutationObserver(() => {
    const last = status.firstElementChild;
    if (last.matches("p") && last.textContent.startsWith("Checking")) begun = performance.now();
    if (last.matches("p") && last.textContent.endsWith("…")) return;
    watch.disconnect();
    const now = performance.now();
    done([last.textContent, (now - start) / 1e3, (begun - start) / 1e3]);
  });
  watch.observe(status, { childList: true });
})"""


def worked_answers(chapter: str) -> Iterator[tuple[str, str, str]]:
    """Number, code and the notebook's verdict of each worked answer that runs in the page."""
    path = ROOT / f"notebooks/{chapter}.ipynb"
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        number = re.match(r"# @title Worked solution (\d+\.\d)", source)
        if number and number[1] not in packed_python.notebook_only():
            data = cell["outputs"][-1]["data"] if cell["outputs"] else {}
            words = re.sub(r"<[^>]+>", "", "".join(data.get("text/html", "")))
            yield number[1], re.sub(r"_?[sS]olution\b", "", source), words


@contextmanager
def _chromium() -> Iterator[Callable[[str], Callable[[list], Any]]]:
    with runs.chromium() as browser:

        def opened(address: str) -> Callable[[list], Any]:
            for other in browser.contexts:
                other.close()
            page = browser.new_page()
            page.goto(address)
            return lambda asked: page.evaluate(RUN, asked)

        yield opened


@contextmanager
def _firefox() -> Iterator[Callable[[str], Callable[[list], Any]]]:
    with Firefox() as page:

        def opened(address: str) -> Callable[[list], Any]:
            page.goto(address)
            return lambda asked: page.evaluate(f"({RUN})({json.dumps(asked)})")

        yield opened


BROWSERS = {"chromium": _chromium, "firefox": _firefox}


def measure(options: Namespace) -> dict:
    """Seconds and words of every exercise, by browser, and what they come to."""
    found: dict[str, Any] = {"like_a_phone": LIKE_A_PHONE}
    chapters = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
    for name, browser in BROWSERS.items():
        rows: dict[str, dict] = {}
        with browser() as opened:
            for chapter in chapters[4:6] if options.quick else chapters:
                run = opened((SITE / f"{chapter}.html").as_uri())
                for i, (number, code, words) in enumerate(worked_answers(chapter)):
                    said, first, begun = run([number, code])
                    _, again, _ = run([number, code])
                    rows[number] = {"first": first, "again": again, "words": _same(said, words)}
                    if i == 0:
                        rows[number]["start"] = begun
                    print(name, number, rows[number], "" if rows[number]["words"] else said)
        again = [row["again"] for row in rows.values()]
        found[name] = {
            "exercises": rows,
            "same words": sum(row["words"] for row in rows.values()),
            "of": len(rows),
            "median": statistics.median(again),
            "slowest": max(again),
        }
    return found


def _same(said: str, words: str) -> bool:
    """Whether a verdict is that of the notebook, which keeps some of them to itself."""
    expected = "".join(html.unescape(words).split())  # white space is the browser's affair
    return "".join(said.split()) == expected if words else ", passed." in said


main = runs.script(__doc__, "page_checks", measure)

if __name__ == "__main__":
    main()
