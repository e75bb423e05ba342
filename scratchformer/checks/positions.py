"""The exercises of chapter 3, positions."""

import cmath
import math

import torch

from scratchformer.checks.engine import exercise
from scratchformer.checks.verdict import expect


class _Layer:
    """A function from rows to rows that a message shows by its name."""

    def __init__(self, name, function):
        self.name, self.function = name, function

    def __repr__(self):
        return self.name

    def __call__(self, x):
        return self.function(x)


def _total(x):
    """The sum of all rows, added one by one, so that its rounding depends on their order."""
    total = x[0]
    for row in x[1:]:
        total = total + row
    return total.expand_as(x)


LAYERS = (
    _Layer("scale_the_columns", lambda x: x * torch.arange(1, x.shape[1] + 1)),
    _Layer("total_of_all_rows", _total),
    _Layer("attention", lambda x: (x @ x.T).softmax(dim=1) @ x),
    _Layer("running_total", lambda x: x.cumsum(dim=0)),
    _Layer("shift_by_one_row", lambda x: x.roll(1, 0)),
)
ROWS = torch.linspace(0.1, 2.0, 20, dtype=torch.float64).view(4, 5).sin()
# No order undoes itself, and the first leaves row 0 where it is.
ORDERS = (torch.tensor([0, 2, 3, 1]), torch.tensor([2, 0, 3, 1]))


@exercise("3.1")
class order_blind:
    """order_blind(f, x: (T, C), order: (T,) a permutation) -> bool"""

    cases = tuple((f, ROWS, order) for order in ORDERS for f in LAYERS)

    def right(f, x, order):
        return torch.allclose(f(x[order]), f(x)[order])

    def also(f, x, order):
        return bool((f(x[order])[order.argsort()] - f(x)).abs().max() < 1e-6)

    def expects_the_outputs_to_stay(f, x, order):
        """The outputs move with the inputs: compare `f(x[order])` with `f(x)[order]` (to undo an
        order takes its inverse, `order.argsort()`)"""
        return torch.allclose(f(x[order]), f(x))

    def permutes_once_more_where_it_should_undo(f, x, order):
        return torch.allclose(f(x[order])[order], f(x))

    def compares_bit_by_bit(f, x, order):
        """Sums in another order round differently: use `torch.allclose`, not `equal`"""
        return torch.equal(f(x[order]), f(x)[order])

    def compares_sums(f, x, order):
        """A shift only moves the rows too, but not along: compare row by row"""
        return torch.allclose(f(x[order]).sum(dim=0), f(x).sum(dim=0))

    def looks_at_the_first_row_only(f, x, order):
        """Compare all rows, not the first alone"""
        return torch.allclose(f(x[order])[0], f(x)[order][0])

    def permutes_the_columns(f, x, order):
        """The columns are permuted: `x[order]` permutes the rows"""
        return torch.allclose(f(x[:, order]), f(x)[:, order])

    def says_True_whatever_happens(f, x, order):
        """It says True whatever `f` is"""
        return f(x[order]).shape == f(x)[order].shape

    def permutes_nothing(f, x, order):
        return torch.allclose(f(x)[order], f(x)[order])

    def compares_the_inputs_with_the_outputs(f, x, order):
        """It says False whatever `f` is"""
        return torch.equal(x[order], f(x))

    def answers_the_opposite_question(f, x, order):
        """True and False are swapped"""
        return not order_blind.right(f, x, order)

    def returns_a_table_of_booleans(f, x, order):
        """… is a bool tensor of shape"""
        return f(x[order]) == f(x)[order]


def _waves(T, C, exponent=2, base=10_000, start=0):
    """Sines and cosines, each (T, C/2), of position / base ** (exponent * i / C) for pair i."""
    positions = torch.arange(start, start + T).unsqueeze(1)
    angles = positions * base ** (-exponent * torch.arange(C // 2) / C)
    return angles.sin(), angles.cos()


def _pairs(a, b):
    """Two (T, C/2) tables as one (T, C), column by column in turn."""
    return torch.stack((a, b), dim=-1).flatten(-2)


@exercise("3.2")
class sinusoidal:
    """sinusoidal(T, d_model) -> (T, C), sine and cosine of a pair side by side"""

    cases = ((2, 4), (3, 6), (5, 8))

    def right(T, d_model):
        return _pairs(*_waves(T, d_model))

    def also(T, d_model):
        table = torch.zeros(T, d_model, dtype=torch.float64)
        for t in range(T):
            for c in range(d_model):
                angle = t / 10_000 ** (2 * (c // 2) / d_model)
                table[t, c] = math.cos(angle) if c % 2 else math.sin(angle)
        return table

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
        """Sine and cosine of a pair differ in frequency: both take the exponent of the sine"""
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
        """All pairs have the same frequency"""
        return _pairs(*_waves(T, d_model, exponent=0))

    def takes_the_sine_twice(T, d_model):
        """There is no cosine"""
        sin, _ = _waves(T, d_model)
        return _pairs(sin, sin)

    def returns_a_column_for_each_position(T, d_model):
        """The table is transposed: a row is a position"""
        return sinusoidal.right(T, d_model).T


def _clock(T, *periods):
    """Hands that go round in so many steps, a sine and a cosine each: (T, 2 · hands)."""
    angles = torch.arange(T, dtype=torch.float64).unsqueeze(1) * 2 * math.pi
    angles = angles / torch.tensor(periods)
    return _pairs(angles.sin(), angles.cos())


CLOCKS = {
    "one clock hand": _clock(20, 12),
    "a sine alone": _clock(10, 16)[:, :1],
    "two clock hands": _clock(20, 4, 6),
}


def _gaps(encoding):
    """The distance between every two rows, (T, T); infinite on the diagonal."""
    return torch.cdist(encoding, encoding).fill_diagonal_(math.inf)


@exercise("3.3")
class confused:
    """confused(encoding: (T, C)) -> (i, j), two positions with the same row (to rounding)"""

    def judge(call):
        for name, encoding in CLOCKS.items():
            last = len(encoding) - 1
            pair = call(encoding).like((0, 1), "Return the two positions, as whole numbers.")
            two = f"Two positions make a pair, but `{pair!r:.60}` has {len(pair)}."
            expect(len(pair) == 2, two)
            inside = 0 <= min(pair) <= max(pair) <= last
            expect(inside, f"`{pair}`: positions run from 0 to {last} here.")
            i, j = pair
            expect(i != j, f"`{pair}` is one position twice: leave the diagonal out.")
            gap = (encoding[i] - encoding[j]).norm().item()
            apart = f"Rows {i} and {j} of {name} are {gap:.2f} apart: the model can tell them."
            expect(gap < 1e-3, apart)
        return f"With {name}, positions {i} and {j} are one and the same to the model."

    def right(encoding):
        return divmod(_gaps(encoding).argmin().item(), len(encoding))

    def also(encoding):
        for i in range(len(encoding)):
            for j in range(i):
                if torch.allclose(encoding[i], encoding[j], atol=1e-6):
                    return i, j

    def finds_a_position_equal_to_itself(encoding):
        """… leave the diagonal out"""
        return divmod(torch.cdist(encoding, encoding).argmin().item(), len(encoding))

    def takes_neighbours(encoding):
        """… the model can tell them"""
        return 0, 1

    def takes_the_first_and_the_last(encoding):
        return 0, len(encoding) - 1

    def takes_the_farthest_pair(encoding):
        return divmod(torch.cdist(encoding, encoding).argmax().item(), len(encoding))

    def looks_at_the_first_column_only(encoding):
        return confused.right(encoding[:, :1])

    def looks_past_the_end(encoding):
        """… positions run from 0"""
        return 0, 12 if len(encoding) > 12 else len(encoding)

    def returns_a_place_in_the_flattened_table(encoding):
        """… is an int, but a tuple"""
        return _gaps(encoding).argmin().item()

    def returns_all_pairs_that_are_the_same(encoding):
        """… but an int"""
        return [tuple(pair) for pair in (_gaps(encoding) < 1e-6).nonzero().tolist()]

    def returns_the_rows(encoding):
        """… but an int"""
        i, j = confused.right(encoding)
        return encoding[i], encoding[j]

    def returns_three_positions(encoding):
        """… Two positions make a pair"""
        return (*confused.right(encoding), 0)

    def compares_bit_by_bit_and_finds_nothing(encoding):
        """… is the `return` missing?"""
        for i in range(len(encoding)):
            for j in range(i):
                if torch.equal(encoding[i], encoding[j]):
                    return i, j


def _times(pair, rows):
    """The (2, 2) matrix of these rows times the pair."""
    return torch.tensor(rows) @ pair


@exercise("3.4")
class rotate:
    """rotate(pair: (2,), angle: float, in radians) -> (2,), turned counter-clockwise"""

    cases = ((torch.tensor([2.0, 1.0]), 0.5), (torch.tensor([-1.0, 3.0]), 2.0))

    def right(pair, angle):
        c, s = math.cos(angle), math.sin(angle)
        return _times(pair, [[c, -s], [s, c]])

    def also(pair, angle):
        z = complex(*pair.tolist()) * cmath.exp(1j * angle)
        return torch.tensor([z.real, z.imag])

    def turns_clockwise(pair, angle):
        """This turns clockwise: the minus belongs in the first line"""
        return rotate.right(pair, -angle)

    def takes_degrees(pair, angle):
        """The angle is in radians, not degrees"""
        return rotate.right(pair, math.radians(angle))

    def overwrites_the_first_number_too_early(pair, angle):
        """The second line uses the new first number: it needs the old one"""
        a, b = pair
        a = a * math.cos(angle) - b * math.sin(angle)
        b = a * math.sin(angle) + b * math.cos(angle)
        return torch.stack((a, b))

    def swaps_the_two_numbers(pair, angle):
        """The two numbers are swapped"""
        return rotate.right(pair, angle).flip(0)

    def forgets_the_minus(pair, angle):
        """Both signs are plus: that is no rotation, the length changes"""
        c, s = math.cos(angle), math.sin(angle)
        return _times(pair, [[c, s], [s, c]])

    def scales_each_number_by_itself(pair, angle):
        """Each new number is made of both old ones"""
        return pair * torch.tensor([math.cos(angle), math.sin(angle)])

    def adds_the_angle(pair, angle):
        """The angle is added to the numbers: turn them by it, with sine and cosine"""
        return pair + angle

    def returns_the_pair(pair, angle):
        """The pair has not moved"""
        return pair

    def returns_plain_numbers(pair, angle):
        """… is a tuple, but"""
        return tuple(rotate.right(pair, angle).tolist())


def _turned(x, **settings):
    """First and second of each pair of neighbours after the turn, (T, D/2) each."""
    a, b = x[:, 0::2], x[:, 1::2]
    sin, cos = _waves(*x.shape, **settings)
    return a * cos - b * sin, a * sin + b * cos


def _exponentials(T, D):
    return torch.linspace(-1, 2, T * D, dtype=torch.float64).view(T, D).exp()


@exercise("3.5")
class rotary:
    """rotary(x: (T, D)) -> (T, D), neighbouring channels turned by position times frequency"""

    cases = (_exponentials(5, 8), _exponentials(3, 4))

    def right(x):
        return _pairs(*_turned(x))

    def also(x):
        T, D = x.shape
        z = torch.view_as_complex(x.view(T, D // 2, 2).contiguous())
        angles = torch.outer(torch.arange(T), 10_000 ** (-2 * torch.arange(D // 2) / D)).double()
        return torch.view_as_real(z * torch.polar(torch.ones_like(angles), angles)).flatten(1)

    def pairs_channel_i_with_channel_i_plus_half_of_D(x):
        """Channel i is paired with i + D/2. Some libraries do so; here neighbours turn"""
        neighbours = _pairs(*x.chunk(2, dim=1))
        return torch.cat(_turned(neighbours), dim=1)

    def leaves_the_halves_apart(x):
        """The pairs are not put side by side again"""
        return torch.cat(_turned(x), dim=1)

    def turns_clockwise(x):
        """It turns clockwise: a cos − b sin comes first"""
        a, b = x[:, 0::2], x[:, 1::2]
        sin, cos = _waves(*x.shape)
        return _pairs(a * cos + b * sin, b * cos - a * sin)

    def counts_positions_from_1(x):
        """Positions start at 0: the first row does not turn"""
        return _pairs(*_turned(x, start=1))

    def adds_the_waves(x):
        """The waves are added: here the pairs are turned by them"""
        return x + _pairs(*_waves(*x.shape))

    def multiplies_by_the_waves(x):
        """Multiplying by the waves does not turn a pair"""
        return x * _pairs(*_waves(*x.shape))

    def returns_x(x):
        """Nothing has moved"""
        return x

    def doubles_the_exponent(x):
        """The exponent is twice too large"""
        return _pairs(*_turned(x, exponent=4))

    def forgets_the_2_of_2i(x):
        """The exponent is half as large as it is"""
        return _pairs(*_turned(x, exponent=1))

    def takes_1000_for_10000(x):
        """The base is 1,000, not 10,000"""
        return _pairs(*_turned(x, base=1_000))

    def multiplies_by_the_power(x):
        """The power belongs below: divide by it"""
        return _pairs(*_turned(x, exponent=-2))

    def turns_all_pairs_alike(x):
        """All pairs have the same frequency"""
        return _pairs(*_turned(x, exponent=0))

    def drops_the_second_of_each_pair(x):
        """… but (5, 8) is expected"""
        return _turned(x)[0]
