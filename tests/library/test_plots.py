"""Figures: what is drawn is what was given, and what does not fit is refused."""

import matplotlib
import pytest
import torch
from refusals import refused

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from scratchformer.plots import heatmap, loss_curves
from scratchformer.training import History


@pytest.fixture
def ax():
    fig, ax = plt.subplots()
    yield ax
    plt.close(fig)


def test_heatmap_returns_its_axes_and_shows_the_first_row_on_top(ax):
    weights = torch.tensor([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]], requires_grad=True)
    assert heatmap(weights, ax, rows=["a", "b", "a"], columns=["x", "y"]) is ax
    mesh = ax.collections[0]  # matplotlib before 3.8 holds the numbers in one long row
    assert mesh.get_array().reshape(3, 2).tolist() == weights.tolist()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "a"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y"]
    assert ax.yaxis_inverted() and mesh.get_clim()[0] == 0  # shades start at 0
    assert " ".join(text.get_text() for text in ax.texts) == "0.75 0.25 0.50 0.50 0.00 1.00"
    heatmap(weights, ax, numbers=False, vmax=2)
    assert len(ax.texts) == 6 and ax.collections[-1].get_clim() == (0, 2)


def test_loss_curves_are_the_two_losses_against_the_steps(ax):
    assert loss_curves(History([0, 5], [3.0, 2.0], [3.5, 2.5], []), ax) is ax
    curves = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert curves == {"training": [[0, 3], [5, 2]], "validation": [[0, 3.5], [5, 2.5]]}
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.get_legend().texts]
    assert len({box.y0 for box in boxes}) == 1, "the legend has one line"
    assert all(box.x1 < ax.bbox.x1 and box.y0 > ax.bbox.y1 for box in boxes), "above the curves"


test_what_does_not_fit_is_refused = refused(
    {
        "1 labels for 2 rows": lambda: heatmap(torch.rand(2, 3), plt.gca(), ["a"]),
        "2 labels for 3 columns": lambda: heatmap(torch.rand(2, 3), plt.gca(), None, ["a", "b"]),
        r"shape \(2, 2, 2\), expected \(rows,": lambda: heatmap(torch.rand(2, 2, 2), None),
    }
)
