"""The drawings of *The models of today*: caches and masks, the census, the load of experts."""

from statistics import mean

from scratchformer_course.kit.canvas import Drawing, drawing
from scratchformer_course.measurements import load_measurements

BAR, TALL, COLUMN, ROW = 36, 44, 162, 108
SHORT = {"memory beside attention": "fixed memory", "several tokens ahead": "tokens ahead"}


@drawing(480, 372)
def caches_and_masks(d):
    """Above, what is kept of one token, in three models; below, three masks of eight tokens. In
    GPT-2 each of four queries has a key and a value of its own. In Llama 3 two queries share them.
    In DeepSeek-V3 the keys and values of all four are computed from one row of common numbers, and
    only this row is kept, with a small key for positions. The masks: a triangle, where each token
    sees all that came before it; a band along the diagonal, the window; and the same band with one
    more column at its left, the sink, in which each row has a weight and nothing is read.
    """
    size = (26, 26)
    for x, name in ((4, "GPT-2"), (168, "Llama 3"), (332, "DeepSeek-V3")):
        d.text_from(x, 12, name, bold=True, size=13)
        d.row(x, 28, ["q"] * 4, size, ("query", 0.2), 34, size=13)
    d.cells(4, 78, [["k"] * 4, ["v"] * 4], size, look=_key_or_value, step=(34, 34), size=13)
    d.cells(185, 78, [["k"] * 2, ["v"] * 2], size, look=_key_or_value, step=(68, 34), size=13)
    for left, right in ((17, 17), (51, 51), (85, 85), (119, 119)):
        d.line([(left, 56), (right, 76)], "muted")
    for i in range(4):
        d.line([(181 + 34 * i, 56), (198 + 68 * (i // 2), 76)], "muted")
        d.line([(345 + 34 * i, 56), (345 + 34 * i, 76)], "muted")
        d.line([(345 + 34 * i, 104), (380, 124)], "muted")
    d.row(332, 78, ["k v"] * 4, size, ("muted", 0), 34, dashed=True, size=13)
    d.box(332, 126, 96, 26, "512", "stream", 0.3, size=13)
    d.box(434, 126, 36, 26, "64", "position", 0.3, size=13)
    d.text_from(4, 168, "8 boxes are kept", "muted", 13)
    d.text_from(168, 168, "4 boxes are kept", "muted", 13)
    d.text_from(332, 168, "one row is kept", "muted", 13)
    masks = ((4, "all before"), (168, "a window"), (332, "a window, a sink"))
    for x, name in masks:
        d.text_from(x, 204, name, bold=True, size=13)
    for x, width in ((4, 8), (168, 3), (348, 3)):
        d.grid(x, 220, [[float(0 <= i - j < width) for j in range(8)] for i in range(8)], 16, "key")
    d.grid(328, 220, [[0.7]] * 8, 16, "muted")
    d.text_from(4, 362, "four heads are drawn; in a mask, a row is a token that reads", "muted", 13)


def _key_or_value(row: int, column: int) -> tuple[str, float]:
    return (("key", 0.2), ("value", 0.2))[row]


def census():
    """Thirteen parts, and of how many models of each year each is a part."""
    stored = load_measurements("census")
    years, counts = stored["settings"]["years"], stored["count"]
    parts = [part for part in counts if part != "models"]
    d = Drawing(480, 40 + ROW * -(-len(parts) // 3), size=13)
    told = []
    for i, part in enumerate(parts):
        x, y = 4 + COLUMN * (i % 3), 8 + ROW * (i // 3)
        d.text_from(x, y, SHORT.get(part, part), bold=True)
        d.line([(x, y + 76), (x + 3 * (BAR + 6), y + 76)], "muted", 1)
        for j, (n, of) in enumerate(zip(counts[part], counts["models"], strict=True)):
            tall, left = TALL * n / of, x + (BAR + 6) * j
            if n:
                d.box(left, y + 76 - tall, BAR, tall, "", ("stream", "key", "query")[j], 0.35)
            d.text(left + BAR / 2, y + 67 - tall, f"{100 * n / of:.0f}")
            d.text(left + BAR / 2, y + 86, f"’{years[j] % 100}", "muted")
        told.append(f"{part}: {', '.join(map(str, counts[part]))}")
    of = ", ".join(map(str, counts["models"]))
    d.text_from(4 + COLUMN, d.height - 88, "Per cent of the models of a year:")
    d.text_from(4 + COLUMN, d.height - 68, f"{of} in {years[0]}, {years[1]}, {years[2]}.")
    return d.show(
        "Thirteen small charts, one for each part of a model, each with three bars for the years "
        f"{years[0]} to {years[-1]}. How many models have the part, of {of}: {'; '.join(told)}."
    )


def loads():
    """The share of the tokens of each of eight experts, for three ways to keep the work even."""
    ways = load_measurements("even_loads")["ways"]
    d = Drawing(480, 178, size=13)
    told = []
    for i, (way, seeds) in enumerate(ways.items()):
        blocks = [seed["shares"][1] for seed in seeds.values()]
        shares = [mean(ranked) for ranked in zip(*blocks, strict=True)]
        x, bottom = 4 + 162 * i, 146
        d.text_from(x, 10, way, bold=True)
        for j, share in enumerate(shares):
            d.box(x + 18 * j, bottom - 360 * share, 14, 360 * share, "", "query", 0.35)
        d.line([(x - 2, bottom - 45), (x + 144, bottom - 45)], "key", 1.5, dashed=True)
        d.text_from(x, 163, f"{100 * shares[0]:.0f} % to {100 * shares[-1]:.1f} %", "muted")
        told.append(f"with {way} {', '.join(f'{100 * share:.1f} %' for share in shares)}")
    return d.show(
        "Three charts of eight bars, the shares of the tokens that eight experts get, the largest "
        "first, in the second block, the mean of three seeds, with a dashed line at an eighth: "
        f"{'; '.join(told)}."
    )
