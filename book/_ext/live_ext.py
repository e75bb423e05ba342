"""A Sphinx extension: live figures on the site, their scripts and weights once a page.

Stored outputs hold a still figure, its numbers and the hashes of its models
(SCRATCHFORMER_LIVE=stored while a notebook is executed). A page with such a figure gets the scripts
that it needs (`scratchformer_course/kit/figure/scripts.py`). They are ordinary script files
beside the page, so they work from disk too, and browsers keep them from page to page. Models and
texts weigh more than the rest of a page: it names them, and the first script fetches them when the
page stands. Only models that ship with the package can be asked for. GPTs travel in int8, which
costs them nothing that can be read off a loss (`lab/page_bits.py`); chapter 20 rounds the weights
itself and asks for them in 16 bits.

On a page written by hand, the directive `explorer` stands for a call of `explore`, and `live` for
a figure that a chapter shows, by the name of its script:

    :::{explorer} tiny-shakespeare
    :prompt: ROMEO:
    :views: attention next
    :::

    :::{explorer} tiny-shakespeare
    :prompt: and what thou offer's
    :altered: and what they offer's
    :views: patch switches
    :::

    :::{live} 01_bpe merges
    :::

A figure that no chapter shows is a call of a function in the `live.py` of a slice:

    :::{live} ch15_costs costs
    :::

An experiment of a page can have a button that sets its first figure up (experiment.js):

    <div class="course-do" data-press="Switch off | positions"></div>

`drawing` stands for a call of one of the course's drawings, by its room and its name, and
by what it draws if it can draw several things:

    :::{drawing} page_model matrix_in_a_row
    :::

`race` stands for `race()`, a button that trains a GPT. Prose about its text is there only if the
site is built with Tiny Shakespeare, or without it (Sphinx's `only`):

    :::{only} shakespeare
    :::

    :::{only} not shakespeare
    :::
"""

import importlib
import json
import re
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any, ClassVar

import nbformat
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

FOLDER = "live"  # in the site's _static
HOLDER = re.compile(
    r'class="live-figure" data-figure="(\w+)" data-models="(.*?)" data-settings="(.*?)"'
)


@lru_cache(maxsize=1)
def shipped() -> dict[str, tuple[str, str]]:
    """Each shipped model's, table's or text's hash -> a script's name, and the script."""
    from scratchformer.data import load_corpus
    from scratchformer.models import BERT, GPT
    from scratchformer.shipped import shipped_words
    from scratchformer.tokenizers import CharTokenizer
    from scratchformer_course.ch11_training.stored_steps import load_checkpoints
    from scratchformer_course.ch13_bert.live import describe_bert
    from scratchformer_course.ch20_inference.counts import describe_counts
    from scratchformer_course.ch20_inference.live import exact
    from scratchformer_course.kit.figure.live_figure import description_script
    from scratchformer_course.page_model import describe
    from scratchformer_course.page_model.fewer_bits import in_int8
    from scratchformer_course.tab_trainer.race import describe_corpus

    name, bert = "tiny-shakespeare", "english-german"
    gpt, tok = GPT.pretrained(name), CharTokenizer.pretrained(name)
    files = [
        [in_int8(describe(gpt, tok))],
        [exact(gpt, tok)],
        [in_int8(describe(model, tok)) for _, model in load_checkpoints()],
        [describe_bert(BERT.pretrained(bert), shipped_words(bert))],
        [describe_counts()],
    ]
    scripts: dict[str, tuple[str, str]] = {}
    for models in files:
        script = "".join(f"{description_script(model)}\n" for model in models)
        scripts |= {model["hash"]: (f"model-{models[0]['hash']}.js", script) for model in models}
    text = describe_corpus(load_corpus("tinyshakespeare"))  # or what stands in for it
    scripts[text["hash"]] = (f"text-{text['hash']}.js", f"{description_script(text)}\n")
    return scripts


def add_files(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: the scripts and the styles for a page that holds live figures."""
    holders = HOLDER.findall(context.get("body", ""))
    if not holders:
        return
    if 'class="course-do"' in context["body"]:
        app.add_js_file("experiment.js", defer="defer")
    from scratchformer_course.kit.figure.live_figure import START
    from scratchformer_course.kit.figure.scripts import SCRIPT, STYLE, files_of, read

    names = [STYLE, SCRIPT]
    for name, _, settings in holders:
        names += files_of(name, json.loads(unescape(settings)))
    contents = {name.replace("/", "-"): read(name) for name in dict.fromkeys(names)}
    fetched_last = {}
    for model in dict.fromkeys(m for _, models, _ in holders for m in models.split()):
        if model not in shipped():
            message = "a live figure asks for the model %s, which does not ship: make execute"
            logging.getLogger(__name__).warning(message, model, location=pagename)
            continue
        file, script = shipped()[model]
        contents[file] = script
        fetched_last[file] = context["pathto"](f"_static/{FOLDER}/{file}", resource=True)
    contents["start.js"] = f"{START}\n"
    folder = Path(app.outdir, "_static", FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        if name.endswith(".css"):
            app.add_css_file(f"{FOLDER}/{name}")
        elif name in fetched_last:  # no script to the browser, but a name for `start`
            named = {"type": "text/plain", "data-src": fetched_last[name]}
            app.add_js_file(None, body="", **named)
        else:  # run in this order, before the theme's, when the page is there
            app.add_js_file(f"{FOLDER}/{name}", priority=150, defer="defer")


class ExplorerDirective(Directive):
    """A live view of a shipped model."""

    required_arguments = 1
    option_spec: ClassVar[dict] = {
        "prompt": directives.unchanged_required,
        "text": directives.unchanged_required,
        "altered": directives.unchanged_required,
        "views": directives.unchanged_required,
        "simple": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        from scratchformer.models import GPT
        from scratchformer.tokenizers import CharTokenizer
        from scratchformer_course.page_model import explore

        (name,), options = self.arguments, dict(self.options)
        if "views" in options:
            options["views"] = options["views"].split()
        options["simple"] = "simple" in options
        try:
            model, tokenizer = GPT.pretrained(name), CharTokenizer.pretrained(name)
            html = explore(model, tokenizer, **options).placeholder()
        except ValueError as error:
            raise self.error(str(error)) from error
        return [nodes.raw("", html, format="html")]


class LiveDirective(Directive):
    """A figure that a chapter's stored output holds, or a slice makes, below the directive's text.

    `link`: only the text stands here, for a figure that is too large to be shown twice.
    """

    required_arguments = 2
    has_content = True
    option_spec: ClassVar[dict] = {"link": directives.flag}

    def run(self) -> list[nodes.Node]:
        chapter, figure = self.arguments
        env = self.state.document.settings.env
        path = Path(env.srcdir, "notebooks", f"{chapter}.ipynb")
        if path.is_file():
            env.note_dependency(str(path))
            outputs = reversed(stored_outputs(path))  # the last is the whole one
            html = next((x for x in outputs if f'data-figure="{figure}"' in x), None)
            if html is None:
                raise self.error(f"chapter {chapter} shows no live figure {figure}")
        else:
            html = self.of_slice(chapter, figure)
        text = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, text)
        shown = [] if "link" in self.options else [nodes.raw("", html, format="html")]
        return [*text.children, *shown]

    def of_slice(self, name: str, figure: str) -> str:
        try:
            module = importlib.import_module(f"scratchformer_course.{name}.live")
            return getattr(module, figure)().placeholder()
        except (ImportError, AttributeError) as error:
            raise self.error(f"there is no chapter or figure {name} {figure}: {error}") from error


class DrawingDirective(Directive):
    """A drawing of the course: `{drawing} ROOM FUNCTION`, and perhaps an argument."""

    required_arguments = 2
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        module, name, *given = self.arguments
        try:
            drawn = importlib.import_module(f"scratchformer_course.{module}.drawings")
            self.state.document.settings.env.note_dependency(drawn.__file__)
            return [nodes.raw("", getattr(drawn, name)(*given).data, format="html")]
        except (ImportError, AttributeError) as error:
            raise self.error(f"there is no drawing {module}.{name}: {error}") from error


class RaceDirective(Directive):
    """A button that trains a GPT, as `race()` gives it."""

    def run(self) -> list[nodes.Node]:
        from scratchformer_course.kit import chapter_facts
        from scratchformer_course.tab_trainer import race

        env = self.state.document.settings.env
        first = chapter_facts.chapters(Path(env.srcdir))["01"].docname
        figure = race()
        figure.settings["why"] = env.app.builder.get_relative_uri(env.docname, first)
        return [nodes.raw("", figure.placeholder(), format="html")]


def tag_text(app: Sphinx, config: Config) -> None:
    """`config-inited`: the tag `shakespeare`, if that is the text on which the page trains."""
    from scratchformer.data import load_corpus

    if load_corpus("tinyshakespeare").name == "tinyshakespeare":
        app.tags.add("shakespeare")


def stored_outputs(path: Path) -> list[str]:
    """The HTML of all outputs of a notebook."""
    return [
        output["data"]["text/html"]
        for cell in nbformat.read(path, as_version=4).cells
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks; the scripts come before the one that repairs a page's list of them."""
    app.add_directive("explorer", ExplorerDirective)
    app.add_directive("live", LiveDirective)
    app.add_directive("drawing", DrawingDirective)
    app.add_directive("race", RaceDirective)
    app.connect("config-inited", tag_text)
    app.connect("html-page-context", add_files, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
