"""What each silent bug of chapter 25 costs, in nats -> measurements/silent_bugs.json.

Usage: python -m lab.silent_bugs [--quick | --write] [--only NAME]

A small model is trained on Tiny Shakespeare with each fault of `ch25_silent_bugs/faults.py`, and
without any, with several seeds. All runs have the same steps and the same rate, which was not
tuned: what is measured is the distance of a patient, as the file and the page call a program with
a fault, from its healthy twin, which draws the same batches. Finished runs with these settings are
kept: a second call does only what is missing.

right     nats per token of held-out text, found by a right evaluation of the model as it is used
reported  the validation loss that the faulty program computes itself
loaded    the twin's weights, used by the faulty code without any training
curve     the loss of the first seed as its program reports it: means of a twentieth of the steps

Where a model may see the future, `right` calls it with each prefix, and where a cache is at fault,
token by token, on fewer rows; the twin's loss on these rows is "some". "writing" is how surprising
the twin finds a text that it draws with top-p. `derive` adds what follows from these numbers.
"""

import statistics
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lab import runs
from scratchformer_course.ch25_silent_bugs import scores
from scratchformer_course.ch25_silent_bugs.faults import FAULTS, HEALTHY, IN_MODEL, Fault
from scratchformer_course.ch25_silent_bugs.program import SIZES, Model, Program, save, train
from scratchformer_course.ch25_silent_bugs.texts import tokens

SETTINGS: dict[str, Any] = {"steps": 500, "rate": 0.01, "seeds": 3, "texts": 128, "top_p": 0.9}
SETTINGS |= {name: SIZES[name] for name in ("n_layers", "d_model", "context_length")}
# How a right evaluation uses a patient's model -> the twin's losses on the same rows
SAME_ROWS = {"pass": "right", "prefixes": "some", "cache": "some", "writing": "writing"}


def data(program: Program, text: str) -> tuple[Tensor, Tensor, int]:
    """What to train on, and what the program validates on, by the program's own parts."""
    ids, V = tokens(text, program.setting, program.stored)
    return *program.split(ids), V


def held_out(program: Program, text: str) -> Tensor:
    """What a right evaluation scores: the last tenth of what was to be stored."""
    ids, _ = tokens(text, program.setting, Program.stored)
    return Program.split(ids)[1]


def score(fault: Fault, model: Model, text: str, seed: int) -> dict[str, float]:
    """The right and the reported loss of a model that the faulty program uses."""
    program = fault.program
    if fault.how == "writing":
        return {"right": written(program, model, seed)}
    return {
        "right": scores.right(program, model, held_out(program, text), fault.how),
        "reported": scores.reported(program, model, data(program, text)[1]),
    }


def written(program: Program, model: Model, seed: int) -> float:
    """How surprising a model finds its own texts."""
    return scores.written(program, model, SETTINGS["texts"], SETTINGS["top_p"], seed)


def with_weights(fault: Fault, twin: Model) -> Model:
    """The twin's weights in the faulty code."""
    model = fault.program.model(twin.config.vocab_size)
    if fault.place == "file":
        fault.program.load(model, save(twin))
    else:
        model.load_state_dict(twin.state_dict())
    return model


def curve(losses: list[float]) -> list[float]:
    """Twenty means of a run's losses."""
    n = max(1, len(losses) // 20)
    return [round(statistics.mean(losses[i : i + n]), 3) for i in range(0, len(losses), n)]


def add(entry: dict[str, Any], seed: int, figures: dict[str, float]) -> None:
    """Put the figures of a seed into the lists of an entry."""
    for name, value in figures.items():
        entry.setdefault(name, [])[seed:] = [round(value, 4)]


def twin_run(name: str, text: str, stored: dict, seed: int, steps: int) -> None:
    """Train a healthy program; then score it, and all that can be had from its weights."""
    program, entry = Program(HEALTHY[name]), stored["twins"].setdefault(name, {})
    ids, validation, V = data(program, text)
    model, losses = train(program, ids, V, steps, seed, SETTINGS["rate"])
    figures = {
        "right": scores.right(program, model, validation),
        "some": scores.right(program, model, validation, few=True),
    }
    if name == "plain":
        figures["writing"] = written(program, model, seed)
    add(entry, seed, figures)
    if seed == 0:
        entry["curve"] = curve(losses)
    for fault in FAULTS.values():
        if fault.setting != name:
            continue
        entry = stored["patients"].setdefault(fault.name, {})
        if not fault.trained:
            add(entry, seed, score(fault, with_weights(fault, model), text, seed))
        elif fault.place in (*IN_MODEL, "file"):
            loss = score(fault, with_weights(fault, model), text, seed)["right"]
            add(entry, seed, {"loaded": loss})


def patient_run(name: str, text: str, stored: dict, seed: int, steps: int) -> None:
    """Train a program with a fault, and score it."""
    fault, entry = FAULTS[name], stored["patients"].setdefault(name, {})
    ids, _, V = data(fault.program, text)
    model, losses = train(fault.program, ids, V, steps, seed, SETTINGS["rate"])
    add(entry, seed, score(fault, model, text, seed))
    if seed == 0:
        entry["curve"] = curve(losses)


# --- what follows from the runs ------------------------------------------------------------------


def price(faulty: list[float], healthy: list[float]) -> list[float] | None:
    """How much more the first losses are, paired by seed: mean, least, greatest; None for none."""
    pairs = [a - b for a, b in zip(faulty, healthy, strict=False)]
    return [statistics.mean(pairs), min(pairs), max(pairs)] if pairs else None


def within_noise(cost: list[float], spread: float) -> bool:
    """Whether a price may be chance, where the healthy twin's losses lie so far apart.

    It is smaller than that, or the seeds do not agree that it is a loss, or a gain.
    """
    mean, least, greatest = cost
    return abs(mean) < spread or least <= 0 <= greatest


def derive(stored: dict) -> dict:
    """The measurement with each twin's mean and spread, and each patient's title and prices.

    A patient whose fault plays no part in training has its twin's weights, and no noise: its true
    price is noise only if the seeds do not agree on its sign.
    """
    twins, patients = {}, {}
    for name, twin in stored["twins"].items():
        mean, least, greatest = price(twin["right"], [0.0] * len(twin["right"])) or [0.0] * 3
        twins[name] = twin | {"mean": mean, "spread": round(greatest - least, 4)}
    for name in filter(stored["patients"].get, FAULTS):  # in their order
        fault, entry = FAULTS[name], stored["patients"][name]
        twin = twins.get(fault.setting, {})
        rows = SAME_ROWS[fault.how]
        costs = {
            "right": price(entry.get("right", []), twin.get(rows, [])),
            "reported": price(entry.get("reported", []), twin.get("right", [])),
            "loaded": price(entry.get("loaded", []), twin.get(rows, [])),
        }
        patients[name] = entry | {"title": fault.title}
        patients[name]["prices"] = {figure: cost for figure, cost in costs.items() if cost}
        if costs["right"]:
            spread = twin["spread"] if fault.trained else 0.0
            patients[name]["within_noise"] = within_noise(costs["right"], spread)
    return stored | {"twins": twins, "patients": patients}


def main(arguments: list[str] | None = None) -> dict:
    parser = runs.command_line(__doc__, "silent_bugs.json")
    parser.add_argument("--only", help="a twin or a patient")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    text = runs.load_text(write=options.write)
    steps, seeds = (4, 1) if options.quick else (SETTINGS["steps"], SETTINGS["seeds"])
    kept = runs.Kept("silent_bugs", SETTINGS, options.write)
    stored = {"twins": kept.part("twins"), "patients": kept.part("patients")}
    jobs: dict[str, Callable] = dict.fromkeys(HEALTHY, twin_run)
    jobs |= {name: patient_run for name, fault in FAULTS.items() if fault.trained}
    for seed in range(seeds):
        for name, job in jobs.items():
            entries = stored["twins" if job is twin_run else "patients"]
            done = len(entries.get(name, {}).get("right", []))
            if done > seed or options.only not in (None, name):
                continue
            job(name, text, stored, seed, steps)
            print(seed, name, {k: v for k, v in entries[name].items() if k != "curve"}, flush=True)
            kept.result |= derive(stored)
            kept.keep()
    return kept.result | derive(stored)


if __name__ == "__main__":
    main()
