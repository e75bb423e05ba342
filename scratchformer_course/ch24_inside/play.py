"""Playhouse as a model of words sees it, and its couplets: what rhyme is owed, and where.

A word, a sign or a line break is a token. A couplet's first line ends with one of 25 words in six
rhyme classes ("day" and "play" are one class), its second line with one of 27 other words, which
must be of the same class. From one to the other the play owes a rhyme, and no word between them
says which: they are drawn without looking at it.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from scratchformer.data.playhouse import RULES, Playhouse
from scratchformer.models import GPT, GPTConfig

CONTEXT = 64
CLASSES = ("AY", "ELL", "ATE", "OON", "ING", "OAR")
ARTICLES = ("the", "a", "this", "yonder", "that", "one")  # each class has its own
PLACES = ("rhyme word", "comma", "line break", "first word", "word before", "slot")
_WORD = re.compile(r"\n+|[,.;:?]|[^\s,.;:?]+")
_BREAKS = {"/": "\n", "//": "\n\n"}
VOCABULARY = sorted(
    {
        _BREAKS.get(word, word)
        for rule in RULES.values()
        for words in rule.alternatives
        for word in words
        if word not in RULES and word != "OTHER"
    }
)
_ID = {word: i for i, word in enumerate(VOCABULARY)}


def _alternatives(symbol: str) -> list[str]:
    return [words[0] for words in RULES[symbol].alternatives]


FIRST = [_alternatives(name) for name in CLASSES]  # the words that ask for a rhyme
ANSWERS = [_alternatives(name + "S") for name in CLASSES]  # the words that give it


def split(text: str) -> list[str]:
    """The words, signs and line breaks of a text."""
    return _WORD.findall(text)


def encode(text: str) -> Int[Tensor, " T"]:
    """The ids of a text; KeyError for a word that the play does not have."""
    return torch.tensor([_ID[word] for word in split(text)])


def tokens(seed: int, characters: int) -> Int[Tensor, " T"]:
    """About so many characters of a play, cut where a speech ends, as ids."""
    return encode(Playhouse(seed).text(characters).rpartition("\n\n")[0])


def class_of(words: Sequence[Sequence[str]]) -> Int[Tensor, " V"]:
    """For each id its class, or -1."""
    speaker_of = torch.full((len(VOCABULARY),), -1)
    for c, names in enumerate(words):
        speaker_of[[_ID[word] for word in names]] = c
    return speaker_of


OF_ANSWER = class_of(ANSWERS)


def new_model(seed: int) -> GPT:
    """The chapter's GPT, untrained: width 64, two blocks of four heads."""
    torch.manual_seed(seed)
    return GPT(GPTConfig(len(VOCABULARY), CONTEXT, d_model=64, n_heads=4, n_layers=2))


@dataclass(frozen=True)
class Couplets:
    """Rows that hold a couplet each: the text, the places of its parts, and the rhyme it owes."""

    ids: Int[Tensor, "N T"]
    at: dict[str, Int[Tensor, " N"]]  # PLACES -> where, in each row
    rhyme: Int[Tensor, " N"]

    def __len__(self) -> int:
        return len(self.ids)


def couplets(seed: int, scenes: int) -> Couplets:
    """The couplets in the first 64 words of some scenes; short scenes run into the next one."""
    rows, starts, source = [], [], Playhouse(seed).scenes()
    first, answer = class_of(FIRST).tolist(), OF_ANSWER.tolist()
    for _ in range(scenes):
        words = split(next(source))
        while len(words) < CONTEXT + 1:
            words += split(next(source))
        ids, start = [_ID[word] for word in words[: CONTEXT + 1]], None
        for i, token in enumerate(ids):
            if first[token] >= 0:
                start = i
            elif answer[token] >= 0 and start is not None:
                rows.append(ids[:CONTEXT])
                starts.append((start, i - 1, first[ids[start]]))
                start = None
    start, slot, rhyme = torch.tensor(starts).T
    places = (start, start + 1, start + 2, start + 3, slot - 1, slot)
    return Couplets(torch.tensor(rows), dict(zip(PLACES, places, strict=True)), rhyme)


@dataclass(frozen=True)
class Pairs:
    """Two texts that differ in the article and the rhyme word alone, and their classes.

    `start` is where the article stands: texts differ there and at the next place.
    """

    clean: Int[Tensor, "N T"]
    other: Int[Tensor, "N T"]
    rhyme: Int[Tensor, " N"]
    other_rhyme: Int[Tensor, " N"]
    start: int


HEAD = "Enter Barnaby and Odile.\n\nBarnaby:\nAlas,"
TAIL = ",\nstill love is but a"


def line(article: str, word: str) -> Int[Tensor, " T"]:
    """A couplet as far as its slot."""
    return encode(f"{HEAD} {article} {word}{TAIL}")


def pairs() -> Pairs:
    """120 pairs: each class with each other one, by the first four words of both."""
    chosen = [(a, b, i) for a in range(6) for b in range(6) if a != b for i in range(4)]
    clean = torch.stack([line(ARTICLES[a], FIRST[a][i]) for a, _, i in chosen])
    other = torch.stack([line(ARTICLES[b], FIRST[b][i]) for _, b, i in chosen])
    a, b, _ = torch.tensor(chosen).T
    return Pairs(clean, other, a, b, len(encode(HEAD)))


def shuffled_classes(seed: int) -> Int[Tensor, " V"]:
    """For each word that asks for a rhyme a class that is drawn by chance, others -1."""
    words = [word for group in FIRST for word in group]
    draws = random.Random(seed).sample([i % 6 for i in range(len(words))], len(words))
    return class_of([[w for w, c in zip(words, draws, strict=True) if c == k] for k in range(6)])
