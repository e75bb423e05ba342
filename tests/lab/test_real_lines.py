"""Lines of other models in a Llama: each changes what it computes, and leaves when it is over."""

import pytest
import torch

from lab import real_lines, runs
from scratchformer.models import Llama, LlamaConfig

IDS = torch.randint(20, (1, 12), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def model():
    torch.manual_seed(0)
    sizes = {"n_kv_heads": 2, "rope_base": 100_000.0}
    model = Llama(LlamaConfig(20, 16, 24, n_heads=4, n_layers=2, **sizes))
    for p in model.parameters():
        p.data.add_(0.3 * torch.randn_like(p))
    return model


@pytest.mark.parametrize("line", [*real_lines.LINES, *real_lines.APART])
@torch.no_grad()
def test_a_line_changes_the_logits_and_then_is_gone(model, line):
    own = model(IDS)
    with real_lines.other([line]):
        assert not torch.allclose(model(IDS), own, atol=1e-4)
    with real_lines.other([]):
        assert torch.equal(model(IDS), own)


def test_a_window_keeps_its_size_with_the_first_token_and_without():
    def seen(kind):
        return real_lines._sees(kind, 4)(None, 0, 120, 120, None)[-1].nonzero().flatten().tolist()

    assert seen("window") == [116, 117, 118, 119] and len(seen("all")) == 120
    assert seen("with the first") == [0, 117, 118, 119]
    assert seen("with token 100") == [100, 117, 118, 119]


def test_every_set_of_lines_is_stored_once():
    stored = runs.read(real_lines.FILE)
    sets = {frozenset(each["lines"]) for each in stored["combinations"]}
    assert len(sets) == len(stored["combinations"]) == 2 ** len(real_lines.LINES)
