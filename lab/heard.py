"""Chapter 14's clock: what Whisper's heads read of a recording -> measurements/heard.json.

Usage: python -m lab.heard [--quick | --write]

Whisper tiny.en writes down the chapter's recording. `heads` has for each of its 24 heads of
cross-attention how many words are read most at an instant at which they are spoken, by the times
of a forced aligner, and the median distance from the word's middle. `parts` has the same for the
words before CUT and for those after it, with the recording as it is and with its parts swapped:
HEAD is the best of the first and is judged by the second. `maps` are those of HEAD, from 0, as
steps of 20 ms with percents: of the recording, and of its halves swapped under the words.
`random` has the best head of three networks without training, and `wrote` ends with what Whisper
makes of the sound reversed.
"""

import argparse
import statistics
from collections.abc import Sequence

import torch
from torch import Tensor

from lab import runs
from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch14_encoder_decoder import hearing as h

HEAD, CUT, SEEDS = (2, 1), 9, range(3)  # the cut is before word 9, "how"
SETTINGS = {"model": h.NAME, "head": HEAD, "cut": CUT, "seeds": list(SEEDS)}
Times = Sequence[Sequence[float]]


def score(rows: Tensor, times: Times) -> list:
    """How many rows have their peak in their word, and the median distance from its middle."""
    pairs = [*zip(h.instants(rows), times, strict=True)]
    inside = sum(begin <= instant <= end for instant, (begin, end) in pairs)
    far = [abs(instant - (begin + end) / 2) for instant, (begin, end) in pairs]
    return [inside, round(statistics.median(far), 3)]


def moved(times: Times, after: float, seconds: float) -> list[list[float]]:
    """The words' times once the parts of the recording are swapped."""
    return [
        [round(edge + (-after if begin >= after else seconds - after), 3) for edge in (begin, end)]
        for begin, end in times
    ]


def percents(row: Tensor) -> list[list[int]]:
    """The steps that get at least one percent of a row, each with its percents."""
    return [[s, round(100 * w)] for s, w in enumerate(row.tolist()) if w >= 0.005]


def measure(options: argparse.Namespace) -> dict:
    tok, said, samples = ByteBPE.pretrained(h.NAME), h.alignment(), h.read_wav()
    model = h.Listener().eval()
    model.load_state_dict(h.joined(h.weights()))
    seconds, times = len(samples) / h.RATE, said["times"]
    after = (times[CUT - 1][1] + times[CUT][0]) / 2
    swapped, backwards = h.swapped(samples, after), samples.flip(0)

    def write(sound: Tensor) -> list[int]:
        with torch.no_grad():
            return h.write(model.predict, model.hear(h.log_mel(sound)[None]))

    ids = write(samples)
    spoken = h.tokens_of_words(tok, ids)
    assert [word for word, _ in spoken] == said["words"]

    def rows(listener: h.Listener, sound: Tensor) -> list[list[Tensor]]:
        maps = h.maps(listener, sound, ids)
        return [[h.rows_of_words(head, spoken) for head in layer] for layer in maps]

    plain = rows(model, samples)
    shown = plain[HEAD[0]][HEAD[1]]
    found = {"heads": [[score(each, times) for each in heads] for heads in plain]}
    if options.quick:
        return found
    over, back = (rows(model, sound)[HEAD[0]][HEAD[1]] for sound in (swapped, backwards))
    over_times = moved(times, after, seconds)
    halves = slice(CUT), slice(CUT, None)
    parts = [[[score(r[half], times[half]) for r in of] for of in plain] for half in halves]
    best = {
        (block, head): (found[0], -found[1])
        for block, of in enumerate(parts[0])
        for head, found in enumerate(of)
    }
    assert max(best, key=lambda each: best[each]) == HEAD, best
    mirrored = [[seconds - end, seconds - begin] for begin, end in times]
    random = []
    for seed in SEEDS:
        torch.manual_seed(seed)
        fresh = rows(h.Listener().eval(), samples)
        random.append(max(score(each, times)[0] for heads in fresh for each in heads))
    return found | {
        "after": round(after, 3),
        "seconds": seconds,
        "wrote": [tok.decode(write(sound)).strip() for sound in (samples, swapped, backwards)],
        "inside": [
            score(shown, times),
            score(over, over_times),
            score(back, mirrored),
        ],
        "parts": parts,
        "parts swapped": [score(over[half], over_times[half]) for half in halves],
        "random": random,
        "instants": [[round(x, 2) for x in h.instants(each)] for each in (shown, over)],
        "maps": [[percents(row) for row in each] for each in (shown, over)],
    }


main = runs.script(__doc__, "heard", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
