"""Greedy and beam search: stop at the end, remember their history, and find what can be found."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from scratchformer.generation import beam_search, greedy_decode
from scratchformer.models import Seq2Seq, Seq2SeqConfig

PAD, BEGIN, END = 0, 1, 2
SOURCE = torch.tensor([[3, 4, 5, 4], [5, 3, 0, 0], [4, 4, 4, 0]])


def small(seed=0, vocab_size=6, **changes):
    """Large random weights: what comes next depends on all that was written."""
    torch.manual_seed(seed)
    model = Seq2Seq(Seq2SeqConfig(vocab_size, 12, 16, n_heads=2, n_layers=2, **changes))
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.normal_(1.0 if "ln_" in name and name.endswith("weight") else 0.0, 0.4)
    return model


def log_p(model, source, ids):
    """ln of the probability of each row of `ids`, padding left out."""
    model.eval()
    with torch.no_grad():
        steps = model(source, ids[:, :-1]).log_softmax(dim=-1)
    picked = steps.gather(2, ids[:, 1:, None])[..., 0]
    return picked.masked_fill(ids[:, 1:] == PAD, 0.0).sum(dim=1)


def targets(vocab_size, T):
    """All that can be written in T tokens: whole ones that END, and unfinished ones of length T."""
    words = [w for w in range(vocab_size) if w not in (PAD, BEGIN, END)]
    for n in range(T + 1):
        for body in itertools.product(words, repeat=n):
            yield [BEGIN, *body, END] if n < T else [BEGIN, *body]


def test_greedy_takes_the_likeliest_token_given_all_it_has_written():
    model = small()
    ids = greedy_decode(model, SOURCE, 8)
    assert (ids[:, 0] == BEGIN).all()
    for source, row in zip(SOURCE, ids, strict=True):
        row = row[row != PAD]
        for t in range(1, len(row)):
            logits = model(source[None], row[None, :t])[0, -1]
            logits[[PAD, BEGIN]] = -math.inf
            assert row[t] == logits.argmax()


@pytest.mark.parametrize("length_penalty", [0.0, 0.6])
def test_a_beam_of_width_one_is_greedy(length_penalty):
    model = small()
    greedy = greedy_decode(model, SOURCE, 9)
    ids, found = beam_search(model, SOURCE, 9, 1, length_penalty)
    assert torch.equal(ids, greedy)
    torch.testing.assert_close(found, log_p(model, SOURCE, ids), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("seed", "length_penalty"), [(0, 0.0), (14, 0.6), (6, 3.0)])
def test_a_beam_wide_enough_finds_the_best_of_all_targets(seed, length_penalty):
    """Against a list of everything that can be written in four tokens; lengths decide in two."""
    model = small(seed)
    every = list(targets(6, 4))
    ids, found = beam_search(model, SOURCE, 4, len(every), length_penalty)
    padded = torch.tensor([row + [PAD] * (5 - len(row)) for row in every])
    length = (padded[:, 1:] != PAD).sum(dim=1)
    for i, source in enumerate(SOURCE):
        p = log_p(model, source.expand(len(every), -1), padded)
        best = (p / ((5 + length) / 6) ** length_penalty).argmax()
        assert F.pad(ids[i], (0, 5 - ids.shape[1])).equal(padded[best])
        torch.testing.assert_close(found[i], p[best], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("length_penalty", [1e3, 1e30, 1e308])
def test_a_penalty_of_any_size_takes_the_likeliest_of_the_longest(length_penalty):
    ids, found = beam_search(small(3), SOURCE[:1], 4, 200, length_penalty)
    longest = torch.tensor([row for row in targets(6, 4) if len(row) == 5])
    p = log_p(small(3), SOURCE[:1].expand(len(longest), -1), longest)
    assert found.item() == pytest.approx(p.max().item(), abs=1e-4)
    assert ids[0].tolist() == longest[p.argmax()].tolist()


def test_scores_of_16_bits_are_added_up_in_32():
    half = beam_search(small(3).half(), SOURCE, 9)
    assert half[1].dtype == torch.float32
    assert half[1].tolist() == pytest.approx(beam_search(small(3), SOURCE, 9)[1].tolist(), abs=0.05)


def test_a_batch_gives_what_its_rows_give_alone():
    model = small(2)
    greedy, (ids, found) = greedy_decode(model, SOURCE, 9), beam_search(model, SOURCE, 9, 3)
    for i, source in enumerate(SOURCE):
        source = source[source != PAD][None]
        for both, alone in (
            (greedy, greedy_decode(model, source, 9)),
            (ids, beam_search(model, source, 9, 3)[0]),
        ):
            row = both[i][both[i] != PAD]
            assert torch.equal(row, alone[0][alone[0] != PAD])
        torch.testing.assert_close(found[i : i + 1], beam_search(model, source, 9, 3)[1])


@pytest.mark.parametrize("mode", [True, False])
def test_dropout_is_off_and_the_mode_restored(mode):
    model = small(dropout=0.5).train(mode)
    assert torch.equal(greedy_decode(model, SOURCE, 8), greedy_decode(model, SOURCE, 8))
    assert torch.equal(beam_search(model, SOURCE, 8)[1], beam_search(model, SOURCE, 8)[1])
    assert model.training is mode


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens=0, expected 1 to context_length=12"),
        ({"max_new_tokens": 13}, "max_new_tokens=13"),
        ({"max_new_tokens": 3, "beam_width": 0}, "beam_width=0, expected at least 1"),
        ({"max_new_tokens": 3, "length_penalty": -1.0}, "length_penalty=-1.0, expected 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    for decode in (beam_search, greedy_decode)[: 3 - len(settings)]:
        with pytest.raises(ValueError, match=message):
            decode(small(), SOURCE, **settings)


@pytest.mark.parametrize("decode", [greedy_decode, beam_search])
def test_a_model_whose_logits_are_no_numbers_is_refused(decode):
    model = small()
    with torch.no_grad():
        next(model.parameters()).fill_(math.nan)
    with pytest.raises(ValueError, match="the model's logits are not numbers"):
        decode(model, SOURCE, 4)
