"""Chapter 24's measurements of a model that owes a rhyme, seed by seed -> measurements/inside.json.

Usage: python -m lab.inside [--quick | --write]

Every seed trains the chapter's GPT anew on the same text, and everything else stays the same: the
couplets that probes learn from, the couplets they are tested on, and the pairs for patching.
Finished seeds are kept: a second call does only what is missing.

seeds   seed -> loss, and share: how much of the chance in the slot is on the right rhyme
  probe     "comma" -> after the embedding and each block: how often a probe is right
  erased    "slot" -> [share with the five directions erased after block 1, with five random ones]
  together  the same, with the four places between erased at once
  between   log-odds restored by all places between at once, patched after block 1
  heads     for each: [block, head, log-odds restored]
  steer     direction -> chance of the new rhyme
  ridges    for each ridge: [the probe is right, chance of the new rhyme]
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab import runs
from scratchformer.models import GPT
from scratchformer.training import train
from scratchformer.training.losses import eval_mode
from scratchformer_course.ch24_inside import play
from scratchformer_course.ch24_inside.exercises import right_erase, right_probe

SEEDS, STEPS = range(10), 500
RIDGES = (1.0, 10.0, 100.0, 1_000.0, 10_000.0)
BETWEEN = ("comma", "line break", "first word", "word before")
RIDGE, CLASSES, RANDOM_DRAWS = 1.0, 6, 5
SETTINGS = runs.settings_of(globals(), "SEEDS STEPS RIDGES RIDGE RANDOM_DRAWS")
Change = Callable[[Tensor], Tensor]


def trained(seed: int, steps: int) -> tuple[GPT, float]:
    """The chapter's model, and its loss on text it has not seen."""
    ids, unseen = play.tokens(0, 1_500_000), play.tokens(1, 60_000)
    model = play.new_model(seed)
    history = train(
        model, ids, unseen, batch_size=16, context_length=play.CONTEXT, steps=steps, lr=1e-2,
        muon_lr=0.03, betas=(0.8, 0.95), warmup=steps // 10, seed=seed,
    )  # fmt: skip
    return model.eval(), history.val_loss[-1]


@contextmanager
def changed(module: nn.Module, change: Change, inputs: bool = False) -> Iterator[None]:
    """What the module returns, or its first input, goes through `change`."""
    if inputs:
        hook = module.register_forward_pre_hook(lambda _, given: (change(given[0]), *given[1:]))
    else:
        hook = module.register_forward_hook(lambda _, given, output: change(output))
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def recorded(module: nn.Module, inputs: bool = False) -> Iterator[list[Tensor]]:
    """A list of what the module returns, or of its first inputs, call by call."""
    tensors: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        tensors.append(x)
        return x

    with changed(module, keep, inputs):
        yield tensors


def replaced(place: Any, values: Tensor) -> Change:
    """A change that puts `values` at a place, which is an index."""

    def change(x: Tensor) -> Tensor:
        x = x.clone()
        x[place] = values
        return x

    return change


def mixing(model: GPT, block: int) -> nn.Module:
    """The layer whose input are the results of a block's heads, side by side."""
    return model.get_submodule(f"h.{block}.attn.c_proj")


@torch.no_grad()
def stream(model: GPT, ids: Tensor) -> list[Tensor]:
    """The stream after the embedding and after each block, (B, T, C) each."""
    with ExitStack() as stack:
        after = [stack.enter_context(recorded(module)) for module in (model.drop, *model.h)]
        model(ids)
    return [tensors[0] for tensors in after]


def standard(x: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of some vectors and one typical size of what is left without it."""
    return x.mean(dim=0), (x - x.mean(dim=0)).std()


class Inside:
    """What is measured of one model."""

    def __init__(self, model: GPT, quick: bool = False):
        self.model = model
        self.seen, self.test = (
            play.couplets(seed, scenes // (10 if quick else 1))
            for seed, scenes in ((100, 2000), (200, 800))
        )
        self.pairs, self.rows = play.pairs(), torch.arange(len(self.test))
        self.streams = [stream(model, data.ids) for data in (self.seen, self.test)]
        self.to = (self.test.rhyme + 1 + self.rows % 5) % CLASSES

    @torch.no_grad()
    def chances(self) -> Tensor:
        """(couplets, 6): the chance of an answer of each class, in the slot."""
        p = self.model(self.test.ids)[self.rows, self.test.at["slot"]].softmax(dim=-1)
        return self.by_class(p)

    def by_class(self, p: Tensor) -> Tensor:
        return torch.stack([p[:, c == play.OF_ANSWER].sum(dim=1) for c in range(CLASSES)], dim=1)

    def share(self) -> float:
        return self.chances()[self.rows, self.test.rhyme].mean().item()

    # --- reading

    def vectors(self, depth: int, place: str) -> tuple[Tensor, Tensor]:
        """Those to learn from, and those to be tested on."""
        x, new = (
            depths[depth][torch.arange(len(data)), data.at[place]]
            for depths, data in zip(self.streams, (self.seen, self.test), strict=True)
        )
        mean, size = standard(x)
        return (x - mean) / size, (new - mean) / size

    def read(self, depth: int, place: str, ridge: float = RIDGE) -> float:
        """How often a probe is right on couplets it has not seen."""
        x, new = self.vectors(depth, place)
        guess = right_probe(x, self.seen.rhyme, new, ridge).argmax(dim=1)
        return (guess == self.test.rhyme).float().mean().item()

    # --- erasing, after block 1

    def means(self, place: str) -> Tensor:
        """The mean vector of each class, (6, C)."""
        x = self.streams[0][1][torch.arange(len(self.seen)), self.seen.at[place]]
        return torch.stack([x[self.seen.rhyme == c].mean(dim=0) for c in range(CLASSES)])

    def eraser(self, place: str, directions: Tensor | None = None) -> Change:
        means = self.means(place)
        mean, at = means.mean(dim=0), self.test.at[place]
        directions = (means - mean)[:5] if directions is None else directions

        def change(x: Tensor) -> Tensor:
            x = x.clone()
            x[self.rows, at] = mean + right_erase(x[self.rows, at] - mean, directions)
            return x

        return change

    @contextmanager
    def erased(self, places: tuple[str, ...], random: int | None = None) -> Iterator[None]:
        with ExitStack() as stack:
            for i, place in enumerate(places):
                directions = None
                if random is not None:
                    draws = torch.Generator().manual_seed(100 * random + i)
                    directions = torch.randn(5, self.model.config.d_model, generator=draws)
                stack.enter_context(changed(self.model.h[0], self.eraser(place, directions)))
            yield

    def after_erasing(self, places: tuple[str, ...]) -> list[float]:
        shares = []
        for draw in (None, *range(RANDOM_DRAWS)):
            with self.erased(places, draw):
                shares.append(self.share())
        return [shares[0], sum(shares[1:]) / RANDOM_DRAWS]

    # --- patching: runs of one text receive vectors of another

    @torch.no_grad()
    def log_odds(self, ids: Tensor) -> float:
        """Of the clean text's class against the other's, in the last place; mean."""
        p, i = self.by_class(self.model(ids)[:, -1].softmax(dim=-1)).log(), torch.arange(len(ids))
        return (p[i, self.pairs.rhyme] - p[i, self.pairs.other_rhyme]).mean().item()

    def patched(self) -> dict[str, Any]:
        """What is restored by all places between, after block 1, and by each head."""
        model, pairs = self.model, self.pairs
        clean = stream(model, pairs.clean)[1]
        top, low = map(self.log_odds, (pairs.clean, pairs.other))

        def restored() -> float:
            return (self.log_odds(pairs.other) - low) / (top - low)

        places = np.s_[:, pairs.start + 2 : -1]
        with changed(model.h[0], replaced(places, clean[places])):
            between = restored()
        heads, width = [], model.config.d_model // model.config.n_heads
        for block in range(len(model.h)):
            with recorded(mixing(model, block), inputs=True) as tensors, torch.no_grad():
                model(pairs.clean)
            for head in range(model.config.n_heads):
                place = np.s_[:, -1, width * head : width * head + width]
                put = replaced(place, tensors[0][place])
                with changed(mixing(model, block), put, inputs=True):
                    heads.append([block + 1, head + 1, restored()])
        return {"between": between, "heads": heads}

    # --- steering, in the slot after block 1

    def directions(self, ridge: float = RIDGE) -> Tensor:
        """For each couplet where a probe's score of its new class rises most against the old."""
        x, _ = self.vectors(1, "slot")
        units = torch.cat([torch.eye(x.shape[1]), torch.zeros(1, x.shape[1])])
        scores = right_probe(x, self.seen.rhyme, units, ridge)
        weights = (scores[:-1] - scores[-1]).T  # (6, C)
        return weights[self.to] - weights[self.test.rhyme]

    def steer(self) -> dict[str, Any]:
        means = self.means("slot")
        step = means[self.to] - means[self.test.rhyme]
        size, draws = step.norm(dim=1, keepdim=True), torch.Generator().manual_seed(1)

        def turned(push: Tensor) -> float:
            return self.pushed(F.normalize(push, dim=1) * size)

        noise = [torch.randn(step.shape, generator=draws) for _ in range(RANDOM_DRAWS)]
        chances = {"means": turned(step), "probe": turned(self.directions())}
        chances["random"] = sum(map(turned, noise)) / RANDOM_DRAWS
        ridges = [[self.read(1, "slot", r), turned(self.directions(r))] for r in RIDGES]
        return {"steer": chances, "ridges": ridges}

    def pushed(self, step: Tensor) -> float:
        """The chance of the new rhyme."""

        def change(x: Tensor) -> Tensor:
            x = x.clone()
            x[self.rows, self.test.at["slot"]] += step
            return x

        with changed(self.model.h[0], change):
            return self.chances()[self.rows, self.to].mean().item()

    def everything(self) -> dict[str, Any]:
        return {
            "share": self.share(),
            "probe": {"comma": [[self.read(depth, "comma")] for depth in range(3)]},
            "erased": {"slot": self.after_erasing(("slot",))},
            "together": self.after_erasing(BETWEEN),
            **self.patched(),
            **self.steer(),
        }


def main(arguments: list[str] | None = None) -> dict:
    options = runs.command_line(__doc__, "inside.json").parse_args(arguments)
    torch.set_num_threads(1)
    kept = runs.Kept("inside", SETTINGS, options.write)

    def measure(seed: int) -> dict[str, Any]:
        model, loss = trained(seed, 20 if options.quick else STEPS)
        with eval_mode(model):
            measured = {"loss": loss} | Inside(model, options.quick).everything()
        return json.loads(json.dumps(measured), parse_float=lambda x: round(float(x), 3))

    for seed in SEEDS[: 1 if options.quick else None]:
        kept.once("seeds", str(seed), job=partial(measure, seed))
    return kept.result


if __name__ == "__main__":
    main()
