"""Muon against an AdamW that is tuned as widely as it: the sweeps of `taken_apart.py`.

Either optimiser has two rates: one for the linear layers inside the network, and AdamW's for
tables and head. At a place in the order of changes both rates of both sides are swept, with the
same seeds and steps, and the least mean loss on the development split is picked; then one more
choice is swept at these rates. More seeds run with what was picked, on development and once on the
validation split; in the final setting also around nanoGPT's loss, and elsewhere for more steps, to
see when the slower side comes to the faster one's loss. Nothing here is run by itself.
"""

import statistics
from dataclasses import dataclass

from lab.factors import paired

NOISE = 0.003  # nats: a second change that gains less leaves everything as it is
SIDES = {"AdamW": "matrix_lr", "Muon": "muon_lr"}  # side -> what its inner rate is called


@dataclass(frozen=True)
class Place:
    """Where the two are compared: the grids, and how much is run."""

    steps: int  # of a run of the sweep
    pairs: dict[str, list[tuple[float, float]]]  # side -> rates of matrices inside, of the rest
    base: dict[str, dict]  # side -> its warm-up (a share of the steps) and memory
    then: dict[str, list[dict]]  # side -> changes of these that are swept at the best rates
    sweep_seeds: int
    seeds: int = 0  # of what is read with the picked settings
    around: dict[str, tuple[int, int]] | None = None  # side -> steps around nanoGPT's loss
    longer: dict[str, tuple[int, ...]] | None = None  # the slower side -> more steps than these


def cross(inner: tuple[float, ...], outer: tuple[float, float, float]) -> list[tuple]:
    """Pairs of rates: all of `inner` with the middle of `outer`, and its ends with the second."""
    return [(rate, outer[1]) for rate in inner] + [(inner[1], outer[0]), (inner[1], outer[2])]


def setting_of(setting: tuple[dict, dict], place: Place, side: str, changes: dict) -> tuple:
    """`setting` trained by one side with `changes`, without weight decay."""
    model, training = setting
    training = training | {"matrix_lr": None, "muon_lr": None, "weight_decay": 0.0}
    training |= {"warmup": 0.0, "steps": place.steps} | place.base[side] | changes
    training["warmup"] = int(training["warmup"] * place.steps)
    return model | {"explicit_attention": False}, training  # the same numbers, sooner


def sweep(runner, setting: tuple[dict, dict], place: Place) -> dict:
    """Every setting of both sides with its losses on development, and the pick of each side."""
    found = {}
    for side, inner in SIDES.items():
        tried: list[dict] = []

        def attempt(changes: dict, side=side, tried=tried) -> None:
            one = setting_of(setting, place, side, changes)
            seeds = runner.ten_seeds[: place.sweep_seeds]
            losses = [runner.ours("development", seed, *one)[0] for seed in seeds]
            tried.append({"changes": changes, "losses": losses})
            print(side, changes, losses, flush=True)

        for rate, outer in place.pairs[side][:2] if runner.quick else place.pairs[side]:
            attempt({inner: rate, "lr": outer})
        best = picked(tried)
        for more in place.then[side][:1] if runner.quick else place.then[side]:
            attempt(best | more)
        found[side] = {"swept": tried, "picked": picked(tried)}
    return {"steps": place.steps, **found}


def picked(tried: list[dict]) -> dict:
    """The rates with the least mean loss, and one change more if it gains more than noise."""

    def loss(attempt: dict) -> float:
        return statistics.mean(attempt["losses"])

    best = min((a for a in tried if len(a["changes"]) == 2), key=loss)
    least = min(tried, key=loss)
    return (least if loss(least) < loss(best) - NOISE else best)["changes"]


def read(runner, setting: tuple[dict, dict], place: Place, swept: dict) -> dict:
    """More seeds of the picked settings: as long as the sweep's, and around nanoGPT's loss."""
    found: dict[str, dict] = {side: {} for side in SIDES}
    seeds = runner.ten_seeds[: place.seeds]
    for side in SIDES:
        changes = swept[side]["picked"]
        one = setting_of(setting, place, side, changes)
        known = next(a["losses"] for a in swept[side]["swept"] if a["changes"] == changes)
        for split in ("development", "validation"):
            had = list(known)[: len(seeds)] if split == "development" else []
            losses = had + [runner.ours(split, seed, *one)[0] for seed in seeds[len(had) :]]
            found[side][split] = losses
            print(side, split, losses, flush=True)
        more = {
            "runs": (place.around or {}).get(side, ()),
            "longer": (place.longer or {}).get(side, ()),
        }
        for name, counts in more.items():
            if counts:
                found[side][name] = [
                    {"steps": n, "seed": seed, "loss": runner.ours("development", seed, *one, n)[0]}
                    for n in counts
                    for seed in seeds
                ]
                print(side, name, found[side][name], flush=True)
    return found


def ahead(read: dict) -> dict:
    """By how many nats Muon is ahead on validation, and Student's interval of 95 %."""
    return paired(*(read[side]["validation"] for side in SIDES))


def turns(milliseconds, setting: tuple[dict, dict], place: Place, swept: dict, rounds: int) -> dict:
    """Milliseconds a step of both sides' picks, which take turns: one figure a round.

    `milliseconds(model, training)` makes a short run.
    """
    found: dict[str, dict] = {side: {"ms": []} for side in SIDES}
    for _ in range(rounds):
        for side in SIDES:
            one = setting_of(setting, place, side, swept[side]["picked"])
            found[side]["ms"].append(milliseconds(*one))
    return found
