"""The exercises of chapter 10, from a bigram table to a GPT."""

import math
from itertools import pairwise

import torch
from torch.nn import functional as F

from scratchformer.checks.engine import exercise
from scratchformer.checks.verdict import Wrong, expect


def _generator(seed):
    return torch.Generator().manual_seed(seed)


@exercise("10.1")
class bigram_counts:
    """bigram_counts(ids: (N,) int64, vocab_size) -> (V, V) counts, row = current, column = next"""

    cases = (
        (torch.tensor([2, 0, 1, 0, 1, 2, 2]), 4),
        (torch.randint(5, (300,), generator=_generator(1)), 5),
    )

    def right(ids, vocab_size):
        counts = torch.zeros(vocab_size, vocab_size)
        for a, b in pairwise(ids.tolist()):
            counts[a, b] += 1
        return counts

    def also(ids, vocab_size):
        codes = ids[:-1] * vocab_size + ids[1:]
        return torch.bincount(codes, minlength=vocab_size**2).view(vocab_size, vocab_size)

    def also_index_put(ids, vocab_size):
        counts = torch.zeros(vocab_size, vocab_size, dtype=torch.int32)
        one = torch.tensor(1, dtype=torch.int32)
        return counts.index_put_((ids[:-1], ids[1:]), one, accumulate=True)

    def swaps_rows_and_columns(ids, vocab_size):
        """The table is transposed: the row is the current token, the column the next"""
        return bigram_counts.right(ids, vocab_size).T

    def adds_1_with_whole_tensors_which_drops_repeats(ids, vocab_size):
        """A pair seen twice counts once. `counts[a, b] += 1` with whole tensors writes each place
        once: use a loop, `bincount` or `index_put_(…, accumulate=True)`"""
        counts = torch.zeros(vocab_size, vocab_size)
        counts[ids[:-1], ids[1:]] += 1
        return counts

    def misses_the_last_pair(ids, vocab_size):
        """The last pair is missed: N tokens make N − 1 pairs"""
        return bigram_counts.right(ids[:-1], vocab_size)

    def misses_the_first_pair(ids, vocab_size):
        """The first pair is missed: N tokens make N − 1 pairs"""
        return bigram_counts.right(ids[1:], vocab_size)

    def pairs_the_last_token_with_the_first(ids, vocab_size):
        """The last token is paired with the first: a text does not wrap around"""
        return bigram_counts.right(torch.cat((ids, ids[:1])), vocab_size)

    def adds_1_to_every_count(ids, vocab_size):
        """Each count is one too high: no smoothing here"""
        return bigram_counts.right(ids, vocab_size) + 1

    def divides_each_row_by_its_sum(ids, vocab_size):
        """These are probabilities: return the counts themselves"""
        counts = bigram_counts.right(ids, vocab_size)
        return counts / counts.sum(dim=1, keepdim=True)

    def divides_each_row_by_its_sum_but_never_by_0(ids, vocab_size):
        counts = bigram_counts.right(ids, vocab_size)
        return counts / counts.sum(dim=1, keepdim=True).clamp(min=1)

    def divides_by_the_sum_of_all(ids, vocab_size):
        return bigram_counts.right(ids, vocab_size) / (len(ids) - 1)

    def sizes_the_table_by_the_largest_id_seen(ids, vocab_size):
        """The table is vocab_size × vocab_size, also for tokens never seen"""
        return bigram_counts.right(ids, int(ids.max()) + 1)

    def counts_single_tokens(ids, vocab_size):
        """Single tokens are counted: count pairs"""
        return torch.bincount(ids, minlength=vocab_size)

    def returns_nested_lists(ids, vocab_size):
        """… is a list, but a float32 tensor"""
        return bigram_counts.right(ids, vocab_size).tolist()


@exercise("10.2")
class impossible_text:
    """impossible_text(counts: (V, V), characters: str) -> two characters never seen as a pair"""

    _counts = torch.tensor(
        [[0.0, 40.0, 0.0, 10.0], [6.0, 0.0, 3.0, 0.0], [9.0, 1.0, 0.0, 0.0], [0.0] * 4]
    )
    given = (_counts, "abcz")

    def judge(call, counts, characters):
        text = call(counts, characters).like("ab", "Return the characters, joined in one str.")
        expect(len(text) == 2, f"Two characters make a pair, but `{text!r:.60}` has {len(text)}.")
        for character in text:
            unknown = f"The character `{character!r}` is not in `characters`"
            expect(character in characters, f"{unknown}: the table has no row for it.")
        row = counts[characters.index(text[0])]
        seen, total = int(row[characters.index(text[1])]), int(row.sum())
        if seen:
            p = seen / total
            chance = f"its probability is {p:.2g}, its loss {-math.log(p):.2f} nats"
            raise Wrong(f"The pair `{text!r}` was seen, {seen:,} of {total:,} times: {chance}.")
        nothing = f"Nothing ever follows `{text[0]!r}`, and 0/0 is no probability"
        expect(total, f"{nothing}: choose another first.")
        followed = f"`{text[0]!r}` was followed {total:,} times, never by `{text[1]!r}`"
        return f"{followed}: probability 0, infinite loss."

    def right(counts, characters):
        row, column = (counts == 0).nonzero()[0].tolist()
        return characters[row] + characters[column]

    def also(counts, characters):
        return "bz"

    def takes_a_pair_that_was_seen(counts, characters):
        """… was seen, 6 of 9 times"""
        return "ba"

    def takes_the_most_frequent_pair(counts, characters):
        """… was seen, 40 of 50 times"""
        row, column = divmod(int(counts.argmax()), len(characters))
        return characters[row] + characters[column]

    def takes_the_rarest_pair_that_was_seen(counts, characters):
        """… was seen, 1 of 10 times"""
        seen = counts.masked_fill(counts == 0, float(counts.max()))
        row, column = divmod(int(seen.argmin()), len(characters))
        return characters[row] + characters[column]

    def mixes_up_row_and_column(counts, characters):
        """… was seen, 3 of 9 times"""
        return "bc"

    def returns_one_character(counts, characters):
        """… has 1"""
        return "z"

    def returns_three_characters(counts, characters):
        """… has 3"""
        return "aab"

    def uses_a_character_the_table_does_not_know(counts, characters):
        """… is not in `characters`"""
        return "aé"

    def starts_with_a_character_nothing_follows(counts, characters):
        """… Nothing ever follows"""
        return "za"

    def returns_the_ids(counts, characters):
        """… Return the characters, joined in one str"""
        return (counts == 0).nonzero()[0].tolist()

    def returns_a_tuple_of_characters(counts, characters):
        """… is a tuple, but a str"""
        return "a", "a"


def _probabilities(logits, targets, dim=1):
    """The probability of each row's target."""
    return logits.softmax(dim)[torch.arange(len(targets)), targets]


@exercise("10.3")
class cross_entropy:
    """cross_entropy(logits: (N, V), targets: (N,)) -> mean loss in nats, a single number"""

    _logits = ((2.0, 0.5, -1.0, 0.0), (0.1, 1.5, 0.3, -2.0), (-0.5, 0.0, 1.0, 3.0))
    cases = (
        (torch.tensor(_logits), torch.tensor([0, 2, 3])),
        (torch.tensor([[1000.0, 999.0, 998.0], [2.0, 0.0, 1.0]]), torch.tensor([1, 0])),
        (torch.tensor([[1000.0, 0.0, 0.0], [-1000.0] * 3]), torch.tensor([1, 0])),
        (torch.randn(7, 5, generator=_generator(2)), torch.arange(7) % 5),
    )

    def right(logits, targets):
        return F.cross_entropy(logits, targets).item()

    def also(logits, targets):
        shifted = logits - logits.max(dim=1, keepdim=True).values
        log_probabilities = shifted - shifted.exp().sum(dim=1, keepdim=True).log()
        return -log_probabilities[torch.arange(len(targets)), targets].mean()

    def also_without_torch(logits, targets):
        total = 0.0
        for row, target in zip(logits.tolist(), targets.tolist(), strict=True):
            top = max(row)
            total += math.log(sum(math.exp(value - top) for value in row)) + top - row[target]
        return total / len(targets)

    def applies_softmax_twice(logits, targets):
        """Softmax is applied twice"""
        return F.cross_entropy(logits.softmax(dim=1), targets).item()

    def takes_log_base_2(logits, targets):
        """This is in bits (log base 2): nats need the natural logarithm"""
        return cross_entropy.right(logits, targets) / math.log(2)

    def takes_log_base_10(logits, targets):
        """This is the logarithm to base 10: nats need the natural one"""
        return cross_entropy.right(logits, targets) / math.log(10)

    def sums_instead_of_averaging(logits, targets):
        """This is the sum over the rows: return their mean"""
        return F.cross_entropy(logits, targets, reduction="sum").item()

    def averages_over_all_places(logits, targets):
        """This is the mean over all N × V places: divide by the N rows"""
        return cross_entropy.right(logits, targets) / logits.shape[1]

    def forgets_the_minus_sign(logits, targets):
        """The sign is missing: log-probabilities are negative, the loss is positive"""
        return -cross_entropy.right(logits, targets)

    def takes_softmax_over_the_wrong_axis(logits, targets):
        """Softmax runs over the N rows: each row is a distribution over its V columns"""
        return -_probabilities(logits, targets, dim=0).log().mean().item()

    def reads_each_row_at_every_target(logits, targets):
        """Each row is read at every target: row i belongs to target i alone"""
        return -logits.log_softmax(dim=1)[:, targets].mean().item()

    def forgets_the_logarithm(logits, targets):
        """This is the mean probability of the targets: take the logarithm of each, and its
        minus"""
        return -_probabilities(logits, targets).mean().item()

    def forgets_the_logarithm_and_its_minus(logits, targets):
        return _probabilities(logits, targets).mean().item()

    def subtracts_the_probability_from_1(logits, targets):
        return 1 - _probabilities(logits, targets).mean().item()

    def averages_before_the_logarithm(logits, targets):
        """The mean is taken before the logarithm: take it after"""
        return -_probabilities(logits, targets).mean().log().item()

    def uses_the_raw_logit(logits, targets):
        """The raw logit is used: softmax (its logarithm) is missing"""
        return -logits.gather(1, targets[:, None]).mean().item()

    def lets_the_exponential_overflow(logits, targets):
        """`exp(1000)` is more than a float can hold: subtract each row's maximum first"""
        e = logits.exp()
        p = e / e.sum(dim=1, keepdim=True)
        return -p[torch.arange(len(targets)), targets].log().mean().item()

    def lets_the_sum_of_exponentials_overflow(logits, targets):
        losses = logits.exp().sum(dim=1).log() - logits[torch.arange(len(targets)), targets]
        return losses.mean().item()

    def lets_math_exp_overflow(logits, targets):
        losses = []
        for row, target in zip(logits.tolist(), targets.tolist(), strict=True):
            losses.append(math.log(sum(math.exp(value) for value in row)) - row[target])
        return sum(losses) / len(losses)

    def takes_the_logarithm_of_a_softmax(logits, targets):
        """The loss is finite here: subtract each row's own maximum, take no log of a softmax"""
        return -_probabilities(logits, targets).log().mean().item()

    def subtracts_one_maximum_from_all_rows(logits, targets):
        z = logits - logits.max()
        losses = z.exp().sum(dim=1).log() - z[torch.arange(len(targets)), targets]
        return losses.mean().item()

    def adds_a_small_number_before_the_logarithm(logits, targets):
        """A small number inside the logarithm makes the loss of a rare target too small: subtract
        each row's maximum instead"""
        return -(_probabilities(logits, targets) + 1e-9).log().mean().item()

    def returns_one_loss_a_row(logits, targets):
        """… of shape (3,), but a float"""
        return F.cross_entropy(logits, targets, reduction="none")


@exercise("10.4")
class next_token_pairs:
    """next_token_pairs(ids: (N,), start: int, length: int) -> (x, y), each (length,)"""

    _ids = torch.tensor([5, 3, 8, 1, 9, 2, 7])
    cases = ((_ids, 2, 3), (_ids, 3, 3), (_ids, 0, 1))

    def right(ids, start, length):
        return ids[start : start + length], ids[start + 1 : start + length + 1]

    def also(ids, start, length):
        window = [int(ids[start + i]) for i in range(length + 1)]
        return torch.tensor(window[:-1]), torch.tensor(window[1:])

    def returns_the_input_as_its_own_target(ids, start, length):
        """`y` is the same as `x`: it must be one token further"""
        return ids[start : start + length], ids[start : start + length]

    def shifts_by_two(ids, start, length):
        """`y` is two tokens further than `x`: one is right"""
        return ids[start : start + length], ids[start + 2 : start + length + 2]

    def shifts_backwards(ids, start, length):
        """`y` is one token back: the target is the token that follows"""
        return ids[start : start + length], ids[start - 1 : start + length - 1]

    def makes_y_one_token_short(ids, start, length):
        """`y` is one token short: each token of `x` has a target"""
        return ids[start : start + length], ids[start + 1 : start + length]

    def makes_x_one_token_long(ids, start, length):
        """`x` is one token too long"""
        return ids[start : start + length + 1], ids[start + 1 : start + length + 1]

    def makes_both_one_token_long(ids, start, length):
        """Both are one token too long"""
        return next_token_pairs.right(ids, start, length + 1)

    def makes_both_one_token_short(ids, start, length):
        """Both are one token short"""
        return next_token_pairs.right(ids, start, length - 1)

    def always_starts_at_0(ids, start, length):
        """`start` is ignored: the window begins at the first token"""
        return next_token_pairs.right(ids, 0, length)

    def ends_the_slice_at_length(ids, start, length):
        """A slice ends at `start + length`, not at `length`"""
        return ids[start:length], ids[start + 1 : length + 1]

    def swaps_x_and_y(ids, start, length):
        """`x` and `y` are swapped"""
        return next_token_pairs.right(ids, start, length)[::-1]

    def takes_a_single_token_for_y(ids, start, length):
        """`y` is a single token: each token of `x` has a target"""
        return ids[start : start + length], ids[start + length]

    def takes_the_next_block_for_y(ids, start, length):
        """`y` is the block after `x`: it begins one token after `x` begins"""
        return ids[start : start + length], ids[start + length : start + 2 * length]

    def wraps_around_at_the_end_of_the_ids(ids, start, length):
        """The last token is never a target: nothing wraps around, and `y` may reach the end"""
        places = torch.arange(start, start + length)
        return ids[places], ids[(places + 1) % (len(ids) - 1)]

    def returns_floating_point_ids(ids, start, length):
        """… is a float32 tensor of shape (3,), but an int64"""
        return next_token_pairs.right(ids.float(), start, length)

    def returns_x_only(ids, start, length):
        """… is an int64 tensor of shape (3,), but a tuple"""
        return ids[start : start + length]


LOGITS = torch.tensor([2.5, 1.5, 0.5, 0.25])


def _draws(call, temperature, seed, count):
    """Many tokens drawn with one generator."""
    generator, tokens = _generator(seed), []
    for _ in range(count):
        call(LOGITS, temperature, generator)
        if isinstance(call.error, RuntimeError) and "prob" in str(call.error):
            raise Wrong(f"Are these probabilities? Softmax comes first.\n{call.failure()}")
        token = call.like(0, "`.item()` turns a tensor of one element into an int.")
        expect(0 <= token < len(LOGITS), f"`{token}` is no token: 0 to {len(LOGITS) - 1} are.")
        tokens.append(token)
    return tokens


def _expect_shares(tokens, temperature):
    """Raise `Wrong` unless the tokens come about as often as they should."""
    shares = torch.bincount(torch.tensor(tokens), minlength=len(LOGITS)) / len(tokens)

    def near(p):
        return (shares - p).abs().max() <= 0.07

    right = (LOGITS / temperature).softmax(dim=0)
    if near(right):
        return
    figures, wanted = (", ".join(f"{p:.2f}" for p in each) for each in (shares, right))
    shown = f"At temperature {temperature:g} the tokens' shares are {figures}, expected {wanted}."
    for wrong, why in (
        (torch.full((4,), 0.25), "All tokens come equally often: the logits are not used"),
        ((LOGITS * temperature).softmax(0), "Logits are multiplied by the temperature: divide"),
        (LOGITS.softmax(0), "The temperature has no effect: divide the logits by it"),
        (LOGITS / LOGITS.sum(), "The logits themselves are used as weights: softmax is missing"),
    ):
        expect(not near(wrong), f"{why}.\n{shown}")
    raise Wrong(shown)


@exercise("10.5")
class sample_next:
    """sample_next(logits: (V,), temperature: float, generator: torch.Generator) -> int

    A whole number is needed; a tensor without dimensions counts as one, shape (1,) does not.
    All generators are seeded here, so the verdict is always the same.
    """

    def judge(call):
        one, again, other = (_draws(call, 1.0, seed, 30) for seed in (1, 1, 2))
        if len({*one, *other}) == 1:
            likeliest = "The likeliest token comes every time"
            expect(one[0] != 0, f"{likeliest}: draw at random, and set no seed inside.")
            raise Wrong(f"Token {one[0]} comes every time: is a new seed set inside the function?")
        differ = "Two generators with equal seeds give different tokens"
        expect(one == again, f"{differ}: pass `generator` on to the draw.")
        alike = "Generators with different seeds give the same tokens: is a seed set inside?"
        expect(one != other, alike)
        for temperature in (0.5, 2.0):
            _expect_shares(_draws(call, temperature, 3, 500), temperature)

    def right(logits, temperature, generator):
        p = torch.softmax(logits / temperature, dim=0)
        return torch.multinomial(p, 1, generator=generator).item()

    def also_gumbel(logits, temperature, generator):
        noise = -torch.log(-torch.log(torch.rand(len(logits), generator=generator)))
        return torch.argmax(logits / temperature + noise)  # a tensor without dimensions

    def also_cumulative(logits, temperature, generator):
        cumulative = torch.cumsum(torch.softmax(logits / temperature, dim=0), dim=0)
        point = torch.rand(1, generator=generator)
        return min(int((cumulative < point).sum()), len(logits) - 1)

    def always_takes_the_likeliest(logits, temperature, generator):
        """… The likeliest token comes every time"""
        return int(logits.argmax())

    def multiplies_by_the_temperature(logits, temperature, generator):
        """… multiplied by the temperature"""
        return sample_next.right(logits, 1 / temperature, generator)

    def ignores_the_temperature(logits, temperature, generator):
        """… The temperature has no effect"""
        return sample_next.right(logits, 1.0, generator)

    def divides_the_probabilities_by_the_temperature(logits, temperature, generator):
        """… The temperature has no effect"""
        return torch.multinomial(logits.softmax(0) / temperature, 1, generator=generator).item()

    def ignores_the_generator(logits, temperature, generator):
        """… pass `generator` on"""
        return sample_next.right(logits, temperature, None)

    def sets_a_seed_of_its_own_each_time(logits, temperature, generator):
        """… a new seed set inside"""
        return sample_next.right(logits, temperature, generator.manual_seed(2))

    def draws_from_the_logits_without_softmax(logits, temperature, generator):
        """… softmax is missing"""
        return torch.multinomial(logits / temperature, 1, generator=generator).item()

    def draws_from_log_probabilities(logits, temperature, generator):
        """… Are these probabilities?"""
        weights = torch.log_softmax(logits / temperature, dim=0)
        return torch.multinomial(weights, 1, generator=generator).item()

    def draws_all_tokens_equally_often(logits, temperature, generator):
        """… All tokens come equally often"""
        return int(torch.randint(len(logits), (1,), generator=generator))

    def returns_a_tensor_of_shape_1(logits, temperature, generator):
        """… `.item()` turns a tensor of one element"""
        return torch.tensor([sample_next.right(logits, temperature, generator)])

    def returns_the_probability(logits, temperature, generator):
        """… is a float, but an int"""
        return torch.softmax(logits / temperature, dim=0)[0].item()

    def counts_tokens_from_1(logits, temperature, generator):
        """… is no token"""
        return sample_next.right(logits, temperature, generator) + 1

    def divides_the_logits_in_place(logits, temperature, generator):
        """… changes its argument `logits` in place"""
        logits /= temperature
        return sample_next.right(logits, 1.0, generator)
