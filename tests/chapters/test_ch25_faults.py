"""The thirty faults: each learns, breaks its invariant, and is named; what is healthy is green."""

from dataclasses import replace

import pytest
import torch

from scratchformer.data import Playhouse
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import loop
from scratchformer_course.ch25_silent_bugs import program as p
from scratchformer_course.ch25_silent_bugs import scores
from scratchformer_course.ch25_silent_bugs.edited_library import edited_program
from scratchformer_course.ch25_silent_bugs.examination import examine
from scratchformer_course.ch25_silent_bugs.faults import FAULTS, HEALTHY
from scratchformer_course.ch25_silent_bugs.program import Program, Setting, train
from scratchformer_course.ch25_silent_bugs.texts import padded_lines, tokens
from scratchformer_course.measurements import load_measurements

TEXT = Playhouse(seed=0).text(12_000)
SIZES = {"context_length": 16, "d_model": 32, "n_layers": 2}
STEPS = 20
pytestmark = pytest.mark.usefixtures("plain_signatures")  # far faster
all_faults = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
all_settings = pytest.mark.parametrize("setting", HEALTHY)


def small(program):
    """The same program with a tiny model."""
    sizes = program.setting.sizes | SIZES
    if "window" in sizes:
        sizes["window"] = 5
    return replace(program, setting=replace(program.setting, sizes=sizes))


def data(program):
    ids, V = tokens(TEXT, program.setting, program.stored)
    return *program.split(ids), V


def moved(model):
    for parameter in model.parameters():
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


@all_faults
def test_a_fault_raises_no_error_and_its_loss_falls(fault):
    program = small(fault.program)
    training, validation, V = data(program)
    model, losses = train(program, training, V, STEPS, seed=0)
    assert sum(losses[-5:]) < sum(losses[:5]) - 5 * 0.1
    assert scores.reported(program, model, validation[: 16 * 40]) > 0
    assert scores.written(program, model, texts=2, top_p=0.9, seed=0) > 0


@all_faults
def test_the_invariant_holds_on_the_healthy_program_and_fails_on_the_faulty_one(fault):
    fault.invariant(fault.healthy)
    with pytest.raises(AssertionError):
        fault.invariant(fault.program)
    fault.invariant(fault.healthy)  # the library itself is as it was


@pytest.mark.parametrize("setting", ["plain", "modern"])
def test_a_healthy_program_keeps_every_invariant(setting):
    for fault in FAULTS.values():
        fault.invariant(Program(HEALTHY[setting]))


@all_faults
def test_diagnose_names_a_fault_as_the_page_shows_it(fault):
    report, stored = examine(fault.program), load_measurements("diagnoses")["patients"][fault.name]
    assert report.faults == stored["now"] != []
    assert report[report.faults[0]].suspects[0] == stored["first_suspect"]


@all_settings
def test_a_healthy_program_is_not_accused(setting):
    report = examine(Program(HEALTHY[setting]))
    assert report.healthy, str(report)
    assert load_measurements("diagnoses")["twins"][setting]["now"] == []


@all_faults
def test_a_fault_is_a_change_of_a_few_lines(fault):
    broken, repaired = fault.code()
    assert broken != repaired and len(broken) <= 3 and len(repaired) <= 3
    assert all(len(line) <= 84 for line in broken + repaired)  # a page shows them


def test_an_edit_of_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"'rows\.T' is not in the source of next_tokens"):
        edited_program(p.next_tokens, {"rows.T": "rows"}, Setting())


def test_the_healthy_model_is_the_library_s():
    model, gpt = moved(Program().model(17, **SIZES)), GPT(GPTConfig(17, n_heads=4, **SIZES)).eval()
    gpt.load_state_dict(model.state_dict())
    ids = torch.randint(17, (3, 11), generator=torch.Generator().manual_seed(0))  # (B, T)
    mask = torch.arange(11) >= torch.tensor([[0], [4], [2]])
    assert torch.allclose(model(ids), gpt(ids), atol=1e-5)
    assert torch.allclose(model(ids, mask=mask)[mask], gpt(ids, mask=mask)[mask], atol=1e-5)


def test_the_healthy_step_is_the_library_s():
    ids = torch.randint(17, (4, 17), generator=torch.Generator().manual_seed(0))
    batches = [(ids[:2, :-1], ids[:2, 1:]), (ids[2:, :9], ids[2:, 1:10])]
    weights = []
    for update in (p.update, loop.update):
        model = Program().model(17, **SIZES)
        update(model, torch.optim.SGD(model.parameters(), lr=0.1), batches, Program().nats)
        weights.append(torch.cat([w.flatten() for w in model.parameters()]))
    torch.testing.assert_close(*weights, rtol=0, atol=1e-6)


@all_settings
def test_a_healthy_program_reports_what_a_right_evaluation_finds_in_each_way(setting):
    program = small(Program(HEALTHY[setting]))
    _, validation, V = data(program)
    model, rows = moved(program.model(V)), validation[: 16 * 9]
    if setting != "lines":  # by prefixes and by a cache, too
        few = [scores.right(program, model, rows, how, few=True) for how in scores.PREDICT]
        assert few == pytest.approx(3 * few[:1], abs=1e-4)
    right = scores.right(program, model, rows)
    assert scores.reported(program, model, rows) == pytest.approx(right, abs=1e-6)


def test_a_model_that_copies_its_input_is_perfect_by_its_own_report_and_useless():
    program = small(FAULTS["not_shifted"].program)
    training, validation, V = data(program)
    model, _ = train(program, training, V, 80, seed=0)
    rows = validation[: 16 * 40]
    assert scores.reported(program, model, rows) < 0.5 < 3 < scores.right(program, model, rows)


def test_padded_lines_end_at_the_right_and_lose_their_beginning_if_they_are_long():
    rows, V = padded_lines("ab\n\nabcdef", 4)  # the characters are \n a b c d e f
    assert rows.tolist() == [[7, 1, 2, 0], [4, 5, 6, 0]] and V == 8
