"""What a token of SmolLM2 waits for in a page's engine, in Node.js -> tab_account.json.

Usage: python -m lab.tab_account [--quick | --write]

The end of chapter 15. Each round asks the engine for its limits, as a tab does, and lets it write.
`milliseconds` are a token's: `copied`, what memory takes to copy its bytes; `products`, its
products; `multiplied`, the same if each piece of a matrix comes from one place in the cache; and
`token`, in processor time. The first three are the fastest of five.
"""

import argparse
import statistics

from lab import runs
from lab.real_tab import node
from scratchformer.data.real_model import find_real_model

ROUNDS = 6
SETTINGS = {"rounds": ROUNDS}


def measure(options: argparse.Namespace) -> dict:
    rounds, sizes = [], {}
    with node(find_real_model()) as page:
        for number in range(1 if options.quick else ROUNDS):
            _, limits = page.evaluate("window.model.limits()")
            sizes = {name: limits[name] for name in ("bytes", "weights")}
            seconds = {"copied": limits["bytes"] / limits["copied"]}
            for name in ("multiplied", "products"):
                seconds[name] = limits["weights"] / limits[name]
            seconds["token"] = 1 / page.round(number)["written"]
            rounds.append({name: round(1000 * took, 1) for name, took in seconds.items()})
            print(rounds[-1], flush=True)
    found = {name: [took[name] for took in rounds] for name in rounds[0]}
    middle = {name: statistics.median(times) for name, times in found.items()}
    return sizes | {"milliseconds": found, "median": middle}


main = runs.script(__doc__, "tab_account", measure, SETTINGS)


if __name__ == "__main__":
    main()
