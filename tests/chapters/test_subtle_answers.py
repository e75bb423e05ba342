"""Answers that are right in the usual cases alone, each of a kind that the drawn cases vary.

These are: a far larger case, equal values, another type, an argument that is left out, slopes, and
training. And right answers that other roundings or other places would refuse.
"""

import pytest
import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.mistakes import edited
from tests.chapters.subtle import WRONG
from tests.chapters.tables import ALL, PATIENCE

BY_NAME = {exercise.name: exercise for _, exercise in ALL}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, changes in WRONG.items() for change in changes]
)
def test_an_answer_that_is_right_in_the_usual_cases_alone_is_refused(name, change):
    exercise = BY_NAME[name]
    assert not exercise(edited(exercise.right, change), limit=PATIENCE)


def of_each_text(model, ids):
    """Each text with a cache of its own, beside the others."""
    caches, logits = [model.new_cache() for _ in ids], []
    for t in range(ids.shape[1]):
        rows = [model(ids[b : b + 1, t : t + 1], cache) for b, cache in enumerate(caches)]
        logits.append(torch.cat(rows))
    return (torch.cat(logits, dim=1) - torch.cat([model(row[None]) for row in ids])).abs().max()


def in_one_slice(x, source, place, head, n_heads):
    x, D = x.clone(), x.shape[-1] // n_heads
    place = slice(place, place + 1)  # where -1 would be an empty one
    x[:, place, D * (head - 1) : D * head] = source[:, place, D * (head - 1) : D * head]
    return x


def by_angles_in_double_precision(x, positions):
    D = x.shape[-1]
    angles = positions.double()[:, None] / 10_000.0 ** (torch.arange(0, D, 2).double() / D)
    turns = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
    return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns).flatten(-2)


def by_a_penalty(q, k, v, positions):
    distance = (positions[:, None] - positions).abs()
    return (q @ k.T / q.shape[-1] ** 0.5 - 0.1 * distance).softmax(dim=1) @ v


def by_batched_products(v, u, n):
    pull, push = (-(v * u).sum(1)).sigmoid()[:, None], (n @ v[:, :, None]).sigmoid()
    return pull * u - (push * n).sum(1), pull * v, -push * v[:, None]


def by_trying_widths(d_model, multiple):
    width = multiple
    while 3 * width * d_model < 8 * d_model * d_model:
        width += multiple
    return width


def block_by_block(vocab_size, context_length, C, n_layers):
    if n_layers == 0:
        return (vocab_size + context_length + 2) * C
    rest = block_by_block(vocab_size, context_length, C, n_layers - 1)
    return rest + 12 * C**2 + 13 * C


def label_by_label(r, label):
    left = r.double()
    for one in label.unique():
        left[label == one] -= left[label == one].mean()
    return left


def try_by_try(right, k):
    n, missed = right.shape[1], right.new_ones(len(right), dtype=torch.double)
    for i in range(k):
        missed *= (n - right.sum(dim=1) - i).clamp(min=0) / (n - i)
    return 1 - missed.mean()


RIGHT = [
    ("erase", lambda x, d: x - x @ d.T @ torch.linalg.inv(d @ d.T) @ d),
    ("erase", lambda x, d: x - x @ d.T @ torch.linalg.solve(d @ d.T, d)),
    ("erase", lambda x, d: x - (d.T @ torch.linalg.lstsq(d.T, x.T).solution).T),
    ("patch", in_one_slice),
    ("cache_difference", of_each_text),
    ("rotary", by_angles_in_double_precision),
    ("attend", by_a_penalty),
    ("cross_entropy", lambda logits, targets: F.cross_entropy(logits.double(), targets)),
    ("layer_norm", lambda x, weight, bias, eps: F.layer_norm(x, x.shape[-1:], weight, bias, eps)),
    ("masked_softmax", lambda s, mask: s.masked_fill(~mask, torch.finfo(s.dtype).min).softmax(1)),
    ("moves", by_batched_products),
    ("gpt_parameters", block_by_block),
    ("swiglu_width", by_trying_widths),
    ("advantages", label_by_label),
    ("pass_at", try_by_try),
]


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_another_right_way_passes_with_other_seeds_too(name, answer, monkeypatch):
    exercise = BY_NAME[name]
    more = exercise.more if callable(exercise.more) else lambda start: exercise.more
    for start in (0, 1000, 2000):
        monkeypatch.setattr(exercise, "more", more(start=start))
        verdict = exercise(answer, limit=PATIENCE)
        assert verdict, (start, verdict)


def test_the_future_may_be_looked_for_in_one_text_at_a_time():
    exercise = BY_NAME["future_changes_nothing"]

    def text_by_text(model, ids):
        return all(exercise.right(model, row[None]) for row in ids)

    verdict = exercise(text_by_text, limit=PATIENCE)
    assert verdict, verdict
