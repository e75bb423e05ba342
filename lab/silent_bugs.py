"""What each silent bug of chapter 23 costs, in nats -> measurements/silent_bugs.json.

Usage: python -m lab.silent_bugs [--quick | --write] [--only NAME]

A small GPT is trained on Tiny Shakespeare with each fault of `ch23_silent_bugs/patients.py`, and
without any, three seeds each. All runs have the same steps and the same rate, which was not tuned:
what is measured is the distance of a patient from its healthy twin, which draws the same batches.
Finished runs are kept: a second call does only what is missing.

right     nats per token of held-out text, found by a right evaluation of the model as it is used
reported  the validation loss that the faulty program computes itself
loaded    the twin's weights, used by the faulty code without any training
curve     the loss of the first seed as the program reports it, means of STEPS / 20 steps

Where a model may see the future, `right` calls it with each prefix, and where a cache is at fault,
token by token, on fewer rows; the twin's loss on these rows is "some". "writing" is how surprising
the twin finds a text that it draws with top-p.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lab import runs
from scratchformer_course.ch23_silent_bugs import program as healthy
from scratchformer_course.ch23_silent_bugs import scores
from scratchformer_course.ch23_silent_bugs.model import Parts, SmallGPT
from scratchformer_course.ch23_silent_bugs.patient import SETTINGS, Patient
from scratchformer_course.ch23_silent_bugs.patients import PATIENTS
from scratchformer_course.ch23_silent_bugs.program import Program, save, train
from scratchformer_course.ch23_silent_bugs.texts import tokens
from scratchformer_course.measurements import FOLDER

FILE = FOLDER / "silent_bugs.json"
STEPS, RATE, SEEDS = 500, 0.01, 3
TEXTS, TOP_P = 128, 0.9


def data(program: Program, text: str) -> tuple[Tensor, Tensor, int]:
    """What to train on, and what the program validates on, by the program's own parts."""
    ids, V = tokens(text, program.setting, program.stored)
    return *program.split(ids), V


def held_out(program: Program, text: str) -> Tensor:
    """What a right evaluation scores: the last tenth of what was to be stored."""
    ids, _ = tokens(text, program.setting, healthy.stored)
    return healthy.split(ids)[1]


def score(patient: Patient, model: SmallGPT, text: str, seed: int) -> dict[str, float]:
    """The right and the reported loss of a model that the patient's program uses."""
    program = patient.program
    if patient.how == "writing":
        return {"right": scores.written(program, model, TEXTS, TOP_P, seed)}
    return {
        "right": scores.right(program, model, held_out(program, text), patient.how),
        "reported": scores.reported(program, model, data(program, text)[1]),
    }


def with_weights(patient: Patient, twin: SmallGPT) -> SmallGPT:
    """The twin's weights in the patient's code."""
    model = patient.program.model(twin.config.vocab_size)
    if patient.part == "load":
        patient.program.load(model, save(twin))
    else:
        model.load_state_dict(twin.state_dict())
    return model


def curve(losses: list[float]) -> list[float]:
    """Twenty means of a run's losses."""
    n = max(1, len(losses) // 20)
    return [round(statistics.mean(losses[i : i + n]), 3) for i in range(0, len(losses), n)]


def add(own: dict[str, Any], seed: int, found: dict[str, float]) -> None:
    """Put the figures of a seed into the lists of its entry."""
    for name, value in found.items():
        values = own.setdefault(name, [])
        values[seed:] = [round(value, 4)]


def twin_run(name: str, text: str, found: dict, seed: int, steps: int) -> None:
    """Train a twin; then score it, and all that can be had from its weights."""
    program, own = Program(SETTINGS[name]), found["twins"].setdefault(name, {})
    ids, validation, V = data(program, text)
    model, losses = train(program, ids, V, steps, seed, RATE)
    figures = {
        "right": scores.right(program, model, validation),
        "some": scores.right(program, model, validation, few=True),
    }
    if name == "plain":
        figures["writing"] = scores.written(program, model, TEXTS, TOP_P, seed)
    add(own, seed, figures)
    if seed == 0:
        own["curve"] = curve(losses)
    for patient in PATIENTS.values():
        if patient.twin != name:
            continue
        entry = found["patients"].setdefault(patient.name, {})
        if not patient.trained:
            add(entry, seed, score(patient, with_weights(patient, model), text, seed))
        elif patient.part in Parts.__dataclass_fields__ or patient.part == "load":
            figure = score(patient, with_weights(patient, model), text, seed)["right"]
            add(entry, seed, {"loaded": figure})


def patient_run(patient: Patient, text: str, found: dict, seed: int, steps: int) -> None:
    """Train a patient, and score it."""
    own = found["patients"].setdefault(patient.name, {})
    ids, _, V = data(patient.program, text)
    model, losses = train(patient.program, ids, V, steps, seed, RATE)
    add(own, seed, score(patient, model, text, seed))
    if seed == 0:
        own["curve"] = curve(losses)


def main(arguments: list[str] | None = None) -> dict:
    parser = runs.command_line(__doc__, FILE.name)
    parser.add_argument("--only", help="a twin or a patient")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    text = runs.load_text(write=options.write)
    steps, seeds = (4, 1) if options.quick else (STEPS, SEEDS)
    found = runs.read(FILE) if options.write and FILE.exists() else {}
    found |= {"command": "python -m lab.silent_bugs --write", "steps": steps, "rate": RATE}
    found.setdefault("twins", {})
    found.setdefault("patients", {})
    start = time.process_time() - found.get("cpu_seconds", 0)
    jobs: dict[str, Callable] = dict.fromkeys(SETTINGS, twin_run)
    jobs |= {name: patient_run for name, patient in PATIENTS.items() if patient.trained}
    for seed in range(seeds):
        for name, job in jobs.items():
            own = found["twins" if job is twin_run else "patients"].get(name, {})
            if len(own.get("right", [])) > seed or options.only not in (None, name):
                continue
            job(PATIENTS.get(name, name), text, found, seed, steps)
            found["cpu_seconds"] = round(time.process_time() - start)
            own = found["twins" if job is twin_run else "patients"][name]
            print(seed, name, {k: v for k, v in own.items() if k != "curve"}, flush=True)
            if options.write:
                runs.store(FILE, found | runs.stamp())
    return found


if __name__ == "__main__":
    main()
