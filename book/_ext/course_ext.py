"""A small Sphinx extension that makes the site self-contained and its pages accessible.

Stock Jupyter Book pages carry sphinx-thebe's scripts even when Thebe is off: a constant that
names a CDN, declared twice, which browsers report as an error. Theme and builder also list some
scripts twice. And docutils gives entries of a bibliography a role that screen readers no longer
know. The first hook repairs these three, on every page. The second drops font preloads, which the
theme's last release for Python 3.10 writes and browsers refuse on pages opened from disk. Links,
search and MathJax stay as the builder made them.
"""

import re
from pathlib import Path


def repair_page(app, pagename, templatename, context, doctree):
    """`html-page-context`: change `context["script_files"]` and `context["body"]` in place."""
    kept, seen = [], set()
    for script in context.get("script_files", []):
        # inline scripts have no filename; their text is in the attribute "body"
        body = getattr(script, "attributes", {}).get("body") or ""
        name = str(getattr(script, "filename", None) or script)
        if "thebe" in name or "THEBE" in body or (name, body) in seen:
            continue
        seen.add((name, body))
        kept.append(script)
    context["script_files"] = kept
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def drop_font_preloads(app, error):
    """`build-finished`: the fonts are loaded all the same, when the styles ask for them."""
    if error or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        kept = re.sub(r'<link rel="preload" as="font"[^>]*>\n?', "", text)
        if kept != text:
            page.write_text(kept, encoding="utf-8")


def setup(app):
    """Register the first hook late, so that it sees what the other extensions added."""
    app.connect("build-finished", drop_font_preloads)
    app.connect("html-page-context", repair_page, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
