"""Chapter 10: the rungs from its ladder to its GPT, and what longer training does -> to_gpt.json.

Usage: python -m lab.to_gpt [--quick | --write] [--only PART]

"rungs" go on where `lab.climb` has its residuals: a second block, then as many characters to learn
from as the page's GPT has, its width, its view, and norms. Each keeps what the rungs before it
have, and writes on from the same prompt. The page's GPT differs from the last of them in its one
matrix for both ends, and in its start. "half" has the two that are wide and not normed, at half the
rate.

"dukes": the page's GPT with five times the steps. What it expects after four scenes, Vincentio's
and York's, stands beside what the larger model expects that travels with the package.

Three seeds each; losses are those of the whole validation split. Some quarter of an hour.
"""

import argparse
from typing import Any

import torch
from torch import Tensor, nn

from lab import runs
from lab.climb import GPT_RUN, RATE, SEEDS, SHORT, STEPS, written
from scratchformer.attention import MultiHeadAttention, causal_mask
from scratchformer.blocks import FeedForward
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import train
from scratchformer_course.ch10_bigram_to_gpt.exercises import RightGPT

READ = GPT_RUN["training"]  # as many characters as the page's GPT reads
EIGHTS = READ | {"batch_size": 64, "context_length": 8}
RUNGS: dict[str, dict[str, dict[str, Any]]] = {
    "two blocks": {"model": {}, "training": SHORT | {"steps": STEPS, "lr": RATE}},
    "longer training": {"model": {}, "training": EIGHTS | {"lr": RATE}},
    "128 numbers": {"model": {"d_model": 128}, "training": EIGHTS},
    "64 in view": {"model": {"d_model": 128, "context_length": 64}, "training": READ},
    "norms": {"model": {"d_model": 128, "context_length": 64, "norms": True}, "training": READ},
}
LAST = ("128 numbers", "64 in view")
NAMED = ("VINCENTIO", "OF YORK")
SCENES = (  # the first is the page's
    ":\nWhat, is he gone?\n\nISABELLA:\nYes.\n\n",
    ":\nWhere is my lord?\n\nROMEO:\nHere, sir.\n\n",
    ":\nHow now, what news?\n\nMessenger:\nNone, my lord.\n\n",
    ":\nWho goes there?\n\nSOLDIER:\nA friend.\n\n",
)
LONGER = GPT_RUN | {"training": GPT_RUN["training"] | {"steps": 5000}}
SETTINGS: dict[str, Any] = {
    "rungs": {"rungs": RUNGS, "seeds": SEEDS},
    "half": {"rungs": LAST, "seeds": SEEDS},
    "dukes": {"longer": LONGER, "seeds": SEEDS, "scenes": SCENES},
}


class Blocks(nn.Module):
    """The page's model of several blocks, in which heads and network add; with norms or without."""

    def __init__(self, vocab_size, d_model=32, context_length=8, n_layers=2, norms=False):
        super().__init__()
        C, several = d_model, range(n_layers)
        self.wte = nn.Embedding(vocab_size, C)
        self.wpe = nn.Embedding(context_length, C)
        self.attn = nn.ModuleList(MultiHeadAttention(C, n_heads=4) for _ in several)
        self.mlp = nn.ModuleList(FeedForward(C, 4 * C) for _ in several)
        self.lm_head = nn.Linear(C, vocab_size)
        norm = nn.LayerNorm if norms else nn.Identity  # two a block, and a last one
        self.ln = nn.ModuleList(norm(C) for _ in range(2 * n_layers + 1))

    def forward(self, ids: Tensor) -> Tensor:
        T = ids.shape[1]
        x = self.wte(ids) + self.wpe.weight[:T]
        for i, (attn, mlp) in enumerate(zip(self.attn, self.mlp, strict=True)):
            x = x + attn(self.ln[2 * i](x), mask=causal_mask(T))
            x = x + mlp(self.ln[2 * i + 1](x))
        return self.lm_head(self.ln[-1](x))


def trained(kind: type, settings: dict, seed: int, split: tuple, quick: bool) -> tuple:
    """A model with the random weights of `seed`, trained, and its loss on what is held back."""
    training = settings["training"] | {"seed": seed}
    training |= {"steps": 2, "warmup": 1} if quick else {}
    torch.manual_seed(seed)
    model = kind(**settings["model"])
    loss = train(model, *split, **training).val_loss[-1]
    print(kind.__name__, settings, seed, round(loss, 4), flush=True)
    return model.eval(), round(loss, 4)


def rungs(options: argparse.Namespace) -> dict:
    """Three losses of each rung, and what the first of its models writes."""
    torch.set_num_threads(1)
    splits, V = runs.load_splits(write=options.write)
    tok, found = CharTokenizer.train(runs.load_text()), []
    for name, settings in RUNGS.items():
        sized = settings | {"model": settings["model"] | {"vocab_size": V}}
        tried = [trained(Blocks, sized, s, splits["validation"], options.quick) for s in SEEDS]
        text = written(tried[0][0], tok, sized["training"]["context_length"])
        found.append({"name": name, "losses": [loss for _, loss in tried], "text": text})
    return {"rungs": found}


def half(options: argparse.Namespace) -> dict:
    """Three losses of each of LAST, at half the rate."""
    torch.set_num_threads(1)
    splits, V = runs.load_splits(write=options.write)
    found = {}
    for name in LAST:
        slower = {"lr": RUNGS[name]["training"]["lr"] / 2}
        sized = {"model": RUNGS[name]["model"] | {"vocab_size": V}}
        sized |= {"training": RUNGS[name]["training"] | slower}
        tried = [trained(Blocks, sized, s, splits["validation"], options.quick) for s in SEEDS]
        found[name] = [loss for _, loss in tried]
    return {"losses": found}


@torch.no_grad()
def answers(model: nn.Module, tok: CharTokenizer) -> list[dict]:
    """For each scene: the probabilities of V and of O, after Vincentio and after York."""
    found = []
    for scene in SCENES:
        ids = [[tok.ids.get(c, 0) for c in f"DUKE {name}{scene}DUKE "] for name in NAMED]
        p = [model(torch.tensor([each[-64:]]))[0, -1].softmax(dim=0) for each in ids]
        told = {f: [round(q[tok.ids.get(f, 0)].item(), 4) for q in p] for f in "VO"}
        found.append(told | {"likeliest": [tok.decode([int(q.argmax())]) for q in p]})
    return found


def dukes(options: argparse.Namespace) -> dict:
    """What LONGER expects, seed by seed, and the model of the package."""
    torch.set_num_threads(1)
    splits, V = runs.load_splits(write=options.write)
    tok, longer = CharTokenizer.train(runs.load_text()), []
    sized = LONGER | {"model": LONGER["model"] | {"vocab_size": V}}
    for seed in SEEDS:
        model, loss = trained(RightGPT, sized, seed, splits["validation"], options.quick)
        longer.append({"loss": loss, "scenes": answers(model, tok)})
        print(longer[-1], flush=True)
    name = "tiny-shakespeare"
    said = answers(GPT.pretrained(name).eval(), CharTokenizer.pretrained(name))
    return {"longer": longer, "shipped": said}


main = runs.script(__doc__, "to_gpt", {"rungs": rungs, "half": half, "dukes": dukes}, SETTINGS)


if __name__ == "__main__":
    main()
