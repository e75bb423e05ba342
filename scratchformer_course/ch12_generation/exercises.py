"""The exercises of chapter 12, generation."""

import itertools
import math

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.verdict import expect


def _likeliest(p, n):
    """The n likeliest tokens of each row, rescaled to sum to 1; n is a number, or one a row."""
    sizes = [n] * len(p) if isinstance(n, int) else n
    kept = torch.zeros_like(p)
    for new, row, size in zip(kept, p, sizes, strict=True):
        best = row.topk(max(0, min(size, len(row)))).indices
        new[best] = row[best]
    return kept / kept.sum(dim=-1, keepdim=True)


_ROWS = torch.tensor([[0.05, 0.4, 0.1, 0.3, 0.15], [0.7, 0.02, 0.06, 0.04, 0.18]])


@exercise("12.1")
class top_k:
    """top_k(p: (B, V), k) -> (B, V), the k likeliest tokens of each row, rescaled, and zeros"""

    cases = ((_ROWS, 2), (_ROWS, 4), (_ROWS[:1], 1), (_ROWS, 5))
    praise = "`top_k` is right: k tokens of each row, and each row sums to 1."

    def right(p, k):
        least = p.topk(k, dim=-1).values[:, -1:]
        kept = p.where(p >= least, 0)
        return kept / kept.sum(dim=-1, keepdim=True)

    def also(p, k):
        kept = torch.zeros_like(p)
        for row in range(len(p)):
            for i in sorted(range(p.shape[1]), key=lambda i: -p[row, i])[:k]:
                kept[row, i] = p[row, i]
        return torch.stack([row / row.sum() for row in kept])

    def also_by_scatter(p, k):
        values, indices = p.topk(k, dim=-1)
        return torch.zeros_like(p).scatter(1, indices, values).div(values.sum(1)[:, None])

    def does_not_rescale(p, k):
        """The right tokens are kept, but a row does not sum to 1: rescale it"""
        return p * (top_k.right(p, k) > 0)

    def one_token_too_many(p, k):
        """One token too many is kept: exactly k of each row"""
        return _likeliest(p, k + 1)

    def one_token_too_few(p, k):
        """One token too few is kept: the k-th one belongs to the k likeliest"""
        return _likeliest(p, k - 1)

    def keeps_the_unlikeliest(p, k):
        """These are the k least likely tokens"""
        return top_k.right(1 - p, k).gt(0) * p / (top_k.right(1 - p, k).gt(0) * p).sum(1)[:, None]

    def one_threshold_for_all_rows(p, k):
        """The rows share one threshold: each row has its own k likeliest tokens"""
        kept = p.where(p >= p[0].topk(k).values[-1], 0)
        return kept / kept.sum(dim=-1, keepdim=True)

    def k_tokens_of_the_whole_batch(p, k):
        """The k likeliest of the whole batch are kept: take k of each row"""
        kept = p.where(p >= p.flatten().topk(k).values[-1], 0)
        return kept / kept.sum(dim=-1, keepdim=True)

    def rescales_the_whole_batch(p, k):
        """The whole batch sums to 1: each row should"""
        kept = p * (top_k.right(p, k) > 0)
        return kept / kept.sum()

    def returns_those_kept_alone(p, k):
        """Return one number for each token, 0 for those left out"""
        values = p.topk(k, dim=-1).values
        return values / values.sum(dim=-1, keepdim=True)

    def stays_sorted(p, k):
        """The order is lost: each number must stand where its token stands in p"""
        return top_k.right(p, k).sort(dim=-1, descending=True).values

    def weighs_all_kept_alike(p, k):
        """The tokens kept weigh all the same: keep their proportions"""
        return (top_k.right(p, k) > 0) / k

    def softmax_to_rescale(p, k):
        """No softmax here: divide by the sum"""
        return (p * (top_k.right(p, k) > 0)).softmax(dim=-1)

    def softmax_of_those_kept(p, k):
        kept = top_k.right(p, k) > 0
        return p.masked_fill(~kept, -math.inf).softmax(dim=-1)


def _nucleus_sizes(p, top_p):
    return (nucleus.right(p, top_p) > 0).sum(dim=-1).tolist()


@exercise("12.2")
class nucleus:
    """nucleus(p: (B, V), top_p) -> (B, V), the fewest likeliest that reach top_p, rescaled"""

    cases = (
        (torch.tensor([[0.05, 0.4, 0.1, 0.3, 0.15], [0.94, 0.01, 0.02, 0.01, 0.02]]), 0.6),
        (torch.tensor([[0.1, 0.05, 0.25, 0.4, 0.2]]), 0.7),
        (torch.tensor([[0.125, 0.5, 0.125, 0.25]]), 0.75),
        (torch.tensor([[0.03, 0.95, 0.02], [0.5, 0.3, 0.2]]), 0.9),
        (torch.tensor([[0.2, 0.35, 0.1, 0.3, 0.05]]), 1.0),
    )
    praise = "`nucleus` is right: 2 tokens of a flat row, 1 of a sharp one, and all at top_p = 1."

    def right(p, top_p):
        ranked, order = p.sort(dim=-1, descending=True)
        before = ranked.cumsum(dim=-1) - ranked
        ranked = ranked.where(before < top_p - 1e-6, 0)
        return torch.zeros_like(p).scatter(1, order, ranked / ranked.sum(dim=-1, keepdim=True))

    def also(p, top_p):
        kept = torch.zeros_like(p)
        for new, row in zip(kept, p, strict=True):
            held = 0.0
            for i in sorted(range(len(row)), key=lambda i: -row[i]):
                if held < top_p - 1e-6:
                    new[i] = row[i]
                    held += float(row[i])
        return kept / kept.sum(dim=-1, keepdim=True)

    def drops_the_token_that_crosses(p, top_p):
        """The token that crosses top_p is dropped: it must stay, or the rest falls short of it"""
        return _likeliest(p, [n - 1 for n in _nucleus_sizes(p, top_p)])

    def drops_it_but_never_the_last(p, top_p):
        return _likeliest(p, [max(1, n - 1) for n in _nucleus_sizes(p, top_p)])

    def one_token_too_many(p, top_p):
        """One token too many is kept: stop as soon as top_p is reached"""
        return _likeliest(p, [n + 1 for n in _nucleus_sizes(p, top_p)])

    def one_more_token_where_top_p_is_reached_exactly(p, top_p):
        """Two tokens reach 0.75 exactly: no third is needed"""
        ranked = p.sort(dim=-1, descending=True).values
        before = ranked.cumsum(dim=-1) - ranked
        return _likeliest(p, (before <= top_p).sum(dim=-1).tolist())

    def one_size_for_all_rows(p, top_p):
        """All rows keep as many tokens as the first: each row needs its own number"""
        return _likeliest(p, _nucleus_sizes(p, top_p)[0])

    def does_not_rescale(p, top_p):
        """The right tokens are kept, but they do not sum to 1: rescale them"""
        return p * (nucleus.right(p, top_p) > 0)

    def rescales_the_whole_batch(p, top_p):
        """The whole batch sums to 1: each row should"""
        kept = p * (nucleus.right(p, top_p) > 0)
        return kept / kept.sum()

    def stays_sorted(p, top_p):
        """The order is lost: the answer must stand where the tokens stood in p"""
        return nucleus.right(p, top_p).sort(dim=-1, descending=True).values

    def weighs_all_kept_alike(p, top_p):
        """The tokens kept weigh all the same: keep their proportions"""
        kept = nucleus.right(p, top_p) > 0
        return kept / kept.sum(dim=-1, keepdim=True)

    def softmax_to_rescale(p, top_p):
        """No softmax here: divide by the sum"""
        return (p * (nucleus.right(p, top_p) > 0)).softmax(dim=-1)

    def keeps_the_likeliest_alone(p, top_p):
        """Only the likeliest is left: add up the probabilities as you go"""
        return _likeliest(p, 1)

    def keeps_those_above_top_p(p, top_p):
        """Each probability is compared with top_p: compare the sum of those before it"""
        return p * (p >= top_p)

    def nothing_left_of_a_sharp_row(p, top_p):
        """One token holds more than top_p by itself: it must stay, something has to be drawn"""
        return nucleus.right(p, top_p) * (p.amax(dim=-1, keepdim=True) <= top_p)

    def nothing_left_of_a_sharp_row_and_0_by_0(p, top_p):
        kept = nucleus.right(p, top_p) * (p.amax(dim=-1, keepdim=True) <= top_p)
        return kept / kept.sum(dim=-1, keepdim=True)

    def loses_a_token_at_top_p_1(p, top_p):
        """With top_p = 1 every token stays"""
        return _likeliest(p, [min(n, p.shape[1] - 1) for n in _nucleus_sizes(p, top_p)])


def _position_table(context_length):
    """A model with learned positions: logits (1, T, 7), or IndexError where the table ends."""
    g = torch.Generator().manual_seed(context_length)
    wte, wpe = torch.randn(7, 7, generator=g), torch.randn(context_length, 7, generator=g)
    calls = itertools.count()

    def model(ids):
        why = "The model is asked on and on and never fails: is its input cropped, in a loop that "
        expect(next(calls) < 1000, f"{why}never ends?")
        return wte[ids] + wpe[torch.arange(ids.shape[1])]

    return model


def _models_and_prompts():
    """Models of which none was asked before."""
    return (
        (_position_table(6), torch.tensor([[1, 4]])),
        (_position_table(9), torch.tensor([[0, 3, 3]])),
        (_position_table(4), torch.tensor([[5, 1, 2, 0, 6]])),
    )


@exercise("12.3")
class until_it_breaks:
    """until_it_breaks(model, ids: (1, T)) -> (1, n), what stands there when IndexError comes"""

    cases = _models_and_prompts
    praise = "Never cropped, a context of 6 lets you write to the 7th token. Then: IndexError."

    def right(model, ids):
        while True:
            try:
                logits = model(ids)
            except IndexError:
                return ids
            ids = torch.cat([ids, logits[:, -1:].argmax(dim=-1)], dim=1)

    def also(model, ids):
        try:
            new = model(ids)[0, -1].argmax().view(1, 1)
            return until_it_breaks.right(model, torch.hstack([ids, new]))
        except IndexError:
            return ids

    def does_not_catch_the_error(model, ids):
        """The model has failed, as it should: catch the IndexError, return `ids`"""
        while True:
            ids = torch.cat([ids, model(ids)[:, -1:].argmax(dim=-1)], dim=1)

    def loses_the_last_token(model, ids):
        """The last token is lost. A full context is readable: the model fails on one token
        more, and that token was written"""
        return until_it_breaks.right(model, ids)[:, :-1]

    def returns_the_last_context(model, ids):
        """This is cropped: return all that was written"""
        return until_it_breaks.right(model, ids)[:, 1:]

    def returns_the_new_tokens(model, ids):
        """The prompt is missing: return it too"""
        return until_it_breaks.right(model, ids)[:, ids.shape[1] :]

    def appends_after_the_error(model, ids):
        """A token was added after the error"""
        written = until_it_breaks.right(model, ids)
        return torch.cat([written, written[:, -1:]], dim=1)

    def drops_the_batch_axis(model, ids):
        """Keep the batch axis: (1, n)"""
        return until_it_breaks.right(model, ids)[0]

    def takes_the_least_likely(model, ids):
        """These are the least likely tokens: take the argmax"""
        return until_it_breaks.right(lambda ids: -model(ids), ids)

    def writes_nothing(model, ids):
        """Nothing was written: append a token and ask again, until it breaks"""
        return ids

    def crops_and_never_breaks(model, ids):
        """… a loop that never ends?"""
        return until_it_breaks.right(lambda ids: model(ids[:, -4:]), ids)


def _step(S):
    """Random q, k, v of a new token and a cache of S tokens."""
    g = torch.Generator().manual_seed(S)
    q, k, v = torch.randn(3, 1, 4, generator=g)
    return (q, k, v, *torch.randn(2, S, 4, generator=g))


def _attended(q, keys, values):
    return (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(dim=-1) @ values


@exercise("12.4")
class cached_step:
    """cached_step(q, k, v: each (1, D), keys, values: (S, D)) -> (output (1, D), keys, values)"""

    cases = (_step(3), _step(1), _step(0))

    def right(q, k, v, keys, values):
        keys, values = torch.cat([keys, k]), torch.cat([values, v])
        weights = (q @ keys.T / math.sqrt(q.shape[-1])).softmax(dim=-1)
        return weights @ values, keys, values

    def also(q, k, v, keys, values):
        keys, values = torch.vstack([keys, k]), torch.vstack([values, v])
        return F.scaled_dot_product_attention(q, keys, values), keys, values

    def attends_before_it_appends(q, k, v, keys, values):
        """The new token does not see itself: append its key before attending"""
        return _attended(q, keys, values), torch.cat([keys, k]), torch.cat([values, v])

    def no_scale(q, k, v, keys, values):
        """The scores are not divided by √D"""
        return cached_step.right(q * math.sqrt(q.shape[-1]), k, v, keys, values)

    def puts_the_new_key_in_front(q, k, v, keys, values):
        """The new key stands first: append it behind the old ones, or positions are mixed up"""
        return cached_step.right(q, keys, values, k, v)

    def returns_the_old_caches(q, k, v, keys, values):
        """The caches came back unchanged: return the new ones"""
        return cached_step.right(q, k, v, keys, values)[0], keys, values

    def returns_the_new_key_and_value_alone(q, k, v, keys, values):
        """Only the new key and value are returned: the old ones are needed"""
        return cached_step.right(q, k, v, keys, values)[0], k, v

    def swaps_the_caches(q, k, v, keys, values):
        """The two caches are swapped: keys first"""
        out, keys, values = cached_step.right(q, k, v, keys, values)
        return out, values, keys

    def mixes_the_keys(q, k, v, keys, values):
        """The keys are mixed: mix the values"""
        _, keys, values = cached_step.right(q, k, v, keys, values)
        return _attended(q, keys, keys), keys, values

    def no_softmax(q, k, v, keys, values):
        """The softmax is missing"""
        _, keys, values = cached_step.right(q, k, v, keys, values)
        return q @ keys.T / math.sqrt(q.shape[-1]) @ values, keys, values

    def plain_mean(q, k, v, keys, values):
        """A plain mean: the query is not used"""
        _, keys, values = cached_step.right(q, k, v, keys, values)
        return values.mean(dim=0, keepdim=True), keys, values

    def only_the_new_value(q, k, v, keys, values):
        """The old values are not used"""
        return v, *cached_step.right(q, k, v, keys, values)[1:]


def _heads(H, G, S):
    """Random queries of one new token for H heads, and G heads of keys and values of S tokens."""
    g = torch.Generator().manual_seed(10 * H + G)
    return torch.randn(H, 1, 4, generator=g), *torch.randn(2, G, S, 4, generator=g)


@exercise("12.5")
class grouped_step:
    """grouped_step(q: (H, 1, D), keys: (G, S, D), values: (G, S, D)) -> (H, 1, D)

    H query heads share G heads of keys and values; neighbouring heads read the same ones.
    """

    cases = (_heads(4, 2, 3), _heads(6, 3, 5), _heads(4, 1, 3), _heads(3, 3, 2))
    praise = "`grouped_step` is right: with 2 and 3 groups, with one for all, and one for each."

    def right(q, keys, values):
        share = len(q) // len(keys)
        keys, values = (t.repeat_interleave(share, dim=0) for t in (keys, values))
        return _attended(q, keys, values)

    def also(q, keys, values):
        share = len(q) // len(keys)
        pairs = ((head, h // share) for h, head in enumerate(q))
        return torch.stack([_attended(head, keys[g], values[g]) for head, g in pairs])

    def also_the_query_heads_by_group(q, keys, values):
        G, _, D = keys.shape
        return _attended(q.view(G, -1, D), keys, values).view(q.shape)

    def deals_the_groups_out_in_turn(q, keys, values):
        """The groups are dealt out in turn: heads 0 and 1 of four should read group 0, 2 and 3
        group 1"""
        times = len(q) // len(keys)
        return _attended(q, keys.repeat(times, 1, 1), values.repeat(times, 1, 1))

    def all_read_the_first_group(q, keys, values):
        """All heads read group 0: each group has its own heads"""
        return _attended(q, keys[:1], values[:1])

    def all_read_the_mean_of_the_groups(q, keys, values):
        """The groups are averaged: each head reads one of them"""
        return _attended(q, keys.mean(0, keepdim=True), values.mean(0, keepdim=True))

    def turns_the_groups_round(q, keys, values):
        """The groups are in the wrong order: the first heads read group 0"""
        return grouped_step.right(q, keys.flip(0), values.flip(0))

    def shares_the_queries_too(q, keys, values):
        """The query heads of a group are averaged: each keeps a query of its own"""
        G, _, D = keys.shape
        means = q.view(G, -1, D).mean(dim=1, keepdim=True)
        return grouped_step.right(means.repeat_interleave(len(q) // G, dim=0), keys, values)

    def returns_one_head_for_each_group(q, keys, values):
        """One head for each group came back: there are H query heads, so return H"""
        return _attended(q[:: len(q) // len(keys)], keys, values)

    def no_scale(q, keys, values):
        """The scores are not divided by √D"""
        return grouped_step.right(q * math.sqrt(q.shape[-1]), keys, values)

    def no_softmax(q, keys, values):
        """The softmax is missing"""
        share = len(q) // len(keys)
        keys, values = (t.repeat_interleave(share, dim=0) for t in (keys, values))
        return q @ keys.mT / math.sqrt(q.shape[-1]) @ values

    def softmax_over_the_heads(q, keys, values):
        """The softmax runs over the heads: it belongs to the last axis, the tokens"""
        share = len(q) // len(keys)
        keys, values = (t.repeat_interleave(share, dim=0) for t in (keys, values))
        return (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(dim=0) @ values

    def mixes_the_keys(q, keys, values):
        """The keys are mixed: mix the values"""
        return grouped_step.right(q, keys, keys)

    def plain_mean(q, keys, values):
        """A plain mean: the query is not used"""
        return grouped_step.right(torch.zeros_like(q), keys, values)
