"""The page of contests: its numbers are those that are stored or printed, and it names who wins."""

import xml.etree.ElementTree as ET

import pytest

from lab import contests
from lab.runs import ROOT, read
from scratchformer_course.ch10_bigram_to_gpt import drawings
from scratchformer_course.kit.canvas import COLOURS
from scratchformer_course.measurements import load_measurements

FOUND = contests.contests()


def source(notebook: str, cell: str) -> str:
    cells = read(ROOT / "notebooks" / f"{notebook}.ipynb")["cells"]
    return next("".join(each["source"]) for each in cells if each["id"] == cell)


def test_page_and_file_are_those_of_what_is_stored_and_printed():
    assert load_measurements("contests")["contests"] == FOUND, "run python -m lab.contests --write"
    assert contests.PAGE.read_text(encoding="utf-8") == contests.page(FOUND)


def test_the_two_runs_that_no_file_holds_have_the_settings_of_their_cells():
    same = ('"batch_size": 16', '"context_length": 64')
    sizes = "GPTConfig(512, 64, d_model=96, n_heads=4, n_layers=2)"
    for told, parts in (
        (source("10_bigram_to_gpt", "cell-49"), ("cpu=800", *same)),
        (source("10_bigram_to_gpt", "cell-42"), ('"d_model": 128', '"n_heads": 4, "n_layers": 2')),
        (source("18_gpt2", "cell-20"), ("cpu=500", sizes, *same)),
    ):
        assert all(part in told for part in parts), told
    assert contests.GPTConfig(512, 64, d_model=96, n_heads=4, n_layers=2) == contests.GPT_OF_18
    assert contests.GPTConfig(65, 64, d_model=128, n_heads=4, n_layers=2) == contests.GPT_OF_10


def test_stored_models_and_rows_have_the_sizes_that_their_records_tell():
    sizes = {one["name"]: one["parameters"] for one in FOUND}
    assert sizes["two seconds"] == sizes["in a browser's tab"]  # one network, by two programs
    tab, seconds = ((o["guesses"], o["steps"]) for o in FOUND if o["parameters"] == 340_160)
    assert tab[0] / tab[1] == seconds[0] / seconds[1]
    with pytest.raises(ValueError, match="has printed nothing like"):
        contests.printed("10", "cell-49", r"no such number ([\d.]+)")


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
    told = root.get("aria-label")
    assert f"The network is lower in {sum(o['winner'] == 'network' for o in FOUND)}" in told
