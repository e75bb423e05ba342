"""The settings of a training run: one frozen object that refuses nonsense when it is made.

What is trained, and on which data, is not in it.
"""

import math
from dataclasses import dataclass

from scratchformer.training.schedules import learning_rate


@dataclass(frozen=True)
class TrainingConfig:
    """How `fit` trains. Raises ValueError for a value that no run can have."""

    steps: int  # of the optimiser
    lr: float  # the peak of the learning rate
    seed: int  # of the batches; 0 or more
    weight_decay: float = 0.1  # of matrices; vectors do not decay
    betas: tuple[float, float] = (0.9, 0.95)
    eps: float = 1e-8
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
    parallel: str = "ddp"  # or "fsdp"; with one process neither does anything

    def __post_init__(self) -> None:
        intervals = ("evaluate_every", "checkpoint_every")
        for name in ("steps", "gradient_accumulation_steps", *intervals):
            value = getattr(self, name)
            if not (value is None and name in intervals) and value < 1:
                raise ValueError(f"{name}={value}, expected at least 1")
        for name in ("lr", "muon_lr", "eps", "clip"):
            value = getattr(self, name)
            finite = name == "clip" or value != math.inf
            if not (value is None and name == "muon_lr") and not (value > 0 and finite):
                rule = "more than 0" if name == "clip" else "more than 0, and finite"
                raise ValueError(f"{name}={value}, expected {rule}")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay={self.weight_decay}, expected 0 or more, and finite")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas={self.betas}, expected two numbers from 0 to below 1")
        if not 0 <= self.muon_momentum < 1:
            raise ValueError(f"muon_momentum={self.muon_momentum}, expected 0 to below 1")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed={self.seed}, expected 0 or more and less than 2**63")
        for name, known in (("precision", ("float32", "bfloat16")), ("parallel", ("ddp", "fsdp"))):
            if getattr(self, name) not in known:
                choice = " or ".join(map(repr, known))
                raise ValueError(f"{name}={getattr(self, name)!r}, expected {choice}")
        self.learning_rate(0)  # refuses a schedule that is unknown or does not fit

    def learning_rate(self, step: int, peak: float | None = None) -> float:
        """The rate after `step` done steps, for a group whose peak is `peak` (default: `lr`)."""
        peak = self.lr if peak is None else peak
        return learning_rate(
            step, lr=peak, steps=self.steps, warmup=self.warmup, schedule=self.schedule
        )
