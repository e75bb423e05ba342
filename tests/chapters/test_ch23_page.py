"""The page of thirty silent bugs: it is current, complete, and its drawings show what is stored."""

import re
import xml.etree.ElementTree as ET

import pytest

from scratchformer_course.ch23_silent_bugs.appendix import drawings
from scratchformer_course.ch23_silent_bugs.patient import PLACES, SETTINGS, TWINS
from scratchformer_course.ch23_silent_bugs.patients import PATIENTS
from scratchformer_course.ch23_silent_bugs.prices import Price, within_noise
from scratchformer_course.measurements import load_measurements
from tools.silent_bugs_page import COMMAND, PAGE, anchor, found_by, page, price_table, thread_name

SVG = "{http://www.w3.org/2000/svg}"
TEXT = PAGE.read_text(encoding="utf-8")
each = pytest.mark.parametrize("patient", PATIENTS.values(), ids=PATIENTS)


def drawn(drawing):
    """The words of a drawing, and its root."""
    root = ET.fromstring(drawing.data)
    return [text.text for text in root.iter(f"{SVG}text")], root


def test_the_page_is_that_of_the_patients_and_of_what_is_stored():
    assert page() == TEXT, f"{PAGE.name} is stale: run `{COMMAND}`"


def test_every_place_and_every_twin_has_its_words():
    assert set(TWINS) == set(SETTINGS)
    headings = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    assert [h for h in headings if h in PLACES.values()] == list(PLACES.values())
    assert len(re.findall(r"^### Patient (\d+)$", TEXT, re.MULTILINE)) == len(PATIENTS)


@each
def test_a_patient_shows_its_symptom_and_folds_away_its_diagnosis_price_test_and_thread(patient):
    start = TEXT.index(f"({anchor(patient)})=")
    own = TEXT[start : TEXT.index("\n::::\n", TEXT.index("{dropdown}", start))]
    shown, fold = own.split("::::{dropdown}")
    assert patient.symptom in shown and f"curves {patient.name}\n" in shown
    assert patient.title not in shown and patient.title in fold
    assert patient.cause.endswith(".") and patient.cause in fold
    assert re.search(r"^\| (true|true and reported) \| −?\d+\.\d{3} \|", fold, re.MULTILINE)
    assert f"def {patient.invariant.__name__}(" in fold and '"""' not in fold
    assert patient.invariant.__doc__ in fold
    assert f"]({patient.thread})" in fold and patient.found in fold
    assert ("A near relation" in fold) == patient.near
    blocks = re.findall(r"```(?:diff|python)\n(.*?)```", fold, re.DOTALL)
    assert len(blocks) == 2
    assert all(len(line) <= 80 for line in "".join(blocks).splitlines())


@each
def test_the_repair_as_a_diff_holds_the_lines_that_differ(patient):
    broken, repaired = patient.code()
    lines = [line for line in patient.diff() if line.strip("+-")]
    assert [x[1:] for x in lines if x[0] == "-"] == [x for x in broken if x]
    assert [x[1:] for x in lines if x[0] == "+"] == [x for x in repaired if x]


@each
def test_a_patient_s_curve_is_drawn_beside_its_twin_s(patient):
    said, root = drawn(drawings.curves(patient.name))
    names = {word.split()[0] for word in said}
    assert {"patient", "twin"} <= names if patient.trained else "both" in names
    for line in root.iter(f"{SVG}polyline"):
        points = [point.split(",") for point in line.get("points").split()]
        assert all(0 <= float(x) <= 340 and 0 <= float(y) <= 104 for x, y in points)
    assert patient.title.lower() not in root.get("aria-label").lower()


def test_the_figure_of_prices_has_all_of_them_and_stays_inside():
    said, root = drawn(drawings.all_prices())
    assert {drawings.words(patient) for patient in PATIENTS.values()} <= set(said)
    width, height = (float(x) for x in root.get("viewBox").split()[2:])
    circles = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(f"{SVG}circle")]
    assert len(circles) > 50 and all(0 < x < width and 0 < y < height for x, y in circles)


def test_the_axis_of_prices_rises_on_both_sides_of_nothing():
    places = [drawings.place_of(x) for x in (-1, -0.1, 0, 0.001, 0.1, 1)]
    assert places == sorted(places) and places[2] == 0 and places[1] == -places[4]


def test_the_matrix_marks_what_failed_at_first_sight_and_what_fails_today():
    entries = load_measurements("diagnoses")["patients"]
    said, root = drawn(drawings.matrix())
    marks = sum(len({*entry["first_sight"], *entry["now"]}) for entry in entries.values())
    assert len(list(root.iter(f"{SVG}circle"))) == marks + 3  # the legend has three
    assert set(drawings.naming_tests({"patients": entries}, drawings.ORDER)) <= set(said)


def test_a_price_is_noise_if_it_is_small_or_if_its_sign_is_not_sure():
    assert within_noise(Price(0.01, 0.005, 0.015), spread=0.012)
    assert within_noise(Price(0.1, -0.1, 0.3), spread=0.001)
    assert not within_noise(Price(0.01, 0.005, 0.015), spread=0.008)
    assert not within_noise(Price(-0.1, -0.2, -0.05), spread=0.0)


def test_what_is_reported_stands_apart_only_where_it_differs():
    stored = load_measurements("silent_bugs")
    told = {name: "\n".join(price_table(p, stored)) for name, p in PATIENTS.items()}
    assert "| true and reported |" in told["workers_alike"]
    assert "| reported | −" in told["mask_one_off"] and "prefix" in told["mask_one_off"]
    assert "no loss" in told["nucleus_one_short"] and "reported" not in told["nucleus_one_short"]
    assert "the weights are the twin's" in told["cache_not_reset"]


def test_whether_a_fault_was_named_at_first_sight_is_told():
    suspect = {"first_suspect": "a [b]_c"}
    (at_first,) = found_by({"first_sight": ["x"], "now": ["x"], **suspect})
    assert "*x*, at first sight" in at_first and r"“a \[b\]\_c”" in at_first
    (later,) = found_by({"first_sight": [], "now": ["x", "y"], **suspect})
    assert "*x* and *y*, but not at first sight" in later
    (never,) = found_by({"first_sight": [], "now": [], "first_suspect": ""})
    assert "No test" in never


def test_a_thread_is_named_by_its_repository_kind_and_number():
    assert thread_name("https://github.com/a/b/pull/7") == "a/b, pull request 7"
    assert thread_name("https://github.com/a/b/issues/8") == "a/b, issue 8"
