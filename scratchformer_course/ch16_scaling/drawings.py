"""Chapter 16's drawings: ways to spend one budget, and what twice the text saves."""

from scratchformer_course.kit.canvas import Drawing


def budget():
    """Three rectangles of one area, parameters wide and characters high: one budget."""
    d = Drawing(470, 268)
    base, high = 214, 168
    for left, width, name, colour in (
        (44, 42, "small model", "query"),
        (160, 84, "twice the size", "key"),
        (288, 168, "four times", "value"),
    ):
        height = high * 42 / width
        d.box(left, base - height, width, height, "", colour, fill=0.25)
        d.text(left + width / 2, base + 18, name, colour, size=14, bold=True)
    d.text(22, base - high / 2, "characters it reads, D", "muted", size=13, turn=-90)
    d.text(240, base + 44, "parameters, N  (width of a box)", "muted", size=13)
    d.text(300, 30, "equal areas: 6 · N · D operations", size=14)
    d.text(300, 54, "Which of them learns most?", size=14, bold=True)
    return d.show(
        "Three rectangles of the same area. Their width is the number of parameters, their height "
        "the number of characters that the model reads. The first is narrow and tall, a small "
        "model with much text. The second is twice as wide and half as tall. The third is four "
        "times as wide and a quarter as tall. The area is the number of operations, 6 times N "
        "times D, so all three cost the same. Which of them learns most?"
    )


def savings(saved: dict[int, tuple[float, float]]):
    """By size, what twice the text saves: measured, and by the law whose prices are added."""
    d, unit = Drawing(478, 40 + 66 * len(saved)), 720
    d.text(120, 14, "nats saved by twice the text, by size", bold=True, size=14, anchor="start")
    for i, (n, pair) in enumerate(saved.items()):
        top = 34 + 66 * i
        d.text(112, top + 24, f"{n:,}", size=14, anchor="end")
        for y, nats, name, colour in zip(
            (top, top + 26), pair, ("measured", "the law"), ("query", "key"), strict=True
        ):
            d.box(120, y, unit * nats, 22, "", colour, 0.5 if colour == "query" else 0.1)
            d.text(126 + unit * nats, y + 11, f"{nats:.2f} {name}", colour, 13, "start")
    bars = "; ".join(f"{n:,} parameters {a:.2f}, the law {b:.2f}" for n, (a, b) in saved.items())
    return d.show(
        "Two bars for each size of model: how much the loss falls with twice the text, as "
        f"measured, and as the law says. {bars}. The measured bars get shorter from the smallest "
        "model to the largest, while the bars of the law are all equally long."
    )
