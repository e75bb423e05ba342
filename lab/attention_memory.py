"""What attention costs in memory and time as texts grow: written out, and by the fused kernel.

`python -m lab.table` runs it. One head, 64 wide, over T positions, causal,
float32. Explicit attention makes the (T, T) matrix of weights; PyTorch's fused kernel goes over it
in blocks and never has it whole, if it is told that attention is causal, as the course's GPT says.
Memory is the most that PyTorch's allocator has given out at any moment, inputs not
counted; what a library uses beside it, as oneDNN does for its own copies, is not seen.
"""

import os
from collections.abc import Callable

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
    """Two ways to the same values: name -> f(q, k, v)."""
    mask = causal_mask(T)
    return {
        "explicit": lambda q, k, v: scaled_dot_product_attention(q, k, v, mask)[0],
        "causal": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    }


def measured(T: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """The unit, "MB" or "ms" -> name -> one figure a round; the two take turns."""
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(1, 1, T, WIDTH, generator=generator).requires_grad_() for _ in "qkv"]

    def run(attend: Callable) -> None:
        torch.autograd.grad(attend(*inputs).sum(), inputs)

    def clocks(measure: Callable) -> dict:
        return {name: lambda f=f: measure(lambda: run(f)) for name, f in attentions(T).items()}

    return {
        "ms": in_turns(clocks(lambda job: 1000 * seconds(job)), rounds),
        "MB": in_turns(clocks(lambda job: peak_bytes(job) / 1e6), rounds, warm=0),
    }


def rows(quick: bool = False) -> list[dict]:
    """Memory, then time, at every length."""
    lengths, rounds = ((256, 512), 1) if quick else (LENGTHS, 7)
    figures = {T: measured(T, rounds) for T in lengths}
    return [
        row(
            f"fused kernel, causal, T = {T:,}",
            "explicit attention",
            unit,
            figures[T][unit]["causal"],
            figures[T][unit]["explicit"],
        )
        for unit in ("MB", "ms")
        for T in lengths
    ]
