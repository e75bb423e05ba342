"""Chapter 22's ways to answers, and what each costs -> measurements/answers.json.

Usage: python -m lab.answers [--quick | --write]

There is one base model, and every seed has demonstrations and samples of its own. Each method
begins with the same fine-tuned model, draws as many answers and does as many steps as the others.
Its rate is the best of a sweep on a seed that is not used again, which goes on until its
neighbours are worse (DPO's beta is the best one of four), by the share of right answers and the
penalty where there is one. All figures are exact, computed from the chances of all answers.

methods   method -> the settings tried and their scores, the best, and a row for each seed
film      what the base model and seed 0's fine-tuned one answer to some questions
"""

import argparse
import copy
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from lab import runs
from scratchformer.models import GPT
from scratchformer.training import TrainingConfig, fit
from scratchformer_course.ch22_answers import exact
from scratchformer_course.ch22_answers.exercises import (
    right_advantages,
    right_answer_targets,
    right_dpo_loss,
)
from scratchformer_course.ch22_answers.world import (
    ANSWER,
    PROMPT,
    any_numbers,
    ask,
    decode,
    demonstrations,
    is_right,
    new_model,
    pages,
)

SEEDS, TUNING_SEED = range(5), 10
BASE_STEPS, SFT_STEPS, STEPS, BATCH, GROUP, DEMONSTRATIONS = 400, 100, 40, 256, 8, 128
RATES = (3e-4, 1e-3, 3e-3)  # to begin with
LADDER = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
ASKED = (17, 30, 42, 56, 64, 71, 85, 98)  # the film's questions
NAMES = "SEEDS TUNING_SEED BASE_STEPS SFT_STEPS STEPS BATCH GROUP DEMONSTRATIONS RATES ASKED"
SETTINGS = runs.settings_of(globals(), NAMES)


@functools.cache
def pretrained(steps: int) -> GPT:
    """The base model, that of the chapter."""

    def batch(generator):
        page = pages(128, generator)  # (B, 18)
        return page[:, :-1], page[:, 1:]

    model = new_model(seed=0)
    config = TrainingConfig(steps, lr=1e-2, muon_lr=0.05, seed=0, warmup=steps // 10)
    fit(model, batch, runs.nats, config)
    return model.eval()


def optimizer_of(model: nn.Module, lr: float) -> torch.optim.Optimizer:
    trained = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.AdamW(trained, lr=lr, betas=(0.9, 0.95), weight_decay=0.0)


def step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.no_grad()
def respond(model: GPT, prompts: Tensor, generator: torch.Generator, length=ANSWER) -> Tensor:
    """Prompts with sampled answers behind them."""
    cache, ids, x = model.new_cache(), [prompts], prompts
    for _ in range(length):
        x = torch.multinomial(model(x, cache)[:, -1].softmax(dim=-1), 1, generator=generator)
        ids.append(x)
    return torch.cat(ids, dim=1)


def log_prob(model: GPT, ids: Tensor) -> Tensor:
    """ln p of each answer, given its question."""
    log_p = model(ids[:, :-1])[:, PROMPT - 1 :].log_softmax(dim=-1)
    return log_p.gather(2, ids[:, PROMPT:, None]).sum(dim=(1, 2))


# --- the methods ---------------------------------------------------------------------------------


def fine_tuned(model: GPT, seed: int, lr: float, mask: bool = True) -> GPT:
    """`fit` on demonstrations, the loss on the answers; without a mask on the questions too."""
    data = demonstrations(DEMONSTRATIONS, seed)

    def batch(generator):
        ids = data[torch.randint(len(data), (64,), generator=generator)]
        return ids[:, :-1], right_answer_targets(ids, PROMPT) if mask else ids[:, 1:]

    config = TrainingConfig(SFT_STEPS, lr=lr, seed=seed, warmup=10, weight_decay=0.0)
    fit(model, batch, runs.nats, config)
    return model


def reinforced(model: GPT, seed: int, lr: float, beta: float = 0.0) -> GPT:
    """REINFORCE: groups of eight answers, the mean of the group as the baseline."""
    start, generator = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    optimizer = optimizer_of(model, lr)
    for _ in range(STEPS):
        n = any_numbers(BATCH // GROUP, generator).repeat_interleave(GROUP)
        ids = respond(model, ask(n), generator)
        log_p = log_prob(model, ids)
        with torch.no_grad():
            r = right_advantages(is_right(ids), log_p, log_prob(start, ids), beta, GROUP)
        step(optimizer, -(r * log_p).mean())
    return model


def rejected(model: GPT, seed: int, lr: float) -> GPT:
    """Answers of the model at the start, and fine-tuning on those that are right."""
    generator = torch.Generator().manual_seed(seed)
    ids = respond(model, ask(any_numbers(STEPS * BATCH, generator)), generator)
    kept, optimizer = ids[is_right(ids) > 0], optimizer_of(model, lr)
    for _ in range(STEPS):
        some = kept[torch.randint(len(kept), (BATCH,), generator=generator)]
        step(optimizer, -log_prob(model, some).mean())
    return model


def preferred(model: GPT, seed: int, lr: float, beta: float) -> GPT:
    """DPO on pairs of a right and a wrong answer to one question."""
    start, generator = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    n = any_numbers(STEPS * BATCH // GROUP, generator).repeat_interleave(GROUP)
    chosen, refused = [], []
    for group in respond(model, ask(n), generator).split(GROUP):
        ok = is_right(group) > 0
        pairs = min(int(ok.sum()), int((~ok).sum()))
        chosen.append(group[ok][:pairs])
        refused.append(group[~ok][:pairs])
    good, bad = torch.cat(chosen), torch.cat(refused)
    optimizer = optimizer_of(model, lr)
    with torch.no_grad():
        before = log_prob(start, good), log_prob(start, bad)
    for _ in range(STEPS):
        i = torch.randint(len(good), (BATCH // 2,), generator=generator)
        now = log_prob(model, good[i]), log_prob(model, bad[i])
        step(optimizer, right_dpo_loss(*now, before[0][i], before[1][i], beta))
    return model


# --- the trial -----------------------------------------------------------------------------------

# name -> (what it starts from, the method, settings to try (none: as "sft"), score: more is better)
Score = Callable[[dict[str, float]], float]


def by_right(row: dict[str, float]) -> float:
    return row["right"]


def penalised(beta: float) -> Score:
    return lambda row: row["right"] - beta * row["kl"]


R = [{"lr": lr} for lr in RATES]
BETAS = (0.03, 0.1, 0.3, 1.0)
PAIRED = [{"lr": lr, "beta": beta} for beta in BETAS for lr in RATES[:2]]
METHODS: dict[str, tuple[str, Callable[..., GPT], list[dict], Score]] = {
    "sft": ("base", fine_tuned, R, by_right),
    "sft, no mask": ("base", functools.partial(fine_tuned, mask=False), [], by_right),
    "sft, random weights": ("random", fine_tuned, R, by_right),
    "reinforce": ("sft", reinforced, R, by_right),
    "rejection": ("sft", rejected, R, by_right),
    "dpo": ("sft", preferred, PAIRED, by_right),
    "examples again": ("reinforced", fine_tuned, [], by_right),
}
for beta in BETAS:
    with_penalty = functools.partial(reinforced, beta=beta)
    METHODS[f"reinforce, KL {beta}"] = ("sft", with_penalty, R, penalised(beta))


class Trial:
    """Models and rows of one seed; what others begin with is trained once."""

    def __init__(self, seed: int, sft: dict[str, Any], quick: bool):
        self.seed, self.rate = seed, sft
        self.base = pretrained(4 if quick else BASE_STEPS)
        self.sft = fine_tuned(copy.deepcopy(self.base), seed, **sft)
        self.p = exact.log_chances(self.sft).exp()
        self.ends: dict[str, GPT] = {}

    def run(self, method: str, settings: dict[str, float]) -> tuple[GPT, dict[str, float]]:
        of, train, _, _ = METHODS[method]
        starts = {"base": self.base, "sft": self.sft, "random": new_model(100 + self.seed)}
        model = train(copy.deepcopy((starts | self.ends)[of]), self.seed, **settings)
        if method == "reinforce":
            self.ends["reinforced"] = model
        p = exact.log_chances(model).exp()
        row = {"right": exact.share_right(p).mean().item(), "pass_1": exact.pass_at(p, 1)}
        row["kl"] = exact.divergence(p, self.p)
        return model, {key: round(value, 4) for key, value in row.items()}


def bars(p: Tensor, n: int) -> list[list[int]]:
    """For first numbers 0 … n the chance of a right and of a wrong answer, in ten thousandths."""
    right = (p * exact.RIGHT).sum(dim=2)[n - 10, : n + 1]
    wrong = p.sum(dim=2)[n - 10, : n + 1] - right
    return [[round(1e4 * x) for x in row.tolist()] for row in (right, wrong)]


def film(models: dict[str, GPT]) -> dict[str, list]:
    frames = {}
    for name, model in models.items():
        p, asked = exact.log_chances(model).exp(), []
        for n in ASKED:
            generator = torch.Generator().manual_seed(n)
            prompts = ask(torch.full((8,), n))
            length = 12 if name == "base" else ANSWER
            texts = [decode(x[PROMPT:]) for x in respond(model, prompts, generator, length)]
            asked.append({"n": n, "answers": texts, "bars": bars(p, n)})
        frames[name] = asked
    return frames


def tune(name: str, trial: Trial) -> dict[str, Any]:
    """A sweep that goes on until its best rate has a worse neighbour on both sides."""
    _, _, choices, score = METHODS[name]
    tried: list[dict[str, float]] = []
    waiting = list(choices)
    while waiting:
        settings = waiting.pop(0)
        tried.append(settings | {"score": round(score(trial.run(name, settings)[1]), 4)})
        waiting = waiting or missing_neighbours(tried)
    print(name, tried, flush=True)
    return {"tried": tried, "seeds": {}, "best": best(tried) if tried else trial.rate}


def measure(options: argparse.Namespace) -> dict:
    """All methods, and a film of seed 0."""
    torch.set_num_threads(1)
    names = ("sft", "reinforce") if options.quick else tuple(METHODS)
    start = Trial(TUNING_SEED, {"lr": 1e-3}, options.quick)
    methods = {"sft": tune("sft", start)}
    trial = Trial(TUNING_SEED, methods["sft"]["best"], options.quick)
    methods |= {name: tune(name, trial) for name in names if name != "sft"}
    for seed in SEEDS[: 1 if options.quick else None]:
        trial = Trial(seed, methods["sft"]["best"], options.quick)
        for name in names:
            _, row = trial.run(name, methods[name]["best"])
            methods[name]["seeds"][str(seed)] = row
            print(seed, name, row, flush=True)
        if seed == 0:
            filmed = film({"base": trial.base, "sft": trial.sft})
    return {"methods": methods, "film": filmed}


main = runs.script(__doc__, "answers", measure, SETTINGS)


def settings_of(tried: dict[str, float]) -> dict[str, float]:
    return {key: value for key, value in tried.items() if key != "score"}


def best(tried: list[dict[str, float]]) -> dict[str, float]:
    """The settings with the best score."""
    return settings_of(max(tried, key=lambda trial: trial["score"]))


def missing_neighbours(tried: list[dict[str, float]]) -> list[dict[str, float]]:
    """The best settings with the next lower and the next higher rate, as far as not yet tried."""
    chosen = best(tried)
    at = LADDER.index(chosen["lr"])
    near = [chosen | {"lr": lr} for lr in LADDER[max(0, at - 1) : at + 2]]
    return [settings for settings in near if settings not in map(settings_of, tried)]


if __name__ == "__main__":
    main()
