"""Greedy and beam search: stop at the end, remember their history, and find what can be found."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from random_weights import randomised
from refusals import refused

from scratchformer.generation import beam_search, greedy_decode
from scratchformer.models import Seq2Seq, Seq2SeqConfig

PAD, BEGIN, END = 0, 1, 2
SOURCE = torch.tensor([[3, 4, 5, 4], [5, 3, 0, 0], [4, 4, 4, 0]])


def small(seed=0, **changes):
    torch.manual_seed(seed)
    return randomised(Seq2Seq(Seq2SeqConfig(6, 12, 16, n_heads=2, n_layers=2, **changes)), 0.4)


def log_p(model, source, ids):
    """ln of the probability of each row of `ids`, given one source, padding left out."""
    with torch.no_grad():
        source = source[source != PAD].expand(len(ids), -1)
        steps = model(source, ids[:, :-1]).log_softmax(dim=-1)
    picked = steps.gather(2, ids[:, 1:, None])[..., 0]
    return picked.masked_fill(ids[:, 1:] == PAD, 0.0).sum(dim=1)


def targets(T):
    """All that can be written in T tokens: those that END, and unfinished ones of length T."""
    bodies = [body for n in range(T + 1) for body in itertools.product((3, 4, 5), repeat=n)]
    rows = [[BEGIN, *body, END, *[PAD] * T][: T + 1] for body in bodies]
    return torch.tensor(rows)


@pytest.mark.parametrize("impossible", [[], [3]])
def test_greedy_takes_the_likeliest_token_and_is_a_beam_of_width_one(impossible):
    model = small(dropout=0.5)
    model.lm_head.register_forward_hook(
        lambda module, inputs, out: out.index_fill(-1, torch.tensor(impossible).long(), -math.inf)
    )
    ids = greedy_decode(model.train(), SOURCE, 9)
    widened, scores = beam_search(model, SOURCE, 9, 1)
    assert torch.equal(widened, ids) and (ids[:, 0] == BEGIN).all() and model.training
    model.eval()
    for source, row, score in zip(SOURCE, ids, scores, strict=True):
        row = row[row != PAD]
        for t in range(1, len(row)):
            logits = model(source[source != PAD][None], row[None, :t])[0, -1]
            logits[[PAD, BEGIN]] = -math.inf
            assert row[t] == logits.argmax()
        torch.testing.assert_close(score, log_p(model, source, row[None])[0])


@pytest.mark.parametrize(("seed", "length_penalty"), [(0, 0.0), (14, 0.6), (6, 3.0), (3, 1e308)])
def test_a_beam_wide_enough_finds_the_best_of_all_targets(seed, length_penalty):
    """Against a list of everything that can be written in four tokens; lengths decide in some."""
    model, rows = small(seed), targets(4)
    ids, scores = beam_search(model, SOURCE, 4, len(rows), length_penalty)
    length = (rows[:, 1:] != PAD).sum(dim=1).double()
    for i, source in enumerate(SOURCE):
        p = log_p(model, source, rows)
        best = ((-p).double().log() - length_penalty * ((5 + length) / 9).log()).argmin()
        assert F.pad(ids[i], (0, 5 - ids.shape[1])).equal(rows[best])
        torch.testing.assert_close(scores[i], p[best], rtol=1e-4, atol=1e-4)


def test_nothing_is_written_after_the_end_however_likely_and_wished_for_it_is():
    def decode(ids, memory, source):
        likely = torch.where((ids == END).any(dim=1), 3, END)
        return 9.0 * F.one_hot(likely, 6)[:, None].expand(-1, ids.shape[1], -1)

    model = small()
    model.decode = decode
    assert beam_search(model, SOURCE, 4, 40, 10.0)[0].tolist() == [[BEGIN, END]] * 3


def test_scores_of_16_bits_are_added_up_in_32():
    scores = beam_search(small(3).half(), SOURCE, 9)[1]
    assert scores.dtype == torch.float32
    assert scores.tolist() == pytest.approx(beam_search(small(3), SOURCE, 9)[1].tolist(), abs=0.05)


def not_numbers(module):
    for p in module.parameters(recurse=False):
        p.data.fill_(math.nan)


test_what_makes_no_sense_is_refused = refused(
    {
        "max_new_tokens=0, expected 1 to context_le": lambda: greedy_decode(small(), SOURCE, 0),
        "tokens=13, expected 1 to context_length=12": lambda: beam_search(small(), SOURCE, 13),
        "beam_width=0, expected at least 1": lambda: beam_search(small(), SOURCE, 3, 0),
        "length_penalty=-1.0, expected 0": lambda: beam_search(small(), SOURCE, 3, 2, -1.0),
        "logits are not numbers": lambda: greedy_decode(small().apply(not_numbers), SOURCE, 4),
    }
)
