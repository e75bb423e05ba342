"""Muon beside an AdamW tuned as widely, in the page that trains -> tab_rivals.json.

Usage: python -m lab.tab_rivals [--quick | --write]

The page's trainer runs in Node.js, in one worker, with the page's setting and its number of steps.
The trial is that of the race's final setting (`rivals.py`): both rates of both sides are swept over
grids of one size and then each side's memory, three changes each, all with the same seed on
development. What was picked runs with three seeds, on development and, once, on validation. AdamW
also runs for a quarter and for half as many steps more, to see when it comes to Muon's loss.

What is picked for AdamW is `RIVAL` of `tab_trainer/race.py`, with which the page trains without
Muon. With Muon it keeps the race's momentum; that setting runs with as many seeds on development,
as "page". Losses are nats a character. Seconds play no part.
"""

from dataclasses import asdict, replace

from lab import rivals, runs, tab
from lab.taken_apart import PLACES, Runner
from scratchformer_course.tab_trainer.race import CONFIG, TRAINING

STEPS = TRAINING["steps"]
PLACE = replace(PLACES["final"], steps=STEPS, sweep_seeds=1, seeds=3, around=None,
                longer={"AdamW": (5 * STEPS // 4, 3 * STEPS // 2)})  # fmt: skip
SETTINGS = {"config": CONFIG, "training": TRAINING, "place": asdict(PLACE)}


class InNode(Runner):
    """Runs of the page's trainer in Node.js in place of PyTorch's."""

    def __init__(self, quick: bool, write: bool = False):
        super().__init__(quick, write)
        if quick:
            self.splits = {split: (ids[:9000], text) for split, (ids, text) in self.splits.items()}

    def ours(self, split: str, seed: int, model: dict, training: dict, steps=None) -> tuple:
        """One run: its loss, and no curve."""
        steps = 3 if self.quick else steps or training["steps"]
        run = tab.trained(self, split, seed, model, training | {"steps": steps})
        return round(run["loss"], 4), {}


def measure(options) -> dict:
    """Both sides' sweep, and what was picked with more seeds."""
    runner, setting = InNode(options.quick, options.write), (CONFIG, TRAINING)
    measured = rivals.compare(runner, setting, PLACE)
    rates = {key: TRAINING[key] for key in ("muon_lr", "lr")}
    page = rivals.setting_of(setting, PLACE, "Muon", rates)
    seeds = runner.ten_seeds[: PLACE.seeds]
    losses = [runner.ours("development", seed, *page)[0] for seed in seeds]
    return {"page": {"development": losses}} | measured


main = runs.script(__doc__, "tab_rivals", measure, SETTINGS)


if __name__ == "__main__":
    main()
