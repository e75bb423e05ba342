"""Batches of windows, against the stack of slices they replace, and samplers that go on."""

import pytest
import torch
from refusals import refused

from scratchformer.data.batches import RandomBatches, WindowSampler, random_batch


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def test_a_batch_equals_the_stack_of_slices_for_the_same_generator():
    ids = torch.randint(65, (12,), generator=seeded(0))
    starts = torch.randint(12 - 4, (500,), generator=seeded(1337))
    assert {*starts.tolist()} == {*range(8)}  # both ends of the ids are reached
    torch.manual_seed(1337)  # decides where no generator is given
    for x, y in (
        random_batch(ids.to(torch.uint8), 500, 4, seeded(1337)),
        random_batch(ids, 500, 4),
        next(WindowSampler(ids, 500, 4, seed=1337)),
    ):
        assert x.equal(torch.stack([ids[i : i + 4] for i in starts])) and x.is_contiguous()
        assert y.equal(torch.stack([ids[i + 1 : i + 5] for i in starts])) and y.is_contiguous()


def shuffled(n, seed, B=3, T=8):
    return WindowSampler(torch.arange(n), B, T, seed, replacement=False)


@pytest.mark.parametrize("n", [97, 104])
def test_a_pass_without_replacement_takes_every_window_at_most_once_and_nearly_all_ids(n):
    assert shuffled(40, 0, B=4).batches_per_pass == 1
    sampler, again, other = (shuffled(n, seed) for seed in (2**63 - 1, 2**63 - 1, 0))
    passes = []
    for _ in range(3):
        batches = [next(sampler) for _ in range(sampler.batches_per_pass)]
        x, y = (torch.cat(tensors) for tensors in zip(*batches, strict=True))
        assert torch.equal(y, x + 1) and x.shape == (sampler.batches_per_pass * 3, 8)
        assert len(x.unique()) == x.numel()  # each id is an input once at most
        assert x.numel() > n - 5 * 8
        passes.append(x)
    assert len({x[0, 0].item() % 8 for x in passes}) > 1  # cut elsewhere
    assert torch.equal(passes[0][:3], next(again)[0])
    assert not torch.equal(passes[0][:3], next(other)[0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: WindowSampler(torch.arange(100), 4, 8, seed=2),
        lambda: shuffled(100, 2),
        lambda: RandomBatches(lambda g: (torch.rand(3, generator=g),), seed=2),
    ],
    ids=["with replacement", "without", "of a function"],
)
def test_a_sampler_goes_on_where_its_state_was_taken(make):
    for taken in (0, 7):
        sampler, resumed = make(), make()
        for _ in range(taken):
            next(sampler)
        resumed.load_state_dict(sampler.state_dict())
        for _ in range(5):
            assert all(map(torch.equal, next(sampler), next(resumed)))


IDS = torch.arange(40)
test_ids_too_few_and_batches_of_nothing_are_refused = refused(
    {
        "context_length=40 .* 40:": lambda: random_batch(IDS, 2, 40),
        "context_length=0 must be at least 1": lambda: random_batch(IDS, 2, 0),
        "batch_size=0, expected at least 1": lambda: WindowSampler(IDS, 0, 8, 0),
        "got 39 ids, expected at least 40 for a batch": lambda: shuffled(39, 0, B=4),
    }
)
test_ids_are_no_sampler = refused(
    {"got a list, expected a sampler": lambda: RandomBatches([IDS], 0)}, TypeError
)
