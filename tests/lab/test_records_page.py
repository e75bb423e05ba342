"""The page of records: what it shows is what is stored, and what was missed is called missed."""

from lab import records_page
from lab.runs import read
from scratchformer_course.measurements import FOLDER

APART, RECORDS, TAB = (read(FOLDER / f"{name}.json") for name in records_page.SOURCES)


def test_the_page_is_that_of_the_stored_figures():
    assert records_page.PAGE.read_text(encoding="utf-8") == records_page.page(APART, RECORDS, TAB)


def test_a_target_is_met_by_more_speed_or_by_less_loss():
    found = {name: (came, aim, met) for name, came, aim, met in records_page.aims(APART, RECORDS)}
    for name, (came, aim, met) in found.items():
        assert met == (came >= aim if "fast" in name else came <= aim), name
    assert {met for _, _, met in found.values()} == {True, False}


def test_counts_and_network_together_beat_each_and_rules_help_the_counts_too():
    for means in RECORDS["two_minutes"]["means"].values():
        assert means["gated"][0] < means["mixed"][0] < min(means[k][0] for k in ("alone", "counts"))
    alone, counts = (
        RECORDS["two_minutes"]["means"]["validation"][k][0] for k in ("alone", "counts")
    )
    assert counts < alone, "the page says that the network does not beat them"
    tracks = RECORDS["tracks"]["means"]
    assert tracks["adaptive counts"]["counts"][0] < tracks["usual"]["counts"][0]
