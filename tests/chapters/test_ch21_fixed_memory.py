"""Chapter 21: the live figures compute what Python does, and the lab's layers are what they say."""

import random

import pytest
import torch

from lab import fixed_memory
from scratchformer_course.ch21_fixed_memory import live
from scratchformer_course.ch21_fixed_memory.mixers import ATTENTION, MixedModel
from tests.node import Node

in_node = Node(F="ch21_fixed_memory/live.js")
KINDS = ("softmax", "rotated", "sum", "decay", "delta", "reflect", "gated", "nothing")


@pytest.mark.parametrize("rule", live.RULES)
def test_table_and_cache_give_the_same_letters_in_the_page_as_in_python(rule):
    settings, draw = live.pairs_to_write(), random.Random(0)
    for n in (8, 30):
        writes = [(key, settings["first"][key]) for key in range(n)]
        writes += [(key, settings["later"][key]) for key in draw.sample(range(n), n // 2)]
        shown = in_node(
            "return F.recalled(input.settings, input.writes, input.rule).found",
            settings=settings,
            writes=writes,
            rule=rule,
        )
        expected = live.recalled(settings, writes, rule)
        differing = [a for a, b in zip(shown, expected, strict=True) if a != b]
        # old and new letter of a changed key are equally near by the cache and the sum
        assert all(row[0] in [key for key, _ in writes[n:]] for row in differing)


def test_the_page_swaps_the_same_cups_and_its_table_holds_the_same_numbers():
    settings = live.ball_and_cups().settings
    for n, beta in ((0, 2.0), (7, 1.0), (300, 1.9), (10_000, 2.0)):
        shown = in_node(
            "return F.follow(input.n, input.beta, input.settings)",
            n=n,
            beta=beta,
            settings=settings,
        )
        rows, at = live.follow(n, beta)
        assert shown["at"] == at
        torch.testing.assert_close(torch.tensor(shown["rows"]).double(), rows, atol=1e-6, rtol=0)


def test_a_table_follows_ten_thousand_swaps_with_beta_2_and_none_with_1():
    rows, at = live.follow(10_000, 2.0)
    assert int(rows[:, live.BALL].argmax()) == at
    spread = live.follow(10_000, 1.0)[0][:, live.BALL]
    assert (spread.max() - spread.min()).item() < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_no_layer_looks_into_the_future(kind):
    torch.manual_seed(0)
    model = MixedModel(15, 5, [kind] * 2, 16, 2, 4).eval()
    ids = torch.randint(15, (2, 12))
    changed = ids.clone()
    changed[:, 7:] = (ids[:, 7:] + 1) % 15
    with torch.no_grad():
        torch.testing.assert_close(model(ids)[:, :7], model(changed)[:, :7])


@pytest.mark.parametrize("kind", ("rotated", "gated"))
def test_one_token_more_by_what_was_kept_is_the_last_of_all_at_once(kind):
    torch.manual_seed(0)
    model = MixedModel(15, 5, [kind], 16, 2, 4)
    mixer, x = model.blocks[0].mixer, torch.randn(1, 9, 16)
    if kind in ATTENTION:
        mixer.kind = "softmax"  # the price of a token leaves the rotation out
        _q, k, v, *_ = mixer.parts(x)
        kept = {"kv": torch.stack((k, v)).clone()}
        kept["kv"][:, :, :, -1] = 0
        last = fixed_memory.next_token(mixer, x[:, -1:], kept)
    else:
        kept = {"table": torch.zeros(1, 2, 4, 4), "last": torch.zeros(1, 3, 24)}
        for t in range(9):
            last = fixed_memory.next_token(mixer, x[:, t : t + 1], kept)
    torch.testing.assert_close(last, mixer(x)[:, -1:])


def test_games_put_the_ball_where_the_swaps_take_it():
    ids, cups = fixed_memory.games(20, 30, torch.Generator().manual_seed(0))
    for game, said in zip(ids.tolist(), cups.tolist(), strict=True):
        at = [game[0] - len(fixed_memory.PAIRS)]
        for swap in game[1:]:
            i, j = fixed_memory.PAIRS[swap]
            at.append({i: j, j: i}.get(at[-1], at[-1]))
        assert at == said
