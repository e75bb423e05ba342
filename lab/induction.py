"""Chapter 24's songs: how heads that copy grow, and what is left without them.

Usage: python -m lab.induction [--quick | --write]

Writes measurements/induction.json. All losses are nats a note at the places where a note and its
next one have followed each other before, on 512 songs that no run is trained on.

runs     two blocks, by seed: the loss at the end, and without single heads, pairs of block 1, or
         the team of block 1 that attends to the note before; and with what this team gives missing
         in the queries, keys or values of block 2
six      one block, trained on loops of six without jumps: loss and score by loop length
narrow   two blocks from GPT-2's narrow start, trained for longer: the loss, and for each block
         the heads' weights on the note before and their induction scores
film     one run: maps and predictions on one song, and at its end all 256 choices of heads
"""

import argparse
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lab import runs
from lab.inside import changed, mixing, recorded, replaced
from scratchformer.attention import recorded_attention
from scratchformer.models import GPT
from scratchformer.training import TrainingConfig, eval_mode, fit
from scratchformer_course.ch24_inside.songs import LETTERS, heard, new_model, songs

SEEDS, STEPS, LONG = range(5), 300, 2400
FRAMES = (0, 40, 80, *range(100, 181, 10), 200, 240, 300)
HEADS = [(block, head) for block in (0, 1) for head in range(4)]
SHOWN, FILMED = 20, 0  # notes of the song that is shown, and the seed of its run
SETTINGS = runs.settings_of(globals(), "SEEDS STEPS LONG FRAMES SHOWN FILMED")
LEVELS = "0123456789abcdefghijklmnopqrstuvwxyz"  # of a weight or a chance

Songs = Callable[[int, torch.Generator], Tensor]
Heads = Sequence[tuple[int, int]]


def of_six(n: int, generator: torch.Generator, notes: int = 6) -> Tensor:
    return songs(n, generator, notes, notes, jump=0.0)


def trained(model: GPT, seed: int, watch: Callable, steps: int, data: Songs = songs) -> GPT:
    def batch(generator):
        ids = data(32, generator)  # (B, T + 1)
        return ids[:, :-1], ids[:, 1:]

    config = TrainingConfig(
        steps, lr=1e-2, seed=seed, weight_decay=0.0, warmup=20, schedule="constant"
    )
    fit(model, batch, runs.nats, config, callbacks=[watch])
    return model.eval()


# --- what is measured ----------------------------------------------------------------------------


def losses(model: GPT, ids: Tensor) -> Tensor:
    with eval_mode(model):
        logits = model(ids[:, :-1])
    return F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")  # (B, T)


def copy_loss(model: GPT, ids: Tensor) -> float:
    return losses(model, ids)[heard(ids)].mean().item()


def maps_of(model: GPT, x: Tensor) -> Tensor:
    """Attention weights (blocks, B, H, T, T)."""
    with recorded_attention(model) as maps, eval_mode(model):
        model(x)
    return torch.stack(list(maps.values()))


def on_the_note_before(weights: Tensor) -> Tensor:
    """Weights (…, B, H, T, T) -> (…, H)."""
    return weights.diagonal(-1, -2, -1).mean(dim=(-3, -1))


def induction_score(weights: Tensor, x: Tensor) -> Tensor:
    """Weights (…, B, H, T, T) and ids (B, T) -> (…, H)."""
    same = (x[:, :, None] == x[:, None, :]).tril(-1)
    after = F.pad(same[:, :, :-1], (1, 0))  # one place later than the same note
    played = same.any(dim=-1)
    weight = (weights * after[:, None]).sum(dim=-1)  # (…, B, H, T)
    return (weight * played[:, None]).sum(dim=(-3, -1)) / played.sum()


def scores(model: GPT, ids: Tensor) -> list[list[list[float]]]:
    """For each block the heads' weights on the note before, and their induction scores."""
    weights = maps_of(model, ids[:, :-1])
    pair = on_the_note_before(weights), induction_score(weights, ids[:, :-1])
    return [[rounded(of_heads[block]) for of_heads in pair] for block in range(len(weights))]


def rounded(x: Tensor) -> list[float]:
    return [round(value, 3) for value in x.tolist()]


@contextmanager
def silenced(model: GPT, heads: Heads) -> Iterator[None]:
    """Put the mean over songs and places in place of what these heads give."""
    width = model.config.d_model // model.config.n_heads

    def without(block: int, x: Tensor) -> Tensor:
        x = x.clone()  # (B, T, C), the heads side by side
        for columns in (slice(width * h, width * h + width) for b, h in heads if b == block):
            x[..., columns] = x[..., columns].mean(dim=(0, 1))
        return x

    with ExitStack() as stack:
        for i in range(len(model.h)):
            stack.enter_context(changed(mixing(model, i), partial(without, i), inputs=True))
        yield


def without(model: GPT, ids: Tensor, heads: Heads) -> float:
    with silenced(model, heads):
        return round(copy_loss(model, ids), 3)


def cut(model: GPT, ids: Tensor, heads: Heads, part: str) -> float:
    """The loss if block 2's queries, keys or values come from a run without `heads`."""
    c_attn, C = model.get_submodule("h.1.attn.c_attn"), model.config.d_model
    channels = np.s_[..., C * "qkv".index(part) : C * "qkv".index(part) + C]
    with silenced(model, heads), recorded(c_attn) as tensors:
        losses(model, ids)
    with changed(c_attn, replaced(channels, tensors[0][channels])):
        return round(copy_loss(model, ids), 3)


def taken_apart(model: GPT, ids: Tensor) -> dict[str, Any]:
    """Single heads, pairs of block 1, and the team of block 1 that attends to the note before."""
    before = on_the_note_before(maps_of(model, ids[:, :-1]))[0]
    team = [(0, head) for head in range(4) if before[head] > 0.2]
    return {
        "last": round(copy_loss(model, ids), 3),
        "without_one": {f"{b + 1}.{h + 1}": without(model, ids, [(b, h)]) for b, h in HEADS},
        "team": [head + 1 for _, head in team],
        "without_team": without(model, ids, team),
        "team_cut": {part: cut(model, ids, team, part) for part in "qkv"},
        "without_two": {
            f"1.{a + 1} 1.{b + 1}": without(model, ids, [(0, a), (0, b)])
            for a, b in itertools.combinations(range(4), 2)
        },
    }


# --- the runs ------------------------------------------------------------------------------------


def test_songs(n: int = 512, data: Songs = songs) -> Tensor:
    return data(n, torch.Generator().manual_seed(1000))


def by_length(model: GPT) -> dict[str, dict[str, float]]:
    by_seed = {}
    for notes in (5, 6, 7):
        ids = test_songs(256, partial(of_six, notes=notes))
        best = max(max(block[1]) for block in scores(model, ids))
        by_seed[str(notes)] = {"loss": round(copy_loss(model, ids), 3), "score": best}
    return by_seed


def levels(x: Tensor) -> str:
    """Numbers from 0 to 1, a character each."""
    return "".join(LEVELS[round(35 * value)] for value in x.flatten().tolist())


def film(seed: int, steps: int, shown: Tensor) -> dict[str, Any]:
    """One run: at some steps the maps, and what is expected; at the end without any heads."""
    model, frames = new_model(seed), []
    ids = torch.cat([test_songs(), shown[None]])  # a mean over songs is needed with the shown one
    low = torch.ones(SHOWN - 1, SHOWN - 1).tril().bool()

    def expected() -> dict[str, Any]:
        with eval_mode(model):
            best = model(ids[:, :-1])[-1, : SHOWN - 1].argmax(dim=-1)
        loss = losses(model, ids)[:-1][heard(ids[:-1])].mean().item()
        return {"loss": round(loss, 2), "best": letters(best)}

    def seen() -> tuple[list[str], list[list[list[float]]]]:
        weights = maps_of(model, ids[:, :-1])  # (2, B, H, T, T)
        shown_maps = weights[:, -1, :, : SHOWN - 1, : SHOWN - 1].flatten(0, 1)  # (8, 19, 19)
        return [levels(weight[low]) for weight in shown_maps], scores(model, ids[:-1])

    def look(step: int) -> None:
        maps, ((before, _), (_, after)) = seen()
        frames.append({"step": step, **expected(), "before": before, "after": after, "maps": maps})

    look(0)
    trained(model, seed, lambda s: look(s.step) if s.step in FRAMES else None, steps)
    without, second = [], []
    for number in range(256):  # bit i: head i is silenced
        with silenced(model, [head for i, head in enumerate(HEADS) if number >> i & 1]):
            without.append(list(expected().values()))
            if number < 16:  # what block 2 attends to without heads of block 1
                maps, (_, (_, after)) = seen()
                second.append({"after": after, "maps": maps[4:]})
    song = letters(shown[:SHOWN])
    return {"seed": seed, "song": song, "frames": frames, "without": without, "second": second}


def letters(ids: Tensor) -> str:
    return "".join(LETTERS[i] for i in ids.tolist())


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All runs."""
    torch.set_num_threads(1)
    steps, long, seeds = (40, 40, range(1)) if options.quick else (STEPS, LONG, SEEDS)

    def end(seed: int, steps: int, data: Songs = songs, **start: Any) -> GPT:
        return trained(new_model(seed, **start), seed, lambda _: None, steps, data)

    def two_blocks(seed: int) -> dict[str, Any]:
        return taken_apart(end(seed, steps), test_songs())

    def six(seed: int) -> dict[str, Any]:
        return by_length(end(seed, steps, of_six, n_layers=1))

    def narrow(seed: int) -> dict[str, Any]:
        model, ids = end(seed, long, wide=False), test_songs()
        return {"last": round(copy_loss(model, ids), 3), "scores": scores(model, ids)}

    shown = songs(1, torch.Generator().manual_seed(28), 5, 6)[0]  # one jump in 20 notes
    return {
        "runs": {"two blocks": {str(k): two_blocks(k) for k in seeds}},
        "six": {"1": {str(k): six(k) for k in seeds}},
        "film": film(FILMED, steps, shown),
        "narrow": {str(k): narrow(k) for k in seeds},
    }


main = runs.script(__doc__, "induction", measure, SETTINGS)


if __name__ == "__main__":
    main()
