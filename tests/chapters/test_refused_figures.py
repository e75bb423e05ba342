"""What a live figure cannot show is refused with what came and what was expected: one of a kind."""

import pytest

from scratchformer_course.ch01_bpe.live import merges
from scratchformer_course.ch05_averaging.live import weighted_past
from scratchformer_course.ch08_rotary.live import turning_pairs
from scratchformer_course.ch09_block import live as block
from scratchformer_course.ch14_encoder_decoder.live import translation_steps
from scratchformer_course.ch15_costs.live import costs
from scratchformer_course.ch16_scaling.joint import JointLaw
from scratchformer_course.ch16_scaling.live import law
from scratchformer_course.ch22_inside.live import silence
from scratchformer_course.measurements import load_measurements

TOKENS = [*(bytes([b]) for b in range(256)), b"ab"]
SENTENCE = block.WORDS, block.CHANNELS, block.sentence(), block.reading_block()
PAIR = {"english": "a dog", "german": "Hund", "weights": [[0.5, 0.4, 0.0], [0.0, 0.0, 1.0]]}
FILM = load_measurements("induction")["film"]
LAW = JointLaw(0.3, 2000.0, 0.4, 2e5, 0.5, 2.8)
REFUSED = {
    "a text of 0 characters, expected 1 to 2,000": lambda: merges(TOKENS, "", "", []),
    "x has rows of [2, 1]": lambda: weighted_past(["a", "b"], [[1, 0], [1]], ["f", "g"], {}),
    "speed=1.5, expected 0 to 1 radians": lambda: turning_pairs((2, 1), (1, 2), 1.5, {(2, 1): 1}),
    "channel='queen', expected one of article": lambda: block.block_switches(*SENTENCE, "queen"),
    "sums to 0.900": lambda: translation_steps([PAIR]),
    "expected a name and five positive whole": lambda: costs([("x", 65, 64, 48, 3)]),
    "the law holds nan, expected finite": lambda: law(LAW, {5e11: [(1e4, float("nan"))]}),
    "255 choices of heads, expected 256": lambda: silence(
        {"film": FILM | {"without": FILM["without"][1:]}}
    ),
}


@pytest.mark.parametrize("words", REFUSED)
@pytest.mark.usefixtures("plain_signatures")
def test_what_cannot_be_shown_is_refused(words):
    with pytest.raises(ValueError) as refusal:
        REFUSED[words]()
    assert words in str(refusal.value)
