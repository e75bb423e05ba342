"""The draft's table of counts: what follows a context of up to five characters, and how often.

`counts.json` holds one text for each length of a context. An entry ends with a tab: the context,
then for each likely character the character itself and its share, in fifteenths, as a digit of
base 16. `lab/draft_counts.py` writes it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_name("counts.json")
FIFTEENTHS = "0123456789abcdef"
Row = Sequence[tuple[str, float]]  # (next character, its share), the likeliest first


def packed(tables: Sequence[Mapping[str, Row]]) -> list[str]:
    """Tables as texts, the contexts in alphabetical order; no share is less than a fifteenth."""
    texts = []
    for table in tables:
        entries = (
            context + "".join(c + FIFTEENTHS[max(1, round(15 * share))] for c, share in row) + "\t"
            for context, row in sorted(table.items())
        )
        texts.append("".join(entries))
    return texts


def unpacked(texts: Sequence[str]) -> list[dict[str, list[tuple[str, float]]]]:
    """What `packed` was given, to a fifteenth; the shares of a row sum to 1."""
    tables = []
    for length, text in enumerate(texts):
        table = {}
        for entry in text.split("\t")[:-1]:
            shares = entry[length:]
            row = [(c, int(n, 16)) for c, n in zip(shares[::2], shares[1::2], strict=True)]
            total = sum(n for _, n in row)
            table[entry[:length]] = [(c, n / total) for c, n in row]
        tables.append(table)
    return tables


def guess(tables: Sequence[Mapping[str, Row]], text: str, longest: int) -> Row:
    """What the table holds likeliest after a text, by its longest context of at most `longest`."""
    for length in range(min(longest, len(tables) - 1, len(text)), -1, -1):
        row = tables[length].get(text[len(text) - length :])
        if row is not None:
            return row
    raise ValueError("the table has no row for the empty context")


def describe_counts() -> dict[str, Any]:
    """The stored tables for a page, and a `hash` of them."""
    tables = json.loads(STORED.read_text(encoding="utf-8"))["tables"]
    return {"hash": hashlib.sha256(json.dumps(tables).encode()).hexdigest()[:16], "tables": tables}
