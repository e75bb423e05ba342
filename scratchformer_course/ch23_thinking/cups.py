"""Five cups, a ball under one of them, and swaps: games, how models write them, and who is right.

A game is the cup of the ball, eight swaps and a question mark. What follows has one of two forms:
an answer at once (`=`, a cup, a full stop), or first the ball's cup after each swap. Five cups and
not four: their swaps generate the group S5, whose word problem has no known circuit of fixed depth.
"""

from itertools import combinations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from scratchformer.models import GPT, GPTConfig
from scratchformer.training import IGNORED, TrainingConfig, fit, token_loss

CUPS, SWAPS = 5, 8
PAIRS = list(combinations(range(CUPS), 2))  # the ten swaps, ids 0 to 9
CUP = len(PAIRS)  # the id of the first cup
ASK, EQUALS, END, DOT = range(CUP + CUPS, CUP + CUPS + 4)
NAMES = [f"{a + 1}-{b + 1}" for a, b in PAIRS] + list("12345?=.") + ["·"]
PROMPT, LONGEST = SWAPS + 2, SWAPS + 3  # tokens of a game, and of the longest answer

GOES = torch.arange(CUPS).repeat(len(PAIRS), 1)  # GOES[swap, cup]: where the ball goes
for swap, (a, b) in enumerate(PAIRS):
    GOES[swap, a], GOES[swap, b] = b, a


def games(size: int, generator: torch.Generator) -> tuple[Int[Tensor, "B P"], Int[Tensor, "B N"]]:
    """Prompts, and the ball's cup after each swap, all as ids."""
    swaps = torch.randint(len(PAIRS), (size, SWAPS), generator=generator)
    places = [torch.randint(CUPS, (size,), generator=generator)]
    for t in range(SWAPS):
        places.append(GOES[swaps[:, t], places[-1]])
    cups = torch.stack(places, dim=1) + CUP  # (B, 1 + N)
    return torch.cat([cups[:, :1], swaps, same(ASK, size)], dim=1), cups[:, 1:]


def same(token: int, rows: int, columns: int = 1) -> Int[Tensor, "B n"]:
    """A table of one token."""
    return torch.full((rows, columns), token)


def at_once(cups: Int[Tensor, "B N"]) -> Int[Tensor, "B 3"]:
    """The short answer: `= 4 .`"""
    return torch.cat([same(EQUALS, len(cups)), cups[:, -1:], same(END, len(cups))], dim=1)


def written(cups: Int[Tensor, "B N"]) -> Int[Tensor, "B L"]:
    """The long answer: the cup after each swap, then the short one."""
    return torch.cat([cups, at_once(cups)], dim=1)


def asked_at_each_swap(size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Inputs and targets (B, 1 + N): at each swap, the cup where the ball is now."""
    x, cups = games(size, generator)
    return x[:, :-1], torch.cat([same(IGNORED, size), cups], dim=1)


def read_again(what: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Long answers: what to write is always the same, and `what` says which tokens are read then.

    "cups": what was written; "dots": as many dots; "another game": cups of another game.
    """
    x, cups = games(size, generator)
    answers = written(cups)
    reads = answers.clone()
    if what == "dots":
        reads[:, :SWAPS] = DOT
    elif what == "another game":
        reads[:, :SWAPS] = games(size, generator)[1]
    targets = torch.cat([same(IGNORED, size, PROMPT - 1), answers], dim=1)
    return torch.cat([x, reads[:, :-1]], dim=1), targets


def both_kinds(share: float, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """A `share` of the answers is long, the others are short."""
    x, cups = games(size, generator)
    short = torch.cat([at_once(cups), same(IGNORED, size, SWAPS)], dim=1)
    long = torch.rand(size, 1, generator=generator) < share
    answers = torch.where(long, written(cups), short)
    targets = torch.cat([same(IGNORED, size, PROMPT - 1), answers], dim=1)
    return torch.cat([x, answers[:, :-1].clamp(min=0)], dim=1), targets


def new_model(seed: int, blocks: int = 2) -> GPT:
    """A GPT of width 64, untrained."""
    torch.manual_seed(seed)
    return GPT(GPTConfig(len(NAMES), PROMPT + LONGEST, 64, n_heads=4, n_layers=blocks, bias=False))


def fitted(model: GPT, batches, steps: int, muon_lr: float = 0.05, seed: int = 0) -> GPT:
    """The training of chapter 11 on `batches(size, generator)`, 64 games a step."""
    config = TrainingConfig(
        steps, lr=muon_lr / 5, muon_lr=muon_lr, seed=seed, warmup=steps // 10 + 1
    )
    fit(model, lambda g: batches(64, g), lambda m, x, y: token_loss(m(x), y), config)
    return model.eval()


@torch.no_grad()
def play(
    model: GPT, x: Int[Tensor, "B P"], generator: torch.Generator | None = None
) -> Int[Tensor, "B L"]:
    """Answers, sampled, or without a generator the likeliest tokens; after its end, only ends."""
    cache = model.new_cache()
    out: list[Tensor] = []
    for _ in range(LONGEST):
        p = model(x, cache)[:, -1].softmax(dim=-1)  # (B, V)
        x = p.argmax(1, keepdim=True)
        if generator is not None:
            x = torch.multinomial(p, 1, generator=generator)
        if out:
            x = torch.where(out[-1] == END, END, x)
        out.append(x)  # (B, 1)
    return torch.cat(out, dim=1)


def length(answers: Int[Tensor, "B L"]) -> Float[Tensor, " B"]:
    """How many tokens were written, the first end included."""
    return (answers != END).sum(dim=1).clamp(max=LONGEST - 1).float() + 1


def said(answers: Int[Tensor, "B L"]) -> Int[Tensor, " B"]:
    """The cup in front of the end, if a `=` is in front of it; else 0, which is no cup."""
    ends = length(answers).long()[:, None] - 1
    rows = torch.cat([same(0, len(answers), 2), answers], dim=1)  # now ends + 2 is the end
    equals, cup, end = (rows.gather(1, ends + i)[:, 0] for i in range(3))
    return torch.where((equals == EQUALS) & (end == END), cup, 0)


def right(answers: Int[Tensor, "B L"], cups: Int[Tensor, "B N"]) -> Float[Tensor, " B"]:
    """1 where the last cup is the ball's, however it was found."""
    return (said(answers) == cups[:, -1]).float()


def wrote(answers: Int[Tensor, "B L"]) -> Float[Tensor, " B"]:
    """1 where a cup comes before the `=`."""
    return (length(answers) > 3).float()


def decode(ids: Int[Tensor, " T"]) -> str:
    """`3 1-4 2-3 ?` for ids; nothing after an end."""
    names = [NAMES[i] for i in ids.tolist()]
    return " ".join(names[: names.index(".") + 1] if "." in names else names)
