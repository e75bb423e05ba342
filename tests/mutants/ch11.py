"""Right and plausibly wrong answers to the exercises of chapter 11."""

import math

import torch
from mutation import mutant, solution
from torch.nn import functional as F

HIDE, PAIR, LOSS, FILLED, CHEAT = (
    f"bert.{name}" for name in ("hide", "pair_input", "masked_loss", "blanks_filled", "cheat")
)


# 11.1 hide


def hidden(ids, chosen, lot, other, mask_id, mask_below=0.8, other_below=0.9):
    inputs = ids.masked_fill(chosen & (lot < mask_below), mask_id)
    swapped = chosen & (lot >= mask_below) & (lot < other_below)
    return torch.where(swapped, other, inputs), ids.masked_fill(~chosen, -100)


@solution(HIDE)
def _(ids, chosen, lot, other, mask_id):
    return hidden(ids, chosen, lot, other, mask_id)


@solution(HIDE)
def _(ids, chosen, lot, other, mask_id):
    inputs, targets = ids.clone(), torch.full_like(ids, -100)
    for b, t in chosen.nonzero().tolist():
        targets[b, t] = ids[b, t]
        if lot[b, t] < 0.8:
            inputs[b, t] = mask_id
        elif lot[b, t] < 0.9:
            inputs[b, t] = other[b, t]
    return inputs, targets


@mutant(HIDE, "hides all that were chosen", "All chosen tokens became the mask")
def _(ids, chosen, lot, other, mask_id):
    return hidden(ids, chosen, lot, other, mask_id, mask_below=1, other_below=1)


@mutant(HIDE, "no token stays as it is", "from 0.9 on a chosen token stays")
def _(ids, chosen, lot, other, mask_id):
    return hidden(ids, chosen, lot, other, mask_id, other_below=1)


@mutant(HIDE, "no random tokens", "becomes the one in `other`")
def _(ids, chosen, lot, other, mask_id):
    return hidden(ids, chosen, lot, other, mask_id, other_below=0.8)


@mutant(HIDE, "targets everywhere", "nothing is asked there")
def _(ids, chosen, lot, other, mask_id):
    return hidden(ids, chosen, lot, other, mask_id)[0], ids


@mutant(HIDE, "targets only where the mask stands", "also where it was not hidden")
def _(ids, chosen, lot, other, mask_id):
    inputs, _ = hidden(ids, chosen, lot, other, mask_id)
    return inputs, ids.masked_fill(inputs != mask_id, -100)


@mutant(HIDE, "targets from the inputs", "take targets from the old `ids`")
def _(ids, chosen, lot, other, mask_id):
    inputs, _ = hidden(ids, chosen, lot, other, mask_id)
    return inputs, inputs.masked_fill(~chosen, -100)


@mutant(HIDE, "the lot decides for all tokens", "must stay as they are")
def _(ids, chosen, lot, other, mask_id):
    inputs, _ = hidden(ids, torch.ones_like(chosen), lot, other, mask_id)
    return inputs, ids.masked_fill(~chosen, -100)


@mutant(HIDE, "targets first", "Inputs first")
def _(ids, chosen, lot, other, mask_id):
    return hidden(ids, chosen, lot, other, mask_id)[::-1]


@mutant(HIDE, "mask 20 %", "with `lot` below 0.8 become")
def _(ids, chosen, lot, other, mask_id):
    return hidden(ids, chosen, 1 - lot, other, mask_id, mask_below=0.2, other_below=0.9)


# 11.2 pair_input


def paired(a, b, length, cls_id, sep_id, pad_id):
    ids = [cls_id, *a, sep_id, *b, sep_id]
    segments = [0] * (len(a) + 2) + [1] * (len(b) + 1)
    return filled(ids, segments, length, pad_id)


def filled(ids, segments, length, pad_id, segment=0):
    pads = length - len(ids)
    real = [True] * len(ids) + [False] * pads
    return ids + [pad_id] * pads, segments + [segment] * pads, real


@solution(PAIR)
def _(a, b, length, cls_id, sep_id, pad_id):
    return paired(a, b, length, cls_id, sep_id, pad_id)


@solution(PAIR)
def _(a, b, length, cls_id, sep_id, pad_id):
    ids, segments = [pad_id] * length, [0] * length
    tokens = [(cls_id, 0), *((t, 0) for t in a), (sep_id, 0), *((t, 1) for t in b), (sep_id, 1)]
    for i, (token, segment) in enumerate(tokens):
        ids[i], segments[i] = token, segment
    return ids, segments, [i < len(tokens) for i in range(length)]


@mutant(PAIR, "no separator at the end", "`b` ends in `sep_id`")
def _(a, b, length, cls_id, sep_id, pad_id):
    segments = [0] * (len(a) + 2) + [1] * len(b)
    return filled([cls_id, *a, sep_id, *b], segments, length, pad_id)


@mutant(PAIR, "no CLS", "`cls_id` comes first")
def _(a, b, length, cls_id, sep_id, pad_id):
    segments = [0] * (len(a) + 1) + [1] * (len(b) + 1)
    return filled([*a, sep_id, *b, sep_id], segments, length, pad_id)


@mutant(PAIR, "the first separator belongs to b", "it belongs to `a`")
def _(a, b, length, cls_id, sep_id, pad_id):
    segments = [0] * (len(a) + 1) + [1] * (len(b) + 2)
    return filled([cls_id, *a, sep_id, *b, sep_id], segments, length, pad_id)


@mutant(PAIR, "one segment for all", "`segments` is 1 for `b`")
def _(a, b, length, cls_id, sep_id, pad_id):
    ids, _, real = paired(a, b, length, cls_id, sep_id, pad_id)
    return ids, [0] * length, real


@mutant(PAIR, "padding in segment 1", "Padding belongs to no segment")
def _(a, b, length, cls_id, sep_id, pad_id):
    segments = [0] * (len(a) + 2) + [1] * (len(b) + 1)
    return filled([cls_id, *a, sep_id, *b, sep_id], segments, length, pad_id, segment=1)


@mutant(PAIR, "mask upside down", "the wrong way round")
def _(a, b, length, cls_id, sep_id, pad_id):
    ids, segments, real = paired(a, b, length, cls_id, sep_id, pad_id)
    return ids, segments, [not r for r in real]


@mutant(PAIR, "padding may be looked at", "False where padding stands")
def _(a, b, length, cls_id, sep_id, pad_id):
    ids, segments, _ = paired(a, b, length, cls_id, sep_id, pad_id)
    return ids, segments, [True] * length


@mutant(PAIR, "padding in front", "Padding goes to the end")
def _(a, b, length, cls_id, sep_id, pad_id):
    n = len(a) + len(b) + 3
    parts = paired(a, b, length, cls_id, sep_id, pad_id)
    return tuple(part[n:] + part[:n] for part in parts)


@mutant(PAIR, "does not fill up", "fill up to it")
def _(a, b, length, cls_id, sep_id, pad_id):
    return paired(a, b, len(a) + len(b) + 3, cls_id, sep_id, pad_id)


# 11.3 masked_loss


def mean_surprise(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)


@solution(LOSS)
def _(logits, targets):
    chosen = targets != -100
    if not chosen.any():
        return 0.0
    return mean_surprise(logits, targets)


@solution(LOSS)
def _(logits, targets):
    total, n = 0.0, 0
    for z, target in zip(logits.flatten(0, 1), targets.flatten().tolist(), strict=True):
        if target >= 0:
            total, n = total - z.log_softmax(0)[target].item(), n + 1
    return total / max(n, 1)


@mutant(LOSS, "nan without targets", "not 0 divided by 0")
def _(logits, targets):
    return mean_surprise(logits, targets)


@mutant(LOSS, "sum", "divide by the number of targets")
def _(logits, targets):
    return mean_surprise(logits, targets) * (targets != -100).sum()


@mutant(LOSS, "divides by all places", "not by all places")
def _(logits, targets):
    return mean_surprise(logits, targets) * (targets != -100).double().mean()


@mutant(LOSS, "mean of rows", "a row with more targets must weigh more")
def _(logits, targets):
    losses = [mean_surprise(z[None], t[None]) for z, t in zip(logits, targets, strict=True)]
    return sum(losses) / len(losses)


@mutant(LOSS, "-100 read as token 0", "leave them out")
def _(logits, targets):
    return mean_surprise(logits, targets.clamp(min=0))


@mutant(LOSS, "looks up token -100", "-100 is no token")
def _(logits, targets):
    rows = logits.log_softmax(-1).flatten(0, 1)
    return -rows[torch.arange(len(rows)), targets.flatten()].mean()


@mutant(LOSS, "wrong sign", "The sign is wrong")
def _(logits, targets):
    return -mean_surprise(logits, targets)


@mutant(LOSS, "bits", "take the natural logarithm")
def _(logits, targets):
    return mean_surprise(logits, targets) / math.log(2)


# 11.4 blanks_filled


@solution(FILLED)
def _(logits, targets):
    chosen = targets != -100
    return (logits.argmax(-1) == targets)[chosen].float().mean()


@solution(FILLED)
def _(logits, targets):
    right = n = 0
    for row, answers in zip(logits, targets.tolist(), strict=True):
        for z, answer in zip(row.tolist(), answers, strict=True):
            if answer != -100:
                right, n = right + (z.index(max(z)) == answer), n + 1
    return right / n


@mutant(FILLED, "divides by all places", "not of places")
def _(logits, targets):
    return (logits.argmax(-1) == targets).float().mean()


@mutant(FILLED, "counts", "This counts them")
def _(logits, targets):
    return (logits.argmax(-1) == targets).float().sum()


@mutant(FILLED, "the errors", "the share that is wrong")
def _(logits, targets):
    chosen = targets != -100
    return (logits.argmax(-1) != targets)[chosen].float().mean()


@mutant(FILLED, "mean probability", "count how often the best guess is right")
def _(logits, targets):
    chosen = targets != -100
    p = logits.softmax(-1)[chosen]
    return p[torch.arange(len(p)), targets[chosen]].mean()


@mutant(FILLED, "places without target are right", "is no success")
def _(logits, targets):
    return ((logits.argmax(-1) == targets) | (targets == -100)).float().mean()


@mutant(FILLED, "argmax over the places", "fails")
def _(logits, targets):
    return (logits.argmax(1) == targets)[targets != -100].float().mean()


# 11.5 cheat


@solution(CHEAT)
def _(inputs, vocab_size):
    return 100.0 * F.one_hot(inputs, vocab_size)


@solution(CHEAT)
def _(inputs, vocab_size):
    logits = torch.zeros(*inputs.shape, vocab_size)
    return logits.scatter(-1, inputs[..., None], 50.0)


@mutant(CHEAT, "too timid", "too timid")
def _(inputs, vocab_size):
    return F.one_hot(inputs, vocab_size).float()


@mutant(CHEAT, "knows nothing", "All logits are alike")
def _(inputs, vocab_size):
    return torch.zeros(*inputs.shape, vocab_size)


@mutant(CHEAT, "repeats the token before", "the very token that it reads")
def _(inputs, vocab_size):
    return 100.0 * F.one_hot(inputs.roll(1, dims=1), vocab_size)


@mutant(CHEAT, "infinite logits", "a large number will do")
def _(inputs, vocab_size):
    return F.one_hot(inputs, vocab_size).float().log()


@mutant(CHEAT, "wrong sign", "the very token that it reads")
def _(inputs, vocab_size):
    return -100.0 * F.one_hot(inputs, vocab_size)


@mutant(CHEAT, "returns the guesses", "not (2, 50, 26)")
def _(inputs, vocab_size):
    return inputs.float()


@mutant(CHEAT, "the most frequent token everywhere", "the very token that it reads")
def _(inputs, vocab_size):
    return 100.0 * F.one_hot(inputs.mode(keepdim=True).values.expand_as(inputs), vocab_size)
