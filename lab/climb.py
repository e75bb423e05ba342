"""Chapter 10's rungs, trained as on the page, and what each writes -> climb.json.

Usage: python -m lab.climb [--quick | --write]

Each rung has STEPS at RATE; the development split says how it does at the other of RATES (seed 0).
After them stand the page's GPT, and the model that travels with the package. Each of them writes on
from PROMPT, with the same random numbers. Then come all combinations of the parts, for the page's
switches, and a single head with more steps. Losses are those of the whole validation split, of
three seeds for all that is trained here; the texts are those of the first. Some six minutes of a
core.
"""

import argparse
import itertools
from typing import Any

import torch
from torch import Tensor, nn

from lab import runs
from scratchformer.attention import MultiHeadAttention, causal_mask
from scratchformer.blocks import FeedForward
from scratchformer.models import GPT
from scratchformer.shipped import shipped_record
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import eval_mode, evaluate, train
from scratchformer_course.ch10_bigram_to_gpt.exercises import RightGPT, the_dukes

C, CONTEXT, SEEDS = 32, 8, (0, 1, 2)
STEPS, RATE, RATES = 300, 0.01, (0.003, 0.01)
SHORT: dict[str, Any] = {"batch_size": 32, "context_length": CONTEXT, "weight_decay": 0.0}
PROMPT, WRITTEN, TEMPERATURE, SEED = "\nROMEO:\n", 180, 0.8, 1
GPT_RUN: dict[str, Any] = {  # the page's
    "model": {"vocab_size": runs.CHARACTERS, "context_length": 64}
    | {"d_model": 128, "n_heads": 4, "n_layers": 2},
    "training": {"steps": 1000, "warmup": 100, "lr": 0.005, "weight_decay": 0.0}
    | {"batch_size": 8, "context_length": 64},
}
SETTINGS: dict[str, Any] = SHORT | {"prompt": PROMPT, "temperature": TEMPERATURE, "seed": SEED}
SETTINGS |= {"seeds": SEEDS, "steps": STEPS, "rate": RATE, "rates": RATES, "GPT": GPT_RUN}
SETTINGS |= {"vocab_size": runs.CHARACTERS, "d_model": C}
# a rung's name -> its parts beside wte and lm_head, and whether they add to the vector
RUNGS: dict[str, dict[str, Any]] = {
    "attention": {"n_heads": 1},
    "positions": {"n_heads": 1, "wpe": True},
    "four heads": {"n_heads": 4, "wpe": True},
    "feed-forward": {"n_heads": 4, "wpe": True, "mlp": True},
    "residuals": {"n_heads": 4, "wpe": True, "mlp": True, "adds": True},
}
COMBINATIONS = [  # heads, wpe, mlp, adds; with neither heads nor mlp there is nothing to add
    parts
    for parts in itertools.product((0, 1, 4), (False, True), (False, True), (False, True))
    if parts[0] or parts[2] or not parts[3]
]
LONGER = 5  # times STEPS


class Rung(nn.Module):
    """A class of the page's ladder; its parts are made in the page's order."""

    def __init__(self, vocab_size: int, n_heads=0, wpe=False, mlp=False, adds=False):
        super().__init__()
        self.adds = adds
        self.wte = nn.Embedding(vocab_size, C)
        self.wpe = nn.Embedding(CONTEXT, C) if wpe else None
        self.attn = MultiHeadAttention(C, n_heads) if n_heads else None
        self.mlp = FeedForward(C, 4 * C) if mlp else None
        self.lm_head = nn.Linear(C, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        x, T = self.wte(ids), ids.shape[1]
        x = x if self.wpe is None else x + self.wpe.weight[:T]
        if self.attn is not None:
            x = x * self.adds + self.attn(x, mask=causal_mask(T))
        if self.mlp is not None:
            x = x * self.adds + self.mlp(x)
        return self.lm_head(x)


def rung(parts: dict[str, Any], vocab_size: int, seed: int) -> Rung:
    """A rung with the random weights of `seed`, as on the page."""
    torch.manual_seed(seed)
    return Rung(vocab_size, **parts)


class Pairs(nn.Module):
    """Counted pairs, 1 added to each: the logits are the logarithms of the shares."""

    def __init__(self, ids: Tensor, vocab_size: int):
        super().__init__()
        pairs = torch.bincount(ids[:-1] * vocab_size + ids[1:], minlength=vocab_size**2)
        counts = pairs.view(vocab_size, vocab_size) + 1
        self.log_p = nn.Parameter((counts / counts.sum(dim=1, keepdim=True)).log())

    def forward(self, ids: Tensor) -> Tensor:
        return self.log_p[ids]


def written(model: nn.Module, tok: CharTokenizer, context_length: int) -> str:
    """What the model writes after PROMPT."""
    generator = torch.Generator().manual_seed(SEED)
    ids = tok.encode("".join(c for c in PROMPT if c in tok.ids)) or [0]  # of a stand-in
    begun = len(ids)
    with eval_mode(model):
        for _ in range(WRITTEN):
            logits = model(torch.tensor([ids[-context_length:]]))[0, -1]
            p = (logits / TEMPERATURE).softmax(dim=0)
            ids.append(int(torch.multinomial(p, 1, generator=generator)))
    return tok.decode(ids[begun:])


def trained(parts: dict, seed: int, V: int, split: tuple, steps: int, lr: float):
    """A rung after `steps`, and its loss on the text that `split` holds back."""
    model = rung(parts, V, seed)
    history = train(model, *split, steps=steps, lr=lr, seed=seed, **SHORT)
    return model, round(history.val_loss[-1], 4)


def climb(name: str, tok: CharTokenizer, splits: dict, steps: int) -> dict:
    """One rung: both rates on the development split, then three seeds."""
    parts, V = RUNGS[name], tok.vocab_size
    development = {lr: trained(parts, 0, V, splits["development"], steps, lr)[1] for lr in RATES}
    runs_of = [trained(parts, seed, V, splits["validation"], steps, RATE) for seed in SEEDS]
    text = written(runs_of[0][0], tok, CONTEXT)
    losses = [loss for _, loss in runs_of]
    return {"name": name, "development": development, "losses": losses, "text": text}


def combination(parts: tuple, V: int, split: tuple, steps: int) -> dict:
    """The losses of three seeds for one setting of the switches."""
    named = dict(zip(("n_heads", "wpe", "mlp", "adds"), parts, strict=True))
    return named | {"losses": [trained(named, s, V, split, steps, RATE)[1] for s in SEEDS]}


@torch.no_grad()
def expected(model: nn.Module, tok: CharTokenizer) -> list[dict]:
    """What follows the page's two scenes, Vincentio's and York's: the likeliest, V and O."""
    answers = []
    for text in the_dukes(0):
        ids = torch.tensor([[tok.ids.get(c, 0) for c in text]])  # 0 in a stand-in
        p = model(ids)[0, -1].softmax(dim=0)  # (V,)
        chances = {letter: round(p[tok.ids.get(letter, 0)].item(), 4) for letter in "VO"}
        answers.append({"likeliest": tok.decode([int(p.argmax())])} | chances)
    return answers


def page_gpt(tok: CharTokenizer, splits: dict, quick: bool) -> dict:
    """The GPT of the page, with three seeds, and what each of them expects of the two dukes."""
    sizes, training = GPT_RUN["model"], GPT_RUN["training"]
    training = training | ({"steps": 2, "warmup": 1} if quick else {})
    losses, dukes, text = [], [], ""
    for seed in SEEDS:
        torch.manual_seed(seed)
        model = RightGPT(**sizes | {"vocab_size": tok.vocab_size})
        history = train(model, *splits["validation"], **training | {"seed": seed})
        losses.append(round(history.val_loss[-1], 4))
        dukes.append(expected(model, tok))
        text = text or written(model, tok, sizes["context_length"])
    return {"name": "your GPT", "losses": losses, "dukes": dukes, "text": text}


def measure(options: argparse.Namespace) -> dict:
    """The table of pairs, the rungs, the GPT, the shipped model, and the combinations of parts."""
    torch.set_num_threads(1)
    splits, V = runs.load_splits(write=options.write)
    tok = CharTokenizer.train(runs.load_text())
    ids, val_ids = splits["validation"]
    pairs, shipped = Pairs(ids, V), GPT.pretrained("tiny-shakespeare")
    counted = [round(evaluate(pairs, val_ids, CONTEXT), 4)]
    text = written(pairs, tok, CONTEXT)
    rungs = [{"name": "table of pairs", "losses": counted, "text": text}]
    steps = 2 if options.quick else STEPS
    rungs += [climb(name, tok, splits, steps) for name in RUNGS]
    rungs.append(page_gpt(tok, splits, options.quick))
    losses = [shipped_record("tiny-shakespeare")["losses"]["validation"]]
    tok_of_shipped = CharTokenizer.pretrained("tiny-shakespeare")
    text = written(shipped, tok_of_shipped, shipped.context_length)
    rungs.append({"name": "trained for longer", "losses": losses, "text": text})
    switched = [combination(parts, V, splits["validation"], steps) for parts in COMBINATIONS]
    longer = combination((1, False, False, False), V, splits["validation"], LONGER * steps)
    return {"rungs": rungs, "combinations": switched, "one head, longer": longer["losses"]}


main = runs.script(__doc__, "climb", measure, SETTINGS)


if __name__ == "__main__":
    main()
