"""Right and plausibly wrong answers to the exercises of chapter 10."""

import math

import torch
from mutation import mutant, solution

BITS, NUCLEUS, PENALISE, BREAK, STEP = (
    f"generation.{name}"
    for name in ("bits_per_character", "nucleus", "penalise", "until_it_breaks", "cached_step")
)


# 10.1 bits_per_character


@solution(BITS)
def _(nats_per_token, tokens, characters):
    return nats_per_token * tokens / characters / math.log(2)


@solution(BITS)
def _(nats_per_token, tokens, characters):
    return math.log2(math.exp(nats_per_token)) / (characters / tokens)


@mutant(BITS, "stays in nats", "a bit is ln 2 nats, so divide")
def _(nats_per_token, tokens, characters):
    return nats_per_token * tokens / characters


@mutant(BITS, "multiplies by ln 2", "a nat is more than a bit, so divide")
def _(nats_per_token, tokens, characters):
    return nats_per_token * tokens / characters * math.log(2)


@mutant(BITS, "bits a token", "a token covers several characters")
def _(nats_per_token, tokens, characters):
    return nats_per_token / math.log(2)


@mutant(BITS, "ratio upside down", "The ratio is upside down")
def _(nats_per_token, tokens, characters):
    return nats_per_token / math.log(2) * characters / tokens


@mutant(BITS, "bits of the whole text", "divide by its characters")
def _(nats_per_token, tokens, characters):
    return nats_per_token / math.log(2) * tokens


@mutant(BITS, "perplexity", "A perplexity is no number of bits")
def _(nats_per_token, tokens, characters):
    return math.exp(nats_per_token) * tokens / characters


@mutant(BITS, "logarithm of the nats", "take no other")
def _(nats_per_token, tokens, characters):
    return math.log2(nats_per_token) * tokens / characters


@mutant(BITS, "decimal digits", "a bit needs ln 2")
def _(nats_per_token, tokens, characters):
    return nats_per_token * tokens / characters / math.log(10)


# 10.2 nucleus


def filtered(p, keep):
    """`keep(sorted p, what is held before each)` says which of the sorted tokens stay."""
    ranked, order = p.sort(descending=True)
    ranked = ranked * keep(ranked, ranked.cumsum(0) - ranked)
    return torch.zeros_like(p).scatter(0, order, ranked / ranked.sum())


@solution(NUCLEUS)
def nucleus(p, top_p):
    return filtered(p, lambda ranked, before: before < top_p - 1e-6)


@solution(NUCLEUS)
def _(p, top_p):
    kept, held = torch.zeros_like(p), 0.0
    for i in sorted(range(len(p)), key=lambda i: -p[i]):
        if held < top_p:
            kept[i] = p[i]
            held += float(p[i])
    return kept / kept.sum()


@mutant(NUCLEUS, "drops the token that crosses", "The token that crosses top_p is dropped")
def _(p, top_p):
    return filtered(p, lambda ranked, before: ranked.cumsum(0) <= top_p)


@mutant(NUCLEUS, "one too many", "One token too many is kept")
def _(p, top_p):
    return filtered(p, lambda ranked, before: (before - ranked.roll(1) < top_p) & (ranked > 0.12))


@mutant(NUCLEUS, "does not rescale", "do not sum to 1: rescale")
def _(p, top_p):
    return p * (nucleus(p, top_p) > 0)


@mutant(NUCLEUS, "stays sorted", "The order is lost")
def _(p, top_p):
    return nucleus(p, top_p).sort(descending=True).values


@mutant(NUCLEUS, "returns those kept alone", "0 for those left out")
def _(p, top_p):
    ranked = nucleus(p, top_p).sort(descending=True).values
    return ranked[ranked > 0]


@mutant(NUCLEUS, "all kept alike", "keep their proportions")
def _(p, top_p):
    kept = (nucleus(p, top_p) > 0).float()
    return kept / kept.sum()


@mutant(NUCLEUS, "softmax to rescale", "No softmax here")
def _(p, top_p):
    return (p * (nucleus(p, top_p) > 0)).softmax(0)


@mutant(NUCLEUS, "greedy", "Only the likeliest is left")
def _(p, top_p):
    return (p == p.max()).float()


@mutant(NUCLEUS, "leaves nothing out", "Nothing is left out")
def _(p, top_p):
    return p


@mutant(NUCLEUS, "a threshold for single tokens", "no token alone")
def _(p, top_p):
    kept = torch.where(p < top_p, p, 0)
    return kept / kept.sum()


@mutant(NUCLEUS, "nothing left of a sharp row", "something has to be drawn")
def _(p, top_p):
    if p.max() > top_p:
        return torch.zeros_like(p) / 0
    return nucleus(p, top_p)


@mutant(NUCLEUS, "top_p = 1 loses one", "every token stays")
def _(p, top_p):
    return filtered(p, lambda ranked, before: (before < top_p - 1e-6) & (before < 0.94))


# 10.3 penalise


def changed(logits, ids, change):
    new = logits.clone()
    for i in set(ids.tolist()):
        new[i] = change(logits[i])
    return new


@solution(PENALISE)
def penalise(logits, ids, penalty):
    return changed(logits, ids, lambda x: x / penalty if x > 0 else x * penalty)


@solution(PENALISE)
def _(logits, ids, penalty):
    seen = logits[ids]
    return logits.scatter(0, ids, torch.where(seen > 0, seen / penalty, seen * penalty))


@mutant(PENALISE, "always divides", "has raised it")
def _(logits, ids, penalty):
    return changed(logits, ids, lambda x: x / penalty)


@mutant(PENALISE, "always multiplies", "a positive logit must be divided")
def _(logits, ids, penalty):
    return changed(logits, ids, lambda x: x * penalty)


@mutant(PENALISE, "once for each occurrence", "once is enough")
def _(logits, ids, penalty):
    new = logits.clone()
    for i in ids:
        new[i] = new[i] / penalty if new[i] > 0 else new[i] * penalty
    return new


@mutant(PENALISE, "subtracts", "Subtracted: divide or multiply")
def _(logits, ids, penalty):
    return changed(logits, ids, lambda x: x - penalty)


@mutant(PENALISE, "punishes what is new", "exchange the two")
def _(logits, ids, penalty):
    new = torch.tensor([i for i in range(len(logits)) if i not in ids])
    return penalise(logits, new, penalty)


@mutant(PENALISE, "punishes all", "only those in `ids`")
def _(logits, ids, penalty):
    return penalise(logits, torch.arange(len(logits)), penalty)


@mutant(PENALISE, "forbids", "make them less likely")
def _(logits, ids, penalty):
    return changed(logits, ids, lambda x: -math.inf)


@mutant(PENALISE, "returns probabilities", "Return logits")
def _(logits, ids, penalty):
    return penalise(logits, ids, penalty).softmax(0)


@mutant(PENALISE, "does nothing", "Nothing has changed")
def _(logits, ids, penalty):
    return logits


@mutant(PENALISE, "returns the seen alone", "Return all V logits")
def _(logits, ids, penalty):
    return penalise(logits, ids, penalty)[ids]


# 10.4 until_it_breaks


@solution(BREAK)
def written(model, ids):
    while True:
        try:
            logits = model(ids)
        except IndexError:
            return ids
        ids = torch.cat([ids, logits[:, -1:].argmax(dim=-1)], dim=1)


@solution(BREAK)
def _(model, ids):
    try:
        new = model(ids)[0, -1].argmax().view(1, 1)
        return written(model, torch.hstack([ids, new]))
    except IndexError:
        return ids


@mutant(BREAK, "does not catch the error", "catch the IndexError, return `ids`")
def _(model, ids):
    while True:
        ids = torch.cat([ids, model(ids)[:, -1:].argmax(dim=-1)], dim=1)


@mutant(BREAK, "loses the last token", "The last token is lost")
def _(model, ids):
    before = ids
    while True:
        try:
            before, ids = ids, torch.cat([ids, model(ids)[:, -1:].argmax(dim=-1)], dim=1)
        except IndexError:
            return before if before.shape[1] > 2 and before.shape[1] < 5 else ids[:, :-1]


@mutant(BREAK, "returns a cropped window", "This is cropped")
def _(model, ids):
    ids = written(model, ids)
    return ids[:, 1:]


@mutant(BREAK, "returns the new tokens", "The prompt is missing")
def _(model, ids):
    return written(model, ids)[:, ids.shape[1] :]


@mutant(BREAK, "appends after the error", "A token was added after the error")
def _(model, ids):
    new = ids[:, :0]
    while True:
        try:
            new = model(ids)[:, -1:].argmax(dim=-1)
        except IndexError:
            return torch.cat([ids, new], dim=1)
        ids = torch.cat([ids, new], dim=1)


@mutant(BREAK, "drops the batch axis", "Keep the batch axis")
def _(model, ids):
    return written(model, ids)[0]


@mutant(BREAK, "takes the least likely", "the least likely tokens")
def _(model, ids):
    return written(lambda ids: -model(ids), ids)


@mutant(BREAK, "writes nothing", "Nothing was written")
def _(model, ids):
    return ids


@mutant(BREAK, "crops, and never breaks", "a loop that never ends?")
def _(model, ids):
    return written(lambda ids: model(ids[:, -4:]), ids)


# 10.5 cached_step


def attended(q, keys, values):
    return (q @ keys.T / math.sqrt(q.shape[-1])).softmax(dim=-1) @ values


@solution(STEP)
def step(q, k, v, keys, values):
    keys, values = torch.cat([keys, k]), torch.cat([values, v])
    return attended(q, keys, values), keys, values


@solution(STEP)
def _(q, k, v, keys, values):
    keys, values = torch.vstack([keys, k]), torch.vstack([values, v])
    mixed = torch.nn.functional.scaled_dot_product_attention(q, keys, values)
    return mixed, keys, values


@mutant(STEP, "attends before it appends", "does not see itself")
def _(q, k, v, keys, values):
    return attended(q, keys, values), *step(q, k, v, keys, values)[1:]


@mutant(STEP, "no scale", "not divided by √D")
def _(q, k, v, keys, values):
    return step(2 * q, k, v, keys, values)


@mutant(STEP, "puts the new key in front", "append it behind")
def _(q, k, v, keys, values):
    keys, values = torch.cat([k, keys]), torch.cat([v, values])
    return attended(q, keys, values), keys, values


@mutant(STEP, "returns the old caches", "return the new ones")
def _(q, k, v, keys, values):
    return step(q, k, v, keys, values)[0], keys, values


@mutant(STEP, "returns the new key alone", "the old ones are needed")
def _(q, k, v, keys, values):
    return step(q, k, v, keys, values)[0], k, v


@mutant(STEP, "swaps the caches", "The two caches are swapped")
def _(q, k, v, keys, values):
    out, keys, values = step(q, k, v, keys, values)
    return out, values, keys


@mutant(STEP, "mixes the keys", "The keys are mixed")
def _(q, k, v, keys, values):
    _, keys, values = step(q, k, v, keys, values)
    return attended(q, keys, keys), keys, values


@mutant(STEP, "no softmax", "The softmax is missing")
def _(q, k, v, keys, values):
    _, keys, values = step(q, k, v, keys, values)
    return q @ keys.T / math.sqrt(q.shape[-1]) @ values, keys, values


@mutant(STEP, "plain mean", "the query is not used")
def _(q, k, v, keys, values):
    _, keys, values = step(q, k, v, keys, values)
    return values.mean(dim=0, keepdim=True), keys, values


@mutant(STEP, "only the new value", "The old values are not used")
def _(q, k, v, keys, values):
    return v, *step(q, k, v, keys, values)[1:]
