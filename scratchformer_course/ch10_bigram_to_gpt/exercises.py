"""The exercises of chapter 10, from a bigram table to a GPT."""

import functools
from itertools import takewhile
from operator import eq

import torch
from torch import nn

from scratchformer.attention import causal_mask
from scratchformer.blocks import TransformerBlock
from scratchformer.models.gpt import GPT as PackageGPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.kit.checks import exercise, expect, number, refused, which
from scratchformer_course.kit.checks.cases import drawn, integers
from scratchformer_course.kit.checks.compare import same


def right_bigram_counts(ids, vocab_size):
    pairs = ids[:-1] * vocab_size + ids[1:]  # one number for each pair
    counts = torch.bincount(pairs, minlength=vocab_size**2).float()
    return counts.view(vocab_size, vocab_size)


def _ids_of_few(draw):
    V = draw.size(1, 7, 200)
    return integers(draw, V, draw.size(2, 60, 3000)), V + draw.randint(0, 2)


bigram_counts = exercise(
    "10.1",
    "bigram_counts(ids: (N,) int64, vocab_size) -> (V, V) counts, row = current, column = next",
    cases=(
        (torch.tensor([2, 2, 0, 1, 0, 1, 2]), 4),
        (torch.tensor([1, 0, *[1] * 33_000]), 2),  # more than 16 bits can count
    ),
    more=drawn(8, _ids_of_few),
    right=[right_bigram_counts],
    hints=[
        "How could one number stand for a pair, so that counting pairs is counting numbers?",
        "`ids[:-1] * vocab_size + ids[1:]` has a number for each pair. `torch.bincount` counts "
        "them, with `minlength=vocab_size**2`, and `view` makes the table.",
    ],
    question=number(
        "`ids` is [0, 0, 2, 0, 0, 2, 0, 2, 1], and the vocabulary has 3 tokens. What is in row "
        "0, column 2?",
        lambda f: f(torch.tensor([0, 0, 2, 0, 0, 2, 0, 2, 1]), 3)[0, 2],
        digits=1,
    ),
    mistakes={
        "ids[:-1] * vocab_size + ids[1:] -> ids[1:] * vocab_size + ids[:-1]": "The table is "
        "transposed: the row is the current token, the column the next",
        ".float() -> .float().clamp(max=1)": "A pair seen twice counts once. `counts[a, b] "
        "+= 1` with whole tensors writes each place once: use a loop, `bincount` or "
        "`index_put_(…, accumulate=True)`",
        "ids[:-1] * vocab_size + ids[1:] -> ids[:-2] * vocab_size + ids[1:-1]": "The last pair "
        "is missed: N tokens make N − 1 pairs",
        "return counts.view(vocab_size, vocab_size) -> counts = counts.view(vocab_size, -1); "
        "return counts / counts.sum(dim=1, keepdim=True)": "These are probabilities: return "
        "the counts themselves",
    },
)


class RightGPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe = nn.Embedding(context_length, d_model)
        blocks = [TransformerBlock(d_model, n_heads) for _ in range(n_layers)]
        self.h = nn.ModuleList(blocks)
        self.ln_f = nn.LayerNorm(d_model)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]  # (B, T, C)
        for block in self.h:
            x = block(x, causal_mask(ids.shape[1], ids.device))
        return self.lm_head(self.ln_f(x))  # (B, T, V)


SIZES = {"vocab_size": 11, "context_length": 8, "d_model": 12, "n_heads": 3, "n_layers": 2}
IDS = torch.tensor([[2, 6, 0, 5, 6, 6], [4, 1, 1, 0, 10, 3]])


def judge_gpt(call):
    GPT.compare(call)
    torch.manual_seed(0)
    sizes = SIZES | {"vocab_size": 40, "context_length": 40, "d_model": 48}
    model = call.given(**sizes).eval()
    tied = model.lm_head.weight is model.wte.weight
    expect(tied, "The outputs are right, but `lm_head` has a matrix of its own: tie it to `wte`.")
    for name, p in model.named_parameters():
        start = f"The outputs are right, but `{name}`"
        if p.dim() == 2:
            std = float(p.detach().std())
            asked = f"{start} starts with a standard deviation of {std:.2g}: 0.02 is asked for."
            expect(0.016 < std < 0.025, asked)
        elif "ln_" in name:
            usual = float(name.endswith("weight"))
            norm = f"{start} does not start at {usual:g}, as a norm's does: only matrices get a "
            expect(bool((p == usual).all()), f"{norm}small start, `p.dim() == 2`.")
    lively = RightGPT(**sizes)  # with small weights few faults show
    for p in lively.parameters():
        nn.init.normal_(p, std=0.5)
    model.load_state_dict(lively.state_dict(), strict=False)
    large = "The outputs are right at the small start, but not with large weights: look at"
    ids = torch.arange(20).unsqueeze(0)
    expect(same(model(ids), lively(ids)), f"{large} the number of heads and at the mask.")
    return GPT.praise


GPT = exercise(
    "10.2",
    "GPT(vocab_size, context_length, d_model, n_heads, n_layers): ids (B, T) -> logits (B, T, V). "
    "Its parts are called `wte`, `wpe`, `h`, `ln_f` and `lm_head`.",
    cases=((SIZES, IDS), (SIZES | {"d_model": 4, "n_heads": 1}, IDS[:1, :2])),
    praise="`GPT` is right: a whole language model, tied and started small.",
    judge=judge_gpt,
    right=[RightGPT],
    hints=[
        "Through which parts do the ids go in turn, and where does their number T matter?",
        "`x = self.wte(ids) + self.wpe.weight[:T]`. Each block of `self.h` gets `x` and "
        "`causal_mask(T)`, and `ln_f` and `lm_head` come last. Tie the weights, then fill them.",
    ],
    question=number(
        "GPT(vocab_size=5, context_length=3, d_model=2, n_heads=1, n_layers=2): one of its blocks "
        "has 74 parameters. How many has the whole model?",
        lambda f: sum(p.numel() for p in f(5, 3, 2, 1, 2).parameters()),
        digits=0,
    ),
    mistakes={
        ", causal_mask(ids.shape[1], ids.device)) -> )": "No block gets a mask: each place "
        "sees its future",
        " + self.wpe.weight[: ids.shape[1]] -> ": "`wpe` is not used: add the vector of the "
        "place to that of the token",
        "self.ln_f(x) -> x": "`ln_f` is not used: it comes before `lm_head`",
        "nn.ModuleList(blocks) -> blocks": "the parameter `h.0.attn.c_attn.bias` is missing",
        ", bias=False -> ": "the parameter `lm_head.bias` is not among those that are asked for",
        "self.lm_head.weight = self.wte.weight -> ": "The outputs are right, but `lm_head` has "
        "a matrix of its own: tie it to `wte`",
    },
)


LONGEST, SAME, APART = 64, 12, 0.4  # of a far pair: characters, the same ending, the distance


@functools.cache
def _shipped():
    name = "tiny-shakespeare"
    return PackageGPT.pretrained(name).eval(), CharTokenizer.pretrained(name)


@torch.no_grad()
def judge_far_pair(call):
    call(SAME)
    call.value = tuple(call.value) if isinstance(call.value, list) else call.value
    pair = call.like(("ab", "cb"), "Return two texts: `return one, other`.")
    model, tok = _shipped()
    for text in pair:
        unknown = sorted({c for c in text if c not in tok.ids})
        expect(not unknown, f"The model has never met {unknown}: it knows the plays' characters.")
        expect(len(text) <= LONGEST, f"{len(text)} characters: {LONGEST} are allowed.")
    n = len(list(takewhile(bool, map(eq, *(text[::-1] for text in pair)))))
    expect(pair[0] != pair[1], "The two texts are the same.")
    duke = any("duke" in text.lower() for text in pair)
    expect(not duke, "These are dukes, whom the page tells apart: find a pair without them.")
    expect(n >= SAME, f"The last {n} characters are the same: the last {SAME} have to be.")
    p, q = (model(torch.tensor([tok.encode(text)]))[0, -1].softmax(dim=0) for text in pair)
    apart = float((p - q).abs().sum()) / 2
    likeliest = " and ".join(f"{tok.decode([int(r.argmax())])!r} {r.max():.2f}" for r in (p, q))
    measured = f"the two answers are {apart:.2f} apart ({likeliest})"
    expect(apart >= APART, f"The last {n} characters are the same, and {measured}: reach {APART}.")
    return f"The last {n} characters are the same, and {measured}."


def right_far_pair(n):
    # far back, "what" begins a question, and "thus" does not
    end = " may I call your name"
    return f"Whence are you, sir? what{end}", f"Whence are you, sir? thus{end}"


def the_dukes(n):
    scene = ":\nWhat, is he gone?\n\nISABELLA:\nYes.\n\nDUKE "
    return "DUKE VINCENTIO" + scene, "DUKE OF YORK" + scene


def differs_too_near(n):
    return "and what thou offer's", "and what he offer's"


far_pair = exercise(
    "10.3",
    "far_pair(n) -> two texts of at most 64 characters with the same last n, n = 12, and without a "
    "duke. The check asks the model that ships with the course what comes next, and adds up the "
    "differences of the 65 probabilities. Half the sum is 0 for equal answers, and 1 for answers "
    "that share nothing.",
    judge=judge_far_pair,
    right=[right_far_pair],
    hints=[
        "Which word at the beginning of a sentence is answered only at its end, by a letter or by "
        "a mark?",
        "Some sentences end in a question mark. Which word, far from the end, makes them do so, "
        "and which other word could be in its place?",
    ],
    question=which(
        "differs too near the end",
        others=["returns the same text twice", "differs far back, where nothing depends on it"],
    ),
    mistakes=[
        refused("differs too near the end", "The last 8 characters are the same", differs_too_near),
        refused("returns the two dukes of the page", "without them", the_dukes),
        refused(
            "differs far back, where nothing depends on it",
            "reach 0.4",
            lambda n: ("Where is the noble lord of Norfolk", "Here is the noble lord of Norfolk"),
        ),
        refused(
            "returns the same text twice",
            "The two texts are the same",
            lambda n: ("What is your name", "What is your name"),
        ),
    ],
)
