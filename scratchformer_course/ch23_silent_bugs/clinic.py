"""The clinic of chapter 23: five questions put to a program, and diagnoses to choose from."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch

from scratchformer_course.ch23_silent_bugs import invariants as inv
from scratchformer_course.ch23_silent_bugs.program import Program

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
    found = f"with the same weights a healthy model gives other logits, by up to {off:.1f}"
    if program.setting.modern:
        without = {words: off_by(program, **sizes) for words, sizes in MORE.items()}
        without["rotary positions"] = off_by(program, rotated=False)
        for words, difference in without.items():
            found += f"; without {words} the two {'agree' if difference < 1e-4 else 'differ'}"
    assert off < 1e-4, found


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

    `others` are four wrong diagnoses, by name, with what speaks against them.
    """

    symptom: str
    cause: str
    thread: str
    found: str
    others: dict[str, str]
    near: bool = False  # what happened there is a near relation of this fault


CLINIC = {
    "heads_mixed": Case(
        symptom="The training loss falls far below the healthy twin's, and the model writes worse.",
        cause="A row holds one head at several positions, later ones among them.",
        thread="https://github.com/jsbaan/transformer-from-scratch/pull/6",
        found="A missing permute scrambled the tokens; a copy task was still learned.",
        others={
            "mask_one_off": "Then each position would see the very token that it must predict, and "
            "the loss would fall to 0.1. This one stops near 1.4.",
            "not_shifted": "The targets are the next tokens: the text is what it should be.",
            "positions_forgotten": "Then a single call without a cache would be right, but here a "
            "later token changes it.",
            "missing_root": "Larger scores are wrong scores, but no later token gets into a logit "
            "by them.",
        },
    ),
    "padding_attended": Case(
        symptom="The curve is the twin's. In a batch a prompt goes on differently from the same "
        "prompt alone.",
        cause="Padding is a key like any other and takes a share of each row's attention.",
        thread="https://github.com/TransformerLensOrg/TransformerLens/issues/1005",
        found="Prompts in a batch were continued differently from the same prompts alone.",
        others={
            "loss_on_padding": "Then the loss would be lower than the twin's, since padding is "
            "easy to predict, and there would be more targets than real tokens.",
            "cache_not_reset": "A second text gets the logits that one call gives it.",
            "mean_of_means": "Two micro-batches take the step of one large batch.",
            "workers_alike": "No row stands in a batch twice.",
        },
    ),
    "gradients_not_zeroed": Case(
        symptom="The loss falls, but from the first steps on it stays above the twin's.",
        cause="Each step follows a sum over all the steps before it, and clipping hides how "
        "long that sum is.",
        thread="https://github.com/pytorch/pytorch/issues/47175",
        found="A request for a warning: the mistake is nasty, easily made, and nothing tells you.",
        others={
            "schedule_too_fast": "Then the loss would fall a little faster than the twin's at "
            "first, and stand still later. The rate counts updates here.",
            "clipped_early": "Two micro-batches take the step of one large batch.",
            "workers_alike": "No row stands in a batch twice.",
            "weights_stand_still": "That is seen where steps are small, and here the large ones at "
            "the beginning go wrong. All tensors move.",
        },
    ),
    "not_shifted": Case(
        symptom="The loss falls to 0.00 within a hundred steps, which no text allows.",
        cause="The target is the token itself, so the model learns to copy what it reads.",
        thread="https://github.com/KempnerInstitute/KempnerForge/issues/154",
        found="Captions were scored against the token just read, and the loss went from 8.6 to 0.",
        others={
            "mask_one_off": "That was a good thought, for then the loss is low as well. But it "
            "stays near 0.1, and here no later token changes a logit.",
            "shifted_twice": "Then the loss would end above the twin's, because the token after "
            "the next is harder to predict.",
            "loss_on_padding": "This text has no padding.",
            "validation_trained_on": "That lowers the validation loss alone, and this is the loss "
            "of training. The splits share nothing.",
        },
    ),
    "norm_over_time": Case(
        symptom="The training loss falls far below the twin's, and the model writes much worse.",
        cause="Each position is scaled by statistics of all positions, later ones included.",
        thread="https://github.com/jadore801120/attention-is-all-you-need-pytorch/pull/17",
        found="Mean and deviation were taken along the sequence instead of along the features.",
        others={
            "heads_mixed": "That opens the future as well. But the norm alone, given five "
            "positions or two of them, gives different numbers, so look there.",
            "deviation_for_root": "That is a scale a little too small, by which no later token "
            "gets into a logit.",
            "dropout_in_evaluation": "Then two calls would differ, and they agree.",
            "validation_trained_on": "The loss of *training* is too low, and no split can do that. "
            "The splits share nothing.",
        },
    ),
    "repeat_for_interleave": Case(
        symptom="This GPT has rotary positions, a window, and two heads of keys and values for "
        "four heads of queries. Trained with the fault, its loss is the twin's. With weights that "
        "the twin has learned it is 0.3 nats higher.",
        cause="The shared heads stand in another order, so queries meet keys that others were "
        "trained with.",
        thread="https://github.com/onnx/onnx/pull/7274",
        found="A standard laid out the shared heads in turns, where PyTorch repeats each of them.",
        others={
            "missing_root": "Then it would differ from a healthy GPT without shared heads, too.",
            "two_bases": "Then it would equal a healthy GPT once neither has rotary positions.",
            "window_one_off": "Then it would equal a healthy GPT once neither has a window.",
            "conv1d_not_transposed": "Saved and loaded again, the model gives the same logits.",
        },
    ),
}
