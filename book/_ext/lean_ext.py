"""A Sphinx extension: a page loads what it uses, and looks right from its first paint.

The theme brings 2,000 icons twice, as a script that draws them and as fonts; the styles of all that
Bootstrap has; an index for a search that runs as one types; and scripts in the head that hold up
the page. The site uses twenty icons, a third of the styles and one search page. What is left out
here pays for the course's own fonts.

The theme says light or dark once its last script has run. Here the page says light in its markup,
and a script of a line, before anything is painted, what the reader chose or the system prefers.
"""

import re
from collections.abc import Iterator
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import Any

import tinycss2
from fontTools import subset
from sphinx.application import Sphinx
from tinycss2.ast import LiteralToken, Node

FONTS = "_static/vendor/fontawesome/webfonts"
# What belongs to parts that a page may have: a pattern of such a part in its text.
PARTS = {
    "toggle": r'class="[^"]*(\btoggle\b|admonition dropdown|dropdown admonition)',
    "design-tabs": 'class="sd-tab-set',
    "thebe": 'class="thebe',
}
# ---- the head of a page ----
THEME = """<meta name="color-scheme" content="light dark">
<style>html[data-theme="light"] { color-scheme: light }
html[data-theme="dark"] { color-scheme: dark }</style>
<script>(root => {
  let mode = "auto";
  try { mode = localStorage.getItem("mode") || mode; } catch { /* no store: as the system is */ }
  const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.mode = mode;
  root.theme = mode === "auto" ? preferred : mode;
})(document.documentElement.dataset)</script>"""
PRINT_TITLE = re.compile(r'(<div id="jb-print-docs-body"[^>]*>\s*)<h1>(.*?)</h1>', re.DOTALL)
THEMES_OWN = re.compile(r'<script data-cfasync="false">.*?</script>', re.DOTALL)
SCRIPT = re.compile(r'<script(?=[^>]*\ssrc="([^"]*)")[^>]*></script>\n?')
MATHJAX = re.compile(r'<script [^>]*\ssrc="([^"]*/tex-chtml-full\.js[^"]*)"[^>]*></script>')
FORMULA = re.compile(r'(<(span|div) class="math notranslate nohighlight")>(.*?)</\2>', re.DOTALL)
SIGNS = re.compile(
    r"\\(?:mathrm|text|mathbf|left|right|operatorname|begin|end|,|;|[()\[\]])|[{}^_&\s]"
)
PRELOAD = re.compile(r'<link(?=[^>]*rel="preload")[^>]*>\n?')
SEARCH = ("searchtools.js", "language_data.js", "searchindex.js")  # the search page has its own
OPTIONS = "documentation_options.js"  # the scripts in the head's text need it at once: it is short
# ---- styles and icons ----
COMMA = LiteralToken(0, 0, ",")
ICON = re.compile("[\ue000-\uf8ff]")  # the range of Unicode that fonts of icons use
SOURCES = re.compile(r'url\(([^()]*/fa-[\w-]+)\.woff2\) format\("woff2"\),url\(\1\.ttf\)[^,;}]*')


def drop_parts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """`html-page-context`: no scripts and styles of parts that the page does not have.

    MathJax weighs more than most pages, and comes along on some that have no formula. Scripts that
    are named twice are named once.
    """
    body = context.get("body", "")
    marks = {**PARTS, Path(app.config.mathjax_path).stem: 'class="math '}
    absent = [name for name, mark in marks.items() if not re.search(mark, body)]
    for kind in ("script_files", "css_files"):
        kept: dict[tuple[str, str], Any] = {}
        for file in context.get(kind, []):
            # scripts in the head's text have no filename; their text is an attribute
            text = str(getattr(file, "attributes", {}).get("body") or "")
            name = str(getattr(file, "filename", None) or (text and "inline") or file)
            if not any(part in f"{name} {text}".lower() for part in absent):
                kept.setdefault((name, text), file)
        context[kind] = list(kept.values())


def with_theme(page: str) -> str:
    """The page, light or dark before it is painted; by daylight if there is no JavaScript."""
    page = page.replace('data-theme="auto"', 'data-theme="light"', 1)
    return THEMES_OWN.sub(lambda _: THEME, page, count=1)


def repaired(page: str) -> str:
    """The page with one `<h1>`, and without a role that screen readers no longer know.

    The theme repeats the title for a printed page, and docutils gives entries of a bibliography
    that role.
    """
    page = PRINT_TITLE.sub(r'\1<p class="course-print-title">\2</p>', page)
    return page.replace('role="doc-biblioentry"', 'role="listitem"')


def without_delay(page: str, is_search: bool, options: str) -> str:
    """The page, whose head waits for styles alone: `options` is the text of `OPTIONS`."""
    head, end, rest = page.partition("</head>")

    def script(found: re.Match[str]) -> str:
        name = found[1].split("?")[0].rsplit("/", 1)[-1]
        if name == OPTIONS:
            return f"<script>{options}</script>\n"
        if name == "fontawesome.js" or (name in SEARCH and not is_search):
            return ""
        waits = re.search(r"\s(defer|async)\b", found[0])
        return found[0] if waits else found[0].replace("<script", "<script defer")

    return SCRIPT.sub(script, PRELOAD.sub("", head)) + end + rest


def with_formulas_last(page: str) -> str:
    """The page, which names MathJax for `course.js` to fetch, and the room of each formula.

    Estimates: an inline one has so many signs, one on display so many lines.
    """

    def room(found: re.Match[str]) -> str:
        start, tag, tex = found.groups()
        signs = len(re.sub(r"\\[a-zA-Z]+", "x", SIGNS.sub("", tex)))
        lines = 2.6 + 1.9 * tex.count(r"\\") + ("frac" in tex or "sum" in tex) * 1.2
        return f'{start} style="--signs: {signs}; --lines: {lines:.1f}">{tex}</{tag}>'

    page = MATHJAX.sub(r'<script type="text/plain" data-formulas="\1"></script>', page)
    return FORMULA.sub(room, page)


def is_used(selector: list[Node], words: set[str]) -> bool:
    """Whether all classes and ids of a selector are among the `words`.

    What stands in brackets is not looked at: `:not(.a)` matches where there is no `a`. Bootstrap's
    script puts the names of its own, bs-…, together from parts.
    """
    tokens = pairwise([None, *selector])
    names = [t.value for dot, t in tokens if t.type == "hash" or (dot == "." and t.type == "ident")]
    return all(name in words or name.startswith("bs-") for name in names)


def rules_in_use(nodes: list[Node], words: set[str]) -> Iterator[Node]:
    """The rules without those for classes and ids that are not among the `words`."""
    for node in nodes:
        if node.type == "qualified-rule":
            groups = groupby(node.prelude, lambda token: token == ",")
            selectors = [list(tokens) for is_comma, tokens in groups if not is_comma]
            used = [[*tokens, COMMA] for tokens in selectors if is_used(tokens, words)]
            node.prelude = list(chain(*used))[:-1]
            if used:
                yield node
        elif node.type == "at-rule" and node.lower_at_keyword in ("media", "supports"):
            node.content = list(rules_in_use(tinycss2.parse_rule_list(node.content), words))
            if node.content:
                yield node
        elif node.type != "whitespace":
            yield node


def without_unused_rules(sheet: str, words: set[str]) -> str:
    """The styles without the rules for classes and ids that are not among the `words`.

    Escaped characters, as icons are, stand there as they are.
    """
    return tinycss2.serialize(rules_in_use(tinycss2.parse_stylesheet(sheet), words))


def cut_font(path: Path, kept: set[int]) -> None:
    """Write the font again as WOFF, beside it, with the `kept` characters alone."""
    options = subset.Options(flavor="woff", notdef_outline=True)
    font = subset.load_font(path, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=kept)
    subsetter.subset(font)
    subset.save_font(font, path.with_suffix(".woff"), options)


def cut_down(app: Sphinx, error: Exception | None) -> None:
    """`build-finished`: repair pages, and keep the rules and icons that they use."""
    out = Path(app.outdir)
    if error or app.builder.format != "html":
        return
    options = (out / "_static" / OPTIONS).read_text(encoding="utf-8").strip()
    words: set[str] = set()
    for path in out.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        page = with_theme(repaired(text))
        page = with_formulas_last(without_delay(page, path.name == "search.html", options))
        words.update(" ".join(re.findall(r'\b(?:class|id)="([^"]*)"', page)).split())
        if page != text:
            path.write_text(page, encoding="utf-8")
    skipped = {"fontawesome.js", "searchindex.js", Path(app.config.mathjax_path).name}
    for path in out.rglob("*.js"):
        if path.name not in skipped and path.parent.name != "live":
            words.update(re.findall(r"[\w-]+", path.read_text(encoding="utf-8")))

    own = {path.name for path in Path(app.confdir, "book", "_assets").glob("*.css")}
    icons: set[int] = set()
    for path in out.rglob("*.css"):
        sheet = path.read_text(encoding="utf-8")
        if path.name not in own and path.parent.name != "live":
            sheet = without_unused_rules(sheet, words)
        icons.update(map(ord, ICON.findall(sheet)))
        path.write_text(SOURCES.sub(r'url(\1.woff) format("woff")', sheet), encoding="utf-8")
    for path in (out / FONTS).glob("*.ttf"):
        cut_font(path, icons)
        path.unlink()
        path.with_suffix(".woff2").unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hooks, after those that add files and write pages."""
    app.connect("html-page-context", drop_parts, priority=950)
    app.connect("build-finished", cut_down, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
