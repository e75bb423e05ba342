"""Two live figures: pairs of curves of which one is broken, and a clinic with six patients."""

from collections.abc import Mapping
from html import escape
from typing import Any

from scratchformer_course.ch25_silent_bugs.clinic import CLINIC, QUESTIONS, broken_by
from scratchformer_course.ch25_silent_bugs.faults import FAULTS
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

# Pairs in their order, whether the broken one is curve A, and where the reader meets it again
PAIRS = {
    "mask_after_softmax": (True, "as the first patient"),
    "missing_root": (True, "as the fourth patient"),
    "gradients_not_zeroed": (False, "in the clinic"),
    "positions_forgotten": (True, "as the second patient"),
    "heads_mixed": (False, "in the clinic"),
    "padding_attended": (False, "in the clinic"),
    "workers_alike": (True, "as the third patient"),
    "repeat_for_interleave": (False, "in the clinic"),
}


def two_curves(stored: Mapping) -> LiveFigure:
    """Pairs of stored training curves; the reader says which model is broken, and then is told.

    `stored` is what `lab/silent_bugs.py` has measured.
    """
    pairs = []
    for name, (is_first, where) in PAIRS.items():
        curves = _curves(name, stored)
        pairs.append(
            {
                "curves": curves if is_first else curves[::-1],
                "broken": 0 if is_first else 1,
                "where": where,
                "spread": stored["twins"][FAULTS[name].setting]["spread"],
                **_prices(stored, name),
            }
        )
    settings = {"pairs": pairs, "steps": stored["settings"]["steps"]}
    return LiveFigure("two_curves", settings, _still_pairs(pairs))


def clinic(stored: Mapping) -> LiveFigure:
    """Six patients: symptoms, five questions to put to them, and five diagnoses to choose from.

    The answers to the questions are computed, by the invariants of `invariants.py`.
    """
    cases = []
    for name, case in CLINIC.items():
        fault = FAULTS[name]
        names = sorted([name, *case.others], key=_title)
        broken, repaired = fault.code()
        shown: dict[str, Any] = {
            "symptom": case.symptom,
            "curves": _curves(name, stored),
            "asked": [broken_by(fault.program, tests) for tests in QUESTIONS.values()],
            "choices": [[_title(other), case.others.get(other)] for other in names],
            "says": case.cause,
            "broken": broken,
            "repaired": repaired,
            "invariant": (fault.invariant.__doc__ or "").splitlines()[0],
            "thread": case.thread,
            "found": case.event,
            "near": case.near,
        }
        cases.append(shown | _prices(stored, name))
    settings = {
        "patients": cases,
        "questions": list(QUESTIONS),
        "steps": stored["settings"]["steps"],
    }
    return LiveFigure("clinic", settings, _still_clinic(cases))


def _curves(name: str, stored: Mapping) -> list[list[float]]:
    """The faulty program's curve and the healthy one's, which may be the same."""
    fault = FAULTS[name]
    healthy = stored["twins"][fault.setting]["curve"]
    return [stored["patients"][name]["curve"] if fault.trained else healthy, healthy]


def _title(name: str) -> str:
    return FAULTS[name].title.replace("`", "")


def _prices(stored: Mapping, name: str) -> dict[str, list[float]]:
    """A fault's prices, those that were measured."""
    measured = stored["patients"][name].get("prices", {})
    return {figure: [round(nats, 3) for nats in cost] for figure, cost in measured.items()}


def _nats(cost: list[float]) -> str:
    mean, least, greatest = cost
    return f"{mean:+.2f} ({least:+.2f} to {greatest:+.2f})".replace("-", "−")


def _still_pairs(pairs: list[dict]) -> str:
    rows = []
    for i, pair in enumerate(pairs, start=1):
        ends = [f"{losses[-1]:.2f}" for losses in pair["curves"]]
        rows.append((i, *ends, "AB"[pair["broken"]], _nats(pair["right"])))
    return (
        "<p>This figure is live where JavaScript runs: there you see two curves, and say which "
        "model is broken. Here are their last losses, and what the fault costs in nats.</p>"
    ) + table(("pair", "A", "B", "broken", "costs"), rows)


def _still_clinic(cases: list[dict]) -> str:
    rows = []
    for case in cases:
        title = next(title for title, why in case["choices"] if why is None)
        failed = next(filter(None, case["asked"]), "")
        rows.append(map(escape, (case["symptom"], failed, title)))
    return (
        "<p>This figure is live where JavaScript runs: there you put the questions, and choose a "
        "diagnosis. Here are symptoms, what the first broken invariant says, and the fault.</p>"
    ) + table(("symptom", "found", "diagnosis"), rows)
