"""Networks beside counts: what is stored follows from the other files, and the figure shows it."""

import xml.etree.ElementTree as ET

import pytest

from lab import contests
from scratchformer_course.ch10_bigram_to_gpt import drawings
from scratchformer_course.kit.canvas import COLOURS
from scratchformer_course.measurements import load_measurements

FOUND = contests.contests()


def test_what_is_stored_follows_from_the_other_files():
    assert load_measurements("contests")["contests"] == FOUND, "run python -m lab.contests --write"


@pytest.mark.parametrize(
    ("lead", "winner"), [(0.1, "network"), (-0.1, "counts"), (0.004, "level"), (-0.004, "level")]
)
def test_a_lead_counts_if_it_is_larger_than_a_rounding(lead, winner):
    assert contests.judged(lead) == {"ahead": lead, "winner": winner}


def test_the_figure_has_a_line_for_each_contest_from_the_network_to_its_counts():
    root = ET.fromstring(drawings.contests().data)
    name = "{http://www.w3.org/2000/svg}"
    lines = [e for e in root.iter(f"{name}polyline") if e.get("stroke-width") == "3"]
    dots = list(root.iter(f"{name}circle"))[2:]  # after the two of the legend
    assert len(lines) == len(FOUND) and len(dots) == 2 * len(FOUND)
    width = float(root.get("viewBox").split()[2])
    for line, network, counts in zip(lines, dots[::2], dots[1::2], strict=True):
        ends = [float(point.split(",")[0]) for point in line.get("points").split()]
        assert ends == [float(network.get("cx")), float(counts.get("cx"))]
        assert min(ends) >= 200 and max(ends) <= width - 10
        colour = "value" if ends[0] < ends[1] else "key" if ends[0] > ends[1] else "muted"
        assert line.get("stroke") in (COLOURS[colour], COLOURS["muted"])
    description = root.get("aria-label")
    assert f"The network is lower in {sum(o['winner'] == 'network' for o in FOUND)}" in description
