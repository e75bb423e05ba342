"""book/benchmarks.md, made of what is stored: table.json and page_weights.json.

The page leads with `TAKEAWAYS`. `python -m lab.table --page` writes it; so does every script that
replaces one of the two files.
"""

import math
import statistics

from lab.runs import LAB, ROOT, markdown_table, read
from scratchformer.files import atomic_write

TABLE, PAGE_WEIGHTS = LAB / "table.json", LAB / "page_weights.json"
LINES = {"10 Mbit": (10e6, 40), "1.6 Mbit": (1.6e6, 150)}  # bits a second, ms to an answer
PAGE = ROOT / "book" / "benchmarks.md"
# What the page leads with: a row (topic, what, reference, unit), its two sides in plain words, and
# the sentence. Which side wins, and by how much, comes from the row.
TAKEAWAYS = (
    (
        ("bpe", "`WordBPE.train`", "textbook recount", "s"),
        "training a tokenizer with an index of pairs",
        "counting all pairs anew before each merge",
        "{winner} is {times} as fast as {loser}",
    ),
    (
        ("taken_apart", "training to nanoGPT's loss", "nanoGPT's settings for a CPU", "s"),
        "the recipe of chapter 17",
        "the demo that nanoGPT suggests for a CPU, which nobody had tuned for speed,",
        "{winner} reaches nanoGPT's loss on Shakespeare {times} as fast as {loser}",
    ),
    (
        ("generation_speed", "255 tokens after 1, cached", "recomputed", "s"),
        "a model with a cache of its keys and values",
        "a model without a cache",
        "{winner} writes 255 tokens {times} as fast as {loser}",
    ),
    (
        ("attention_memory", "fused kernel, causal, T = 4,096", "explicit attention", "MB"),
        "PyTorch's fused kernel",
        "attention written out as in the equation",
        "over 4,096 positions, {loser} needs {times} the memory of {winner}",
    ),
    (
        ("bpe", "`ByteBPE.encode`, nothing cached", "`tiktoken` (Rust)", "s"),
        "the course's tokenizer, which is written in Python,",
        "the library tiktoken, which is written in Rust,",
        "{winner} encodes a text {times} as fast as {loser}",
    ),
)


def figure(x: float) -> str:
    """Three digits, or all those before the point."""
    return f"{x:,.{max(0, 2 - math.floor(math.log10(x)))}f}"


def ratio_text(row: dict) -> str:
    """Median, least and greatest ratio."""
    median, low, high = map(figure, row["ratio"])
    return f"**{median}×** ({low}–{high})"


def medians_text(row: dict) -> str:
    """What was measured, ours before theirs."""
    ours, theirs = (figure(statistics.median(row[side])) for side in ("ours", "theirs"))
    return f"{ours} / {theirs} {row['unit']}"


def takeaways(stored: dict) -> list[str]:
    """One sentence for each of `TAKEAWAYS`, with the ratio and the range of its row.

    The better side is named as the better one, whichever it is; where the rounds disagree on that,
    the sentence says so. Raises ValueError if the table lacks a row.
    """
    rows = {
        (topic["name"], row["what"], row["reference"], row["unit"]): row["ratio"]
        for topic in stored["topics"]
        for row in topic["rows"]
    }
    sentences = []
    for key, ours, theirs, form in TAKEAWAYS:
        if key not in rows:
            raise ValueError(f"the table has no row {key}, which a takeaway quotes")
        median, low, high = rows[key]
        winner, loser = ours, theirs
        if median < 1:
            median, low, high = 1 / median, 1 / high, 1 / low
            winner, loser = theirs, ours
        text = form.format(winner=winner, loser=loser, times=f"**{figure(median)} times**")
        text = text[0].upper() + text[1:].rstrip(",")
        spread = f"{figure(low)} to {figure(high)}" if low < high else "the same in every round"
        sentences.append(f"{text} ({spread}{', so not in every round' * (low < 1)}).")
    return sentences


def page(stored: dict, weights: dict) -> str:
    """The book's page of the stored table and of what the site's pages weigh."""
    computer, versions = stored["machine"], stored["versions"]
    memory = computer["memory_gigabytes"]
    lines = [
        "# Benchmarks",
        "",
        "How much faster, or how much smaller, are the things this course builds? Five answers "
        "come first. Each gives the median of its rounds, and in brackets the lowest and the "
        "highest round:",
        "",
        *(f"{i}. {sentence}" for i, sentence in enumerate(takeaways(stored), start=1)),
        "",
        "The tables below have all the figures. A time says little by itself: it is a fact about "
        "one computer on one day. So each line is a *ratio*. The course's code and a named "
        "reference do the same work in the same run. They take turns, so that whatever slows the "
        "machine down slows both.",
        "",
        "A ratio says how many times better the course's side is. 2× means half the time, or half "
        "the memory, or twice the tokens a second. Below 1×, the reference wins; those lines stay "
        "in. The figure in bold is the median over *n* rounds. The range in brackets runs from the "
        "worst round to the best. The last column gives the medians that were measured, ours "
        "before theirs. (A median of ratios is not the ratio of medians: where rounds differ much, "
        "dividing the last column gives another figure.) A reference that takes minutes runs once, "
        "and every round of ours is set against that. Expect the ratios to be near these on your "
        "computer and the times not to be. A wide range tells you how far to trust its median.",
        "",
        "To measure them on your computer, run `make bench` on an otherwise idle machine. It takes "
        "some 20 minutes on two cores, prints this table, stores it with every single measurement "
        "in `lab/table.json`, and writes this page. `make bench QUICK=1` takes few rounds "
        "and stores nothing. A topic that comes from a run of its own says so.",
        "",
        f"The figures here are of {stored['day']}, from {computer['cores']} cores of a processor "
        f"that calls itself “{computer['processor']}”"
        + (f", with {memory} GB of memory" if memory else "")
        + (f" and a GPU, {computer['gpu']}" if computer["gpu"] else ", without a GPU")
        + f" ({computer['system']}), under "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + ". PyTorch has as many threads as there are cores, where a table says nothing else.",
    ]
    for topic in stored["topics"]:
        lines += topic_section(topic, computer["cores"])
    return "\n".join([*lines, *pages_section(weights)]) + "\n"


def topic_section(topic: dict, cores: int) -> list[str]:
    """The lines of one topic, measured on a machine of so many cores."""
    threads, rows = topic["threads"], topic["rows"]
    told = f" ({threads} PyTorch thread{'s' * (threads > 1)}.)" * (threads != cores)
    cells = [(r["what"], r["reference"], ratio_text(r), r["n"], medians_text(r)) for r in rows]
    lines = (" | ".join(str(cell).replace("|", "\\|") for cell in row) for row in cells)
    table = markdown_table("What | Against | Times better | n | Ours / theirs", lines)
    notes = [f"- {r['what']}, against {r['reference']}: {r['note']}" for r in rows if r["note"]]
    text = ["", f"## {topic['title']}", "", topic["about"] + told, "", *table]
    return text + [""] * bool(notes) + notes


def kilobytes(size: list[int]) -> str:
    """Compressed, and in brackets as it is."""
    return f"{size[1] / 1e3:,.0f} ({size[0] / 1e3:,.0f})" if size[0] else "–"


def milliseconds(found: list[float] | None) -> str:
    return f"**{found[0]:,.0f}** ({found[1]:,.0f}–{found[2]:,.0f})" if found else "–"


def pages_section(stored: dict) -> list[str]:
    """The lines that show what the site's own pages weigh."""
    pages, computer = stored["pages"], stored["machine"]
    parts = ("html", "live", "pictures", "mathjax", "fonts")
    rest = [p["all"][1] - sum(p[part][1] for part in parts) for p in pages.values()]
    fonts = [p["fonts"][1] for p in pages.values()]
    mathjax = max(p["mathjax"][1] for p in pages.values())
    busy = f", beside other programs (a load of {stored['load']})" if stored["load"] > 2 else ""
    heaviest = max(pages, key=lambda name: pages[name]["all"][1])
    lines = [
        "",
        "## The pages of this site",
        "",
        "How much does a page load, and how soon is it there? Sizes are in kilobytes, compressed "
        "as a server sends them, and in brackets as they are on a disk. *HTML* and *Live figures* "
        "are what a page needs for itself. *All* adds what pages share: the theme's scripts and "
        f"styles, {min(rest) / 1e3:,.0f} to {max(rest) / 1e3:,.0f} kB compressed, and on pages "
        f"with formulas MathJax, {mathjax / 1e3:,.0f} kB, and {min(fonts) / 1e3:,.0f} to "
        f"{max(fonts) / 1e3:,.0f} kB of fonts. A browser keeps them from page to page, and so it "
        f"keeps the weights of the live figures. The heaviest page is `{heaviest}` with "
        f"{pages[heaviest]['all'][1] / 1e6:.2f} MB.",
        "",
        "Times are milliseconds in headless Chromium, which opens the page from disk with nothing "
        f"kept: median, least and greatest of {stored['rounds']} rounds, of {stored['day']}, on "
        f"{computer['cores']} cores of “{computer['processor']}”{busy}. *Loaded* is the end of all "
        "scripts and styles. *Alive* is when the first live figure is. *Painted* is when something "
        "of the page stands on the screen, over a line of 10 megabits a second that takes 40 ms to "
        "answer, and over one of 1.6 megabits and 150 ms.",
        "",
    ]
    kinds = {"load": "Loaded", "figure": "Alive"} | {kind: f"Painted, {kind}" for kind in LINES}
    head = " | ".join(["Page | HTML, kB | Live figures, kB | All, kB", *kinds.values()])
    rows = []
    for name, page in pages.items():
        cells = [kilobytes(page[part]) for part in ("html", "live", "all")]
        cells += [milliseconds(page.get(kind)) for kind in kinds]
        rows.append(" | ".join([f"`{name}`", *cells]))
    return lines + markdown_table(head, rows)


def write_page() -> None:
    """Put what is stored into the book."""
    text = page(read(TABLE), read(PAGE_WEIGHTS))
    with atomic_write(PAGE) as part:
        part.write_text(text, encoding="utf-8")
