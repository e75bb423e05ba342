"""What the key/value cache is worth: the 10.8 M model writes with it and without, in one run.

Usage: python benchmarks/generation.py [--quick] [--write]

The weights are random: time does not depend on them. Two measures, each a ratio of times with and
without a cache that took turns: the next token when 255 are there already (the context is full,
the cache filled beforehand, and the tokens before it read in the same way, as generation does);
and a whole context of 256 from one token by `generate`. The median ratio counts. Nothing is stored
without `--write`; then generation.json beside this file is
replaced. `--quick` takes few rounds and stores nothing.
"""

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import torch

from scratchformer.files import atomic_write
from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import eval_mode

CONFIG = GPTConfig(65, context_length=256, d_model=384, n_heads=6, n_layers=6)
RESULT = Path(__file__).with_suffix(".json")
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


def summary(times: list[tuple[float, float]], tokens: int) -> dict:
    """Medians in tokens a second, and of the ratios the median and the spread."""
    ratios = [without / cached for without, cached in times]
    without, cached = (statistics.median(column) for column in zip(*times, strict=True))
    return {
        "n": len(times),
        "recomputed_tokens_per_second": round(tokens / without, 1),
        "cached_tokens_per_second": round(tokens / cached, 1),
        "ratio": {
            "median": round(statistics.median(ratios), 1),
            "min": round(min(ratios), 1),
            "max": round(max(ratios), 1),
        },
    }


def times(quick: bool) -> tuple[GPT, dict[str, list[tuple[float, float]]]]:
    """The model, and both measures: one pair of seconds, without and with a cache, a round."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = GPT(CONFIG).to(device)
    ids = torch.randint(65, (1, CONFIG.context_length), device=device)
    found = {}
    for job, rounds in {next_token: 5 if quick else 40, whole_context: 1 if quick else 5}.items():
        for _ in range(1 if quick else 2):
            job(model, ids)  # warm up
        found[job.__name__] = [job(model, ids) for _ in range(rounds)]
    return model, found


def rows(quick: bool = False) -> list[dict]:
    """The two measures, for the table."""
    _, found = times(quick)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, nothing stored")
    parser.add_argument("--write", action="store_true", help=f"replace {RESULT.name}")
    options = parser.parse_args()
    quick = options.quick
    model, found = times(quick)
    device = next(model.parameters()).device.type
    n_parameters = sum(p.numel() for p in model.parameters())
    result = {
        "parameters": n_parameters,
        "context_length": CONFIG.context_length,
        "torch": torch.__version__,
        "device": device if device == "cuda" else f"cpu, {platform.machine()}",
        "threads": torch.get_num_threads(),
    }
    print(f"{n_parameters:,} parameters, {result['device']}, {result['threads']} threads, float32")
    for measure, tokens in {"next_token": 1, "whole_context": 255}.items():
        result[measure] = r = summary(found[measure], tokens)
        print(
            f"{measure:14} recomputed {r['recomputed_tokens_per_second']:7.1f} tokens/s, "
            f"cached {r['cached_tokens_per_second']:7.1f}; ratio {r['ratio']['median']}x "
            f"({r['ratio']['min']} to {r['ratio']['max']}, n = {r['n']})"
        )
    if options.write and not quick:
        with atomic_write(RESULT) as part:
            part.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
