"""The race in a browser's tab, beside nanoGPT's command and the same recipe in PyTorch -> tab.json.

Usage: python benchmarks/tab.py [--seeds N] [--quick] [--write]

One run measures all, on the same machine, one after the other: half of the tab's seeds, nanoGPT's
command and the recipe of configs/record-every-seed.toml in PyTorch, then the other half.
Headless Chromium opens the page that `race().save` writes, from disk, and the button is pressed.
Seconds of training are the page's own, and so are those from the press to the score. PyTorch's are
of training alone. Losses are nats a character on the whole validation split of Tiny Shakespeare.
If Node.js is there, it trains three of the seeds, and three without each of the ideas. Gradients of
a small model are compared with PyTorch's by tests/unit/test_trainer.py.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from playwright.sync_api import Page, sync_playwright

from scratchformer.cli import read_config
from scratchformer.files import atomic_write
from scratchformer.measurements import FOLDER
from scratchformer.trainer import race
from scratchformer.trainer.view import CONFIG, TRAINING

if __package__:
    from benchmarks.taken_apart import Runner, our_run, stamp
else:  # they lie beside this file
    from taken_apart import Runner, our_run, stamp

ROOT = Path(__file__).resolve().parents[1]
STORED = FOLDER / "tab.json"
RECIPE = ROOT / "configs" / "record-every-seed.toml"
IDEAS = {  # what a reader can switch off, as the page's controls do it
    "rotary": ({"positions": "learned"}, {}),
    "bigrams": ({"bigram_rows": 0}, {}),
    "smear": ({"smear": 0}, {}),
    "muon": ({}, {"muon_lr": None, "betas": [0.9, 0.95]}),
}
FLAGS = ["--no-sandbox", "--disable-gpu"]
DONE = (
    "[...document.querySelectorAll('.sx-title')].some(e => e.textContent === 'The trained model')"
)
IN_NODE = """
globalThis.scratchformerMatrix = require(process.argv[1] + "/matrix.js");
const Tr = require(process.argv[1] + "/trainer.js");
const { ids, config, settings, seed } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const all = Int32Array.from(ids), cut = Math.floor(0.9 * all.length), start = performance.now();
const run = Tr.newRun(config, settings, seed);
const batches = Tr.windows(all.subarray(0, cut), settings.batch_size, config.context_length, seed);
for (let i = 0; i < settings.steps; i++) run.update(batches.next().value);
const seconds = (performance.now() - start) / 1000;
let sum = 0, count = 0;
for (const part of Tr.scores(run, all.subarray(cut), settings.batch_size)) {
  sum += part.loss * part.count;
  count += part.count;
}
console.log(JSON.stringify({ loss: sum / count, seconds, kind: run.tape.kind }));
"""


def in_the_tab(page: Page, address: str, seed: int, steps: int) -> dict:
    """One press of the button: seconds of training, seconds in all, loss, and the curve."""
    page.goto(address)
    page.evaluate("localStorage.clear()")
    page.get_by_text("Settings, and a text of your own").click()
    page.get_by_label("Seed").fill(str(seed))
    page.get_by_label("Steps").fill(str(steps))
    page.get_by_role("button", name="Train a GPT in this tab").click()
    page.wait_for_function(DONE, timeout=600_000)
    return {"seed": seed, **page.evaluate("scratchformerRace.last")}


def in_node(runner: Runner, seed: int, steps: int, without: str = "") -> dict | None:
    """A seed in Node.js, `without` one of IDEAS: loss and seconds; None without Node.js."""
    node = shutil.which("node")
    if node is None:
        return None
    train, scored = runner.splits["validation"]
    of_model, of_training = IDEAS.get(without, ({}, {}))
    config = {**CONFIG, "vocab_size": runner.vocab_size, **of_model}
    settings = {**TRAINING, "steps": steps, **of_training}
    told = {"ids": torch.cat([train, scored]).tolist(), "config": config, "seed": seed}
    done = subprocess.run(
        [node, "-e", IN_NODE, str(ROOT / "scratchformer" / "trainer")],
        input=json.dumps({**told, "settings": settings}),
        capture_output=True,
        text=True,
        check=True,
    )
    return {"seed": seed, **json.loads(done.stdout)}


def in_pytorch(runner: Runner, seed: int) -> dict:
    """The recipe by the package's own loop, for as many steps as the tab takes."""
    from scratchformer.training import evaluate

    config = read_config(RECIPE)
    ids, scored = runner.splits["validation"]
    steps = 5 if runner.quick else TRAINING["steps"]
    model, way = our_run(config["model"], config["training"], ids, runner.vocab_size, seed, steps)
    loss = evaluate(model, scored, model.context_length)
    return {"seed": seed, "loss": loss, "seconds": way["seconds"][-1], "curve": way}


def measure(seeds: int, quick: bool) -> dict:
    """All runs, and what is quoted of them."""
    runner, steps = Runner(quick), 5 if quick else TRAINING["steps"]
    found: dict = {"tab": [], "node": [], "nanoGPT": [], "pytorch": []}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "race.html"
        race().save(path)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page()

        def run_tab(some) -> None:
            for seed in some:
                found["tab"].append(in_the_tab(page, path.as_uri(), seed, steps))
                print(
                    "tab", {k: v for k, v in found["tab"][-1].items() if k != "curve"}, flush=True
                )

        run_tab(range(seeds // 2))
        loss, way = runner.nanogpt("validation", 0)
        found["nanoGPT"].append(
            {"seed": 0, "loss": loss, "seconds": way["seconds"][-1], "curve": way}
        )
        print("nanoGPT", loss, way["seconds"][-1], flush=True)
        found["pytorch"] = [in_pytorch(runner, seed) for seed in range(1 if quick else 3)]
        run_tab(range(seeds // 2, seeds))
        found["browser"] = browser.version
        browser.close()
    found["without"] = {
        idea: [in_node(runner, seed, steps, idea) for seed in range(min(3, seeds))]
        for idea in (IDEAS if shutil.which("node") else ())
    }
    found["node"] = list(
        filter(None, (in_node(runner, seed, steps) for seed in range(min(3, seeds))))
    )
    return found | {"summary": summary(found)}


def summary(found: dict) -> dict:
    """What is quoted: medians with their ranges, and how many seeds reach 1.90."""

    def spread(values):
        return {
            "median": round(statistics.median(values), 3),
            "range": [round(min(values), 3), round(max(values), 3)],
        }

    tab, rival = found["tab"], found["nanoGPT"][0]
    return {
        "seconds": spread([run["seconds"] for run in tab]),
        "in_all": spread([run["all"] for run in tab]),
        "loss": spread([run["loss"] for run in tab]),
        "at_most_1.90": sum(run["loss"] <= 1.90 for run in tab),
        "seeds": len(tab),
        "nanoGPT_seconds": round(rival["seconds"], 1),
        "nanoGPT_loss": rival["loss"],
        "ratio": spread([rival["seconds"] / run["seconds"] for run in tab]),
    }


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description="the race in a browser's tab")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="a few steps, nothing to quote")
    parser.add_argument("--write", action="store_true", help=f"store {STORED.name}")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(os.cpu_count() or 1)
    start = time.perf_counter()
    found = measure(2 if asked.quick else asked.seeds, asked.quick)
    print(json.dumps(found["summary"], indent=1))
    if asked.write and not asked.quick:
        with atomic_write(STORED) as part:
            told = {**stamp(time.perf_counter() - start), **found}
            part.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
