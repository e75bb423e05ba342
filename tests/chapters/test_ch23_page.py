"""The page of thirty silent bugs has all patients, and its drawings show what is stored."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scratchformer_course.ch23_silent_bugs.appendix import drawings
from scratchformer_course.ch23_silent_bugs.clinic import CLINIC
from scratchformer_course.ch23_silent_bugs.faults import FAULTS
from scratchformer_course.measurements import load_measurements

SVG = "{http://www.w3.org/2000/svg}"
PAGE = Path(__file__).parents[2] / "book" / "silent_bugs.md"


def drawn(drawing):
    """The words of a drawing, and its root."""
    root = ET.fromstring(drawing.data)
    return [text.text for text in root.iter(f"{SVG}text")], root


def test_each_patient_has_a_section_in_their_order_which_names_a_thread_once():
    sections = re.split(r"^\(bug-(.+)\)=$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[
        1:
    ]
    names = [name.replace("-", "_") for name in sections[::2]]
    assert names == list(FAULTS)
    for i, (name, text) in enumerate(zip(names, sections[1::2], strict=True), start=1):
        assert f"### Patient {i}\n" in text and f"Diagnosis of patient {i}\n" in text
        assert f":::{{curve}} {name}\n" in text and f":::{{diagnosis}} {name}\n" in text
        threads = text.count("](https://github.com/")
        assert threads == (name not in CLINIC), f"{name}: {threads} threads on the page"


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_patient_s_curve_is_drawn_beside_its_twin_s(fault):
    said, root = drawn(drawings.curves(fault.name))
    names = {word.split()[0] for word in said}
    assert {"patient", "twin"} <= names if fault.trained else "both" in names
    for line in root.iter(f"{SVG}polyline"):
        points = [point.split(",") for point in line.get("points").split()]
        assert all(0 <= float(x) <= 340 and 0 <= float(y) <= 104 for x, y in points)
    assert fault.title.lower() not in root.get("aria-label").lower()


def test_the_matrix_marks_what_failed_at_first_sight_and_what_fails_today():
    entries = load_measurements("diagnoses")["patients"]
    said, root = drawn(drawings.matrix())
    marks = sum(len({*entry["first_sight"], *entry["now"]}) for entry in entries.values())
    assert len(list(root.iter(f"{SVG}circle"))) == marks + 3  # the legend has three
    tests = drawings.naming_tests({"patients": entries}, list(FAULTS.values()))
    assert set(tests) <= set(said)
