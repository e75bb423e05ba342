"""Each language model of the course beside counts of the same text -> contests.json.

Usage: python -m lab.contests [--write]

Nothing is measured here: losses come from the files that other scripts have stored.
"""

import argparse
import statistics

from lab import law, runs
from scratchformer.models import GPT
from scratchformer.shipped import shipped_record
from scratchformer_course.ch10_bigram_to_gpt.exercises import RightGPT
from scratchformer_course.ch11_training.stored_steps import training_record
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT
from scratchformer_course.tab_trainer.race import CONFIG, FIXED, TRAINING

LEVEL = 0.005  # nats: two losses that are as near as this are called level
SETTINGS = {"level": LEVEL}


def row(page: str, name: str, parameters: int, steps: int, batch: int, losses: list) -> dict:
    """A network; `batch` is how many characters it predicts in a step."""
    trained = {"parameters": parameters, "steps": steps, "guesses": steps * batch}
    return {"page": page, "name": name, **trained, "losses": losses}


def on_shakespeare() -> list[dict]:
    """The networks that learn from nine tenths of Tiny Shakespeare, in the order of the book."""
    first, apart = load_measurements("first_network"), load_measurements("taken_apart")
    climb = load_measurements("climb")
    of_climb = climb["settings"]["GPT"]
    batch, (small, *_, large) = first["settings"]["larger"]["batch"], first["larger"]["runs"]
    film, shipped = training_record(), shipped_record("tiny-shakespeare")
    demo, ours = apart["settings"]["nanoGPT"], apart["settings"]["speedrun"]
    demo_size, *_, our_size = (rung["parameters"] for rung in apart["ladder"].values())
    losses = {
        side: [run["loss"] for run in apart["splits"]["validation"][side]]
        for side in ("nanoGPT", "ours")
    }
    in_tab = SpeedrunGPT(SpeedrunConfig(runs.CHARACTERS, **CONFIG, **FIXED))
    tab = [round(run["loss"], 4) for run in load_measurements("tab")["tab"]]

    def trained(page: str, name: str, parameters: int, of: dict, length: int, losses) -> dict:
        return row(page, name, parameters, of["steps"], of["batch_size"] * length, losses)

    of_film, of_shipped = film["settings"]["training"], shipped["settings"]["training"]
    return [
        row("04_first_network", "window of 8", small["parameters"], small["steps"], batch,
            small["losses"]),
        row("04_first_network", "wider and longer", large["parameters"], large["steps"], batch,
            large["losses"]),
        trained("10_bigram_to_gpt", "GPT, 1,000 steps", runs.size(RightGPT(**of_climb["model"])),
                of_climb["training"], of_climb["training"]["context_length"],
                next(rung["losses"] for rung in climb["rungs"] if rung["name"] == "your GPT")),
        trained("11_training", "GPT, 5,000 steps", film["parameters"], of_film,
                of_film["context_length"], [film["validation"]["5000"]]),
        trained("12_generation", "shipped GPT", shipped["parameters"], of_shipped,
                of_shipped["context_length"], [shipped["losses"]["validation"]]),
        large_run("tinyshakespeare"),
        trained("17_speedrun", "nanoGPT's demo", demo_size, demo, demo["model"]["context_length"],
                losses["nanoGPT"]),
        trained("17_speedrun", "two seconds", our_size, ours["training"],
                ours["model"]["context_length"], losses["ours"]),
        trained("train_in_this_tab", "in a browser's tab", runs.size(in_tab), TRAINING,
                CONFIG["context_length"], tab),
    ]  # fmt: skip


def large_run(corpus: str) -> dict:
    """The run that chapter 16 foretold on a text, three seeds."""
    large = load_measurements("forecast")["corpora"][corpus]["large"]
    characters = law.vocab_size(corpus) if corpus == "playhouse" else runs.CHARACTERS
    model, steps = GPT(law.config_of(large[0]["width"], characters)), large[0]["steps"]
    losses = [run["losses"]["val"] for run in large]
    return row(
        "16_scaling", "foretold GPT", runs.size(model), steps, large[0]["D"] // steps, losses
    )


def contests() -> list[dict]:
    """Every network with the best table of the same text."""
    splits = load_measurements("taken_apart")["splits"]
    counted, chosen = (splits[split]["counts"] for split in ("validation", "development"))
    order = min(chosen, key=chosen.__getitem__)
    table = {"text": "Tiny Shakespeare", "table": f"{order}-grams", "counted": counted[order]}
    rows = [network | table for network in on_shakespeare()]
    plays = load_measurements("forecast")["corpora"]["playhouse"]["counts"]
    table = {"text": "Playhouse", "table": f"{plays['order']}-grams", "counted": plays["loss"]}
    rows.append(large_run("playhouse") | table)
    return [row | judged(row["counted"] - statistics.mean(row["losses"])) for row in rows]


def judged(lead: float) -> dict:
    """The network's lead in nats, below 0 where the counts are ahead, and who wins."""
    winner = "level" if abs(lead) <= LEVEL else "network" if lead > 0 else "counts"
    return {"ahead": round(lead, 4), "winner": winner}


def measure(_: argparse.Namespace) -> dict:
    """What is stored."""
    return {"contests": contests()}


main = runs.script(__doc__, "contests", measure, SETTINGS, quick=False)


if __name__ == "__main__":
    main()
