"""The map of words of chapter 02 -> ch02_embeddings/map.json.

Usage: python -m lab.word_map [--write]

The vectors are those of the chapter's first table, and t-SNE gives each word a place in the plane.
The text is there, too, as ids of the chapter's vocabulary: the page trains on it.
"""

import argparse
import base64
import re
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import nbformat
import torch
import torch.nn.functional as F
from torch import Tensor

from lab import runs
from scratchformer_course.ch02_embeddings.questions import LISTS, MAN_WOMAN
from scratchformer_course.kit import chapter

NOTEBOOK = runs.ROOT / "notebooks" / "02_embeddings.ipynb"
FILE = runs.ROOT / "scratchformer_course" / "ch02_embeddings" / "map.json"
WORDS = 400
NEAREST, STARTS = 8, 3
ONE_BYTE, END = 250, 255  # ids with one byte, and the byte at a speech's end


def chapter_names() -> dict[str, Any]:
    """The names that chapter 02 defines before the cell that trains its table."""
    names: dict[str, Any] = {"chapter": chapter}
    cells = [cell for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "code"]
    before = next(i for i, cell in enumerate(cells) if cell.id == "moment")
    with redirect_stdout(StringIO()):
        for cell in cells[:before]:
            if not re.search(r"%pip|draw\.|word_map\(|pulled", cell.source):
                exec(cell.source, names)
    return names


def chosen_words(vocabulary: list[str]) -> list[str]:
    """The words of all questions, and the commonest others."""
    asked = " ".join([*LISTS.values(), MAN_WOMAN]).replace(",", " ").split()
    return list(dict.fromkeys([*asked, *vocabulary]))[:WORDS]


def plane(unit: Tensor, seed: int) -> Tensor:
    """A place in the plane for each row, (N, 2): t-SNE, on the cosines of the rows."""
    far = (2 - 2 * unit @ unit.T).clamp(min=0).fill_diagonal_(float("inf"))  # (N, N)
    low, high = torch.full((len(unit), 1), 1e-3), torch.full((len(unit), 1), 1e3)
    for _ in range(50):  # each row's own width, so that as many others count for it
        width = (low * high).sqrt()
        p = (-far * width).softmax(dim=1)
        many = (-(p * p.clamp(min=1e-12).log()).sum(dim=1, keepdim=True)).exp()
        wide = many > 12
        low, high = torch.where(wide, width, low), torch.where(wide, high, width)
    p = (p + p.T) / (2 * len(p))
    y = 1e-2 * torch.randn(len(unit), 2, generator=torch.Generator().manual_seed(seed))
    y.requires_grad_()
    optimizer = torch.optim.Adam([y], lr=0.3)
    for step in range(500):
        near = 1 / (1 + torch.cdist(y, y).square())
        near = near - torch.diag(near.diagonal())
        q = (near / near.sum()).clamp(min=1e-12)
        pulled = p * (4 if step < 150 else 1)
        loss = -(pulled * q.log()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    y = y.detach()
    return (y - y.min(dim=0).values) / (y.max(dim=0).values - y.min(dim=0).values)


def best_plane(unit: Tensor) -> Tensor:
    """Of three planes, the one in which the words lie closest to their eight nearest."""
    near = (unit @ unit.T).fill_diagonal_(-2).topk(NEAREST, dim=1).indices  # (N, 8)
    planes = [plane(unit, seed) for seed in range(STARTS)]
    return min(planes, key=lambda y: (y[near] - y[:, None]).norm(dim=2).mean().item())


def packed(speeches: list[list[int]]) -> str:
    """The ids of all speeches of two words or more: a byte for the commonest, two for others."""
    text = bytearray()
    for ids in speeches:
        for i in ids if len(ids) > 1 else ():
            far, rest = divmod(i - ONE_BYTE, 256)
            text += bytes([i] if i < ONE_BYTE else [ONE_BYTE + far, rest])
        text += bytes([END] if len(ids) > 1 else [])
    return base64.b64encode(text).decode()


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Words, their places in a square of 1000, and their vectors as signed bytes."""
    names = chapter_names()
    table = names["train"](names["pairs"], steps=2500)
    words = chosen_words(names["vocabulary"])
    unit = F.normalize(table[[names["id_of"][word] for word in words]], dim=1)
    in_int8 = (unit * 127 / unit.abs().max()).round().to(torch.int8)
    y = best_plane(unit)
    return {
        "command": "python -m lab.word_map --write",
        "words": " ".join(words),
        "places": (1000 * y).round().int().flatten().tolist(),
        "vectors": base64.b64encode(in_int8.numpy().tobytes()).decode(),
        "known": len(names["vocabulary"]),
        "ids": [names["id_of"][word] for word in words],
        "text": packed(names["speech_ids"]),
    }


main = runs.script(__doc__, FILE, measure, quick=False)


if __name__ == "__main__":
    main()
