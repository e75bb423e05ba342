"""How fast SmolLM2 reads and writes in a page, beside Python and wllama -> real_tab.json.

Usage: python -m lab.real_tab [--quick | --write]

The model of real_model/ runs in Node.js, Chromium and Firefox, Python's class beside it, and in
both browsers wllama, which is llama.cpp in WebAssembly; npm fetches it into a folder that is
deleted again. All read the same file, one thread each, and take turns, since other programs slow
all of them. Counted are tokens a second of processor time, by all processes of a browser. `first`
are seconds by the clock, in a browser that keeps the file, from opening it to the first token, and
`megabytes` what its processes hold more than before when they have read 150 tokens, `settled` ten
seconds later, when what nothing uses any more has been given back. `loading` is the file's
way from a server of this machine into a browser, hashed and kept by `model_file.js`.
"""

import argparse
import itertools
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import torch

from lab import runs
from lab.firefox import Firefox
from scratchformer.data.real_model import find_real_model
from scratchformer.models import Llama
from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch20_inference.live import one_weight
from scratchformer_course.kit.figure.live_figure import LOADER, PACKAGE
from scratchformer_course.kit.figure.scripts import loaded_for

WLLAMA, ROUNDS, WRITTEN = "@wllama/wllama@3.13.0", 3, 40
SETTLES = 10  # seconds, in which a browser gives back what nothing uses any more
SENTENCE = "The speed of a computer is limited by the speed of light, and by its memory. "
PROMPT, READ = "Once upon a time, in a small village", SENTENCE * 8
SETTINGS = {"wllama": WLLAMA, "rounds": ROUNDS, "written": WRITTEN, "prompt": PROMPT, "read": READ,
            "settles": SETTLES}  # fmt: skip
IN_NODE = """
globalThis.window = globalThis;
for (const script of process.argv.slice(2)) require(script);
const blob = new Blob([require("fs").readFileSync(process.argv[1])]);
window.model = course.modelClient.newClient();
window.model.open(blob);
const { createInterface } = require("readline");
createInterface({ input: process.stdin }).on("line", async (line) => {
  const before = process.cpuUsage();
  const value = await eval(line);
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify([(user + system) / 1e6, value ?? null]));
});
"""
FILE = "navigator.storage.getDirectory().then((r) => r.getFileHandle('lab', { create: true }))"
KEEP = f"""(async () => {{
  const writable = await (await {FILE}).createWritable();
  await writable.write(await (await fetch('model.gguf')).blob());
  await writable.close();
}})()"""
KEPT = f"{FILE}.then((handle) => handle.getFile())"
LOAD = """course.modelFile.newModelFile('model.gguf').load(() => {}, new AbortController().signal)
  .then(({ isKept }) => { window.isKept = isKept; }) && null"""
GREEDY = "rules: { temperature: 0 }, top: 1"
OURS = {
    "open": KEPT + ".then((blob) => {"
    " window.model = course.modelClient.client; window.model.open(blob);"
    " return window.model.config(); })",
    "write": "window.model.write({ text: PROMPT, most: COUNT, "
    + GREEDY
    + " }).then((w) => w.ids.length)",
    "read": "window.model.read({ text: PROMPT, top: 1 }).then((r) => r.ids.length)",
}
THEIRS = {
    "open": "import('./wllama/index.js').then(async ({ Wllama, LoggerWithoutDebug }) => {"
    " const model = new Wllama({ default: new URL('wllama/wasm/wllama.wasm', location).href },"
    "   { logger: LoggerWithoutDebug });"
    " await model.loadModel([await " + KEPT + "], { n_threads: 1, n_ctx: 1024, n_gpu_layers: 0 });"
    " window.wllama = model; })",
    "write": "window.wllama.createCompletion({ prompt: PROMPT, max_tokens: COUNT, temperature: 0 })"
    ".then((r) => r.usage?.completion_tokens ?? COUNT)",
    "read": "window.wllama.createCompletion({ prompt: PROMPT, max_tokens: 1, temperature: 0 })"
    ".then((r) => r.usage?.prompt_tokens ?? null)",
}

BROWSERS, PAGES = ("Chromium", "Firefox"), (("", "page", OURS), (", wllama", "empty", THEIRS))


def cpu_of(process: psutil.Process) -> float:
    """Seconds of a process and of all that it has started."""
    seconds = 0.0
    for one in (process, *process.children(recursive=True)):
        times = one.cpu_times()
        seconds += times.user + times.system
    return seconds


def megabytes_of(process: psutil.Process) -> float:
    total = 0
    for part in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # it has just ended
            total += part.memory_full_info().pss
    return total / 1e6


class Contestant:
    """A program in a page or in Node.js: asked in its language, it says what it took."""

    def __init__(self, evaluate: Callable[[str], Any], words: dict[str, str]):
        self.evaluate, self.words = evaluate, words

    def ask(self, what: str, prompt: str = "", count: int = 1) -> tuple[float, Any]:
        text = self.words[what].replace("PROMPT", json.dumps(prompt))
        return self.evaluate(text.replace("COUNT", str(count)))

    def round(self, number: int) -> dict[str, float]:
        """Tokens a second: read, and written after the prompt has been read."""
        seconds, tokens = self.ask("read", f"{number}. {READ}")
        self.ask("write", f"{number}. {PROMPT}")
        short, _ = self.ask("write", f"{number}. {PROMPT}")  # whose prompt has been read
        long, written = self.ask("write", f"{number}. {PROMPT}", WRITTEN + 1)
        assert written == WRITTEN + 1, written
        return {"read": tokens / seconds, "written": WRITTEN / (long - short)}


@contextmanager
def node(path: Path) -> Iterator[Contestant]:
    files = [str(PACKAGE / name) for name in (LOADER, *loaded_for("real_model/model_client.js"))]
    files = [name for name in files if name.endswith(".js") and "model_panel" not in name]
    pipe = subprocess.PIPE
    command = ["node", "-e", IN_NODE, str(path), *files]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:
        assert process.stdin and process.stdout

        def evaluate(expression: str) -> tuple[float, Any]:
            process.stdin.write(" ".join(expression.split()) + "\n")  # type: ignore[union-attr]
            return tuple(json.loads(process.stdout.readline()))  # type: ignore[union-attr]

        yield Contestant(evaluate, OURS)
        process.kill()


@contextmanager
def opened(name: str, address: str) -> Iterator[tuple[Any, psutil.Process]]:
    """A page in its own browser, and the browser's first process."""
    with ExitStack() as stack:
        if name == "Firefox":
            page: Any = stack.enter_context(Firefox())
            process = psutil.Process(page.process.pid)
        else:
            known = set(psutil.Process().children(recursive=True))
            profile = stack.enter_context(tempfile.TemporaryDirectory())
            browser = stack.enter_context(runs.chromium(profile))
            page = browser.new_page()
            new = set(psutil.Process().children(recursive=True)) - known
            chrome = {p for p in new if "chrom" in p.name()}
            (process,) = (p for p in chrome if p.parent() not in chrome)
        page.goto(address)
        yield page, process


@contextmanager
def in_browser(name: str, address: str, words: dict[str, str]) -> Iterator[tuple]:
    """A contestant in a page that keeps the file, and what opening has taken."""
    with opened(name, address) as (page, process):
        page.evaluate(f"Promise.resolve({KEEP}).then(() => null)")
        page.goto(address)

        def evaluate(expression: str) -> tuple[float, Any]:
            before = cpu_of(process)
            value = page.evaluate(f"Promise.resolve({expression})")
            return cpu_of(process) - before, value

        contestant = Contestant(evaluate, words)
        before = megabytes_of(process)
        start = time.perf_counter()
        contestant.ask("open")
        contestant.ask("write", PROMPT)
        first = time.perf_counter() - start
        contestant.ask("read", READ)
        megabytes = megabytes_of(process) - before
        time.sleep(SETTLES)
        settled = megabytes_of(process) - before
        numbers = {"megabytes": round(megabytes), "settled": round(settled)}
        yield contestant, {"first": round(first, 2), **numbers}


def loading(name: str, address: str) -> dict[str, float]:
    """What the page's own loader takes until the file is checked and kept."""
    with opened(name, address) as (page, process):
        start, before, most = time.perf_counter(), megabytes_of(process), 0.0
        page.evaluate(LOAD)
        while not page.evaluate("window.isKept ?? null"):
            most = max(most, megabytes_of(process) - before)
        return {"seconds": round(time.perf_counter() - start, 2), "most_megabytes": round(most)}


def python(path: Path) -> Callable[[int], dict[str, float]]:
    model, tok = Llama.from_gguf(path), ByteBPE.from_gguf(path)

    @torch.no_grad()
    def one_round(number: int) -> dict[str, float]:
        ids, cache = torch.tensor([tok.encode(f"{number}. {READ}")]), model.new_cache()
        start = time.process_time()
        model(ids, cache)
        read = time.process_time() - start
        start, new = time.process_time(), ids[:, -1:]
        for _ in range(WRITTEN):
            new = model(new, cache)[:, -1:].argmax(dim=-1)
        return {"read": ids.shape[1] / read, "written": WRITTEN / (time.process_time() - start)}

    return one_round


def fetch_wllama(folder: Path) -> None:
    """wllama's scripts into `folder`/wllama."""
    pack = ["npm", "pack", WLLAMA, "--silent"]
    name = subprocess.run(pack, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    shutil.unpack_archive(folder / name.strip(), folder / "unpacked")
    shutil.copytree(folder / "unpacked/package/esm", folder / "wllama")


def measure(options: argparse.Namespace) -> dict:
    torch.set_num_threads(1)
    path = find_real_model()
    found: dict[str, list[dict]] = {}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        fetch_wllama(folder)
        shutil.copyfile(path, folder / "model.gguf")
        one_weight().save(folder / "page.html")
        (folder / "empty.html").write_text("<!doctype html><title>wllama</title>")
        address = stack.enter_context(runs.served(folder))
        ours, theirs = stack.enter_context(node(path)), python(path)
        for number in range(1 if options.quick else ROUNDS):
            ran = {"Node.js": ours.round(number), "Python": theirs(number)}
            for browser, (what, page, words) in itertools.product(BROWSERS, PAGES):
                with in_browser(browser, f"{address}{page}.html", words) as (player, opened):
                    ran[browser + what] = player.round(number) | opened
            for who, result in ran.items():
                found.setdefault(who, []).append(result)
                print(who, result, flush=True)
        load = {name: loading(name, f"{address}page.html") for name in BROWSERS}
    middle = {
        who: {key: round(statistics.median(one[key] for one in all_of), 2) for key in all_of[0]}
        for who, all_of in found.items()
    }
    return {"rounds": found, "median": middle, "loading": load}


main = runs.script(__doc__, "real_tab", measure, SETTINGS)


if __name__ == "__main__":
    main()
