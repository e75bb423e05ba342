"""What training on several GPUs takes and costs: the tables of a page of the book.

Usage: python -m lab.cost [--write]

Prints the tables of book/past_one_machine.md. Measured figures are ddp.json's. Those of GPUs are
quoted from the sources beside them, or computed from assumptions, and none of them has been run.
`--write` puts the tables into the page, between the comments that name them. A test holds the page
to them.
"""

import re
import statistics
from collections.abc import Iterable

from lab import runs
from lab.ddp import STORED
from scratchformer.files import atomic_write

PAGE = runs.ROOT / "book" / "past_one_machine.md"
GPT2, BIG = 124e6, 10.8e6  # parameters
STEP_TOKENS = 512 * 1024  # in a step of llm.c's run, and of our configuration
TOKENS = 19_560 * STEP_TOKENS  # llm.c's run on FineWeb, by the log of the baseline below
NANOGPT_TOKENS = 600_000 * 491_520  # nanoGPT's run: steps × tokens a step
BIG_TOKENS = 5_000 * 64 * 256  # and its run on Shakespeare
# The speedrun of github.com/KellerJordan/modded-nanogpt, read at its commit f411b3d3 of 1 August
# 2026: minutes of training on eight H100 to a loss of 3.28. Times and days are its table's; tokens
# are steps × tokens a step in the log of each record (in the last, the batch grows twice).
# (number, day, what is new since the row above, minutes, tokens)
RECORDS = (
    (1, "28 May 2024", "llm.c: a plain GPT-2, AdamW", 45, TOKENS),
    (2, "6 June 2024", "rotary positions, a tuned rate", 31.4, 9536 * STEP_TOKENS),
    (5, "14 October 2024", "Muon, squared ReLU, normalised queries and keys", 15.2,
     5100 * STEP_TOKENS),
    (12, "19 November 2024", "an untied output matrix, skip connections, texts of 65,536 tokens",
     5.03, 1875 * STEP_TOKENS),
    (20, "16 January 2025", "attention windows that grow, 8-bit numbers in the output layer", 2.992,
     1393 * STEP_TOKENS),
    (89, "17 July 2026", "smear, bigrams, several tokens predicted at once, fused kernels", 1.23,
     (460 * 8 + 460 * 16 + 470 * 24) * 2048 * 8),
)  # fmt: skip
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


def ring_bytes(parameters: float, n: int, width: int = 4) -> float:
    """Bytes that each of n processes sends to add up gradients of `width` bytes in a ring."""
    return 2 * (n - 1) / n * parameters * width


def as_table(head: str, rows: Iterable[str]) -> str:
    return "\n".join(runs.markdown_table(head, rows))


def measured(result: dict) -> str:
    """What two processes gained here."""
    rows = []
    for name, row in zip(("small", "big"), result["rows"], strict=True):
        r, (middle, low, high) = result[name], row["ratio"]
        tokens = r["batch_size"] * r["context_length"]
        speed = {
            way: statistics.median(tokens / t for t in times) for way, times in r["seconds"].items()
        }
        share = re.search(r"takes (\d+%)", row["note"])[1]
        rows.append(
            f"{r['parameters'] / 1e6:.1f} M, {r['batch_size']} × {r['context_length']} tokens, "
            f"{r['precision']} | {speed['whole']:,.0f} tokens/s | {speed['in turn']:,.0f} tokens/s "
            f"| {speed['together']:,.0f} tokens/s: **{middle:.2f}×** ({low:.2f}–{high:.2f}, "
            f"n = {row['n']}) | {share} of a step"
        )
    ways = "One process: whole batch | One: halves in turn | Two"
    return as_table(f"Model and batch | {ways} | Exchange", rows)


def exchanged() -> str:
    """Bytes a step, and how long they take on their way."""
    two, eight = (ring_bytes(GPT2, n) for n in (2, 8))
    rows = [f"each sends, a step | {two / 1e6:,.0f} MB | {eight / 1e6:,.0f} MB"]
    for link, speed in LINKS.items():
        rows.append(f"{link} | {1000 * two / speed:,.1f} ms | {1000 * eight / speed:,.1f} ms")
    return as_table("GPT-2 124 M, float32 gradients | 2 processes | 8 processes", rows)


def all_reduced(result: dict) -> str:
    """What adding up the gradients of two processes took here."""
    rows = []
    for name in ("small", "big"):
        r = result[name]
        sent, times = ring_bytes(r["parameters"], 2), r["all_reduce"]
        middle, low, high = runs.spread(times)
        rows.append(
            f"{r['parameters'] / 1e6:.1f} M gradients, float32 | {sent / 1e6:.1f} MB | "
            f"{1000 * middle:.1f} ms ({1000 * low:.1f}–{1000 * high:.1f}, n = {len(times)}) | "
            f"{sent / middle / 1e9:.1f} GB"
        )
    return as_table("Two processes on this machine | Each sends | It takes | So a second", rows)


def records() -> str:
    """How the public speedrun came from 45 minutes to its record, and what each run costs."""
    price, speed = GPUS["H100 (SXM)"][1], "Million tokens a second"
    rows = [
        f"{number}: {day} | {new} | {tokens / 1e9:.2f} | {minutes:.3g} | "
        f"{tokens / minutes / 60e6:.1f} | {minutes / 60 * 8 * price:.2f}"
        for number, day, new, minutes, tokens in RECORDS
    ]
    head = "Record | New since the row above | Billion tokens | Minutes"
    return as_table(f"{head} | {speed} | Dollars", rows)


def eight_gpus() -> str:
    """Hours and dollars of two runs on eight of each kind of GPU."""
    rows = []
    for name, (peak, price) in GPUS.items():
        row = f"{name}, {price:.0f} dollars an hour each"
        for tokens in (TOKENS, NANOGPT_TOKENS, STEP_TOKENS):
            low, high = (training_hours(GPT2, tokens, 8, peak, mfu) for mfu in reversed(MFU))
            if tokens == STEP_TOKENS:
                row += f" | {3.6e6 * low:,.0f} to {3.6e6 * high:,.0f} ms"
            else:
                costs = f"{8 * price * low:,.0f} to {8 * price * high:,.0f} dollars"
                row += f" | {low:,.1f} to {high:,.1f} h, {costs}"
        rows.append(row)
    two_runs = "llm.c's run: 10.26 billion tokens | nanoGPT's: 295 billion"
    return as_table(f"Eight GPUs | {two_runs} | A step", rows)


def published() -> str:
    """What published times say by the same formula."""
    a100, h100 = GPUS["A100 (80 GB, SXM)"][0], GPUS["H100 (SXM)"][0]  # an A100 of 40 GB is as fast
    script = 18_865 * STEP_TOKENS, 18_865 * 0.3 / 3600  # llm.c's scripts/run_gpt2_124M.sh
    found = (
        ("nanoGPT: 10.8 M, Shakespeare, one A100", BIG, BIG_TOKENS, 1, a100, 0.05, "3 minutes"),
        ("nanoGPT: GPT-2 124 M, eight A100", GPT2, NANOGPT_TOKENS, 8, a100, 96, "4 days"),
        ("llm.c: GPT-2 124 M, eight A100", GPT2, script[0], 8, a100, script[1], "94 minutes"),
        ("llm.c: GPT-2 124 M, eight H100", GPT2, TOKENS, 8, h100, 0.75, "45 minutes"),
    )
    rows = [f"{name} | about {words} | {implied_mfu(*run):.0%}" for name, *run, words in found]
    return as_table("Run | Published | Part of the peak", rows)


def tables() -> dict[str, str]:
    """Name in the page -> its table now."""
    result = runs.read(STORED)
    found = {"measured": measured(result), "exchanged": exchanged()}
    found |= {"all-reduced": all_reduced(result), "records": records()}
    return found | {"published": published(), "runs": eight_gpus()}


def renewed(page: str) -> str:
    """The page with all tables as they are now. Raises ValueError if it lacks one's place."""
    for name, table in tables().items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not place.search(page):
            raise ValueError(f"{PAGE.name} has no place for the table {name!r}")
        page = place.sub(lambda m, table=table: f"{m[1]}\n{table}\n\n{m[2]}", page)
    return page


def main() -> None:
    writes = f"the tables of {PAGE.name}"
    options = runs.command_line(__doc__, writes, quick=False).parse_args()
    print("\n\n".join(tables().values()))
    if options.write:
        page = renewed(PAGE.read_text(encoding="utf-8"))
        with atomic_write(PAGE) as part:
            part.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
