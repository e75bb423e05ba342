"""The exercises of chapter 8, rotary positions."""

import math

import torch

from scratchformer_course.kit.checks import exercise, expect, number, which
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.mistakes import edits


def right_rotate(pair, angle):
    a, b = pair
    first = torch.tensor([math.cos(angle), math.sin(angle)])
    second = torch.tensor([-math.sin(angle), math.cos(angle)])
    return a * first + b * second


rotate = exercise(
    "8.1",
    "rotate(pair: (2,), angle: float, in radians) -> (2,), turned counter-clockwise",
    cases=[(torch.tensor([2.0, 1.0]), 0.5), (torch.tensor([-1.0, 3.0]), 2.0)],
    more=drawn(24, lambda draw: (normal(draw, 2, scale=5.0), draw.uniform(-9, 9))),
    right=[right_rotate],
    hints=[
        "Where do the arrows (1, 0) and (0, 1) end, and how many steps do you take along each?",
        "The first number is `a * math.cos(angle) - b * math.sin(angle)`. The second is made of a"
        " and b too, with a plus.",
    ],
    question=number(
        "Turn (10, 5) by the angle whose cosine is 0.6 and whose sine is 0.8. What is the second "
        "number? One digit.",
        lambda f: f(torch.tensor([10.0, 5.0]), math.acos(0.6))[1],
        digits=1,
    ),
    mistakes={
        "sin(a -> sin(-a": "This turns clockwise: the minus belongs in the first line",
        "(angle) -> (math.radians(angle))": "The angle is in radians, not degrees",
        "return a -> a = (a * first + b * second)[0]; return torch.stack((a, b))\n"
        "(a, b)) * first + b * second -> (a, (a * first + b * second)[1]))": "The second line "
        "uses the new first number: it needs the old one",
        "-math -> math": "Both signs are plus: that is no rotation, the length changes",
    },
)


def right_rotary(x, positions):
    D = x.shape[-1]
    speeds = 10_000 ** (-torch.arange(0, D, 2) / D)  # (D/2,)
    angles = torch.outer(positions, speeds)  # (T, D/2)
    cos, sin = angles.cos(), angles.sin()  # (T, D/2) each
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return pairs.flatten(-2)  # (..., T, D/2, 2) -> (..., T, D)


def _random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(8))


def _at_places(draw):
    x = normal(draw, *[2, 3][: draw.randint(0, 2)], draw.size(1, 5, 30), 2 * draw.size(1, 4, 20))
    return x, torch.tensor([draw.choice([0.0, 1.0, 2.5, 17.0]) for _ in range(x.shape[-2])])


rotary = exercise(
    "8.2",
    "rotary(x: (…, T, D), positions: (T,)) -> (…, T, D), pairs turned by position times speed",
    cases=(
        (_random(5, 8), torch.arange(5.0)),
        (_random(5, 8), torch.tensor([2049.0, 4.0, 257.0, 0.0, 7.5])),
        (_random(2, 5, 5, 10).transpose(1, 2), torch.tensor([9.0, 0.0, 9.0, 300.0, 2.0])),
    ),
    slopes=["x"],
    more=drawn(8, _at_places),
    right=[right_rotary],
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
    mistakes={
        "x[..., 0::2], x[..., 1::2] -> x.chunk(2, -1)\nstack -> cat\n"
        ".flatten(-2) -> ": "Channel i is paired with i + D/2. Some libraries do so; on this "
        "page neighbours turn",
        "stack -> cat\n.flatten(-2) -> ": "The pairs are not put side by side again",
        "angles.sin() -> -angles.sin()": "It turns clockwise: a cos − b sin comes first",
        "outer(positions -> outer(torch.arange(float(len(positions)))": "Row t stands at "
        "`positions[t]`, not at t",
    },
)


class _Attention:
    """Attention at places p, which a message shows by its name.

    `how` turns q, k, v there, and `after` changes what comes out.
    """

    def __init__(self, name, how=lambda *given: given[:3], after=lambda out, p: out):
        self.name, self.how, self.after = name, how, after

    def __repr__(self):
        return self.name

    def __call__(self, q, k, v, positions):
        q, k, v = self.how(q, k, v, positions)
        out = (q @ k.T / math.sqrt(q.shape[1])).softmax(dim=1) @ v
        return self.after(out, positions)


def _adds(name, amount):
    """Attention whose values rise with their places, by so much in each channel."""
    return _Attention(name, lambda q, k, v, p: (q, k, v + p[:, None] * amount))


_turn = right_rotary
ATTENTIONS = (
    _Attention("turns_queries_and_keys", lambda q, k, v, p: (_turn(q, p), _turn(k, p), v)),
    _Attention("turns_queries_alone", lambda q, k, v, p: (_turn(q, p), k, v)),
    _Attention("turns_the_first_query", lambda q, k, v, p: (_turn(q, p * (p % 100 == 0)), k, v)),
    _Attention("turns_values_too", lambda q, k, v, p: (_turn(q, p), _turn(k, p), _turn(v, p))),
    _Attention("stops_at_50", lambda q, k, v, p: (_turn(q, p.clamp(max=50)), _turn(k, p), v)),
    _adds("adds_a_little_of_the_place", 5e-6 * (torch.arange(8) == 3)),
    _adds("takes_a_little_of_the_place", -5e-6),
    _adds("adds_and_takes_as_much", torch.tensor([5e-4, -5e-4] * 4)),
    _Attention("moves_rows_on", after=lambda out, p: out.roll(int(p[0] > 0), 0)),
    _Attention("changes_one_row", after=lambda out, p: out + 5e-4 * (p[:, None] == 104)),
)


def right_ignores_the_start(attend, q, k, v):
    positions = torch.arange(float(len(q)))  # (T,)
    at_0 = attend(q, k, v, positions)  # (T, D)
    at_100 = attend(q, k, v, positions + 100)  # (T, D)
    return torch.allclose(at_0, at_100, atol=1e-4)


ignores_the_start = exercise(
    "8.3",
    "ignores_the_start(attend, q: (T, D), k: (T, D), v: (T, D)) -> bool. `attend(q, k, v, "
    "positions)` returns (T, D).",
    cases=[(attend, *2 * _random(3, 9, 8)) for attend in ATTENTIONS],
    right=[right_ignores_the_start],
    hints=[
        "Which two calls of `attend` must give the same outputs?",
        "One call gets `positions = torch.arange(float(len(q)))`, the other one `positions + 100`. "
        "Compare all of their numbers, not a sum of them.",
    ],
    question=which(
        "positions + 100 -> 2 * positions",
        others=["positions + 100 -> positions", "at_0, at_100 -> at_0.sum(), at_100.sum()"],
    ),
    mistakes={
        "positions + 100 -> 2 * positions": "It says False too often: move all positions on by "
        "one step (do not stretch or reverse them), and allow for rounding with `atol=1e-4`",
        "positions + 100 -> positions": "It says True whatever `attend` does: the second call "
        "needs other positions",
        "at_0, at_100 -> at_0.sum(), at_100.sum()": "All numbers of all rows must stay: "
        "compare each of them, by the absolute value of its difference. A sum or a length can "
        "stay while they move",
        "torch.allclose -> not torch.allclose": "It is the wrong way round: True means that the "
        "outputs stay",
        "torch.allclose(at_0, at_100, atol=1e-4) -> bool((at_0 - at_100).max() < 1e-4)": "A "
        "difference below 0 counts too: take `abs()` of all first",
        "1e-4 -> 1e-3": "A small difference is taken for rounding: allow no more than `atol=1e-4`",
    },
)


def right_looks_back(distance, D):
    key = torch.ones(D)
    # turned back by the distance: the place of the query turns it forth
    query = right_rotary(key.unsqueeze(0), torch.tensor([-float(distance)]))[0]
    return query, key


def turns_the_key_forth(distance, D):
    i = torch.arange(D // 2)
    angle = distance * 10_000 ** (-2 * i / D)
    key = torch.stack((angle.cos(), angle.sin()), dim=1)
    query = torch.tensor([1.0, 0.0]).repeat(D // 2)
    return query, key.flatten()


def judge_looks_back(call):
    for distance, D in ((1, 32), (5, 32), (0, 8), (12, 16), (30, 64)):
        vectors = call(distance, D).like((torch.ones(D), torch.ones(D)))
        for name, vector in zip(("query", "key"), vectors, strict=True):
            shape = f"The {name} of `{call}` has shape {tuple(vector.shape)}, expected {(D,)}."
            expect(vector.shape == (D,), shape)
            expect(vector.isfinite().all(), f"The {name} of `{call}` holds NaN or infinity.")
        query, key = (vector.float().expand(41, -1) for vector in vectors)
        places = torch.arange(41.0)
        scores = (right_rotary(key, 40 - places) @ right_rotary(query, places)[40]).flatten()
        (first, second), (nearest, _) = (part.tolist() for part in scores.topk(2))
        flat = f"With `{call}` two distances have the same largest score, {first:.2f}."
        expect(first - second > 1e-4 * max(abs(first), 1e-3), flat)
        expect(nearest == distance, f"With `{call}` the score is largest at distance {nearest}.")
    share = second / max(abs(first), 1e-6)
    return (
        f"At distance 30 the score is {first:.2f}. The second-best distance reaches "
        f"{share:.0%} of it; the lower, the sharper the aim."
    )


looks_back = exercise(
    "8.4",
    "looks_back(distance, D) -> query (D,) and key (D,), whose score is largest that far back",
    judge=judge_looks_back,
    right=[right_looks_back, turns_the_key_forth],
    hints=[
        "At which distance do two equal arrows meet, and which of them would you turn beforehand?",
        "Start with the same vector for both. Turn the query by `rotary` at a place below 0, so "
        "that `distance` places later it is ...",
    ],
    question=which(
        "query, key.flatten() -> key.flatten(), query",
        others=["10_000 ** (-2 * i / D) -> i**0", "key.flatten() -> key"],
    ),
    mistakes=edits(
        turns_the_key_forth,
        {
            "query, key.flatten() -> key.flatten(), query": "score is largest at distance 0",
            "10_000 ** (-2 * i / D) -> i**0": "score is largest at distance 2",
            "key.flatten() -> key": "has shape (16, 2)",
        },
        quoted=True,
    ),
)
