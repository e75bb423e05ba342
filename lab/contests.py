"""Each language model of the course beside counts of the same text -> contests.json.

Usage: python -m lab.contests [--write]

Nothing is measured here: losses come from the files that other scripts have stored.
"""

import argparse
import statistics
from collections.abc import Iterator

from lab import law, runs
from scratchformer.models import GPT
from scratchformer.shipped import shipped_record
from scratchformer_course.ch11_training.stored_steps import training_record
from scratchformer_course.measurements import FOLDER, load_measurements
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT
from scratchformer_course.tab_trainer.race import CONFIG, FIXED, TRAINING

FILE = FOLDER / "contests.json"
SHAKESPEARE, PLAYHOUSE = "Tiny Shakespeare", "Playhouse"
MIXED = "three tables mixed"
LEVEL = 0.005  # nats: two losses that are as near as this are called level
SETTINGS = {"level": LEVEL}


def row(page: str, name: str, parameters: int, steps: int, guesses: int, losses: list) -> dict:
    """A network: `guesses` is how many characters (or tokens) of a batch it predicts in a step."""
    trained = {"parameters": parameters, "steps": steps, "guesses": steps * guesses}
    return {"page": page, "name": name, **trained, "losses": losses}


def on_shakespeare() -> Iterator[dict]:
    """The networks that learn from nine tenths of Tiny Shakespeare, in the order of the book."""
    own = load_measurements("first_network")
    batch, of_larger = own["settings"]["larger"]["batch"], own["larger"]["runs"][::3]
    for name, run in zip(("window of 8", "wider and longer"), of_larger, strict=True):
        parts = run["parameters"], run["steps"], batch, run["losses"]
        yield row("04_first_network", name, *parts)
    yield short_run("10_bigram_to_gpt", "GPT, 300 steps", "chapter 10")
    film, shipped = training_record(), shipped_record("tiny-shakespeare")
    for page, name, record, loss in (
        ("11_training", "GPT, 5,000 steps", film, film["validation"]["5000"]),
        ("12_generation", "shipped GPT", shipped, shipped["losses"]["validation"]),
    ):
        of = record["settings"]["training"]
        guesses = of["batch_size"] * of["context_length"]
        yield row(page, name, record["parameters"], of["steps"], guesses, [loss])
    yield large_run("tinyshakespeare")
    apart, records = load_measurements("taken_apart"), load_measurements("records")
    of, losses = apart["settings"]["nanoGPT"], apart["splits"]["validation"]["nanoGPT"]
    weights = apart["ladder"]["nanoGPT's setting"]["parameters"]
    guesses = of["batch_size"] * of["model"]["context_length"]
    parts = weights, of["steps"], guesses, [run["loss"] for run in losses]
    yield row("17_speedrun", "nanoGPT's demo", *parts)
    sixty, two = records["ten_seeds"]["record-mean"], records["two_minutes"]
    configs = records["settings"]
    for page, name, part, config, key in (
        ("17_speedrun", "two seconds", sixty, configs["ten_seeds"]["record-mean"], "loss"),
        ("records", "two minutes", two, configs["two_minutes"]["config"], "alone"),
    ):
        model, of = config["model"], config["training"]
        # where windows double, a batch has half as many
        guesses = of["batch_size"] * of.get("context_length", model["context_length"])
        losses = [run[key] for run in part["runs"]["validation"]]
        yield row(page, name, part["parameters"], of["steps"], guesses, losses)
    losses = [round(run["loss"], 4) for run in load_measurements("tab")["tab"]]
    in_tab = SpeedrunGPT(SpeedrunConfig(runs.CHARACTERS, **CONFIG, **FIXED))
    guesses = TRAINING["batch_size"] * CONFIG["context_length"]
    yield row(
        "train_in_this_tab",
        "in a browser's tab",
        runs.size(in_tab),
        TRAINING["steps"],
        guesses,
        losses,
    )


def short_run(page: str, name: str, chapter: str) -> dict:
    """A run of seconds that a chapter makes on its page."""
    measured = load_measurements("short_runs")
    own, of = measured[chapter], measured["settings"][chapter]["training"]
    guesses = of["batch_size"] * of["context_length"]
    return row(page, name, own["parameters"], own["steps"], guesses, [round(own["loss"], 4)])


def large_run(corpus: str) -> dict:
    """The run that chapter 16 foretold on a text, three seeds."""
    found = load_measurements("forecast")["corpora"][corpus]["large"]
    different = law.vocab_size(corpus) if corpus == "playhouse" else runs.CHARACTERS
    model, steps = GPT(law.config_of(found[0]["width"], different)), found[0]["steps"]
    guesses = found[0]["D"] // steps
    losses = [run["losses"]["val"] for run in found]
    return row("16_scaling", "foretold GPT", runs.size(model), steps, guesses, losses)


def contests() -> list[dict]:
    """Every network with the best table of the same text; chapter 18's loss is per character."""
    counted = load_measurements("ladder")["kneser_ney"]
    chosen = load_measurements("taken_apart")["splits"]["development"]["counts"]
    order = min(chosen, key=lambda n: chosen[n])
    table = {"text": SHAKESPEARE, "table": f"{order}-grams", "counted": counted[order]}
    mixed = load_measurements("records")["two_minutes"]["means"]["validation"]["counts"][0]
    found = []
    for network in on_shakespeare():
        found.append(network | table)
        if network["name"] == "two minutes":  # its page has a stronger rival, too
            found.append(found[-1] | {"table": MIXED, "counted": mixed})
    part = load_measurements("forecast")["corpora"]["playhouse"]["counts"]
    table = {"text": PLAYHOUSE, "table": f"{part['order']}-grams", "counted": part["loss"]}
    found.append(large_run("playhouse") | table)
    counts = load_measurements("short_runs")["chapter 18"]["counted"]
    table = {"text": PLAYHOUSE, "table": "5 tokens", "counted": round(counts["5"], 4)}
    found.append(short_run("18_gpt2", "GPT on tokens", "chapter 18") | table)
    return [one | judged(one["counted"] - statistics.mean(one["losses"])) for one in found]


def judged(lead: float) -> dict:
    """The network's lead in nats, below 0 where the counts are ahead, and who wins."""
    winner = "level" if abs(lead) <= LEVEL else "network" if lead > 0 else "counts"
    return {"ahead": round(lead, 4), "winner": winner}


def measure(_: argparse.Namespace) -> dict:
    """What is stored."""
    found = contests()
    for one in found:
        print(f"{one['page']:18} {one['name']:18} {one['ahead']:+.3f} {one['winner']}")
    what = "networks beside the best counts of the same text: `ahead` below 0, counts win"
    return {"what": what, "contests": found}


def main(arguments: list[str] | None = None) -> dict:
    return runs.carry_out(__doc__, FILE, measure, arguments, SETTINGS, quick=False)


if __name__ == "__main__":
    main()
