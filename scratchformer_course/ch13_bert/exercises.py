"""The exercises of chapter 13, BERT."""

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from scratchformer.attention import causal_mask, padding_mask
from scratchformer.blocks import TransformerBlock
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.verdict import expect

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


_ids, _chosen, _lot, _other = _draws()


_none = torch.zeros_like(_chosen)


def right_hide(ids, chosen, lot, other, mask_id):
    inputs = _hidden(ids, chosen, lot, other, mask_id)
    return inputs, ids.masked_fill(~chosen, IGNORED)


def hide_also(ids, chosen, lot, other, mask_id):
    inputs, targets = ids.clone(), torch.full_like(ids, IGNORED)
    for b, t in chosen.nonzero().tolist():
        targets[b, t] = ids[b, t]
        if lot[b, t] < 0.8:
            inputs[b, t] = mask_id
        elif lot[b, t] < 0.9:
            inputs[b, t] = other[b, t]
    return inputs, targets


def explain_hide(got, ids, chosen, lot, other, mask_id):
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


def targets_from_the_inputs(ids, chosen, lot, other, mask_id):
    inputs = _hidden(ids, chosen, lot, other, mask_id)
    return inputs, inputs.masked_fill(~chosen, IGNORED)


def targets_only(ids, chosen, lot, other, mask_id):
    inputs = _hidden(ids, chosen, lot, other, mask_id)
    return inputs, ids.masked_fill(inputs != mask_id, IGNORED)


def the_lot_decides_for_all(ids, chosen, lot, other, mask_id):
    inputs = _hidden(ids, torch.ones_like(chosen), lot, other, mask_id)
    return inputs, ids.masked_fill(~chosen, IGNORED)


def masks_20_percent(ids, chosen, lot, other, mask_id):
    inputs = _hidden(ids, chosen, lot, other, mask_id, mask_below=0.2)
    return inputs, ids.masked_fill(~chosen, IGNORED)


def no_random_tokens(ids, chosen, lot, other, mask_id):
    inputs = _hidden(ids, chosen, lot, other, mask_id, other_below=0.8)
    return inputs, ids.masked_fill(~chosen, IGNORED)


def no_token_stays(ids, chosen, lot, other, mask_id):
    inputs = _hidden(ids, chosen, lot, other, mask_id, other_below=1)
    return inputs, ids.masked_fill(~chosen, IGNORED)


hide = exercise(
    "13.1",
    "hide(ids, chosen, lot, other: all (B, T), mask_id) -> (inputs, targets), both (B, T)",
    cases=((_ids, _chosen, _lot, _other, 2), (_ids, _none, _lot, _other, 2)),
    praise="`hide` is right: 80 % masked, 10 % random, 10 % left, and targets only there.",
    explain=explain_hide,
    right=[right_hide, hide_also],
    mistakes=[
        mistake(
            "targets first",
            "Inputs first, then the targets",
            lambda ids, chosen, lot, other, mask_id: hide.right(ids, chosen, lot, other, mask_id)[
                ::-1
            ],
        ),
        mistake(
            "hides all that were chosen",
            "All chosen tokens became the mask: only those with `lot` below 0.8",
            lambda ids, chosen, lot, other, mask_id: (
                ids.masked_fill(chosen, mask_id),
                ids.masked_fill(~chosen, IGNORED),
            ),
        ),
        mistake(
            "targets from the inputs",
            "The target of a hidden token is the mask itself: take targets from the old `ids`",
            targets_from_the_inputs,
        ),
        refused(
            "targets everywhere",
            "nothing is asked there",
            lambda ids, chosen, lot, other, mask_id: (
                _hidden(ids, chosen, lot, other, mask_id),
                ids,
            ),
        ),
        refused("targets only where the mask stands", "also where it was not hidden", targets_only),
        refused("the lot decides for all tokens", "must stay as they are", the_lot_decides_for_all),
        refused("masks 20 percent", "with `lot` below 0.8 become", masks_20_percent),
        refused("no random tokens", "becomes the one in `other`", no_random_tokens),
        refused("no token stays as it is", "from 0.9 on a chosen token stays", no_token_stays),
        refused(
            "drops the batch axis",
            "both (B, T)",
            lambda ids, chosen, lot, other, mask_id: [
                tensor.flatten() for tensor in hide.right(ids, chosen, lot, other, mask_id)
            ],
        ),
    ],
)


def _filled(ids, segments, length, pad_id, pad_segment=0):
    """The two lists of exercise 13.2, filled up to `length`."""
    pads = length - len(ids)
    return ids + [pad_id] * pads, segments + [pad_segment] * pads


def right_bert_input(a, b, length, cls_id, sep_id, pad_id):
    ids, segments = [cls_id, *a, sep_id], [0] * (len(a) + 2)
    if b is not None:
        ids, segments = [*ids, *b, sep_id], segments + [1] * (len(b) + 1)
    return _filled(ids, segments, length, pad_id)


def bert_input_also(a, b, length, cls_id, sep_id, pad_id):
    ids, segments = [pad_id] * length, [0] * length
    tokens = [(cls_id, 0), *((t, 0) for t in a), (sep_id, 0)]
    if b is not None:
        tokens += [*((t, 1) for t in b), (sep_id, 1)]
    for i, (token, segment) in enumerate(tokens):
        ids[i], segments[i] = token, segment
    return ids, segments


def no_separator_at_the_end(a, b, length, cls_id, sep_id, pad_id):
    if b is None:
        return bert_input.right(a, b, length, cls_id, sep_id, pad_id)
    segments = [0] * (len(a) + 2) + [1] * len(b)
    return _filled([cls_id, *a, sep_id, *b], segments, length, pad_id)


def no_class_token(a, b, length, cls_id, sep_id, pad_id):
    ids, segments = bert_input.right(a, b, length, cls_id, sep_id, pad_id)
    return ids[1:] + [pad_id], segments[1:] + [0]


def the_first_separator(a, b, length, cls_id, sep_id, pad_id):
    ids, segments = bert_input.right(a, b, length, cls_id, sep_id, pad_id)
    if b is not None:
        segments[len(a) + 1] = 1
    return ids, segments


def padding_in_segment_1(a, b, length, cls_id, sep_id, pad_id):
    ids, segments = bert_input.right(a, b, length, cls_id, sep_id, pad_id)
    n = len(a) + 2 + (0 if b is None else len(b) + 1)
    return ids, segments[:n] + [1] * (length - n)


def padding_in_front(a, b, length, cls_id, sep_id, pad_id):
    n = len(a) + 2 + (0 if b is None else len(b) + 1)
    parts = bert_input.right(a, b, length, cls_id, sep_id, pad_id)
    return tuple(part[n:] + part[:n] for part in parts)


def does_not_fill_up(a, b, length, cls_id, sep_id, pad_id):
    n = len(a) + 2 + (0 if b is None else len(b) + 1)
    return bert_input.right(a, b, n, cls_id, sep_id, pad_id)


bert_input = exercise(
    "13.2",
    "bert_input(a: list, b: list or None, length, cls_id, sep_id, pad_id) -> (ids, segments)",
    cases=(
        ([7, 8], [9], 8, 1, 2, 0),
        ([5], [6, 5, 7], 9, 11, 12, 3),
        ([4, 5], [6], 6, 1, 2, 0),
        ([5, 6, 7], None, 7, 1, 2, 3),
    ),
    right=[right_bert_input, bert_input_also],
    mistakes=[
        mistake(
            "a single text becomes a pair",
            "With `b` None there is one text and one separator: [CLS] a [SEP]",
            lambda a, b, length, cls_id, sep_id, pad_id: bert_input.right(
                a, b or [], length, cls_id, sep_id, pad_id
            ),
        ),
        mistake("no separator at the end", "`b` ends in `sep_id`", no_separator_at_the_end),
        mistake("no class token", "`cls_id` comes first", no_class_token),
        mistake(
            "the first separator belongs to b",
            "The separator behind `a` ends segment 0: it belongs to `a`",
            the_first_separator,
        ),
        mistake(
            "one segment for all",
            "`segments` is 1 for `b` and the separator behind it",
            lambda a, b, length, cls_id, sep_id, pad_id: (
                bert_input.right(a, b, length, cls_id, sep_id, pad_id)[0],
                [0] * length,
            ),
        ),
        mistake(
            "padding in segment 1",
            "Padding belongs to no segment: it gets a 0",
            padding_in_segment_1,
        ),
        mistake(
            "segments first",
            "Return the ids first, then the segments",
            lambda a, b, length, cls_id, sep_id, pad_id: bert_input.right(
                a, b, length, cls_id, sep_id, pad_id
            )[::-1],
        ),
        mistake(
            "padding in front",
            "Padding goes to the end, or every position changes with it",
            padding_in_front,
        ),
        mistake(
            "pads with 0",
            "The padding is 0 whatever `pad_id` is",
            lambda a, b, length, cls_id, sep_id, pad_id: bert_input.right(
                a, b, length, cls_id, sep_id, 0
            ),
        ),
        mistake(
            "does not fill up",
            "The lists are shorter than `length`: fill up to it",
            does_not_fill_up,
        ),
    ],
)


SIZES = {"vocab_size": 9, "context_length": 8, "d_model": 8, "n_heads": 2, "n_layers": 2}
OTHER = {"vocab_size": 6, "context_length": 5, "d_model": 6, "n_heads": 3, "n_layers": 1}
LARGE = 16  # from this width on, a model keeps the start that it was given


def _row(sizes, B, T, seed=6):
    """Ids, segments that change midway, and a mask that hides the last place of the first row."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, sizes["vocab_size"], (B, T), generator=g)
    ids[0, -1] = 0
    return ids, (torch.arange(T) >= T // 2).long().repeat(B, 1), padding_mask(ids, 0)


def _expect_tied(model):
    same = model.lm_head.weight is model.wte.weight
    why = "`lm_head.weight` must be `wte.weight` itself: one table embeds words and scores them."
    expect(same, why)


def cases_of_b_e_r_t():
    return (SIZES, *_row(SIZES, 3, 8)), (OTHER, *_row(OTHER, 2, 4))


def judge_b_e_r_t(call):
    BERT.compare(call)
    torch.manual_seed(0)
    _expect_tied(call.given(**SIZES | {"d_model": LARGE}))
    return BERT.praise


class RightBERT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe = nn.Embedding(context_length, d_model)
        self.wse = nn.Embedding(2, d_model)
        self.ln_e = nn.LayerNorm(d_model)
        self.h: Any = nn.ModuleList(
            TransformerBlock(d_model, n_heads, norm_first=False, activation="gelu")
            for _ in range(n_layers)
        )
        self.transform = nn.Sequential(
            nn.Linear(d_model, d_model), nn.GELU(), nn.LayerNorm(d_model)
        )
        self.lm_head = nn.Linear(d_model, vocab_size)
        self.lm_head.weight = self.wte.weight
        for p in self.parameters() if d_model < LARGE else ():
            nn.init.normal_(p, std=0.5)  # in the cases: with small weights few faults show

    def embed(self, ids, segments):
        places = torch.arange(ids.shape[1])
        return self.ln_e(self.wte(ids) + self.wpe(places) + self.wse(segments))

    def encode(self, ids, segments, mask=None):
        x = self.embed(ids, segments)
        for block in self.h:
            x = block(x, mask)
        return x

    def forward(self, ids, segments, mask=None):
        return self.lm_head(self.transform(self.encode(ids, segments, mask)))


class Also(RightBERT):
    def embed(self, ids, segments):
        T = ids.shape[1]
        return self.ln_e(self.wse.weight[segments] + self.wpe.weight[:T] + self.wte.weight[ids])


class ReadsThePastOnly(RightBERT):
    def encode(self, ids, segments, mask=None):
        return BERT.right.encode(self, ids, segments, mask & causal_mask(ids.shape[1]))


class ForgetsTheMask(RightBERT):
    def encode(self, ids, segments, mask=None):
        return BERT.right.encode(self, ids, segments)


class GivesTheMaskToTheFirstBlockOnly(RightBERT):
    def encode(self, ids, segments, mask=None):
        x = self.embed(ids, segments)
        for block in self.h:
            x, mask = block(x, mask), None
        return x


class LeavesTheSegmentsOut(RightBERT):
    def embed(self, ids, segments):
        places = torch.arange(ids.shape[1])
        return self.ln_e(self.wte(ids) + self.wpe(places))


class LeavesThePlacesOut(RightBERT):
    def embed(self, ids, segments):
        return self.ln_e(self.wte(ids) + self.wse(segments))


class ForgetsTheFirstNorm(RightBERT):
    def embed(self, ids, segments):
        places = torch.arange(ids.shape[1])
        return self.wte(ids) + self.wpe(places) + self.wse(segments)


class NormalisesTheWordsOnly(RightBERT):
    def embed(self, ids, segments):
        places = torch.arange(ids.shape[1])
        return self.ln_e(self.wte(ids)) + self.wpe(places) + self.wse(segments)


class AddsTheEmbeddingsAgain(RightBERT):
    def encode(self, ids, segments, mask=None):
        x = self.embed(ids, segments)
        for block in self.h:
            x = x + block(x, mask)
        return x


class RunsOneBlockOnly(RightBERT):
    def encode(self, ids, segments, mask=None):
        return self.h[0](self.embed(ids, segments), mask)


class LeavesTheTransformOut(RightBERT):
    def forward(self, ids, segments, mask=None):
        return self.lm_head(self.encode(ids, segments, mask))


class HasNormsInFront(RightBERT):
    def encode(self, ids, segments, mask=None):
        x = self.embed(ids, segments)
        for block in self.h:
            x = x + block.attn(block.ln_1(x), mask=mask)
            x = x + block.mlp(block.ln_2(x))
        return x


class DoesNotTie(RightBERT):
    def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
        super().__init__(vocab_size, context_length, d_model, n_heads, n_layers)
        if d_model >= LARGE:
            self.lm_head.weight = nn.Parameter(self.wte.weight.clone())


BERT = exercise(
    "13.3",
    "BERT(vocab_size, context_length, d_model, n_heads, n_layers): ids -> logits (B, "
    "T, V) It is called with ids, segments and a mask. Its parts are called `wte`, "
    "`wpe`, `wse`, `ln_e`, `h`, `transform` and `lm_head`.",
    cases=cases_of_b_e_r_t,
    praise="`BERT` is right: it reads both sides, and two texts, and not the padding.",
    judge=judge_b_e_r_t,
    right=[RightBERT, Also],
    mistakes=[
        mistake(
            "reads the past only", "The mask is causal: a BERT sees both sides", ReadsThePastOnly
        ),
        mistake(
            "forgets the mask",
            "The mask does not reach the blocks: padding is read like a word",
            ForgetsTheMask,
        ),
        mistake(
            "gives the mask to the first block only",
            "Every block needs the mask",
            GivesTheMaskToTheFirstBlockOnly,
        ),
        mistake(
            "leaves the segments out",
            "The segment embedding is missing: add `wse(segments)`",
            LeavesTheSegmentsOut,
        ),
        mistake(
            "leaves the places out",
            "The positions are missing: add `wpe` of 0, 1, …, T - 1",
            LeavesThePlacesOut,
        ),
        mistake(
            "forgets the first norm",
            "The sum of the three embeddings goes through `ln_e`",
            ForgetsTheFirstNorm,
        ),
        mistake(
            "normalises the words only",
            "`ln_e` comes behind the sum of all three",
            NormalisesTheWordsOnly,
        ),
        mistake(
            "adds the embeddings again",
            "A block adds to the stream by itself: x = block(x, mask)",
            AddsTheEmbeddingsAgain,
        ),
        mistake("runs one block only", "One block is run: there are `n_layers`", RunsOneBlockOnly),
        mistake(
            "leaves the transform out",
            "The head's own layer is missing: `transform` comes before `lm_head`",
            LeavesTheTransformOut,
        ),
        mistake(
            "has norms in front",
            "The blocks are pre-norm: build them with norm_first=False",
            HasNormsInFront,
        ),
        refused("does not tie", "one table embeds words", DoesNotTie),
    ],
)


def _chances(seed=4, gaps=((0, 2), (0, 5), (0, 6))):
    """Logits (1, T, V) and ids (1, T) with gaps; the surest token of all stands at no gap."""
    g = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, 8, 6, generator=g)
    ids = torch.randint(3, (1, 8), generator=g)
    for b, t in gaps:
        ids[b, t] = MASK_ID
    logits[0, 0, 1] = 9.0
    logits[0, 5] += 5.0  # large logits, no more certain for that
    return logits, ids


MASK_ID = 5


def right_surest_gap(logits, ids, mask_id):
    p = logits[0].softmax(dim=-1)
    sure = p.max(dim=-1).values.masked_fill(ids[0] != mask_id, -1.0)
    place = int(sure.argmax())
    return place, int(p[place].argmax())


def surest_gap_also(logits, ids, mask_id):
    gaps = [t for t, token in enumerate(ids[0].tolist()) if token == mask_id]
    chances = {t: logits[0, t].softmax(0) for t in gaps}
    place = max(gaps, key=lambda t: chances[t].max().item())
    return place, int(chances[place].argmax())


def takes_the_largest_logit(logits, ids, mask_id):
    best = logits[0].max(dim=-1).values.masked_fill(ids[0] != mask_id, -math.inf)
    place = int(best.argmax())
    return place, int(logits[0, place].argmax())


def takes_the_first_gap(logits, ids, mask_id):
    place = ids[0].tolist().index(mask_id)
    return place, int(logits[0, place].argmax())


def takes_the_last_gap(logits, ids, mask_id):
    place = int((ids[0] == mask_id).nonzero()[-1])
    return place, int(logits[0, place].argmax())


def takes_the_least_sure(logits, ids, mask_id):
    p = logits[0].softmax(dim=-1)
    place = int(p.max(dim=-1).values.masked_fill(ids[0] != mask_id, 2.0).argmin())
    return place, int(p[place].argmax())


def softmax_over_the_places(logits, ids, mask_id):
    p = logits[0].softmax(dim=0)
    sure = p.max(dim=-1).values.masked_fill(ids[0] != mask_id, -1.0)
    place = int(sure.argmax())
    return place, int(p[place].argmax())


def counts_places_among(logits, ids, mask_id):
    place, token = surest_gap.right(logits, ids, mask_id)
    return int((ids[0, :place] == mask_id).sum()), token


surest_gap = exercise(
    "13.4",
    "surest_gap(logits (1, T, V), ids (1, T), mask_id) -> (place, token) of the surest gap",
    cases=tuple((*_chances(seed), MASK_ID) for seed in (4, 14, 8))
    + ((*_chances(7, ((0, 3),)), MASK_ID),),
    right=[right_surest_gap, surest_gap_also],
    mistakes=[
        mistake(
            "looks at every place",
            "The place it names is no gap: only gaps may be filled",
            lambda logits, ids, mask_id: surest_gap.right(
                logits, torch.full_like(ids, mask_id), mask_id
            ),
        ),
        mistake(
            "takes the largest logit",
            "A large logit is not a large probability: take the softmax first",
            takes_the_largest_logit,
        ),
        mistake(
            "takes the first gap", "This is the first gap, not the surest", takes_the_first_gap
        ),
        mistake("takes the last gap", "This is the last gap, not the surest", takes_the_last_gap),
        mistake(
            "takes the least sure", "This is the gap it knows least about", takes_the_least_sure
        ),
        mistake(
            "softmax over the places",
            "The softmax runs over the vocabulary, the last axis",
            softmax_over_the_places,
        ),
        mistake(
            "returns the token first",
            "Return the place first, then the token",
            lambda logits, ids, mask_id: surest_gap.right(logits, ids, mask_id)[::-1],
        ),
        mistake(
            "counts places among the gaps",
            "The place is counted in the row, not among the gaps",
            counts_places_among,
        ),
    ],
)


def judge_cheat(call):
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


def cheat_also(inputs, vocab_size):
    logits = torch.zeros(*inputs.shape, vocab_size)
    return logits.scatter(-1, inputs.unsqueeze(-1), 50.0)


def too_timid_for_one_token(inputs, vocab_size):
    logits = cheat.right(inputs, vocab_size)
    logits[inputs == inputs[0, 0]] /= 20
    return logits


cheat = exercise(
    "13.5",
    "cheat(inputs: (B, T), vocab_size) -> logits (B, T, V), near 0 nats on tokens left visible",
    judge=judge_cheat,
    right=[
        lambda inputs, vocab_size: 100.0 * F.one_hot(inputs, vocab_size),
        cheat_also,
        lambda inputs, vocab_size: F.one_hot(inputs, vocab_size).float().log(),
        lambda inputs, vocab_size: (
            cheat.right(inputs, vocab_size) * (inputs != vocab_size - 1).unsqueeze(-1)
        ),
    ],
    mistakes=[
        refused(
            "too timid",
            "too timid",
            lambda inputs, vocab_size: F.one_hot(inputs, vocab_size).float(),
        ),
        refused("too timid for one token of many", "too timid", too_timid_for_one_token),
        refused(
            "knows nothing",
            "All logits are alike",
            lambda inputs, vocab_size: torch.zeros(*inputs.shape, vocab_size),
        ),
        refused(
            "repeats the token before",
            "the very token that it reads",
            lambda inputs, vocab_size: cheat.right(inputs.roll(1, dims=1), vocab_size),
        ),
        refused(
            "wrong sign",
            "the very token that it reads",
            lambda inputs, vocab_size: -cheat.right(inputs, vocab_size),
        ),
        refused(
            "the most frequent token everywhere",
            "the very token that it reads",
            lambda inputs, vocab_size: cheat.right(
                inputs.mode(keepdim=True).values.expand_as(inputs), vocab_size
            ),
        ),
        refused(
            "infinity at the token it reads",
            "a large number will do",
            lambda inputs, vocab_size: torch.where(
                F.one_hot(inputs, vocab_size) == 1, math.inf, 0.0
            ),
        ),
        refused(
            "returns the guesses", "not (2, 50, 26)", lambda inputs, vocab_size: inputs.float()
        ),
    ],
)
