"""Chapter 16's drawing: ways to spend one budget."""

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
