"""What a shipped model computes on the way from a prompt to the next character."""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from scratchformer.attention import recorded_attention
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer

MODEL, PROMPT = "tiny-shakespeare", "ROMEO: What l"
CELLS = 8  # numbers shown of each vector
Chance = tuple[str, float]  # a character as it is shown, and a number from 0 to 1


class Numbers(NamedTuple):
    """What the model computes for the prompt, T tokens of it, in its L blocks."""

    letters: list[str]  # T, as they are shown
    ids: list[int]  # T
    vectors: list[list[float]]  # T × CELLS, of what enters the first block
    heads: list[list[list[float]]]  # 2 × T × T: the head that reads one back, the widest
    lengths: list[list[float]]  # (L + 1) × T: of each vector, before the blocks and after each
    guesses: list[Chance]  # L: what is likeliest after each block, read from the last vector
    chances: list[Chance]  # the five likeliest next characters, the first one first
    which: list[list[int]]  # 2: the block and the number of each head, counted from 0


@cache
def measure() -> Numbers:
    """The numbers of the shipped model for the prompt."""
    model, tokenizer = GPT.pretrained(MODEL).eval(), CharTokenizer.pretrained(MODEL)
    ids = tokenizer.encode(PROMPT)
    stream: list[Tensor] = []  # T × C each: before the blocks, and after each
    hooks = [model.h[0].register_forward_pre_hook(lambda _, given: stream.append(given[0][0]))]
    hooks += [h.register_forward_hook(lambda *given: stream.append(given[2][0])) for h in model.h]
    with torch.no_grad(), recorded_attention(model) as weights:
        model(torch.tensor([ids]))
        read = [model.lm_head(model.ln_f(x[-1])).softmax(dim=-1) for x in stream[1:]]
    for hook in hooks:
        hook.remove()
    heads = {
        (i, h): head
        for i in range(len(model.h))
        for h, head in enumerate(weights[f"h.{i}.attn"][0])
    }
    pair = [
        max(heads, key=lambda at: measured_by(heads[at]))
        for measured_by in (on_the_one_before, entropy)
    ]

    def likeliest(p: Tensor, count: int) -> list[Chance]:
        values, best = p.topk(count)
        letters = [visible(tokenizer.decode([i])) for i in best.tolist()]
        return list(zip(letters, values.tolist(), strict=True))

    return Numbers(
        [visible(letter) for letter in PROMPT],
        ids,
        stream[0][:, :CELLS].tolist(),
        [heads[at].tolist() for at in pair],
        [x.norm(dim=-1).tolist() for x in stream],
        [likeliest(p, 1)[0] for p in read],
        likeliest(read[-1], 5),
        [list(at) for at in pair],
    )


def on_the_one_before(weights: Tensor) -> float:
    """How much a head's positions look at the position before them."""
    return weights.diagonal(offset=-1).mean().item()


def entropy(weights: Tensor) -> float:
    """How widely a head's positions look."""
    return -weights.clamp(min=1e-9).log().mul(weights).sum().item()


def visible(token: str) -> str:
    """A token with its spaces and line breaks as signs."""
    return token.replace(" ", "␣").replace("\n", "⏎")


@cache
def measure_end(count: int) -> Numbers:
    """The numbers of so many tokens at the end alone."""
    n, few = measure(), slice(-count, None)
    return n._replace(
        letters=n.letters[few],
        ids=n.ids[few],
        vectors=n.vectors[few],
        heads=[[row[few] for row in weights[few]] for weights in n.heads],
        lengths=[row[few] for row in n.lengths],
    )
