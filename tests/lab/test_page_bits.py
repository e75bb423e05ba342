"""What fewer bits cost: the stored losses are of every way that chapter 20's figure shows."""

import torch

from lab import page_bits
from scratchformer.models import GPT, GPTConfig
from scratchformer_course.ch20_inference.live import BITS
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model.fewer_bits import SHARED


def test_every_way_is_stored_and_fewer_bits_cost_more():
    stored = load_measurements("page_bits")["validation"]
    for shared in SHARED:
        losses = [stored[shared][str(bits)] for bits in BITS[1:]]
        assert losses == sorted(losses) and losses[1] > stored["16"]
    for bits in BITS[2:]:
        rows, groups = (stored[shared][str(bits)] for shared in ("row", "group"))
        assert groups < rows, bits


def test_the_largest_change_is_that_of_the_window_that_has_it():
    torch.manual_seed(0)
    before = GPT(GPTConfig(5, 4, 8, 2, 1)).eval()
    after = GPT(GPTConfig(5, 4, 8, 2, 1)).eval()
    after.load_state_dict(before.state_dict())
    with torch.no_grad():
        after.wte.weight[3] += 1
    ids = torch.tensor([0, 1, 2, 4, 0, 1, 3, 4, 3])
    found = page_bits.largest_change(before, after, ids)
    with torch.no_grad():
        moved = before(ids[4:8][None]) - after(ids[4:8][None])
    assert abs(found - moved.abs().max().item()) < 1e-4
