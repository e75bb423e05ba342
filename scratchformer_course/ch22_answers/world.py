"""A world of sums: pages of questions, pages of worked sums, and pupils who forget to borrow.

A page has 18 characters. A sheet holds questions that nobody answers, "85?" and a line break, again
and again. A notebook holds two sums such as "85=47+38": a pupil splits a number into two. The
first part is any number up to it, and where the subtraction needs a borrow a forgetful pupil
forgets it in 60 % of the sums, and writes "85=47+48". A careful one never does. Numbers always
have two digits.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from scratchformer.models import GPT, GPTConfig

CHARACTERS = "0123456789+=?\n"
ID = {c: i for i, c in enumerate(CHARACTERS)}
NEWLINE, PLUS, EQUALS, ASK = (ID[c] for c in "\n+=?")
PAGE, PROMPT, ANSWER = 18, 3, 5  # characters: a page, "85?", "47+38"
FORGETS, CAREFUL = 0.6, 0.0  # how often a borrow is forgotten
NUMBERS = torch.arange(10, 100)


def encode(text: str) -> list[int]:
    """The ids of a text; KeyError for a character that the world does not have."""
    return [ID[c] for c in text]


def decode(ids: Int[Tensor, " T"]) -> str:
    """The text of some ids."""
    return "".join(CHARACTERS[i] for i in ids.tolist())


def digits(x: Int[Tensor, " N"]) -> Int[Tensor, "N 2"]:
    """Tens and units of numbers below 100, which are also their ids."""
    return torch.stack([x // 10, x % 10], dim=1)


def borrows(n: Int[Tensor, "..."], a: Int[Tensor, "..."]) -> Bool[Tensor, "..."]:
    """Whether n - a needs a borrow."""
    return n % 10 < a % 10


def any_numbers(size: int, generator: torch.Generator) -> Int[Tensor, " N"]:
    """Numbers from 10 to 99, each as likely."""
    return torch.randint(10, 100, (size,), generator=generator)


def ask(n: Int[Tensor, " N"], sign: int = ASK) -> Int[Tensor, "N 3"]:
    """Prompts: "85?", or "85=" with another sign."""
    return torch.cat([digits(n), torch.full((len(n), 1), sign)], dim=1)


def answer(a: Int[Tensor, " N"], b: Int[Tensor, " N"]) -> Int[Tensor, "N 6"]:
    """Answers: "47+38" and a line break."""
    plus, newline = (torch.full((len(a), 1), i) for i in (PLUS, NEWLINE))
    return torch.cat([digits(a), plus, digits(b), newline], dim=1)


def by_pupils(
    n: Int[Tensor, " N"], generator: torch.Generator, forgets: float = FORGETS
) -> Int[Tensor, "N 6"]:
    """What pupils write for each number, if they forget this share of the borrows."""
    a = (torch.rand(len(n), generator=generator) * (n + 1)).long()
    forgotten = borrows(n, a) & (torch.rand(len(n), generator=generator) < forgets)
    return answer(a, n - a + 10 * forgotten)


def pages(size: int, generator: torch.Generator, forgets: float = FORGETS) -> Int[Tensor, "B 18"]:
    """Pages to learn from: half of them sheets, half of them notebooks."""
    n = any_numbers(2 * size, generator)
    sums = torch.cat([ask(n, EQUALS), by_pupils(n, generator, forgets)], dim=1)
    notebooks = sums.view(size, PAGE)
    n = any_numbers(5 * size, generator)
    lines = torch.cat([ask(n), torch.full((len(n), 1), NEWLINE)], dim=1)
    sheets = lines.view(size, -1)[:, :PAGE]
    return torch.where(torch.rand(size, 1, generator=generator) < 0.5, sheets, notebooks)


def demonstrations(size: int, seed: int, forgets: float = FORGETS) -> Int[Tensor, "N 9"]:
    """Questions with pupils' answers: "85?47+38" and a line break."""
    generator = torch.Generator().manual_seed(1000 + seed)
    n = any_numbers(size, generator)
    return torch.cat([ask(n), by_pupils(n, generator, forgets)], dim=1)


def read(ids: Int[Tensor, "N T"]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """n, a, b, and whether the answer has the form of a sum (else a and b mean nothing)."""
    form = (ids[:, [3, 4, 6, 7]] < 10).all(dim=1) & (ids[:, 5] == PLUS)
    n, a, b = (10 * ids[:, i] + ids[:, i + 1] for i in (0, 3, 6))
    return n, a, b, form


def is_right(ids: Int[Tensor, "N T"]) -> Float[Tensor, " N"]:
    """1 for each answer that is a right sum, 0 for every other text."""
    n, a, b, form = read(ids)
    return (form & (a + b == n)).float()


def new_model(seed: int) -> GPT:
    """A GPT with two blocks, untrained."""
    torch.manual_seed(seed)
    return GPT(GPTConfig(len(CHARACTERS), PAGE, d_model=64, n_heads=4, n_layers=2, bias=False))
