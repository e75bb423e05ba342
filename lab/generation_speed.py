"""What the key/value cache is worth: the 10.8 M model writes with it and without, in one run.

`python -m lab.table` runs it. The weights are random: time does not depend
on them. Two measures, each with and without a cache: the next token when 255 are there already (the
context is full, the cache filled beforehand, and the tokens before it read in the same way, as
generation does); and a whole context of 256 from one token by `generate`.
"""

from dataclasses import asdict

import torch

from lab.runs import in_turns, row, seconds
from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import eval_mode

CONFIG = GPTConfig(65, context_length=256, d_model=384, n_heads=6, n_layers=6)
BEFORE = 8  # steps of the same kind before the one that is timed
SETTINGS = asdict(CONFIG) | {"before": BEFORE}


def next_token(model: GPT, ids: torch.Tensor) -> dict:
    """One prediction after all of `ids`: recomputed, and from a filled cache.

    Before each of the two come the steps that generation takes before it, of the same kind. A step
    is short, and fetching the weights that the other kind has pushed out of the processor's cache
    would be most of its time.
    """
    T = ids.shape[1]

    def recomputed() -> float:
        for t in range(T - BEFORE, T):
            model(ids[:, :t])
        return seconds(lambda: model(ids))

    def cached() -> float:
        cache = model.new_cache()
        model(ids[:, : T - BEFORE - 1], cache)
        for t in range(T - BEFORE, T):
            model(ids[:, t - 1 : t], cache)
        return seconds(lambda: model(ids[:, -1:], cache))

    return {"recomputed": recomputed, "cached": cached}


def whole_context(model: GPT, ids: torch.Tensor) -> dict:
    """Filling the context from the first of `ids`."""

    def written(use_cache: bool) -> float:
        n, start = model.context_length - 1, ids[:, :1]
        return seconds(lambda: generate(model, start, n, seed=0, use_cache=use_cache))

    return {"recomputed": lambda: written(False), "cached": lambda: written(True)}


def rows(quick: bool = False) -> list[dict]:
    """The two measures, for the table."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = GPT(CONFIG).to(device)
    ids = torch.randint(65, (1, CONFIG.context_length), device=device)
    measures = (
        (next_token, "the next token after 255", "ms", 1000, 1 if quick else 40),
        (whole_context, "255 tokens after 1", "s", 1, 1 if quick else 5),
    )
    result = []
    for jobs, what, unit, scale, rounds in measures:
        with eval_mode(model):
            seconds = in_turns(jobs(model, ids), rounds, warm=0 if quick else 2)
        without, cached = ([scale * t for t in times] for times in seconds.values())
        result.append(row(f"{what}, cached", "recomputed", unit, cached, without))
    return result
