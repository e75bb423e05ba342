"""The exercises of chapter 8, rotary positions."""

import cmath
import math

import torch

from scratchformer_course.kit.checks.engine import exercise


def _times(pair, rows):
    """The (2, 2) matrix of these rows times the pair."""
    return torch.tensor(rows) @ pair


@exercise("8.1")
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


def _waves(positions, D, exponent=2, base=10_000):
    """Sines and cosines, each (T, D/2), of position / base ** (exponent * i / D) for pair i."""
    speeds = base ** (-exponent * torch.arange(D // 2) / D)
    angles = torch.outer(positions, speeds)
    return angles.sin(), angles.cos()


def _pairs(a, b):
    """Two (…, T, D/2) tensors as one (…, T, D), channel by channel in turn."""
    return torch.stack((a, b), dim=-1).flatten(-2)


def _turned(x, positions, **settings):
    """First and second of each pair of neighbours after the turn, (…, T, D/2) each."""
    a, b = x[..., 0::2], x[..., 1::2]
    sin, cos = _waves(positions, x.shape[-1], **settings)
    return a * cos - b * sin, a * sin + b * cos


def _exponentials(*shape):
    return torch.linspace(-1, 2, math.prod(shape)).view(shape).exp()


@exercise("8.2")
class rotary:
    """rotary(x: (…, T, D), positions: (T,)) -> (…, T, D), pairs turned by position times speed"""

    cases = (
        (_exponentials(5, 8), torch.arange(5.0)),
        (_exponentials(3, 4), torch.tensor([0.5, 7.0, 100.0])),
        (_exponentials(2, 3, 4, 6), torch.arange(4.0)),
    )

    def right(x, positions):
        return _pairs(*_turned(x, positions))

    def also(x, positions):
        z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())  # (…, T, D/2)
        D = x.shape[-1]
        angles = torch.outer(positions, 10_000 ** (-2 * torch.arange(D // 2) / D))
        turns = torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(z * turns).flatten(-2)

    def also_a_loop_over_pairs(x, positions):
        turned, D = [], x.shape[-1]
        for i in range(0, D, 2):
            angle = positions * 10_000 ** (-i / D)
            a, b = x[..., i], x[..., i + 1]
            turned.append(a * angle.cos() - b * angle.sin())
            turned.append(a * angle.sin() + b * angle.cos())
        return torch.stack(turned, dim=-1)

    def pairs_channel_i_with_channel_i_plus_half_of_D(x, positions):
        """Channel i is paired with i + D/2. Some libraries do so; on this page neighbours turn"""
        neighbours = _pairs(*x.chunk(2, dim=-1))
        return torch.cat(_turned(neighbours, positions), dim=-1)

    def leaves_the_halves_apart(x, positions):
        """The pairs are not put side by side again"""
        return torch.cat(_turned(x, positions), dim=-1)

    def turns_clockwise(x, positions):
        """It turns clockwise: a cos − b sin comes first"""
        return rotary.right(x, -positions)

    def counts_positions_itself(x, positions):
        """Row t stands at `positions[t]`, not at t"""
        return rotary.right(x, torch.arange(float(len(positions))))

    def counts_positions_from_1(x, positions):
        """The positions are taken one too large"""
        return rotary.right(x, positions + 1)

    def adds_the_waves(x, positions):
        """The waves are added: pairs are turned by them"""
        return x + _pairs(*_waves(positions, x.shape[-1]))

    def multiplies_by_the_waves(x, positions):
        """Multiplying by the waves does not turn a pair"""
        return x * _pairs(*_waves(positions, x.shape[-1]))

    def returns_x(x, positions):
        """Nothing has moved"""
        return x

    def doubles_the_exponent(x, positions):
        """The exponent is twice too large"""
        return _pairs(*_turned(x, positions, exponent=4))

    def forgets_the_2_of_2i(x, positions):
        """The exponent is half as large as it is"""
        return _pairs(*_turned(x, positions, exponent=1))

    def takes_1000_for_10000(x, positions):
        """The base is 1,000, not 10,000"""
        return _pairs(*_turned(x, positions, base=1_000))

    def multiplies_by_the_power(x, positions):
        """The power belongs below: divide by it"""
        return _pairs(*_turned(x, positions, exponent=-2))

    def turns_all_pairs_alike(x, positions):
        """All pairs have the same speed"""
        return _pairs(*_turned(x, positions, exponent=0))

    def knows_two_axes_only(x, positions):
        """`x` may have more axes in front: take channels by `x[..., 0::2]`"""
        return torch.stack(_turned(x, positions), dim=2).flatten(1)

    def drops_the_second_of_each_pair(x, positions):
        """… but (5, 8) is expected"""
        return _turned(x, positions)[0]


class _Attention:
    """Attention with places that a message shows by its name; `how` turns q, k, v at places."""

    def __init__(self, name, how):
        self.name, self.how = name, how

    def __repr__(self):
        return self.name

    def __call__(self, q, k, v, positions):
        q, k, v = self.how(q, k, v, positions)
        return (q @ k.T / math.sqrt(q.shape[1])).softmax(dim=1) @ v


_turn = rotary.right
ATTENTIONS = (
    _Attention("turns_queries_and_keys", lambda q, k, v, p: (_turn(q, p), _turn(k, p), v)),
    _Attention("turns_queries_alone", lambda q, k, v, p: (_turn(q, p), k, v)),
    _Attention("turns_keys_twice_as_fast", lambda q, k, v, p: (_turn(q, p), _turn(k, 2 * p), v)),
    _Attention("turns_values_too", lambda q, k, v, p: (_turn(q, p), _turn(k, p), _turn(v, p))),
    _Attention("turns_nothing", lambda q, k, v, p: (q, k, v)),
)
QKV = tuple(torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(8)))
_q, _k, _v = QKV
_rising = torch.zeros(3, 5, 8)  # the last query turns towards key 0, slowly; it reads one channel
_rising[0, 4, 7] = _rising[1, 0, 6] = 10
_rising[2, 0, 7] = 30
_falling = torch.tensor([0.0, 0, 0, 0, 0, 0, -30, 30]).expand(5, 8)  # both fall as the pair turns
GIVEN = (
    QKV,
    (_q, _k, _v - _v.mean(dim=1, keepdim=True)),  # all numbers move, their sums stay
    tuple(_rising),  # one number moves, upwards
    (_q, _k, _falling),  # numbers move downwards, lengths stay
    QKV,
)


def _moved(attend, q, k, v, by=100.0):
    """The outputs at places 0, 1, … and at those `by` places on."""
    positions = torch.arange(float(len(q)))
    return attend(q, k, v, positions), attend(q, k, v, positions + by)


@exercise("8.3")
class ignores_the_start:
    """ignores_the_start(attend, q: (T, D), k: (T, D), v: (T, D)) -> bool

    `attend(q, k, v, positions)` returns (T, D).
    """

    cases = tuple((attend, *qkv) for attend, qkv in zip(ATTENTIONS, GIVEN, strict=True))

    def right(attend, q, k, v):
        return torch.allclose(*_moved(attend, q, k, v), atol=1e-4)

    def also(attend, q, k, v):
        outputs = [
            attend(q, k, v, torch.arange(start, start + len(q)).float()) for start in (0, 3, 100)
        ]
        return max((out - outputs[0]).abs().max().item() for out in outputs) < 1e-3

    def compares_digit_by_digit(attend, q, k, v):
        """It says False too often: move all positions on by one step (do not stretch or reverse
        them), and allow for rounding with `atol=1e-4`"""
        return torch.equal(*_moved(attend, q, k, v))

    def allows_no_rounding(attend, q, k, v):
        return torch.allclose(*_moved(attend, q, k, v), rtol=0, atol=1e-9)

    def stretches_the_text(attend, q, k, v):
        positions = torch.arange(float(len(q)))
        first, second = (attend(q, k, v, p) for p in (positions, 2 * positions))
        return torch.allclose(first, second, atol=1e-4)

    def reverses_the_text(attend, q, k, v):
        positions = torch.arange(float(len(q)))
        first, second = (attend(q, k, v, p) for p in (positions, positions.flip(0)))
        return torch.allclose(first, second, atol=1e-4)

    def compares_a_place_with_itself(attend, q, k, v):
        """It says True whatever `attend` does: the second call needs other positions"""
        return torch.allclose(*_moved(attend, q, k, v, by=0), atol=1e-4)

    def compares_lengths(attend, q, k, v):
        """All numbers of all rows must stay: compare each of them, by the absolute value of its
        difference. A sum or a length can stay while they move"""
        first, second = _moved(attend, q, k, v)
        return torch.allclose(first.norm(dim=1), second.norm(dim=1), atol=1e-4)

    def asks_for_one_equal_number(attend, q, k, v):
        first, second = _moved(attend, q, k, v)
        return bool(first.isclose(second, atol=1e-4).any())

    def takes_a_fall_for_no_change(attend, q, k, v):
        first, second = _moved(attend, q, k, v)
        return bool((second - first < 1e-4).all())

    def takes_a_rise_for_no_change(attend, q, k, v):
        first, second = _moved(attend, q, k, v)
        return bool((first - second < 1e-4).all())

    def watches_the_first_row_only(attend, q, k, v):
        first, second = _moved(attend, q, k, v)
        return torch.allclose(first[0], second[0], atol=1e-4)

    def watches_the_first_channel_only(attend, q, k, v):
        first, second = _moved(attend, q, k, v)
        return torch.allclose(first[:, 0], second[:, 0], atol=1e-4)

    def compares_sums(attend, q, k, v):
        first, second = _moved(attend, q, k, v)
        return torch.allclose(first.sum(), second.sum(), atol=1e-4)

    def answers_the_opposite_question(attend, q, k, v):
        """True and False are swapped"""
        return not ignores_the_start.right(attend, q, k, v)

    def returns_a_table_of_booleans(attend, q, k, v):
        """… is a bool tensor of shape"""
        first, second = _moved(attend, q, k, v)
        return (first - second).abs() < 1e-4


def _places(T, step=1.0):
    return torch.arange(float(T)) * step


@exercise("8.4")
class squeezed:
    """squeezed(T, trained) -> (T,), places of a text of T tokens, none of them `trained` or more"""

    cases = ((8, 4), (3, 4), (4, 4), (10, 4), (1, 4))

    def right(T, trained):
        return _places(T, min(1.0, trained / T))

    def also(T, trained):
        places = [float(t) if trained >= T else t * trained / T for t in range(T)]
        return torch.tensor(places)

    def also_by_linspace(T, trained):
        room = max(T, trained)
        return torch.linspace(0, trained, room + 1)[:T]

    def stretches_short_texts_too(T, trained):
        """A text no longer than `trained` keeps its whole places"""
        return _places(T, trained / T)

    def squeezes_nothing(T, trained):
        """Places of a long text still reach `trained` and more"""
        return _places(T)

    def multiplies_by_the_wrong_factor(T, trained):
        """The factor is upside down: the places move apart"""
        return _places(T, max(1.0, T / trained))

    def starts_again_from_0(T, trained):
        """Two tokens share a place: squeeze the places, do not restart them"""
        return _places(T) % trained

    def stops_at_the_last_place(T, trained):
        return _places(T).clamp(max=trained - 1)

    def rounds_down_to_whole_places(T, trained):
        """Two tokens share a place: keep the fractions"""
        return squeezed.right(T, trained).floor()

    def lets_the_last_token_stand_on_the_last_place(T, trained):
        """The step is a little too large: a text twice as long takes steps of one half"""
        return _places(T, min(1.0, (trained - 1) / max(T - 1, 1)))

    def starts_at_1(T, trained):
        """The first place is 0"""
        return squeezed.right(T, trained) + 1

    def returns_a_list(T, trained):
        """… is a list, but"""
        return squeezed.right(T, trained).tolist()

    def returns_the_step(T, trained):
        """… but"""
        return min(1.0, trained / T)
