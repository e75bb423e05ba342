"""The drawings of the page *Thirty silent bugs*: prices, two curves for each patient, the tests.

They show what is stored in silent_bugs.json and diagnoses.json, and are drawn when a page is built.
"""

import math
from collections.abc import Sequence

from scratchformer_course.ch25_silent_bugs.faults import FAULTS, IN_MODEL, Fault
from scratchformer_course.ch25_silent_bugs.prices import prices
from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.measurements import load_measurements

NUMBERS = {name: i for i, name in enumerate(FAULTS, start=1)}  # on the page
COLOURS = {"right": "key", "reported": "query", "loaded": "value"}
LEAST = 0.01  # nats: below it the axis of prices is even, above it goes by factors
ROW, CELL, HEAD = 19, 15, 122  # of the tables: a row, a column, the names of the columns
# of a test that failed (at first sight, today): radius, colour, fill
MARKS = {
    (True, True): (5, "value", 1),
    (False, True): (5, "query", 0),
    (True, False): (3, "muted", 0),
}


def words(fault: Fault) -> str:
    """A short name of a fault, for a row of a drawing."""
    return fault.short or fault.name.replace("_", " ")


# --- the prices ----------------------------------------------------------------------------------


def place_of(nats: float | int) -> float:
    """Where a price stands on its axis, 0 for nothing."""
    return math.copysign(math.log10(1 + abs(nats) / LEAST), nats)


def all_prices():
    """What each fault costs where the model is used, what is reported of it, and when loaded."""
    stored = load_measurements("silent_bugs")
    by_figure = {figure: prices(stored, figure) for figure in COLOURS}
    rows = sorted(by_figure["right"], key=lambda name: -by_figure["right"][name].mean)
    top = 92
    d = Drawing(410, top + ROW * len(rows) + 26)
    left, right = 156, 400
    lowest, highest = place_of(-3), place_of(20)

    def x(nats: float | int) -> float:
        return round(left + (right - left) * (place_of(nats) - lowest) / (highest - lowest), 1)

    _legend(d)
    bottom = top + ROW * len(rows)
    for tick in (-1, -0.1, 0, 0.1, 1, 10):
        d.line([(x(tick), top - 6), (x(tick), bottom)], "muted", 1.6 if tick == 0 else 0.5)
        for foot in (top - 15, bottom + 13):
            d.text(x(tick), foot, f"{tick:g}".replace("-", "−"), "muted", size=13)
    for i, name in enumerate(rows):
        y = top + ROW * (i + 0.5)
        if FAULTS[name].trained:
            spread = stored["twins"][FAULTS[name].setting]["spread"]
            d.line([(x(-spread), y), (x(spread), y)], "muted", 5)
        d.text_from(4, y, words(FAULTS[name]), size=13)
        _marks(d, {f: x(by_figure[f][name].mean) for f in COLOURS if name in by_figure[f]}, y)
    gains = sum(cost.mean < -0.05 for cost in by_figure["reported"].values())
    in_noise = sum(stored["patients"][name]["within_noise"] for name in rows)
    return d.show(
        f"{len(rows)} faults in rows, the highest price at the top, on an axis from −1 to 10 nats. "
        "A filled dot is what a fault costs, an open one what the program reports of it, and a "
        "square what it costs weights that were trained without it. The dots reach from "
        f"{words(FAULTS[rows[0]])!r} to {words(FAULTS[rows[-1]])!r}. For {gains} faults "
        "the open dot stands left of zero, where a healthy program would be: they report a gain. "
        f"Grey bars around zero are the noise, and {in_noise} filled dots "
        "lie within it or at zero."
    )


def _legend(d: Drawing) -> None:
    d.text_from(4, 12, "nats more than the healthy twin", size=13, bold=True)
    _marks(d, {"right": 12}, 34)
    d.text_from(24, 34, "true price", "key", size=13)
    _marks(d, {"reported": 164}, 34)
    d.text_from(176, 34, "as the program reports it", "query", size=13)
    d.line([(4, 54), (18, 54)], "muted", 5)
    d.text_from(24, 54, "noise", "muted", size=13)
    _marks(d, {"loaded": 164}, 54)
    d.text_from(176, 54, "healthy weights loaded", "value", size=13)


def _marks(d: Drawing, at: dict[str, float | int], y: float | int) -> None:
    """The marks of a row, the true price above the others."""
    if {"right", "reported"} <= set(at):
        d.line([(at["reported"], y), (at["right"], y)], "muted", 1)
    if "loaded" in at:
        d.grid(at["loaded"] - 4, y - 4, [[1]], cell=8, colour="value")
    if "reported" in at:
        d.circle(at["reported"], y, 6, "query", fill=0)
    if "right" in at:
        d.circle(at["right"], y, 3.5, "key", fill=1)


# --- a patient's curve ---------------------------------------------------------------------------


def curves(name: str):
    """The loss that the program of a patient reports in training, and that of its twin."""
    stored, fault = load_measurements("silent_bugs"), FAULTS[name]
    twin = stored["twins"][fault.setting]["curve"][1:]  # all runs begin alike
    curve = stored["patients"][name]["curve"][1:] if fault.trained else twin
    number, steps = NUMBERS[name], stored["settings"]["steps"]
    d = Drawing(340, 124, size=13)
    lowest, highest = min(*curve, *twin), max(*curve, *twin)
    lines = {"twin": [_point(i, loss, lowest, highest) for i, loss in enumerate(twin)]}
    lines["patient"] = [_point(i, loss, lowest, highest) for i, loss in enumerate(curve)]
    d.line([(34, 8), (34, 100), (228, 100)], "muted", 1)
    for loss in (lowest, highest):
        d.text(29, _point(0, loss, lowest, highest)[1], f"{loss:.1f}", "muted", 13, "end")
    d.text_from(34, 114, str(steps // 20), "muted")
    d.text_to(228, 114, f"step {steps}", "muted")
    d.line(lines["twin"], "query", 1.8, dashed=fault.trained)
    if not fault.trained:
        d.text_from(236, lines["twin"][-1][1] - 9, f"both {twin[-1]:.2f}")
        return d.show(
            f"Training loss of patient {number} and of its healthy twin over {steps} steps: it is "
            f"one curve, since the fault does nothing in training, and ends at {twin[-1]:.2f}."
        )
    d.line(lines["patient"], "key", 2.2)
    ends = _apart([lines["patient"][-1][1], lines["twin"][-1][1]], 17)
    for (label, colour, losses), y in zip(
        (("patient", "key", curve), ("twin", "query", twin)), ends, strict=True
    ):
        d.text_from(236, y, f"{label} {losses[-1]:.2f}", colour)
    return d.show(
        f"Training loss over {steps} steps, two curves. That of patient {number} falls from "
        f"{curve[0]:.2f} to {curve[-1]:.2f}, that of its healthy twin from {twin[0]:.2f} to "
        f"{twin[-1]:.2f}."
    )


def _point(i: int, loss: float, lowest: float, highest: float) -> tuple[float, float]:
    """Where a mean of losses stands."""
    return round(36 + i * 192 / 18, 1), round(94 - 80 * (loss - lowest) / (highest - lowest), 1)


def _apart(heights: Sequence[float], least: float | int) -> list[float]:
    """Two heights, moved so that they are as far from each other, and not too low."""
    upper, lower = sorted(heights)
    middle, far = (upper + lower) / 2, max(lower - upper, least) / 2
    middle = min(middle, 104 - far)
    first = middle - far if heights[0] <= heights[1] else middle + far
    return [first, 2 * middle - first]


# --- who names what ------------------------------------------------------------------------------


def naming_tests(diagnoses: dict, faults: Sequence[Fault]) -> list[str]:
    """The tests that have failed on some of these faults, in the order of the faults."""
    entries = [diagnoses["patients"][fault.name] for fault in faults]
    named = [test for entry in entries for test in [*entry["first_sight"], *entry["now"]]]
    return list(dict.fromkeys(named))


def matrix():
    """Patients in rows, tests of `diagnose` in columns, and a mark where a test has failed.

    Faults of the model and those of the rest have hardly a test in common: each have a table.
    """
    diagnoses = load_measurements("diagnoses")
    halves = [
        [fault for fault in FAULTS.values() if (fault.place in IN_MODEL) == is_in_model]
        for is_in_model in (True, False)
    ]
    d = Drawing(360, 2 * HEAD + ROW * len(FAULTS) + 74)
    bottom = 0.0
    for faults in halves:
        bottom = _table(d, bottom, faults, diagnoses)
    legend = ("fails from first sight on", "fails since then", "failed at first only")
    for i, (mark, label) in enumerate(zip(MARKS.values(), legend, strict=True)):
        x, y = (12, 212)[i % 2], bottom + 24 + 20 * (i // 2)
        d.circle(x, y, *mark)
        d.text_from(x + 12, y, label, mark[1], size=13)
    entries = diagnoses["patients"].values()
    first, now = (sum(bool(entry[when]) for entry in entries) for when in ("first_sight", "now"))
    return d.show(
        f"Two tables of marks: {len(halves[0])} faults of the model, {len(halves[1])} of all else "
        "in rows, tests in columns. A filled mark stands for a test that has failed from first "
        "sight on, an open one for a test that fails since then, a small ring for one that failed "
        f"at first only. At first sight {first} rows had a mark, and today {now} have one, most "
        "of them one alone."
    )


def _table(d: Drawing, top: float, faults: Sequence[Fault], diagnoses: dict) -> float:
    """One of the tables, from `top` on; where it ends."""
    tests = naming_tests(diagnoses, faults)
    left, top, bottom = 156, top + HEAD, top + HEAD + ROW * len(faults)
    right = left + CELL * len(tests)
    for j, test in enumerate(tests):
        x = left + CELL * (j + 0.5)
        d.text_from(x, top - 8, test, size=13, turn=-90)
        d.line([(x, top), (x, bottom)], "muted", 0.4)
    for i, fault in enumerate(faults):
        y = top + ROW * (i + 0.5)
        d.text_from(4, y, words(fault), size=13)
        d.line([(left, y), (right, y)], "muted", 0.4)
        entry = diagnoses["patients"][fault.name]
        for j, test in enumerate(tests):
            when = test in entry["first_sight"], test in entry["now"]
            if when in MARKS:
                d.circle(left + CELL * (j + 0.5), y, *MARKS[when])
        if i and faults[i - 1].place != fault.place:
            d.line([(4, y - ROW / 2), (right, y - ROW / 2)], "muted", 1)
    return bottom
