"""The speedrun of chapter 17 in full: nanoGPT's settings for a CPU against ours -> speedrun.json.

Usage: python benchmarks/speedrun.py [--quick] [--write]

Two threads, and three seeds each. The race: nanoGPT's settings, computed as its own code computes
them, and configs/speedrun.toml take turns. The ladder: what lies between them, one idea a rung,
each with as many steps as it needs for nanoGPT's loss on a development split carved from the
training part (on the validation split some end up to 0.03 above). Our setting with one idea changed
at a time, scored on that development split. The quality run: configs/two-minutes.toml, trained on
one thread each in two processes side by side, each alone, both averaged, and mixed with a counted
table, whose weight is chosen on the development split; six seeds, three pairs.

Seconds are seconds of training, evaluation left out. Losses are nats a character on the whole
validation split, read once, after the last step of each run. Nothing is stored without `--write`;
then speedrun.json beside this file is replaced. `--quick` takes few steps and stores nothing.
About 25 minutes on two cores.
"""

import argparse
import json
import math
import platform
import statistics
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F
from torch import nn

from scratchformer.cli import read_config
from scratchformer.data import load_corpus, train_val_split
from scratchformer.data.batches import WindowSampler
from scratchformer.files import atomic_write
from scratchformer.models import KneserNey, first_edition
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import TrainingConfig, eval_mode, evaluate, fit, token_loss

STORED = Path(__file__).with_suffix(".json")
CONFIGS = Path(__file__).resolve().parents[1] / "configs"
SEEDS = (0, 1, 2)
PAIRS = ((0, 1), (2, 3), (4, 5))
THREADS = 2
POINTS = 25  # of a loss curve
TITLE = "The speedrun"
ABOUT = (
    "Seconds of training until a small network has nanoGPT's loss on Tiny Shakespeare. The "
    "reference is nanoGPT's own setting for a CPU, computed as its code computes it, all 2,000 "
    "steps of it; ours is `configs/speedrun.toml`."
)

NANOGPT = {  # its README's command for a CPU, and what the configuration file adds
    "model": {"context_length": 64, "d_model": 128, "n_heads": 4, "n_layers": 4, "bias": False},
    "batch_size": 12,
    "steps": 2000,
    "lr": 1e-3,
    "lowest_lr": 1e-4,
    "warmup": 100,
    "betas": (0.9, 0.99),
    "weight_decay": 0.1,
    "clip": 1.0,
}
# The ladder: name -> (steps, changes of the model, changes of the training). Each rung keeps the
# changes of those below it. A warm-up is given as a share of the steps.
LADDER = {
    "nanoGPT's setting": (
        2000,
        NANOGPT["model"],
        {
            "batch_size": 12,
            "lr": 1e-3,
            "schedule": "cosine",
            "warmup": 0.05,
            "betas": (0.9, 0.99),
            "weight_decay": 0.1,
        },
    ),
    "rate up, down to 0": (1080, {}, {"lr": 4e-3, "schedule": "linear", "warmup": 0.2}),
    "bfloat16": (1080, {}, {"precision": "bfloat16"}),
    "explicit attention": (1080, {"type": "speedrun"}, {}),
    "norms without weights": (1080, {"norm_weights": False}, {}),
    "squared ReLU": (920, {"activation": "relu2"}, {}),
    "rotary": (660, {"positions": "rotary"}, {}),
    "QK-norm": (530, {"qk_norm": True}, {}),
    "Muon": (310, {}, {"muon_lr": 0.03, "lr": 1e-2, "warmup": 0.0, "weight_decay": 0.0}),
    "start at zero": (310, {"tied": False, "zero_init": True}, {}),
    "two blocks of 96": (385, {"n_layers": 2, "d_model": 96, "n_heads": 2}, {}),
    "smear": (290, {"smear": 2}, {}),
    "bigrams": (130, {"bigram_rows": 4225, "embedding_norm": True}, {}),
    "value embeddings": (130, {"value_embeddings": True}, {}),
    "one block, larger batches": (
        80,
        {"n_layers": 1, "smear": 3, "qk_norm": False, "value_embeddings": False},
        {"batch_size": 24, "replacement": False, "lr": 2e-2, "muon_lr": 0.06, "betas": (0.8, 0.95)},
    ),
}
# Changes of the final setting, each alone: what an idea is worth there, and what was not kept.
WITHOUT = {
    "our setting": ({}, {}),
    "AdamW alone": ({}, {"muon_lr": None, "lr": 4e-3}),
    "no bigrams": ({"bigram_rows": 0}, {}),
    "no smear": ({"smear": 0}, {}),
    "no norm of the embeddings": ({"embedding_norm": False}, {}),
    "learned positions": ({"positions": "learned"}, {}),
    "GELU": ({"activation": "gelu_tanh"}, {}),
    "SwiGLU": ({"activation": "swiglu"}, {}),
    "norms with weights": ({"norm_weights": True}, {}),
    "RMSNorm": ({"norm": "rms"}, {}),
    "QK-norm": ({"qk_norm": True}, {}),
    "value embeddings": ({"value_embeddings": True}, {}),
    "shared keys and values": ({"n_kv_heads": 1}, {}),
    "small random start": ({"zero_init": False}, {}),
    "windows drawn at random": ({}, {"replacement": True}),
    "fused attention": ({"explicit_attention": False}, {}),
    "float32": ({}, {"precision": "float32"}),
}


class Reference(nn.Module):
    """What nanoGPT computes: GPT-2 without biases, fused causal attention, exact GELU."""

    def __init__(self, vocab_size: int):
        super().__init__()
        size = NANOGPT["model"]
        C, n_layers, self.n_heads = size["d_model"], size["n_layers"], size["n_heads"]
        self.token = nn.Embedding(vocab_size, C)
        self.position = nn.Embedding(size["context_length"], C)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm_1": nn.LayerNorm(C, bias=False),
                    "qkv": nn.Linear(C, 3 * C, bias=False),
                    "mix": nn.Linear(C, C, bias=False),
                    "norm_2": nn.LayerNorm(C, bias=False),
                    "wide": nn.Linear(C, 4 * C, bias=False),
                    "narrow": nn.Linear(4 * C, C, bias=False),
                }
            )
            for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(C, bias=False)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                inward = "mix" in name or "narrow" in name
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * n_layers) if inward else 0.02)

    def forward(self, ids):
        B, T = ids.shape
        x = self.token(ids) + self.position(torch.arange(T))
        for block in self.blocks:
            q, k, v = block["qkv"](block["norm_1"](x)).split(x.shape[-1], dim=-1)
            q, k, v = (t.view(B, T, self.n_heads, -1).transpose(1, 2) for t in (q, k, v))
            heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + block["mix"](heads.transpose(1, 2).reshape(B, T, -1))
            x = x + block["narrow"](F.gelu(block["wide"](block["norm_2"](x))))
        return F.linear(self.norm(x), self.token.weight)


def reference_rate(step: int, steps: int) -> float:
    """nanoGPT's schedule: a straight rise, then half a cosine down to a tenth of the peak."""
    peak, low, warmup = NANOGPT["lr"], NANOGPT["lowest_lr"], NANOGPT["warmup"]
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    progress = (step - warmup) / (steps - warmup)
    return low + (peak - low) * (1 + math.cos(math.pi * progress)) / 2


def reference_run(ids, vocab_size: int, seed: int, steps: int | None = None) -> tuple:
    """Train nanoGPT's way: the model and {"seconds", "steps", "train_loss"}."""
    N, T, B = NANOGPT["steps"], NANOGPT["model"]["context_length"], NANOGPT["batch_size"]
    torch.manual_seed(seed)
    model = Reference(vocab_size)
    groups = [
        {"params": [p for p in model.parameters() if p.dim() >= 2]},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(
        groups, lr=NANOGPT["lr"], betas=NANOGPT["betas"], weight_decay=NANOGPT["weight_decay"]
    )
    losses, at, seconds, start = [], [], [], time.perf_counter()
    for step in range(steps or N):
        for group in optimizer.param_groups:
            group["lr"] = reference_rate(step, N)
        starts = torch.randint(len(ids) - T, (B,))
        x = torch.stack([ids[i : i + T] for i in starts])
        y = torch.stack([ids[i + 1 : i + 1 + T] for i in starts])
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), NANOGPT["clip"])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
        at.append(step + 1)
    every = max(1, len(losses) // POINTS)
    points = range(every, len(losses) + 1, every)
    means = [statistics.mean(losses[i - every : i]) for i in points]
    return model, summary([at[i - 1] for i in points], means, [seconds[i - 1] for i in points])


def our_run(model: dict, training: dict, ids, vocab_size: int, seed: int, steps=None) -> tuple:
    """Train by the package's loop, as `scratchformer train` does: the model and its curve."""
    torch.manual_seed(seed)
    gpt = first_edition.build(vocab_size, model)
    settings = {**training, "seed": seed, "steps": steps or training["steps"]}
    for name in ("device", "evaluate_every"):
        settings.pop(name, None)
    settings["warmup"] = min(settings.get("warmup", 0), settings["steps"] - 1)
    sizes = settings.pop("batch_size"), settings.pop("context_length", gpt.context_length)
    windows = WindowSampler(ids, *sizes, seed, settings.pop("replacement", True))
    settings["evaluate_every"] = max(1, settings["steps"] // POINTS)
    loss = lambda model, x, y: token_loss(model(x), y)  # noqa: E731
    history = fit(gpt, windows, loss, TrainingConfig(**settings))
    return gpt, summary(history.steps, history.train_loss, history.seconds)


def summary(steps: list[int], losses: list[float], seconds: list[float]) -> dict:
    """The seconds in all, and the curve of the training loss."""
    return {
        "seconds": round(seconds[-1], 3),
        "curve": {
            "steps": steps,
            "train_loss": [round(loss, 3) for loss in losses],
            "seconds": [round(t, 3) for t in seconds],
        },
    }


def rungs() -> dict[str, tuple[dict, dict]]:
    """Each rung's whole model and training, the changes of those below included."""
    model, training, found = {}, {}, {}
    for name, (steps, of_model, of_training) in LADDER.items():
        model, training = model | of_model, training | of_training | {"steps": steps}
        found[name] = model, training | {"warmup": int(training["warmup"] * steps)}
    return found


def configuration(name: str) -> tuple[dict, dict]:
    """[model] and [training] of configs/NAME.toml."""
    config = read_config(CONFIGS / f"{name}.toml")
    return config["model"], config["training"]


def network_probabilities(model, ids, context_length: int) -> torch.Tensor:
    """Of each token of `ids` but the first, (N - 1,), in consecutive windows, as `evaluate`."""
    found, n = [], (len(ids) - 1) // context_length * context_length
    with eval_mode(model):
        for x, y in zip(
            [*ids[:n].view(-1, context_length).split(64), ids[None, n:-1]],
            [*ids[1 : n + 1].view(-1, context_length).split(64), ids[None, n + 1 :]],
            strict=True,
        ):
            p = model(x).float().softmax(dim=-1)
            found.append(p.gather(-1, y.unsqueeze(-1)).flatten())
    return torch.cat(found).double()


def table_probabilities(table: KneserNey, ids) -> torch.Tensor:
    """The same of a counted table, which sees `order` - 1 tokens wherever a window begins."""
    rows, found, row = {}, [], ids.tolist()
    for t in range(1, len(row)):
        context = row[max(0, t - table.order + 1) : t]
        if (key := tuple(context)) not in rows:
            rows[key] = table.next_probabilities(context)
        found.append(rows[key][row[t]])
    return torch.tensor(found, dtype=torch.float64)


def mixed_loss(network: torch.Tensor, table: torch.Tensor, weight: float) -> float:
    """Nats a token of a mean of the two probabilities, `weight` of it the table's."""
    return -((1 - weight) * network + weight * table).log().mean().item()


def race(ids, val_ids, vocab_size: int, quick: bool, seeds=SEEDS) -> dict[str, list[dict]]:
    """nanoGPT's settings and ours, in turn: one run of each for each seed."""
    model, training = configuration("speedrun")
    steps = 20 if quick else None
    reference_run(ids, vocab_size, 0, 3)  # warm up
    our_run(model, training, ids, vocab_size, 0, 3)
    found = {"nanoGPT": [], "ours": []}
    for seed in seeds:
        reference, theirs = reference_run(ids, vocab_size, seed, steps)
        gpt, ours = our_run(model, training, ids, vocab_size, seed, steps)
        sides = ("nanoGPT", reference, 64, theirs), ("ours", gpt, gpt.context_length, ours)
        for name, network, context_length, run in sides:
            loss = evaluate(network, val_ids, context_length)
            found[name].append({"seed": seed, "val_loss": round(loss, 4), **run})
        seconds = theirs["seconds"], ours["seconds"]
        losses = found["nanoGPT"][-1]["val_loss"], found["ours"][-1]["val_loss"]
        print(
            f"seed {seed}: nanoGPT {seconds[0]:.1f} s, {losses[0]:.3f} nats; ours "
            f"{seconds[1]:.2f} s, {losses[1]:.3f} nats: {seconds[0] / seconds[1]:.1f} times",
            flush=True,
        )
    return found


def climb(reference: list[dict], ids, val_ids, vocab_size: int, quick: bool, seeds=SEEDS) -> list:
    """Every rung of the ladder with every seed; the first is nanoGPT's setting, run already."""
    found = []
    for name, (model, training) in rungs().items():
        steps, runs = 6 if quick else training["steps"], []
        gpt, _ = our_run(model, training, ids, vocab_size, 0, 2)  # warm up
        for seed in seeds if found else ():
            gpt, run = our_run(model, training, ids, vocab_size, seed, steps)
            loss = evaluate(gpt, val_ids, gpt.context_length)
            runs.append({"seed": seed, "val_loss": round(loss, 4), **run})
        runs = runs or reference
        size = sum(p.numel() for p in gpt.parameters())
        _, of_model, of_training = LADDER[name]
        rung = {"name": name, "model": of_model, "training": of_training, "steps": steps}
        found.append(rung | {"parameters": size, "runs": runs})
        print(
            f"{name:26} {spread(runs, 'seconds', 1)} s, {spread(runs, 'val_loss', 3)} nats",
            flush=True,
        )
    return found


def one_at_a_time(ids, vocab_size: int, quick: bool, seeds=SEEDS) -> list[dict]:
    """Our setting varied: trained on the rest of the training part, scored on the dev split."""
    model, training = configuration("speedrun")
    core, dev = train_val_split(ids, 0.9)
    dev, found = (dev[:3000] if quick else dev), []
    for name, (of_model, of_training) in WITHOUT.items():
        settings, runs = (model | of_model, training | of_training), []
        our_run(*settings, core, vocab_size, 0, 2)  # warm up
        for seed in seeds:
            gpt, run = our_run(*settings, core, vocab_size, seed, 3 if quick else None)
            loss = evaluate(gpt, dev, gpt.context_length)
            runs.append({"seed": seed, "loss": round(loss, 4), "seconds": run["seconds"]})
        found.append({"name": name, "model": of_model, "training": of_training, "runs": runs})
        print(
            f"{name:26} {spread(runs, 'loss', 3)} nats on dev, {spread(runs, 'seconds', 2)} s",
            flush=True,
        )
    return found


def long_run(ids, scored, vocab_size: int, seed: int, steps: int | None) -> tuple:
    """configs/two-minutes.toml on one thread: the run, and the probabilities of `scored`."""
    torch.set_num_threads(1)
    gpt, run = our_run(*configuration("two-minutes"), ids, vocab_size, seed, steps)
    network = network_probabilities(gpt, scored, gpt.context_length)
    return {"seed": seed, "parameters": sum(p.numel() for p in gpt.parameters()), **run}, network


def quality(ids, val_ids, vocab_size: int, quick: bool, pairs=PAIRS) -> dict:
    """The long run: a model a core, two side by side; each alone, both averaged, and mixed.

    The table's weight comes from the development split.
    """
    steps, order = 5 if quick else None, 6
    core, dev = train_val_split(ids, 0.9)
    dev, val_ids = (dev[:3000], val_ids[:3000]) if quick else (dev, val_ids)
    two_cores = partial(ProcessPoolExecutor, 2, mp_context=get_context("spawn"))
    with ThreadPoolExecutor(1) if quick else two_cores() as cores:

        def side_by_side(pair, *texts) -> tuple[list[dict], list[torch.Tensor]]:
            jobs = [cores.submit(long_run, *texts, vocab_size, seed, steps) for seed in pair]
            runs, networks = zip(*(job.result() for job in jobs), strict=True)
            return list(runs), [*networks, sum(networks) / len(networks)]

        _, networks = side_by_side(pairs[0], core, dev)
        table = table_probabilities(KneserNey(order).fit(core, vocab_size), dev)
        on_dev = {"one": networks[0], "two": networks[-1]}
        for name, network in on_dev.items():
            on_dev[name] = {w / 20: mixed_loss(network, table, w / 20) for w in range(21)}
        weight = {name: min(losses, key=losses.get) for name, losses in on_dev.items()}
        print(f"weights {weight}, chosen on the development split", flush=True)

        start = time.perf_counter()
        counted = KneserNey(order).fit(ids, vocab_size)
        counting = time.perf_counter() - start
        table, found, both = table_probabilities(counted, val_ids), [], []
        for pair in pairs:
            runs, networks = side_by_side(pair, ids, val_ids)
            for run, network in zip(runs, networks, strict=False):
                run["val_loss"] = round(mixed_loss(network, table, 0.0), 4)
                run["mixed"] = round(mixed_loss(network, table, weight["one"]), 4)
                found.append(run)
            both.append(
                {
                    "seeds": list(pair),
                    "seconds": max(run["seconds"] for run in runs),
                    "val_loss": round(mixed_loss(networks[-1], table, 0.0), 4),
                    "mixed": round(mixed_loss(networks[-1], table, weight["two"]), 4),
                }
            )
            print(f"two minutes: {both[-1]}, each alone {spread(runs, 'val_loss', 3)}", flush=True)
    return {
        "parameters": found[0]["parameters"],
        "order": order,
        "counting_seconds": round(counting, 3),
        "table_loss": round(mixed_loss(table, table, 1.0), 4),
        "weight": weight,
        "on_dev": {
            name: {str(w): round(loss, 4) for w, loss in losses.items()}
            for name, losses in on_dev.items()
        },
        "runs": found,
        "pairs": both,
    }


def spread(runs: list[dict], key: str, digits: int) -> str:
    """Median, least and greatest."""
    values = [run[key] for run in runs]
    median = f"{statistics.median(values):.{digits}f}"
    return f"{median} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def data() -> tuple:
    """(training ids, validation ids, vocabulary size, whether the text is Shakespeare's)."""
    torch.set_num_threads(THREADS)
    corpus = load_corpus("tinyshakespeare")
    tok = CharTokenizer.train(corpus.text)
    ids, val_ids = train_val_split(torch.tensor(tok.encode(corpus.text)), 0.9)
    return ids, val_ids, tok.vocab_size, corpus.is_real


def rows(quick: bool = False) -> list[dict]:
    """The race, for the table of all benchmarks."""
    ids, val_ids, vocab_size, _ = data()
    return rows_of({"race": race(ids, val_ids, vocab_size, quick, SEEDS[:1] if quick else SEEDS)})


def rows_of(result: dict) -> list[dict]:
    """The table's rows of a whole run, such as speedrun.json holds."""
    found = result["race"]
    losses = {side: statistics.mean(r["val_loss"] for r in runs) for side, runs in found.items()}
    return [
        {
            "what": "training to nanoGPT's loss",
            "reference": "nanoGPT's settings for a CPU",
            "unit": "s",
            "better": "lower",
            "ours": [run["seconds"] for run in found["ours"]],
            "theirs": [run["seconds"] for run in found["nanoGPT"]],
            "note": f"loss on the whole validation split: ours {losses['ours']:.3f}, "
            f"nanoGPT's {losses['nanoGPT']:.3f} nats a character (means)",
        }
    ]


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few steps, nothing stored")
    parser.add_argument("--write", action="store_true", help=f"replace {STORED.name}")
    options = parser.parse_args(arguments)
    if __package__:
        from benchmarks.table import machine
    else:
        from table import machine  # beside this file
    quick, start = options.quick, time.perf_counter()
    ids, val_ids, vocab_size, is_real = data()
    if options.write and not is_real:
        raise SystemExit("Tiny Shakespeare is not here: the stored figures are not replaced")
    seeds = SEEDS[:1] if quick else SEEDS
    found = race(ids, val_ids, vocab_size, quick, seeds)
    ladder = climb(found["nanoGPT"], ids, val_ids, vocab_size, quick, seeds)
    without = one_at_a_time(ids, vocab_size, quick, seeds)
    long_run = quality(ids, val_ids, vocab_size, quick, PAIRS[:1] if quick else PAIRS)
    ratios = [
        theirs["seconds"] / ours["seconds"]
        for theirs, ours in zip(found["nanoGPT"], found["ours"], strict=True)
    ]
    result = {
        "what": "seconds of training, evaluation left out; losses in nats a character on the "
        "whole validation split of Tiny Shakespeare, read once, after the last step",
        "seeds": list(seeds),
        "threads": THREADS,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": numpy.__version__,
        },
        "hardware": {key: machine()[key] for key in ("processor", "cores")},
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "settings": {
            "nanoGPT": NANOGPT,
            **{name: read_config(CONFIGS / f"{name}.toml") for name in ("speedrun", "two-minutes")},
        },
        "race": found,
        "ratio": {
            "rounds": [round(r, 1) for r in ratios],
            "median": round(statistics.median(ratios), 1),
            "min": round(min(ratios), 1),
            "max": round(max(ratios), 1),
        },
        "ladder": ladder,
        "without": without,
        "two_minutes": long_run,
        "counted": {
            str(n): round(KneserNey(n).fit(ids, vocab_size).nats_per_token(val_ids), 4)
            for n in range(1, 9)
        },
    }
    result["seconds"] = round(time.perf_counter() - start)
    if options.write and not quick:
        with atomic_write(STORED) as part:
            part.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result


if __name__ == "__main__":
    main()
