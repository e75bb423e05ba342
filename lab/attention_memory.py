"""What attention costs in memory and time as texts grow: written out, and by the fused kernel.

`python -m lab.table` runs it. One head, 64 wide, over T positions, causal,
float32. Explicit attention makes the (T, T) matrix of weights; PyTorch's fused kernel goes over it
in blocks and never has it whole, if it is told that attention is causal, as the course's GPT says.
Given the mask as a matrix, it turns that into numbers: one (T, T) matrix for all heads and the
whole batch. Memory is the most that PyTorch's allocator has given out at any moment, inputs not
counted; what a library uses beside it, as oneDNN does for its own copies, is not seen.
"""

import math
import os
import statistics
from collections.abc import Callable, Sequence

os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # or the profiler tells each start and stop

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

from lab.runs import in_turns, row, seconds
from scratchformer.attention import causal_mask, scaled_dot_product_attention

LENGTHS, WIDTH = (512, 1024, 2048, 4096), 64
SETTINGS = {"lengths": LENGTHS, "width": WIDTH}


def peak_bytes(job: Callable[[], object]) -> int:
    """The most bytes that `job` has allocated by PyTorch at any moment, above those before it."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        job()
    events = profiler.profiler.kineto_results.events()
    changes = [(e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]"]
    now = most = 0
    for _, change in sorted(changes, key=lambda at_and_change: at_and_change[0]):
        now += change
        most = max(most, now)
    return most


def attentions(T: int) -> dict[str, Callable]:
    """Three ways to the same values: name -> f(q, k, v)."""
    mask = causal_mask(T)
    return {
        "explicit": lambda q, k, v: scaled_dot_product_attention(q, k, v, mask)[0],
        "causal": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "mask": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
    }


def measured(T: int, backward: bool, rounds: int) -> dict[str, dict[str, list[float]]]:
    """The unit, "MB" or "ms" -> name -> one figure a round; the three take turns."""
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(1, 1, T, WIDTH, generator=generator) for _ in "qkv"]
    for x in inputs:
        x.requires_grad_(backward)

    def run(attend: Callable) -> None:
        out = attend(*inputs)
        if backward:
            torch.autograd.grad(out.sum(), inputs)

    def clocks(measure: Callable) -> dict:
        return {name: lambda f=f: measure(lambda: run(f)) for name, f in attentions(T).items()}

    return {
        "ms": in_turns(clocks(lambda job: 1000 * seconds(job)), rounds),
        "MB": in_turns(clocks(lambda job: peak_bytes(job) / 1e6), rounds, warm=0),
    }


def slope(lengths: Sequence[int], medians: list[float]) -> float:
    """The power of T with which the medians grow: a straight line through the logarithms."""
    logs = [math.log(T) for T in lengths], [math.log(m) for m in medians]
    return statistics.linear_regression(*logs).slope


def rows(quick: bool = False) -> list[dict]:
    """Memory, then time: every length forward and back, the longest also forward only."""
    lengths, rounds = ((256, 512), 1) if quick else (LENGTHS, 7)
    longest = lengths[-1]
    both = {T: measured(T, True, rounds) for T in lengths}
    forward = measured(longest, False, rounds)
    names = {"causal": "fused kernel, causal", "mask": "fused kernel, given a mask"}
    result = []
    for unit in ("MB", "ms"):
        grows = {
            way: slope(lengths, [statistics.median(both[T][unit][way]) for T in lengths])
            for way in ("causal", "mask", "explicit")
        }
        for way, found, T in [
            *(("causal", both[T], T) for T in lengths),
            ("mask", both[longest], longest),
            ("causal", forward, longest),
        ]:
            what = f"{names[way]}, T = {T:,}" + ", forward only" * (found is forward)
            note = (
                ""
                if found is not both[longest]
                else (
                    f"from T = {lengths[0]:,} on, {'memory' if unit == 'MB' else 'time'} grows as "
                    f"T to the power {grows[way]:.2f}, with explicit attention as T to the power "
                    f"{grows['explicit']:.2f}."
                )
            )
            ours, theirs = found[unit][way], found[unit]["explicit"]
            result.append(row(what, "explicit attention", unit, ours, theirs, note))
    return result
