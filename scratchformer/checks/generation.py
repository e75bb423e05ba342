"""The exercises of chapter 12, generation."""

import itertools
import math

import torch
from torch.nn import functional as F

from scratchformer.checks.engine import exercise
from scratchformer.checks.verdict import expect


@exercise("12.1")
class bits_per_character:
    """bits_per_character(nats_per_token, tokens, characters) -> bits a character of the text"""

    cases = ((2.0, 300, 1200), (1.5, 1000, 1000), (3.25, 800, 2500))
    praise = (
        "`bits_per_character` is right: the sum of all surprises, in bits, over the characters."
    )

    def right(nats_per_token, tokens, characters):
        return nats_per_token * tokens / characters / math.log(2)

    def also(nats_per_token, tokens, characters):
        return math.log2(math.exp(nats_per_token)) / (characters / tokens)

    def stays_in_nats(nats_per_token, tokens, characters):
        """These are nats a character: a bit is ln 2 nats, so divide by ln 2"""
        return nats_per_token * tokens / characters

    def multiplies_by_ln_2(nats_per_token, tokens, characters):
        """Multiplied by ln 2: a nat is more than a bit, so divide"""
        return nats_per_token * tokens / characters * math.log(2)

    def bits_a_token(nats_per_token, tokens, characters):
        """These are bits a token: a token covers several characters"""
        return nats_per_token / math.log(2)

    def ratio_upside_down(nats_per_token, tokens, characters):
        """The ratio is upside down: tokens × bits, over characters"""
        return nats_per_token / math.log(2) * characters / tokens

    def bits_of_the_whole_text(nats_per_token, tokens, characters):
        """These are the bits of the whole text: divide by its characters"""
        return nats_per_token / math.log(2) * tokens

    def perplexity(nats_per_token, tokens, characters):
        """A perplexity is no number of bits: use the nats"""
        return math.exp(nats_per_token) * tokens / characters

    def logarithm_of_the_nats(nats_per_token, tokens, characters):
        """The nats are a logarithm already: take no other"""
        return math.log2(nats_per_token) * tokens / characters

    def decimal_digits(nats_per_token, tokens, characters):
        """These are decimal digits: a bit needs ln 2"""
        return nats_per_token * tokens / characters / math.log(10)


def _likeliest(p, n):
    """The n likeliest tokens, rescaled to sum to 1, and 0 for the rest."""
    n = max(0, min(n, len(p)))
    chosen = torch.zeros_like(p).scatter(0, p.topk(n).indices, 1)
    return p * chosen / (p * chosen).sum()


def _nucleus_size(p, top_p):
    return int((nucleus.right(p, top_p) > 0).sum())


@exercise("12.2")
class nucleus:
    """nucleus(p: (V,), top_p) -> (V,), the fewest likeliest tokens that reach top_p, rescaled"""

    cases = (
        (torch.tensor([0.05, 0.4, 0.1, 0.3, 0.15]), 0.6),
        (torch.tensor([0.1, 0.05, 0.25, 0.4, 0.2]), 0.7),
        (torch.tensor([0.125, 0.5, 0.125, 0.25]), 0.75),
        (torch.tensor([0.03, 0.95, 0.02]), 0.9),
        (torch.tensor([0.2, 0.35, 0.1, 0.3, 0.05]), 1.0),
    )
    praise = "`nucleus` is right: 3 tokens of a flat row, 1 of a sharp one, and all at top_p = 1."

    def right(p, top_p):
        ranked, order = p.sort(descending=True)
        before = ranked.cumsum(0) - ranked
        ranked = torch.where(before < top_p - 1e-6, ranked, 0)
        return torch.zeros_like(p).scatter(0, order, ranked / ranked.sum())

    def also(p, top_p):
        kept, held = torch.zeros_like(p), 0.0
        for i in sorted(range(len(p)), key=lambda i: -p[i]):
            if held < top_p:
                kept[i] = p[i]
                held += float(p[i])
        return kept / kept.sum()

    def drops_the_token_that_crosses(p, top_p):
        """The token that crosses top_p is dropped: it must stay, or the rest falls short of it"""
        return _likeliest(p, _nucleus_size(p, top_p) - 1)

    def one_token_too_many(p, top_p):
        """One token too many is kept: stop as soon as top_p is reached"""
        return _likeliest(p, _nucleus_size(p, top_p) + 1)

    def one_more_token_where_top_p_is_reached_exactly(p, top_p):
        """Two tokens reach 0.75 exactly: no third is needed"""
        ranked = p.sort(descending=True).values
        before = ranked.cumsum(0) - ranked
        return _likeliest(p, int((before <= top_p).sum()))

    def does_not_rescale(p, top_p):
        """The right tokens are kept, but they do not sum to 1: rescale them"""
        return p * (nucleus.right(p, top_p) > 0)

    def stays_sorted(p, top_p):
        """The order is lost: the answer must stand where the tokens stood in p"""
        return nucleus.right(p, top_p).sort(descending=True).values

    def returns_those_kept_alone(p, top_p):
        """Return one number for each token, 0 for those left out"""
        ranked = nucleus.right(p, top_p).sort(descending=True).values
        return ranked[ranked > 0]

    def weighs_all_kept_alike(p, top_p):
        """The tokens kept weigh all the same: keep their proportions"""
        return (nucleus.right(p, top_p) > 0) / _nucleus_size(p, top_p)

    def softmax_to_rescale(p, top_p):
        """No softmax here: divide by the sum"""
        return (p * (nucleus.right(p, top_p) > 0)).softmax(0)

    def leaves_nothing_out(p, top_p):
        """Nothing is left out: what counts is the sum of the likeliest, no token alone"""
        return p

    def a_threshold_for_single_tokens(p, top_p):
        kept = torch.where(p < top_p, p, 0)
        return kept / kept.sum()

    def keeps_the_likeliest_alone(p, top_p):
        """Only the likeliest is left: add up the probabilities as you go"""
        return _likeliest(p, 1)

    def nothing_left_of_a_sharp_row(p, top_p):
        """0.95 is more than top_p by itself: it must stay, something has to be drawn"""
        return nucleus.right(p, top_p) * (p.max() <= top_p)

    def nothing_left_of_a_sharp_row_and_0_by_0(p, top_p):
        kept = nucleus.right(p, top_p) * (p.max() <= top_p)
        return kept / kept.sum()

    def loses_a_token_at_top_p_1(p, top_p):
        """With top_p = 1 every token stays"""
        return _likeliest(p, min(_nucleus_size(p, top_p), len(p) - 1))


def _changed(logits, ids, change):
    """The logits with `change(logit)` for each token that occurs in `ids`."""
    return logits.scatter(0, ids, change(logits)[ids])


@exercise("12.3")
class penalise:
    """penalise(logits: (V,), ids: (T,), penalty) -> (V,), the logits of the ids made smaller"""

    _logits, _ids = torch.tensor([2.0, -1.0, 0.5, 3.0, -2.0]), torch.tensor([3, 1, 3, 0, 3])
    cases = ((_logits, _ids, 2.0), (_logits, _ids, 1.0))

    def right(logits, ids, penalty):
        smaller = torch.where(logits > 0, logits / penalty, logits * penalty)
        return logits.scatter(0, ids, smaller[ids])

    def also(logits, ids, penalty):
        new = logits.clone()
        for i in set(ids.tolist()):
            new[i] = logits[i] / penalty if logits[i] > 0 else logits[i] * penalty
        return new

    def always_divides(logits, ids, penalty):
        """Dividing the negative logit of token 1 has raised it: multiply where it is below 0"""
        return _changed(logits, ids, lambda x: x / penalty)

    def always_multiplies(logits, ids, penalty):
        """Multiplied: a positive logit must be divided"""
        return _changed(logits, ids, lambda x: x * penalty)

    def once_for_each_occurrence(logits, ids, penalty):
        """Token 3 occurred three times and was divided three times: once is enough"""
        new = logits.clone()
        for i in ids:
            new[i] = new[i] / penalty if new[i] > 0 else new[i] * penalty
        return new

    def subtracts(logits, ids, penalty):
        """Subtracted: divide or multiply"""
        return _changed(logits, ids, lambda x: x - penalty)

    def punishes_what_is_new(logits, ids, penalty):
        """The tokens that did not occur are punished: exchange the two"""
        new = torch.tensor([i for i in range(len(logits)) if i not in ids])
        return penalise.right(logits, new, penalty)

    def punishes_all(logits, ids, penalty):
        """All tokens are punished: only those in `ids`"""
        return penalise.right(logits, torch.arange(len(logits)), penalty)

    def forbids(logits, ids, penalty):
        """Forbidden altogether: make them less likely"""
        return _changed(logits, ids, lambda x: torch.full_like(x, -math.inf))

    def returns_probabilities(logits, ids, penalty):
        """Return logits: the softmax comes later"""
        return penalise.right(logits, ids, penalty).softmax(0)

    def does_nothing(logits, ids, penalty):
        """Nothing has changed"""
        return logits

    def returns_the_seen_alone(logits, ids, penalty):
        """Return all V logits, not only those of the ids"""
        return penalise.right(logits, ids, penalty)[ids]


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


@exercise("12.4")
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
    return (q @ keys.T / math.sqrt(q.shape[-1])).softmax(dim=-1) @ values


@exercise("12.5")
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
