"""Chapter 21's drawings: pages of the world, three ways to teach, and a reward that rises."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing


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


def ways(rows: Sequence[tuple[str, str, str, str]]):
    """Three ways to teach: what the teacher gives, an example, and what becomes likelier."""
    d = Drawing(470, 40 + 84 * len(rows))
    d.text(8, 14, "the teacher", anchor="start", bold=True, size=15)
    d.text(232, 14, "the model is trained so that", anchor="start", bold=True, size=15)
    said = []
    for i, (what, shown, mark, then) in enumerate(rows):
        y = 32 + 84 * i
        d.box(8, y, 196, 68, "", ("value", "query", "key")[i], fill=0.1)
        d.text(106, y + 20, what, bold=True, size=15)
        d.text(106, y + 46, shown, mono=True, size=15)
        d.arrow(208, y + 34, 228, y + 34)
        d.texts(236, y + 24, (mark, then), down=21, anchor="start", size=14)
        said.append(f"{what}: {shown}. {mark} {then}.")
    return d.show(f"Three ways to teach answers, one below the other. {' '.join(said)}")


def curves(frames: Sequence[tuple[int, float, float]], names: tuple[str, str]):
    """Two shares over the steps of a training; each frame is (step, first share, second)."""
    d = Drawing(470, 262)
    last = max(1, frames[-1][0])

    def at(step: float, share: float) -> tuple[float, float]:
        return 44 + 400 * step / last, 212 - 190 * share

    for share in (0, 0.5, 1):
        d.line([at(0, share), at(last, share)], "muted", width=0.6)
        d.text(34, at(0, share)[1], f"{share:g}", "muted", anchor="end", size=13)
    for step, _, _ in frames:
        d.text(at(step, 0)[0], 228, step, "muted", size=13)
    d.text(444, 250, "steps of reward", anchor="end", size=13)
    said = []
    for k, (name, colour) in enumerate(zip(names, ("value", "key"), strict=True)):
        points = [at(frame[0], frame[k + 1]) for frame in frames]
        d.line(points, colour, width=3, dashed=k == 1)
        for x, y in points:
            d.circle(x, y, 4.5, colour, fill=1)
        d.text(240, (76, 140)[k], name, colour, size=14, bold=True)
        said.append(f"{name}: from {frames[0][k + 1]:.2f} to {frames[-1][k + 1]:.2f}")
    return d.show(f"Two lines over {last} steps of reward. {'; '.join(said)}.")
