"""What one token of SmolLM2 waits for, by taking parts of its work away -> token_apart.json.

Usage: python -m lab.token_apart [--quick | --write]

Chapter 15's controls, by turns, on one core, with the page's `seconds`. The weights are on pages of
2 MB if the system has such, as on the page; each round loads them anew and keeps the middle one of
12 times. `milliseconds` are a token's:

token      as it is
lean       the same logits, in fewer small operations
products   its products alone
read       a sum over each matrix of weights in place of its product: no multiplication
sums       those sums alone
nothing    no products
summed     one sum over all weights: the page's forecast
nothing after   the same right after a sum over all weights, and not after itself
multiplied as many multiplications, all with 64 kB of each matrix, so few weights are read
kept N     as many additions as `read` makes, all over one array of N kB, so no weight is read
adds N     those additions alone

`kept` less `adds` is what the small operations take where only N kB pass between them.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from lab import runs
from scratchformer.models import Llama
from scratchformer_course.ch15_costs import token_clock
from scratchformer_course.ch15_costs.token_clock import seconds

NAME = "smollm2-135m-instruct"
TOKENS, ROUNDS, PREFIX, SIZES = 12, 5, 32, (64, 256, 1024, 4096)
SETTINGS = {"model": NAME, "threads": 1, "tokens": TOKENS, "rounds": ROUNDS, "prefix": PREFIX,
            "kilobytes": SIZES}  # fmt: skip


@torch.no_grad()
def measure(options: argparse.Namespace) -> dict:
    generator = torch.Generator().manual_seed(0)
    rounds = [one_round(generator) for _ in range(1 if options.quick else ROUNDS)]
    found = {name: [round(1000 * least[name], 1) for least in rounds] for name in rounds[0]}
    for name, values in found.items():
        print(f"{name:10}", *values)
    return {"milliseconds": found}


def one_round(generator: torch.Generator) -> dict[str, float]:
    """Seconds that a token takes, by what is taken away."""
    model = Llama.pretrained(NAME)
    count = sum(p.numel() for p in model.parameters())
    memory = token_clock.on_large_pages(count)
    token_clock.move_weights(model, memory)
    ids = torch.randint(model.config.vocab_size, (1, PREFIX), generator=generator)
    read: list[tuple[Tensor, Tensor]] = []

    def token():
        model(ids[:, :1], cache)

    def token_with(product):
        with token_clock.products_replaced(product):
            token()

    def noted(x: Tensor, weight: Tensor, bias=None) -> Tensor:
        read.append((x, weight))
        return token_clock.nothing(x, weight)

    def all_products(product: Callable) -> None:
        for x, weight in read:
            product(x, weight)

    cache = model.new_cache()
    model(ids, cache)
    token_with(noted)
    multiply = token_clock.multiplying(64)
    jobs: dict[str, Callable] = {
        "token": token,
        "lean": lambda: token_clock.lean_token(model, ids[0, 0], cache),
        "products": partial(all_products, F.linear),
        "read": lambda: token_with(token_clock.only_read),
        "sums": partial(all_products, token_clock.only_read),
        "summed": memory.sum,
        "nothing": lambda: token_with(token_clock.nothing),
        "multiplied": lambda: token_with(multiply),
    }
    for size in SIZES:
        add = token_clock.adding(torch.randn(size * 256, generator=generator))
        jobs[f"kept {size}"] = partial(token_with, add)
        jobs[f"adds {size}"] = partial(all_products, add)
    found = dict(zip(jobs, seconds(*jobs.values(), turns=TOKENS), strict=True))
    after = []
    for _ in range(TOKENS):
        memory.sum()
        start = time.process_time()
        jobs["nothing"]()
        after.append(time.process_time() - start)
    return found | {"nothing after": sorted(after)[TOKENS // 2]}


main = runs.script(__doc__, "token_apart", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
