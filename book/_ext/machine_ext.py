"""A Sphinx extension: on every chapter, the whole machine with a mark where the reader is.

It stands below the chapter's line of facts; at the chapter's end a card leads on. On each page the
side bar is folded but for the reader's part, and links to the glossary carry a preview.
`WAY` and `BESIDE` name the parts of the machine and the chapters about each. Titles and addresses
come from the chapters, and a build in which a chapter is in no part, or in two, ends. The picture
comes into the written page alone, so the search index does not hold its words for each chapter.
"""

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from scratchformer_course.kit.facts import Chapter, chapters

HEIGHT = 26  # of a picture, in pixels
GLOSSARY = "book/glossary"
LETTER = 8  # width of a letter in a token

Parts = dict[str, tuple[str, str]]  # a name, its chapters, and its picture


def picture(width: float, shapes: str) -> str:
    """Shapes that say nothing beyond the name below them, so a screen reader leaves them out."""
    return f'<svg width="{width:g}" height="{HEIGHT}" aria-hidden="true">{shapes}</svg>'


def shape(colour: str, path: str, filled: float = 0) -> str:
    fill = f' fill="var(--course-{colour})" fill-opacity="{filled:g}"' if filled else ""
    return f'<path d="{path}" stroke="var(--course-{colour})"{fill}/>'


def tokens(*words: str) -> str:
    """Words in boxes, side by side."""
    shapes, x = "", 1
    for word in words:
        width = LETTER * len(word) + 6
        box = shape("token", f"M{x} 2h{width}v22h-{width}z", 0.15)
        shapes += f'{box}<text x="{x + width / 2:g}" y="17.5">{escape(word)}</text>'
        x += width + 4
    return picture(x - 2, shapes)


def clock(x: float, *hands: tuple[int, int], size: float = 6) -> str:
    """A face whose left end is at `x`, with hands that end at places as seen from its middle."""
    face = f"M{x:g} 13a{size} {size} 0 1 1 {2 * size} 0a{size} {size} 0 1 1-{2 * size} 0"
    return shape("position", face + "".join(f"M{x + size:g} 13l{dx} {dy}" for dx, dy in hands))


def vectors() -> str:
    """A column for each of three tokens, and beside it a clock whose hand has turned further."""
    columns = "".join(
        shape("stream", f"M{x} 1h7v24h-7zM{x} 7h7M{x} 13h7M{x} 19h7", 0.15) + clock(x + 9, hand)
        for x, hand in ((1, (0, -5)), (23, (4, -3)), (45, (5, 1)))
    )
    return picture(67, columns)


PICTURES = {
    "sentence": tokens("the", "old", "king"),
    "vectors": vectors(),
    "attention": picture(
        56,
        shape("query", "M48 19C46 6 32 6 29 17M25 13l4 5 4-4")
        + shape("query", "M9 22h.1M28 22h.1M48 22h.1").replace("/>", ' class="course-dots"/>'),
    ),
    "heads": picture(
        44, "".join(shape("query", f"M{x} {x / 4 + 1:g}v18h18z", 0.15) for x in (2, 12, 22))
    ),
    "turns": picture(28, clock(3, (0, -10), (8, -5), size=11)),
    "feed-forward": picture(48, shape("value", "M2 9L14 2H34L46 9V17L34 24H14L2 17z", 0.15)),
    "bars": picture(46, shape("stream", "M2 2h42v5h-42zM2 10h14v5h-14zM2 18h8v5h-8z", 0.3)),
    "longer": tokens("sleeps"),
    "training": picture(30, shape("muted", "M2 2V22H28M6 4C8 15 14 17 27 18")),
}
WAY: Parts = {
    "tokens": ("01", PICTURES["sentence"]),
    "vectors": ("00 02 03", PICTURES["vectors"]),
    "attention": ("05 06", PICTURES["attention"]),
    "heads": ("07", PICTURES["heads"]),
    "turns": ("08", PICTURES["turns"]),
    "feed-forward": ("09", PICTURES["feed-forward"]),
    "next token": ("10", PICTURES["bars"]),
    "longer text": ("12 20", PICTURES["longer"]),
}
BLOCK = ("attention", "heads", "turns", "feed-forward")
BESIDE: Parts = {
    "training": ("04 11", PICTURES["training"]),
    "BERT": ("13", ""),
    "translation": ("14", ""),
    "scale": ("15 16 17", ""),
    "today": ("18 19 21", ""),
    "craft": ("22 23", ""),
}


def machine(current: Chapter, known: dict[str, Chapter]) -> str:
    """The picture for one of the `known` chapters."""
    named = [n for numbers, _ in [*WAY.values(), *BESIDE.values()] for n in numbers.split()]
    if sorted(named) != sorted(known):
        faults = sorted({n for n in {*named, *known} if named.count(n) != 1 or n not in known})
        raise ExtensionError(
            f"machine_ext: chapters {faults} are not in one part of the machine each"
        )

    def link(number: str, name: str) -> str:
        chapter = known[number]
        mark = ' aria-current="page"' if chapter == current else ""
        return (
            f'<a href="{Path(chapter.docname).name}.html"{mark} '
            f'title="{escape(f"{number} · {chapter.title}")}">{name}<b>{number}</b></a>'
        )

    def part(name: str, numbers: str, drawn: str) -> str:
        first, *others = numbers.split()
        links = " ".join([link(first, f"<i>{name}</i> "), *(link(n, "") for n in others)])
        if current.number not in numbers.split():
            return f"<li>{drawn}<span>{links}</span></li>"
        word = '<em class="course-here-word">you are here</em>'
        return f'<li class="course-here">{drawn}<span>{links}</span>{word}</li>'

    way = "".join(part(name, *WAY[name]) for name in WAY)
    block = "".join(part(name, *WAY[name]) for name in BLOCK)
    way = way.replace(block, f'<li class="course-machine-block"><ol>{block}</ol></li>')
    beside = "".join(part(name, *BESIDE[name]) for name in BESIDE)
    return (
        f'<nav class="course-machine" aria-label="The whole machine">'
        "<p>The whole machine, and the chapters about its parts</p>"
        f'<ol>{way}</ol><ul class="course-machine-beside">{beside}</ul></nav>'
    )


def add_machine(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """`html-page-context`: the picture, below a chapter's line of facts."""
    if not pagename.startswith("notebooks/"):
        return
    known = chapters(Path(app.srcdir))
    current = next((c for c in known.values() if c.docname == pagename), None)
    before, tag, rest = context["body"].partition('<p class="course-facts">')
    if current and tag:
        facts, end, after = rest.partition("</p>")
        body = f"{before}{tag}{facts}{end}\n{machine(current, known)}{after}"
        card = end_card(current, known, context["next"])
        context["body"] = body + card
        if f'href="{context["next"]["link"]}"' in card:
            context["next"] = None  # otherwise it would stand below the card again


def end_card(chapter: Chapter, known: dict[str, Chapter], after: dict[str, str]) -> str:
    """What a reader can do now, and the next chapter; `after` the last one, the next page."""
    link, title = after["link"], after["title"]
    if following := known.get(f"{int(chapter.number) + 1:02}"):
        link = f"{Path(following.docname).name}.html"
        title = f"{following.number} · {escape(following.title)}, {following.minutes} minutes"
    can = f"<p>You can now {escape(chapter.can)}</p>" if chapter.can else ""
    return (
        f'<section class="course-end" aria-label="The end of the chapter">{can}'
        f'<a class="course-continue" href="{link}"><b>Continue</b> <span>{title}</span>'
        "</a></section>"
    )


def fold_parts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
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


@cache
def first_sentences(app: Sphinx) -> dict[str, str]:
    """The beginning of each entry of the glossary, by its anchor."""
    glossary = app.env.get_doctree(GLOSSARY)
    return {
        id: re.split(r"(?<=\.) ", " ".join(item.children[-1][0].astext().split()))[0]
        for item in glossary.findall(nodes.definition_list_item)
        for term in item.findall(nodes.term)
        for id in term["ids"]
    }


def add_previews(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """`html-page-context`: links to the glossary carry what previews.js shows."""
    if doctree is not None and pagename != GLOSSARY:
        context["body"] = re.sub(
            r'(?<=glossary\.html#)(term-[^"]+)"',
            lambda found: f'{found[0]} data-preview="{escape(first_sentences(app)[found[1]])}"',
            context["body"],
        )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook and the styles."""
    app.add_css_file("map.css")
    app.connect("html-page-context", add_machine, priority=400)  # before the link for reports
    app.add_js_file("previews.js", defer="defer")
    app.connect("html-page-context", add_previews)
    app.connect("html-page-context", fold_parts, priority=900)  # after the theme's function
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
