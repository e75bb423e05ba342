"""What the figures of SmolLM2 show before a reader loads it -> measurements/real_endings.json.

Usage: python -m lab.real_endings [--quick | --write]

Computed by Python's class; in a page the model of `real_model/` computes the same. `head` is of
chapter 06, `asked` and `alone` too: what a head gives the country, and what each is worth in
`ALONE`. `heads` is of 07, `rules` and `circled` of 12, `weight` of 20, `patch` of 22.
"""

import argparse
import itertools
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from typing import Any

import torch
from torch import Tensor

from lab import runs
from lab.real_capitals import FRAMES, Capitals
from scratchformer.attention import recorded_attention
from scratchformer.generation import chat, generate
from scratchformer.models import Llama
from scratchformer.models.heads import silenced
from scratchformer_course.page_model.fewer_bits import round_model

MODEL = "smollm2-135m-instruct"
BLOCK, HEAD, HEADS = 24, 5, (4, 5, 6)
JOURNEY = (
    "We flew to France, whose capital is Paris, and then to Italy, whose capital is Rome, and then "
    "to Japan, whose "
)
ENDS = ("capital is", "flag is", "people are", "climate is")
ALONE = "The capital of Japan is"
LINE = "Ask Zorblat and Quimsy. Zorblat is tall, and Quimsy is small. Where is Zor"
KINDS = ("the token before", "itself", "what came next last time", "the same token earlier",
         "the first token")  # fmt: skip
BAR = 0.4
NIGHT, WRITTEN = "It was a dark and stormy night.", 48
CIRCLE = NIGHT + 3 * " I was a ghost of the past."
RULES: dict[str, dict[str, float]] = {
    "greedy": {"temperature": 0},
    "plain draw": {},
    "p = 0.9": {"top_p": 0.9},
    "m = 0.1": {"min_p": 0.1},
    "penalty": {"temperature": 0, "repetition_penalty": 1.2},
}
QUESTION, ANSWER, BITS = "What is the capital of France?", 24, (4, 3, 2)
WEIGHT = (11, 507, 1229)  # block, from 0, and row and column of its down_proj
FRAME, COUNTRIES = FRAMES[0], {"France": "Paris", "Italy": "Rome"}
SETTINGS = {"model": MODEL, "block": BLOCK, "heads": HEADS, "journey": JOURNEY, "ends": ENDS,
            "alone": ALONE, "line": LINE, "kinds": KINDS, "bar": BAR, "night": NIGHT,
            "circle": CIRCLE, "written": WRITTEN, "rules": RULES, "question": QUESTION,
            "answer": ANSWER, "bits": BITS, "weight": WEIGHT, "frame": FRAME,
            "countries": COUNTRIES}  # fmt: skip


class Reader(Capitals):
    """The model and its tokenizer, asked for what the figures show."""

    def pieces(self, text: str) -> list[str]:
        return [self.tok.decode([i]) for i in self.tok.encode(text)]

    def maps(self, text: str) -> Tensor:
        """The maps of all heads, (L, H, T, T)."""
        with recorded_attention(self.model) as maps:
            self.model(self.ids(text))
        return torch.stack(list(maps.values()))[:, 0]

    def chances(self, text: str) -> Tensor:
        """Of the next token, (V)."""
        return self.model(self.ids(text))[0, -1].softmax(dim=-1)

    def next(self, text: str, off: Sequence[tuple[int, int]], n: int = 3) -> list[list]:
        """The likeliest next tokens, their probabilities, and those without some heads."""
        p = self.chances(text)
        with silenced(self.model, off):
            without = self.chances(text)
        best = p.topk(n).indices.tolist()
        return [[self.tok.decode([i]), _round(p[i]), _round(without[i])] for i in best]


def _round(x: Tensor, digits: int = 4) -> Any:
    return x.double().round(decimals=digits).tolist()


def head(reader: Reader) -> dict[str, Any]:
    """Chapter 06."""
    text = JOURNEY + ENDS[0]
    maps = reader.maps(text)[BLOCK - 1]
    asked = {}
    for end in ENDS:
        row = reader.maps(JOURNEY + end)[BLOCK - 1, HEAD - 1, -1]
        asked[end] = round(row[reader.pieces(text).index(" Japan")].item(), 2)
    return {
        "text": text,
        "pieces": reader.pieces(text),
        "maps": [_round(maps[h - 1].flatten(), 3) for h in HEADS],
        "next": [reader.next(text, [(BLOCK, h)]) for h in HEADS],
        "asked": asked,
        "alone": [reader.next(ALONE, [(BLOCK, h)], 1)[0] for h in HEADS],
    }


def heads(reader: Reader) -> dict[str, Any]:
    """Chapter 07: what each of 270 heads looks at on a line, and what the line's end is without it.

    A head is of the first of `KINDS` to which it gives more than BAR on average, from the third
    token on, or of none. `alone` has the probability of the next token without each head, and
    `bare` that after the last sentence alone.
    """
    maps, ids = reader.maps(LINE), reader.tok.encode(LINE)
    kinds = torch.full(maps.shape[:2], len(KINDS))
    for n, places in [*enumerate(kinds_of_places(ids))][::-1]:
        rows, columns = zip(*places, strict=True)
        kinds[maps[:, :, rows, columns].mean(dim=-1) > BAR] = n
    best = int(reader.chances(LINE).argmax())
    alone = []
    for block, head in itertools.product(*(range(1, n + 1) for n in kinds.shape)):
        with silenced(reader.model, [(block, head)]):
            alone.append(reader.chances(LINE)[best])
    chosen = divmod(int(torch.stack(alone).argmin()), kinds.shape[1])
    return {
        "text": LINE,
        "pieces": reader.pieces(LINE),
        "kinds": kinds.flatten().tolist(),
        "chosen": [i + 1 for i in chosen],
        "map": _round(maps[chosen].flatten(), 3),
        "next": reader.next(LINE, [(chosen[0] + 1, chosen[1] + 1)]),
        "alone": _round(torch.stack(alone)),
        "bare": _round(reader.chances(LINE.rpartition(". ")[2])[best]),
    }


def kinds_of_places(ids: Sequence[int]) -> list[list[tuple[int, int]]]:
    """For each of KINDS the cells of a map, (row, column), on which such a head has its weight."""
    cells: list[list[tuple[int, int]]] = [[] for _ in KINDS]
    last: dict[int, int] = {}
    for t, i in enumerate(ids):
        earlier = last.get(i, t)
        columns = [t - 1, t, earlier + 1, earlier, 0]
        for n, column in enumerate(columns):
            if t > 1 and (earlier < t or n not in (2, 3)):
                cells[n].append((t, column))
        last[i] = t
    return cells


def circled(reader: Reader) -> dict[str, list[str]]:
    """Chapter 12: what is written by each rule from within a circle."""
    return rules(reader, CIRCLE)


def rules(reader: Reader, text: str = NIGHT) -> dict[str, list[str]]:
    """Chapter 12: what is written by each rule."""
    found = {}
    for name, given in RULES.items():
        settings: dict[str, Any] = dict(given)
        least = settings.pop("min_p", 0.0)
        with _only_likely(reader.model, least) if least else nullcontext():
            ids = generate(reader.model, reader.ids(text), WRITTEN, seed=0, **settings)
        new = ids[0, reader.ids(text).shape[1] :].tolist()
        found[name] = [reader.tok.decode([i]) for i in new]
    return found


def _only_likely(model: Llama, share: float) -> ExitStack:
    """Logits of tokens below this share of the largest probability are -∞."""

    def cut(_: Any, __: Any, logits: Tensor) -> Tensor:
        p = logits.softmax(dim=-1)
        return logits.masked_fill(p < share * p.amax(dim=-1, keepdim=True), -torch.inf)

    stack = ExitStack()
    stack.callback(model.register_forward_hook(cut).remove)
    return stack


def weight(reader: Reader) -> dict[str, Any]:
    """Chapter 20: answers with each number of bits: all weights, one set to 0, its neighbour."""
    block, row, column = WEIGHT
    file = {name: t.clone() for name, t in reader.model.state_dict().items()}
    weights: list[float] = []
    answers = []
    for bits in BITS:
        reader.model.load_state_dict(file)
        model = reader.model if bits == BITS[0] else round_model(reader.model, bits, "group")
        matrix = model.get_parameter(f"layers.{block}.mlp.down_proj.weight").data
        said = [chat(model, reader.tok, QUESTION, max_new_tokens=ANSWER)]
        for place in (column, column + 1):
            kept = matrix[row, place].item()
            weights += [round(kept, 3)] if bits == BITS[0] else []
            matrix[row, place] = 0
            said.append(chat(model, reader.tok, QUESTION, max_new_tokens=ANSWER))
            matrix[row, place] = kept
        answers.append(said)
    reader.model.load_state_dict(file)
    return {"weights": weights, "answers": answers}


def patch(reader: Reader) -> dict[str, Any]:
    """Chapter 24: for each head, the chances of both capitals before and after."""
    own, other = (reader.ids(FRAME.format(country)) for country in COUNTRIES)
    capitals = [reader.first(capital) for capital in COUNTRIES.values()]
    theirs = reader.vectors(other, BLOCK, of_heads=True)
    found = []
    for h in HEADS:
        shown = []
        for logits in (reader.model(own)[0, -1], reader.with_head(own, BLOCK, h, theirs)):
            p = logits.softmax(dim=-1)
            says = reader.tok.decode([int(p.argmax())])
            shown.append({"p": _round(p[capitals]), "says": says})
        found.append(shown)
    return {"countries": [*COUNTRIES], "next": found}


@torch.no_grad()
def measure(options: argparse.Namespace) -> dict:
    reader = Reader()
    parts = [head] if options.quick else [head, heads, rules, circled, weight, patch]
    return {part.__name__: part(reader) for part in parts}


main = runs.script(__doc__, "real_endings", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
