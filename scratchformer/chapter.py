"""What every chapter's first cells need: quiet figures, the device, a budget, a class's source.

It builds nothing a reader should learn from; chapters import models and data from their rooms.
"""

import inspect
import os
import warnings
from typing import TypeVar

import matplotlib.pyplot as plt
from IPython.display import Markdown

T = TypeVar("T")

# Okabe and Ito's colours, told apart by colour-blind readers: blue, orange, green, pink, grey
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"]


def setup() -> None:
    """Make figures legible at phone width, and a warning one plain line; tell of a smoke budget."""
    plt.rcParams.update(
        {
            "figure.figsize": (6.4, 3.6),
            "figure.dpi": 100,
            "savefig.bbox": "tight",
            "font.size": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": plt.cycler(color=COLOURS),
        }
    )
    warnings.formatwarning = lambda message, *_: f"{message}\n"
    if is_smoke():
        print("SCRATCHFORMER_BUDGET=smoke: a few steps only, the numbers below mean nothing.")


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


def show_source(thing) -> Markdown:
    """The source of a function or class of the package, highlighted, as a cell's output."""
    return Markdown(f"```python\n{inspect.getsource(thing).rstrip()}\n```")
