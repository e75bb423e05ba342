"""What no live figure can show is refused with what came and what was expected."""

import pytest

from scratchformer.blocks import TransformerBlock
from scratchformer.positions import sinusoidal
from scratchformer_course.ch01_bpe.live import merges
from scratchformer_course.ch02_embeddings.live import word_map
from scratchformer_course.ch03_positions.live import clock_hands
from scratchformer_course.ch04_first_network.live import parabola
from scratchformer_course.ch05_averaging.live import weighted_past
from scratchformer_course.ch06_self_attention.live import attention_steps
from scratchformer_course.ch08_rotary.live import turning_pairs
from scratchformer_course.ch09_block import live as block
from scratchformer_course.ch14_encoder_decoder.live import translation_steps
from scratchformer_course.ch15_costs.live import costs
from scratchformer_course.ch16_scaling.joint import JointLaw
from scratchformer_course.ch16_scaling.live import law
from scratchformer_course.ch19_since_gpt2.live import lines
from scratchformer_course.ch21_answers.live import one_question
from scratchformer_course.ch22_inside.live import silence
from scratchformer_course.ch23_silent_bugs.live import clinic
from scratchformer_course.measurements import load_measurements

NAN = float("nan")
EYE = [[1, 0], [0, 1]]
TOKENS = [*(bytes([b]) for b in range(256)), b"ab"]
TABLE = sinusoidal(100, 8)
LINES = load_measurements("real_lines")
LETTERS = {"features": ["A", "B"], "columns": ["c", "d"], "gives": ["g", "h"]}


def mixture_of(words="ab", x=EYE, row=(True, True)):
    return weighted_past([*words], x, ["f", "g"], {"m": [[True, True], [*row]]})


def steps_of(words=("a", "b"), x=EYE, **options):
    return attention_steps([*words], x, EYE, EYE, EYE, **LETTERS, **options)


def pairs_of(query=(2.0, 1.0), speed=0.3, places=(2, 1)):
    return turning_pairs(query, (0.5, 1.5), speed, {places: 1.0})


def switches_of(channel="hush", with_block=None):
    with_block = with_block or block.reading_block()
    return block.block_switches(block.WORDS, block.CHANNELS, block.sentence(), with_block, channel)


def translated(german, last=1.0):
    weights = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, last]]
    return translation_steps([{"english": "the dog", "german": german, "weights": weights}])


def film_without(n):
    film = load_measurements("induction")["film"]
    return silence({"film": film | {"without": film["without"][n:]}})


def law_of(tested):
    return law(JointLaw(0.3, 2000.0, 0.4, 2e5, 0.5, 2.8), tested)


REFUSED = {
    "a text of 0 characters, expected 1 to 2,000": lambda: merges(TOKENS, "", "", []),
    "do not spell the text 'ab'": lambda: merges(TOKENS, "", "ab", [97]),
    "'zebra' is none of the 400 words of the map": lambda: word_map(word="zebra"),
    "place 0 of the table is no sinusoidal enc": lambda: clock_hands(TABLE.flip(1).tolist()),
    "place=50 and distance=5, expected 0 to 49": lambda: clock_hands(TABLE.tolist(), place=50),
    "a rate of 1.3, expected more than 0": lambda: parabola({1.3: [0.0] * 7}),
    "expected 7 from w=0.0": lambda: parabola({0.1: [0.0] * 7, 0.2: [1.0] * 7}),
    "expected 2 to 6, each once": lambda: mixture_of("aa"),
    r"x has rows of \[2, 1\]": lambda: mixture_of(x=[[1, 0], [1]]),
    "in the mask 'm' a row has no True": lambda: mixture_of(row=[False, False]),
    "expected one or more, each once": lambda: steps_of("aa"),
    "expected 2 rows of 2 numbers": lambda: steps_of(x=[1, 0]),
    "asks='c', expected one of a, b": lambda: steps_of(asks="c"),
    r"query=\[1.0, 2.0, 3.0\], expected two": lambda: pairs_of(query=(1.0, 2.0, 3.0)),
    "speed=1.5, expected 0 to 1 radians": lambda: pairs_of(speed=1.5),
    r"first places are \(102, 101\)": lambda: pairs_of(places=(102, 101)),
    "channel='queen', expected one of article": lambda: switches_of("queen"),
    "7 heads, expected 1": lambda: switches_of(with_block=TransformerBlock(7, 7)),
    r"'der' has weights \(3, 3\), expected \(2, 3\)": lambda: translated("der"),
    "sums to 0.900": lambda: translated("der Hund", last=0.9),
    "expected a name and five positive whole": lambda: costs([("x", 65, 64, 48, 3)]),
    "got 0 tested sizes": lambda: law_of({}),
    "got nan|finite": lambda: law_of({5e11: [(1e4, NAN)]}),
    "0 sets of lines, expected all 16": lambda: lines(LINES | {"combinations": []}),
    "3 answers, expected 2": lambda: lines(LINES | {"settings": {"questions": "ab"}}),
    "a film of .*, expected one of base": lambda: one_question({}),
    "255 choices of heads, expected 256": lambda: film_without(1),
    "curves of 0 and": lambda: clinic({"patients": {}, "twins": {}}),
}


@pytest.mark.parametrize("said", REFUSED)
@pytest.mark.usefixtures("plain_signatures")
def test_what_cannot_be_shown_is_refused(said):
    with pytest.raises(ValueError, match=said):
        REFUSED[said]()
