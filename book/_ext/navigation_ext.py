"""A Sphinx extension: on every chapter, the whole machine with a mark where the reader is.

It stands below the chapter's line of facts; at the chapter's end a card leads on. On each page the
side bar is folded but for the reader's part.
The machine is the drawing of `scratchformer_course/pages/flow.py`: its `STAGES` name the parts and
the chapters about each, its `BESIDE` the other chapters. Titles and addresses come from the
chapters, and a build in which a chapter is in no part, or in two, ends. The picture comes into the
written page alone, so the search index does not hold its words for each chapter.
"""

from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from welcome_ext import html_of

from scratchformer_course.kit.chapter_facts import Chapter, chapters
from scratchformer_course.pages.flow import BESIDE, STAGES, strip, strip_columns


def navigation(current: Chapter, known: dict[str, Chapter]) -> str:
    """The picture for one of the `known` chapters."""
    named = [n for numbers in [*STAGES.values(), *BESIDE.values()] for n in numbers]
    if sorted(named) != sorted(known):
        faults = sorted({n for n in {*named, *known} if named.count(n) != 1 or n not in known})
        raise ExtensionError(f"chapters {faults} are not in one part of the machine each")

    return html_of(
        "strip",
        current.docname,
        current=current,
        known=known,
        stages={name: [known[number] for number in numbers] for name, numbers in STAGES.items()},
        beside={name: [known[number] for number in numbers] for name, numbers in BESIDE.items()},
        drawing=strip(current.number),
        columns=strip_columns(),
    )


def add_navigation(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: the picture, below a chapter's line of facts."""
    if not pagename.startswith("notebooks/"):
        return
    known = chapters(Path(app.srcdir))
    current = next((c for c in known.values() if c.docname == pagename), None)
    before, tag, rest = context["body"].partition('<p class="course-facts">')
    if current and tag:
        facts, end, after = rest.partition("</p>")
        body = f"{before}{tag}{facts}{end}\n{navigation(current, known)}{after}"
        card = end_card(current, known, context["next"])
        context["body"] = body + card
        context["next"] = None  # the card alone says what comes next


def end_card(chapter: Chapter, known: dict[str, Chapter], after: dict[str, str]) -> str:
    """What a reader can do now, and the next chapter; `after` the last one, the next page."""
    link, title = after["link"], str(after["title"])
    later = [known[number] for number in sorted(known) if number > chapter.number]
    if later:
        following = later[0]
        link = f"{Path(following.docname).name}.html"
        title = f"{following.number} · {escape(following.title)}, {following.minutes} minutes"
    return html_of("end", chapter.docname, chapter=chapter, link=link, title=title)


def fold_parts(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: each part of the side bar is a fold, and that of the page is open.

    A page of no part (the welcome page, the search) opens all.
    """
    generate = context["generate_toctree_html"]

    def folded(*args: Any, **named: Any) -> Any:
        soup = generate(*args, **named)
        all_open = not soup.select_one("li.current")
        for caption in soup.select("p.caption"):
            pages = caption.find_next_sibling("ul")
            fold = soup.new_tag("details", attrs={"class": "course-part-fold"})
            if all_open or pages.select_one("li.current"):
                fold["open"] = ""
            caption.wrap(fold)
            caption.name, caption.attrs = "summary", {}
            fold.append(pages.extract())
        return soup

    context["generate_toctree_html"] = folded


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks and the styles."""
    app.add_css_file("map.css")
    app.connect("html-page-context", add_navigation, priority=400)  # before the link for reports
    app.connect("html-page-context", fold_parts, priority=900)  # after the theme's function
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
