"""What training on several GPUs takes and costs, by formula: the tables of a page of the book.

Usage: python benchmarks/cost.py [--write]

Prints the tables of book/past_one_machine.md. Measured figures are ddp.json's; those of GPUs are
computed from `ASSUMED`, and none of them has been run. `--write` puts the tables into the page,
between the comments that name them; a test holds the page to it.
"""

import argparse
import json
import re
import statistics
import sys
from pathlib import Path

from scratchformer.files import atomic_write

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parent / "book" / "past_one_machine.md"
GPT2, BIG = 124e6, 10.8e6  # parameters
TOKENS = 600_000 * 491_520  # nanoGPT's run: steps × tokens a step
BIG_TOKENS = 5_000 * 64 * 256  # and its run on Shakespeare
OPENWEBTEXT = 9e9  # tokens in it
GPUS = {  # name: dense bfloat16 operations a second by the data sheet, dollars an hour assumed
    "A100 (80 GB, SXM)": (312e12, 2.0),
    "H100 (SXM)": (989e12, 3.0),
    "H200 (SXM)": (989e12, 4.0),
}
MFU = (0.3, 0.5)  # the part of the peak that is reached, assumed
LINKS = {  # bytes a second that each process can send, assumed
    "NVLink inside a machine (300 GB/s)": 300e9,
    "InfiniBand between machines (50 GB/s)": 50e9,
    "Ethernet, 10 gigabit (1.25 GB/s)": 1.25e9,
}


def training_hours(parameters: float, tokens: float, n: int, peak: float, mfu: float) -> float:
    """Hours for 6 N D operations on n GPUs that reach the part `mfu` of their peak."""
    return 6 * parameters * tokens / (n * peak * mfu) / 3600


def implied_mfu(parameters: float, tokens: float, n: int, peak: float, hours: float) -> float:
    """The part of their peak that n GPUs reached in a run of so many hours."""
    return training_hours(parameters, tokens, n, peak, 1.0) / hours


def dollars(hours: float, n: int, price: float) -> float:
    """What n GPUs cost for so long, at a price an hour for each."""
    return hours * n * price


def ring_bytes(parameters: float, n: int, width: int = 4) -> float:
    """Bytes that each of n processes sends to add up gradients of `width` bytes in a ring."""
    return 2 * (n - 1) / n * parameters * width


def measured(result: dict) -> str:
    """What two processes gained here."""
    lines = [
        "| Model and batch | One process: whole batch | One: halves in turn | Two | Exchange |",
        "|---|---|---|---|---|",
    ]
    for name, row in zip(("small", "big"), result["rows"], strict=True):
        r, (middle, low, high) = result[name], row["ratio"]
        tokens = r["batch_size"] * r["context_length"]
        speed = {
            way: statistics.median(tokens / t for t in times) for way, times in r["seconds"].items()
        }
        share = re.search(r"takes (\d+%)", row["note"])[1]
        lines.append(
            f"| {r['parameters'] / 1e6:.1f} M, {r['batch_size']} × {r['context_length']} tokens, "
            f"{r['precision']} | {speed['whole']:,.0f} tokens/s | {speed['in turn']:,.0f} tokens/s "
            f"| {speed['together']:,.0f} tokens/s: **{middle:.2f}×** ({low:.2f}–{high:.2f}, "
            f"n = {row['n']}) | {share} of a step |"
        )
    return "\n".join(lines)


def exchanged() -> str:
    """Bytes a step, and how long they take on their way."""
    lines = ["| GPT-2 124 M, float32 gradients | 2 processes | 8 processes |", "|---|---|---|"]
    sent = {n: ring_bytes(GPT2, n) for n in (2, 8)}
    cells = " | ".join(f"{b / 1e6:,.0f} MB" for b in sent.values())
    lines.append(f"| each sends, a step | {cells} |")
    for link, speed in LINKS.items():
        cells = " | ".join(f"{1000 * b / speed:,.1f} ms" for b in sent.values())
        lines.append(f"| {link} | {cells} |")
    return "\n".join(lines)


def step_seconds(n: int, peak: float, mfu: float) -> float:
    """Seconds that GPT-2's step of 491,520 tokens computes on n GPUs."""
    return training_hours(GPT2, 491_520, n, peak, mfu) * 3600


def runs() -> str:
    """Hours and dollars of three runs on eight of each kind of GPU."""
    lines = [
        "| Eight GPUs | nanoGPT's run: 295 billion tokens | OpenWebText once: 9 billion | A step |",
        "|---|---|---|---|",
    ]
    for name, (peak, price) in GPUS.items():
        cells = []
        for tokens in (TOKENS, OPENWEBTEXT):
            hours = [training_hours(GPT2, tokens, 8, peak, mfu) for mfu in reversed(MFU)]
            costs = [dollars(h, 8, price) for h in hours]
            cells.append(
                f"{hours[0]:,.1f} to {hours[1]:,.1f} h, {costs[0]:,.0f} to {costs[1]:,.0f} dollars"
            )
        steps = [step_seconds(8, peak, mfu) * 1000 for mfu in reversed(MFU)]
        cells.append(f"{steps[0]:,.0f} to {steps[1]:,.0f} ms")
        lines.append(f"| {name}, {price:.0f} dollars an hour each | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def published() -> str:
    """What nanoGPT's published times say by the same formula."""
    lines = ["| nanoGPT's run | Published | Part of the peak |", "|---|---|---|"]
    peak = GPUS["A100 (80 GB, SXM)"][0]  # the 40 GB model has the same
    for name, parameters, tokens, n, hours, words in (
        ("GPT-2 124 M, eight A100", GPT2, TOKENS, 8, 4 * 24, "about 4 days"),
        ("10.8 M, Shakespeare, one A100", BIG, BIG_TOKENS, 1, 3 / 60, "about 3 minutes"),
    ):
        mfu = implied_mfu(parameters, tokens, n, peak, hours)
        lines.append(f"| {name} | {words} | {mfu:.0%} |")
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """Name in the page -> its table now."""
    result = json.loads((FOLDER / "ddp.json").read_text(encoding="utf-8"))
    found = {"measured": measured(result), "exchanged": exchanged()}
    return found | {"published": published(), "runs": runs()}


def renewed(page: str) -> str:
    """The page with all tables as they are now. Raises ValueError if it lacks one's place."""
    for name, table in tables().items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not place.search(page):
            raise ValueError(f"{PAGE.name} has no place for the table {name!r}")
        page = place.sub(lambda m, table=table: f"{m[1]}\n{table}\n\n{m[2]}", page)
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"renew the tables of {PAGE.name}")
    options = parser.parse_args()
    print("\n\n".join(tables().values()))
    if options.write:
        page = renewed(PAGE.read_text(encoding="utf-8"))
        with atomic_write(PAGE) as part:
            part.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
