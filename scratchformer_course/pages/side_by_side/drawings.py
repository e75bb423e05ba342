"""The drawings of *The models of today*: the census by year, and the load of eight experts."""

from statistics import mean

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.measurements import load_measurements

BAR, TALL, COLUMN, ROW = 36, 44, 162, 108
SHORT = {"memory beside attention": "fixed memory", "several tokens ahead": "tokens ahead"}


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
