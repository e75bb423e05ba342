"""The page of thirty silent bugs has all patients; a drawing keeps to its frame and its secret."""

import re
import xml.etree.ElementTree as ET

import pytest
from readers import ROOT

from scratchformer_course.ch25_silent_bugs.appendix import drawings
from scratchformer_course.ch25_silent_bugs.clinic import CLINIC
from scratchformer_course.ch25_silent_bugs.faults import FAULTS

SECTION = re.compile(r"^\(bug-(.+)\)=$", re.MULTILINE)


def test_each_patient_has_a_section_in_their_order_which_names_a_thread_once():
    _, *parts = SECTION.split((ROOT / "book" / "silent_bugs.md").read_text(encoding="utf-8"))
    assert [name.replace("-", "_") for name in parts[::2]] == list(FAULTS)
    for i, (name, text) in enumerate(zip(FAULTS, parts[1::2], strict=True), start=1):
        assert f"### Patient {i}\n" in text and f"Diagnosis of patient {i}\n" in text
        assert f":::{{curve}} {name}\n" in text and f":::{{diagnosis}} {name}\n" in text
        assert text.count("](https://github.com/") == (name not in CLINIC), name


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_patient_s_curve_keeps_to_its_frame_and_does_not_tell_the_fault(fault):
    root = ET.fromstring(drawings.curves(fault.name).data)
    points = " ".join(line.get("points") for line in root.findall(".//{*}polyline")).split()
    assert all(0 <= float(x) <= 340 for x, _ in (point.split(",") for point in points))
    assert all(0 <= float(y) <= 104 for _, y in (point.split(",") for point in points))
    assert fault.title.lower() not in root.get("aria-label").lower()
