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
    more: dict[str, list[dict]]  # side -> changes of these that are swept at the best rates
    sweep_seeds: int
    seeds: int  # of what is read with the picked settings
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


def compare(runner, setting: tuple[dict, dict], place: Place) -> dict:
    """Both sides' sweep on development, and what was picked with more seeds."""
    measured = {side: one_side(runner, setting, place, side) for side in SIDES}
    ahead = paired(*(measured[side]["validation"] for side in SIDES))
    return {"steps": place.steps, **measured, "ahead": ahead}


def one_side(runner, setting: tuple[dict, dict], place: Place, side: str) -> dict:
    """Every setting of a side with its losses on development, the pick, and more runs of it."""
    seeds = runner.ten_seeds[: place.seeds]
    tried: list[dict] = []

    def losses(changes: dict, split: str, seeds, steps: int | None = None) -> list[float]:
        changed = setting_of(setting, place, side, changes)
        return [runner.ours(split, seed, *changed, steps)[0] for seed in seeds]

    def attempt(changes: dict) -> None:
        scored = losses(changes, "development", runner.ten_seeds[: place.sweep_seeds])
        tried.append({"changes": changes, "losses": scored})
        print(side, tried[-1], flush=True)

    for rate, outer in place.pairs[side][:2] if runner.quick else place.pairs[side]:
        attempt({SIDES[side]: rate, "lr": outer})
    best = picked(tried)
    for change in place.more[side][:1] if runner.quick else place.more[side]:
        attempt(best | change)
    best = picked(tried)
    measured: dict = {"swept": tried, "picked": best}
    measured |= {split: losses(best, split, seeds) for split in ("development", "validation")}
    for name, counts in (("runs", place.around), ("longer", place.longer)):
        if counts and side in counts:
            measured[name] = [
                {"steps": n, "seed": seed, "loss": losses(best, "development", [seed], n)[0]}
                for n in counts[side]
                for seed in seeds
            ]
    return measured


def picked(tried: list[dict]) -> dict:
    """The rates with the least mean loss, and one change more if it gains more than noise."""

    def loss(attempt: dict) -> float:
        return statistics.mean(attempt["losses"])

    best = min((a for a in tried if len(a["changes"]) == 2), key=loss)
    least = min(tried, key=loss)
    return (least if loss(least) < loss(best) - NOISE else best)["changes"]
