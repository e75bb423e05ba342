"""How fast SmolLM2 loads and writes on one core -> measurements/real_speed.json.

Usage: python -m lab.real_speed [--quick | --write]

A token needs every weight once, so chapter 15 foretells bandwidth / bytes of the weights. The
bandwidth is that of a sum over as many numbers as the model has weights, which is no product of a
matrix with a vector, and which no cache of the processor holds; a copy of them is a second measure.
All take turns with the tokens, since what else runs on the machine slows each of them; a round
keeps the fastest of 20.

`milliseconds` are a token's: `token` as it is, `products` its products alone, `rest` the same model
without any, and `read` with a sum over each matrix in place of its product. `block` is the time
line of one of its blocks: microseconds before each product and in it, by turns.
"""

import argparse
import resource
import statistics
import time

import torch
import torch.nn.functional as F

from lab import runs
from scratchformer.models import Llama
from scratchformer_course.ch15_costs import token_clock

NAME = "smollm2-135m-instruct"
TEXT, TOKENS, ROUNDS, PREFIX = 300, 20, 8, 32
SETTINGS = {"model": NAME, "threads": 1, "text": TEXT, "tokens": TOKENS, "rounds": ROUNDS,
            "prefix": PREFIX}  # fmt: skip
PRODUCTS = len(token_clock.NAMES)


def core_seconds(job) -> float:
    """Seconds of the processor that a call takes."""
    start = time.process_time()
    job()
    return time.process_time() - start


def lines_of_blocks(times: list[tuple[float, float]], n_layers: int) -> list[list[float]]:
    """For each block but the first the microseconds before each product and in it, by turns.

    What is done after a block's last product is counted before the first of the next.
    """
    ends = [0.0, *(end for _, end in times)]
    gaps = [begins - before for (begins, _), before in zip(times, ends, strict=False)]
    both = [(gap, end - begins) for gap, (begins, end) in zip(gaps, times, strict=True)]
    cut = [both[PRODUCTS * i : PRODUCTS * (i + 1)] for i in range(1, n_layers)]
    return [[1e6 * part for pair in block for part in pair] for block in cut]


@torch.no_grad()
def measure(options: argparse.Namespace) -> dict:
    torch.set_num_threads(1)
    loaded: list[Llama] = []
    load = core_seconds(lambda: loaded.append(Llama.pretrained(NAME)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MB
    (model,) = loaded
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(model.config.vocab_size, (1, TEXT), generator=generator)
    prefill = TEXT / core_seconds(lambda: model(ids, model.new_cache()))
    numbers, place = torch.randn(size // 4), torch.empty(size // 4)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    inputs = {w.shape[1]: torch.randn(1, 1, w.shape[1]) for w in matrices}

    def token():
        model(ids[:, :1], cache)

    def token_with(product):
        with token_clock.products_replaced(product):
            token()

    jobs = {
        "token": token,
        "summed": numbers.sum,
        "copied": lambda: place.copy_(numbers),
        "products": lambda: [F.linear(inputs[w.shape[1]], w) for w in matrices],
        "rest": lambda: token_with(token_clock.nothing),
        "read": lambda: token_with(token_clock.only_read),
    }
    found: dict[str, list[float]] = {name: [] for name in jobs}
    blocks: list[list[float]] = []
    for _ in range(1 if options.quick else ROUNDS):
        cache = model.new_cache()
        model(ids[:, :PREFIX], cache)
        took = [{name: core_seconds(job) for name, job in jobs.items()} for _ in range(TOKENS)]
        for name, least in found.items():
            least.append(min(one[name] for one in took))
        tokens = [token_clock.clocked(token) for _ in range(TOKENS)]
        fastest = min(tokens, key=lambda times: times[-1])
        blocks += lines_of_blocks(fastest, model.config.n_layers)
    foretold = [1 / seconds for seconds in found["summed"]]
    written = [1 / seconds for seconds in found["token"]]
    milliseconds = {name: [round(1000 * s, 1) for s in found[name]] for name in found}
    for name, values in milliseconds.items():
        print(f"{name:9}", *values)
    return {
        "weights_bytes": size,
        "load_seconds": round(load, 2),
        "peak_megabytes": round(peak),
        "prefill_tokens_a_second": round(prefill),
        "tokens_a_second": [round(w, 2) for w in written],
        "bytes_a_second": [round(f * size / 1e9, 2) for f in foretold],
        "copied_a_second": [round(2 * size / s / 1e9, 2) for s in found["copied"]],
        "foretold_tokens_a_second": [round(f, 2) for f in foretold],
        "share": [round(w / f, 3) for w, f in zip(written, foretold, strict=True)],
        "milliseconds": milliseconds,
        "block": [round(statistics.median(part), 1) for part in zip(*blocks, strict=True)],
    }


main = runs.script(__doc__, "real_speed", measure, SETTINGS)


if __name__ == "__main__":
    main()
