"""Chapter 16's drawings: the small runs, and what twice the text saves."""

import numpy as np
from matplotlib.axes import Axes

from scratchformer_course.kit.canvas import Drawing


def runs(ax: Axes, N: np.ndarray, D: np.ndarray, L: np.ndarray, legend: bool = True) -> Axes:
    """The loss of each run against its operations, a mark for each size."""
    for i, size in enumerate(np.unique(N)):
        here = size == N
        label = f"{size / 1000:.0f} k"
        ax.plot(6 * size * D[here], L[here], f"C{(0, 1, 2, 9)[i % 4]}{'os^D'[i % 4]}", label=label)
    ax.set(xscale="log", xlim=(5e10, 1.2e13), ylim=(0.26, 1.17))
    ax.set(xlabel="operations of the training, 6 N D", ylabel="loss (nats)")
    if legend:
        ax.legend(title="parameters")
    return ax


def savings(saved: dict[int, tuple[float, float]]):
    """By size, what twice the text saves: measured, and by the law whose prices are added."""
    d, unit = Drawing(478, 40 + 66 * len(saved)), 720
    d.text_from(120, 14, "nats saved by twice the text", bold=True)
    for i, (n, (measured, by_law)) in enumerate(saved.items()):
        y = 34 + 66 * i
        d.text_to(112, y + 24, f"{n:,}")
        for top, nats, name, colour, fill in (
            (y, measured, "measured", "query", 0.8),
            (y + 26, by_law, "the law", "key", 0),
        ):
            d.box(120, top, unit * nats, 22, "", colour, fill)
            d.text_from(126 + unit * nats, top + 11, f"{nats:.2f} {name}", colour, 13)
    bars = "; ".join(f"{n:,} parameters {a:.2f}, the law {b:.2f}" for n, (a, b) in saved.items())
    return d.show(
        "Two bars for each size of model: how much the loss falls with twice the text, as "
        f"measured, and as the law says. {bars}. The measured bars get shorter from the smallest "
        "model to the largest, while the bars of the law are all equally long."
    )
