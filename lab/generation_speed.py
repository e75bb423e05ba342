"""What the key/value cache is worth: the 10.8 M model writes with it and without, in one run.

Usage: python lab/generation_speed.py [--quick]

The weights are random: time does not depend on them. Two measures, each a ratio of times with and
without a cache that took turns: the next token when 255 are there already (the context is full,
the cache filled beforehand, and the tokens before it read in the same way, as generation does);
and a whole context of 256 from one token by `generate`. `--quick` takes few rounds. `table.py` says
how a row is read.
"""

import sys
import time
from pathlib import Path

import torch

from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import eval_mode

CONFIG = GPTConfig(65, context_length=256, d_model=384, n_heads=6, n_layers=6)
TITLE = "Generation with and without a cache"
BEFORE = 8  # steps of the same kind before the one that is timed
ABOUT = (
    "A GPT of 10.8 million parameters, context 256, writes with its key/value cache; the reference "
    "is the same model without one, which computes every position anew for each token."
)


def seconds(job, *args) -> float:
    """How long one call takes, work still under way on a GPU included."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()  # nothing of before is still under way
    start = time.perf_counter()
    job(*args)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def next_token(model: GPT, ids: torch.Tensor) -> tuple[float, float]:
    """Seconds for one prediction after all of `ids`: recomputed, then from a filled cache.

    Before each of the two come the steps that generation takes before it, of the same kind. A step
    is short, and fetching the weights that the other kind has pushed out of the processor's cache
    would be most of its time.
    """
    T = ids.shape[1]
    with eval_mode(model):
        cache = model.new_cache()
        model(ids[:, : T - BEFORE - 1], cache)
        for t in range(T - BEFORE, T):
            model(ids[:, :t])
        without = seconds(model, ids)
        for t in range(T - BEFORE, T):
            model(ids[:, t - 1 : t], cache)
        return without, seconds(model, ids[:, -1:], cache)


def whole_context(model: GPT, ids: torch.Tensor) -> tuple[float, float]:
    """Seconds for filling the context from the first of `ids`: recomputed, then cached."""
    n = model.context_length - 1
    without = seconds(lambda: generate(model, ids[:, :1], n, seed=0, use_cache=False))
    return without, seconds(lambda: generate(model, ids[:, :1], n, seed=0))


def times(quick: bool) -> dict[str, list[tuple[float, float]]]:
    """Both measures: one pair of seconds, without and with a cache, a round."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = GPT(CONFIG).to(device)
    ids = torch.randint(65, (1, CONFIG.context_length), device=device)
    found = {}
    for job, rounds in {next_token: 5 if quick else 40, whole_context: 1 if quick else 5}.items():
        for _ in range(1 if quick else 2):
            job(model, ids)  # warm up
        found[job.__name__] = [job(model, ids) for _ in range(rounds)]
    return found


def rows(quick: bool = False) -> list[dict]:
    """The two measures, for the table."""
    found = times(quick)
    names = {
        "next_token": ("the next token after 255", "ms", 1000),
        "whole_context": ("255 tokens after 1", "s", 1),
    }
    result = []
    for measure, (what, unit, scale) in names.items():
        without, cached = (
            [scale * t for t in column] for column in zip(*found[measure], strict=True)
        )
        result.append(
            {
                "what": f"{what}, cached",
                "reference": "recomputed",
                "unit": unit,
                "better": "lower",
                "ours": cached,
                "theirs": without,
                "note": "",
            }
        )
    return result


if __name__ == "__main__":
    import table  # beside this file

    table.main(["--only", Path(__file__).stem, *sys.argv[1:]])
