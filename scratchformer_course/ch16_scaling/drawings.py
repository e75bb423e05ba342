"""Chapter 16's drawings: ways to spend one budget, and the three parts of a loss."""

from collections.abc import Sequence

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


def three_parts(parts: Sequence[tuple[str, float, float, float]]):
    """Stacked bars: for each name the floor, the price of its size, and that of its text."""
    d = Drawing(470, 284)
    highest = max(sum(numbers) for _, *numbers in parts)
    base, unit = 226, 200 / highest
    for i, (name, floor, size, text) in enumerate(parts):
        left, y = 30 + 96 * i, float(base)
        for value, colour in ((floor, "muted"), (size, "query"), (text, "key")):
            y -= value * unit
            d.box(left, y, 74, value * unit, f"{value:.1f}", colour, fill=0.25, size=13)
        d.text(left + 37, y - 12, f"{floor + size + text:.1f}", bold=True, size=14)
        for j, line in enumerate(name.split("\n")):
            d.text(left + 37, base + 18 + 18 * j, line, size=13)
    for y, words, colour in (
        (66, "price of having\nread so little", "key"),
        (146, "price of being\nso small", "query"),
        (206, "floor", "muted"),
    ):
        for j, line in enumerate(words.split("\n")):
            d.text(330, y + 17 * j, line, colour, anchor="start", size=13)
    told = "; ".join(
        f"{' '.join(name.split())}: {floor:.1f} plus {size:.1f} plus {text:.1f}"
        for name, floor, size, text in parts
    )
    return d.show(
        "Stacked bars of losses. Each bar has three parts from bottom to top: the floor, the same "
        "for all; the price of being so small, which only the size of the model changes; and the "
        f"price of having read so little, which only the text changes. {told}."
    )
