"""Chapter 22's drawings: pages of the world, three ways to teach, and first numbers of answers."""

from collections.abc import Mapping, Sequence

from scratchformer_course.kit.canvas import Drawing


def pages(sheet: str, notebook: str):
    """A sheet of questions, a notebook of sums, and a question that waits for an answer."""
    d = Drawing(470, 212, size=13)
    for left, title, text, below in (
        (4, "a sheet", sheet, "questions only"),
        (162, "a notebook", notebook, "sums after an ="),
        (320, "after training", "85?", "nowhere in the text"),
    ):
        d.text(left + 70, 12, title, bold=True, size=15)
        d.box(left, 28, 140, 150, "", "muted", 0.06)
        lines = text.strip().split("\n")
        d.texts(left + 16, 48, lines, down=26, anchor="start", mono=True, size=16)
        d.text(left + 70, 194, below, "muted")
    d.text(390, 86, "?", "key", size=34, bold=True)
    d.texts(390, 124, ("another question,", "or an answer?"), down=18, colour="muted")
    return d.show(
        f"Three pages. The first is a sheet of questions: {sheet.strip()!r}. The second is a "
        f"notebook of sums: {notebook.strip()!r}. The third begins with the question 85? and a "
        "large question mark: in no page of the training text does an answer follow a question."
    )


def ways(rows: Sequence[tuple[str, str, str, str]]):
    """Three ways to teach: what the teacher gives, an example, and what becomes likelier."""
    d, parts = Drawing(470, 40 + 84 * len(rows), size=15), []
    d.text_from(8, 14, "the teacher", bold=True)
    d.text_from(232, 14, "the model is trained so that", bold=True)
    colours = ("value", "query", "key")
    for i, ((what, shown, mark, then), colour) in enumerate(zip(rows, colours, strict=True)):
        y = 32 + 84 * i
        d.box(8, y, 196, 68, "", colour, 0.1)
        d.text(106, y + 20, what, bold=True)
        d.text(106, y + 46, shown, mono=True)
        d.arrow(208, y + 34, 228, y + 34)
        d.texts(236, y + 24, (mark, then), down=21, anchor="start", size=14)
        parts.append(f"{what}: {shown}. {mark} {then}.")
    return d.show(f"Three ways to teach answers, one below the other. {' '.join(parts)}")


Bars = tuple[Sequence[int], Sequence[int]]  # a right and a wrong answer, in ten thousandths


def first_numbers(n: int, models: Mapping[str, Bars]):
    """For each model a bar for each first number of its answers to n: right, wrong ones on top."""
    d = Drawing(470, 20 + 124 * len(models))
    wide, parts = 450 / (n + 1), []
    hard = [n % 10 < a % 10 for a in range(n + 1)]
    for i, (name, (right, wrong)) in enumerate(models.items()):
        low = 100 + 124 * i
        every = [r + w for r, w in zip(right, wrong, strict=True)]
        d.text_from(10, low - 88, name, bold=True, size=15)
        d.line([(10, low), (460, low)], "muted", width=0.8)
        for a in range(n + 1):
            x = 10 + wide * (a + 0.5)
            middle, top = (low - 78 * share / max(every) for share in (right[a], every[a]))
            if middle < low - 0.3:
                d.line([(x, low), (x, middle)], "value", width=0.8 * wide)
            if top < middle - 0.3:
                d.line([(x, middle), (x, top)], "key", width=0.8 * wide)
            if hard[a]:
                d.line([(x - wide / 2, low + 5), (x + wide / 2, low + 5)], "muted", width=4)
        needed = sum(share for share, borrow in zip(right, hard, strict=True) if borrow)
        parts.append(f"{name}: {sum(right) / 1e4:.2f} right, with a borrow {needed / 1e4:.2f}")
    for a in (0, n // 2, n):
        d.text(10 + wide * (a + 0.5), d.height - 12, a, "muted", 13)
    return d.show(
        f"Bars over the first numbers 0 to {n} of the answers to {n}, right and wrong ones, with "
        f"marks where a borrow is needed. {'; '.join(parts)}."
    )
