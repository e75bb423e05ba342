"""What a live figure cannot show is refused with what came and what was expected: one of a kind."""

import pytest

from scratchformer_course.ch01_bpe.live import merges
from scratchformer_course.ch05_averaging.live import weighted_past
from scratchformer_course.ch08_rotary.live import turning_pairs
from scratchformer_course.ch15_costs.live import costs

TOKENS = [*(bytes([b]) for b in range(256)), b"ab"]
REFUSED = {
    "a text of 0 characters, expected 1 to 2,000": lambda: merges(TOKENS, "", "", []),
    "x has rows of [2, 1]": lambda: weighted_past(["a", "b"], [[1, 0], [1]], ["f", "g"], {}),
    "speed=1.5, expected 0 to 1 radians": lambda: turning_pairs((2, 1), (1, 2), 1.5, {(2, 1): 1}),
    "expected a name and five positive whole": lambda: costs([("x", 65, 64, 48, 3)]),
}


@pytest.mark.parametrize("words", REFUSED)
@pytest.mark.usefixtures("plain_signatures")
def test_what_cannot_be_shown_is_refused(words):
    with pytest.raises(ValueError) as refusal:
        REFUSED[words]()
    assert words in str(refusal.value)
