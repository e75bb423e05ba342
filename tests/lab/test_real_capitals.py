"""Chapter 22's capitals: nothing of the trial chose the head; a patch changes one head alone."""

import pytest
import torch

from lab import real_capitals
from scratchformer.models import Llama, LlamaConfig


@pytest.fixture(scope="module")
def own():
    found = real_capitals.Capitals.__new__(real_capitals.Capitals)
    torch.manual_seed(0)
    config = LlamaConfig(30, context_length=16, d_model=16, n_heads=2, n_layers=2)
    found.model = Llama(config).eval()
    return found


def test_no_country_of_the_trial_is_on_the_page():
    assert not {"France", "Italy"} & set(real_capitals.CAPITALS)
    assert len(set(real_capitals.CAPITALS.values())) == len(real_capitals.CAPITALS)
    assert all(frame.count("{}") == 1 for frame in real_capitals.FRAMES)


def test_both_heads_from_another_text_in_the_last_block_give_its_vector(own):
    ids, other = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[1, 2, 7, 4]])
    theirs, plain = own.found(other, 2), own.model(ids)[0, -1]
    assert torch.allclose(own.with_head(ids, 2, 1, own.found(ids, 2)), plain, atol=1e-6)
    one, two = (own.with_head(ids, 2, head, theirs) for head in (1, 2))
    assert not torch.allclose(one, plain) and not torch.allclose(one, two)


def test_a_vector_after_the_last_block_decides_at_its_own_place_alone(own):
    ids, other = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[1, 2, 7, 4]])
    stream = own.stream(other, 2)
    assert torch.allclose(own.with_vector(ids, 2, -2, stream), own.model(ids)[0, -1], atol=1e-6)
    moved = own.with_vector(ids, 2, -1, stream)
    assert torch.allclose(moved, own.model(other)[0, -1], atol=1e-6)
