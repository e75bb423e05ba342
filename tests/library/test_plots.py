"""Figures: what is drawn is what was given, and what does not fit is refused."""

import matplotlib
import pytest
import torch

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from scratchformer.plots import heatmap


@pytest.fixture
def ax():
    fig, ax = plt.subplots()
    yield ax
    plt.close(fig)


def shown(ax):
    """The matrix as the picture holds it, and its labels from top to bottom and left to right."""
    mesh = ax.collections[0]
    rows = [label.get_text() for label in ax.get_yticklabels()]
    columns = [label.get_text() for label in ax.get_xticklabels()]
    # matplotlib before 3.8 holds the numbers in one long row
    return mesh.get_array().reshape(len(rows), len(columns)), rows, columns


def test_heatmap_returns_its_axes_and_shows_the_first_row_on_top(ax):
    weights = torch.tensor([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]], requires_grad=True)
    assert heatmap(weights, ax, rows=["a", "b", "a"], columns=["x", "y"]) is ax
    matrix, rows, columns = shown(ax)
    assert matrix.tolist() == weights.tolist()
    assert (rows, columns) == (["a", "b", "a"], ["x", "y"])  # a repeated token, too
    assert ax.yaxis_inverted() and ax.collections[0].get_clim()[0] == 0  # shades start at 0
    assert " ".join(text.get_text() for text in ax.texts) == "0.75 0.25 0.50 0.50 0.00 1.00"
    heatmap(weights, ax, numbers=False, vmax=2)
    assert len(ax.texts) == 6 and ax.collections[-1].get_clim() == (0, 2)


def test_what_does_not_fit_is_refused(ax):
    with pytest.raises(ValueError, match="1 labels for 2 rows"):
        heatmap(torch.rand(2, 3), ax, rows=["a"])
    with pytest.raises(ValueError, match="2 labels for 3 columns"):
        heatmap(torch.rand(2, 3), ax, columns=["a", "b"])
    with pytest.raises(ValueError, match=r"shape \(2, 2, 2\), expected \(rows, columns\)"):
        heatmap(torch.rand(2, 2, 2), ax)
