"""Right and plausibly wrong answers to the exercises of chapter 2."""

import torch
from mutation import mutant, solution
from torch.nn import functional as F

LOOKUP, COSINE, NEAREST = (
    "embeddings.one_hot_lookup",
    "embeddings.cosine_similarity",
    "embeddings.nearest",
)
WINDOWS, RENUMBER = "embeddings.sliding_windows", "embeddings.renumber"


# 2.1 one_hot_lookup


@solution(LOOKUP)
def looked_up(ids, table):
    return F.one_hot(ids, len(table)).float() @ table


@solution(LOOKUP)
def _(ids, table):
    return (ids[..., None] == torch.arange(len(table))).float() @ table


@solution(LOOKUP)
def _(ids, table):
    return table[ids]


@mutant(LOOKUP, "returns the one-hot vectors", "These are the one-hot vectors")
def _(ids, table):
    return F.one_hot(ids, len(table))


@mutant(LOOKUP, "multiplies whole numbers by floats", "`.float()` before the product")
def _(ids, table):
    return F.one_hot(ids, len(table)) @ table


@mutant(LOOKUP, "takes the length from the largest id", "too short")
def _(ids, table):
    return F.one_hot(ids).float() @ table


@mutant(LOOKUP, "flattens the batch", "flattened to one")
def _(ids, table):
    return torch.eye(len(table))[ids.flatten()] @ table


@mutant(LOOKUP, "counts ids from 1", "one place too early")
def _(ids, table):
    return looked_up((ids - 1) % len(table), table)


@mutant(LOOKUP, "adds the rows of a text", "added up over T")
def _(ids, table):
    return looked_up(ids, table).sum(1)


@mutant(LOOKUP, "swaps the last axes", "last two axes are swapped")
def _(ids, table):
    return looked_up(ids, table).transpose(1, 2)


# 2.2 cosine_similarity


@solution(COSINE)
def cosine(a, b):
    return a @ b / (a.norm() * b.norm())


@solution(COSINE)
def _(a, b):
    dot = sum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True))
    return dot / (sum(x * x for x in a.tolist()) * sum(y * y for y in b.tolist())) ** 0.5


@mutant(COSINE, "returns the dot product", "This is the dot product")
def _(a, b):
    return a @ b


@mutant(COSINE, "divides by one length only", "Only one of the two lengths")
def _(a, b):
    return a @ b / b.norm()


@mutant(COSINE, "divides by the squared lengths", "take their roots")
def _(a, b):
    return a @ b / ((a @ a) * (b @ b))


@mutant(COSINE, "takes sums for lengths", "the root of the sum of squares")
def _(a, b):
    return a @ b / (a.sum() * b.sum())


@mutant(COSINE, "returns the distance 1 − cosine", "the cosine distance")
def _(a, b):
    return 1 - cosine(a, b)


@mutant(COSINE, "returns the angle", "the angle itself")
def _(a, b):
    return cosine(a, b).acos()


@mutant(COSINE, "returns the Euclidean distance", "distance between the two points")
def _(a, b):
    return (a - b).norm()


@mutant(COSINE, "takes the absolute value", "The sign is lost")
def _(a, b):
    return cosine(a, b).abs()


@mutant(COSINE, "multiplies without adding up", "shape (3,), but a float")
def _(a, b):
    return a * b / (a.norm() * b.norm())


# 2.3 nearest


def similarities(vectors, i):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return unit @ unit[i]


@solution(NEAREST)
def _(vectors, i, k):
    order = similarities(vectors, i).argsort(descending=True).tolist()
    return [j for j in order if j != i][:k]


@solution(NEAREST)
def _(vectors, i, k):
    scores = similarities(vectors, i)
    scores[i] = -2
    return scores.topk(k).indices.tolist()


@mutant(NEAREST, "lists the word itself", "The word itself is in the list")
def _(vectors, i, k):
    return similarities(vectors, i).topk(k).indices.tolist()


@mutant(NEAREST, "loses a place to the word itself", "took a place")
def _(vectors, i, k):
    return similarities(vectors, i).topk(k).indices.tolist()[1:]


@mutant(NEAREST, "ranks by the dot product", "Long vectors win")
def _(vectors, i, k):
    order = (vectors @ vectors[i]).argsort(descending=True).tolist()
    return [j for j in order if j != i][:k]


@mutant(NEAREST, "ranks by distance", "nearest points")
def _(vectors, i, k):
    order = (vectors - vectors[i]).norm(dim=1).argsort().tolist()
    return [j for j in order if j != i][:k]


@mutant(NEAREST, "sorts from low to high", "least similar")
def _(vectors, i, k):
    return similarities(vectors, i).argsort().tolist()[:k]


@mutant(NEAREST, "returns the list backwards", "order is reversed")
def _(vectors, i, k):
    return similarities(vectors, i).argsort().tolist()[-k - 1 : -1]


@mutant(NEAREST, "ignores which word is asked", "`i` is ignored")
def _(vectors, i, k):
    return similarities(vectors, 0).argsort(descending=True).tolist()[1 : k + 1]


@mutant(NEAREST, "takes the absolute value", "point apart are not similar")
def _(vectors, i, k):
    order = similarities(vectors, i).abs().argsort(descending=True, stable=True).tolist()
    return [j for j in order if j != i][:k]


@mutant(NEAREST, "returns a tensor", "int64 tensor of shape (3,), but a list")
def _(vectors, i, k):
    return similarities(vectors, i).topk(k + 1).indices[1:]


# 2.4 sliding_windows


@solution(WINDOWS)
def windows(ids, length, stride):
    if stride < 1:
        raise ValueError(f"stride={stride} must be at least 1")
    last = len(ids) - length - 1
    starts = [*range(0, last, stride), last]
    return [(ids[s : s + length], ids[s + 1 : s + length + 1]) for s in starts]


@solution(WINDOWS)
def _(ids, length, stride):
    if stride <= 0:
        raise ValueError("the stride must be positive")
    found, start = [], 0
    while start + length < len(ids):
        found.append((ids[start : start + length], ids[start + 1 : start + length + 1]))
        start += stride
    if found[-1][1][-1:] != ids[-1:] or start - stride + length + 1 != len(ids):
        found.append((ids[-length - 1 : -1], ids[-length:]))
    return found


def at(ids, length, starts):
    return [(ids[s : s + length], ids[s + 1 : s + length + 1]) for s in starts]


@mutant(WINDOWS, "drops the last window", "The last window is missing")
def _(ids, length, stride):
    return at(ids, length, range(0, len(ids) - length, stride))


@mutant(WINDOWS, "cuts the last window short", "cut short")
def _(ids, length, stride):
    return at(ids, length, range(0, len(ids) - 1, stride))


@mutant(WINDOWS, "gives x as its own target", "the same as `x`")
def _(ids, length, stride):
    return [(x, x) for x, _ in windows(ids, length, stride)]


@mutant(WINDOWS, "ignores the stride", "stride is ignored")
def _(ids, length, stride):
    return windows(ids, length, 1)


@mutant(WINDOWS, "takes the length for the stride", "stride is ignored")
def _(ids, length, stride):
    return windows(ids, length, length)


@mutant(WINDOWS, "stops one id too early", "one id too early")
def _(ids, length, stride):
    last = len(ids) - length - 2
    return at(ids, length, [*range(0, last, stride), last])


@mutant(WINDOWS, "repeats the last window", "comes twice")
def _(ids, length, stride):
    last = len(ids) - length - 1
    return at(ids, length, [*range(0, last + 1, stride), last])


@mutant(WINDOWS, "returns nothing for stride 0", "`stride=0` must raise a ValueError")
def _(ids, length, stride):
    return windows(ids, length, stride) if stride > 0 else []


@mutant(WINDOWS, "lets range complain about 0 alone", "`stride=-1` must raise a ValueError")
def _(ids, length, stride):
    last = len(ids) - length - 1
    return at(ids, length, [*range(0, last, stride), last])


# 2.5 renumber


@solution(RENUMBER)
def _(table, old, new):
    return table[[old.index(character) for character in new]]


@solution(RENUMBER)
def _(table, old, new):
    rows = dict(zip(old, table, strict=True))
    return torch.stack([rows[character] for character in new])


@mutant(RENUMBER, "goes the wrong way", "the wrong way")
def _(table, old, new):
    return table[[new.index(character) for character in old]]


@mutant(RENUMBER, "returns the table as it is", "unchanged")
def _(table, old, new):
    return table


@mutant(RENUMBER, "returns the places", "the places of the rows")
def _(table, old, new):
    return torch.tensor([old.index(character) for character in new])


@mutant(RENUMBER, "takes `old` to be sorted", "need not be sorted")
def _(table, old, new):
    return table[[sorted(old).index(character) for character in new]]


@mutant(RENUMBER, "returns a list of rows", "is a list, but a float32 tensor")
def _(table, old, new):
    return [table[old.index(character)] for character in new]


@mutant(RENUMBER, "turns the table upside down", "upside down")
def _(table, old, new):
    return table.flip(0)


@mutant(RENUMBER, "writes over the rows it still needs", "changes its argument `table` in place")
def _(table, old, new):
    for i, character in enumerate(new):
        table[i] = table[old.index(character)]
    return table
