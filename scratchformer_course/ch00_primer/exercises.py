"""The exercises of chapter 0, the optional primer."""

import torch

from scratchformer_course.kit.checks.engine import exercise

A = torch.tensor([[1.0, -1.5, 0.0], [0.25, 1.0, 3.0]])
B = torch.tensor([[1.0, 0.0, 2.0, 5.0], [3.0, 0.25, 0.0, 1.0], [0.0, 2.0, -1.5, 2.0]])
X = torch.tensor([[1.0, 3.0, 5.0], [2.0, 2.0, 8.0], [-4.0, 0.0, 7.0], [0.5, 0.0, 1.0]])
TABLE = torch.arange(24.0).view(4, 6)


@exercise("0.1")
class matrix_product:
    """matrix_product(a: (n, k), b: (k, m)) -> (n, m), by rows and columns"""

    cases = ((A, B), (B.T, A.T), (A[:1], B[:, :1]))

    def right(a, b):
        return torch.stack([torch.stack([row @ column for column in b.T]) for row in a])

    def also(a, b):
        out = torch.zeros(len(a), b.shape[1])
        for i in range(len(a)):
            for j in range(b.shape[1]):
                out[i, j] = sum(a[i, k] * b[k, j] for k in range(len(b)))
        return out

    def also_broadcast(a, b):
        return (a.unsqueeze(2) * b.unsqueeze(0)).sum(dim=1)

    def takes_the_rows_of_both(a, b):
        """The rows of `a` meet the rows of `b`, but they must meet its columns"""
        return torch.stack([torch.stack([row @ other for other in b]) for row in a])

    def multiplies_entry_by_entry(a, b):
        """`*` multiplies entry by entry: the product of tables adds up along a row and a column"""
        return a * b

    def returns_the_transpose(a, b):
        """The result is transposed: entry [i, j] belongs to row i of `a` and column j of `b`"""
        return (a @ b).T

    def forgets_the_last_term(a, b):
        """The last term of each sum is missing: there are k of them"""
        return a[:, :-1] @ b[:-1]

    def takes_the_largest_term_in_place_of_the_sum(a, b):
        """Each entry is the largest of the products: add them up"""
        return (a.unsqueeze(2) * b.unsqueeze(0)).amax(dim=1)

    def takes_the_mean_in_place_of_the_sum(a, b):
        """Each entry is the mean of the products: add them up"""
        return (a @ b) / len(b)

    def drops_the_signs(a, b):
        """The signs are lost: a product with one negative number is negative"""
        return a.abs() @ b.abs()

    def drops_the_sign_of_the_sum(a, b):
        return (a @ b).abs()

    def rounds_to_whole_numbers(a, b):
        """These are whole numbers: keep what stands behind the point"""
        return (a @ b).round()

    def fills_a_table_of_whole_numbers(a, b):
        return (a @ b).long()


@exercise("0.2")
class split_columns:
    """split_columns(x: (T, C), parts: int) -> (parts, T, C // parts)"""

    cases = ((TABLE, 2), (TABLE, 3), (TABLE, 1), (TABLE[:1], 6))

    def right(x, parts):
        T, C = x.shape
        return x.reshape(T, parts, C // parts).transpose(0, 1)

    def also(x, parts):
        return torch.stack(x.chunk(parts, dim=1))

    def also_by_slices(x, parts):
        width = x.shape[1] // parts
        return torch.stack([x[:, i * width : (i + 1) * width] for i in range(parts)])

    def reshapes_at_once(x, parts):
        """The numbers are read row by row into the new shape, so rows are torn apart: split C into
        (parts, C // parts) first, and then swap the first two axes"""
        return x.reshape(parts, x.shape[0], x.shape[1] // parts)

    def leaves_the_axes_as_they_are(x, parts):
        """The shape is (T, parts, C // parts): swap the first two axes"""
        return x.reshape(x.shape[0], parts, x.shape[1] // parts)

    def deals_the_columns_out_in_turn(x, parts):
        """The columns are dealt out in turn: the first part takes the first C // parts of them"""
        return torch.stack([x[:, i::parts] for i in range(parts)])

    def splits_the_rows(x, parts):
        """The rows are split: each part keeps all T rows and takes some of the columns"""
        return torch.stack(x.chunk(parts, dim=0))

    def returns_the_first_part_only(x, parts):
        """Only the first part came back: stack all of them"""
        return x[:, : x.shape[1] // parts]


@exercise("0.3")
class standardise:
    """standardise(x: (T, C)) -> (T, C), each row with mean 0 and variance 1"""

    cases = (X, X[:1] * 10 + 3)

    def right(x):
        mean = x.mean(dim=1, keepdim=True)
        variance = x.var(dim=1, keepdim=True, unbiased=False)
        return (x - mean) / variance.sqrt()

    def also(x):
        rows = [(row - row.mean()) / row.std(unbiased=False) for row in x]
        return torch.stack(rows)

    def works_down_the_columns(x):
        """Mean and variance are taken down the columns: each row has its own, so `dim=1`"""
        return (x - x.mean(dim=0)) / x.std(dim=0, unbiased=False)

    def takes_one_mean_for_the_table(x):
        """One mean and one variance serve all rows: each row has its own, so `dim=1`"""
        return (x - x.mean()) / x.std(unbiased=False)

    def divides_by_the_variance(x):
        """The rows are divided by their variance: divide by its square root"""
        centred = x - x.mean(dim=1, keepdim=True)
        return centred / x.var(dim=1, keepdim=True, unbiased=False)

    def only_subtracts_the_mean(x):
        """The mean is 0, but the variance is not 1: divide by its square root"""
        return x - x.mean(dim=1, keepdim=True)

    def only_divides(x):
        """The variance is 1, but the mean is not 0: subtract the mean first"""
        return x / x.std(dim=1, keepdim=True, unbiased=False)

    def divides_by_n_minus_1(x):
        """The variance is a little too large: PyTorch divides by n − 1 unless `unbiased=False`"""
        return (x - x.mean(dim=1, keepdim=True)) / x.std(dim=1, keepdim=True)

    def forgets_keepdim(x):
        """`x.mean(dim=1)` has the shape (T,): `keepdim=True` keeps it upright, (T, 1)"""
        return (x - x.mean(dim=1)) / x.std(dim=1, unbiased=False)
