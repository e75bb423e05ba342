"""The thirty patients: each runs, learns, and breaks the invariant that its healthy twin keeps."""

from dataclasses import replace

import pytest
import torch

from scratchformer.data import Playhouse
from scratchformer.models import GPT, GPTConfig
from scratchformer_course.ch23_silent_bugs import scores
from scratchformer_course.ch23_silent_bugs.patient import TWINS
from scratchformer_course.ch23_silent_bugs.patients import PATIENTS
from scratchformer_course.ch23_silent_bugs.program import Program, train
from scratchformer_course.ch23_silent_bugs.texts import padded_lines, tokens

TEXT = Playhouse(seed=0).text(12_000)
SIZES = {"context_length": 16, "d_model": 32, "n_layers": 2}
STEPS = 20


def small(program):
    """The same program with a tiny model."""
    sizes = program.setting.sizes | SIZES
    if "window" in sizes:
        sizes["window"] = 5
    return replace(program, setting=replace(program.setting, sizes=sizes))


def data(program):
    ids, V = tokens(TEXT, program.setting, program.stored)
    return *program.split(ids), V


pytestmark = pytest.mark.usefixtures("plain_signatures")  # far faster
each = pytest.mark.parametrize("patient", PATIENTS.values(), ids=PATIENTS)


@each
def test_a_patient_raises_no_error_and_its_loss_falls(patient):
    program = small(patient.program)
    training, validation, V = data(program)
    model, losses = train(program, training, V, STEPS, seed=0)
    assert sum(losses[-5:]) < sum(losses[:5]) - 5 * 0.1
    assert scores.reported(program, model, validation[: 16 * 40]) > 0
    assert scores.written(program, model, texts=2, top_p=0.9, seed=0) > 0


@each
def test_the_invariant_holds_on_the_twin_and_fails_on_the_patient(patient):
    patient.invariant(patient.healthy)
    with pytest.raises(AssertionError):
        patient.invariant(patient.program)


@each
def test_a_fault_is_a_change_of_a_few_lines(patient):
    broken, repaired = patient.code()
    assert broken != repaired and len(broken) <= 3 and len(repaired) <= 4
    assert all(len(line) <= 78 for line in broken + repaired)  # a page shows them


@pytest.mark.parametrize("setting", ["plain", "modern"])
def test_a_healthy_twin_keeps_every_invariant(setting):
    for patient in PATIENTS.values():
        patient.invariant(Program(TWINS[setting]))


def moved(model):
    for p in model.parameters():
        p.data.add_(0.2 * torch.randn_like(p))
    return model.eval()


def test_without_a_fault_the_small_gpt_is_the_library_gpt():
    own = moved(Program().model(17, **SIZES))
    gpt = GPT(GPTConfig(17, n_heads=4, **SIZES)).eval()
    gpt.load_state_dict(own.state_dict())
    ids = torch.randint(17, (3, 11), generator=torch.Generator().manual_seed(0))  # (B, T)
    mask = torch.arange(11) >= torch.tensor([[0], [4], [2]])
    assert torch.allclose(own(ids), gpt(ids), atol=1e-5)
    padded, expected = own(ids, mask=mask), gpt(ids, mask=mask)
    assert torch.allclose(padded[mask], expected[mask], atol=1e-5)
    with pytest.raises(ValueError, match="got 17 tokens, expected at most context_length=16"):
        own(torch.zeros(1, 17, dtype=torch.long))


@pytest.mark.parametrize("setting", TWINS)
def test_a_healthy_program_reports_what_a_right_evaluation_finds_in_each_way(setting):
    program = small(Program(TWINS[setting]))
    _, validation, V = data(program)
    model, rows = moved(program.model(V)), validation[: 16 * 9]
    if setting != "lines":
        few = [scores.right(program, model, rows, how, few=True) for how in scores.PREDICT]
        assert few == pytest.approx(3 * few[:1], abs=1e-4)
    right = scores.right(program, model, rows)
    assert scores.reported(program, model, rows) == pytest.approx(right, abs=1e-6)


def test_a_model_that_copies_its_input_is_perfect_by_its_own_report_and_useless():
    patient = PATIENTS["not_shifted"]
    program = small(patient.program)
    training, validation, V = data(program)
    model, _ = train(program, training, V, 80, seed=0)
    rows = validation[: 16 * 40]
    assert scores.reported(program, model, rows) < 0.5 < 3 < scores.right(program, model, rows)


def test_padded_lines_end_at_the_right_and_lose_their_beginning_if_they_are_long():
    rows, V = padded_lines("ab\n\nabcdef", 4)  # the characters are \n a b c d e f
    assert rows.tolist() == [[7, 1, 2, 0], [4, 5, 6, 0]] and V == 8
