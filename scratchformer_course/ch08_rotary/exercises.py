"""The exercises of chapter 8, rotary positions."""

import cmath
import math

import torch

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import expect


def _times(pair, rows):
    """The (2, 2) matrix of these rows times the pair."""
    return torch.tensor(rows) @ pair


def right_rotate(pair, angle):
    c, s = math.cos(angle), math.sin(angle)
    return _times(pair, [[c, -s], [s, c]])


def by_a_complex_number(pair, angle):
    z = complex(*pair.tolist()) * cmath.exp(1j * angle)
    return torch.tensor([z.real, z.imag])


def overwrites_the_first(pair, angle):
    a, b = pair
    a = a * math.cos(angle) - b * math.sin(angle)
    b = a * math.sin(angle) + b * math.cos(angle)
    return torch.stack((a, b))


def forgets_the_minus(pair, angle):
    c, s = math.cos(angle), math.sin(angle)
    return _times(pair, [[c, s], [s, c]])


rotate = exercise(
    "8.1",
    "rotate(pair: (2,), angle: float, in radians) -> (2,), turned counter-clockwise",
    cases=(
        (torch.tensor([2.0, 1.0]), 0.5),
        (torch.tensor([-1.0, 3.0]), 2.0),
        (torch.tensor([30.0, -0.2]), -1.234),
        (torch.tensor([0.0, -4.0]), 40.0),
        (torch.tensor([-3.0, 0.0]), 0.5),
    ),
    more=drawn(8, lambda draw: (normal(draw, 2, scale=5.0), draw.uniform(-9, 9))),
    right=[right_rotate, by_a_complex_number],
    hints=[
        "Where do the small arrows (1, 0) and (0, 1) end, and how many steps do you take along "
        "each?",
        "The first number is `a * math.cos(angle) - b * math.sin(angle)`. The second is made of a"
        " and b too, with a plus.",
    ],
    question=number(
        "Turn (10, 5) by the angle whose cosine is 0.6 and whose sine is 0.8. What is the second "
        "number? One digit.",
        lambda f: f(torch.tensor([10.0, 5.0]), math.acos(0.6))[1],
        digits=1,
    ),
    mistakes=[
        mistake(
            "turns clockwise",
            "This turns clockwise: the minus belongs in the first line",
            lambda pair, angle: right_rotate(pair, -angle),
        ),
        mistake(
            "takes degrees",
            "The angle is in radians, not degrees",
            lambda pair, angle: right_rotate(pair, math.radians(angle)),
        ),
        mistake(
            "overwrites the first number too early",
            "The second line uses the new first number: it needs the old one",
            overwrites_the_first,
        ),
        mistake(
            "forgets the minus",
            "Both signs are plus: that is no rotation, the length changes",
            forgets_the_minus,
        ),
        mistake(
            "scales each number by itself",
            "Each new number is made of both old ones",
            lambda pair, angle: pair * torch.tensor([math.cos(angle), math.sin(angle)]),
        ),
    ],
)


def _pairs(a, b):
    """Two (…, T, D/2) tensors as one (…, T, D), channel by channel in turn."""
    return torch.stack((a, b), dim=-1).flatten(-2)


def _turned(x, positions, exponent=2):
    """First and second of each pair after the turn, (…, T, D/2) each; a mistake's exponent."""
    a, b = x[..., 0::2], x[..., 1::2]
    D = x.shape[-1]
    angles = torch.outer(positions, 10_000 ** (-exponent * torch.arange(D // 2) / D))
    sin, cos = angles.sin(), angles.cos()
    return a * cos - b * sin, a * sin + b * cos


def _exponentials(*shape):
    return torch.linspace(-1, 2, math.prod(shape)).view(shape).exp()


def _random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(8))


def right_rotary(x, positions):
    return _pairs(*_turned(x, positions))


def by_complex_numbers(x, positions):
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())  # (…, T, D/2)
    D = x.shape[-1]
    angles = torch.outer(positions, 10_000 ** (-2 * torch.arange(D // 2) / D))
    turns = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(z * turns).flatten(-2)


def _at_places(draw):
    x = normal(draw, *[2, 3][: draw.randint(0, 2)], draw.randint(1, 5), 2 * draw.randint(1, 4))
    return x, torch.tensor([draw.choice([0.0, 1.0, 2.5, 17.0]) for _ in range(x.shape[-2])])


rotary = exercise(
    "8.2",
    "rotary(x: (…, T, D), positions: (T,)) -> (…, T, D), pairs turned by position times speed",
    cases=(
        (_exponentials(5, 8), torch.arange(5.0)),
        (_exponentials(3, 4), torch.tensor([0.5, 7.0, 100.0])),
        (_exponentials(2, 3, 4, 6), torch.arange(4.0)),
        (_random(2, 5, 5, 10).transpose(1, 2), torch.tensor([9.0, 0.0, 9.0, 300.0, 2.0])),
        (_random(3, 1, 2), torch.tensor([6.0])),
        (_exponentials(5, 8), torch.tensor([100.0, 4.0, 3.0, 0.0, 7.5])),  # the shape of the first
        (_random(1, 1, 3, 4), torch.tensor([2.0, 0.0, 50.0])),
    ),
    slopes=["x"],
    more=drawn(8, _at_places),
    right=[right_rotary, by_complex_numbers],
    hints=[
        "By which angle does pair i turn in row t? All of these angles make a table (T, D/2).",
        "`torch.outer(positions, 10_000 ** (-torch.arange(0, D, 2) / D))` holds the angles. Turn "
        "`x[..., 0::2]` and `x[..., 1::2]` as in exercise 8.1, and put them side by side again "
        "with `torch.stack` and `flatten`.",
    ],
    question=number(
        "A head has D = 4. A row at position 100 holds (2, 1) in channels 2 and 3. What stands in "
        "channel 2 after `rotary`? One digit. (cos 1 = 0.54 and sin 1 = 0.84, cos 10 = −0.84 and "
        "sin 10 = −0.54, cos 100 = 0.86 and sin 100 = −0.51.)",
        lambda f: f(torch.tensor([[0.0, 0.0, 2.0, 1.0]]), torch.tensor([100.0]))[0, 2],
        digits=1,
    ),
    mistakes=[
        mistake(
            "pairs channel i with channel i + D/2",
            "Channel i is paired with i + D/2. Some libraries do so; on this page neighbours turn",
            lambda x, positions: torch.cat(_turned(_pairs(*x.chunk(2, dim=-1)), positions), dim=-1),
        ),
        mistake(
            "leaves the halves apart",
            "The pairs are not put side by side again",
            lambda x, positions: torch.cat(_turned(x, positions), dim=-1),
        ),
        mistake(
            "turns clockwise",
            "It turns clockwise: a cos − b sin comes first",
            lambda x, positions: right_rotary(x, -positions),
        ),
        mistake(
            "counts positions itself",
            "Row t stands at `positions[t]`, not at t",
            lambda x, positions: right_rotary(x, torch.arange(float(len(positions)))),
        ),
        mistake(
            "forgets the 2 of 2i",
            "The exponent is half as large as it should be",
            lambda x, positions: _pairs(*_turned(x, positions, exponent=1)),
        ),
    ],
)


class _Attention:
    """Attention with places that a message shows by its name; `how` turns q, k, v at places."""

    def __init__(self, name, how):
        self.name, self.how = name, how

    def __repr__(self):
        return self.name

    def __call__(self, q, k, v, positions):
        q, k, v = self.how(q, k, v, positions)
        return (q @ k.T / math.sqrt(q.shape[1])).softmax(dim=1) @ v


_turn = right_rotary
ATTENTIONS = (
    _Attention("turns_queries_and_keys", lambda q, k, v, p: (_turn(q, p), _turn(k, p), v)),
    _Attention("turns_queries_alone", lambda q, k, v, p: (_turn(q, p), k, v)),
    _Attention("turns_keys_twice_as_fast", lambda q, k, v, p: (_turn(q, p), _turn(k, 2 * p), v)),
    _Attention("turns_values_too", lambda q, k, v, p: (_turn(q, p), _turn(k, p), _turn(v, p))),
    _Attention("turns_nothing", lambda q, k, v, p: (q, k, v)),
    _Attention("turns_keys_alone", lambda q, k, v, p: (q, _turn(k, p), v)),
    _Attention("adds_a_little_of_the_place", lambda q, k, v, p: (q, k, v + 5e-4 * p[:, None])),
    _Attention("turns_back", lambda q, k, v, p: (_turn(q, -p), _turn(k, -p), v)),
)
QKV = tuple(_random(3, 5, 8))
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
    tuple(_random(3, 7, 4)),
    tuple(_random(3, 6, 4)),
    tuple(_random(3, 9, 6)),
)


FAR = _Attention(
    "stops_counting_at_50",
    lambda q, k, v, p: (_turn(q, p.clamp(max=50)), _turn(k, p.clamp(max=50)), v),
)
FAINT = _Attention(
    "adds_very_little_of_the_place", lambda q, k, v, p: (q, k, v + 5e-6 * p[:, None])
)
FAINT_IN_ONE = _Attention(
    "adds_very_little_of_the_place_in_one_channel",
    lambda q, k, v, p: (q, k, v + 5e-6 * p[:, None] * (torch.arange(8) == 3)),
)


def _compared(by=100.0, atol=1e-4, of=torch.clone):
    """An answer that moves the text on `by` places, and compares this of the two outputs."""

    def answer(attend, q, k, v):
        places = torch.arange(float(len(q)))
        first, second = (of(attend(q, k, v, p)) for p in (places, places + by))
        return torch.allclose(first, second, atol=atol)

    return answer


def right_ignores_the_start(attend, q, k, v):
    positions = torch.arange(float(len(q)))
    first = attend(q, k, v, positions)
    second = attend(q, k, v, positions + 100)
    return torch.allclose(first, second, atol=1e-4)


def from_three_starts(attend, q, k, v):
    places = torch.arange(float(len(q)))
    before = attend(q, k, v, places)
    for start in (3, 100):
        after = attend(q, k, v, start + places)
        if (after - before).abs().max() > 1e-4:
            return False
    return True


def stretches_the_text(attend, q, k, v):
    positions = torch.arange(float(len(q)))
    first = attend(q, k, v, positions)
    second = attend(q, k, v, 2 * positions)
    return torch.allclose(first, second, atol=1e-4)


ignores_the_start = exercise(
    "8.3",
    "ignores_the_start(attend, q: (T, D), k: (T, D), v: (T, D)) -> bool. `attend(q, k, v, "
    "positions)` returns (T, D).",
    cases=(
        *((attend, *qkv) for attend, qkv in zip(ATTENTIONS, GIVEN, strict=True)),
        (ATTENTIONS[1], torch.cat((_q[:4], torch.zeros(1, 8))), _k, _v),  # the last query stays
        (FAR, *QKV),
        (FAINT, _q, _k, _v + 3),
    ),
    more=[(FAINT_IN_ONE, _q, _k, _v)],
    right=[right_ignores_the_start, from_three_starts],
    hints=[
        "Which two calls of `attend` must give the same outputs?",
        "One call gets `positions = torch.arange(float(len(q)))`, the other one `positions + 100`. "
        "Compare all of their numbers, not a sum of them.",
    ],
    question=which(
        "stretches the text",
        beside=[right_ignores_the_start, from_three_starts],
        others=["compares a place with itself", "compares sums"],
    ),
    mistakes=[
        mistake(
            "stretches the text",
            "It says False too often: move all positions on by one step (do not stretch or reverse "
            "them), and allow for rounding with `atol=1e-4`",
            stretches_the_text,
        ),
        mistake(
            "compares a place with itself",
            "It says True whatever `attend` does: the second call needs other positions",
            _compared(by=0),
        ),
        mistake(
            "compares sums",
            "All numbers of all rows must stay: compare each of them, by the absolute value of its "
            "difference. A sum or a length can stay while they move",
            _compared(of=torch.sum),
        ),
        mistake(
            "allows a difference of 0.001",
            "A small difference is taken for rounding: allow no more than `atol=1e-4`",
            _compared(atol=1e-3),
        ),
        mistake(
            "moves the text by 1 only",
            "It says True too often: the second text starts at place 100",
            _compared(by=1),
        ),
    ],
)


def turns_the_query_back(distance, D):
    i = torch.arange(D // 2)
    angle = -distance * 10_000 ** (-2 * i / D)
    query = torch.stack((angle.cos(), angle.sin()), dim=1)
    key = torch.tensor([1.0, 0.0]).repeat(D // 2)
    return query.flatten(), key


def turns_the_key_forth(distance, D):
    i = torch.arange(D // 2)
    angle = distance * 10_000 ** (-2 * i / D)
    key = torch.stack((angle.cos(), angle.sin()), dim=1)
    query = torch.tensor([1.0, 0.0]).repeat(D // 2)
    return query, key.flatten()


def turns_the_query_forth(distance, D):
    i = torch.arange(D // 2)
    angle = distance * 10_000 ** (-2 * i / D)
    query = torch.stack((angle.cos(), angle.sin()), dim=1)
    key = torch.tensor([1.0, 0.0]).repeat(D // 2)
    return query.flatten(), key


def turns_all_pairs_alike(distance, D):
    query = torch.tensor([math.cos(-distance), math.sin(-distance)]).repeat(D // 2)
    return query, torch.tensor([1.0, 0.0]).repeat(D // 2)


def with_the_slowest_pair_alone(distance, D):
    query, key = turns_the_query_back(distance, D)
    slowest = torch.arange(D) >= D - 2
    return query * slowest, key * slowest


def judge_looks_back(call):
    for distance, D in ((1, 32), (5, 32), (0, 8), (12, 16), (30, 64)):
        query, key = call(distance, D).like((torch.ones(D), torch.ones(D)))
        for name, vector in (("query", query), ("key", key)):
            shape = f"The {name} of `{call}` has shape {tuple(vector.shape)}, expected {(D,)}."
            expect(vector.shape == (D,), shape)
            expect(vector.isfinite().all(), f"The {name} of `{call}` holds NaN or infinity.")
        places = torch.arange(41.0)
        last = right_rotary(query.float().unsqueeze(0), places[-1:])
        keys = right_rotary(key.float().expand(41, -1), places)
        scores = (keys @ last[0]).flip(0)  # by distance
        first, second = scores.topk(2).values.tolist()
        found = int(scores.argmax())
        flat = f"With `{call}` two distances have the same largest score, {first:.2f}."
        expect(first - second > 1e-4 * max(abs(first), 1e-3), flat)
        expect(found == distance, f"With `{call}` the score is largest at distance {found}.")
        if D == 64:
            share = second / max(abs(first), 1e-6)
            praise = (
                f"At distance 30 the score is {first:.2f}. The second-best distance reaches "
                f"{share:.0%} of it; the lower, the sharper the aim."
            )
    return praise


looks_back = exercise(
    "8.4",
    "looks_back(distance, D) -> query (D,) and key (D,), whose score is largest that far back",
    judge=judge_looks_back,
    right=[turns_the_query_back, turns_the_key_forth],
    hints=[
        "At which distance do two equal arrows meet, and which of them would you turn beforehand?",
        "Start with the same vector for both. Turn the query by `rotary` at a place below 0, so "
        "that `distance` places later it is ...",
    ],
    question=which(
        "turns the query forth",
        beside=[turns_the_query_back, turns_the_key_forth],
        others=["uses the slowest pair alone", "turns all pairs alike"],
    ),
    mistakes=[
        refused(
            "turns the query forth",
            "With `looks_back(1, 32)` the score is largest at distance 0",
            turns_the_query_forth,
        ),
        refused("turns all pairs alike", "the score is largest at distance", turns_all_pairs_alike),
        refused("uses the slowest pair alone", "two distances", with_the_slowest_pair_alone),
        refused(
            "returns pairs",
            "has shape (16, 2)",
            lambda distance, D: tuple(v.view(-1, 2) for v in turns_the_query_back(distance, D)),
        ),
        refused(
            "divides by the distance",
            "holds NaN or infinity",
            lambda distance, D: tuple(v / distance for v in turns_the_query_back(distance, D)),
        ),
    ],
)
