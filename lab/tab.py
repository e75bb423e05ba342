"""The race in a browser's tab, beside nanoGPT's command and the same recipe in PyTorch -> tab.json.

Usage: python -m lab.tab [--quick | --write]

One run measures all, on the same machine, one after the other: half of the tab's seeds, nanoGPT's
command and the recipe of lab/configs/record-every-seed.toml in PyTorch, then the other half.
Headless Chromium opens the page that `race().save` writes, from disk, and the button is pressed.
Seconds of training are the page's own, and so are those from the press to the score. PyTorch's are
of training alone. Losses are nats a character on the whole validation split of Tiny Shakespeare.
If Node.js is there, it trains three of the seeds
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
from lab.nanogpt import NANOGPT
from lab.taken_apart import Runner
from scratchformer.cli import read_config
from scratchformer_course.kit.figure.live_figure import LOADER, PACKAGE
from scratchformer_course.tab_trainer import race
from scratchformer_course.tab_trainer.race import CONFIG, RIVAL, TRAINING

if TYPE_CHECKING:
    from playwright.sync_api import Page

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
RUN_HAS_ENDED = "course.race.last !== null"
PRESS_BUTTON = "[...document.querySelectorAll('button')].find((b) => b.matches('.sx-go')).click()"
FILL_IN = """Object.entries(values).forEach(([label, value]) => {
  const labelled = [...document.querySelectorAll("label")]
    .find((e) => e.textContent.startsWith(label));
  const field = document.getElementById(labelled.htmlFor);
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
for (const batch of Tr.scoringBatches(Int32Array.from(scored), T, batch_size)) {
  sum += run.score(batch) * batch.y.length;
  count += batch.y.length;
}
console.log(JSON.stringify({ loss: sum / count, seconds, kind: run.tape.kind }));
"""


def in_the_tab(page: "Page", address: str, seed: int, steps: int) -> dict:
    """One press of the button: seconds of training, seconds in all, loss, the curve, and so on."""
    page.goto(address)
    page.evaluate("localStorage.clear()")
    page.evaluate(f"((values) => {FILL_IN})({json.dumps({'Seed': seed, 'Steps': steps})})")
    page.evaluate(PRESS_BUTTON)
    deadline = time.monotonic() + 600
    while not page.evaluate(RUN_HAS_ENDED):
        if time.monotonic() > deadline:
            raise TimeoutError("the run has not ended after 600 s")
        time.sleep(0.25)  # a page that is asked often is slower
    return {"seed": seed, **page.evaluate("course.race.last")}


def in_node(runner: Runner, seed: int, config: dict, settings: dict) -> dict:
    """A run of the trainer in Node.js: its loss, its seconds, and its kind of arithmetic."""
    train, validation = runner.splits["validation"]
    request = {
        "train": train.tolist(),
        "scored": validation.tolist(),
        "config": {**config, "vocab_size": runner.vocab_size},
        "settings": settings,
        "seed": seed,
    }
    command = ["node", "-e", IN_NODE, *(str(PACKAGE / name) for name in SCRIPTS)]
    process = subprocess.run(command, input=json.dumps(request), stdout=subprocess.PIPE, text=True,
                          check=True, timeout=600)  # fmt: skip
    return {"seed": seed, **json.loads(process.stdout)}


def in_pytorch(runner: Runner, seed: int, steps: int) -> dict:
    """The recipe by the library's own loop, for as many steps as the tab takes."""
    config = read_config(RECIPE)
    tables = config["model"], config["training"]
    loss, curve = runner.ours("validation", seed, *tables, steps)
    return {"seed": seed, "loss": loss, "seconds": curve["seconds"][-1], "curve": curve}


def measure(options) -> dict:
    """All runs, and what is quoted of them."""
    torch.set_num_threads(os.cpu_count() or 1)
    runner, few_seeds = Runner(options.quick), range(2 if options.quick else 3)
    seeds, steps = (2, 5) if options.quick else (SEEDS, TRAINING["steps"])
    measured: dict = {"tab": [], "node": [], "without": {}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "race.html"
        race().save(path)

        def run_tab(page: "Page", tab_seeds: range) -> None:
            for seed in tab_seeds:
                measured["tab"].append(in_the_tab(page, path.as_uri(), seed, steps))

        with runs.chromium() as browser:
            page = browser.new_page()
            run_tab(page, range(seeds // 2))
            loss, curve = runner.nanogpt("validation", 0)
            rival = {"seed": 0, "loss": loss, "seconds": curve["seconds"][-1], "curve": curve}
            measured["nanoGPT"] = [rival]
            measured["pytorch"] = [in_pytorch(runner, seed, steps) for seed in few_seeds]
            run_tab(page, range(seeds // 2, seeds))
            measured["browser"] = browser.version

    if shutil.which("node"):
        settings = {**TRAINING, "steps": steps}
        measured["node"] = [in_node(runner, seed, CONFIG, settings) for seed in few_seeds]
        measured["without"] = {
            idea: [in_node(runner, seed, CONFIG | model, settings | training) for seed in few_seeds]
            for idea, (model, training) in IDEAS.items()
        }
    return measured


main = runs.script(__doc__, "tab", measure, SETTINGS)


if __name__ == "__main__":
    main()
