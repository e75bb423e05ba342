"""The race in a browser's tab, beside nanoGPT's command and the same recipe in PyTorch -> tab.json.

Usage: python -m lab.tab [--quick | --write]

One run measures all, on the same machine, one after the other: half of the tab's seeds, nanoGPT's
command and the recipe of lab/configs/record-every-seed.toml in PyTorch, then the other half.
Headless Chromium opens the page that `race().save` writes, from disk, and the button is pressed.
Seconds of training are the page's own, and so are those from the press to the score. PyTorch's are
of training alone. Losses are nats a character on the whole validation split of Tiny Shakespeare.
If Firefox is there, it trains three of the seeds. If Node.js is there, it trains three of the seeds
in one worker, and three without each of the ideas.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from lab import runs
from lab.firefox import PROGRAM, Firefox
from lab.nanogpt import NANOGPT
from lab.taken_apart import Runner
from scratchformer.cli import read_config
from scratchformer_course.kit.figure.live_figure import LOADER, PACKAGE
from scratchformer_course.measurements import FOLDER
from scratchformer_course.tab_trainer import race
from scratchformer_course.tab_trainer.race import CONFIG, RIVAL, TRAINING

if TYPE_CHECKING:
    from playwright.sync_api import Page

STORED = FOLDER / "tab.json"
RECIPE = runs.CONFIGS / "record-every-seed.toml"
SEEDS = 10
IDEAS: dict[str, tuple[dict, dict]] = {  # what a reader can switch off, as the page does it
    "rotary": ({"positions": "learned"}, {}),
    "bigrams": ({"bigram_rows": 0}, {}),
    "smear": ({"smear": 0}, {}),
    "muon": ({}, RIVAL),
}
SETTINGS = {
    "config": CONFIG,
    "training": TRAINING,
    "recipe": read_config(RECIPE),
    "nanoGPT": NANOGPT,
    "seeds": SEEDS,
    "without": IDEAS,
}
DONE = "course.race.last !== null"
PRESS = "[...document.querySelectorAll('button')].find((b) => b.matches('.sx-go')).click()"
FILL_IN = """Object.entries(values).forEach(([label, value]) => {
  const own = [...document.querySelectorAll("label")].find((e) => e.textContent.startsWith(label));
  const field = document.getElementById(own.htmlFor);
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
})"""
SCRIPTS = (LOADER, "page_model/model.js") + tuple(
    f"tab_trainer/{name}.js" for name in ("kernels", "matrix", "trainer")
)
IN_NODE = """
for (const path of process.argv.slice(1)) require(path);
const Tr = course.trainer;
const { train, scored, config, settings, seed } =
  JSON.parse(require("fs").readFileSync(0, "utf8"));
const start = performance.now();
const run = Tr.newRun(config, settings, seed);
const { batch_size, steps } = settings, T = config.context_length;
const batches = Tr.windows(Int32Array.from(train), batch_size, T, seed);
for (let i = 0; i < steps; i++) run.update(batches.next().value);
const seconds = (performance.now() - start) / 1000;
let sum = 0, count = 0;
for (const piece of Tr.scoringBatches(Int32Array.from(scored), T, batch_size)) {
  sum += run.score(piece) * piece.y.length;
  count += piece.y.length;
}
console.log(JSON.stringify({ loss: sum / count, seconds, kind: run.tape.kind }));
"""


def in_the_tab(page: "Page | Firefox", address: str, seed: int, steps: int) -> dict:
    """One press of the button: seconds of training, seconds in all, loss, the curve, and so on."""
    page.goto(address)
    page.evaluate("localStorage.clear()")
    page.evaluate(f"((values) => {FILL_IN})({json.dumps({'Seed': seed, 'Steps': steps})})")
    page.evaluate(PRESS)
    until = time.monotonic() + 600
    while not page.evaluate(DONE):
        if time.monotonic() > until:
            raise TimeoutError("the run has not ended after 600 s")
        time.sleep(0.25)  # a page that is asked often is slower
    return {"seed": seed, **page.evaluate("course.race.last")}


def trained(runner: Runner, split: str, seed: int, config: dict, settings: dict) -> dict:
    """A run of the trainer in Node.js on a split: {loss, seconds, kind}."""
    train, scored = runner.splits[split]
    asked = {
        "train": train.tolist(),
        "scored": scored.tolist(),
        "config": {**config, "vocab_size": runner.vocab_size},
        "settings": settings,
        "seed": seed,
    }
    command = ["node", "-e", IN_NODE, *(str(PACKAGE / name) for name in SCRIPTS)]
    done = subprocess.run(command, input=json.dumps(asked), stdout=subprocess.PIPE, text=True,
                          check=True, timeout=600)  # fmt: skip
    return json.loads(done.stdout)


def in_pytorch(runner: Runner, seed: int, steps: int) -> dict:
    """The recipe by the library's own loop, for as many steps as the tab takes."""
    config = read_config(RECIPE)
    setting = config["model"], config["training"]
    loss, way = runner.ours("validation", seed, *setting, steps)
    return {"seed": seed, "loss": loss, "seconds": way["seconds"][-1], "curve": way}


def measure(options) -> dict:
    """All runs, and what is quoted of them."""
    torch.set_num_threads(os.cpu_count() or 1)
    runner, few = Runner(options.quick), range(2 if options.quick else 3)
    seeds, steps = (2, 5) if options.quick else (SEEDS, TRAINING["steps"])
    measured: dict = {"tab": [], "firefox": [], "node": [], "without": {}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "race.html"
        race().save(path)

        def run_tab(page: "Page | Firefox", some: range, name: str = "tab") -> None:
            for seed in some:
                measured[name].append(in_the_tab(page, path.as_uri(), seed, steps))

        with runs.chromium() as browser:
            page = browser.new_page()
            run_tab(page, range(seeds // 2))
            loss, way = runner.nanogpt("validation", 0)
            rival = {"seed": 0, "loss": loss, "seconds": way["seconds"][-1], "curve": way}
            measured["nanoGPT"] = [rival]
            measured["pytorch"] = [in_pytorch(runner, seed, steps) for seed in few]
            run_tab(page, range(seeds // 2, seeds))
            measured["browser"] = browser.version
        if PROGRAM is not None:
            with Firefox() as other:
                measured["firefox_version"] = other.version
                run_tab(other, few, "firefox")

    def in_node(seed: int, model: dict, training: dict) -> dict:
        settings = {**TRAINING, "steps": steps, **training}
        return {"seed": seed, **trained(runner, "validation", seed, CONFIG | model, settings)}

    if shutil.which("node"):
        measured["node"] = [in_node(seed, {}, {}) for seed in few]
        measured["without"] = {
            idea: [in_node(seed, *less) for seed in few] for idea, less in IDEAS.items()
        }
    return measured | {"summary": summary(measured)}


def summary(measured: dict) -> dict:
    """What is quoted: medians with their ranges, and how many seeds reach 1.90."""

    def spread(values) -> dict:
        median, low, high = (round(x, 3) for x in runs.spread(values))
        return {"median": median, "range": [low, high]}

    tab, rival = measured["tab"], measured["nanoGPT"][0]
    return {
        "seconds": spread(run["seconds"] for run in tab),
        "in_all": spread(run["all"] for run in tab),
        "at_most_1.90": sum(run["loss"] <= 1.90 for run in tab),
        "seeds": len(tab),
        "nanoGPT_seconds": round(rival["seconds"], 1),
        "ratio": spread(rival["seconds"] / run["seconds"] for run in tab),
    }


def main(arguments: list[str] | None = None) -> None:
    runs.carry_out(__doc__, STORED, measure, arguments, SETTINGS)


if __name__ == "__main__":
    main()
