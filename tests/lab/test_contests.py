"""Networks beside counts: what is stored follows from the other files."""

import pytest

from lab import contests
from scratchformer_course.measurements import load_measurements


def test_what_is_stored_follows_from_the_other_files():
    assert load_measurements("contests")["contests"] == contests.contests(), (
        "run python -m lab.contests --write"
    )


@pytest.mark.parametrize(
    ("lead", "winner"), [(0.1, "network"), (-0.1, "counts"), (0.004, "level"), (-0.004, "level")]
)
def test_a_lead_counts_if_it_is_larger_than_a_rounding(lead, winner):
    assert contests.judged(lead) == {"ahead": lead, "winner": winner}
