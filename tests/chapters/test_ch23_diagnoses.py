"""The matrix of faults and tests: `diagnose` names each patient, and is silent on its twin."""

import pytest

from scratchformer_course.ch23_silent_bugs.examination import examine
from scratchformer_course.ch23_silent_bugs.patient import TWINS
from scratchformer_course.ch23_silent_bugs.patients import PATIENTS
from scratchformer_course.ch23_silent_bugs.program import Program
from scratchformer_course.measurements import load_measurements

pytestmark = pytest.mark.usefixtures("plain_signatures")  # far faster
NAMED_BY = {
    "missing_root": ("attention scale", "√D"),
    "mask_one_off": ("causality", "one token ahead"),
    "mask_after_softmax": ("attention axis", "after the softmax"),
    "wrong_axis": ("attention axis", "wrong axis"),
    "heads_mixed": ("causality", "reshape"),
    "padding_attended": ("padding", "attended to"),
    "window_one_off": ("attention span", "off by one"),
    "repeat_for_interleave": ("attention sharing", "repeat_interleave"),
    "values_turned": ("positions", "values turn"),
    "two_bases": ("positions", "turn apart"),
    "positions_forgotten": ("cache", "positions forgotten"),
    "cache_not_reset": ("cache", "not reset"),
    "deviation_for_root": ("norms", "C - 1, not C, eps outside"),
    "norm_over_time": ("norms", "over time"),
    "dropout_in_evaluation": ("evaluation", "dropout"),
    "conv1d_not_transposed": ("saved", "transposed"),
    "untied": ("shared weights", "untied by loading"),
    "nucleus_one_short": ("kept share", "dropped"),
    "decay_on_norms": ("weight decay", "one group"),
    "gradients_not_zeroed": ("zeroed gradients", "zero_grad"),
    "mean_of_means": ("unequal batches", "mean of means"),
    "clipped_early": ("accumulation", "clipped before"),
    "schedule_too_fast": ("schedule", "once a micro-batch"),
    "weights_stand_still": ("movement", "precision"),
    "not_shifted": ("targets", "not shifted"),
    "shifted_twice": ("targets", "shifted twice"),
    "loss_on_padding": ("padded targets", "loss on padding"),
    "validation_trained_on": ("splits", "overlap"),
    "ids_wrapped": ("batches", "overflow"),
    "workers_alike": ("batches", "one seed"),
}


@pytest.mark.parametrize("name", PATIENTS)
def test_a_patient_is_named_and_what_is_stored_says_so(name):
    report, (test, suspect) = examine(PATIENTS[name].program), NAMED_BY[name]
    assert report.faults[0] == test and suspect in report[test].suspects[0], str(report)
    stored = load_measurements("diagnoses")["patients"][name]
    assert stored["now"] == report.faults
    assert stored["first_suspect"] == report[test].suspects[0]


@pytest.mark.parametrize("setting", TWINS)
def test_a_healthy_twin_is_not_accused(setting):
    report = examine(Program(TWINS[setting]))
    assert report.healthy, str(report)
    assert load_measurements("diagnoses")["twins"][setting]["now"] == []
