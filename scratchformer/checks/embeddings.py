"""Checks for the exercises of chapter 2, embeddings."""

import torch

from scratchformer.checks.first_edition import Call, exercise, expect


@exercise("2.1", "ids, table")
def one_hot_lookup(call: Call) -> None:
    """one_hot_lookup(ids: (B, T) int64, table: (V, C)) -> (B, T, C), row ids[b, t] at [b, t]"""
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    ids = torch.tensor([[2, 0, 2], [1, 3, 0]])
    right = table[ids]
    call(ids, table).gives(
        right,
        (torch.eye(4)[ids], "These are the one-hot vectors: multiply them by the table"),
        (table[ids.flatten()], "B and T are flattened to one: the answer is (B, T, C)"),
        (right.mT, "The last two axes are swapped: the answer is (B, T, C)"),
        (right.sum(1), "The rows are added up over T: each id keeps its own row"),
        (table[(ids - 1) % 4], "Each row comes from one place too early: ids count from 0"),
        (table[(ids + 1) % 4], "Each row comes from one place too late: ids count from 0"),
        (
            RuntimeError,
            "`F.one_hot` and `==` give whole numbers and booleans: `.float()` before the product, "
            "and the V of the one-hot vectors comes before the V of the table",
        ),
    )
    few = torch.tensor([[1, 1, 0, 1, 1]])
    width = "The one-hot vectors are too short: their length is V, not the largest id + 1"
    call(few, table).gives(table[few], (RuntimeError, width))


@exercise("2.2", "a, b")
def cosine_similarity(call: Call) -> None:
    """cosine_similarity(a: (C,), b: (C,)) -> the cosine of their angle, a single number"""
    a, b = torch.tensor([3.0, 4.0, 0.0]), torch.tensor([1.0, 2.0, 2.0])
    dot, length_a, length_b = 11.0, 5.0, 3.0
    right = dot / (length_a * length_b)
    angle = torch.tensor(right).acos().item()
    one = "Only one of the two lengths is divided out"
    call(a, b).gives(
        right,
        (dot, "This is the dot product: divide by the lengths of both vectors"),
        (dot / length_a, one),
        (dot / length_b, one),
        (dot / (length_a * length_b) ** 2, "The squared lengths are used: take their roots"),
        (dot / (7 * 5), "A length is the root of the sum of squares, not the sum"),
        (dot / (length_a + length_b), "The lengths are added: multiply them"),
        (1 - right, "This is the cosine distance: the similarity is 1 minus it"),
        (angle, "This is the angle itself: return its cosine"),
        ((a - b).norm().item(), "This is the distance between the two points"),
        (right / 3, "This is a mean over the numbers: a dot product is their sum"),
    )
    call(a, -b).gives(-right, (right, "The sign is lost: vectors that point apart give −1"))
    call(10 * a, a).gives(1.0)


@exercise("2.3", "vectors, i, k")
def nearest(call: Call) -> None:
    """nearest(vectors: (V, C), i: int, k: int) -> list of k ids, most similar to i first"""
    vectors = torch.tensor(
        [[4.0, 0.0], [9.0, 9.0], [0.5, 0.1], [-2.0, 0.0], [0.0, 1.0], [1.0, -0.7], [3.0, 1.5]]
    )
    long = "Long vectors win by the dot product: divide by the lengths"
    call(vectors, 0, 3).gives(
        [2, 6, 5],
        ([0, 2, 6], "The word itself is in the list: leave `i` out"),
        ([2, 6], "The word itself took a place: leave out `i`, then take k"),
        ([1, 6, 5], long),
        ([1, 0, 6], long),
        ([6, 5, 2], "These are the nearest points: the angle counts, not the distance"),
        ([3, 4, 1], "These are the least similar: sort from high to low"),
        ([5, 6, 2], "The order is reversed: the most similar comes first"),
        ([2, 5, 6], "The ids are sorted by number: the most similar comes first"),
        ([3, 2, 6], "The sign of the cosine is lost: vectors that point apart are not similar"),
    )
    call(vectors, 4, 2).gives([1, 6], ([2, 6], "`i` is ignored: this is the list for id 0"))


@exercise("2.4", "ids, length, stride")
def sliding_windows(call: Call) -> None:
    """sliding_windows(ids: list[int], length, stride) -> list of pairs (x, y), two lists each"""

    ids = [5, 3, 8, 1, 9, 2, 7, 4, 6]

    def cut(starts: list[int], length: int = 3, ahead: int = 1) -> list:
        return [(ids[s : s + length], ids[s + ahead : s + ahead + length]) for s in starts]

    short = [(ids[0:3], ids[1:4]), (ids[3:6], ids[4:7]), (ids[6:9], ids[7:])]
    call(ids, 3, 3).gives(
        cut([0, 3, 5]),
        (cut([0, 3]), "The last window is missing: move it back, to end with the last id"),
        (short, "The last window is cut short: move it back, to end with the last id"),
        (cut([0, 3, 5], ahead=0), "`y` is the same as `x`: it must be one id further"),
        (cut(list(range(6))), "The stride is ignored: windows begin `stride` ids apart"),
        (cut([0, 3, 4]), "The last window stops one id too early: `y` ends with the last id"),
    )
    call(ids, 3, 5).gives(
        cut([0, 5]),
        (cut([0, 5, 5]), "The last window comes twice where the steps end there anyway"),
        (cut([0, 3, 5]), "The stride is ignored: windows begin `stride` ids apart"),
        (cut([0]), "The last window is missing although it fits: the range ends too early"),
    )
    call(ids, 2, 1).gives(cut(list(range(7)), 2))
    call([1, 2, 3], 2, 9).gives([([1, 2], [2, 3])])
    silent = "must raise a ValueError: a window that does not move on is a mistake to be told"
    for stride in (0, -1):
        expect(isinstance(call(ids, 3, stride).error, ValueError), f"`stride={stride}` {silent}.")


@exercise("2.5", "table, old, new")
def renumber(call: Call) -> None:
    """renumber(table: (V, C), old: str, new: str) -> (V, C): row i is the vector of new[i]"""
    table = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])
    old, new = "abcd", "cabd"
    call(table, old, new).gives(
        table[[2, 0, 1, 3]],
        (table[[1, 2, 0, 3]], "It goes the wrong way: row i is what `new[i]` had in `old`"),
        (table, "The table is unchanged: `new` numbers the characters differently"),
        (table.flip(0), "The table is upside down"),
        (torch.tensor([2, 0, 1, 3]), "These are the places of the rows: take the rows themselves"),
    )
    unsorted = "Both orders are whatever they are: `old` need not be sorted"
    call(table, "dbac", "badc").gives(table[[1, 2, 0, 3]], (table[[1, 0, 3, 2]], unsorted))
