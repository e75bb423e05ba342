"""What every chapter's first cells need: quiet figures, the device, a budget, a class's source.

It builds nothing a reader should learn from; chapters import models and data from their rooms.
"""

import inspect
import os
import warnings

import matplotlib.pyplot as plt
from IPython.display import Markdown

# Okabe and Ito's colours, told apart by colour-blind readers: blue, orange, green, pink, grey
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"]


def setup() -> None:
    """Make figures legible at phone width, and a warning one plain line."""
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


def device():
    """The GPU if there is one, else the CPU (a `torch.device`)."""
    import torch  # here, since chapters that compute nothing with it should open at once

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def budget(cpu, gpu):
    """`cpu` or `gpu`, by the device; `$SCRATCHFORMER_BUDGET` (cpu or gpu) overrides it."""
    choice = os.environ.get("SCRATCHFORMER_BUDGET") or ("gpu" if device().type == "cuda" else "cpu")
    if choice not in ("cpu", "gpu"):
        raise ValueError(f"SCRATCHFORMER_BUDGET={choice!r}; expected cpu or gpu")
    return gpu if choice == "gpu" else cpu


def show_source(thing) -> Markdown:
    """The source of a function or class of the package, highlighted, as a cell's output."""
    return Markdown(f"```python\n{inspect.getsource(thing).rstrip()}\n```")
