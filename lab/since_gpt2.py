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

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from lab import runs
from scratchformer.data import Playhouse
from scratchformer.data.batches import random_batch
from scratchformer.models.llama import SwiGLU
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import TrainingConfig, evaluate, fit, token_loss
from scratchformer_course.ch19_since_gpt2.worth import CHANGES, MODERN
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT

T, BATCH, STEPS, WARMUP, SEEDS = 32, 16, 1000, 200, range(5)
WIDTH = 64
RATES = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064)
BALANCE = 0.01  # weight of the routers' loss (Fedus et al. 2021)
HIGH_RATES, HIGH_STEPS = (0.01, 0.03, 0.1, 0.3, 1.0), 300
KINDS = ("dense", "experts", "without balance", "as many weights")
PLAYHOUSE_T, PLAYHOUSE_STEPS = 64, 500  # playhouse_floor.py reads windows as long
SETTINGS = runs.settings_of(
    globals(), "BATCH STEPS WARMUP SEEDS RATES BALANCE HIGH_RATES HIGH_STEPS KINDS"
)
SETTINGS |= {"context_length": T, "window": CHANGES["window"]["window"]}
SETTINGS |= {"playhouse": [PLAYHOUSE_T, PLAYHOUSE_STEPS]}


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


def trained(
    model: SpeedrunGPT, ids: Tensor, lr: float, steps: int, seed: int, balance: float = BALANCE
) -> SpeedrunGPT:
    """The model, trained by AdamW, with a warm-up and a straight fall of the rate.

    The warm-up is long: with a twentieth of the steps GPT-2 ends between 2.01 and 2.31 at a rate
    of 0.016, by the seed alone.
    """

    def batch(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        return random_batch(ids, BATCH, model.context_length, generator)  # (B, T) each

    def loss(model: SpeedrunGPT, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        nats, n = token_loss(model(x), y)
        return nats + balance * model.balance * n, n

    fit(model, batch, loss, TrainingConfig(steps, lr, seed, warmup=WARMUP * steps // STEPS))
    return model


def swept(loss_at: Callable[[float], float], tried: dict[str, float], keep: Callable) -> float:
    """The rate with the least loss; `tried` holds the losses of all that were tried."""
    waiting = [0.008, 0.016]
    while waiting:
        rate = waiting.pop(0)
        if str(rate) not in tried:
            tried[str(rate)] = loss_at(rate)
            keep()
        best = RATES.index(float(min(tried, key=lambda rate: tried[rate])))
        if not waiting:
            near = RATES[max(0, best - 1) : best + 2]
            waiting = [rate for rate in near if str(rate) not in tried]
    return RATES[best]


Run = Callable[[str, float, int], float]  # (split, rate, seed) -> the loss on it


def tuned(trial: dict[str, Any], run: Run, seeds: Sequence[int], keep: Callable) -> None:
    """Fill `trial`: a sweep on development with seed 0, then validation at the best rate."""
    development = trial.setdefault("development", {})
    rate = swept(lambda lr: run("development", lr, 0), development, keep)
    if trial.get("rate") != rate:
        trial |= {"rate": rate, "validation": []}
    for seed in seeds[len(trial["validation"]) :]:
        trial["validation"].append(run("validation", rate, seed))
        keep()


def group_part(group: str, splits: dict, V: int, trials: dict, keep: Callable, quick: bool) -> None:
    """Sweep and five seeds for each model of a group; `trials` fills."""
    steps, seeds = (4, [0]) if quick else (STEPS, SEEDS)

    def run(changes: Collection[str], split: str, lr: float, seed: int) -> float:
        ids, scored = splits[split]
        model = trained(new_model(V, changes, seed), ids, lr, steps, seed)
        return round(evaluate(model, scored, T), 4)

    for name, changes in GROUPS[group].items():
        trial = trials.setdefault(name, {"parameters": runs.size(new_model(V, changes, 0))})
        tuned(trial, partial(run, changes), seeds, keep)
        print(group, name, trial, flush=True)


def rates_part(splits: dict, V: int, trials: dict, keep: Callable, quick: bool) -> None:
    """How high the rate may be: three seeds at each, short runs."""
    ids, scored = splits["development"]
    pairs = {"gpt": (), "gpt, qk_norm": ("qk_norm",), "llama": MODERN}
    pairs["llama without qk_norm"] = tuple(c for c in MODERN if c != "qk_norm")
    for name, changes in pairs.items():
        by_rate = trials.setdefault(name, {})
        for lr in HIGH_RATES:
            losses = by_rate.setdefault(str(lr), [])
            for seed in range(len(losses), 1 if quick else 3):
                model = new_model(V, changes, seed)
                trained(model, ids, lr, 4 if quick else HIGH_STEPS, seed)
                losses.append(round(evaluate(model, scored, T), 3))
                keep()
        print(name, by_rate, flush=True)


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


def experts_part(trials: dict, keep: Callable, quick: bool) -> None:
    """Sweep and three seeds for each kind on Playhouse; `trials` fills."""
    steps, seeds = (4, [0]) if quick else (PLAYHOUSE_STEPS, range(3))
    texts = {"train": 1_000_000, "development": 60_000, "validation": 60_000}
    plays = {name: Playhouse(seed).text(n) for seed, (name, n) in enumerate(texts.items())}
    tok = CharTokenizer.train(plays["train"])
    ids = {name: torch.tensor(tok.encode(play)) for name, play in plays.items()}

    def run(kind: str, split: str, lr: float, seed: int) -> float:
        balance = BALANCE if kind == "experts" else 0.0
        model = of_kind(kind, tok.vocab_size, seed)
        trained(model, ids["train"], lr, steps, seed, balance)
        return round(evaluate(model, ids[split], PLAYHOUSE_T), 4)

    for kind in KINDS:
        size = runs.size(of_kind(kind, tok.vocab_size, 0))
        trial = trials.setdefault(kind, {"parameters": size})
        tuned(trial, partial(run, kind), seeds, keep)
        print(kind, trial, flush=True)


def main(arguments: list[str] | None = None) -> dict:
    parser = runs.command_line(__doc__, "since_gpt2.json")
    parser.add_argument("--only", choices=PARTS, help="one part")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    splits, V = runs.load_splits(write=options.write)
    kept = runs.Kept("since_gpt2", SETTINGS, options.write)
    for part in [options.only] if options.only else PARTS:
        given = kept.part(part), kept.keep, options.quick
        if part in GROUPS:
            group_part(part, splits, V, *given)
        elif part == "rates":
            rates_part(splits, V, *given)
        else:
            experts_part(*given)
    return kept.result


if __name__ == "__main__":
    main()
