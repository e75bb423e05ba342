"""A small table of counts that guesses ahead of the shipped GPT -> ch20_inference/counts.json.

Usage: python -m lab.draft_counts [--write]

It counts what follows each context of up to LONGEST characters in the nine tenths of Tiny
Shakespeare that the model was trained on, and keeps the KEPT likeliest. A context stays in the
table if it occurs at least SEEN times, and if its row, beside that of the longest shorter context,
covers GAIN more of what followed. Shares are in fifteenths.
"""

import argparse
from collections import Counter, defaultdict

from lab import runs
from scratchformer_course.ch20_inference.counts import STORED, packed

LONGEST, KEPT, SEEN, GAIN = 5, 3, 8, 8
TRAINED = 0.9


def counted(text: str) -> list[dict[str, list[tuple[str, float]]]]:
    """For each length of a context: context -> (next character, its share), the likeliest first."""
    tables: list[dict[str, list[tuple[str, float]]]] = []
    for length in range(LONGEST + 1):
        following: defaultdict[str, Counter] = defaultdict(Counter)
        for i in range(length, len(text)):
            following[text[i - length : i]][text[i]] += 1
        table = {}
        for context, counts in following.items():
            n = counts.total()
            likeliest = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:KEPT]
            among = sum(count for _, count in likeliest)
            row = [(character, count / among) for character, count in likeliest]
            if length:
                shorter = next(
                    counts_of[context[len(context) - i :]]
                    for i, counts_of in reversed([*enumerate(tables)])
                    if context[len(context) - i :] in counts_of
                )
                gain = _covered(counts, row) - _covered(counts, shorter)
                if n < SEEN or gain < GAIN:
                    continue
            table[context] = row
        tables.append(table)
    return tables


def _covered(counts: Counter, row: list[tuple[str, float]]) -> float:
    """How many of the counted characters a draft that draws from the row would be allowed."""
    n = counts.total()
    return sum(min(counts[character], n * share) for character, share in row)


def measure(options: argparse.Namespace) -> dict:
    text = runs.load_text(write=options.write)
    tables = packed(counted(text[: int(TRAINED * len(text))]))
    print([table.count("\t") for table in tables], sum(map(len, tables)))
    return {"command": "python -m lab.draft_counts --write", "tables": tables}


main = runs.script(__doc__, STORED, measure, quick=False)


if __name__ == "__main__":
    main()
