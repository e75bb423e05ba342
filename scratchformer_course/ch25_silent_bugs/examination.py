"""A program under `diagnose`: its model, text, training and writing, given as a reader would."""

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import nn

from scratchformer.data import Playhouse
from scratchformer.diagnosis import Report, diagnose, diagnose_sampling, diagnose_training
from scratchformer_course.ch25_silent_bugs.program import Program, drawn, new_optimizer, reopened
from scratchformer_course.ch25_silent_bugs.texts import tokens

STEPS, ROWS, CHARACTERS = 100, 8, 20_000


@lru_cache(maxsize=1)
def some_text() -> str:
    """So many characters of Playhouse."""
    return Playhouse(seed=0).text(CHARACTERS)


def examine(program: Program) -> Report:
    """All findings on a program that learns `some_text`, and on the model that it would train.

    A model that is saved and resumed is examined after that. Nothing is trained but copies.
    """
    text = some_text()
    ids, V = tokens(text, program.setting, program.stored)
    model = program.prepare(program.model(V))
    if program.setting.resumed:
        model = reopened(program, model)
    to_train, held_out = program.split(ids)
    as_tokenized, _ = program.split(tokens(text, program.setting, Program.stored)[0])
    T, pad = model.context_length, program.pad(model)
    batches = (program.batch(rows, pad) for rows in drawn(program, to_train, ROWS, T, seed=0))
    of_model = diagnose(
        model, V, T,
        pad_id=pad,
        window=program.setting.sizes.get("window"),
        loss=program.nats,
        batches=batches,
        tokens=(as_tokenized, held_out),
        reload=lambda model: reopened(program, model),
    )  # fmt: skip
    of_training = diagnose_training(training(program), model, V, T, loss=program.nats)
    of_writing = diagnose_sampling(program.nucleus)
    return Report(of_model.findings + of_training.findings + of_writing.findings)


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
