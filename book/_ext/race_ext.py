"""A Sphinx extension: the race in the reader's tab, and the table of what was measured of it.

:::{race}
:::

```{race-measured}
```

```{race-gradients}
```

What stands in `race-if` is there only if the site is built with Tiny Shakespeare, or without it:

:::{race-if} shakespeare
:::

:::{race-if} other
:::
"""

import statistics
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

WAYS = ("together", "alone")
PRODUCTS = {  # the forms of matrix.js
    "fused": "Chromium, fused",
    "simd": "Node.js, SIMD",
    "plain": "Node.js, plain",
}
IDEAS = {
    "rotary": "without rotary positions (learned ones)",
    "bigrams": "without vectors for pairs",
    "smear": "without smear",
    "muon": "without Muon (AdamW, tuned as widely)",
}


class RaceDirective(Directive):
    """A button that trains a GPT, as `race()` gives it."""

    def run(self) -> list[nodes.Node]:
        from scratchformer_course.tab_trainer import race

        return [nodes.raw("", race().placeholder(), format="html")]


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


class MeasuredDirective(Directive):
    """The tables of measurements/tab.json."""

    def run(self) -> list[nodes.Node]:
        from scratchformer_course.measurements import load_measurements

        found = load_measurements("tab")
        return [nodes.raw("", tables(found), format="html")]


class GradientsDirective(Directive):
    """The table of gradients in measurements/tab.json."""

    def run(self) -> list[nodes.Node]:
        from scratchformer_course.measurements import load_measurements

        return [nodes.raw("", gradient_table(load_measurements("tab")), format="html")]


def tables(found: dict[str, Any]) -> str:
    """Seconds and losses of all runs, and what each idea is worth, as HTML."""
    named = [
        (f"this page in Chromium {major(found['browser'])}", found["tab"]),
        (f"this page in Firefox {major(found.get('firefox_version', ''))}", found["firefox"]),
        ("the same trainer in Node.js, one worker", found["node"]),
        ("the same recipe in PyTorch", found["pytorch"]),
        ("nanoGPT’s command in PyTorch", found["nanoGPT"]),
    ]
    rows = [
        (name, str(len(runs)), span(runs, "seconds", 1), span(runs, "loss", 3))
        for name, runs in named
        if runs
    ]
    ideas = [("all ideas", span(found["node"], "loss", 3))]
    ideas += [(IDEAS[name], span(runs, "loss", 3)) for name, runs in found["without"].items()]
    return (
        table(("", "seeds", "training, s", "validation loss"), rows)
        + f"<p>{sentences(found)}</p>"
        + table(("one idea less, three seeds", "validation loss"), ideas)
    )


def sentences(found: dict[str, Any]) -> str:
    """When and where it was measured, and what follows."""
    tab, hardware = found["summary"], found["hardware"]
    low, high = tab["in_all"]["range"]
    shared = [run["usual"] for run in found["tab"] if run["together"]]
    both, alone = (1000 * statistics.median(run[way] for run in shared) for way in WAYS)
    return (
        f"Measured on {found['day']}, all in one run, on {hardware['cores']} cores of "
        f"{hardware['processor']}. The browsers had no window. "
        f"From the press of the button to the score it took {low:.1f} to {high:.1f} s. "
        f"nanoGPT’s command ran once and took {tab['nanoGPT_seconds']:.0f} s to train: "
        f"{tab['ratio']['median']:.0f} times as long as the median run of this page in Chromium "
        f"({tab['ratio']['range'][0]:.0f} to {tab['ratio']['range'][1]:.0f} times as long as the "
        f"others). {count(tab['at_most_1.90'], tab['seeds'])} of these {tab['seeds']} runs end at "
        f"1.90 or below. {count(len(shared), tab['seeds'])} of them shared their steps between two "
        f"workers: a step took {both:.0f} ms with two and "
        f"{alone:.0f} ms with one (medians). The page itself was never busy for more "
        f"than {max(50, tab['longest_task_ms']):.0f} ms at a time."
    )


def gradient_table(found: dict[str, Any]) -> str:
    """How far each weight's gradient is from PyTorch's, for each form of the product, as HTML."""
    runs = found["gradients"]
    rows = [
        (
            f'<code class="whole">{name.removesuffix(".weight")}</code>',
            f"{largest:.3g}",
            *(power(run["weights"][name][0]) for run in runs),
        )
        for name, (_, largest) in runs[0]["weights"].items()
    ]
    kinds = [PRODUCTS[run["kind"]] for run in runs]
    return table(("weight", "largest gradient", *kinds), rows)


def power(x: float) -> str:
    """A small number as 1.2 · 10⁻⁷."""
    digits, exponent = f"{x:.1e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits} · 10{raised}" if x else "0"


def count(some: int, of: int) -> str:
    """How many of them, in words where they are all."""
    return "All" if some == of else str(some)


def major(version: str) -> str:
    """The first number of a version."""
    return version.split(".")[0]


def span(runs: list[dict[str, Any]], name: str, digits: int) -> str:
    """The smallest and the largest of these numbers."""
    low, high = (f"{pick(run[name] for run in runs):.{digits}f}" for pick in (min, max))
    return low if low == high else f"{low} to {high}"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table; the first cell of each row is its header."""
    top = "".join(f'<th scope="col">{name}</th>' if name else "<td></td>" for name in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    inner = f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="pst-scrollable-table-container"><table class="table">{inner}</table></div>'


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("race", RaceDirective)
    app.add_directive("race-if", IfDirective)
    app.add_directive("race-measured", MeasuredDirective)
    app.add_directive("race-gradients", GradientsDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
