"""Right and plausibly wrong answers to the exercises of chapter 12."""

import itertools

import torch
from mutation import mutant, solution
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

SHIFT, MASK, SMOOTH, BEAM, HISTORY = (
    f"encoder_decoder.{name}"
    for name in ("shift_right", "decoder_mask", "smoothed_loss", "beam_step", "two_histories")
)


# 12.1 shift_right


def padded(rows, value):
    return pad_sequence([torch.tensor(row) for row in rows], True, value)


@solution(SHIFT)
def _(rows, begin_id, end_id, pad_id):
    inputs = padded([[begin_id, *row] for row in rows], pad_id)
    return inputs, padded([[*row, end_id] for row in rows], -100)


@solution(SHIFT)
def _(rows, begin_id, end_id, pad_id):
    T = max(map(len, rows)) + 1
    whole = [[begin_id, *row, end_id] for row in rows]
    inputs = [(row[:-1] + [pad_id] * T)[:T] for row in whole]
    labels = [(row[1:] + [-100] * T)[:T] for row in whole]
    return torch.tensor(inputs), torch.tensor(labels)


@mutant(SHIFT, "labels padded with pad_id", "padding is trained on")
def _(rows, begin_id, end_id, pad_id):
    inputs = padded([[begin_id, *row] for row in rows], pad_id)
    return inputs, padded([[*row, end_id] for row in rows], pad_id)


@mutant(SHIFT, "labels and inputs swapped", "The two are swapped")
def _(rows, begin_id, end_id, pad_id):
    inputs = padded([[begin_id, *row] for row in rows], pad_id)
    return padded([[*row, end_id] for row in rows], -100), inputs


@mutant(SHIFT, "nothing shifted", "shown each token it has to predict")
def _(rows, begin_id, end_id, pad_id):
    whole = [[*row, end_id] for row in rows]
    return padded(whole, pad_id), padded(whole, -100)


@mutant(SHIFT, "inputs padded with -100", "Inputs are padded with `pad_id`")
def _(rows, begin_id, end_id, pad_id):
    inputs = padded([[begin_id, *row] for row in rows], -100)
    return inputs, padded([[*row, end_id] for row in rows], -100)


@mutant(SHIFT, "no end token", "would never learn to stop")
def _(rows, begin_id, end_id, pad_id):
    inputs = padded([[begin_id, *row[:-1]] for row in rows], pad_id)
    return inputs, padded(rows, -100)


@mutant(SHIFT, "no begin token", "not `begin_id`")
def _(rows, begin_id, end_id, pad_id):
    return padded(rows, pad_id), padded([[*row[1:], end_id] for row in rows], -100)


@mutant(SHIFT, "pads in front", "Pad behind the tokens")
def _(rows, begin_id, end_id, pad_id):
    T = max(map(len, rows)) + 1
    inputs = [[pad_id] * (T - 1 - len(row)) + [begin_id, *row] for row in rows]
    labels = [[-100] * (T - 1 - len(row)) + [*row, end_id] for row in rows]
    return torch.tensor(inputs), torch.tensor(labels)


# 12.2 decoder_mask


def causal(target):
    T = target.shape[1]
    return torch.ones(T, T, dtype=torch.bool).tril()


@solution(MASK)
def _(target, pad_id):
    return causal(target) & (target != pad_id).unsqueeze(1)


@solution(MASK)
def _(target, pad_id):
    B, T = target.shape
    mask = torch.zeros(B, T, T, dtype=torch.bool)
    for b, i, j in itertools.product(range(B), range(T), range(T)):
        mask[b, i, j] = j <= i and target[b, j] != pad_id
    return mask


@mutant(MASK, "padding mask replaces the causal mask", "the decoder sees the future")
def _(target, pad_id):
    return (target != pad_id)[:, None].repeat(1, target.shape[1], 1)


@mutant(MASK, "causal only", "still look at padding")
def _(target, pad_id):
    return causal(target).repeat(len(target), 1, 1)


@mutant(MASK, "True hides", "True = may attend")
def _(target, pad_id):
    return ~(causal(target) & (target != pad_id).unsqueeze(1))


@mutant(MASK, "either test is enough", "`&`, not `|`")
def _(target, pad_id):
    return causal(target) | (target != pad_id).unsqueeze(1)


@mutant(MASK, "upper triangle", "hides the past")
def _(target, pad_id):
    return causal(target).T & (target != pad_id).unsqueeze(1)


@mutant(MASK, "padding hidden as a query", "as a key it must be")
def _(target, pad_id):
    return causal(target) & (target != pad_id).unsqueeze(2)


# 12.3 smoothed_loss


@solution(SMOOTH)
def _(logits, targets, epsilon):
    return F.cross_entropy(logits, targets, label_smoothing=epsilon)


@solution(SMOOTH)
def _(logits, targets, epsilon):
    log_p = logits.log_softmax(dim=1)
    wanted = F.one_hot(targets, logits.shape[1]) * (1 - epsilon) + epsilon / logits.shape[1]
    return -(wanted * log_p).sum(dim=1).mean()


@mutant(SMOOTH, "not smoothed", "`epsilon` is not used")
def _(logits, targets, epsilon):
    return F.cross_entropy(logits, targets)


@mutant(SMOOTH, "shares among the other tokens", "ε / V each")
def _(logits, targets, epsilon):
    hot = F.one_hot(targets, logits.shape[1])
    wanted = hot * (1 - epsilon) + (1 - hot) * epsilon / (logits.shape[1] - 1)
    return -(wanted * logits.log_softmax(dim=1)).sum(dim=1).mean()


@mutant(SMOOTH, "forgets the uniform part", "The share of all V tokens is missing")
def _(logits, targets, epsilon):
    return (1 - epsilon) * F.cross_entropy(logits, targets)


@mutant(SMOOTH, "double softmax", "Softmax is taken twice")
def _(logits, targets, epsilon):
    return F.cross_entropy(logits.softmax(dim=1), targets, label_smoothing=epsilon)


@mutant(SMOOTH, "sum", "return their mean")
def _(logits, targets, epsilon):
    return F.cross_entropy(logits, targets, label_smoothing=epsilon, reduction="sum")


@mutant(SMOOTH, "wrong sign", "The sign is wrong")
def _(logits, targets, epsilon):
    return -F.cross_entropy(logits, targets, label_smoothing=epsilon)


@mutant(SMOOTH, "logarithm of a softmax", "take `log_softmax`")
def _(logits, targets, epsilon):
    log_p = logits.softmax(dim=1).log()
    wanted = F.one_hot(targets, logits.shape[1]) * (1 - epsilon) + epsilon / logits.shape[1]
    return -(wanted * log_p).sum(dim=1).mean()


# 12.4 two_histories


def search(next_token, begin_id, vocab_size, bodies=range(4)):
    seen = {}
    for n in bodies:
        for body in itertools.product(range(vocab_size), repeat=n):
            ids = [begin_id, *body]
            before = seen.setdefault(ids[-1], ids)
            if next_token(ids) != next_token(before):
                return before, ids


@solution(HISTORY)
def _(next_token, begin_id, vocab_size):
    return search(next_token, begin_id, vocab_size)


@solution(HISTORY)
def _(next_token, begin_id, vocab_size):
    generator = torch.Generator().manual_seed(0)
    while True:
        n = torch.randint(1, 5, (2,), generator=generator).tolist()
        a, b = (
            [begin_id, *torch.randint(vocab_size, (size,), generator=generator).tolist()]
            for size in n
        )
        if a[-1] == b[-1] and next_token(a) != next_token(b):
            return a, b


@mutant(HISTORY, "one history twice", "two different histories are needed")
def _(next_token, begin_id, vocab_size):
    return [begin_id, 2], [begin_id, 2]


@mutant(HISTORY, "different last tokens", "the last token must be the same")
def _(next_token, begin_id, vocab_size):
    return [begin_id, 2], [begin_id, 3]


@mutant(HISTORY, "the same continuation", "the last token would have been enough")
def _(next_token, begin_id, vocab_size):
    return [begin_id, 2, 3, 3], [begin_id, 3, 3, 3]


@mutant(HISTORY, "does not begin", "does not begin with `begin_id`")
def _(next_token, begin_id, vocab_size):
    a, b = search(next_token, begin_id, vocab_size)
    return a[-1:], b


@mutant(HISTORY, "ids outside the vocabulary", "holds ids outside")
def _(next_token, begin_id, vocab_size):
    return [begin_id, vocab_size], [begin_id, 2, vocab_size]


@mutant(HISTORY, "one history", "two are expected")
def _(next_token, begin_id, vocab_size):
    return ([begin_id, 2],)


@mutant(HISTORY, "very long, to be sure", "longer than needed")
def _(next_token, begin_id, vocab_size):
    return [begin_id, *[3] * 20], [begin_id, *[2] * 20, 3]


# 12.5 beam_step


@solution(BEAM)
def _(log_p, new, width):
    best = (log_p[:, None] + new).flatten().topk(width).indices
    return best // new.shape[1], best % new.shape[1]


@solution(BEAM)
def _(log_p, new, width):
    K, V = new.shape
    every = [(float(log_p[k] + new[k, v]), k, v) for k in range(K) for v in range(V)]
    _, parents, tokens = zip(*sorted(every, reverse=True)[:width], strict=True)
    return torch.tensor(parents), torch.tensor(tokens)


@mutant(BEAM, "one child for each parent", "may share a parent")
def _(log_p, new, width):
    best = (log_p[:, None] + new).max(dim=1)
    order = best.values.argsort(descending=True)[:width]
    return order, best.indices[order]


@mutant(BEAM, "forgets the past cost", "add `log_p`")
def _(log_p, new, width):
    best = new.flatten().topk(width).indices
    return best // new.shape[1], best % new.shape[1]


@mutant(BEAM, "keeps the least likely", "the least likely")
def _(log_p, new, width):
    best = (log_p[:, None] + new).flatten().topk(width, largest=False).indices
    return best // new.shape[1], best % new.shape[1]


@mutant(BEAM, "tokens before parents", "swapped: parents first")
def _(log_p, new, width):
    best = (log_p[:, None] + new).flatten().topk(width).indices
    return best % new.shape[1], best // new.shape[1]


@mutant(BEAM, "does not divide by V", "divide by V")
def _(log_p, new, width):
    best = (log_p[:, None] + new).flatten().topk(width).indices
    return best, best % new.shape[1]


@mutant(BEAM, "worst of the best first", "The best comes first")
def _(log_p, new, width):
    best = (log_p[:, None] + new).flatten().argsort()[-width:]
    return best // new.shape[1], best % new.shape[1]
