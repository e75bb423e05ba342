"""The exercises of chapter 8, rotary positions."""

import math

import torch

from scratchformer.attention import scaled_dot_product_attention
from scratchformer_course.kit.checks import exercise, expect, number, which
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.mistakes import edits


def right_meets_at(q, k, speed):
    (a, b), (c, d) = q.tolist(), k.tolist()
    angle = math.atan2(a * d - b * c, a * c + b * d)  # from q to k, the short way
    return angle / speed


def _arrows(draw):
    return normal(draw, 2), normal(draw, 2), draw.uniform(0.05, 2)


meets_at = exercise(
    "8.1",
    "meets_at(q: (2,), k: (2,), speed: float) -> float, the distance m - n closest to 0 at which "
    "the turned q and k point the same way. A position turns both by `speed` radians.",
    cases=[
        (torch.tensor([2.0, 1.0]), torch.tensor([0.5, 1.5]), 0.3),
        (torch.tensor([-1.0, 1.0]), torch.tensor([-1.0, -2.0]), 0.5),
        (torch.tensor([3.0, 0.0]), torch.tensor([1.0, -4.0]), 2.0),
    ],
    more=drawn(24, _arrows, ties=False),
    right=[right_meets_at],
    hints=[
        "Which angle is between the two arrows before anything turns, and how many positions does "
        "the query need for it?",
        "`math.atan2(height, width)` is the angle of an arrow, from -π to π. Seen from q, the "
        "height of k is `a * d - b * c`, and its width is ...",
    ],
    question=number(
        "The query is (−1, 1), the key (−1, −1), and a position turns both by 0.5 radians. At "
        "which distance closest to 0 do they meet? One digit after the point. (A quarter turn is "
        "1.57 radians.)",
        lambda f: f(torch.tensor([-1.0, 1.0]), torch.tensor([-1.0, -1.0]), 0.5),
        digits=1,
    ),
    mistakes={
        "a * d - b * c -> b * c - a * d": "This is n − m: with m − n it is the query that turns on",
        "angle / speed -> angle * speed": "It multiplies by the speed: radians divided by radians "
        "per position give positions",
        "angle / speed -> angle": "This is the angle between the arrows: how many positions is it?",
        "math.atan2(a * d - b * c, a * c + b * d) -> math.atan2(d, c) - math.atan2(b, a)": "Two "
        "angles were subtracted, which can go the long way round: add or take away a full turn",
        "(a * d - b * c, -> (abs(a * d - b * c),": "The distance has no sign: it is below 0 where "
        "the key comes after the query",
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
        "Through what angle does pair i turn in row t? All of these angles make a table (T, D/2).",
        "`torch.outer(positions, 10_000 ** (-torch.arange(0, D, 2) / D))` holds the angles. Turn "
        "`x[..., 0::2]` and `x[..., 1::2]` as `turn` does, and put them side by side again "
        "with `torch.stack` and `flatten`.",
    ],
    question=number(
        "A head has D = 4. A row at position 100 holds (2, 1) in channels 2 and 3. What is in "
        "channel 2 after `rotary`? One digit after the point. (cos 1 = 0.54 and sin 1 = 0.84, "
        "cos 10 = −0.84 and sin 10 = −0.54, cos 100 = 0.86 and sin 100 = −0.51.)",
        lambda f: f(torch.tensor([[0.0, 0.0, 2.0, 1.0]]), torch.tensor([100.0]))[0, 2],
        digits=1,
    ),
    mistakes={
        "x[..., 0::2], x[..., 1::2] -> x.chunk(2, -1)\nstack -> cat\n"
        ".flatten(-2) -> ": "Channel i is paired with i + D/2. Some libraries do so; on this "
        "page neighbours turn",
        "stack -> cat\n.flatten(-2) -> ": "The pairs are not put side by side again",
        "angles.sin() -> -angles.sin()": "It turns clockwise: a cos − b sin comes first",
        "outer(positions -> outer(torch.arange(float(len(positions)))": "Row t is at "
        "`positions[t]`, not at t",
    },
)


def right_attend(q, k, v, positions):
    q = right_rotary(q, positions)  # (T, D)
    k = right_rotary(k, positions)  # (T, D)
    return scaled_dot_product_attention(q, k, v)[0]


def judge_attend(call):
    for T, D in ((5, 8), (8, 6)):
        q, k, v = _random(3, T, D)
        places, example = torch.arange(float(T)), torch.ones(T, D)

        def of(positions, v=v, q=q, k=k, example=example):
            return call(q, k, v, positions).like(example).float()

        at_0 = of(places)
        shape = f"The outputs have shape {tuple(at_0.shape)}, expected {(T, D)}."
        expect(at_0.shape == (T, D), shape)
        expect(at_0.isfinite().all(), "The outputs hold NaN or infinity.")
        swapped = (of(places[[1, 0, *range(2, T)]]) - at_0).abs().max()
        expect(swapped > 1e-3, "Two words swap positions, and no output changes.")
        for step in (100, 97):
            moved = of(places + step)
            is_same = (moved - at_0).abs().max() < 1e-3
            is_turned = (moved.norm(dim=1) - at_0.norm(dim=1)).abs().max() < 1e-3
            turned = f"Moving the text by {step} positions turns the outputs: values turn, too."
            expect(is_same or not is_turned, turned)
            expect(is_same, f"Moving the text by {step} positions changes the weights of values.")
        twice = (of(places, v=2 * v) - 2 * at_0).abs().max()
        expect(twice < 1e-3, "Twice the values do not give twice the outputs.")
        words = (of(places, k=k.flip(0)) - at_0).abs().max()
        expect(words > 1e-3, "Other keys give the same outputs: the words do not count.")
    return "Moved by 100 positions, no output changes. Two words swap, and the outputs do."


attend = exercise(
    "8.3",
    "attend(q: (T, D), k: (T, D), v: (T, D), positions: (T,)) -> (T, D), the outputs of a head "
    "without a mask. A text that moves keeps its outputs; words that swap positions change them.",
    judge=judge_attend,
    right=[right_attend],
    hints=[
        "Which of the three meet in a dot product, so that their positions can cancel?",
        "`q = rotary(q, positions)`, and the same for another one of the three. Then "
        "`scaled_dot_product_attention(...)[0]`.",
    ],
    question=number(
        "D = 2. The first of two words is at position 0, with the key (0, 2) and the value (0, 0). "
        "The second is a quarter turn on, at 1.57, with the query (1, 0), the key (1, 0) and the "
        "value (1, 0). What is in channel 0 of the second output? Two digits after the point. "
        "(exp 0.71 = 2.03, exp 1.41 = 4.11, and 0.71 is 1 / √D.)",
        lambda f: f(*_quarter_turn())[1, 0],
    ),
    mistakes=edits(
        right_attend,
        {
            "k = right_rotary(k, positions) -> ": "positions changes the weights",
            "q, k, v)[0] -> q, k, right_rotary(v, positions))[0]": "values turn",
            "(k, positions -> (k, 2 * positions": "changes the weights of values",
            "right_rotary(q, positions) -> q\nright_rotary(k, positions) -> k": "no output changes",
            "q, k, v)[0] -> q, q, v)[0]": "the words do not count",
        },
        quoted=True,
    ),
)


def _quarter_turn():
    arrows = torch.tensor([[0.0, 2.0], [1.0, 0.0]])  # as queries and as keys
    values = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    return arrows, arrows, values, torch.tensor([0.0, 1.57])


def right_looks_back(distance, D):
    key = torch.ones(D)
    # turned back by the distance: the query's position turns it forward
    query = right_rotary(key.unsqueeze(0), torch.tensor([-float(distance)]))[0]
    return query, key


def turns_the_key_forward(distance, D):
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
    right=[right_looks_back, turns_the_key_forward],
    hints=[
        "At which distance do two equal arrows meet, and which of them would you turn beforehand?",
        "Start with the same vector for both. Turn the query by `rotary` at a position below 0, so "
        "that `distance` positions later it is ...",
    ],
    question=which(
        "query, key.flatten() -> key.flatten(), query",
        others=["10_000 ** (-2 * i / D) -> i**0", "key.flatten() -> key"],
    ),
    mistakes=edits(
        turns_the_key_forward,
        {
            "query, key.flatten() -> key.flatten(), query": "score is largest at distance 0",
            "10_000 ** (-2 * i / D) -> i**0": "score is largest at distance 2",
            "key.flatten() -> key": "has shape (16, 2)",
        },
        quoted=True,
    ),
)
