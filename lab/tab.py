"""The race in a browser's tab, beside nanoGPT's command and the same recipe in PyTorch -> tab.json.

Usage: python lab/tab.py [--seeds N] [--quick] [--write]

One run measures all, on the same machine, one after the other: half of the tab's seeds, nanoGPT's
command and the recipe of lab/configs/record-every-seed.toml in PyTorch, then the other half.
Headless Chromium opens the page that `race().save` writes, from disk, and the button is pressed.
Seconds of training are the page's own, and so are those from the press to the score. PyTorch's are
of training alone. Losses are nats a character on the whole validation split of Tiny Shakespeare.
If Firefox is there, it trains three of the seeds. If Node.js is there, it trains three of the seeds
in one worker, and three without each of the ideas. The gradients of a small model are compared with
PyTorch's, for each form of the product.
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
from scratchformer_course.measurements import FOLDER
from scratchformer_course.tab_trainer import race
from scratchformer_course.tab_trainer.race import CONFIG, TRAINING

if __package__:
    from lab import gradients
    from lab.firefox import PROGRAM, Firefox
    from lab.taken_apart import Runner, our_run, stamp
else:  # they lie beside this file
    import gradients
    from firefox import PROGRAM, Firefox
    from taken_apart import Runner, our_run, stamp

ROOT = Path(__file__).resolve().parents[1]
STORED = FOLDER / "tab.json"
RECIPE = ROOT / "lab" / "configs" / "record-every-seed.toml"
IDEAS = {  # what a reader can switch off, as the page's controls do it
    "rotary": ({"positions": "learned"}, {}),
    "bigrams": ({"bigram_rows": 0}, {}),
    "smear": ({"smear": 0}, {}),
    "muon": ({}, {"muon_lr": None, "betas": [0.9, 0.95]}),
}
FLAGS = ["--no-sandbox", "--disable-gpu"]
DONE = "scratchformerRace.last !== null"
PRESS = "[...document.querySelectorAll('button')].find((b) => b.matches('.sx-go')).click()"
SETTINGS = """Object.entries(told).forEach(([label, value]) => {
  const own = [...document.querySelectorAll("label")].find((e) => e.textContent.startsWith(label));
  const field = document.getElementById(own.htmlFor);
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
})"""
LONG_TASKS = """window.longest = 0;
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
}).observe({ type: "longtask", buffered: true });"""
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
for (const piece of Tr.pieces(all.subarray(cut), config.context_length, settings.batch_size)) {
  sum += run.score(piece) * piece.y.length;
  count += piece.y.length;
}
console.log(JSON.stringify({ loss: sum / count, seconds, kind: run.tape.kind }));
"""


def in_the_tab(page: Page | Firefox, address: str, seed: int, steps: int) -> dict:
    """One press of the button: seconds of training, seconds in all, loss, the curve, and so on."""
    page.goto(address)
    page.evaluate("localStorage.clear()")
    told = json.dumps({"Seed": seed, "Steps": steps})
    page.evaluate(f"((told) => {SETTINGS})({told})")
    if not isinstance(page, Firefox):
        page.evaluate(LONG_TASKS)
    page.evaluate(PRESS)
    wait(page)
    run = {"seed": seed, **page.evaluate("scratchformerRace.last")}
    if not isinstance(page, Firefox):  # Firefox does not tell of long tasks
        run["longest_task_ms"] = page.evaluate("window.longest")
    return run


def wait(page: Page | Firefox, seconds: float = 600.0) -> None:
    """Look four times a second whether the run has ended: a page that is asked often is slower."""
    until = time.monotonic() + seconds
    while not page.evaluate(DONE):
        if time.monotonic() > until:
            raise TimeoutError(f"the run has not ended after {seconds:.0f} s")
        time.sleep(0.25)


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
        [node, "-e", IN_NODE, str(ROOT / "scratchformer_course" / "tab_trainer")],
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
    found: dict = {"tab": [], "firefox": [], "node": [], "nanoGPT": [], "pytorch": []}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "race.html"
        race().save(path)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page()

        def run_tab(some, page: Page | Firefox = page, name: str = "tab") -> None:
            for seed in some:
                run = in_the_tab(page, path.as_uri(), seed, steps)
                found[name].append(run)
                print(name, {k: v for k, v in run.items() if k != "curve"}, flush=True)

        run_tab(range(seeds // 2))
        loss, way = runner.nanogpt("validation", 0)
        found["nanoGPT"].append(
            {"seed": 0, "loss": loss, "seconds": way["seconds"][-1], "curve": way}
        )
        print("nanoGPT", loss, way["seconds"][-1], flush=True)
        found["pytorch"] = [in_pytorch(runner, seed) for seed in range(1 if quick else 3)]
        run_tab(range(seeds // 2, seeds))
        found["browser"] = browser.version
        found["gradients"] = [
            gradients.compare(
                lambda told: page.evaluate(gradients.COMPUTE, told), **gradients.IDEAS
            )
        ]
        browser.close()
        if PROGRAM is not None:
            with Firefox() as other:
                found["firefox_version"] = other.version
                run_tab(range(min(3, seeds)), other, "firefox")
    found["without"] = {
        idea: [in_node(runner, seed, steps, idea) for seed in range(min(3, seeds))]
        for idea in (IDEAS if shutil.which("node") else ())
    }
    for kind in ("simd", "plain") if shutil.which("node") else ():
        found["gradients"].append(
            gradients.compare(
                lambda told, kind=kind: gradients.in_node({**told, "kind": kind}), **gradients.IDEAS
            )
        )
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
        "longest_task_ms": max(run["longest_task_ms"] for run in tab),
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
