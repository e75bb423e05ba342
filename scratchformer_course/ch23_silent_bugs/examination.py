"""A program under `diagnose`: its model, its text and its training, given as a reader would."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import nn

from scratchformer.data import Playhouse
from scratchformer.diagnosis import Finding, Report, diagnose, diagnose_training
from scratchformer_course.ch23_silent_bugs.program import (
    Program,
    drawn,
    new_optimizer,
    reopened,
)
from scratchformer_course.ch23_silent_bugs.texts import tokens

STEPS, ROWS = 100, 8


@dataclass(frozen=True)
class Examination:
    """What `diagnose` says of a program's model and text, and `diagnose_training` of its steps."""

    model: Report
    training: Report

    @property
    def failed(self) -> list[Finding]:
        """The findings of the tests that failed, those of the model first."""
        return [self.model[name] for name in self.model.faults] + [
            self.training[name] for name in self.training.faults
        ]

    @property
    def faults(self) -> list[str]:
        """The names of the tests that failed."""
        return [finding.test for finding in self.failed]


@lru_cache(maxsize=1)
def some_text() -> str:
    """A text for those who have none: 20,000 characters of Playhouse."""
    return Playhouse(seed=0).text(20_000)


def examine(program: Program, text: str | None = None) -> Examination:
    """Both diagnoses of a program that learns a text; nothing is trained but copies."""
    ids, V = tokens(text or some_text(), program.setting, program.stored)
    ids, _ = program.split(ids)
    model = program.prepare(program.model(V))
    if program.setting.resumed:
        model = reopened(program, model)
    T, pad = model.context_length, program.pad(model)
    batches = (program.batch(rows, pad) for rows in drawn(program, ids, ROWS, T, seed=0))
    return Examination(
        diagnose(
            model, V, T,
            window=model.config.window,
            pad_id=pad,
            loss=program.nats,
            batches=batches,
            tokens=ids,
        ),
        diagnose_training(training(program), model, V, T, loss=program.nats),
    )  # fmt: skip


def training(program: Program) -> Callable:
    """The program's own step, as `diagnose_training` asks for it."""

    def begin(model: nn.Module) -> tuple[torch.optim.Optimizer, Callable]:
        optimizer, steps = new_optimizer(program, model), 0

        def step(batches: list) -> None:
            nonlocal steps
            now = program.rate(steps, steps * len(batches), STEPS, 0.01)
            for group in optimizer.param_groups:
                group["lr"] = now
            program.update(model, optimizer, batches, program.nats)
            steps += 1

        return optimizer, step

    return begin
