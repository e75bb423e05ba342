"""Random batches, against the stack of slices they replace."""

import pytest
import torch

from scratchformer.data.batches import RandomBatches, WindowSampler, random_batch


def test_a_batch_equals_the_stack_of_slices_for_the_same_generator():
    ids = torch.randint(65, (12,), generator=torch.Generator().manual_seed(0))
    starts = torch.randint(12 - 4, (500,), generator=torch.Generator().manual_seed(1337))
    assert {*starts.tolist()} == {*range(8)}  # both ends of the ids are reached
    torch.manual_seed(1337)  # decides where no generator is given
    for stored, given in ((ids.to(torch.uint8), [torch.Generator().manual_seed(1337)]), (ids, [])):
        x, y = random_batch(stored, 500, 4, *given)
        assert x.equal(torch.stack([ids[i : i + 4] for i in starts])) and x.is_contiguous()
        assert y.equal(torch.stack([ids[i + 1 : i + 5] for i in starts])) and y.is_contiguous()


@pytest.mark.parametrize(("n_ids", "context_length"), [(8, 8), (9, 0)])
def test_ids_too_short_for_a_window_are_refused_with_both_numbers(n_ids, context_length):
    with pytest.raises(ValueError, match=rf"context_length={context_length} .* {n_ids}:"):
        random_batch(torch.arange(n_ids), 2, context_length)


def shuffled(ids, batch_size, context_length, seed):
    return WindowSampler(ids, batch_size, context_length, seed, replacement=False)


@pytest.mark.parametrize("n", [97, 104])
def test_a_pass_without_replacement_takes_every_window_at_most_once_and_nearly_all_ids(n):
    T, B = 8, 3
    sampler = shuffled(torch.arange(n), B, T, seed=0)
    for _ in range(3):
        batches = [next(sampler) for _ in range(sampler.batches_per_pass)]
        x, y = (torch.cat(tensors) for tensors in zip(*batches, strict=True))
        assert torch.equal(y, x + 1) and x.shape == (sampler.batches_per_pass * B, T)
        assert len(x.unique()) == x.numel()  # each id is an input once at most
        assert x.numel() > n - (B + 2) * T


def test_another_pass_has_another_order_and_cut_and_a_seed_repeats_both():
    ids = torch.arange(1000)
    sampler, again, other = (shuffled(ids, 4, 8, seed) for seed in (1, 1, 2))
    n = sampler.batches_per_pass
    first = [next(sampler)[0] for _ in range(2 * n)]
    assert not torch.equal(first[0], first[n])
    assert any(a[0, 0] % 8 != b[0, 0] % 8 for a, b in zip(first, first[n:], strict=False))
    assert all(torch.equal(a, next(again)[0]) for a in first)
    assert not torch.equal(first[0], next(other)[0])


def test_windows_with_replacement_are_those_of_random_batch_with_the_same_seed():
    ids, generator = torch.arange(100), torch.Generator().manual_seed(3)
    sampler = WindowSampler(ids, 4, 8, seed=3)
    for _ in range(5):
        x, y = next(sampler)
        expected_x, expected_y = random_batch(ids, 4, 8, generator)
        assert torch.equal(x, expected_x) and torch.equal(y, expected_y)


@pytest.mark.parametrize(
    "make",
    [
        lambda: WindowSampler(torch.arange(100), 4, 8, seed=2),
        lambda: WindowSampler(torch.arange(100), 4, 8, seed=2, replacement=False),
        lambda: RandomBatches(lambda g: (torch.rand(3, generator=g),), seed=2),
    ],
    ids=["with replacement", "without", "of a function"],
)
@pytest.mark.parametrize("taken", [0, 7])
def test_a_sampler_goes_on_where_its_state_was_taken(make, taken):
    sampler, resumed = make(), make()
    for _ in range(taken):
        next(sampler)
    resumed.load_state_dict(sampler.state_dict())
    for _ in range(5):
        for a, b in zip(next(sampler), next(resumed), strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("replacement", [True, False])
def test_the_largest_seed_does_not_overflow_and_a_batch_of_nothing_is_refused(replacement):
    sampler = WindowSampler(torch.arange(100), 4, 8, 2**63 - 1, replacement)
    assert next(sampler)[0].shape == (4, 8)
    for sizes in ((0, 8), (4, 0)):
        with pytest.raises(ValueError, match=r"=0.*at least 1"):
            WindowSampler(torch.arange(100), *sizes, 0, replacement)


def test_too_few_ids_for_a_batch_without_replacement_are_refused():
    assert shuffled(torch.arange(40), 4, 8, seed=0).batches_per_pass == 1
    with pytest.raises(ValueError, match="got 39 ids, expected at least 40 for a batch of 4"):
        shuffled(torch.arange(39), 4, 8, seed=0)
