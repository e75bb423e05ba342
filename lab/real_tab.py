"""How fast SmolLM2 reads and writes in Node.js, beside Python's class, in seconds of one core.

Usage: python -m lab.real_tab

Both read a prompt at once and then write after it; they take turns, so that other programs slow
both. It prints the rounds and their median, and where Node.js's memory is: tensors, then all.
"""

import json
import os
import statistics
import subprocess
import time
from itertools import pairwise

import torch

from scratchformer.data.real_model import find_real_model
from scratchformer.models import Llama
from scratchformer_course.kit.figure.live_figure import LOADER, PACKAGE

PROMPT, WRITTEN, ROUNDS = 128, 40, 5
ENGINE = ("gguf", "packed", "changes", "llama")
SCRIPTS = (LOADER, "page_model/model.js", *(f"real_model/{name}.js" for name in ENGINE))
PROGRAM = """
const [path, prompt, written, ...scripts] = process.argv.slice(1);
for (const script of scripts) require(script);
const seconds = (job) => {
  const before = process.cpuUsage();
  job();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
};
const { readFile } = require("fs").promises;
readFile(path).then((data) => {
  let model = null;
  const open = () => course.llama.load(course.gguf.read(data.buffer));
  const loads = seconds(() => { model = open(); });
  const ids = Array.from({ length: Number(prompt) }, (_, i) => (i * 7919) % 49152);
  const text = course.llama.generate(model, ids, { temperature: 0 });
  const reads = ids.length / seconds(() => text.next());
  const writes = written / seconds(() => { for (let i = 0; i < written; i++) text.next(); });
  const { rss } = process.memoryUsage();
  const [tensors, all] = [model.store.bytes.length / 1e6, (rss - data.length) / 1e6];
  console.log(JSON.stringify({ loads, reads, writes, tensors, all }));
});
"""


def in_node(path: str) -> dict:
    sizes = [str(PROMPT), str(WRITTEN)]
    command = ["node", "-e", PROGRAM, path, *sizes, *(str(PACKAGE / name) for name in SCRIPTS)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


@torch.no_grad()
def in_python(path: str) -> dict:
    times = [time.process_time()]
    model, ids = Llama.from_gguf(path), torch.arange(PROMPT)[None] * 7919 % 49_152
    times.append(time.process_time())
    cache = model.new_cache()
    new = model(ids, cache)[:, -1:].argmax(dim=-1)
    times.append(time.process_time())
    for _ in range(WRITTEN):
        new = model(new, cache).argmax(dim=-1)
    times.append(time.process_time())
    loads, reads, writes = (b - a for a, b in pairwise(times))
    return {"loads": loads, "reads": PROMPT / reads, "writes": WRITTEN / writes}


def main() -> None:
    torch.set_num_threads(1)
    path = str(find_real_model())
    rounds = [(in_node(path), in_python(path)) for _ in range(ROUNDS)]
    for name, results in zip(("Node.js", "Python"), zip(*rounds, strict=True), strict=True):
        for figure in results[0]:
            values = [result[figure] for result in results]
            print(
                f"{name} {figure:8} {statistics.median(values):7.2f} of",
                *map("{:.2f}".format, values),
            )
    print("load of the machine:", os.getloadavg()[0])


if __name__ == "__main__":
    main()
