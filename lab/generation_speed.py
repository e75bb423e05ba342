"""What the key/value cache is worth: the 10.8 M model writes with it and without, in one run.

`python -m lab.table` runs it. The weights are random: time does not depend on them. `generate`
fills a context of 256 from one token.
"""

from dataclasses import asdict

import torch

from lab.runs import in_turns, row, seconds
from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import eval_mode

CONFIG = GPTConfig(65, context_length=256, d_model=384, n_heads=6, n_layers=6)
SETTINGS = asdict(CONFIG)


def rows(quick: bool = False) -> list[dict]:
    """The row of the table."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = GPT(CONFIG).to(device)
    start = torch.randint(65, (1, 1), device=device)

    def written(use_cache: bool) -> float:
        n = CONFIG.context_length - 1
        return seconds(lambda: generate(model, start, n, seed=0, use_cache=use_cache))

    jobs = {"recomputed": lambda: written(False), "cached": lambda: written(True)}
    with eval_mode(model):
        clocks = in_turns(jobs, 1 if quick else 5, warm=0 if quick else 2)
    what, sides = "255 tokens after 1, cached", (clocks["cached"], clocks["recomputed"])
    return [row(what, "recomputed", "s", *sides)]
