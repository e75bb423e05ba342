"""Records: probabilities that never see the future, mixtures that are right, every part runs."""

import numpy as np
import pytest
import torch

from lab import mixing, records, runs
from scratchformer.data import Playhouse
from scratchformer.models import KneserNey
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT

CONFIGURATIONS = ("record-mean", "record-every-seed")
TEXT = Playhouse().text(6000)
TOKENIZER = CharTokenizer.train(TEXT)
V = TOKENIZER.vocab_size
BEFORE, IDS = torch.tensor(TOKENIZER.encode(TEXT)).split((5600, len(TEXT) - 5600))
TARGETS = IDS[1:]


def network():
    torch.manual_seed(0)
    sizes = {"d_model": 16, "n_heads": 2, "n_layers": 1, "positions": "rotary", "smear": 2}
    model = SpeedrunGPT(SpeedrunConfig(V, 32, bigram_rows=50, bigram_dropout=0.5, **sizes))
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.3)
    return model


def rows_of(kind, ids):
    if kind.startswith("counts"):
        options = {"counts": {}, "counts of the end that adapt": {"last": 900, "every": 50}}
        return mixing.counted_rows(4, BEFORE, ids, V, **options[kind])
    options = {"network": {}, "network, overlapping": {"stride": 8}, "network, sgd": {"sgd": 0.1}}
    return mixing.network_rows(network(), ids, 32, **options[kind])


KINDS = ("network, overlapping", "network, sgd", "counts", "counts of the end that adapt")


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_distributions_and_a_later_character_changes_none_before_it(kind):
    rows = rows_of(kind, IDS)
    assert rows.shape == (len(IDS) - 1, V) and (rows > 0).all()
    torch.testing.assert_close(rows.sum(dim=-1), torch.ones(len(rows)))
    for at in (40, 399):
        changed = IDS.clone()
        changed[at:] = (changed[at:] + 1) % V
        # row at - 1 predicts the character at `at`, and must not know it
        torch.testing.assert_close(rows_of(kind, changed)[:at], rows[:at], rtol=1e-5, atol=1e-7)


def test_a_network_scores_windows_as_evaluate_does():
    found = mixing.nats(rows_of("network", IDS), TARGETS)
    assert found == pytest.approx(evaluate(network(), IDS, 32), abs=1e-5)


def test_counts_are_kneser_neys():
    table = KneserNey(4).fit(BEFORE, V)
    rows = rows_of("counts", IDS)
    for i in (0, 1, 2, 3, 200, len(IDS) - 2):
        p = table.next_probabilities(IDS[max(0, i - 2) : i + 1])
        np.testing.assert_allclose(rows[i], p, rtol=1e-5)


def test_weights_of_two_known_distributions_are_found():
    """Tokens drawn from 0.7 P + 0.3 Q: that mixture fits best, and its loss is its entropy."""
    P, Q = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.1, 0.2, 0.7])
    M = 0.7 * P + 0.3 * Q
    targets = torch.repeat_interleave(torch.arange(3), (M * 10_000).round().long())
    models = [d.expand(len(targets), 3) for d in (P, Q)]
    weights = mixing.fit_weights(models, targets)
    assert weights == pytest.approx([0.7, 0.3], abs=2e-3)
    loss = mixing.nats(mixing.mixed(models, weights), targets)
    assert loss == pytest.approx(-(M * M.log()).sum().item(), abs=1e-4)


def test_a_gate_takes_the_sure_one_of_two_models(monkeypatch):
    """Of two models each is sure, and right, at every other token, and knows nothing elsewhere."""
    generator = torch.Generator().manual_seed(0)
    targets = torch.randint(5, (2000,), generator=generator)
    sure = torch.full((2000, 5), 0.01).scatter(1, targets[:, None], 0.96)
    vague, even = torch.full((2000, 5), 0.2), torch.arange(2000)[:, None] % 2 == 0
    models = [torch.where(even, sure, vague), torch.where(even, vague, sure)]
    monkeypatch.setattr(mixing, "STEPS", 150)
    gate = mixing.Gate(2)
    start = mixing.nats(gate.mix(models), targets)
    learnt = mixing.nats(gate.train_on(models, targets).mix(models), targets)
    constant = mixing.nats(mixing.mixed(models, mixing.fit_weights(models, targets)), targets)
    assert learnt < 0.1 and min(constant, start) > 0.3


def test_all_parts_run_from_end_to_end(monkeypatch):
    monkeypatch.setattr(mixing, "STEPS", 5)
    found = records.main(["--quick"])
    assert set(found) == set(records.PARTS)
    for split in records.SPLITS:
        (run,) = found["two_minutes"]["runs"][split]
        assert run["steps"] == 4 and run["mixed"] < run["alone"] < 5
        for name in CONFIGURATIONS:
            assert found["ten_seeds"][name]["means"][split]["loss"][0] < 5
    assert set(found["tracks"]["means"]) == set(runs.read(records.STORED)["tracks"]["means"])
