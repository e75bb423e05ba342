"""What small runs foretell of a larger one, written down before it is trained -> forecast.json.

Usage: python -m lab.forecast [--write]            a new forecast, and the small runs that it lacks
       python -m lab.forecast --large [--write]    then the large runs, beside the stored forecast

The small runs are those of law.json of at most SMALL operations, and a few more with other seeds.
A law, L = E + ((N0 / N)^alpha + (D0 / D)^beta)^gamma, is fitted to them. It says what a model loses
that takes ten times as many operations. Playhouse's floor E is known
(playhouse_floor.py); on Shakespeare it is a sixth unknown. The interval holds 95 % of the forecasts
that come out if each small run is moved by as much as runs of one cell differ by chance, with the
chance of a mean of three large runs on top. The forecast is committed before the large runs are
trained, and `--large` does not touch it. `--large` also trains, on Playhouse, the size that the law
picks for one budget, half of it and twice of it. All together takes about 20 minutes of one core.
"""

import math
import time
from dataclasses import asdict

import numpy as np

from lab import law, runs
from scratchformer_course.ch16_scaling.joint import fit_joint
from scratchformer_course.measurements import load_measurements

STAGES = "--write", "--large --write"  # what measures all of it, one after the other
SMALL = 7e11  # operations, 6 N D
MORE = {  # cells that are not in law.json, or need more seeds there: width, steps, seed
    "playhouse": [],
    "tinyshakespeare": [(32, 3920, 0), (32, 3920, 1), (32, 3920, 2), (48, 3920, 1)],
}
LARGE = 96, 9920  # width and steps: ten times the operations of the largest small run
SEEDS, DRAWS = (0, 1, 2), 400
SIZES, BUDGET = (25, 36, 51), 5e11  # half of the size that the law picks, that size, and twice it
ORDERS = range(2, 11)  # of counts
SETTINGS = runs.settings_of(globals(), "SMALL LARGE SEEDS DRAWS MORE SIZES BUDGET ORDERS")


def train(corpus: str, cells: list[tuple[int, int, int]]) -> list[dict]:
    """The runs of some (width, steps, seed), as law.py has them, at its rates."""
    rule = load_measurements("law")["rules"][corpus]
    return [law.train_one(job) for job in law.cells(corpus, rule, cells)]


def small_runs(stored: list[dict], more: list[dict], corpus: str) -> list[dict]:
    """What the forecast is fitted to: runs that read the training text, scored on validation."""
    fitted = [run for run in stored if run["stage"] in ("grid", "isoflop")]
    return [
        run for run in fitted + more if run["corpus"] == corpus and 6 * run["N"] * run["D"] <= SMALL
    ]


def noise(small: list[dict]) -> float:
    """Standard deviation of the log loss in a cell, all cells together."""
    cells: dict[tuple, list[float]] = {}
    for run in small:
        cells.setdefault((run["N"], run["D"]), []).append(math.log(run["losses"]["val"]))
    several = [cell for cell in cells.values() if len(cell) > 1]
    squares = sum(len(cell) * np.var(cell) for cell in several)
    return math.sqrt(squares / sum(len(cell) - 1 for cell in several))


def foretell(small: list[dict], floor: float | None) -> dict:
    """The law of the small runs, and what it says of the large one: a loss and 95 % around it."""
    N, D, loss = np.array([(run["N"], run["D"], run["losses"]["val"]) for run in small]).T
    width, steps = LARGE
    to_read = steps * law.BATCH * law.CONTEXT
    size = round(law.operations(width, steps) / 6 / to_read)
    chance, draw = noise(small), np.random.default_rng(0)
    fitted = fit_joint(N, D, loss, floor)
    again = []
    for _ in range(DRAWS):
        moved = loss * np.exp(draw.normal(0, chance, len(loss)))
        again.append(fit_joint(N, D, moved, floor, fitted)(size, to_read))
    again *= np.exp(draw.normal(0, chance / math.sqrt(len(SEEDS)), DRAWS))
    return {
        "day": runs.today(),
        "time": time.strftime("%H:%M UTC", time.gmtime()),
        "runs": len(small),
        "law": asdict(fitted),
        "N": size,
        "D": to_read,
        "loss": round(float(fitted(size, to_read)), 4),
        "interval": [round(float(end), 4) for end in np.percentile(again, [2.5, 97.5])],
    }


def before() -> dict:
    """The small runs and the forecasts."""
    floors = {"playhouse": load_measurements("playhouse_floor")["floor"], "tinyshakespeare": None}
    corpora = {}
    for corpus in law.CORPORA:
        more = train(corpus, MORE[corpus])
        small = small_runs(load_measurements("law")["runs"], more, corpus)
        corpora[corpus] = {"forecast": foretell(small, floors[corpus]), "small": more, "large": []}
    return {"settings": SETTINGS, "corpora": corpora}


def counts(corpus: str) -> dict:
    """Counts of the text that a large run reads, of the order that is best on development text."""
    if corpus == "playhouse":
        characters = LARGE[1] * law.BATCH * law.CONTEXT + law.CONTEXT
        seeds = law.TEXTS["tuning"], law.TEXTS["training"][0]
        to_choose, text = (law.play(seed, characters) for seed in seeds)
    else:
        to_choose, text = law.shakespeare()["core"], law.shakespeare()["training"]
    order = min(ORDERS, key=lambda order: law.count(corpus, to_choose, "dev", order))
    return {"order": order, "loss": law.count(corpus, text, "val", order)}


def after(foretold: dict) -> dict:
    """What was stored, with the large runs, counts beside them, and three sizes of one budget."""
    for corpus, part in foretold["corpora"].items():
        part["large"] = train(corpus, [(*LARGE, seed) for seed in SEEDS])
        part["counts"] = counts(corpus)
    steps = {width: round(BUDGET / law.operations(width, 1)) for width in SIZES}
    sizes = [(width, steps[width], seed) for width in SIZES for seed in SEEDS]
    return foretold | {"sizes": train("playhouse", sizes)}


def main(arguments: list[str] | None = None) -> dict:
    parser = runs.command_line(__doc__, "forecast.json", quick=False)
    parser.add_argument("--large", action="store_true", help="train the large runs")
    options = parser.parse_args(arguments)
    runs.load_text(write=True)  # whether stored or not: Playhouse must not stand in for it
    result = (
        after(runs.read(runs.path_of("forecast"))) if options.large else before()
    ) | runs.stamp()
    if options.write:
        runs.store(runs.path_of("forecast"), result)
    for corpus, part in result["corpora"].items():
        print(corpus, part["forecast"], [run["losses"]["val"] for run in part["large"]])
    return result


if __name__ == "__main__":
    main()
