"""A Sphinx extension: the race in the reader's tab.

:::{race}
:::

What stands in `race-if` is there only if the site is built with Tiny Shakespeare, or without it:

:::{race-if} shakespeare
:::

:::{race-if} other
:::
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx


class RaceDirective(Directive):
    """A button that trains a GPT, as `race()` gives it."""

    def run(self) -> list[nodes.Node]:
        from scratchformer_course.kit import facts
        from scratchformer_course.tab_trainer import race

        env = self.state.document.settings.env
        first = facts.chapters(Path(env.srcdir))["01"].docname
        figure = race()
        figure.settings["why"] = env.app.builder.get_relative_uri(env.docname, first)
        return [nodes.raw("", figure.placeholder(), format="html")]


class IfDirective(Directive):
    """Prose about the text that the page trains on."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        from scratchformer.data import load_corpus

        (wanted,) = self.arguments
        if wanted not in ("shakespeare", "other"):
            raise self.error(f"race-if {wanted}, expected shakespeare or other")
        is_shakespeare = load_corpus("tinyshakespeare").name == "tinyshakespeare"
        if is_shakespeare != (wanted == "shakespeare"):
            return []
        text = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, text)
        return text.children


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("race", RaceDirective)
    app.add_directive("race-if", IfDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
