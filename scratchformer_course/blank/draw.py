"""The ladder's check of `sample_next`, which chapter 10 gives: the draw of one token."""

import torch

from scratchformer_course.kit.checks import Wrong, exercise, expect

LOGITS = torch.tensor([2.5, 1.5, 0.5, 0.25])
NO_SOFTMAX = "Are these probabilities? Softmax comes first"
RARE = torch.linspace(0.8, 1.2, 199)
MANY = 4 * torch.cat((24 * RARE.sum()[None], RARE)).log()  # 0.96, at temperature 4
UNSORTED = torch.tensor([0.3, -1.0, 1.7, 0.9, -9.0, 1.1])


def right_sample_next(logits, temperature, generator):
    p = torch.softmax(logits / temperature, dim=-1)
    return torch.multinomial(p, 1, generator=generator).item()


def _draws(call, temperature, seed, count, logits=LOGITS, why=NO_SOFTMAX):
    """Many tokens drawn with one generator."""
    generator, tokens = torch.Generator().manual_seed(seed), []
    for _ in range(count):
        call(logits, temperature, generator)
        if isinstance(call.error, RuntimeError) and "prob" in str(call.error):
            raise Wrong(f"{why}.\n{call.failure()}")
        token = call.like(0, "`.item()` turns a tensor of one element into an int.")
        expect(0 <= token < len(logits), f"`{token}` is no token: 0 to {len(logits) - 1} are.")
        tokens.append(token)
    return tokens


def _expect_shares(tokens, temperature, logits):
    """Raise `Wrong` unless the tokens come about as often as they should."""
    shares = torch.bincount(torch.tensor(tokens), minlength=len(logits)) / len(tokens)
    right = (logits / temperature).softmax(dim=0)
    figures, wanted = (", ".join(f"{p:.2f}" for p in part) for part in (shares, right))
    shown = f"At temperature {temperature:g} the tokens' shares are {figures}, expected {wanted}."
    for p, why in (
        (right, ""),
        ((logits * temperature).softmax(0), "Logits are multiplied by the temperature: divide.\n"),
        (logits.softmax(0), "These are the shares at temperature 1: divide the logits.\n"),
        (logits / logits.sum(), "The logits themselves are used as weights: softmax is missing.\n"),
    ):
        if (shares - p).abs().max() <= 1.6 / len(tokens) ** 0.5:  # three standard deviations
            expect(not why, why + shown)
            return
    raise Wrong(shown)


def judge_sample_next(call):
    first, again, other = (_draws(call, 1.0, seed, 30) for seed in (1, 1, 2))
    why = "The same token comes every time: draw at random, and set no seed inside."
    expect(len({*first, *other}) > 1, why)
    differ = "Two generators with equal seeds give different tokens"
    expect(first == again, f"{differ}: pass `generator` on to the draw.")
    alike = "Generators with different seeds give the same tokens: is a seed set inside?"
    expect(first != other, alike)
    for temperature, logits in ((0.5, LOGITS), (2.0, UNSORTED), (0.05, LOGITS / 10)):
        _expect_shares(_draws(call, temperature, 5, 450, logits), temperature, logits)
    rare = len(set(_draws(call, 4.0, 6, 890, MANY)) - {0})  # 34 on average
    few = f"Of 199 rare tokens, which have 4 % together, only {rare} came in 890 draws: each may."
    expect(rare > 17, few)
    why = "`exp` makes infinity or 0 of logits far from 0: use `torch.softmax`"
    for shift in (1000, -1000):
        tokens = _draws(call, 1.0, 4, 5, torch.tensor([-100.0, 0.0, -200.0]) + shift, why)
        expect(set(tokens) == {1}, f"{why}.")
    _draws(call, 0.01, 7, 10, torch.zeros(65), "The logits are divided, before the softmax")


DRAW = exercise(
    "10.0",  # of no exercise: the ladder only needs the chapter
    "sample_next(logits: (V,), temperature: float, generator: torch.Generator) -> int",
    judge=judge_sample_next,
    right=[right_sample_next],
    mistakes={
        "logits / temperature -> logits * temperature": "multiplied by the temperature",
        ", generator=generator -> ": "pass `generator` on",
        "torch.softmax(logits / temperature, dim=-1) -> logits": "softmax is missing",
    },
)
