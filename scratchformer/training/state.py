"""A run between two steps: what the loop works on, a callback sees and a checkpoint holds."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class History:
    """What a run reported: one entry in each list for each evaluation."""

    steps: list[int] = field(default_factory=list)  # optimiser steps done so far
    train_loss: list[float] = field(default_factory=list)  # nats per target since the last entry
    val_loss: list[float] = field(default_factory=list)  # what `validate` said; empty without
    seconds: list[float] = field(default_factory=list)  # in training alone, so far


@dataclass
class TrainingState:
    """What the next step of a run depends on, random states aside, and what the run has reported.

    `fit` calls each of its callbacks with this object after every step. By then the step has been
    evaluated and saved, if it was to be: a callback that raises loses no more than a kill at that
    moment would. `evaluated` says whether the last entry of `history` is of this step. A callback
    may read everything; to change the model is to change the run.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    batches: Iterator[tuple[Tensor, ...]]
    history: History = field(default_factory=History)
    step: int = 0  # steps done
    seconds: float = 0.0  # time in training
    # nats and targets of each step since the last evaluation, (2,)
    totals: list[Tensor] = field(default_factory=list)
    evaluated: bool = False

    def mean_loss(self) -> float:
        """Nats per target since the last evaluation; waits for the GPU, and begins anew."""
        nats, targets = torch.stack(self.totals).sum(dim=0).tolist()
        self.totals = []
        return nats / max(targets, 1.0)

    def record(self, train_loss: float, val_loss: float | None) -> None:
        """Add an entry of this step to the history."""
        self.history.steps.append(self.step)
        self.history.train_loss.append(train_loss)
        self.history.seconds.append(self.seconds)
        if val_loss is not None:
            self.history.val_loss.append(val_loss)
