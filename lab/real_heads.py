"""What one head of a real model looks at, in new texts -> measurements/real_heads.json.

Usage: python -m lab.real_heads [--quick | --write]

Head 24.5 of SmolLM2 was found with the countries of FOUND_WITH. Here *is*, the last token of each
of FRAMES, asks, for each of COUNTRIES. In two of the frames another country is named as well, and
in two the country is not the word before *is*. For each head of the block it is counted in how many
texts the largest of all weights lies on the text's own country. NO_PLACES are sentences of such
forms about something that is no place.
"""

import argparse

import torch

from lab import runs
from scratchformer.attention import causal_mask, scaled_dot_product_attention
from scratchformer.models import Llama
from scratchformer.models.heads import head_of
from scratchformer.tokenizers import ByteBPE

MODEL, BLOCK, HEAD = "smollm2-135m-instruct", 24, 5
FOUND_WITH = "France Germany Italy Spain Japan Canada Russia Greece".split()
COUNTRIES = (
    "Cuba Poland Austria Iraq Ireland Portugal China Peru Chile Sweden Finland Hungary Vietnam"
).split()
FRAMES = (
    "Everybody knows that the capital city of {own} is",
    "I have never been to {own}, but I know that its capital is",
    "In {other} they say that the capital of {own} is",
    "The capital of {own}, which lies far from {other}, is",
)
NO_PLACES = {
    "mouse": "The plural of mouse is",
    "grass": "The colour of grass is",
    "hot": "The opposite of hot is",
    "dog": "The name of the dog is",
    "bread": "The price of bread is",
    "lion": "The food of a lion is",
    "violin": "The sound of a violin is",
    "snow": "Everybody knows that the colour of snow is",
    "fish": "I have never eaten fish, but I know that its taste is",
    "spring": "The first day of spring is",
}
SETTINGS = {"model": MODEL, "head": [BLOCK, HEAD], "found_with": FOUND_WITH,
            "countries": COUNTRIES, "frames": FRAMES, "no_places": NO_PLACES}  # fmt: skip


def looks_at(model: Llama, tok: ByteBPE, text: str, word: str, head: int) -> bool:
    """Whether the last token's largest weight lies on `word`, which the text has once."""
    ids = tok.encode(text)
    q, k, v = head_of(model, torch.tensor(ids), BLOCK, head)
    row = scaled_dot_product_attention(q, k, v, causal_mask(len(ids)))[1][-1]  # (T,)
    place, first = int(row.argmax()), text.index(word)
    start, end = (len(tok.decode(ids[:n])) for n in (place, place + 1))
    return start < first + len(word) and end > first


def texts() -> list[tuple[int, str, str]]:
    """(number of the frame, text, its country); the other country is the next of the list."""
    others = COUNTRIES[1:] + COUNTRIES[:1]
    return [
        (number, frame.format(own=country, other=other), country)
        for number, frame in enumerate(FRAMES)
        for country, other in zip(COUNTRIES, others, strict=True)
    ]


def measure(options: argparse.Namespace) -> dict:
    model, tok = Llama.pretrained(MODEL), ByteBPE.pretrained(MODEL)
    tried, others = texts(), list(NO_PLACES.items())
    if options.quick:
        tried, others = tried[::13], others[:2]
    heads: dict[int, dict] = {}
    for head in range(1, model.config.n_heads + 1):
        hits = [frame for frame, text, word in tried if looks_at(model, tok, text, word, head)]
        heads[head] = {"right": [hits.count(frame) for frame in range(len(FRAMES))]}
        print(head, heads[head], flush=True)
    right = sum(looks_at(model, tok, text, word, HEAD) for word, text in others)
    no_places = {"texts": len(others), "right": right}
    return {"texts": len(tried), "heads": heads, "no_places": no_places}


main = runs.script(__doc__, "real_heads", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
