"""The exercises of chapter 3, positions."""

import cmath
import math

import torch
import torch.nn.functional as F
from torch import nn

from scratchformer_course.kit.checks.engine import exercise


def _waves(T, C, exponent=2, base=10_000, start=0):
    """Sines and cosines, each (T, C/2), of position / base ** (exponent * i / C) for pair i."""
    positions = torch.arange(start, start + T).unsqueeze(1)
    angles = positions * base ** (-exponent * torch.arange(C // 2) / C)
    return angles.sin(), angles.cos()


def _pairs(a, b):
    """Two (T, C/2) tables as one (T, C), column by column in turn."""
    return torch.stack((a, b), dim=-1).flatten(-2)


@exercise("3.1")
class sinusoidal:
    """sinusoidal(T, d_model) -> (T, C), sine and cosine of a hand side by side"""

    cases = ((2, 4), (3, 6), (5, 8), (1, 2))

    def right(T, d_model):
        return _pairs(*_waves(T, d_model))

    def also(T, d_model):
        table = torch.zeros(T, d_model, dtype=torch.float64)
        for t in range(T):
            for c in range(d_model):
                angle = t / 10_000 ** (2 * (c // 2) / d_model)
                table[t, c] = math.cos(angle) if c % 2 else math.sin(angle)
        return table

    def also_with_one_cosine_for_all(T, d_model):
        c = torch.arange(d_model)
        angles = torch.arange(T).unsqueeze(1) / 10_000 ** (c // 2 * 2 / d_model)
        return (angles - (c + 1) % 2 * math.pi / 2).cos()  # the sine is a cosine, late by a quarter

    def swaps_sine_and_cosine(T, d_model):
        """Sine and cosine are swapped: the sine comes first"""
        sin, cos = _waves(T, d_model)
        return _pairs(cos, sin)

    def puts_all_sines_before_all_cosines(T, d_model):
        """Sines and cosines lie in two halves: they alternate"""
        return torch.cat(_waves(T, d_model), dim=1)

    def counts_positions_from_1(T, d_model):
        """Positions start at 0"""
        return _pairs(*_waves(T, d_model, start=1))

    def gives_each_column_its_own_frequency(T, d_model):
        """Sine and cosine of a pair differ in speed: both take the speed of their hand"""
        sin, cos = _waves(T, 2 * d_model)  # a frequency for each column
        return _pairs(sin[:, 0::2], cos[:, 1::2])

    def gives_each_column_its_own_frequency_and_doubles_the_exponent(T, d_model):
        sin, cos = _waves(T, 2 * d_model, exponent=4)
        return _pairs(sin[:, 0::2], cos[:, 1::2])

    def doubles_the_exponent(T, d_model):
        """The exponent is twice too large"""
        return _pairs(*_waves(T, d_model, exponent=4))

    def forgets_the_2_of_2i(T, d_model):
        """The exponent is half as large as it is"""
        return _pairs(*_waves(T, d_model, exponent=1))

    def takes_1000_for_10000(T, d_model):
        """The base is 1,000, not 10,000"""
        return _pairs(*_waves(T, d_model, base=1_000))

    def multiplies_by_the_power(T, d_model):
        """The power belongs below: divide by it"""
        return _pairs(*_waves(T, d_model, exponent=-2))

    def divides_whole_numbers_which_leaves_exponent_0(T, d_model):
        """All hands have the same speed"""
        return _pairs(*_waves(T, d_model, exponent=0))

    def takes_the_sine_twice(T, d_model):
        """There is no cosine"""
        sin, _ = _waves(T, d_model)
        return _pairs(sin, sin)

    def returns_a_column_for_each_position(T, d_model):
        """The table is transposed: a row is a position"""
        return sinusoidal.right(T, d_model).T


def _random_table(T, C):
    return torch.randn(T, C, generator=torch.Generator().manual_seed(T), dtype=torch.float64)


def _products(table, k):
    """The dot products of the rows k apart, (T - k,)."""
    return (table[: len(table) - k] * table[k:]).sum(dim=1)


def _range(values):
    return (values.max() - values.min()).item()


@exercise("3.2")
class spread:
    """spread(table: (T, C), k) -> float, how far the dot products of rows k apart differ"""

    cases = tuple((_random_table(T, C), k) for T, C, k in ((6, 4, 2), (9, 3, 1), (4, 2, 3)))

    def right(table, k):
        return _range(_products(table, k))

    def also(table, k):
        products = [float(table[t] @ table[t + k]) for t in range(len(table) - k)]
        return max(products) - min(products)

    def also_on_a_diagonal(table, k):
        return torch.aminmax((table @ table.T).diagonal(k))[1].sub(
            (table @ table.T).diagonal(k).min()
        )

    def returns_the_largest_product(table, k):
        """This is the largest dot product: subtract the smallest one"""
        return _products(table, k).max().item()

    def returns_the_smallest_product(table, k):
        """This is the smallest dot product: subtract it from the largest one"""
        return _products(table, k).min().item()

    def subtracts_the_largest_from_the_smallest(table, k):
        """The sign is wrong: the largest minus the smallest"""
        return -_range(_products(table, k))

    def takes_all_pairs_of_places(table, k):
        """These are the products of all pairs of rows: only rows k apart belong together"""
        return _range(table @ table.T)

    def goes_round_at_the_end(table, k):
        """Row 0 does not follow the last row (`roll` goes round): leave the last k rows out"""
        return _range((table * table.roll(-k, 0)).sum(dim=1))

    def takes_rows_k_plus_1_apart(table, k):
        """These rows are k + 1 apart"""
        return _range(_products(table, k + 1)) if len(table) > k + 1 else 0.0

    def multiplies_without_a_sum(table, k):
        """A dot product is a sum over the channels: one number for a pair of rows"""
        return _range(table[: len(table) - k] * table[k:])

    def sums_over_the_places(table, k):
        """The sum runs over the places: a dot product is a sum over the channels"""
        return _range((table[: len(table) - k] * table[k:]).sum(dim=0))

    def measures_distances(table, k):
        """These are distances between the rows: take their dot products"""
        return _range((table[k:] - table[: len(table) - k]).norm(dim=1))

    def measures_the_cosine(table, k):
        """The dot products were divided by the lengths of the rows"""
        return _range(F.cosine_similarity(table[: len(table) - k], table[k:]))

    def measures_the_standard_deviation(table, k):
        """This is a standard deviation: take the largest minus the smallest product"""
        return _products(table, k).std(correction=0).item()

    def looks_from_row_0_only(table, k):
        """This compares with row 0 only: go through all pairs of rows k apart"""
        return _range(table[k:] @ table[0])

    def returns_all_products(table, k):
        """… is a float64 tensor of shape (4,), but a float"""
        return _products(table, k)


def _matrix(rows):
    return torch.tensor(rows)


@exercise("3.3")
class turn:
    """turn(k, speed) -> (2, 2), takes (sin, cos) of any place to those of the place k later"""

    cases = ((2, 0.3), (1, 1.0), (-3, 0.5), (0, 0.7), (50, 0.01))
    praise = "One matrix moves the hand k places on, from every place."

    def right(k, speed):
        s, c = math.sin(k * speed), math.cos(k * speed)
        return _matrix([[c, s], [-s, c]])

    def also(k, speed):
        z = cmath.exp(1j * k * speed)
        return _matrix([[z.real, z.imag], [-z.imag, z.real]])

    def also_by_solving_for_two_places(k, speed):
        now = torch.tensor([[0.0, math.sin(1)], [1.0, math.cos(1)]], dtype=torch.float64)
        angles = torch.tensor([0.0, 1.0], dtype=torch.float64) + k * speed
        return torch.stack((angles.sin(), angles.cos())) @ now.inverse()

    def turns_backwards(k, speed):
        """It turns the other way: look which of the two formulas has the minus"""
        return turn.right(-k, speed)

    def forgets_the_minus(k, speed):
        """Both signs are plus: the formula of the cosine has a minus"""
        s, c = math.sin(k * speed), math.cos(k * speed)
        return _matrix([[c, s], [s, c]])

    def swaps_the_rows(k, speed):
        """The rows are swapped: the sine comes first in the pair"""
        return turn.right(k, speed).flip(0)

    def swaps_sine_and_cosine(k, speed):
        """Sine and cosine are swapped: for k = 0 nothing may move"""
        s, c = math.sin(k * speed), math.cos(k * speed)
        return _matrix([[s, c], [c, -s]])

    def forgets_the_speed(k, speed):
        """The angle is k times the speed, not k"""
        return turn.right(k, 1.0)

    def divides_by_the_speed(k, speed):
        """The angle is k times the speed: multiply, do not divide"""
        return turn.right(k, 1 / speed)

    def takes_degrees(k, speed):
        """The angle is in radians, not degrees"""
        return turn.right(k, math.radians(speed))

    def stretches_where_it_should_turn(k, speed):
        """The zeros stretch each number by itself: the new sine needs the old cosine too"""
        s, c = math.sin(k * speed), math.cos(k * speed)
        return _matrix([[s, 0.0], [0.0, c]])

    def returns_the_hand_k_places_on(k, speed):
        """This is the hand at place k: return the matrix that moves a hand"""
        return _matrix([math.sin(k * speed), math.cos(k * speed)])

    def returns_four_numbers_in_a_row(k, speed):
        """The four numbers stand in a row: make a matrix of two rows"""
        return turn.right(k, speed).flatten()

    def returns_a_list(k, speed):
        """… is a list, but"""
        return turn.right(k, speed).tolist()


def _tables():
    """Cases: fewer tokens than places, as many texts as tokens, a full context, one token."""
    sizes = {"vocab_size": 7, "context_length": 5, "d_model": 4}
    yield sizes, torch.tensor([[1, 1, 4], [6, 0, 1]])
    yield sizes, torch.tensor([[2, 3], [3, 2]])
    yield sizes, torch.tensor([[4, 3, 2, 1, 0]])
    yield {"vocab_size": 3, "context_length": 2, "d_model": 6}, torch.tensor([[2], [0]])


class _TokenAndPosition(nn.Module):
    def __init__(self, vocab_size, context_length, d_model):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.position = nn.Embedding(context_length, d_model)


@exercise("3.4")
class TokenAndPosition:
    """TokenAndPosition(vocab_size, context_length, d_model)(ids: (B, T)) -> (B, T, C)"""

    cases = _tables

    class right(_TokenAndPosition):
        def forward(self, ids):
            return self.token(ids) + self.position(torch.arange(ids.shape[1]))

    class also(_TokenAndPosition):
        def forward(self, ids):
            return self.token.weight[ids] + self.position.weight[: ids.shape[1]]

    class also_with_places_for_each_text(_TokenAndPosition):
        def forward(self, ids):
            places = torch.ones_like(ids).cumsum(dim=1) - 1
            return F.embedding(ids, self.token.weight) + self.position(places)

    class forgets_the_positions(_TokenAndPosition):
        """Only the row of the token came back: add the row of its place"""

        def forward(self, ids):
            return self.token(ids)

    class forgets_the_tokens(_TokenAndPosition):
        """Only the row of the place came back: add the row of the token"""

        def forward(self, ids):
            return self.position(torch.arange(ids.shape[1])).expand(*ids.shape, -1)

    class looks_up_the_id_in_the_table_of_places(_TokenAndPosition):
        """The table of places is asked for the token's id: ask for 0, 1, 2, … instead"""

        def forward(self, ids):
            return self.token(ids) + self.position(ids)

    class counts_places_from_1(_TokenAndPosition):
        """Places start at 0"""

        def forward(self, ids):
            places = torch.arange(1, ids.shape[1] + 1)
            return self.token(ids) + self.position(places % self.position.num_embeddings)

    class counts_the_texts(_TokenAndPosition):
        """The places are counted along the batch: count along each text, `ids.shape[1]`"""

        def forward(self, ids):
            return self.token(ids) + self.position(torch.arange(len(ids))).unsqueeze(1)

    class gives_all_places_one_vector(_TokenAndPosition):
        """All places get the same vector"""

        def forward(self, ids):
            return self.token(ids) + self.position(torch.zeros_like(ids))

    class counts_places_from_the_end(_TokenAndPosition):
        """The places run backwards: the first token stands at place 0"""

        def forward(self, ids):
            return self.token(ids) + self.position(torch.arange(ids.shape[1]).flip(0))

    class multiplies_the_two(_TokenAndPosition):
        """The two vectors are multiplied: add them"""

        def forward(self, ids):
            return self.token(ids) * self.position(torch.arange(ids.shape[1]))

    class puts_the_two_side_by_side(_TokenAndPosition):
        """The two vectors stand side by side: add them, so that the width stays"""

        def forward(self, ids):
            places = self.position(torch.arange(ids.shape[1])).expand(*ids.shape, -1)
            return torch.cat((self.token(ids), places), dim=-1)

    class sums_over_the_text(_TokenAndPosition):
        """The tokens of a text are summed up: return one vector for each token"""

        def forward(self, ids):
            return (self.token(ids) + self.position(torch.arange(ids.shape[1]))).sum(dim=1)

    class has_a_table_of_other_sizes(nn.Module):
        """… `position.weight` has shape"""

        def __init__(self, vocab_size, context_length, d_model):
            super().__init__()
            self.token = nn.Embedding(vocab_size, d_model)
            self.position = nn.Embedding(vocab_size, d_model)

    class calls_its_tables_otherwise(nn.Module):
        """… the parameter `position.weight` is missing"""

        def __init__(self, vocab_size, context_length, d_model):
            super().__init__()
            self.token = nn.Embedding(vocab_size, d_model)
            self.places = nn.Embedding(context_length, d_model)
