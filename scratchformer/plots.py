"""Figures that several chapters draw: each takes Axes, draws on them, and returns them."""

import torch
from matplotlib.axes import Axes

from scratchformer.training import History


def loss_curves(history: History, ax: Axes) -> Axes:
    """Training and validation loss against steps, in nats."""
    ax.plot(history.steps, history.train_loss, "o-", markersize=3, color="C0", label="training")
    ax.plot(history.steps, history.val_loss, "o-", markersize=3, color="C1", label="validation")
    ax.set(xlabel="steps", ylabel="loss (nats per token)", xlim=(0, None))
    ax.legend(fontsize=9, frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1))
    return ax


def heatmap(
    matrix,
    ax: Axes,
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    numbers: bool = True,
    **options,
) -> Axes:
    """A (rows, columns) matrix as coloured squares, labelled with tokens, numbers inside.

    Darker is more, from 0. `options` go to seaborn's `heatmap`. Raises ValueError if the matrix
    has not two axes or a label list does not fit.
    """
    import seaborn  # here, since it takes a second and few figures need it

    matrix = torch.as_tensor(matrix).detach().cpu()
    if matrix.dim() != 2:
        raise ValueError(f"matrix has shape {tuple(matrix.shape)}, expected (rows, columns)")
    for name, given, n in zip(("rows", "columns"), (rows, columns), matrix.shape, strict=True):
        if given is not None and len(given) != n:
            raise ValueError(f"got {len(given)} labels for {n} {name}")
    defaults = {"square": True, "linewidths": 0.5, "cbar": False, "fmt": ".2f", "annot": numbers}
    defaults |= {"cmap": "Blues", "vmin": 0}
    defaults |= {"xticklabels": columns or False, "yticklabels": rows or False}
    seaborn.heatmap(matrix.float().numpy(), ax=ax, **defaults | options)
    ax.tick_params(length=0)
    ax.tick_params(axis="y", rotation=0)
    return ax
