"""The exercises of chapter 13, BERT."""

import math

import torch
from torch.nn import functional as F

from scratchformer.checks.engine import exercise
from scratchformer.checks.verdict import expect

IGNORED = -100


def _draws(T=400):
    """Ids 5 … 24 and what an exercise needs to hide some of them: chosen, lot, other."""
    g = torch.Generator().manual_seed(11)
    ids = torch.randint(5, 25, (2, T), generator=g)
    chosen = torch.rand(2, T, generator=g) < 0.3
    other = torch.randint(5, 25, (2, T), generator=g)
    return ids, chosen, torch.rand(2, T, generator=g), other


def _hidden(ids, chosen, lot, other, mask_id, mask_below=0.8, other_below=0.9):
    """The inputs of exercise 13.1; the mistakes vary the two limits."""
    inputs = ids.masked_fill(chosen & (lot < mask_below), mask_id)
    return torch.where(chosen & (lot >= mask_below) & (lot < other_below), other, inputs)


@exercise("13.1")
class hide:
    """hide(ids, chosen, lot, other: all (B, T), mask_id) -> (inputs, targets), both (B, T)"""

    _ids, _chosen, _lot, _other = _draws()
    _none = torch.zeros_like(_chosen)
    cases = ((_ids, _chosen, _lot, _other, 2), (_ids, _none, _lot, _other, 2))
    praise = "`hide` is right: 80 % masked, 10 % random, 10 % left, and targets only there."

    def right(ids, chosen, lot, other, mask_id):
        inputs = _hidden(ids, chosen, lot, other, mask_id)
        return inputs, ids.masked_fill(~chosen, IGNORED)

    def also(ids, chosen, lot, other, mask_id):
        inputs, targets = ids.clone(), torch.full_like(ids, IGNORED)
        for b, t in chosen.nonzero().tolist():
            targets[b, t] = ids[b, t]
            if lot[b, t] < 0.8:
                inputs[b, t] = mask_id
            elif lot[b, t] < 0.9:
                inputs[b, t] = other[b, t]
        return inputs, targets

    def explain(got, ids, chosen, lot, other, mask_id):
        """Tell the first rule that is broken, whatever the mistake."""
        shapes = [tuple(tensor.shape) for tensor in got]
        both = f"Return the inputs and the targets, both (B, T): the shapes are {shapes}."
        expect(shapes == [tuple(ids.shape)] * 2, both)
        inputs, targets = got
        late = chosen & (lot >= 0.9)
        why = "A place that was not chosen has the target -100: nothing is asked there."
        expect((targets[~chosen] == IGNORED).all(), why)
        why = "The target is the old token wherever `chosen`, also where it was not hidden."
        expect((targets == ids)[chosen].all(), why)
        why = "Tokens that were not chosen must stay as they are."
        expect((inputs == ids)[~chosen].all(), why)
        why = "Chosen tokens with `lot` below 0.8 become `mask_id`."
        expect((inputs == mask_id)[chosen & (lot < 0.8)].all(), why)
        why = "With `lot` from 0.8 to 0.9 a chosen token becomes the one in `other`."
        expect((inputs == other)[chosen & (lot >= 0.8) & ~late].all(), why)
        why = "With `lot` from 0.9 on a chosen token stays as it is."
        expect((inputs == ids)[late].all(), why)

    def targets_first(ids, chosen, lot, other, mask_id):
        """Inputs first, then the targets"""
        return hide.right(ids, chosen, lot, other, mask_id)[::-1]

    def hides_all_that_were_chosen(ids, chosen, lot, other, mask_id):
        """All chosen tokens became the mask: only those with `lot` below 0.8"""
        return ids.masked_fill(chosen, mask_id), ids.masked_fill(~chosen, IGNORED)

    def targets_from_the_inputs(ids, chosen, lot, other, mask_id):
        """The target of a hidden token is the mask itself: take targets from the old `ids`"""
        inputs = _hidden(ids, chosen, lot, other, mask_id)
        return inputs, inputs.masked_fill(~chosen, IGNORED)

    def targets_everywhere(ids, chosen, lot, other, mask_id):
        """… nothing is asked there"""
        return _hidden(ids, chosen, lot, other, mask_id), ids

    def targets_only_where_the_mask_stands(ids, chosen, lot, other, mask_id):
        """… also where it was not hidden"""
        inputs = _hidden(ids, chosen, lot, other, mask_id)
        return inputs, ids.masked_fill(inputs != mask_id, IGNORED)

    def the_lot_decides_for_all_tokens(ids, chosen, lot, other, mask_id):
        """… must stay as they are"""
        inputs = _hidden(ids, torch.ones_like(chosen), lot, other, mask_id)
        return inputs, ids.masked_fill(~chosen, IGNORED)

    def masks_20_percent(ids, chosen, lot, other, mask_id):
        """… with `lot` below 0.8 become"""
        inputs = _hidden(ids, chosen, lot, other, mask_id, mask_below=0.2)
        return inputs, ids.masked_fill(~chosen, IGNORED)

    def no_random_tokens(ids, chosen, lot, other, mask_id):
        """… becomes the one in `other`"""
        inputs = _hidden(ids, chosen, lot, other, mask_id, other_below=0.8)
        return inputs, ids.masked_fill(~chosen, IGNORED)

    def no_token_stays_as_it_is(ids, chosen, lot, other, mask_id):
        """… from 0.9 on a chosen token stays"""
        inputs = _hidden(ids, chosen, lot, other, mask_id, other_below=1)
        return inputs, ids.masked_fill(~chosen, IGNORED)

    def drops_the_batch_axis(ids, chosen, lot, other, mask_id):
        """… both (B, T)"""
        return [tensor.flatten() for tensor in hide.right(ids, chosen, lot, other, mask_id)]


def _filled(ids, segments, length, pad_id, pad_segment=0):
    """The three lists of exercise 13.2, filled up to `length`; `real` as 0 and 1."""
    pads = length - len(ids)
    real = [1] * len(ids) + [0] * pads
    return ids + [pad_id] * pads, segments + [pad_segment] * pads, real


@exercise("13.2")
class pair_input:
    """pair_input(a, b: lists, length, cls_id, sep_id, pad_id) -> (ids, segments, real), lists"""

    cases = (
        ([7, 8], [9], 8, 1, 2, 0),
        ([5], [6, 5, 7], 9, 11, 12, 3),
        ([4, 5], [6], 6, 1, 2, 0),
    )

    def right(a, b, length, cls_id, sep_id, pad_id):
        segments = [0] * (len(a) + 2) + [1] * (len(b) + 1)
        return _filled([cls_id, *a, sep_id, *b, sep_id], segments, length, pad_id)

    def also(a, b, length, cls_id, sep_id, pad_id):
        ids, segments = [pad_id] * length, [0] * length
        tokens = [(cls_id, 0), *((t, 0) for t in a), (sep_id, 0), *((t, 1) for t in b), (sep_id, 1)]
        for i, (token, segment) in enumerate(tokens):
            ids[i], segments[i] = token, segment
        return ids, segments, [i < len(tokens) for i in range(length)]

    def no_separator_at_the_end(a, b, length, cls_id, sep_id, pad_id):
        """`b` ends in `sep_id`"""
        segments = [0] * (len(a) + 2) + [1] * len(b)
        return _filled([cls_id, *a, sep_id, *b], segments, length, pad_id)

    def no_class_token(a, b, length, cls_id, sep_id, pad_id):
        """`cls_id` comes first"""
        segments = [0] * (len(a) + 1) + [1] * (len(b) + 1)
        return _filled([*a, sep_id, *b, sep_id], segments, length, pad_id)

    def the_first_separator_belongs_to_b(a, b, length, cls_id, sep_id, pad_id):
        """The separator behind `a` ends segment 0: it belongs to `a`"""
        segments = [0] * (len(a) + 1) + [1] * (len(b) + 2)
        return _filled([cls_id, *a, sep_id, *b, sep_id], segments, length, pad_id)

    def one_segment_for_all(a, b, length, cls_id, sep_id, pad_id):
        """`segments` is 1 for `b` and the separator behind it"""
        ids, _, real = pair_input.right(a, b, length, cls_id, sep_id, pad_id)
        return ids, [0] * length, real

    def padding_in_segment_1(a, b, length, cls_id, sep_id, pad_id):
        """Padding belongs to no segment: it gets a 0"""
        segments = [0] * (len(a) + 2) + [1] * (len(b) + 1)
        return _filled([cls_id, *a, sep_id, *b, sep_id], segments, length, pad_id, pad_segment=1)

    def real_upside_down(a, b, length, cls_id, sep_id, pad_id):
        """`real` is the wrong way round: True where a token stands, False at padding"""
        ids, segments, real = pair_input.right(a, b, length, cls_id, sep_id, pad_id)
        return ids, segments, [1 - r for r in real]

    def padding_is_real(a, b, length, cls_id, sep_id, pad_id):
        """`real` is False where padding stands"""
        ids, segments, _ = pair_input.right(a, b, length, cls_id, sep_id, pad_id)
        return ids, segments, [1] * length

    def padding_in_front(a, b, length, cls_id, sep_id, pad_id):
        """Padding goes to the end, or every position changes with it"""
        n = len(a) + len(b) + 3
        parts = pair_input.right(a, b, length, cls_id, sep_id, pad_id)
        return tuple(part[n:] + part[:n] for part in parts)

    def padding_in_front_of_the_ids_alone(a, b, length, cls_id, sep_id, pad_id):
        n = len(a) + len(b) + 3
        ids, segments, real = pair_input.right(a, b, length, cls_id, sep_id, pad_id)
        return ids[n:] + ids[:n], segments, real

    def pads_with_0(a, b, length, cls_id, sep_id, pad_id):
        """The padding is 0 whatever `pad_id` is"""
        return pair_input.right(a, b, length, cls_id, sep_id, 0)

    def does_not_fill_up(a, b, length, cls_id, sep_id, pad_id):
        """The lists are shorter than `length`: fill up to it"""
        return pair_input.right(a, b, len(a) + len(b) + 3, cls_id, sep_id, pad_id)


LOGITS = torch.randn(2, 6, 5, generator=torch.Generator().manual_seed(3))
TARGETS = torch.tensor([[4, -100, -100, 1, -100, -100], [-100, -100, 2, -100, -100, -100]])


def _mean_surprise(logits, targets):
    return F.cross_entropy(logits.mT, targets, ignore_index=IGNORED).item()


@exercise("13.3")
class masked_loss:
    """masked_loss(logits: (B, T, V), targets: (B, T)) -> mean over targets that are not -100"""

    cases = ((LOGITS, TARGETS), (LOGITS, torch.full((2, 6), IGNORED)))

    def right(logits, targets):
        return _mean_surprise(logits, targets) if (targets != IGNORED).any() else 0.0

    def also(logits, targets):
        total, n = 0.0, 0
        for z, target in zip(logits.flatten(0, 1), targets.flatten().tolist(), strict=True):
            if target >= 0:
                total, n = total - z.log_softmax(0)[target].item(), n + 1
        return total / max(n, 1)

    def nan_without_targets(logits, targets):
        """Nothing was chosen: the loss is 0, not 0 divided by 0"""
        return _mean_surprise(logits, targets)

    def fails_without_targets(logits, targets):
        total = F.cross_entropy(logits.mT, targets, reduction="sum").item()
        return total / int((targets != IGNORED).sum())

    def returns_the_sum(logits, targets):
        """This is the sum: divide by the number of targets"""
        return F.cross_entropy(logits.mT, targets, reduction="sum").item()

    def divides_by_all_places(logits, targets):
        """Divide by the targets, not by all places"""
        return F.cross_entropy(logits.mT, targets, reduction="none").mean().item()

    def mean_of_the_rows_means(logits, targets):
        """A mean of each row's mean: a row with more targets must weigh more"""
        rows = [_mean_surprise(z[None], t[None]) for z, t in zip(logits, targets, strict=True)]
        return sum(rows) / len(rows)

    def reads_minus_100_as_token_0(logits, targets):
        """Places with -100 are no targets: leave them out"""
        return _mean_surprise(logits, targets.clamp(min=0))

    def indexes_with_minus_100(logits, targets):
        """-100 is no token: choose the places with a target before you look it up"""
        rows = logits.log_softmax(-1).flatten(0, 1)
        return -rows[torch.arange(len(rows)), targets.flatten()].mean()

    def gathers_with_minus_100(logits, targets):
        return -logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).mean()

    def wrong_sign(logits, targets):
        """The sign is wrong: surprise is −ln p"""
        return -masked_loss.right(logits, targets)

    def bits(logits, targets):
        """These are bits: take the natural logarithm"""
        return masked_loss.right(logits, targets) / math.log(2)


def _guesses():
    """Logits (3, 10, 4) whose best guesses are random, and targets at some of the places."""
    g = torch.Generator().manual_seed(4)
    guesses, old = torch.randint(4, (2, 3, 10), generator=g)
    logits = F.one_hot(guesses, 4) + torch.rand(3, 10, 4, generator=g) / 2
    return logits, old.masked_fill(torch.rand(3, 10, generator=g) >= 0.4, IGNORED)


@exercise("13.4")
class blanks_filled:
    """blanks_filled(logits: (B, T, V), targets: (B, T)) -> share of targets that are predicted"""

    cases = (_guesses(),)

    def right(logits, targets):
        asked = targets != IGNORED
        return (logits.argmax(dim=-1) == targets)[asked].float().mean().item()

    def also(logits, targets):
        hits = n = 0
        for row, answers in zip(logits, targets.tolist(), strict=True):
            for z, answer in zip(row.tolist(), answers, strict=True):
                if answer != IGNORED:
                    hits, n = hits + (z.index(max(z)) == answer), n + 1
        return hits / n

    def divides_by_all_places(logits, targets):
        """Divide by the number of targets, not of places"""
        return (logits.argmax(-1) == targets).float().mean().item()

    def counts(logits, targets):
        """This counts them: divide by the number of targets"""
        return float((logits.argmax(-1) == targets).sum())

    def share_of_the_errors(logits, targets):
        """This is the share that is wrong"""
        return 1 - blanks_filled.right(logits, targets)

    def mean_probability(logits, targets):
        """A mean probability: count how often the best guess is right"""
        asked = targets != IGNORED
        return logits.softmax(-1)[asked].gather(1, targets[asked].unsqueeze(1)).mean().item()

    def places_without_a_target_are_right(logits, targets):
        """A place without a target is no success"""
        return ((logits.argmax(-1) == targets) | (targets == IGNORED)).float().mean().item()

    def argmax_over_the_places(logits, targets):
        """`argmax` over axis 1 fails: it looks for the best place, and the vocabulary is the
        last axis"""
        return (logits.argmax(1) == targets)[targets != IGNORED].float().mean().item()


@exercise("13.5")
class cheat:
    """cheat(inputs: (B, T), vocab_size) -> logits (B, T, V), near 0 nats on tokens left visible"""

    def judge(call):
        ids, chosen, lot, _ = _draws(50)
        hidden, V = chosen & (lot < 0.8), 26
        inputs = ids.masked_fill(hidden, V - 1)
        logits = call(inputs, V).like(torch.zeros(1)).double()
        wanted = (*inputs.shape, V)
        expect(logits.shape == wanted, f"`{call}` has shape {tuple(logits.shape)}, not {wanted}.")
        surprise = -logits.log_softmax(-1)  # −inf is a fine logit: that token never comes
        expect(not surprise.isnan().any(), "The logits make NaN: a large number will do.")
        alike = f"All logits are alike: ln {V} = {math.log(V):.2f} nats on each token."
        expect(not (surprise - surprise[..., :1]).abs().max() < 1e-6, alike)
        guess = logits.argmax(-1)
        repeats = "Its best guess must be the very token that it reads."
        expect(guess[~hidden].equal(inputs[~hidden]), repeats)
        loss = surprise.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
        visible = loss[~hidden].max()
        timid = f"The right idea, but too timid: {visible:.2f} nats. Multiply the logits."
        expect(visible < 0.01, timid)
        return (
            f"The loss on visible tokens is {loss[~hidden].mean():.4f} nats, and on the hidden "
            f"ones {loss[hidden].mean():.0f}: your model has learned to repeat, and nothing else."
        )

    def right(inputs, vocab_size):
        return 100.0 * F.one_hot(inputs, vocab_size)

    def also(inputs, vocab_size):
        logits = torch.zeros(*inputs.shape, vocab_size)
        return logits.scatter(-1, inputs.unsqueeze(-1), 50.0)

    def also_with_minus_infinity(inputs, vocab_size):
        return F.one_hot(inputs, vocab_size).float().log()

    def also_undecided_at_the_mask(inputs, vocab_size):
        return cheat.right(inputs, vocab_size) * (inputs != vocab_size - 1).unsqueeze(-1)

    def too_timid(inputs, vocab_size):
        """… too timid"""
        return F.one_hot(inputs, vocab_size).float()

    def too_timid_for_one_token_of_many(inputs, vocab_size):
        """… too timid"""
        logits = cheat.right(inputs, vocab_size)
        logits[inputs == inputs[0, 0]] /= 20
        return logits

    def knows_nothing(inputs, vocab_size):
        """… All logits are alike"""
        return torch.zeros(*inputs.shape, vocab_size)

    def repeats_the_token_before(inputs, vocab_size):
        """… the very token that it reads"""
        return cheat.right(inputs.roll(1, dims=1), vocab_size)

    def wrong_sign(inputs, vocab_size):
        """… the very token that it reads"""
        return -cheat.right(inputs, vocab_size)

    def the_most_frequent_token_everywhere(inputs, vocab_size):
        """… the very token that it reads"""
        return cheat.right(inputs.mode(keepdim=True).values.expand_as(inputs), vocab_size)

    def infinity_at_the_token_it_reads(inputs, vocab_size):
        """… a large number will do"""
        return torch.where(F.one_hot(inputs, vocab_size) == 1, math.inf, 0.0)

    def returns_the_guesses(inputs, vocab_size):
        """… not (2, 50, 26)"""
        return inputs.float()
