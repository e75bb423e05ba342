"""Chapter 22's ways to answers, and what each costs -> measurements/answers.json.

Usage: python -m lab.answers [--quick | --write]

Pupils who forget to borrow and, as a control, careful ones: for each kind there is one base model,
and every seed has demonstrations and samples of its own. Each method begins with the same
fine-tuned model, draws as many answers and does as many steps as the others. What is compared has
the same rate, and rewards have three; random weights have the best of `SWEPT`, by the share of
right answers, on a seed that is not used again. All figures are exact, computed from the chances
of all answers.

swept     the rates tried for random weights, and the share of right answers
pupils    kind -> method -> a row for each seed
film      what the base model and seed 0's fine-tuned one answer to some questions
rewards   first numbers of the answers to 85 after other rewards, and their figures; seed 0

What is finished is kept, as long as the settings are the same.
"""

import copy
import functools
from typing import Any

import torch
from torch import Tensor, nn

from lab import runs
from scratchformer.models import GPT
from scratchformer.training import TrainingConfig, fit
from scratchformer_course.ch22_answers import exact
from scratchformer_course.ch22_answers.exercises import right_advantages, right_answer_targets
from scratchformer_course.ch22_answers.world import (
    ANSWER,
    CAREFUL,
    FORGETS,
    PROMPT,
    any_numbers,
    ask,
    borrows,
    decode,
    demonstrations,
    is_right,
    new_model,
    pages,
    read,
)

SEEDS, TUNING_SEED = range(3), 10
PUPILS = {"forgetful": FORGETS, "careful": CAREFUL}
BASE_STEPS, SFT_STEPS, STEPS, BATCH, GROUP, DEMONSTRATIONS = 400, 100, 40, 256, 8, 128
SFT_RATE, RATE, RATES = 1e-3, 3e-4, (3e-4, 1e-3, 3e-3)
SWEPT, COPY_RATE = (1e-3, 3e-3, 1e-2, 3e-2), 3e-3
WORTH, PENALTIES = (1.0, 2.0, 4.0, 8.0), (0.0, 0.3)  # of a right answer that borrows
ASKED, SHOWN = (17, 30, 42, 56, 64, 71, 85, 98), 85  # the film's questions, and that of `rewards`
NAMES = "SEEDS TUNING_SEED PUPILS BASE_STEPS SFT_STEPS STEPS BATCH GROUP DEMONSTRATIONS SFT_RATE"
NAMES += " RATE RATES SWEPT COPY_RATE WORTH PENALTIES ASKED SHOWN"
SETTINGS = runs.settings_of(globals(), NAMES)


@functools.cache
def pretrained(pupils: str, steps: int) -> GPT:
    """The base model, that of the chapter."""

    def batch(generator):
        page = pages(128, generator, PUPILS[pupils])  # (B, 18)
        return page[:, :-1], page[:, 1:]

    model = new_model(seed=0)
    config = TrainingConfig(steps, lr=1e-2, muon_lr=0.05, seed=0, warmup=steps // 10)
    fit(model, batch, runs.nats, config)
    return model.eval()


def optimizer_of(model: nn.Module, lr: float) -> torch.optim.Optimizer:
    trained = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.AdamW(trained, lr=lr, weight_decay=0.0)


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


def fine_tuned(model: GPT, seed: int, lr: float = SFT_RATE, forgets: float = FORGETS) -> GPT:
    """`fit` on demonstrations, the loss on the answers."""
    data = demonstrations(DEMONSTRATIONS, seed, forgets)

    def batch(generator):
        ids = data[torch.randint(len(data), (64,), generator=generator)]
        return ids[:, :-1], right_answer_targets(ids, PROMPT)

    config = TrainingConfig(SFT_STEPS, lr=lr, seed=seed, warmup=10, weight_decay=0.0)
    fit(model, batch, runs.nats, config)
    return model


def reinforced(
    model: GPT,
    seed: int,
    lr: float = RATE,
    beta: float = 0.0,
    worth: float = 1.0,
    by_kind: bool = False,
) -> GPT:
    """REINFORCE: groups of eight answers, the mean of the group as the baseline.

    A right answer that borrows is `worth` so much. `by_kind` the baseline is the mean of all
    answers of the batch that borrow, or of all that do not.
    """
    start, generator = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    optimizer = optimizer_of(model, lr)
    for _ in range(STEPS):
        n = any_numbers(BATCH // GROUP, generator).repeat_interleave(GROUP)
        ids = respond(model, ask(n), generator)
        log_p = log_prob(model, ids)
        with torch.no_grad():
            hard = borrows(n, read(ids)[1])
            r = torch.where(hard, worth, 1.0) * is_right(ids)
            r = r - beta * (log_p - log_prob(start, ids))
            r = right_advantages(r, hard.long() if by_kind else n)
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


# --- the trial -----------------------------------------------------------------------------------

RANDOM = "sft, random weights"
METHODS: dict[str, functools.partial] = {
    RANDOM: functools.partial(fine_tuned),
    "rejection": functools.partial(rejected, lr=COPY_RATE),
    "examples again": functools.partial(fine_tuned),
}
for lr in RATES:
    METHODS[f"reward {lr}"] = functools.partial(reinforced, lr=lr)
for lr in RATES[:2]:
    METHODS[f"reward {lr}, KL 0.3"] = functools.partial(reinforced, lr=lr, beta=0.3)
    METHODS[f"reward {lr}, by kind"] = functools.partial(reinforced, lr=lr, by_kind=True)
OF_CAREFUL = [f"reward {lr}" for lr in RATES] + [f"reward {RATE}, by kind"]


class Trial:
    """Models and rows of one seed; what others begin with is trained once."""

    def __init__(self, pupils: str, seed: int, quick: bool):
        self.pupils, self.seed = pupils, seed
        self.base = pretrained(pupils, 4 if quick else BASE_STEPS)
        forgets = PUPILS[pupils]
        self.sft = fine_tuned(copy.deepcopy(self.base), seed, forgets=forgets)
        self.p = exact.log_chances(self.sft).exp()

    def row(self, method: str, settings: dict[str, float]) -> dict[str, float]:
        """The figures of a method's model; "sft" is where the others begin."""
        model = self.sft
        if method != "sft":
            start = new_model(100 + self.seed) if method == RANDOM else self.sft
            if method == "examples again":
                start = METHODS[f"reward {RATE}"](copy.deepcopy(self.sft), self.seed)
            model = METHODS[method](copy.deepcopy(start), self.seed, **settings)
        return row_of(exact.log_chances(model).exp(), self.p)


def row_of(p: Tensor, start: Tensor) -> dict[str, float]:
    return {key: round(value, 4) for key, value in exact.facts(p, start).items()}


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


def rewarded(worth: float, beta: float, trial: Trial) -> dict[str, Any]:
    """What is seen of one reward: bars over the first number of answers to 85, and figures."""
    model = reinforced(copy.deepcopy(trial.sft), trial.seed, beta=beta, worth=worth)
    p = exact.log_chances(model).exp()
    return {"worth": worth, "beta": beta, "bars": bars(p, SHOWN), **row_of(p, trial.p)}


def main(arguments: list[str] | None = None) -> dict:
    options = runs.command_line(__doc__, "answers.json").parse_args(arguments)
    torch.set_num_threads(1)
    kept = runs.Kept("answers", SETTINGS, options.write)
    trials: dict[tuple[str, int], Trial] = {}

    def trial(pupils: str, seed: int) -> Trial:
        if (pupils, seed) not in trials:
            trials[pupils, seed] = Trial(pupils, seed, options.quick)
        return trials[pupils, seed]

    def filmed() -> dict:
        first = trial("forgetful", 0)
        return film({"base": first.base, "sft": first.sft})

    def sweep() -> dict:
        on = trial("forgetful", TUNING_SEED)
        return {str(lr): on.row(RANDOM, {"lr": lr})["right"] for lr in SWEPT}

    def rewards(pupils: str) -> dict:
        on = trial(pupils, 0)
        begun = {"bars": bars(on.p, SHOWN), **row_of(on.p, on.p)}
        worth = WORTH[:1] if options.quick else WORTH
        found = [rewarded(w, beta, on) for w in worth for beta in PENALTIES]
        return {"before": begun, "after": found}

    for pupils in PUPILS:
        kept.once("rewards", pupils, job=functools.partial(rewards, pupils))
    kept.once("film", job=filmed)
    kept.once("swept", job=sweep)
    best = {"lr": float(max(kept.result["swept"], key=kept.result["swept"].get))}
    for seed in SEEDS[: 1 if options.quick else None]:
        for pupils in PUPILS:
            others = OF_CAREFUL if pupils == "careful" else METHODS
            for name in ("sft", f"reward {RATE}", *others):
                settings = best if name == RANDOM else {}
                job = functools.partial(lambda *at: trial(*at[:2]).row(*at[2:]), pupils, seed)
                kept.once(
                    "pupils", pupils, name, str(seed), job=functools.partial(job, name, settings)
                )
    return kept.result


if __name__ == "__main__":
    main()
