"""Figures that several chapters draw: each takes Axes, draws on them, and returns them."""

from matplotlib.axes import Axes

from scratchformer.training import History


def loss_curves(history: History, ax: Axes, baselines: dict[str, float] | None = None) -> Axes:
    """Training and validation loss against steps, in nats; a dashed line for each baseline."""
    ax.plot(history.steps, history.train_loss, "o-", markersize=3, color="C0", label="training")
    ax.plot(history.steps, history.val_loss, "o-", markersize=3, color="C1", label="validation")
    for i, (name, loss) in enumerate((baselines or {}).items(), 2):
        ax.axhline(loss, linestyle="--", color=f"C{i}", label=name)
    ax.set(xlabel="steps", ylabel="loss (nats per token)", xlim=(0, None))
    ax.legend(fontsize=9, framealpha=1, edgecolor="none")
    return ax
