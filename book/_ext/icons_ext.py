"""A Sphinx extension: the theme's icons, cut down to those that the pages use.

The theme brings some 2,000 icons twice, as a script that draws them and as fonts for its styles.
The course uses some twenty. Cut down, every page loads three quarters of a megabyte less.
"""

import re
from pathlib import Path

from fontTools import subset
from sphinx.application import Sphinx

SCRIPT = "_static/scripts/fontawesome.js"
FONTS = "_static/vendor/fontawesome/webfonts"
NAME = re.compile(r"\bfa-([a-z0-9-]+)")
# name:[width, height, [other names], "code", "path" or ["path", "path"]],
ICON = re.compile(
    r'(?:"([\w-]+)"|([\w$]+)):\[\d+,\d+,\[[^\]]*\],"[0-9a-f]+",(?:"[^"]*"|\[[^\]]*\])\],?'
)
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
ESCAPED = re.compile(r'"\\([0-9a-f]{2,5})"')  # "\f107"
PRIVATE = re.compile("[\ue000-\uf8ff]")  # the range of Unicode that fonts of icons use
SOURCES = re.compile(r'url\(([^()]*/fa-[\w-]+)\.woff2\) format\("woff2"\),url\(\1\.ttf\)[^,;}]*')


def without_unused(script: str, used: set[str]) -> str:
    """The script without the icons whose names are not in `used`."""
    return ICON.sub(lambda icon: icon[0] if (icon[1] or icon[2]) in used else "", script)


def characters(styles: str, used: set[str]) -> set[int]:
    """The characters of icons that `styles` may show: their own, and those of the names in `used`.

    A rule for `.fa-bell` gives the name `bell` its character. All other rules are the theme's own.
    """
    found = {ord(character) for character in PRIVATE.findall(styles)}
    for selector, body in RULE.findall(styles):
        names = NAME.findall(selector)
        if not names or used.intersection(names):
            found.update(int(code, 16) for code in ESCAPED.findall(body))
    return found


def cut_font(path: Path, kept: set[int]) -> None:
    """Write the font again as WOFF, beside it, with the `kept` characters alone."""
    options = subset.Options(flavor="woff", notdef_outline=True)
    font = subset.load_font(path, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=kept)
    subsetter.subset(font)
    subset.save_font(font, path.with_suffix(".woff"), options)


def cut_down(app: Sphinx, error: Exception | None) -> None:
    """`build-finished`: look for icons in pages, scripts and styles, and drop all others."""
    out = Path(app.outdir)
    script = out / SCRIPT
    if error or app.builder.format != "html" or not script.is_file():
        return
    sources = [*out.rglob("*.html"), *(path for path in out.rglob("*.js") if path != script)]
    used = {
        name
        for path in sources
        for name in NAME.findall(path.read_text(encoding="utf-8", errors="ignore"))
    }
    whole = script.read_text(encoding="utf-8")
    script.write_text(without_unused(whole, used), encoding="utf-8")
    script.with_suffix(".js.map").unlink(missing_ok=True)  # it tells the places of the old one

    sheets = {path: path.read_text(encoding="utf-8") for path in out.rglob("*.css")}
    kept = characters("".join(sheets.values()), used)
    for path in (out / FONTS).glob("*.ttf"):
        cut_font(path, kept)
        path.unlink()
        path.with_suffix(".woff2").unlink(missing_ok=True)
    for path, sheet in sheets.items():
        path.write_text(SOURCES.sub(r'url(\1.woff) format("woff")', sheet), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hook."""
    app.connect("build-finished", cut_down)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
