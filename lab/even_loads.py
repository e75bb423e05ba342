"""How the work of eight experts is kept even, and what that costs -> measurements/even_loads.json.

Usage: python -m lab.even_loads [--write]

The models are those of `since_gpt2`, part "experts": two blocks on Playhouse, eight experts of
which each token uses two, and as many operations as the one network there. Three ways: nothing
keeps the work even; a loss of the routers does (Fedus et al. 2021); or a bias on each expert's
chance, which is moved after every batch, up where an expert got less than an eighth and down where
it got more. It helps to choose, and weighs nothing (Wang et al. 2024). The first two learn at the
rates that `since_gpt2` chose for them. For the bias, its step and then the rate are chosen on
development. Three seeds of each are read on validation, with each expert's share of the tokens.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from lab import runs, since_gpt2
from scratchformer.data import Playhouse
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate
from scratchformer_course.page_model.experts import Experts
from scratchformer_course.page_model.speedrun import SpeedrunGPT

SEEDS, STEPS, T = range(3), since_gpt2.PLAYHOUSE_STEPS, since_gpt2.PLAYHOUSE_T
NUDGES = (0.0003, 0.001, 0.003, 0.01)  # steps of a bias; Wang et al. take 0.001
WAYS = {"nothing": "without balance", "a loss": "experts", "a bias": "without balance"}
SETTINGS = runs.settings_of(globals(), "SEEDS STEPS NUDGES T WAYS")
SETTINGS |= {"balance": since_gpt2.BALANCE}


def nudge_bias(step: float, layer: Experts, *_: Any) -> None:
    """Move the bias of each expert towards an even load, by what the last batch sent it."""
    if layer.training:
        layer.bias += step * (1 / len(layer.bias) - layer.share).sign()


def trained(way: str, V: int, ids: Tensor, lr: float, nudge: float, seed: int) -> SpeedrunGPT:
    """A model with experts whose work is kept even in one of WAYS."""
    model = since_gpt2.of_kind("experts", V, seed)
    for layer in experts_of(model):
        layer.register_forward_hook(partial(nudge_bias, nudge))
    balance = since_gpt2.BALANCE if way == "a loss" else 0.0
    return since_gpt2.trained(model, ids, lr, STEPS, seed, balance)


def experts_of(model: SpeedrunGPT) -> list[Experts]:
    return [layer for layer in model.modules() if isinstance(layer, Experts)]


@torch.no_grad()
def shares(model: SpeedrunGPT, ids: Tensor) -> list[list[float]]:
    """The share of the tokens of a text that each expert of each block gets, the largest first."""
    windows = ids[: len(ids) // T * T].view(-1, T)  # (B, T)
    model.eval()(windows)
    return [
        [round(share, 4) for share in layer.share.sort(descending=True).values.tolist()]
        for layer in experts_of(model)
    ]


def settled(rate: float, loss_at: Callable[[float, float], float]) -> tuple[float, float]:
    """The rate and the step of a bias with the least loss: first the step, then the rate."""
    losses = {(rate, nudge): loss_at(rate, nudge) for nudge in NUDGES}
    _, nudge = min(losses, key=lambda pair: losses[pair])
    at = since_gpt2.RATES.index(rate)
    near = since_gpt2.RATES[at - 1 : at + 2 : 2]
    losses |= {(other, nudge): loss_at(other, nudge) for other in near}
    return min(losses, key=lambda pair: losses[pair])


def main(arguments: list[str] | None = None) -> dict:
    options = runs.command_line(__doc__, "even_loads.json", quick=False).parse_args(arguments)
    torch.set_num_threads(1)
    texts = {"train": 1_000_000, "development": 60_000, "validation": 60_000}
    plays = {name: Playhouse(seed).text(n) for seed, (name, n) in enumerate(texts.items())}
    tok = CharTokenizer.train(plays["train"])
    V, ids = tok.vocab_size, {n: torch.tensor(tok.encode(play)) for n, play in plays.items()}
    kept = runs.Kept("even_loads", SETTINGS, options.write)
    chosen = runs.read(runs.path_of("since_gpt2"))["experts"]

    def development(lr: float, nudge: float) -> float:
        def job() -> dict:
            model = trained("a bias", V, ids["train"], lr, nudge, 0)
            return {"loss": round(evaluate(model, ids["development"], T), 4)}

        kept.once("development", f"{lr}, {nudge}", job=job)
        return kept.part("development", f"{lr}, {nudge}")["loss"]

    for way, kind in WAYS.items():
        rate, nudge = chosen[kind]["rate"], 0.0
        if way == "a bias":
            rate, nudge = settled(rate, development)
        for seed in SEEDS:

            def job(way=way, rate=rate, nudge=nudge, seed=seed) -> dict:
                model = trained(way, V, ids["train"], rate, nudge, seed)
                loss = round(evaluate(model, ids["validation"], T), 4)
                found = {"rate": rate, "nudge": nudge, "loss": loss}
                return found | {"shares": shares(model, ids["validation"])}

            kept.once("ways", way, str(seed), job=job)
    return kept.result


if __name__ == "__main__":
    main()
