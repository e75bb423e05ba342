"""A Sphinx extension: the real model's file is part of the site, if it is at hand.

Pages fetch it from the site's own folder when a reader asks for it. The build downloads nothing:
`python -m scratchformer.data.real_model` does, beforehand. Without the file pages say so, and show
the recorded results. A page whose figures ask for the model holds the file's address, which is
empty if the site was built without it:

    <script type="text/plain" data-real-model="../_static/real_model/NAME.gguf"></script>

The page that needs its vocabulary alone gets it as a script of its own, vocabulary.js.

The directive `talk` stands for the figure of this name.
"""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.config import Config

from scratchformer.data.gguf import read_gguf
from scratchformer.data.real_model import find_real_model

FOLDER = "_static/real_model"
CONTROL = 3  # the kind of a special token
NEEDS = "real_model/model_file.js"  # a figure that loads this script asks for the model
READS = "ch01_bpe/real_tokens.js"  # this one asks for its vocabulary alone


def look_for_model(app: Sphinx, config: Config) -> None:
    """`config-inited`: where the file is. All pages are written again when that changes."""
    try:
        config["real_model_file"] = str(find_real_model(download=False))
    except OSError:
        config["real_model_file"] = ""


def add_address(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: the file's address, on a page that may ask for it."""
    from scratchformer_course.kit.figure.scripts import files_of

    figures = re.findall(r'data-figure="(\w+)"', context.get("body", ""))
    if any(NEEDS in files_of(name, {}) for name in figures):
        name = Path(app.config.real_model_file).name
        address = context["pathto"](f"{FOLDER}/{name}", resource=True) if name else ""
        attributes: dict[str, Any] = {"type": "text/plain", "data-real-model": address}
        app.add_js_file(None, body="", **attributes)
    if app.config.real_model_file and any(READS in files_of(name, {}) for name in figures):
        address = context["pathto"](f"{FOLDER}/vocabulary.js", resource=True)
        attributes = {"type": "text/plain", "data-vocabulary": address}
        app.add_js_file(None, body="", **attributes)


def vocabulary_script(path: str | Path) -> str:
    """The tokens of a GGUF file as a script, below 1 MB, that a page from disk can load, too."""
    settings, _ = read_gguf(path)
    model, pre, tokens, kinds = (
        settings[f"tokenizer.ggml.{name}"] for name in ("model", "pre", "tokens", "token_type")
    )
    vocabulary = {
        "model": model,
        "pre": pre,
        "tokens": "\n".join(tokens),  # none has a line's end: GPT-2's alphabet writes it as Ċ
        "control": [i for i, kind in enumerate(kinds) if kind == CONTROL],
    }
    return f"course.realVocabulary = {json.dumps(vocabulary, ensure_ascii=False)};\n"


def put_model(app: Sphinx, error: Exception | None) -> None:
    """`build-finished`: the file goes into the site, as a second name if the disk can give one."""
    if error or app.builder.format != "html":
        return
    folder = Path(app.outdir, FOLDER)
    shutil.rmtree(folder, ignore_errors=True)  # that of an earlier build
    if source := app.config.real_model_file:
        folder.mkdir(parents=True)
        try:
            os.link(source, folder / Path(source).name)
        except OSError:  # on another disk, or of a kind without such names
            shutil.copyfile(source, folder / Path(source).name)
        script = vocabulary_script(source)
        Path(folder, "vocabulary.js").write_text(script, encoding="utf-8")


class TalkDirective(Directive):
    """A talk with the model, which is recorded until the reader loads it."""

    def run(self) -> list[nodes.Node]:
        from scratchformer_course.pages.talk_page import talk

        return [nodes.raw("", talk().placeholder(), format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register directive and hooks."""
    app.add_config_value("real_model_file", "", "html")
    app.add_directive("talk", TalkDirective)
    app.connect("config-inited", look_for_model)
    app.connect("html-page-context", add_address)
    app.connect("build-finished", put_model)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
