"""How fast SmolLM2 loads and writes on one core -> measurements/real_speed.json.

Usage: python -m lab.real_speed [--quick | --write]

A token needs every weight once, so chapter 15 foretells bandwidth / bytes of the weights. The
bandwidth is that of a sum over as many numbers as the model has weights, and no product of a matrix
with a vector. As on the page, the weights then move into the very memory that the sum has read,
pages of 2 MB if the system has such, and all times are taken by turns on a core, with the page's
`seconds`. Each round loads the model anew, because other memory may be slower; a round keeps the
middle one of 12 times.

`milliseconds` are a token's: `token` as it is, `products` its products alone, `rest` the same model
without any, and `read` with a sum over each matrix in place of its product; `small token`, `small
products` and `small summed` are the same on pages of 4 kB. `block` is the time line of one of its
blocks: microseconds before each product and in it, by turns.

`texts` are milliseconds of steps that write a token for each of several texts (`step`), of such
steps' products alone (`products`), and of as many products whose weights are always the same
192 rows, so that they come out of the core's cache (`cached`). `peak` is 10⁹ operations a second,
in a product of two large matrices.
"""

import argparse
import resource
import statistics
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
TEXT, TOKENS, ROUNDS, PREFIX, TEXTS, STEPS, ROWS = 300, 12, 6, 32, (1, 4, 16, 64), 5, 192
SIDE = 1024  # of the large matrices
SETTINGS = {"model": NAME, "threads": 1, "text": TEXT, "tokens": TOKENS, "rounds": ROUNDS,
            "prefix": PREFIX, "texts": TEXTS, "steps": STEPS, "rows": ROWS}  # fmt: skip
PRODUCTS = len(token_clock.NAMES)


def lines_of_blocks(times: list[tuple[float, float]], n_layers: int) -> list[list[float]]:
    """For each block but the first the microseconds before each product and in it, by turns.

    What is done after a block's last product is counted before the first of the next.
    """
    ends = [0.0, *(end for _, end in times)]
    gaps = [begins - before for (begins, _), before in zip(times, ends, strict=False)]
    both = [(gap, end - begins) for gap, (begins, end) in zip(gaps, times, strict=True)]
    cut = [both[PRODUCTS * i : PRODUCTS * (i + 1)] for i in range(1, n_layers)]
    return [[1e6 * part for pair in block for part in pair] for block in cut]


class Moved:
    """SmolLM2 with its weights in `memory`, and what is timed of it."""

    def __init__(self, memory: Tensor, model: Llama, ids: Tensor):
        self.memory, self.model, self.ids = memory, model, ids
        token_clock.move_weights(model, memory)
        self.matrices = [p.detach() for p in model.parameters() if p.dim() == 2]
        self.caches = {texts: model.new_cache() for texts in TEXTS}
        for texts, cache in self.caches.items():
            model(ids[:, : PREFIX if texts == 1 else 8].expand(texts, -1), cache)

    def step(self, texts: int = 1) -> None:
        self.model(self.ids[:, :1].expand(texts, 1), self.caches[texts])

    def step_with(self, product: Callable) -> None:
        with token_clock.products_replaced(product):
            self.step()

    def products(self, texts: int = 1) -> Callable[[], object]:
        """All products with a matrix of weights that a step makes."""
        x = {w.shape[1]: torch.randn(texts, 1, w.shape[1]) for w in self.matrices}
        return lambda: [F.linear(x[w.shape[1]], w) for w in self.matrices]

    def cached(self, texts: int) -> Callable[[], object]:
        """As many of them, with the same few weights again and again."""
        few = torch.randn(ROWS * self.model.config.d_model)
        x = {w.shape[1]: torch.randn(texts, 1, w.shape[1]) for w in self.matrices}

        def job() -> None:
            for w in self.matrices:
                small = few.view(-1, w.shape[1])
                for _ in range(w.numel() // len(few)):
                    F.linear(x[w.shape[1]], small)

        return job


Times = dict[str, float]  # seconds


def one_round(n: int, ids: Tensor) -> tuple[Times, Times, list[list[float]]]:
    """Seconds of a token, of steps for several texts, and the time lines of the blocks."""
    large = Moved(token_clock.on_large_pages(n).normal_(), Llama.pretrained(NAME), ids)
    small = Moved(torch.randn(n), Llama.pretrained(NAME), ids)
    square = torch.randn(SIDE, SIDE)
    jobs: dict[str, Callable] = {
        "token": large.step,
        "summed": large.memory.sum,
        "products": large.products(),
        "rest": partial(large.step_with, token_clock.nothing),
        "read": partial(large.step_with, token_clock.only_read),
        "small token": small.step,
        "small summed": small.memory.sum,
        "small products": small.products(),
    }
    found = dict(zip(jobs, seconds(*jobs.values(), turns=TOKENS), strict=True))
    tokens = [token_clock.clocked(large.step) for _ in range(TOKENS)]
    middle = sorted(tokens, key=lambda times: times[-1])[TOKENS // 2]
    jobs = {f"step {k}": partial(large.step, k) for k in TEXTS}
    jobs |= {f"products {k}": large.products(k) for k in TEXTS}
    jobs |= {f"cached {k}": large.cached(k) for k in TEXTS}
    jobs |= {"summed": large.memory.sum, "square": lambda: square @ square}
    texts = dict(zip(jobs, seconds(*jobs.values(), turns=STEPS), strict=True))
    return found, texts, lines_of_blocks(middle, large.model.config.n_layers)


@torch.no_grad()
def measure(options: argparse.Namespace) -> dict:
    torch.set_num_threads(1)
    start = time.process_time()
    model = Llama.pretrained(NAME)
    load = time.process_time() - start
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MB
    n = sum(p.numel() for p in model.parameters())
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(model.config.vocab_size, (1, TEXT), generator=generator)
    prefill = TEXT / seconds(lambda: model(ids, model.new_cache()), turns=1)[0]
    rounds = [one_round(n, ids) for _ in range(1 if options.quick else ROUNDS)]
    found = {name: [one[0][name] for one in rounds] for name in rounds[0][0]}
    texts_found = {name: [one[1][name] for one in rounds] for name in rounds[0][1]}
    peaks = [2 * SIDE**3 / took / 1e9 for took in texts_found.pop("square")]
    blocks = [block for one in rounds for block in one[2]]
    foretold = [1 / took for took in found["summed"]]
    written = [1 / took for took in found["token"]]
    milliseconds, texts = (
        {name: [round(1000 * took, 1) for took in times] for name, times in each.items()}
        for each in (found, texts_found)
    )
    for name, values in (milliseconds | texts | {"peak": peaks}).items():
        print(f"{name:15}", *(f"{value:.1f}" for value in values))
    return {
        "weights_bytes": 4 * n,
        "load_seconds": round(load, 2),
        "peak_megabytes": round(most),
        "prefill_tokens_a_second": round(prefill),
        "tokens_a_second": [round(w, 2) for w in written],
        "bytes_a_second": [round(f * 4 * n / 1e9, 2) for f in foretold],
        "foretold_tokens_a_second": [round(f, 2) for f in foretold],
        "share": [round(w / f, 3) for w, f in zip(written, foretold, strict=True)],
        "milliseconds": milliseconds,
        "texts": texts,
        "peak": [round(peak, 1) for peak in peaks],
        "block": [round(statistics.median(part), 1) for part in zip(*blocks, strict=True)],
    }


main = runs.script(__doc__, "real_speed", measure, SETTINGS)


if __name__ == "__main__":
    main()
