"""Chapter 23's games: where the ball is, what models are shown, and which answers are right."""

from functools import partial

import pytest
import torch

from lab import thinking
from scratchformer_course.ch23_thinking import cups as world


def fresh():
    return torch.Generator().manual_seed(0)


def ids(text):
    """`3 1-4 2-3 ?` as ids."""
    return torch.tensor([[world.NAMES.index(name) for name in text.split()]])


def test_the_ball_is_where_a_walk_through_the_swaps_ends():
    for x, after in zip(*world.games(50, fresh()), strict=True):
        ball, *swaps, ask = world.decode(x).split()
        for swap, cup in zip(swaps, world.decode(after).split(), strict=True):
            a, b = swap.split("-")
            ball = {a: b, b: a}.get(ball, ball)
            assert ball == cup
        assert ask == "?"


@pytest.mark.parametrize("reads", ["cups", "dots", "another game"])
def test_only_what_is_read_again_differs_between_the_three_trainings(reads):
    x, targets = world.read_again(reads, 40, fresh())
    own, same_targets = world.read_again("cups", 40, fresh())
    written = slice(world.PROMPT, world.PROMPT + world.SWAPS)
    assert torch.equal(targets, same_targets)
    assert torch.equal(x[:, : world.PROMPT], own[:, : world.PROMPT])
    assert torch.equal(x[:, written.stop :], own[:, written.stop :])
    is_own = (x[:, written] == own[:, written]).float().mean()
    assert {"cups": is_own == 1, "dots": is_own == 0, "another game": 0.1 < is_own < 0.3}[reads]


def test_of_both_kinds_a_share_is_written_out_and_every_target_is_the_next_token():
    x, targets = world.both_kinds(0.2, 4000, fresh())
    first = targets[:, world.PROMPT - 1]
    assert 0.17 < (first != world.EQUALS).float().mean() < 0.23
    known = targets[:, :-1] >= 0
    assert torch.equal(x[:, 1:][known], targets[:, :-1][known])


@pytest.mark.parametrize(
    ("text", "says", "tokens", "written"),
    [
        ("= 4 . . . . . . . . .", "4", 3, 0),
        ("3 3 2 1 1 5 4 4 = 4 .", "4", 11, 1),
        ("3 = 4 . . . . . . . .", "4", 4, 1),
        ("4 . . . . . . . . . .", None, 2, 0),  # no =
        ("= 4 4 4 4 4 4 4 4 4 4", None, 11, 1),  # no end
        (". . . . . . . . . . .", None, 1, 0),
        ("= . . . . . . . . . .", None, 2, 0),
    ],
)
def test_an_answer_is_the_cup_between_an_equals_sign_and_the_end(text, says, tokens, written):
    answer = ids(text)
    said = world.said(answer).item()
    assert said == (world.NAMES.index(says) if says else 0)
    assert (world.length(answer).item(), world.wrote(answer).item()) == (tokens, written)


def test_played_answers_end_once_and_are_those_of_the_model_without_a_cache():
    model = world.new_model(seed=1).eval()
    for p in model.parameters():
        p.data.mul_(4 if p.dim() == 2 else 1)
    x, _ = world.games(30, fresh())
    answers, ids_ = world.play(model, x), x
    for _ in range(world.LONGEST):
        ids_ = torch.cat([ids_, model(ids_)[:, -1:].argmax(dim=-1)], dim=1)
    for answer, free in zip(answers.tolist(), ids_[:, world.PROMPT :].tolist(), strict=True):
        end = free.index(world.END) if world.END in free else len(free)
        assert answer == free[:end] + [world.END] * (world.LONGEST - end)


def test_a_reward_moves_the_model_towards_what_is_paid():
    model = world.new_model(seed=0).eval()
    x, _ = world.games(64, fresh())
    first = x.shape[1] - 1

    def share():
        return model(x)[:, first].softmax(dim=-1)[:, world.END].mean().item()

    before, generator = share(), fresh()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    paid = partial(thinking.priced, price=0.1)  # nothing is right yet, so the shortest earns most
    for _ in range(5):
        thinking.update(model, optimizer, paid, generator)
    assert share() > 1.5 * before
