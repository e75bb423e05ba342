"""The wager, live: a card for a forecast, and how fast SmolLM2 writes in a tab, foretold, then
measured. And what the training of a GPT costs: sliders for its sizes, and what follows from them.

The still figure's numbers are the library's; the script counts by the same formulas, for every
size.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from scratchformer import scaling
from scratchformer.models import GPTConfig
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.numbers import is_whole
from scratchformer_course.kit.figure.still import RECORDED, table
from scratchformer_course.measurements import load_measurements

Size = Sequence[Any]  # a name, V, T, C, L and texts in a batch
SIZES = ("vocab_size", "context_length", "d_model", "n_layers", "batch_size")
GIGABYTES = (8, 24, 80)
GPTS: Sequence[Size] = (
    ("a small GPT", 65, 64, 48, 3, 8),
    ("GPT-2 small", 50_257, 1024, 768, 12, 1),
    ("GPT-2 medium", 50_257, 1024, 1024, 24, 1),
    ("GPT-2 large", 50_257, 1024, 1280, 36, 1),
    ("GPT-2 XL", 50_257, 1024, 1600, 48, 1),
)
# gigabytes a second; a module of DDR delivers 8 bytes at each of so many transfers
MEMORIES = {
    "one module of DDR4-3200": 8 * 3.2,
    "two modules of DDR5-5600": 2 * 8 * 5.6,
    "a laptop with Apple's M2": 100,
    "an H100, a GPU for data centres": 3350,
}
# what the bet's figure says of a token, in milliseconds, after the bet
ACCOUNT = (
    "In {where} the products of a token took {near} ms out of the cache and {products} out of "
    "memory. That is {added} more, where to copy their bytes takes {copied}. (The program copies "
    "each 16 kB before it unpacks them.) What is between the products took {between}."
)
# what the sliders offer, beside the values of the sizes that are given by name
SCALES = {
    "n_layers": (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 36, 40, 48, 64, 80, 96),
    "d_model": (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1280, 1600, 2048, 2560)
    + (4096, 5120, 8192, 12_288),
    "context_length": tuple(2**i for i in range(5, 18)),
    "vocab_size": (65, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 50_257, 131_072),
    "batch_size": tuple(range(1, 65)),
}


def wager() -> LiveFigure:
    """The card on which the reader writes a bandwidth and a forecast, and what memories deliver."""
    rows = [(name, f"{speed:,.4g}") for name, speed in MEMORIES.items()]
    still = (
        "<p>Where JavaScript runs, this is a card with two fields, a bandwidth and a forecast in "
        "tokens a second: write yours on paper. Memories deliver, by their makers' sheets, at most:"
        f"</p>{table(('', 'GB/s'), rows)}"
    )
    return LiveFigure("wager", {"memories": rows}, still)


def tab_speed() -> LiveFigure:
    """The wager's end: a token of this tab by two theories, and as its parts were measured."""
    found = load_measurements("tab_account")
    took = found["median"]
    copied, multiplied, products = (took[name] for name in ("copied", "multiplied", "products"))
    between = took["token"] - products
    rows = [
        ("if copying hides", max(copied, multiplied) + between),
        ("if the two add up", copied + multiplied + between),
        ("its products, out of memory", products),
        ("a token, as it writes", took["token"]),
    ]
    numbers = {"copied": copied, "near": multiplied, "products": products}
    numbers |= {"added": products - multiplied, "between": between}
    rounded = {name: f"{number:.1f}" for name, number in numbers.items()}
    why = ACCOUNT.format(where="the recorded run", **rounded)
    shown = [(name, f"{ms:.0f}", f"{1000 / ms:.1f}") for name, ms in rows]
    still = RECORDED + table(("", "ms, Node.js", "a second"), shown) + f"<p>{why}</p>"
    rates = {
        name: found[of] / (took[name] / 1000)
        for name, of in (("copied", "bytes"), ("multiplied", "weights"), ("products", "weights"))
    }
    recorded = {"bytes": found["bytes"], "weights": found["weights"], **rates}
    settings = {
        "prompt": "The speed of a computer is limited by",
        "recorded": recorded | {"written": 1000 / took["token"]},
        "account": ACCOUNT,
    }
    return LiveFigure("tab_speed", settings, still)


def costs(sizes: Sequence[Size] = GPTS, start: str | None = "GPT-2 XL") -> LiveFigure:
    """Sliders for the sizes of a GPT, and what it costs to train.

    `sizes` are rows of a name, V, T, C, L and texts in a batch; `start` is the name of the first
    one shown. Raises ValueError for a row that is not such a size.
    """
    presets = [_preset(row) for row in sizes]
    names = [preset["name"] for preset in presets]
    settings = {
        "presets": presets,
        "start": names.index(start) if start else 0,
        "scales": {
            name: sorted({*values, *(preset[name] for preset in presets)})
            for name, values in SCALES.items()
        },
        "gigabytes": list(GIGABYTES),
    }
    rows = []
    for name, V, T, C, L, _ in sizes:
        config = GPTConfig(V, T, C, 1, L)
        n = sum(scaling.count_parameters(config).values())
        flops = sum(scaling.forward_flops(config).values())
        text = 4 * T * ((16 * L + 2) * C + 3 * V)  # bytes at the worst moment of a step
        texts = [max(0, (most * 10**9 - 16 * n) // text) for most in GIGABYTES]
        rows.append((name, n, 3 * flops / T, *texts))
    return LiveFigure("costs", settings, _still(rows))


def _preset(row: Size) -> dict[str, Any]:
    """A row with the names of its numbers. Raises ValueError if it is no size."""
    are_sizes = len(row) == 6 and all(is_whole(n) and n > 0 for n in row[1:])
    if not are_sizes or not isinstance(row[0], str):
        raise ValueError(
            f"got the size {tuple(row)!r}, expected a name and five positive whole numbers: "
            f"{', '.join(SIZES)}"
        )
    return {"name": row[0], **dict(zip(SIZES, map(int, row[1:]), strict=True))}


def _still(rows: Sequence[tuple]) -> str:
    """What each size costs as a table: for a page without JavaScript."""
    head = ("", "parameters", "operations a token", *(f"{n} GB" for n in GIGABYTES))
    cells = [
        (escape(name), f"{n:,}", f"{flops:.2e}", *(f"{texts:,}" for texts in texts_that_fit))
        for name, n, flops, *texts_that_fit in rows
    ]
    return (
        "<p>This figure is live where JavaScript runs, and in a notebook after its cell has run. "
        "Without it, the table says what each size costs: its parameters, the operations of "
        "training for each token, and how many texts fit in so much memory.</p>"
        "<div style='overflow-x: auto; white-space: nowrap' tabindex='0' role='group' "
        f"aria-label='What each size costs'>{table(head, cells)}</div>"
    )
