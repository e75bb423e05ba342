"""The race's batches: those of WindowSampler until late in the run, and what changes then."""

import pytest
import torch

from scratchformer.data.batches import WindowSampler
from scratchformer_course.ch17_speedrun.windows import RaceWindows


def test_windows_double_after_some_batches_and_each_pass_still_takes_a_window_once():
    sampler = RaceWindows(torch.arange(200), 4, 8, 0, replacement=False, double_after=3)
    assert [next(sampler)[0].shape for _ in range(3)] == [(4, 8)] * 3
    long = torch.cat([next(sampler)[0] for _ in range(sampler.samplers[1].batches_per_pass)])
    assert long.shape[1] == 16 and len(long.unique()) == long.numel()


@pytest.mark.parametrize("replacement", [True, False])
def test_only_late_windows_come_from_the_tail_and_about_as_many_as_asked(replacement):
    ids, late = torch.arange(10_000), {"tail_after": 20, "tail_chance": 0.5, "tail_share": 0.05}
    sampler = RaceWindows(ids, 40, 5, 1, replacement, **late)
    plain = WindowSampler(ids, 40, 5, 1, replacement)
    for step in range(60):
        (x, y), usual = next(sampler), next(plain)[0]
        changed = (x != usual).any(dim=1)
        assert (x[changed] >= 9500).all() and torch.equal(y, x + 1)
        assert 8 <= changed.sum() <= 32 if step >= 20 else not changed.any()  # 20 of 40 on average


def test_late_windows_resume_exactly():
    ids, late = torch.arange(300), {"double_after": 3, "tail_after": 2, "tail_share": 0.3}
    straight, first, second = (RaceWindows(ids, 4, 8, 2, False, **late) for _ in range(3))
    batches = [next(straight) for _ in range(8)]
    for _ in range(4):
        next(first)
    second.load_state_dict(first.state_dict())
    for batch in batches[4:]:
        assert all(map(torch.equal, batch, next(second)))


def test_options_without_sense_are_refused():
    for message, changes in {
        "double_after=-1, expected a number of batches": {"double_after": -1},
        "tail_share=0.0, expected more than 0": {"tail_after": 1, "tail_share": 0.0},
        "tail_chance=1.5, expected 0 to 1": {"tail_after": 1, "tail_chance": 1.5},
    }.items():
        with pytest.raises(ValueError, match=message):
            RaceWindows(torch.arange(100), 4, 8, 0, **changes)
