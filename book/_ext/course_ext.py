"""A small Sphinx extension that makes the site self-contained and its pages accessible.

Stock Jupyter Book pages carry sphinx-thebe's scripts even when Thebe is off: a constant that
names a CDN, declared twice, which browsers report as an error. Theme and builder also list some
scripts twice. And docutils gives entries of a bibliography a role that screen readers no longer
know. The hook below repairs these three, on every page, and does nothing else: links, search and
MathJax stay as the builder made them.
"""


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


def setup(app):
    """Register the hook late, so that it sees what the other extensions added."""
    app.connect("html-page-context", repair_page, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
