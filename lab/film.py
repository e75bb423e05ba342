"""A small GPT learning to write, for the welcome page -> measurements/film.json.

Usage: python -m lab.film [--write]

The run is that of chapter 11's checkpoints, which `lab/time_machine.py` has trained. At each of
FRAMES this script lets its model write, with the same random numbers at every step, stores what one
head reads on a short line, and counts how often the likeliest character is the one that comes next
in the whole validation split. The losses are the checkpoints' own.
"""

import argparse

import torch
from torch import Tensor

from lab import runs
from scratchformer.attention import recorded_attention
from scratchformer.generation import generate
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch11_training.stored_steps import load_checkpoints, training_record

FRAMES = (0, 20, 100, 300, 500, 1000, 2000, 5000)
PROMPT, WRITTEN, TEMPERATURE, SEED = "JULIET:\n", 121, 0.7, 1
LINE, BLOCK, HEAD = "To be, or not", 0, 3  # the head that comes to read the character before
SETTINGS = runs.settings_of(globals(), "PROMPT TEMPERATURE SEED WRITTEN LINE BLOCK HEAD FRAMES")


def frame(model: GPT, tok: CharTokenizer) -> dict:
    """What the model writes after PROMPT, and what its head reads on LINE: (T, T), no zeros."""
    ids = torch.tensor([tok.encode(PROMPT)])
    text = generate(model, ids, WRITTEN, temperature=TEMPERATURE, seed=SEED)[0, ids.shape[1] :]
    with torch.no_grad(), recorded_attention(model) as weights:
        model(torch.tensor([tok.encode(LINE)]))
    rows = weights[f"h.{BLOCK}.attn"][0, HEAD].tolist()
    read = [[round(weight, 2) for weight in row[: t + 1]] for t, row in enumerate(rows)]
    return {"text": tok.decode(text.tolist()), "weights": read}


def share_right(model: GPT, ids: Tensor) -> float:
    """How often the likeliest character is the next one, in consecutive windows of the text."""
    T = model.context_length
    n = (len(ids) - 1) // T * T
    x, y = ids[:n].view(-1, T), ids[1 : n + 1].view(-1, T)
    with torch.no_grad():
        right = [
            (model(a).argmax(dim=-1) == b).float().mean(dim=1)
            for a, b in zip(x.split(64), y.split(64), strict=True)
        ]
    return round(torch.cat(right).mean().item(), 4)


def measure(options: argparse.Namespace) -> dict:
    """All frames, and the curve of the whole run."""
    tok, record = CharTokenizer.pretrained("tiny-shakespeare"), training_record()
    splits, _ = runs.load_splits(write=True)
    scored = splits["validation"][1]
    models = dict(load_checkpoints())
    frames = [
        {
            "step": step,
            "loss": record["validation"][str(step)],
            "right": share_right(models[step], scored),
            **frame(models[step], tok),
        }
        for step in FRAMES
    ]
    return {
        "parameters": record["parameters"],
        "curve": [[int(step), loss] for step, loss in record["validation"].items()],
        "frames": frames,
    }


main = runs.script(__doc__, "film", measure, SETTINGS, quick=False)


if __name__ == "__main__":
    main()
