"""Right and plausibly wrong answers to the exercises of chapter 8."""

import math
from itertools import pairwise

import torch
from mutation import GIVEN, mutant, solution
from torch.nn import functional as F

COUNTS, LOSS, PAIRS = (
    f"bigram_to_gpt.{name}" for name in ("bigram_counts", "cross_entropy", "next_token_pairs")
)
IMPOSSIBLE, SAMPLE = "bigram_to_gpt.impossible_text", "bigram_to_gpt.sample_next"


# 8.1 bigram_counts


@solution(COUNTS)
def counted(ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    for a, b in pairwise(ids.tolist()):
        counts[a, b] += 1
    return counts


@solution(COUNTS)
def _(ids, vocab_size):
    codes = ids[:-1] * vocab_size + ids[1:]
    return torch.bincount(codes, minlength=vocab_size**2).view(vocab_size, vocab_size)


@solution(COUNTS)
def _(ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size, dtype=torch.int32)
    one = torch.tensor(1, dtype=torch.int32)
    return counts.index_put_((ids[:-1], ids[1:]), one, accumulate=True)


@mutant(COUNTS, "swaps rows and columns", "transposed")
def _(ids, vocab_size):
    return counted(ids, vocab_size).T


@mutant(COUNTS, "adds 1 with whole tensors, which drops repeats", "seen twice counts once")
def _(ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    counts[ids[:-1], ids[1:]] += 1
    return counts


@mutant(COUNTS, "misses the last pair", "The last pair is missed")
def _(ids, vocab_size):
    return counted(ids[:-1], vocab_size)


@mutant(COUNTS, "misses the first pair", "The first pair is missed")
def _(ids, vocab_size):
    return counted(ids[1:], vocab_size)


@mutant(COUNTS, "pairs the last token with the first", "does not wrap around")
def _(ids, vocab_size):
    return counted(torch.cat((ids, ids[:1])), vocab_size)


@mutant(COUNTS, "adds one to every count", "no smoothing here")
def _(ids, vocab_size):
    return counted(ids, vocab_size) + 1


@mutant(COUNTS, "divides each row by its sum", "return the counts themselves")
def _(ids, vocab_size):
    counts = counted(ids, vocab_size)
    return counts / counts.sum(dim=1, keepdim=True)


@mutant(COUNTS, "divides by the sum of all", "return the counts themselves")
def _(ids, vocab_size):
    counts = counted(ids, vocab_size)
    return counts / counts.sum()


@mutant(COUNTS, "sizes the table by the largest id seen", "also for tokens never seen")
def _(ids, vocab_size):
    return counted(ids, int(ids.max()) + 1)


@mutant(COUNTS, "counts single tokens", "of shape (4,), but (4, 4)")
def _(ids, vocab_size):
    return torch.bincount(ids, minlength=vocab_size)


@mutant(COUNTS, "returns nested lists", "is a list, but a float32 tensor")
def _(ids, vocab_size):
    return counted(ids, vocab_size).tolist()


# 8.3 cross_entropy


@solution(LOSS)
def _(logits, targets):
    return F.cross_entropy(logits, targets)


@solution(LOSS)
def _(logits, targets):
    shifted = logits - logits.max(dim=1, keepdim=True).values
    log_probabilities = shifted - shifted.exp().sum(dim=1, keepdim=True).log()
    return -log_probabilities[torch.arange(len(targets)), targets].mean()


@solution(LOSS)
def _(logits, targets):
    total = 0.0
    for row, target in zip(logits.tolist(), targets.tolist(), strict=True):
        top = max(row)
        total += math.log(sum(math.exp(value - top) for value in row)) + top - row[target]
    return total / len(targets)


def chosen(logits, targets, dim=1):
    return logits.softmax(dim)[torch.arange(len(targets)), targets]


@mutant(LOSS, "applies softmax twice", "Softmax is applied twice")
def _(logits, targets):
    return F.cross_entropy(logits.softmax(1), targets)


@mutant(LOSS, "takes log base 2", "in bits (log base 2)")
def _(logits, targets):
    return -chosen(logits, targets).log2().mean()


@mutant(LOSS, "takes log base 10", "the logarithm to base 10")
def _(logits, targets):
    return -chosen(logits, targets).log10().mean()


@mutant(LOSS, "sums instead of averaging", "the sum over the rows")
def _(logits, targets):
    return -chosen(logits, targets).log().sum()


@mutant(LOSS, "averages over all N × V places", "divide by the N rows")
def _(logits, targets):
    return -(F.one_hot(targets, logits.shape[1]) * logits.log_softmax(1)).mean()


@mutant(LOSS, "forgets the minus sign", "The sign is missing")
def _(logits, targets):
    return chosen(logits, targets).log().mean()


@mutant(LOSS, "takes softmax over the wrong axis", "Softmax runs over the N rows")
def _(logits, targets):
    return -chosen(logits, targets, dim=0).log().mean()


@mutant(LOSS, "lets the exponential overflow", "subtract each row's maximum first")
def _(logits, targets):
    e = logits.exp()
    p = e / e.sum(dim=1, keepdim=True)
    return -p[torch.arange(len(targets)), targets].log().mean()


@mutant(LOSS, "lets `math.exp` overflow", "subtract each row's maximum first")
def _(logits, targets):
    losses = []
    for row, target in zip(logits.tolist(), targets.tolist(), strict=True):
        losses.append(math.log(sum(math.exp(value) for value in row)) - row[target])
    return sum(losses) / len(losses)


@mutant(LOSS, "forgets the logarithm", "the mean probability of the targets")
def _(logits, targets):
    return -chosen(logits, targets).mean()


@mutant(LOSS, "averages before the logarithm", "The mean is taken before the logarithm")
def _(logits, targets):
    return -chosen(logits, targets).mean().log()


@mutant(LOSS, "uses the raw logit", "The raw logit is used")
def _(logits, targets):
    return -logits.gather(1, targets[:, None]).mean()


@mutant(LOSS, "returns one loss a row", "of shape (3,), but a float")
def _(logits, targets):
    return -chosen(logits, targets).log()


# 8.4 next_token_pairs


@solution(PAIRS)
def _(ids, start, length):
    return ids[start : start + length], ids[start + 1 : start + length + 1]


@solution(PAIRS)
def _(ids, start, length):
    window = [int(ids[start + i]) for i in range(length + 1)]
    return torch.tensor(window[:-1]), torch.tensor(window[1:])


@mutant(PAIRS, "returns the input as its own target", "`y` is the same as `x`")
def _(ids, start, length):
    return ids[start : start + length], ids[start : start + length]


@mutant(PAIRS, "shifts by two", "two tokens further")
def _(ids, start, length):
    return ids[start : start + length], ids[start + 2 : start + length + 2]


@mutant(PAIRS, "shifts backwards", "one token back")
def _(ids, start, length):
    return ids[start : start + length], ids[start - 1 : start + length - 1]


@mutant(PAIRS, "makes y one token short", "`y` is one token short")
def _(ids, start, length):
    return ids[start : start + length], ids[start + 1 : start + length]


@mutant(PAIRS, "makes x one token long", "`x` is one token too long")
def _(ids, start, length):
    return ids[start : start + length + 1], ids[start + 1 : start + length + 1]


@mutant(PAIRS, "makes both one token long", "Both are one token too long")
def _(ids, start, length):
    return ids[start : start + length + 1], ids[start + 1 : start + length + 2]


@mutant(PAIRS, "makes both one token short", "Both are one token short")
def _(ids, start, length):
    window = ids[start : start + length]
    return window[:-1], window[1:]


@mutant(PAIRS, "always starts at 0", "`start` is ignored")
def _(ids, start, length):
    return ids[:length], ids[1 : length + 1]


@mutant(PAIRS, "ends the slice at length", "ends at `start + length`")
def _(ids, start, length):
    return ids[start:length], ids[start + 1 : length + 1]


@mutant(PAIRS, "swaps x and y", "are swapped")
def _(ids, start, length):
    return ids[start + 1 : start + length + 1], ids[start : start + length]


@mutant(
    PAIRS, "wraps around at the end of the ids", "expected `(tensor([1, 9, 2]), tensor([9, 2, 7]))`"
)
def _(ids, start, length):
    last = len(ids) - 1
    places = torch.arange(start, start + length)
    return ids[places], ids[(places + 1) % last]


@mutant(PAIRS, "returns floating-point ids", "is a float32 tensor of shape (3,), but an int64")
def _(ids, start, length):
    return ids[start : start + length].float(), ids[start + 1 : start + length + 1].float()


@mutant(PAIRS, "returns x only", "is an int64 tensor of shape (3,), but a tuple")
def _(ids, start, length):
    return ids[start : start + length]


# 8.2 impossible_text

GIVEN[IMPOSSIBLE] = (
    torch.tensor([[0.0, 40.0, 0.0, 10.0], [6.0, 0.0, 3.0, 0.0], [9.0, 1.0, 0.0, 0.0], [0.0] * 4]),
    "abcz",
)


@solution(IMPOSSIBLE)
def _(counts, characters):
    row, column = (counts == 0).nonzero()[0].tolist()
    return characters[row] + characters[column]


@solution(IMPOSSIBLE)
def _(counts, characters):
    return "bz"


@mutant(IMPOSSIBLE, "takes a pair that was seen", "was seen, 6 of 9 times")
def _(counts, characters):
    return "ba"


@mutant(IMPOSSIBLE, "takes the most frequent pair", "was seen, 40 of 50 times")
def _(counts, characters):
    row, column = divmod(int(counts.argmax()), len(characters))
    return characters[row] + characters[column]


@mutant(IMPOSSIBLE, "takes the rarest pair that was seen", "was seen, 1 of 10 times")
def _(counts, characters):
    counts = counts.masked_fill(counts == 0, float(counts.max()))
    row, column = divmod(int(counts.argmin()), len(characters))
    return characters[row] + characters[column]


@mutant(IMPOSSIBLE, "mixes up row and column", "was seen, 3 of 9 times")
def _(counts, characters):
    return "bc"


@mutant(IMPOSSIBLE, "returns one character", "has 1")
def _(counts, characters):
    return "z"


@mutant(IMPOSSIBLE, "returns three characters", "has 3")
def _(counts, characters):
    return "aab"


@mutant(IMPOSSIBLE, "uses a character the table does not know", "is not in `characters`")
def _(counts, characters):
    return "aé"


@mutant(IMPOSSIBLE, "starts with a character nothing follows", "Nothing ever follows")
def _(counts, characters):
    return "za"


@mutant(IMPOSSIBLE, "returns the ids", "Return the characters, joined in one str")
def _(counts, characters):
    return (counts == 0).nonzero()[0].tolist()


@mutant(IMPOSSIBLE, "returns a tuple of characters", "is a tuple, but a str")
def _(counts, characters):
    return "a", "a"


# 8.5 sample_next


@solution(SAMPLE)
def sampled(logits, temperature, generator):
    probabilities = torch.softmax(logits / temperature, dim=0)
    return torch.multinomial(probabilities, 1, generator=generator).item()


@solution(SAMPLE)
def _(logits, temperature, generator):
    noise = -torch.log(-torch.log(torch.rand(len(logits), generator=generator)))
    return torch.argmax(logits / temperature + noise)  # a tensor without dimensions


@solution(SAMPLE)
def _(logits, temperature, generator):
    cumulative = torch.cumsum(torch.softmax(logits / temperature, dim=0), dim=0)
    point = torch.rand(1, generator=generator)
    return min(int((cumulative < point).sum()), len(logits) - 1)


@mutant(SAMPLE, "always takes the likeliest", "The likeliest token comes every time")
def _(logits, temperature, generator):
    return int(logits.argmax())


@mutant(SAMPLE, "multiplies by the temperature", "multiplied by the temperature")
def _(logits, temperature, generator):
    return sampled(logits, 1 / temperature, generator)


@mutant(SAMPLE, "ignores the temperature", "The temperature has no effect")
def _(logits, temperature, generator):
    return sampled(logits, 1.0, generator)


@mutant(SAMPLE, "divides the probabilities by the temperature", "The temperature has no effect")
def _(logits, temperature, generator):
    return torch.multinomial(logits.softmax(0) / temperature, 1, generator=generator).item()


@mutant(SAMPLE, "ignores the generator", "pass `generator` on")
def _(logits, temperature, generator):
    return torch.multinomial(torch.softmax(logits / temperature, dim=0), 1).item()


@mutant(SAMPLE, "sets a seed of its own each time", "a new seed set inside")
def _(logits, temperature, generator):
    return sampled(logits, temperature, generator.manual_seed(2))


@mutant(SAMPLE, "draws from the logits without softmax", "softmax is missing")
def _(logits, temperature, generator):
    return torch.multinomial(logits / temperature, 1, generator=generator).item()


@mutant(SAMPLE, "draws from log-probabilities", "Are these probabilities?")
def _(logits, temperature, generator):
    weights = torch.log_softmax(logits / temperature, dim=0)
    return torch.multinomial(weights, 1, generator=generator).item()


@mutant(SAMPLE, "draws all tokens equally often", "All tokens come equally often")
def _(logits, temperature, generator):
    return int(torch.randint(len(logits), (1,), generator=generator))


@mutant(SAMPLE, "returns a tensor of shape (1,)", "`.item()` turns a tensor of one element")
def _(logits, temperature, generator):
    return torch.multinomial(torch.softmax(logits / temperature, dim=0), 1, generator=generator)


@mutant(SAMPLE, "returns the probability", "is a float, but an int")
def _(logits, temperature, generator):
    return torch.softmax(logits / temperature, dim=0)[0].item()


@mutant(SAMPLE, "counts tokens from 1", "is no token")
def _(logits, temperature, generator):
    return sampled(logits, temperature, generator) + 1


@mutant(SAMPLE, "divides the logits in place", "changes its argument `logits` in place")
def _(logits, temperature, generator):
    logits /= temperature
    return sampled(logits, 1.0, generator)
