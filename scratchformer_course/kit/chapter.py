"""What every chapter's first cells need: quiet figures, the device, a budget, a class's source.

It builds nothing a reader should learn from; chapters import models and data from their rooms.
"""

import io
import os
import re
import warnings
import zlib
from typing import TypeVar

import matplotlib.pyplot as plt
from IPython import get_ipython
from matplotlib.figure import Figure

T = TypeVar("T")

# Okabe and Ito's colours, told apart by colour-blind readers: blue, orange, green, pink, grey
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#777777"]
INK = "#1a2b3c"  # stands for the page's colour of text, light or dark; no figure uses it otherwise
ENLARGED = 1.3  # how much larger than its own size a figure may be shown


def setup() -> None:
    """Make figures legible at phone width and fit for dark pages, and a warning one plain line.

    Tells of a smoke budget, under which no number means anything and Playhouse is a shorter text.
    """
    plt.rcParams.update(
        {
            "text.color": INK,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "figure.figsize": (5.0, 3.0),
            "savefig.bbox": "tight",
            "savefig.transparent": True,
            "svg.fonttype": "none",  # letters, not their outlines
            "svg.hashsalt": "the same names each time",
            "font.size": 11,
            "legend.frameon": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": plt.cycler(color=COLOURS),
        }
    )
    warnings.formatwarning = lambda message, *_: f"{message}\n"
    if (shell := get_ipython()) is not None:
        _show_figures_as_svg(shell)
    if is_smoke():
        os.environ.setdefault("SCRATCHFORMER_PLAYHOUSE", "200000")
        print("SCRATCHFORMER_BUDGET=smoke: a few steps only, the numbers below mean nothing.")


def themed_svg(figure: Figure) -> str:
    """The figure as SVG for a page: sharp, transparent, its ink in the page's colour of text.

    The names of its parts are its own, so that a page can hold several figures. A description is
    not part of it: on the site it comes from the cell's metadata.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    svg = file.getvalue()
    start = svg.index("<svg")
    head, body = svg[start : svg.index(">", start)], svg[svg.index(">", start) + 1 :]
    left, bottom, width, height = map(float, head.split('viewBox="')[1].split('"')[0].split())
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r'<g id="[^"]*"', "<g", body)  # nothing refers to groups
    prefix = f"f{zlib.crc32(body.encode()):08x}"
    body = re.sub(r"<[^>]*>", lambda tag: _themed_tag(tag.group(), prefix), body)
    widest = ENLARGED * width * 4 / 3  # from points to pixels
    style = f"width: 100%; max-width: {widest:.0f}px; height: auto; display: block; margin: 0 auto"
    return (
        f'<svg class="course-plot" viewBox="{left} {bottom} {width} {height}" '
        f'style="{style}; stroke-linejoin: round; stroke-linecap: butt" '
        f'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{body}'
    )


def _themed_tag(tag: str, prefix: str) -> str:
    """An SVG tag whose names begin with `own`, in the page's colour of text where it was black."""
    tag = re.sub(r'(?<=\sid=")|(?<=href="#)|(?<=url\(#)', prefix, tag)
    tag = re.sub(f"{INK}|#000000", "currentColor", tag)
    return re.sub(r"'DejaVu Sans'(?=[;\"])", "'DejaVu Sans', sans-serif", tag)


def _show_figures_as_svg(shell) -> None:
    """Have figures shown by `themed_svg` alone, in place of a PNG."""
    from matplotlib_inline.config import InlineBackend

    InlineBackend.instance(parent=shell).figure_formats = set()
    shell.display_formatter.formatters["text/html"].for_type(Figure, themed_svg)


def device():
    """The GPU if there is one, else the CPU (a `torch.device`)."""
    import torch  # here, since chapters that compute nothing with it should open at once

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def budget(cpu: T, gpu: T | None = None, smoke: T | None = None) -> T:
    """The setting for this run: `cpu` or `gpu` by the device, unless a budget is asked for.

    `$SCRATCHFORMER_BUDGET` asks for one: cpu, gpu or smoke. Smoke is for tests that only see every
    cell run: it takes a few steps, and no loss means anything. What is not given is as for the CPU.
    Raises ValueError if the variable holds another word.
    """
    asked = os.environ.get("SCRATCHFORMER_BUDGET", "")
    if asked not in ("", "cpu", "gpu", "smoke"):
        raise ValueError(f"SCRATCHFORMER_BUDGET={asked!r}; expected cpu, gpu or smoke")
    choice = asked or ("gpu" if device().type == "cuda" else "cpu")
    given = {"cpu": cpu, "gpu": gpu, "smoke": smoke}[choice]
    return cpu if given is None else given


def is_smoke() -> bool:
    """Whether this run takes the smoke budget, under which a claim about a loss is not tested."""
    return os.environ.get("SCRATCHFORMER_BUDGET") == "smoke"
