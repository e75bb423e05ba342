"""How fast SmolLM2 loads and writes on one core -> measurements/real_speed.json.

Usage: python -m lab.real_speed [--quick | --write]

A token needs every weight once, so chapter 15 foretells bandwidth / bytes of the weights. The
bandwidth is taken between the tokens, by a product of a matrix with a vector: what else runs on the
machine slows both. The matrix is as large as the model, so that no cache of the processor holds it.
"""

import argparse
import resource
import statistics
import time

import torch

from lab import runs
from scratchformer.models import Llama

NAME = "smollm2-135m-instruct"
TEXT, TOKENS, ROUNDS = 300, 40, 12
SETTINGS = {"model": NAME, "threads": 1, "text": TEXT, "tokens": TOKENS, "rounds": ROUNDS}


def core_seconds(job) -> float:
    """Seconds of the processor that a call takes."""
    start = time.process_time()
    job()
    return time.process_time() - start


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
    cache = model.new_cache()
    prefill = TEXT / core_seconds(lambda: model(ids, cache))
    width = model.config.d_model
    matrix, vector = torch.randn(size // (4 * width), width), torch.randn(width)
    written, bandwidth = [], []
    for _ in range(1 if options.quick else ROUNDS):
        steps = [core_seconds(lambda: model(ids[:, :1], cache)) for _ in range(TOKENS)]
        written.append(1 / statistics.median(steps))
        products = [core_seconds(lambda: matrix @ vector) for _ in range(TOKENS)]
        bandwidth.append(matrix.numel() * 4 / statistics.median(products))
    foretold = [b / size for b in bandwidth]
    shares = [w / f for w, f in zip(written, foretold, strict=True)]
    for name, values in (("tokens a second", written), ("foretold", foretold), ("share", shares)):
        print(f"{name:16}", *(f"{value:.2f}" for value in values))
    return {
        "weights_bytes": size,
        "load_seconds": round(load, 2),
        "peak_megabytes": round(peak),
        "prefill_tokens_a_second": round(prefill),
        "tokens_a_second": [round(w, 2) for w in written],
        "bytes_a_second": [round(b / 1e9, 2) for b in bandwidth],
        "foretold_tokens_a_second": [round(f, 2) for f in foretold],
        "share": [round(s, 3) for s in shares],
    }


main = runs.script(__doc__, "real_speed", measure, SETTINGS)


if __name__ == "__main__":
    main()
