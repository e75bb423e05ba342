"""How fast SmolLM2 reads and writes in Node.js, beside Python's class, in seconds of one core.

Usage: python -m lab.real_tab

Both read a prompt at once and write after it. They take turns: other programs slow both.
"""

import json
import os
import statistics
import subprocess
import time

import torch

from scratchformer.data.real_model import find_real_model
from scratchformer.models import Llama
from scratchformer_course.kit.figure.live_figure import LOADER, PACKAGE

READ, WRITTEN, ROUNDS = 128, 40, 5
PARTS = [f"real_model/{name}.js" for name in ("gguf", "packed", "changes", "llama")]
PROGRAM = """
const [path, length, count, ...scripts] = process.argv.slice(1);
for (const script of scripts) require(script);
const blob = new Blob([require("fs").readFileSync(path)]);
const ids = Array.from({ length }, (_, i) => (i * 7919) % 49152), times = [process.cpuUsage()];
course.gguf.open(blob).then(course.llama.load).then((model) => {
  const text = course.llama.generate(model, ids);
  times.push(process.cpuUsage());
  for (let i = 0; i <= count; i++) {
    if (text.next() && i % count === 0) times.push(process.cpuUsage());
  }
  console.log(JSON.stringify(times.map(({ user, system }) => (user + system) / 1e6)));
});
"""


def in_node(path: str) -> list[float]:
    scripts = [str(PACKAGE / name) for name in (LOADER, "page_model/model.js", *PARTS)]
    command = ["node", "-e", PROGRAM, path, str(READ), str(WRITTEN), *scripts]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


@torch.no_grad()
def in_python(path: str) -> list[float]:
    ids, times = torch.arange(READ)[None] * 7919 % 49_152, [time.process_time()]
    model = Llama.from_gguf(path)
    times.append(time.process_time())
    cache = model.new_cache()
    for i in range(WRITTEN + 1):
        ids = model(ids, cache)[:, -1:].argmax(dim=-1)
        times += [time.process_time()] if i % WRITTEN == 0 else []
    return times


def main() -> None:
    torch.set_num_threads(1)
    rounds = [(in_node(path), in_python(path)) for path in [str(find_real_model())] * ROUNDS]
    for name, runs in zip(("Node.js", "Python"), zip(*rounds, strict=True), strict=True):
        loads, reads, writes = (
            statistics.median(b - a for a, b in pairs)
            for pairs in ([run[i : i + 2] for run in runs] for i in range(3))
        )
        print(f"{name}: loads in {loads:.2f} s, reads {READ / reads:.1f} tokens a second,"
              f" writes {WRITTEN / writes:.1f}")  # fmt: skip
    print("load of the machine:", os.getloadavg()[0])


if __name__ == "__main__":
    main()
