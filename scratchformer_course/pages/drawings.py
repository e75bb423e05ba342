"""The drawings of three pages: a ring of processes, readings of a list, and the house's rooms."""

from pathlib import Path

from scratchformer_course.kit.canvas import Drawing, drawing

CELL = 23


def ring_passes(n: int) -> list[tuple[list[list[int]], set[tuple[int, int]]]]:
    """The state of a ring of n processes at the start and after each of its 2 (n - 1) passes.

    A state is a table (n, n): how many processes' numbers are added up in the piece (column) of
    each process (row). Beside it stand the cells that this pass has changed. In a pass each
    process sends one piece to the next. In the first n - 1 passes the receiver adds it to its own
    piece (reduce-scatter); in the others it takes the finished piece over (all-gather).
    """
    counts = [[1] * n for _ in range(n)]
    states: list[tuple[list[list[int]], set[tuple[int, int]]]] = [(counts, set())]
    for turn in range(2 * (n - 1)):
        adds = turn < n - 1
        before, counts = counts, [list(row) for row in counts]
        changed = set()
        for rank in range(n):
            receiver, piece = (rank + 1) % n, (rank - turn) % n
            counts[receiver][piece] = before[rank][piece] + adds * before[receiver][piece]
            changed.add((receiver, piece))
        states.append((counts, changed))
    return states


@drawing(480, 478, size=13)
def ring_all_reduce(d):
    """Four processes stand in a row. Arrows lead from each to the next, and from the last back to
    the first. Below are seven tables of four rows, the processes, and four columns, the pieces of
    the gradient. At the start every cell says 1. After each of the first three passes one cell of
    each row has grown by one, along a diagonal, so that each row ends with one piece that says 4: a
    finished sum. After each of the next three passes one more cell of each row says 4. At the end
    all of them do: every process has every sum.
    """
    d.flow(
        [(3 + 126 * rank, 8, 96, 30, f"process {rank}", "muted") for rank in range(4)],
        "stream",
        size=14,
    )
    d.line([(429, 38), (429, 56), (51, 56)], "stream")
    d.arrow(51, 56, 51, 38, "stream")
    d.text(240, 72, "each sends to the next, the last to the first")
    titles = ("First time around: add up (reduce-scatter)", "Second time: hand out (all-gather)")
    d.texts(3, 106, titles, down=168, size=14, anchor="start", bold=True)
    for i, (counts, changed) in enumerate(ring_passes(4)):
        x, y = (24 + 118 * i, 148) if i < 4 else (24 + 118 * (i - 3), 316)

        def look(rank, piece, counts=counts, changed=changed):
            return "key" if (rank, piece) in changed else "stream", 0.13 * counts[rank][piece]

        d.text(x + 2 * CELL, y - 14, f"after pass {i}" if i else "at the start")
        d.texts(x - 9, y + CELL / 2, range(4), down=CELL, colour="muted")
        d.cells(x, y, counts, (CELL, CELL), look)
    legend = ("Rows:", "processes.", "Columns: four", "pieces of the", "gradient.")
    d.texts(3, 320, legend, down=18, anchor="start")
    d.text_from(3, 430, "A number says how many processes' gradients are added up in a piece.")
    d.text_from(3, 450, "Orange: the piece has just arrived.", "key")


READINGS = (  # of the list 1, 2, …, 6: the tensor, its shape as rows and columns, strides, offset
    ("x", (2, 3), (3, 1), 0),
    ("x.T", (3, 2), (1, 3), 0),
    ("x[:, 0]", (1, 2), (0, 3), 0),
    ("x[1].expand(2, 3)", (2, 3), (0, 1), 3),
)


@drawing(480, 402, size=13)
def readings_of_a_list(d):
    """On top lies a list of six numbers, 1 to 6, at places 0 to 5. Below are four tensors that read
    it. x has shape (2, 3), strides (3, 1) and offset 0, and reads 1 2 3 and 4 5 6. x.T has shape
    (3, 2) and strides (1, 3), and reads 1 4, 2 5 and 3 6. x[:, 0] has shape (2,) and stride (3,),
    and reads 1 4. x[1].expand(2, 3) has strides (0, 1) and offset 3, and reads 4 5 6 twice.
    """
    d.text_from(3, 14, "the list", bold=True)
    middles = d.row(96, 34, range(1, 7), (48, 34), ("value", 0.12))
    d.text_to(86, 51, "number")
    d.text_to(86, 84, "place", "muted")
    for place, x in enumerate(middles):
        d.text(x, 84, place, "muted")
    d.arrow(middles[0], 32, middles[3], 32, "key", bend=11)
    d.text_from(middles[3] + 10, 14, "one row of x down: 3 places on", "key")
    for k, (name, shape, strides, offset) in enumerate(READINGS):
        x, y = 3 + 244 * (k % 2), 122 + 166 * (k // 2)
        numbers = [
            [1 + offset + i * strides[0] + j * strides[1] for j in range(shape[1])]
            for i in range(shape[0])
        ]
        is_row = shape[0] == 1
        sizes, steps = (f"({t[1]},)" if is_row else str(t) for t in (shape, strides))
        d.text_from(x, y, name, mono=True)
        d.text_from(x, y + 20, f"shape {sizes}, strides {steps},", "muted")
        d.text_from(x, y + 38, f"offset {offset}", "muted")
        d.cells(x, y + 54, numbers, (40, 28), ("value", 0.12))


def house():
    """The rooms of the repository in floors: each imports from the floors below its own."""
    slices = sorted(path.name[:4] for path in Path(__file__).parents[1].glob("ch[0-9][0-9]_*"))
    d = Drawing(480, 516, size=13)
    d.row(3, 8, ("notebooks", "book", "lab", "tools", "tests"), (90, 34), ("muted", 0.12), 96)
    d.box(3, 78, 474, 286, "", "muted", 0, dashed=True)
    d.text_from(14, 96, "scratchformer_course", "muted", mono=True)
    d.box(14, 110, 230, 36, "teaching", "query")
    d.box(270, 110, 111, 36, "blank", "query")
    d.text_from(18, 160, "one slice a chapter", "query")
    rooms = (*slices[:2], "…", *slices[-2:], "pages")
    d.row(14, 170, rooms, (68, 34), ("query", 0.12), 76.8)
    rooms = ("tab_trainer", "page_model", "real_model")
    d.row(14, 242, rooms, (112, 40), ("key", 0.12), 126)
    d.box(14, 316, 150, 36, "kit", "value")
    d.box(194, 316, 118, 36, "page_torch", "value")
    d.box(322, 316, 144, 36, "measurements", "value")
    library = "scratchformer: the library\nfiles → data → … → generation"
    d.box(3, 400, 474, 60, library, "stream")
    for x1, y1, x2, y2 in (
        (240, 42, 240, 78),
        (86, 204, 86, 242),
        (86, 282, 86, 316),
        (240, 364, 240, 400),
        (201, 146, 201, 170),
        (270, 128, 244, 128),
        (126, 262, 140, 262),
        (266, 262, 252, 262),
        (394, 204, 394, 316),
        (164, 334, 194, 334),
    ):
        d.arrow(x1, y1, x2, y2)
    legend = "An arrow leads from a room to what it may import:", "that, and all further down."
    d.texts(3, 484, legend, down=18, anchor="start")
    return d.show(
        "Six floors. On top stand notebooks, book, lab, tools and tests, which may import all "
        "that is below. Under them lies scratchformer_course: first blank, the empty files, which "
        "knows teaching, and teaching, which knows the "
        f"slices; then the slices, one for each chapter, from {slices[0]} to {slices[-1]}, and "
        "pages for the other pages, with no arrow between them; then page_model, and "
        "beside it tab_trainer and real_model, which know it; "
        "then kit, page_torch beside it, which only the kit knows, and measurements. "
        "The ground floor is scratchformer, the library, which runs "
        "from files and data to generation, and imports nothing from above."
    )
