"""The exercises of chapter 2, embeddings."""

import torch
from torch.nn import functional as F

from scratchformer.checks.engine import exercise
from scratchformer.checks.verdict import expect

TABLE = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])


@exercise("2.1")
class one_hot_lookup:
    """one_hot_lookup(ids: (B, T) int64, table: (V, C)) -> (B, T, C), row ids[b, t] at [b, t]"""

    cases = (
        (torch.tensor([[2, 0, 2], [1, 3, 0]]), TABLE),
        (torch.tensor([[1, 1, 0, 1, 1]]), TABLE),  # the largest ids do not occur
    )

    def right(ids, table):
        return F.one_hot(ids, len(table)).float() @ table

    def also(ids, table):
        return (ids[..., None] == torch.arange(len(table))).float() @ table

    def also_by_index(ids, table):
        return table[ids]

    def returns_the_one_hot_vectors(ids, table):
        """These are the one-hot vectors: multiply them by the table"""
        return F.one_hot(ids, len(table)).float()

    def multiplies_whole_numbers_by_floats(ids, table):
        """`F.one_hot` and `==` give whole numbers and booleans: `.float()` before the product,
        and the V of the one-hot vectors comes before the V of the table"""
        return F.one_hot(ids, len(table)) @ table

    def takes_the_length_from_the_largest_id(ids, table):
        """The one-hot vectors are too short: their length is V, not the largest id + 1"""
        return F.one_hot(ids).float() @ table

    def flattens_the_batch(ids, table):
        """B and T are flattened to one: the answer is (B, T, C)"""
        return table[ids.flatten()]

    def swaps_the_last_axes(ids, table):
        """The last two axes are swapped: the answer is (B, T, C)"""
        return table[ids].mT

    def adds_the_rows_of_a_text(ids, table):
        """The rows are added up over T: each id keeps its own row"""
        return table[ids].sum(dim=1)

    def counts_ids_from_1(ids, table):
        """Each row comes from one place too early: ids count from 0"""
        return table[(ids - 1) % len(table)]

    def adds_1_to_the_ids(ids, table):
        """Each row comes from one place too late: ids count from 0"""
        return table[(ids + 1) % len(table)]


A, B = torch.tensor([3.0, 4.0, 0.0]), torch.tensor([1.0, 2.0, 2.0])


@exercise("2.2")
class cosine_similarity:
    """cosine_similarity(a: (C,), b: (C,)) -> the cosine of their angle, a single number"""

    cases = ((A, B), (A, -B), (10 * A, A))

    def right(a, b):
        return float(a @ b / (a.norm() * b.norm()))

    def also(a, b):
        dot = sum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True))
        return dot / (sum(x * x for x in a.tolist()) * sum(y * y for y in b.tolist())) ** 0.5

    def also_as_a_tensor(a, b):
        return F.cosine_similarity(a, b, dim=0)

    def returns_the_dot_product(a, b):
        """This is the dot product: divide by the lengths of both vectors"""
        return float(a @ b)

    def divides_by_the_second_length_only(a, b):
        """Only one of the two lengths is divided out"""
        return float(a @ b / b.norm())

    def divides_by_the_first_length_only(a, b):
        return float(a @ b / a.norm())

    def divides_by_the_squared_lengths(a, b):
        """The squared lengths are used: take their roots"""
        return float(a @ b / ((a @ a) * (b @ b)))

    def takes_sums_for_lengths(a, b):
        """A length is the root of the sum of squares, not the sum"""
        return float(a @ b / (a.sum() * b.sum()))

    def adds_the_lengths(a, b):
        """The lengths are added: multiply them"""
        return float(a @ b / (a.norm() + b.norm()))

    def returns_the_cosine_distance(a, b):
        """This is the cosine distance: the similarity is 1 minus it"""
        return 1 - cosine_similarity.right(a, b)

    def returns_the_angle(a, b):
        """This is the angle itself: return its cosine"""
        return float((a @ b / (a.norm() * b.norm())).acos())

    def returns_the_Euclidean_distance(a, b):
        """This is the distance between the two points"""
        return float((a - b).norm())

    def takes_the_mean_of_the_products(a, b):
        """This is a mean over the numbers: a dot product is their sum"""
        return cosine_similarity.right(a, b) / len(a)

    def takes_the_absolute_value(a, b):
        """The sign is lost: vectors that point apart give −1"""
        return abs(cosine_similarity.right(a, b))

    def multiplies_without_adding_up(a, b):
        """… shape (3,), but a float"""
        return a * b / (a.norm() * b.norm())


VECTORS = torch.tensor(
    [[4.0, 0.0], [9.0, 9.0], [0.5, 0.1], [-2.0, 0.0], [0.0, 1.0], [1.0, -0.7], [3.0, 1.5]]
)


def _cosines(vectors, i):
    """The cosine of every vector with vector i, (V,)."""
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return unit @ unit[i]


def _largest(scores, i, k):
    """The k ids with the largest scores, i left out."""
    order = scores.argsort(descending=True, stable=True).tolist()
    return [j for j in order if j != i][:k]


@exercise("2.3")
class nearest:
    """nearest(vectors: (V, C), i: int, k: int) -> list of k ids, most similar to i first"""

    cases = ((VECTORS, 0, 3), (VECTORS, 4, 2))

    def right(vectors, i, k):
        return _largest(_cosines(vectors, i), i, k)

    def also(vectors, i, k):
        scores = _cosines(vectors, i)
        scores[i] = -2  # below every cosine
        return scores.topk(k).indices.tolist()

    def lists_the_word_itself(vectors, i, k):
        """The word itself is in the list: leave `i` out"""
        return _cosines(vectors, i).topk(k).indices.tolist()

    def loses_a_place_to_the_word_itself(vectors, i, k):
        """The word itself took a place: leave out `i`, then take k"""
        return _cosines(vectors, i).topk(k).indices.tolist()[1:]

    def ranks_by_the_dot_product(vectors, i, k):
        """Long vectors win by the dot product: divide by the lengths"""
        return _largest(vectors @ vectors[i], i, k)

    def ranks_by_the_dot_product_and_lists_the_word_itself(vectors, i, k):
        return (vectors @ vectors[i]).topk(k).indices.tolist()

    def ranks_by_distance(vectors, i, k):
        """These are the nearest points: the angle counts, not the distance"""
        return _largest(-(vectors - vectors[i]).norm(dim=1), i, k)

    def sorts_from_low_to_high(vectors, i, k):
        """These are the least similar: sort from high to low"""
        return _largest(-_cosines(vectors, i), i, k)

    def returns_the_list_backwards(vectors, i, k):
        """The order is reversed: the most similar comes first"""
        return nearest.right(vectors, i, k)[::-1]

    def sorts_the_ids_by_number(vectors, i, k):
        """The ids are sorted by number: the most similar comes first"""
        return sorted(nearest.right(vectors, i, k))

    def takes_the_absolute_value(vectors, i, k):
        """The sign of the cosine is lost: vectors that point apart are not similar"""
        return _largest(_cosines(vectors, i).abs(), i, k)

    def ignores_which_word_is_asked(vectors, i, k):
        """`i` is ignored: this is the list for id 0"""
        return nearest.right(vectors, 0, k)

    def returns_a_tensor(vectors, i, k):
        """… int64 tensor of shape (3,), but a list"""
        return torch.tensor(nearest.right(vectors, i, k))


IDS = [5, 3, 8, 1, 9, 2, 7, 4, 6]


def _windows(ids, length, starts, ahead=1):
    return [(ids[s : s + length], ids[s + ahead : s + ahead + length]) for s in starts]


@exercise("2.4")
class sliding_windows:
    """sliding_windows(ids: list[int], length, stride) -> list of pairs (x, y), two lists each"""

    cases = ((IDS, 3, 3), (IDS, 3, 5), (IDS, 2, 1), ([1, 2, 3], 2, 9))

    def judge(call):
        praise = sliding_windows.compare(call)
        # The right answer raises an error here, which `cases` cannot say.
        silent = "must raise a ValueError: a window that does not move on is a mistake to be told"
        for stride in (0, -1):
            told = isinstance(call(IDS, 3, stride).error, ValueError)
            expect(told, f"`stride={stride}` {silent}.")
        return praise

    def right(ids, length, stride):
        if stride < 1:
            raise ValueError(f"stride={stride} must be at least 1")
        last = len(ids) - length - 1
        return _windows(ids, length, [*range(0, last, stride), last])

    def also(ids, length, stride):
        if stride <= 0:
            raise ValueError("the stride must be positive")
        found, start = [], 0
        while start + length < len(ids):
            found.append((ids[start : start + length], ids[start + 1 : start + length + 1]))
            start += stride
        if start - stride + length + 1 != len(ids):
            found.append((ids[-length - 1 : -1], ids[-length:]))
        return found

    def also_lists_for_the_pairs(ids, length, stride):
        return [[x, y] for x, y in sliding_windows.right(ids, length, stride)]

    def drops_the_last_window(ids, length, stride):
        """The last window is missing: move it back, to end with the last id"""
        return _windows(ids, length, range(0, len(ids) - length, stride))

    def cuts_the_last_window_short(ids, length, stride):
        """The last window is cut short: move it back, to end with the last id"""
        return _windows(ids, length, range(0, len(ids) - 1, stride))

    def gives_x_as_its_own_target(ids, length, stride):
        """`y` is the same as `x`: it must be one id further"""
        return [(x, x) for x, _ in sliding_windows.right(ids, length, stride)]

    def ignores_the_stride(ids, length, stride):
        """The stride is ignored: windows begin `stride` ids apart"""
        return sliding_windows.right(ids, length, 1)

    def takes_the_length_for_the_stride(ids, length, stride):
        return sliding_windows.right(ids, length, length)

    def stops_one_id_too_early(ids, length, stride):
        """The last window stops one id too early: `y` ends with the last id"""
        return sliding_windows.right(ids[:-1], length, stride)

    def repeats_the_last_window(ids, length, stride):
        """The last window comes twice where the steps end there anyway"""
        last = len(ids) - length - 1
        return _windows(ids, length, [*range(0, last + 1, stride), last])

    def leaves_the_last_window_out_where_the_steps_end_there(ids, length, stride):
        """The last window is missing although it fits: the range ends too early"""
        last = len(ids) - length - 1
        return _windows(ids, length, [*range(0, last, stride), *([last] if last % stride else [])])

    def returns_nothing_for_stride_0(ids, length, stride):
        """… `stride=0` must raise a ValueError"""
        return sliding_windows.right(ids, length, stride) if stride > 0 else []

    def lets_range_complain_about_0_alone(ids, length, stride):
        """… `stride=-1` must raise a ValueError"""
        last = len(ids) - length - 1
        return _windows(ids, length, [*range(0, last, stride), last])


@exercise("2.5")
class renumber:
    """renumber(table: (V, C), old: str, new: str) -> (V, C): row i is the vector of new[i]"""

    cases = ((TABLE, "abcd", "cabd"), (TABLE, "dbac", "badc"))

    def right(table, old, new):
        return table[[old.index(character) for character in new]]

    def also(table, old, new):
        rows = dict(zip(old, table, strict=True))
        return torch.stack([rows[character] for character in new])

    def goes_the_wrong_way(table, old, new):
        """It goes the wrong way: row i is what `new[i]` had in `old`"""
        return renumber.right(table, new, old)

    def returns_the_table_as_it_is(table, old, new):
        """The table is unchanged: `new` numbers the characters differently"""
        return table

    def turns_the_table_upside_down(table, old, new):
        """The table is upside down"""
        return table.flip(0)

    def returns_the_places(table, old, new):
        """These are the places of the rows: take the rows themselves"""
        return torch.tensor([old.index(character) for character in new])

    def takes_old_to_be_sorted(table, old, new):
        """Both orders are whatever they are: `old` need not be sorted"""
        return renumber.right(table, sorted(old), new)

    def returns_a_list_of_rows(table, old, new):
        """… is a list, but a float32 tensor"""
        return list(renumber.right(table, old, new))

    def writes_over_the_rows_it_still_needs(table, old, new):
        """… changes its argument `table` in place"""
        for i, character in enumerate(new):
            table[i] = table[old.index(character)]
        return table
