"""Chapter 21's drawings: pages of the world, answers before and after, what each method costs."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing

SHORT = {
    "reinforce": "REINFORCE",
    "reinforce, KL 0.1": "… KL penalty",
    "reinforce, LoRA": "… LoRA",
    "rejection": "rejection",
    "dpo": "DPO",
}


def pages(sheet: str, notebook: str):
    """A sheet of questions, a notebook of sums, and a question that waits for an answer."""
    d = Drawing(470, 212)
    parts = ((4, "a sheet", sheet), (162, "a notebook", notebook), (320, "after training", "85?"))
    for left, title, text in parts:
        d.text(left + 70, 12, title, bold=True, size=15)
        d.box(left, 28, 140, 150, "", "muted", fill=0.06)
        lines = text.strip().split("\n")
        d.texts(left + 16, 48, lines, down=26, anchor="start", mono=True, size=16)
    d.text(390, 86, "?", "key", size=34, bold=True)
    style = {"colour": "muted", "size": 13}
    d.texts(390, 124, ("another question,", "or an answer?"), down=18, **style)
    below = ("questions only", "sums after an =", "nowhere in the text")
    d.texts(74, 194, below, right=158, **style)
    return d.show(
        f"Three pages. The first is a sheet of questions: {sheet.strip()!r}. The second is a "
        f"notebook of sums: {notebook.strip()!r}. The third begins with the question 85? and a "
        "large question mark: in no page of the training text does an answer follow a question."
    )


def answers(rows: Sequence[tuple[str, Sequence[float], Sequence[float]]], n: int):
    """For each model the chance of every first number, right and wrong; borrows are marked."""
    d = Drawing(476, 62 + 112 * len(rows))
    width = 456 / (n + 1)
    top = max(r + w for _, right, wrong in rows for r, w in zip(right, wrong, strict=True))
    said = []
    for k, (name, right, wrong) in enumerate(rows):
        bottom = 112 + 112 * k
        own = max(r + w for r, w in zip(right, wrong, strict=True))
        unit = 76 / own if own < top / 3 else 76 / top
        label = f"{name}: {sum(right):.0%} right"
        d.text(8, bottom - 92, label, anchor="start", bold=True)
        for a, (r, w) in enumerate(zip(right, wrong, strict=True)):
            x, low, high = 8 + width * (a + 0.5), bottom - r * unit, bottom - (r + w) * unit
            if n % 10 < a % 10:
                d.line([(x, bottom + 2), (x, bottom + 7)], "muted", width=width)
            d.line([(x, bottom), (x, low)], "value", width=0.85 * width)
            d.line([(x, low), (x, high)], "key", width=0.85 * width)
        d.line([(8, bottom), (464, bottom)], "muted", width=1.2)
        hard = sum(r for a, r in enumerate(right) if n % 10 < a % 10) / max(sum(right), 1e-9)
        said.append(f"{name}: {sum(right):.0%} right, and {hard:.0%} of that needs a borrow")
    y = 128 + 112 * (len(rows) - 1)
    for a in range(0, n + 1, 10):
        d.text(8 + width * (a + 0.5), y, a, "muted", size=13)
    d.text(8, y + 26, "first number", anchor="start", size=13)
    for x, colour, word in ((150, "value", "right"), (230, "key", "wrong"), (316, "muted", "")):
        d.box(x, y + 20, 12, 12, "", colour, fill=0.6)
        d.text(x + 18, y + 26, word or "needs a borrow", anchor="start", size=13)
    return d.show(
        f"Answers to {n}?, one bar for each first number from 0 to {n}, green for right and orange "
        f"for wrong ones; grey marks below show where a borrow is needed. {'; '.join(said)}."
    )


def costs(rows: Sequence[tuple[str, Sequence[float], Sequence[float]]], start: tuple[float, float]):
    """For each method the share right and the skill, a dot for each seed."""
    d = Drawing(476, 82 + 36 * len(rows), size=13)
    bottom = 36 + 36 * len(rows)

    def at(x):
        return 168 + 296 * x

    for x in (0, 0.25, 0.5, 0.75, 1):
        d.line([(at(x), 26), (at(x), bottom)], "muted", width=0.6)
        d.text(at(x), bottom + 14, f"{x:g}", "muted")
    for share, colour in zip(start, ("value", "key"), strict=True):
        d.line([(at(share), 26), (at(share), bottom)], colour, width=1.8, dashed=True)
    d.text(at(start[0]), 14, "start: right", "value")
    d.text(at(start[1]), 14, "start: with a borrow", "key")
    described = []
    for i, (name, right, skill) in enumerate(rows):
        y = 46 + 36 * i
        d.text(4, y, SHORT.get(name, name), anchor="start", size=14)
        for values, dy, colour in ((right, -6, "value"), (skill, 6, "key")):
            for value in values:
                d.circle(at(value), y + dy, 4.5, colour, fill=0.4)
        means = [sum(each) / len(each) for each in (right, skill)]
        described.append(f"{SHORT.get(name, name)} {means[0]:.2f} and {means[1]:.2f}")
    d.text(464, bottom + 32, "share right: all answers, and sums with a borrow", anchor="end")
    return d.show(
        "A row for each method with a green dot for each seed at the share of right answers, and "
        "an orange dot at the share of right sums among given ones that need a borrow. Dashed "
        f"lines mark the start, {start[0]:.2f} and {start[1]:.2f}. Means: {'; '.join(described)}."
    )
