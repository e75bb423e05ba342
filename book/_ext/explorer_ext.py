"""A Sphinx extension: the live views of `explore` on the site, their weights once a page.

Stored outputs hold a figure and the hash of a model (SCRATCHFORMER_EXPLORER=stored while a notebook
is executed). A page with such a figure gets three files: the views' script and style, and the
model's description. They are ordinary script files beside the page, so they work from disk too,
and browsers keep them from page to page. Only models that ship with the package can be asked for.

On a page written by hand, the directive `explorer` stands for a call of `explore`:

    :::{explorer} tiny-shakespeare
    :prompt: ROMEO:
    :views: attention next
    :::
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.application import Sphinx
from sphinx.util import logging

FOLDER = "explorer"  # in the site's _static
HOLDER = re.compile(r'class="scratchformer-explorer" data-model="([0-9a-f]+)"')


@lru_cache(maxsize=1)
def shipped() -> dict[str, str]:
    """The scripts with the descriptions of all shipped models, by hash."""
    from scratchformer.explorer import describe
    from scratchformer.explorer.view import START, description_script
    from scratchformer.models import GPT
    from scratchformer.shipped import FOLDER as MODELS
    from scratchformer.tokenizers import CharTokenizer

    scripts = {}
    for path in sorted(MODELS.glob("*/model.safetensors")):
        name = path.parent.name
        told = describe(GPT.pretrained(name), CharTokenizer.pretrained(name))
        scripts[told["hash"]] = f"{description_script(told)}\n{START}\n"
    return scripts


def add_files(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """`html-page-context`: the scripts and the style for a page that holds a live view."""
    hashes = list(dict.fromkeys(HOLDER.findall(context.get("body", ""))))
    if not hashes:
        return
    from scratchformer.explorer.view import library, stylesheet

    files = {"explorer.css": stylesheet(), "explorer.js": library()}
    for model in hashes:
        if model not in shipped():
            logging.getLogger(__name__).warning(
                "a live view asks for the model %s, which does not ship with the package: "
                "make execute stores it anew",
                model,
                location=pagename,
            )
            continue
        files[f"{model}.js"] = shipped()[model]
    folder = Path(app.outdir, "_static", FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        if name.endswith(".css"):
            app.add_css_file(f"{FOLDER}/{name}")
        else:  # run in this order, when the page is there
            app.add_js_file(f"{FOLDER}/{name}", defer="defer")


class ExplorerDirective(Directive):
    """A live view of a shipped model."""

    required_arguments = 1
    option_spec: ClassVar[dict] = {
        "prompt": directives.unchanged_required,
        "text": directives.unchanged_required,
        "views": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        from scratchformer.explorer import explore
        from scratchformer.models import GPT
        from scratchformer.tokenizers import CharTokenizer

        (name,), options = self.arguments, dict(self.options)
        if "views" in options:
            options["views"] = options["views"].split()
        try:
            model, tokenizer = GPT.pretrained(name), CharTokenizer.pretrained(name)
            html = explore(model, tokenizer, **options).placeholder()
        except ValueError as error:
            raise self.error(str(error)) from error
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook, before the one that repairs a page's list of scripts."""
    app.add_directive("explorer", ExplorerDirective)
    app.connect("html-page-context", add_files, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
