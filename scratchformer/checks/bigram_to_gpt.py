"""Checks for the exercises of chapter 8, from a bigram table to a GPT."""

import math
from itertools import pairwise

import torch
from torch.nn import functional as F

from scratchformer.checks.first_edition import Call, Wrong, exercise, expect


@exercise("8.1", "ids, vocab_size")
def bigram_counts(call: Call) -> None:
    """bigram_counts(ids: (N,) int64, vocab_size) -> (V, V) counts, row = current, column = next"""
    table = torch.tensor([[0, 2, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0]]).float()
    first, last, wrapped = table.clone(), table.clone(), table.clone()
    first[2, 0] -= 1
    last[2, 2] -= 1
    wrapped[2, 2] += 1
    chances = "These are probabilities: return the counts themselves"
    call(torch.tensor([2, 0, 1, 0, 1, 2, 2]), 4).gives(
        table,
        (table.T, "The table is transposed: the row is the current token, the column the next"),
        (
            table.clamp(max=1),
            "A pair seen twice counts once. `counts[a, b] += 1` with whole tensors writes each "
            "place once: use a loop, `bincount` or `index_put_(…, accumulate=True)`",
        ),
        (last, "The last pair is missed: N tokens make N − 1 pairs"),
        (first, "The first pair is missed: N tokens make N − 1 pairs"),
        (wrapped, "The last token is paired with the first: a text does not wrap around"),
        (table + 1, "Each count is one too high: no smoothing here"),
        (table / table.sum(1, keepdim=True), chances),
        (table / table.sum(1, keepdim=True).clamp(min=1), chances),
        (table / table.sum(), chances),
        (table[:3, :3], "The table is vocab_size × vocab_size, also for tokens never seen"),
    )
    ids = torch.randint(5, (300,), generator=torch.Generator().manual_seed(1))
    expected = torch.zeros(5, 5)
    for a, b in pairwise(ids.tolist()):
        expected[a, b] += 1
    call(ids, 5).gives(expected)


@exercise("8.3", "logits, targets")
def cross_entropy(call: Call) -> None:
    """cross_entropy(logits: (N, V), targets: (N,)) -> mean loss in nats, a single number"""
    logits = torch.tensor([[2.0, 0.5, -1.0, 0.0], [0.1, 1.5, 0.3, -2.0], [-0.5, 0.0, 1.0, 3.0]])
    targets = torch.tensor([0, 2, 3])
    rows = torch.arange(3)
    right = F.cross_entropy(logits, targets).item()
    chosen = logits.softmax(1)[rows, targets]
    chance = (
        "This is the mean probability of the targets: take the logarithm of each, and its minus"
    )
    mistakes = [
        (F.cross_entropy(logits.softmax(1), targets), "Softmax is applied twice"),
        (right / math.log(2), "This is in bits (log base 2): nats need the natural logarithm"),
        (right / math.log(10), "This is the logarithm to base 10: nats need the natural one"),
        (right * 3, "This is the sum over the rows: return their mean"),
        (right / 4, "This is the mean over all N × V places: divide by the N rows"),
        (-right, "The sign is missing: log-probabilities are negative, the loss is positive"),
        (
            -logits.log_softmax(0)[rows, targets].mean(),
            "Softmax runs over the N rows: each row is a distribution over its V columns",
        ),
        (
            -logits.log_softmax(1)[:, targets].mean(),
            "Each row is read at every target: row i belongs to target i alone",
        ),
        (chosen.mean(), chance),
        (-chosen.mean(), chance),
        (1 - chosen.mean(), chance),
        (-chosen.mean().log(), "The mean is taken before the logarithm: take it after"),
        (
            -logits[rows, targets].mean(),
            "The raw logit is used: softmax (its logarithm) is missing",
        ),
    ]
    call(logits, targets).gives(right, *((float(wrong), why) for wrong, why in mistakes))
    overflow = "`exp(1000)` is more than a float can hold: subtract each row's maximum first"
    far = "The loss is finite here: subtract each row's own maximum, take no log of a softmax"
    for large, why in (
        (torch.tensor([[1000.0, 999.0, 998.0], [2.0, 0.0, 1.0]]), overflow),
        (torch.tensor([[1000.0, 0.0, 0.0], [-1000.0, -1000.0, -1000.0]]), far),
    ):
        call(large, torch.tensor([1, 0])).gives(
            F.cross_entropy(large, torch.tensor([1, 0])).item(),
            (math.nan, why),
            (math.inf, why),
            (OverflowError, why),
        )
    logits = torch.randn(7, 5, generator=torch.Generator().manual_seed(2))
    targets = torch.arange(7) % 5
    call(logits, targets).gives(F.cross_entropy(logits, targets).item())


@exercise("8.4", "ids, start, length")
def next_token_pairs(call: Call) -> None:
    """next_token_pairs(ids: (N,), start: int, length: int) -> (x, y), each (length,)"""
    ids = torch.tensor([5, 3, 8, 1, 9, 2, 7])
    x, y = ids[2:5], ids[3:6]
    call(ids, 2, 3).gives(
        (x, y),
        ((x, x), "`y` is the same as `x`: it must be one token further"),
        ((x, ids[4:7]), "`y` is two tokens further than `x`: one is right"),
        ((x, ids[1:4]), "`y` is one token back: the target is the token that follows"),
        ((x, ids[3:5]), "`y` is one token short: each token of `x` has a target"),
        ((ids[2:6], y), "`x` is one token too long"),
        ((ids[2:6], ids[3:7]), "Both are one token too long"),
        ((ids[2:4], ids[3:5]), "Both are one token short"),
        ((ids[:3], ids[1:4]), "`start` is ignored: the window begins at the first token"),
        ((ids[2:3], ids[3:4]), "A slice ends at `start + length`, not at `length`"),
        ((y, x), "`x` and `y` are swapped"),
        ((x, ids[5]), "`y` is a single token: each token of `x` has a target"),
        ((x, ids[5:]), "`y` is the block after `x`: it begins one token after `x` begins"),
    )
    call(ids, 3, 3).gives((ids[3:6], ids[4:7]))
    call(ids, 0, 1).gives((ids[:1], ids[1:2]))


@exercise("8.2", "counts, characters")
def impossible_text(call: Call, counts: torch.Tensor, characters: str) -> str:
    """impossible_text(counts: (V, V), characters: str) -> two characters never seen as a pair"""
    text = call(counts, characters).like("ab", "Return the characters, joined in one str.")
    expect(len(text) == 2, f"Two characters make a pair, but `{text!r:.60}` has {len(text)}.")
    for character in text:
        known = (
            f"The character `{character!r}` is not in `characters`: the table has no row for it."
        )
        expect(character in characters, known)
    row = counts[characters.index(text[0])]
    seen, total = int(row[characters.index(text[1])]), int(row.sum())
    if seen:
        chance = (
            f"its probability is {seen / total:.2g}, its loss {-math.log(seen / total):.2f} nats"
        )
        raise Wrong(f"The pair `{text!r}` was seen, {seen:,} of {total:,} times: {chance}.")
    nothing = (
        f"Nothing ever follows `{text[0]!r}`, and 0/0 is no probability: choose another first."
    )
    expect(total, nothing)
    return (
        f"`{text[0]!r}` was followed {total:,} times, never by `{text[1]!r}`: "
        "probability 0, infinite loss."
    )


@exercise("8.5", "logits, temperature, generator")
def sample_next(call: Call) -> None:
    """sample_next(logits: (V,), temperature: float, generator: torch.Generator) -> int

    A whole number is needed; a tensor without dimensions counts as one, shape (1,) does not.
    All generators are seeded here, so the verdict is always the same.
    """
    logits = torch.tensor([2.5, 1.5, 0.5, 0.25])

    def draws(temperature: float, seed: int, count: int) -> list[int]:
        generator = torch.Generator().manual_seed(seed)
        tokens = []
        for _ in range(count):
            answer = call(logits, temperature, generator)
            if isinstance(answer.error, RuntimeError) and "prob" in str(answer.error):
                raise Wrong(f"Are these probabilities? Softmax comes first.\n{answer.failure()}")
            tokens.append(answer.like(0, "`.item()` turns a tensor of one element into an int."))
            outside = f"`{tokens[-1]}` is no token: 0 to {len(logits) - 1} are."
            expect(0 <= tokens[-1] < len(logits), outside)
        return tokens

    one, again, other = draws(1.0, 1, 30), draws(1.0, 1, 30), draws(1.0, 2, 30)
    if len({*one, *other}) == 1:
        expect(
            one[0] != 0,
            "The likeliest token comes every time: draw at random, and set no seed inside.",
        )
        raise Wrong(f"Token {one[0]} comes every time: is a new seed set inside the function?")
    same = "Two generators with equal seeds give different tokens: pass `generator` on to the draw."
    expect(one == again, same)
    expect(
        one != other, "Generators with different seeds give the same tokens: is a seed set inside?"
    )

    for temperature in (0.5, 2.0):
        tokens = torch.tensor(draws(temperature, 3, 500))
        shares = torch.bincount(tokens, minlength=4) / len(tokens)
        right = (logits / temperature).softmax(0)
        expect_not = [
            (torch.full((4,), 0.25), "All tokens come equally often: the logits are not used"),
            ((logits * temperature).softmax(0), "Logits are multiplied by the temperature: divide"),
            (logits.softmax(0), "The temperature has no effect: divide the logits by it"),
            (
                logits / logits.sum(),
                "The logits themselves are used as weights: softmax is missing",
            ),
        ]
        figures = ", ".join(f"{share:.2f}" for share in shares)
        wanted = ", ".join(f"{share:.2f}" for share in right)
        shown = (
            f"At temperature {temperature:g} the tokens' shares are {figures}, expected {wanted}."
        )
        if (shares - right).abs().max() > 0.07:
            for wrong, why in expect_not:
                expect((shares - wrong).abs().max() > 0.07, f"{why}.\n{shown}")
            raise Wrong(shown)
