"""The micro scaling law of chapter 16: many small runs on two corpora -> scaling.json.

Usage: python benchmarks/scaling.py [--write] [--minutes M] [--steps N …] [--sizes N] [--fresh]

Six sizes of GPT and four budgets of tokens on Playhouse, where no text is ever read twice, and on
Tiny Shakespeare, where the larger budgets are several passes. The rate is tuned for each size on a
development text, at the smallest budget and again at the third; the validation text is read once
for each cell, by the run that was chosen. Two processes of one thread each. About 20 minutes on two
idle cores, never more than --minutes: what is not done by then is left out, and the result says so.

Each run is kept in _build/scaling as soon as it is done, and an interrupted call goes on from
there, unless the code has changed (--fresh: from the start). Nothing is stored without --write;
then the file beside this one is replaced, also when the time was too short.
"""

import argparse
import hashlib
import json
import math
import platform
import shutil
import statistics
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, lru_cache
from multiprocessing import get_context
from pathlib import Path

import numpy
import torch

from scratchformer.data import load_corpus, train_val_split
from scratchformer.data.batches import WindowSampler
from scratchformer.data.playhouse import RULES, Playhouse
from scratchformer.files import atomic_write
from scratchformer.models import GPT, GPTConfig
from scratchformer.scaling import non_embedding
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import TrainingConfig, evaluate, fit, token_loss

STORED = Path(__file__).with_suffix(".json")
KEPT = Path(__file__).resolve().parents[1] / "_build" / "scaling"
CORPORA = ("playhouse", "tinyshakespeare")
CONTEXT, BATCH, WARMUP = 64, 8, 100  # 512 tokens a step
SIZES = ((24, 2, 2), (32, 2, 2), (48, 3, 2), (64, 4, 2), (96, 4, 2), (96, 4, 3))  # C, heads, blocks
STEPS = (1000, 2000, 4000, 8000)
RATES = (4e-3, 8e-3, 16e-3)  # and one further out where the best is the first or the last
PLAYHOUSE = {"tokenizer": 0, "dev": 1, "val": 2, "train": 100}  # the seeds of its texts
FLOOR = (CONTEXT, 300, 9)  # window_floor's
SPEED = 30e9  # operations a second of one slow core, until some runs have been timed


def cells(sizes, steps) -> dict[str, list[tuple]]:
    """For each corpus the runs (size, steps, seed, share of the text) after the tuning."""
    wanted = {}
    for corpus in CORPORA:
        runs = [(size, n, 0, 1) for size in sizes for n in steps]
        runs += [(size, steps[0], 1, 1) for size in sizes[:-1]]  # repeats: how much is chance?
        runs += [(size, steps[1], 1, 1) for size in sizes[1:4:2]]
        dear = {(SIZES[-1], n) for n in steps[2:]}
        if corpus == "tinyshakespeare":
            dear.add((SIZES[-2], steps[-1]))
            middle = sizes[len(sizes) // 2]
            runs += [(middle, steps[2], 0, share) for share in (1 / 4, 1 / 16)]  # more passes
        wanted[corpus] = [run for run in runs if run[:2] not in dear]
    return wanted


@lru_cache(maxsize=3)
def texts(corpus: str, seed: int, longest: int, held_out: int) -> dict:
    """Ids to train on, to develop with, to validate on, and the size of the vocabulary."""
    if corpus == "playhouse":
        tok = CharTokenizer.train(Playhouse(PLAYHOUSE["tokenizer"]).text(1_000_000))
        parts = {
            "train": Playhouse(PLAYHOUSE["train"] + seed).text(longest + CONTEXT),
            "dev": Playhouse(PLAYHOUSE["dev"]).text(held_out // 2),
            "val": Playhouse(PLAYHOUSE["val"]).text(held_out),
        }
        ids = {name: torch.tensor(tok.encode(text)) for name, text in parts.items()}
    else:
        text = load_corpus(corpus).text
        tok = CharTokenizer.train(text)
        training, val = train_val_split(torch.tensor(tok.encode(text)), 0.9)
        train, dev = train_val_split(training, 0.9)
        ids = {"train": train, "dev": dev, "val": val}
    return ids | {"vocab_size": tok.vocab_size}


def config_of(size, vocab_size: int) -> GPTConfig:
    C, heads, blocks = size
    return GPTConfig(vocab_size, CONTEXT, C, heads, blocks)


def code() -> str:
    """A fingerprint of all that makes a run: those kept from other code are made anew."""
    files = [Path(__file__), *sorted((STORED.parents[1] / "scratchformer").rglob("*.py"))]
    content = b"".join(file.read_bytes() for file in files)
    return hashlib.sha256(torch.__version__.encode() + content).hexdigest()[:16]


def train_one(job: dict) -> dict | None:
    """One run, or its weights from disk; None if the deadline comes first."""
    torch.set_num_threads(1)
    name = "{corpus}-{size[0]}x{size[2]}-{steps}-{lr:g}-{seed}-{share:g}".format(**job)
    record, weights = KEPT / f"{name}.json", KEPT / f"{name}.pt"
    settings = {key: value for key, value in job.items() if key not in ("deadline", "measure")}
    settings = json.loads(json.dumps(settings))
    kept = json.loads(record.read_text()) if record.exists() else {}
    if kept.get("settings") != settings or (job["measure"] and not weights.exists()):
        kept = {}
    if kept and (kept["val"] is not None or not job["measure"]):
        return kept

    data = texts(job["corpus"], job["seed"], job["longest"], job["held_out"])
    torch.manual_seed(job["seed"])
    model = GPT(config_of(job["size"], data["vocab_size"]))
    if kept:  # the run is done: it was one of the tuning, and has been chosen
        model.load_state_dict(torch.load(weights, weights_only=True))
    else:
        D = job["steps"] * BATCH * CONTEXT
        # One pass over Playhouse: D characters in whole windows, and one window to cut elsewhere.
        ids = data["train"][: D + CONTEXT] if job["corpus"] == "playhouse" else data["train"]
        ids = ids[: round(len(ids) * job["share"])]
        passes = D / (len(ids) - CONTEXT)

        def give_up_late(_) -> None:
            if time.time() > job["deadline"]:
                raise TimeoutError

        start = time.perf_counter()
        try:
            fit(
                model,
                WindowSampler(ids, BATCH, CONTEXT, job["seed"], replacement=False),
                lambda model, x, y: token_loss(model(x), y),
                TrainingConfig(
                    steps=job["steps"],
                    lr=job["lr"],
                    seed=job["seed"],
                    warmup=min(WARMUP, job["steps"] // 2),
                ),
                callbacks=[give_up_late],
            )
        except TimeoutError:
            return None
        seconds = time.perf_counter() - start
        dev = evaluate(model, data["dev"], CONTEXT)
        kept = {"settings": settings, "N": non_embedding(model.config)}
        kept |= {"parameters": sum(p.numel() for p in model.parameters()), "D": D}
        kept |= {"passes": round(passes, 2), "dev": round(dev, 4), "val": None}
        kept |= {"seconds": round(seconds, 1)}
        with atomic_write(weights) as part:
            torch.save(model.state_dict(), part)
    if job["measure"]:
        kept["val"] = round(evaluate(model, data["val"], CONTEXT), 4)
    with atomic_write(record) as part:
        part.write_text(json.dumps(kept))
    return kept


# What a window allows. A model that reads windows of T characters cannot reach the entropy of the
# whole text: at the start of a window it does not know what came before. The best it could do is
# computed from the grammar. A node is (the words and symbols still to come, whether a line has
# just begun, which of the two characters speaks); a guess is (node, its spelling, characters of it
# already seen, the names known so far), and guesses with weights are all that a reader knows.


@cache
def names_for(known: tuple, role: int) -> list[tuple[tuple, float]]:
    """(the names known so far, with that of `role`; chance) for each name it could be."""
    if known[role]:
        return [(known, 1.0)]
    chances = Counter()
    for first, p in zip(RULES["CAST"].alternatives, RULES["CAST"].probabilities, strict=True):
        others = RULES[f"NOT-{first[0]}"]
        for second, q in zip(others.alternatives, others.probabilities, strict=True):
            pair = (first[0], second[0])
            if all(name in (None, drawn) for name, drawn in zip(known, pair, strict=True)):
                chances[(*known[:role], pair[role], *known[role + 1 :])] += p * q
    total = sum(chances.values())
    return [(names, chance / total) for names, chance in chances.items()]


@cache
def opened(stack: tuple) -> list[tuple[tuple, float]]:
    """(stack with a word on top, chance): all that the symbol on top may become."""
    rule, below = RULES.get(stack[-1]), stack[:-1]
    if stack[-1] == "CAST":
        return [((*below, "SECOND", "and", "FIRST"), 1.0)]
    if rule is None:
        return [(stack, 1.0)]
    choices = zip(rule.alternatives, rule.probabilities, strict=True)
    return [(s, p * q) for parts, p in choices for s, q in opened(below + parts[::-1])]


@cache
def following(node: tuple) -> list[tuple[tuple, float]]:
    """(node, chance) for each that can follow; behind the last word a new scene begins."""
    (*below, word), _, speaker = node
    speaker = speaker ^ (word == ":") if below else 0
    return [((s, word[0] == "/", speaker), p) for s, p in opened(tuple(below) or ("SCENE",))]


@cache
def spellings(node: tuple, known: tuple) -> list[tuple[str, tuple, float]]:
    """(characters, names known afterwards, chance) for each way to write the word on top."""
    stack, line_begins, speaker = node
    word = stack[-1]
    if word in ("/", "//"):
        return [("\n" * len(word), known, 1.0)]
    space = "" if line_begins or word in ",.;:?" else " "
    if word not in ("FIRST", "SECOND", "OTHER"):
        return [(space + word, known, 1.0)]
    role = {"FIRST": 0, "SECOND": 1, "OTHER": speaker}[word]
    return [(space + names[role], names, p) for names, p in names_for(known, role)]


def after(guesses: dict, character: str) -> dict:
    """The guesses that foresaw the character, moved on by it."""
    moved = defaultdict(float)
    for (node, text, seen, known), weight in guesses.items():
        if text[seen] != character:
            continue
        if seen + 1 < len(text):
            moved[node, text, seen + 1, known] += weight
            continue
        known = known if len(node[0]) > 1 else (None, None)  # a new scene, a new cast
        for n, p in following(node):
            for spelled, names, q in spellings(n, known):
                moved[n, spelled, 0, names] += weight * p * q
    return moved


def anywhere() -> dict[str, dict]:
    """The guesses of a reader who opens the text at any place, by the next character."""
    starts = [((stack, True, 0), p) for stack, p in opened(("SCENE",))]
    order, seen = [], set()  # nodes, each behind all that can follow it in its scene
    stack = [(node, None) for node, _ in starts]
    while stack:
        node, rest = stack.pop()
        if rest is None:
            if node in seen:
                continue
            seen.add(node)
            rest = iter(following(node) if len(node[0]) > 1 else [])
        for n, _ in rest:
            if n not in seen:
                stack += [(node, rest), (n, None)]
                break
        else:
            order.append(node)
    visits = defaultdict(float, starts)
    for node in reversed(order):
        for n, p in following(node) if len(node[0]) > 1 else []:
            visits[n] += visits[node] * p
    guesses = defaultdict(dict)
    for node, visited in visits.items():
        for text, names, p in spellings(node, (None, None)):
            for i, character in enumerate(text):
                guesses[character][node, text, i, names] = visited * p
    return guesses


def window_floor(T: int, windows: int, seed: int) -> tuple[float, float]:
    """The least loss of a model that reads Playhouse in windows of T, and its standard error.

    In nats a character; the first character of a window is given. From a sample of windows: how
    much more each costs a reader who opens the text there than one who read the whole scene. That
    difference varies little, and the cost of the second reader is the entropy, which is exact.
    """
    text = Playhouse(seed).text(1000 * windows)
    surprise, guesses = [], Counter()
    for node, p in [((stack, True, 0), p) for stack, p in opened(("SCENE",))]:
        for spelled, names, q in spellings(node, (None, None)):
            guesses[node, spelled, 0, names] = p * q
    for character in text:
        before, guesses = sum(guesses.values()), after(guesses, character)
        now = sum(guesses.values())
        surprise.append(math.log(before / now))
        guesses = {guess: weight / now for guess, weight in guesses.items()}

    opening, extra = anywhere(), []
    first = lru_cache(maxsize=None)(lambda c: after(opening[c], c))
    second = lru_cache(maxsize=None)(lambda pair: after(first(pair[0]), pair[1]))
    for i in range(windows):
        window = text[(start := 1000 * i + 500) : start + T + 1]
        guesses, cost = first(window[0]), -sum(surprise[start + 1 : start + T + 1])
        for t, character in enumerate(window[1:], 1):
            before = sum(guesses.values())
            guesses = second(window[:2]) if t == 1 else after(guesses, character)
            cost += math.log(before / sum(guesses.values()))
        extra.append(cost / T)
    error = statistics.stdev(extra) / windows**0.5
    return Playhouse().entropy_per_char() + statistics.mean(extra), error


class Pool:
    """Runs jobs in two processes, the longest first, and none that would not be done in time."""

    def __init__(self, deadline: float, say):
        self.deadline, self.say = deadline, say
        self.workers = ProcessPoolExecutor(2, mp_context=get_context("spawn"))
        self.pace: dict[tuple, list[float]] = {}  # size -> seconds a step, of runs done
        self.left_out: list[dict] = []
        self.trained: dict[str, float] = {}  # settings of a run -> its seconds

    def guess(self, job: dict) -> float:
        """Seconds that a run will take: by runs of its size, or by its operations."""
        if job["size"] in self.pace:
            return job["steps"] * max(self.pace[job["size"]])
        config = config_of(job["size"], 65)
        operations = 6 * non_embedding(config) * BATCH * CONTEXT
        return job["steps"] * (operations / SPEED + 0.005)

    def run(self, jobs: list[dict]) -> list[tuple[dict, dict]]:
        """(job, record) of those that are done; the others are noted in `left_out`."""
        waiting = sorted(jobs, key=self.guess, reverse=True)
        running, done = {}, []
        while waiting or running:
            while waiting and len(running) < 2:
                job = waiting.pop(0)
                if time.time() + self.guess(job) > self.deadline:
                    self.left_out.append(job)
                    continue
                running[self.workers.submit(train_one, job | {"deadline": self.deadline})] = job
            if not running:
                break
            future = next(as_completed(running))
            job, record = running.pop(future), future.result()
            if record is None:
                self.left_out.append(job)
                continue
            done.append((job, record))
            self.trained[json.dumps(record["settings"])] = record["seconds"]
            self.pace.setdefault(job["size"], []).append(record["seconds"] / job["steps"])
            loss = "dev {dev:.3f}".format(**record)
            loss += "" if record["val"] is None else f" val {record['val']:.3f}"
            which = f"{job['corpus']:16}{job['size']!s:14}{job['steps']:6} steps  rate "
            which += f"{job['lr']:<7g} seed {job['seed']} share {job['share']:<6g}"
            self.say(f"{which} {loss}  {record['seconds']:.0f} s")
        return done


def described(job: dict) -> dict:
    """What the stored file says of a job that was not done."""
    return {key: job[key] for key in ("corpus", "size", "steps", "lr", "seed", "share")}


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"replace {STORED.name}")
    parser.add_argument("--minutes", type=float, default=30, help="never take longer than this")
    parser.add_argument("--steps", type=int, nargs=4, default=STEPS, help="the four budgets")
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="only the first so many")
    parser.add_argument("--held-out", type=int, default=200_000, help="Playhouse to validate on")
    parser.add_argument("--fresh", action="store_true", help="forget the runs of earlier calls")
    options = parser.parse_args(arguments)
    begin = time.time()
    if options.write and not load_corpus("tinyshakespeare").is_real:
        raise SystemExit("Tiny Shakespeare is not here: the stored figures are not replaced")
    if options.fresh:
        shutil.rmtree(KEPT, ignore_errors=True)
    steps, sizes = tuple(options.steps), SIZES[: options.sizes]
    common = {"longest": max(steps) * BATCH * CONTEXT, "held_out": options.held_out, "code": code()}

    def say(line: str) -> None:
        print(f"{time.time() - begin:6.0f} s  {line}", flush=True)

    def job(corpus, size, n, lr, seed, share, measure):
        return {"corpus": corpus, "size": size, "steps": n, "lr": lr, "seed": seed,
                "share": share, "measure": measure, **common}  # fmt: skip

    # Half a minute for the pool to start and the last evaluations to end.
    pool = Pool(begin + 60 * options.minutes - min(30, 6 * options.minutes), say)
    floor = pool.workers.submit(window_floor, *FLOOR)
    pairs = [(corpus, size) for corpus in CORPORA for size in sizes]
    found: dict[tuple, dict[float, float]] = {}  # (corpus, size, steps) -> rate -> loss

    def tune(n: int, tries: dict[tuple, list[float]]) -> None:
        """Try some rates with n steps: what they give on the development text is in `found`."""
        jobs = [job(*pair, n, lr, 0, 1, False) for pair, rates in tries.items() for lr in rates]
        for done, record in pool.run(jobs):
            tried = found.setdefault((done["corpus"], done["size"], n), {})
            tried[done["lr"]] = record["dev"]

    def best(n: int, rates: int) -> dict[tuple, float]:
        """The best rate of each (corpus, size) with n steps, where at least so many were tried."""
        tried = {pair: found.get((*pair, n), {}) for pair in pairs}
        return {pair: min(t, key=t.get) for pair, t in tried.items() if len(t) >= rates}

    tune(steps[0], dict.fromkeys(pairs, RATES))
    further = {RATES[0]: RATES[0] / 2, RATES[-1]: RATES[-1] * 2}
    at_edge = {pair: lr for pair, lr in best(steps[0], len(RATES)).items() if lr in further}
    tune(steps[0], {pair: [further[lr]] for pair, lr in at_edge.items()})
    short = best(steps[0], len(RATES))

    wanted = cells(sizes, steps)
    # Longer runs want smaller steps: the rate that was best, or half of it, for the two longest.
    long_ones = {(c, size) for c, runs in wanted.items() for size, n, *_ in runs if n == steps[2]}
    tune(steps[2], {pair: [lr, lr / 2] for pair, lr in short.items() if pair in long_ones})
    rates = {steps[0]: short, steps[1]: short, steps[2]: best(steps[2], 2)}
    rates[steps[3]] = rates[steps[2]]

    jobs = [
        job(corpus, size, n, rates[n].get((corpus, size)), seed, share, True)
        for corpus, runs in wanted.items()
        for size, n, seed, share in runs
    ]
    pool.left_out += [job for job in jobs if job["lr"] is None]  # nothing is known of its rate
    results = pool.run([job for job in jobs if job["lr"]])
    pool.workers.shutdown()

    runs = []
    for done, record in results:
        facts = {key: value for key, value in record.items() if key != "settings"}
        runs.append(described(done) | facts)
    runs.sort(key=lambda run: (run["corpus"], run["N"], run["steps"], run["seed"], -run["share"]))
    result = {
        "what": "validation losses in nats a character of small GPTs, by size and tokens seen",
        "settings": {"context_length": CONTEXT, "batch_size": BATCH, "warmup": WARMUP}
        | {"schedule": "linear", "weight_decay": 0.1, "betas": [0.9, 0.95], "clip": 1.0}
        | {"steps": list(steps), "rates": list(RATES), "dtype": "float32", "threads": 1}
        | {"playhouse": PLAYHOUSE | {"held_out": options.held_out}}
        | {"tinyshakespeare": {"train": 0.81, "dev": 0.09, "val": 0.1}},
        "entropy": Playhouse().entropy_per_char(),
        "floor": dict(zip(("nats", "standard_error"), floor.result(), strict=True))
        | dict(zip(("window", "sample", "seed"), FLOOR, strict=True)),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": numpy.__version__,
        },
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "seconds": round(time.time() - begin),  # of this call
        "core_seconds": round(sum(pool.trained.values())),  # of all training, also in calls before
        "tuning": [
            {"corpus": corpus, "size": list(size), "steps": n, "dev": dict(sorted(tried.items()))}
            for (corpus, size, n), tried in found.items()
        ],
        "runs": runs,
        "left_out": [described(job) for job in pool.left_out],
    }
    if pool.left_out:
        say(f"{len(pool.left_out)} runs were left out: there was no time for them")
    if options.write:
        with atomic_write(STORED) as part:
            part.write_text(json.dumps(result, indent=1) + "\n")
        if not pool.left_out:
            shutil.rmtree(KEPT)
    return result


if __name__ == "__main__":
    main()
