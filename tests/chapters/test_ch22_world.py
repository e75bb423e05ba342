"""Chapter 22's world: what pupils write, and that its exact figures are those of samples."""

import re

import pytest
import torch

from scratchformer_course.ch22_answers import exact
from scratchformer_course.ch22_answers.old_english import LESSONS, sounds_old
from scratchformer_course.ch22_answers.world import (
    CAREFUL,
    EQUALS,
    FORGETS,
    NUMBERS,
    ask,
    by_pupils,
    decode,
    encode,
    is_right,
    new_model,
    pages,
    read,
)


@pytest.fixture(scope="module")
def model():
    """An untrained model with weights so large that its chances differ."""
    model = new_model(seed=0)
    for p in model.parameters():
        p.data.mul_(6 if p.dim() == 2 else 1)
    return model.eval()


@pytest.fixture(scope="module")
def p(model):
    return exact.log_chances(model).exp()  # (90, 100, 100)


def test_a_page_holds_questions_without_answers_or_sums():
    texts = [decode(row) for row in pages(60, torch.Generator().manual_seed(0))]
    sums = r"(\d\d=\d\d\+\d\d\n){2}"
    for text in texts:
        assert len(text) == 18
        assert ("?" in text and not set(text) & set("+=")) or re.fullmatch(sums, text)


def test_pupils_forget_borrows_and_the_chances_of_what_they_write_are_exact():
    q = exact.chances_of_pupils()
    assert torch.allclose(q.sum(dim=(1, 2)), torch.ones(90, dtype=torch.double))
    n = torch.full((40_000,), 42)
    _, a, b, form = read(torch.cat([ask(n), by_pupils(n, torch.Generator().manual_seed(1))], 1))
    borrow = n % 10 < a % 10
    assert form.all() and (a <= n).all() and (b[~borrow] == (n - a)[~borrow]).all()
    wrong = b[borrow] - (n - a)[borrow]
    assert set(wrong.tolist()) == {0, 10}
    careful = by_pupils(n, torch.Generator().manual_seed(1), CAREFUL)
    assert is_right(torch.cat([ask(n), careful], 1)).all()
    assert (wrong == 10).float().mean().item() == pytest.approx(FORGETS, abs=0.02)
    counted = torch.zeros(100, 100, dtype=torch.double)
    counted.index_put_((a, b), torch.ones(len(a), dtype=torch.double), accumulate=True)
    assert (counted / len(a) - q[32]).abs().max() < 0.005


def test_each_chance_is_that_of_its_text(model, p):
    generator = torch.Generator().manual_seed(0)
    for n, a, b in torch.randint(10, 99, (8, 3), generator=generator).tolist():
        text = encode(f"{n}?{a:02}+{b:02}")
        log_p = model(torch.tensor([text]))[0].log_softmax(dim=-1)
        expected = sum(log_p[i - 1, text[i]] for i in range(3, 8)).exp().item()
        assert p[n - 10, a, b].item() == pytest.approx(expected, rel=1e-3)
    assert not torch.allclose(exact.log_chances(model, EQUALS).exp(), p, rtol=0.01)


def test_figures_of_a_model_that_answers_evenly_are_those_by_hand():
    even = exact.RIGHT.double() / (NUMBERS[:, None, None] + 1)  # all right answers alike
    assert exact.share_right(even).tolist() == pytest.approx([1.0] * 90)
    assert exact.different(even) == pytest.approx((NUMBERS + 1).double().mean().item())
    shares = [sum(n % 10 < a % 10 for a in range(n + 1)) / (n + 1) for n in range(10, 100)]
    assert exact.with_borrow(even) == pytest.approx(sum(shares) / 90)
    assert exact.pass_at(even, 1) == 1
    half = 0.5 * even + 0.5 * torch.roll(even, 10, dims=2)  # forgets every second time
    assert exact.pass_at(half, 2) == pytest.approx(0.75)
    assert exact.divergence(even, half) == pytest.approx(torch.tensor(2.0).log().item(), rel=1e-4)
    assert exact.divergence(half, half) == 0


def test_no_model_with_this_gain_is_nearer_than_the_start_with_right_answers_scaled(p):
    start = p / p.sum(dim=(1, 2), keepdim=True)
    r = exact.share_right(start)[:, None, None]
    better = torch.where(exact.RIGHT, start * 0.9 / r, start * 0.1 / (1 - r))
    least = exact.least_divergence(better, start)
    assert exact.divergence(better, start) == pytest.approx(least, rel=1e-3)
    single = torch.zeros_like(start)  # as often right, by a single answer
    best = torch.where(exact.RIGHT, start, 0).flatten(1).argmax(dim=1)
    single.flatten(1)[torch.arange(90), best] = 0.9
    single = single + torch.where(exact.RIGHT, 0, start) * 0.1 / (1 - r)
    assert exact.divergence(single, start) > least + 0.5


def test_right_is_a_sum_that_is_the_number():
    texts = ["85?47+38", "85?47+48", "85?80+05", "85?4++38", "85?40+4=", "19?10+09"]
    ids = torch.tensor([encode(text) for text in texts])
    assert is_right(ids).tolist() == [1, 0, 1, 0, 0, 1]


def test_lessons_sound_old_and_plain_answers_do_not():
    assert sum(sounds_old(reply) for _, reply in LESSONS) >= 28 <= len(LESSONS)
    plain = ["The capital of France is Paris.", "A ship is a vessel."]
    assert not any(map(sounds_old, plain))
