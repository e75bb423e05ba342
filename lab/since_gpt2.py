"""What each change since GPT-2 is worth, alone and in company -> measurements/since_gpt2.json.

Usage: python -m lab.since_gpt2 [--quick | --write] [--only PART]

The models are SpeedrunGPTs with the switches of `ch19_since_gpt2/worth.py`, on windows of 32
characters of Tiny Shakespeare. Each has its rate chosen on development, from a sweep that goes on
until its best rate has a worse neighbour on both sides. At that rate it is trained with five seeds
on the whole training text, and the validation split is read once. The same seed gives the same
batches, so that differences are taken seed by seed. Finished runs are kept: a second call does only
what is missing.

alone    GPT-2, and GPT-2 with one change
company  Llama, Llama without one of its six changes, and Llama with a window or with experts
rates    the loss after 300 steps at rates up to 1, with QK norm and without
experts  Llama on Playhouse, whose floor is known: its own network; eight experts at as many
         operations a token, with the loss that keeps their work even and without; and one network
         with as many weights as the eight have together. Three seeds
"""

import statistics
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from lab import runs
from scratchformer.data import Playhouse
from scratchformer.data.batches import random_batch
from scratchformer.models.llama import SwiGLU
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate, learning_rate, parameter_groups
from scratchformer_course.ch19_since_gpt2.worth import CHANGES, MODERN
from scratchformer_course.measurements import FOLDER
from scratchformer_course.page_model.speedrun import Experts, SpeedrunConfig, SpeedrunGPT

FILE = FOLDER / "since_gpt2.json"
T, BATCH, STEPS, WARMUP, SEEDS = 32, 16, 1000, 200, range(5)
WIDTH = 64
RATES = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064)
BALANCE = 0.01  # weight of the routers' loss (Fedus et al. 2021)
HIGH_RATES, HIGH_STEPS = (0.01, 0.03, 0.1, 0.3, 1.0), 300
KINDS = ("dense", "experts", "without balance", "as many weights")
PLAYHOUSE_T, PLAYHOUSE_STEPS = 64, 500  # playhouse_floor.py reads windows as long
SETTINGS: dict[str, Any] = {
    "context_length": T,
    "window": CHANGES["window"]["window"],
    "batch": BATCH,
    "steps": STEPS,
    "warmup": WARMUP,
    "seeds": list(SEEDS),
    "rates": RATES,
    "balance": BALANCE,
    "high_rates": HIGH_RATES,
    "high_steps": HIGH_STEPS,
    "kinds": KINDS,
    "playhouse": [PLAYHOUSE_T, PLAYHOUSE_STEPS],
}


def company() -> dict[str, tuple[str, ...]]:
    """Llama as it is, without each of its changes, and with each that it lacks."""
    without = {c: tuple(m for m in MODERN if m != c) for c in MODERN}
    return {"none": MODERN} | without | {c: (*MODERN, c) for c in CHANGES if c not in MODERN}


GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "alone": {"none": ()} | {c: (c,) for c in CHANGES},
    "company": company(),
}
PARTS = (*GROUPS, "rates", "experts")


def new_model(V: int, changes: Iterable[str], seed: int, context_length: int = T) -> SpeedrunGPT:
    """A model of this seed. The first matrices of its networks start wide.

    They start at 1 / √d_model in place of 0.02, which is too small for a gate of this width: SwiGLU
    multiplies two such numbers, and GPT-2 gains a little too.
    """
    torch.manual_seed(seed)
    switches: dict[str, Any] = {}
    for change in changes:
        switches |= CHANGES[change]
    config = SpeedrunConfig(V, context_length, WIDTH, 4, 2, explicit_attention=False, **switches)
    model = SpeedrunGPT(config)
    widen(model)
    return model


def widen(model: nn.Module) -> None:
    """Let the first matrices of each network start at 1 / √d_model in place of 0.02."""
    for name, p in model.named_parameters():
        if name.endswith(("c_fc.weight", "gate_proj.weight", "up_proj.weight")):
            p.data.mul_(p.shape[1] ** -0.5 / 0.02)


def optimizer_of(model: SpeedrunGPT) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameter_groups(model, 0.1), betas=(0.9, 0.95), fused=True)


def step(
    model: SpeedrunGPT,
    optimizer: torch.optim.Optimizer,
    x: Tensor,
    y: Tensor,
    balance: float = BALANCE,
) -> None:
    """One step of training on a batch, gradients clipped at 1."""
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    (loss + balance * model.balance).backward()
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def fit(
    model: SpeedrunGPT, ids: Tensor, lr: float, steps: int, seed: int, balance: float = BALANCE
) -> SpeedrunGPT:
    """The model, trained by AdamW with warm-up and cosine.

    The warm-up is long: with a twentieth of the steps GPT-2 ends between 2.01 and 2.31 at a rate
    of 0.016, by the seed alone.
    """
    optimizer = optimizer_of(model)
    generator = torch.Generator().manual_seed(seed)
    for i in range(steps):
        rate = learning_rate(i, lr=lr, steps=steps, warmup=WARMUP * steps // STEPS)
        for group in optimizer.param_groups:
            group["lr"] = rate
        x, y = random_batch(ids, BATCH, model.context_length, generator)  # (B, T) each
        step(model, optimizer, x, y, balance)
    return model


def trained(
    changes: Collection[str], V: int, ids: Tensor, lr: float, steps: int, seed: int
) -> SpeedrunGPT:
    """One run."""
    return fit(new_model(V, changes, seed), ids, lr, steps, seed)


def swept(loss_at: Callable[[float], float], found: dict[str, float], keep: Callable) -> float:
    """The rate with the least loss; `found` holds the losses of all that were tried."""
    waiting = [0.008, 0.016]
    while waiting:
        rate = waiting.pop(0)
        if str(rate) not in found:
            found[str(rate)] = loss_at(rate)
            keep()
        best = RATES.index(float(min(found, key=lambda rate: found[rate])))
        if not waiting:
            near = RATES[max(0, best - 1) : best + 2]
            waiting = [rate for rate in near if str(rate) not in found]
    return RATES[best]


def group_part(group: str, splits: dict, V: int, found: dict, keep: Callable, quick: bool) -> None:
    """Sweep and five seeds for each model of a group; `found` fills."""
    steps, seeds = (4, [0]) if quick else (STEPS, SEEDS)

    def run(split: str, changes: Collection[str], seed: int, lr: float) -> float:
        ids, scored = splits[split]
        return round(evaluate(trained(changes, V, ids, lr, steps, seed), scored, T), 4)

    for name, changes in GROUPS[group].items():
        own: dict[str, Any] = found.setdefault(name, {"development": {}, "validation": []})
        own["parameters"] = runs.size(new_model(V, changes, 0))
        rate = swept(partial(run, "development", changes, 0), own["development"], keep)
        if own.get("rate") != rate:
            own |= {"rate": rate, "validation": []}
        for seed in seeds[len(own["validation"]) :]:
            own["validation"].append(run("validation", changes, seed, rate))
            keep()
        mean = statistics.mean(own["validation"])
        print(group, name, rate, round(mean, 4), own["validation"], flush=True)


def rates_part(splits: dict, V: int, found: dict, keep: Callable, quick: bool) -> None:
    """How high the rate may be: three seeds at each, short runs."""
    ids, scored = splits["development"]
    pairs = {"gpt": (), "gpt, qk_norm": ("qk_norm",), "llama": MODERN}
    pairs["llama without qk_norm"] = tuple(c for c in MODERN if c != "qk_norm")
    for name, changes in pairs.items():
        own = found.setdefault(name, {})
        for lr in HIGH_RATES:
            losses = own.setdefault(str(lr), [])
            for seed in range(len(losses), 1 if quick else 3):
                model = trained(changes, V, ids, lr, 4 if quick else HIGH_STEPS, seed)
                losses.append(round(evaluate(model, scored, T), 3))
                keep()
        print(name, own, flush=True)


def of_kind(kind: str, V: int, seed: int) -> SpeedrunGPT:
    """A Llama of one of KINDS."""
    routed = kind in ("experts", "without balance")
    changes = (*MODERN, "experts") if routed else MODERN
    model = new_model(V, changes, seed, PLAYHOUSE_T)
    if kind == "as many weights":
        width = CHANGES["experts"]["n_experts"] * (round(8 * WIDTH / 3) // model.config.n_active)
        for block in model.h:
            block.mlp = SwiGLU(WIDTH, width)
            for name, p in block.mlp.named_parameters():
                nn.init.normal_(p, std=0.01 if name.startswith("down") else 0.02)
            widen(block.mlp)
    return model


@torch.no_grad()
def busiest(model: SpeedrunGPT, ids: Tensor) -> list[float]:
    """For each block the share of the choices that fall on the busiest expert."""
    T = model.context_length
    model(ids[: 64 * T].view(64, T))
    return [round(m.share.max().item(), 3) for m in model.modules() if isinstance(m, Experts)]


def experts_part(found: dict, keep: Callable, quick: bool) -> None:
    """Sweep and three seeds for each kind on Playhouse; `found` fills."""
    steps, seeds = (4, [0]) if quick else (PLAYHOUSE_STEPS, range(3))
    texts = {"train": 1_000_000, "development": 60_000, "validation": 60_000}
    plays = {name: Playhouse(seed).text(n) for seed, (name, n) in enumerate(texts.items())}
    tok = CharTokenizer.train(plays["train"])
    ids = {name: torch.tensor(tok.encode(play)) for name, play in plays.items()}

    def run(kind: str, split: str, lr: float, seed: int) -> tuple[SpeedrunGPT, float]:
        model = of_kind(kind, tok.vocab_size, seed)
        balance = BALANCE if kind == "experts" else 0.0
        fit(model, ids["train"], lr, steps, seed, balance)
        return model, round(evaluate(model, ids[split], PLAYHOUSE_T), 4)

    for kind in KINDS:
        own = found.setdefault(kind, {"development": {}, "validation": [], "busiest": []})
        own["parameters"] = runs.size(of_kind(kind, tok.vocab_size, 0))

        def loss_at(lr: float, kind: str = kind) -> float:
            return run(kind, "development", lr, 0)[1]

        rate = swept(loss_at, own["development"], keep)
        if own.get("rate") != rate:
            own |= {"rate": rate, "validation": [], "busiest": []}
        for seed in seeds[len(own["validation"]) :]:
            model, loss = run(kind, "validation", rate, seed)
            own["validation"].append(loss)
            own["busiest"].append(busiest(model, ids["validation"]))
            keep()
        print(kind, own, flush=True)


def main(arguments: list[str] | None = None) -> dict:
    parser = runs.command_line(__doc__, FILE.name)
    parser.add_argument("--only", choices=PARTS, help="one part")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    splits, V = runs.load_splits(write=options.write)
    kept = runs.Kept(FILE, SETTINGS, options.write)
    for part in [options.only] if options.only else PARTS:
        own = kept.part(part)
        if part in GROUPS:
            group_part(part, splits, V, own, kept.keep, options.quick)
        elif part == "rates":
            rates_part(splits, V, own, kept.keep, options.quick)
        else:
            experts_part(own, kept.keep, options.quick)
    return kept.found


if __name__ == "__main__":
    main()
