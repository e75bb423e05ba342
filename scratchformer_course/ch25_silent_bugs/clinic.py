"""The clinic of chapter 25: five questions put to a program, and diagnoses to choose from."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from scratchformer_course.ch25_silent_bugs import invariants as inv
from scratchformer_course.ch25_silent_bugs.program import Program

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Invariant = Callable[[Program], None]


# What a Llama has more than a GPT of several heads, and the sizes without it
MORE: dict[str, dict[str, Any]] = {
    "shared heads": {"n_kv_heads": None},
    "a window": {"window": None},
}


@torch.no_grad()
def off_by(program: Program, rotated: bool = True, **sizes: Any) -> float:
    """How far its logits are from those of a healthy model with the same weights, at most."""
    models = inv.small(program, **sizes), inv.small(Program(program.setting), **sizes)
    models[1].load_state_dict(models[0].state_dict())
    logits = []
    for model in models:
        names = {} if rotated else {"rotate_halves": lambda x, start, base: x}
        with patch.dict(inspect.unwrap(type(model).forward).__globals__, names):
            logits.append(model(inv.some(2, inv.T)))
    return float((logits[0] - logits[1]).abs().max())


def a_second_implementation_agrees(program: Program) -> None:
    """With the same weights a healthy model gives the same logits."""
    off = off_by(program)
    difference = f"with the same weights a healthy model gives other logits, by up to {off:.1f}"
    if program.setting.modern:
        without = {words: off_by(program, **sizes) for words, sizes in MORE.items()}
        without["rotary positions"] = off_by(program, rotated=False)
        for words, distance in without.items():
            difference += f"; without {words} the two {'agree' if distance < 1e-4 else 'differ'}"
    assert off < 1e-4, difference


QUESTIONS: dict[str, list[Invariant]] = {
    "May a later token matter?": [inv.the_future_changes_nothing],
    "Does a cache, padding or another text change anything?": [
        inv.a_cache_changes_nothing,
        inv.a_new_text_starts_afresh,
        inv.padding_changes_nothing,
        inv.evaluation_repeats_itself,
    ],
    "Do micro-batches equal one large batch?": [
        inv.micro_batches_make_one_batch,
        inv.a_step_forgets_the_one_before,
        inv.the_rate_counts_updates,
    ],
    "Is the text what you think it is?": [
        inv.targets_are_the_next_tokens,
        inv.padding_is_no_target,
        inv.splits_share_nothing,
        inv.workers_draw_different_rows,
    ],
    "Does it equal a second implementation?": [a_second_implementation_agrees],
}


def broken_by(program: Program, invariants: list[Invariant]) -> str | None:
    """What the first of them says that does not hold; None where all do."""
    for invariant in invariants:
        try:
            invariant(program)
        except AssertionError as error:
            return str(error)
    return None


@dataclass(frozen=True)
class Case:
    """A patient of the clinic: its symptom, its diagnosis, and who has met the fault in public.

    `event` says what happened there, and `others` are four wrong diagnoses, by name, with what
    speaks against them.
    """

    symptom: str
    cause: str
    thread: str
    event: str
    others: dict[str, str]
    near: bool = False  # what happened there is a near relation of this fault


WORDS = Path(__file__).with_name("clinic.toml").read_text(encoding="utf-8")
CLINIC = {name: Case(**case) for name, case in tomllib.loads(WORDS).items()}
