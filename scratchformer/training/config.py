"""The settings of a training run, and what they ask for: the learning rate and the optimiser.

What is trained, and on which data, is not in it.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from scratchformer.training.muon import Muon, matrix_groups

SCHEDULES = ("linear", "cosine", "constant")


def learning_rate(
    step: int, *, lr: float, steps: int, warmup: int = 0, schedule: str = "linear"
) -> float:
    """The rate of the update that follows `step` done updates (0 for the first), never 0 there.

    It rises in a straight line to its peak `lr` at step `warmup`. From there "linear" and "cosine"
    fall to 0 at `steps`, just after the last update; "constant" stays. A formula, not an object:
    whoever knows the step knows the rate, so nothing has to be saved. Raises ValueError for an
    unknown schedule, a negative step, or a warm-up that does not fit into the run.
    """
    if step < 0:
        raise ValueError(f"step={step}, expected 0 or more")
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule={schedule!r}, expected one of {', '.join(SCHEDULES)}")
    if not 0 <= warmup < steps:
        raise ValueError(f"warmup={warmup}, expected 0 or more and fewer than steps={steps}")
    if step < warmup:
        return lr * (step + 1) / (warmup + 1)
    if schedule == "constant":
        return lr
    progress = min((step - warmup) / (steps - warmup), 1.0)  # 0 at the peak, 1 at the end
    fall = progress if schedule == "linear" else (1 - math.cos(math.pi * progress)) / 2
    return lr * (1 - fall)


@dataclass(frozen=True)
class TrainingConfig:
    """How `fit` trains. Raises ValueError for a value that no run can have."""

    steps: int  # of the optimiser
    lr: float  # the peak of the learning rate
    seed: int  # of the batches; 0 or more
    weight_decay: float = 0.1  # of matrices; vectors do not decay
    betas: tuple[float, float] = (0.9, 0.95)
    eps: float = 1e-8
    matrix_lr: float | None = None  # if given, AdamW trains the linear layers at this peak
    muon_lr: float | None = None  # if given, Muon trains the linear layers, at this peak
    muon_momentum: float = 0.95  # how much of its running mean Muon keeps at each step
    warmup: int = 0  # steps in which the rate rises
    schedule: str = "linear"  # how it falls: see `learning_rate`
    clip: float = 1.0  # longest gradient
    gradient_accumulation_steps: int = 1  # batches in a step
    precision: str = "float32"  # or "bfloat16": matrix products under autocast
    evaluate_every: int | None = None  # steps; None: after the last step only
    checkpoint_every: int | None = None  # steps; None: at every evaluation
    compile: bool = False  # by torch.compile

    def __post_init__(self) -> None:
        intervals = ("evaluate_every", "checkpoint_every")  # None: left out
        for name in ("steps", "gradient_accumulation_steps", *intervals):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}, expected at least 1")
        for name in ("lr", "matrix_lr", "muon_lr", "eps", "clip"):
            value = getattr(self, name)
            finite_or_clip = name == "clip" or value != math.inf
            is_left_out = value is None and name in ("matrix_lr", "muon_lr")
            if not is_left_out and not (value > 0 and finite_or_clip):
                rule = "more than 0" if name == "clip" else "more than 0, and finite"
                raise ValueError(f"{name}={value}, expected {rule}")
        if self.matrix_lr is not None and self.muon_lr is not None:
            raise ValueError("matrix_lr and muon_lr are both given, expected one of them")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay={self.weight_decay}, expected 0 or more, and finite")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas={self.betas}, expected two numbers from 0 to below 1")
        if not 0 <= self.muon_momentum < 1:
            raise ValueError(f"muon_momentum={self.muon_momentum}, expected 0 to below 1")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed={self.seed}, expected 0 or more and less than 2**63")
        if self.precision not in ("float32", "bfloat16"):
            raise ValueError(f"precision={self.precision!r}, expected 'float32' or 'bfloat16'")
        self.learning_rate(0)  # refuses a schedule that is unknown or does not fit

    def learning_rate(self, step: int, peak: float | None = None) -> float:
        """The rate after `step` done steps, for a group whose peak is `peak` (default: `lr`)."""
        peak = self.lr if peak is None else peak
        return learning_rate(
            step, lr=peak, steps=self.steps, warmup=self.warmup, schedule=self.schedule
        )


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Two groups for AdamW: matrices decay, biases and norms (one dimension) do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """AdamW, or Muon where the configuration has a `muon_lr`.

    Muon computes in the precision of the run. Each group's "initial_lr", as PyTorch's schedulers
    call it, is the peak of its rate.
    """
    options: dict[str, Any] = {"lr": config.lr, "betas": config.betas, "eps": config.eps}
    optimizer_class: type[torch.optim.AdamW] = torch.optim.AdamW
    matrix_lr = config.muon_lr or config.matrix_lr
    if matrix_lr is None:
        groups = parameter_groups(model, config.weight_decay)
    else:
        use_muon = config.muon_lr is not None
        groups = matrix_groups(model, config.lr, matrix_lr, config.weight_decay, use_muon)
    if config.muon_lr is not None:
        optimizer_class = Muon
        options |= {"momentum": config.muon_momentum, "dtype": getattr(torch, config.precision)}
    try:
        optimizer = optimizer_class(groups, fused=True, **options)
    except RuntimeError:  # a device that has no fused step
        optimizer = optimizer_class(groups, **options)
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]
    return optimizer
