"""The exercises of chapter 14, the encoder-decoder."""

import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from scratchformer.attention import MultiHeadAttention, scaled_dot_product_attention
from scratchformer.blocks import FeedForward
from scratchformer_course.kit.checks.engine import alike, exercise, mistake, refused

IGNORED = -100  # the label that `F.cross_entropy` leaves out


def _padded(rows, value):
    """Lists of ids as one (B, T) tensor, padded behind the ids."""
    return pad_sequence([torch.tensor(row) for row in rows], True, value)


def right_shift_right(rows, begin_id, end_id, pad_id):
    inputs = _padded([[begin_id, *row] for row in rows], pad_id)
    return inputs, _padded([[*row, end_id] for row in rows], IGNORED)


def shift_right_also(rows, begin_id, end_id, pad_id):
    T = max(map(len, rows)) + 1
    framed = [[begin_id, *row, end_id] for row in rows]
    inputs = [(row[:-1] + [pad_id] * T)[:T] for row in framed]
    labels = [(row[1:] + [IGNORED] * T)[:T] for row in framed]
    return torch.tensor(inputs), torch.tensor(labels)


def pads_the_labels_with_pad(rows, begin_id, end_id, pad_id):
    inputs, _ = shift_right.right(rows, begin_id, end_id, pad_id)
    return inputs, _padded([[*row, end_id] for row in rows], pad_id)


def swaps_inputs_and_labels(rows, begin_id, end_id, pad_id):
    inputs, labels = shift_right.right(rows, begin_id, end_id, pad_id)
    return labels, inputs


def shifts_nothing(rows, begin_id, end_id, pad_id):
    ended = [[*row, end_id] for row in rows]
    return _padded(ended, pad_id), _padded(ended, IGNORED)


def has_no_end_token_and_cuts(rows, begin_id, end_id, pad_id):
    inputs, _ = shift_right.right(rows, begin_id, end_id, pad_id)
    return inputs[:, :-1], _padded(rows, IGNORED)


def pads_in_front(rows, begin_id, end_id, pad_id):
    T = max(map(len, rows))
    inputs = [[pad_id] * (T - len(row)) + [begin_id, *row] for row in rows]
    labels = [[IGNORED] * (T - len(row)) + [*row, end_id] for row in rows]
    return torch.tensor(inputs), torch.tensor(labels)


def puts_the_end_token_behind(rows, begin_id, end_id, pad_id):
    inputs, _ = shift_right.right(rows, begin_id, end_id, pad_id)
    ends = torch.full((len(rows), 1), end_id)
    return inputs, torch.cat([_padded(rows, IGNORED), ends], dim=1)


shift_right = exercise(
    "14.1",
    "shift_right(rows, begin_id, end_id, pad_id) -> (inputs, labels), both (B, T) "
    "`rows` are lists of ids. Labels are padded with -100, inputs with pad_id.",
    cases=(
        ([[7, 8, 9], [5]], 1, 2, 0),
        ([[0], [4, 4]], 3, 6, 5),  # a token has the number that pads elsewhere
    ),
    right=[right_shift_right, shift_right_also],
    mistakes=[
        mistake(
            "pads the labels with pad id",
            "The labels are padded with `pad_id`: padding is trained on",
            pads_the_labels_with_pad,
        ),
        mistake(
            "swaps inputs and labels",
            "The two are swapped: the inputs first",
            swaps_inputs_and_labels,
        ),
        mistake(
            "shifts nothing",
            "Nothing is shifted: the decoder is shown each token it has to predict",
            shifts_nothing,
        ),
        mistake(
            "pads the inputs with minus 100",
            "Inputs are padded with `pad_id`",
            lambda rows, begin_id, end_id, pad_id: shift_right.right(
                rows, begin_id, end_id, IGNORED
            ),
        ),
        *alike(
            "No label is `end_id`: the decoder would never learn to stop",
            {
                "has no end token": lambda rows, begin_id, end_id, pad_id: (
                    _padded([[begin_id, *row[:-1]] for row in rows], pad_id),
                    _padded(rows, IGNORED),
                ),
                "has no end token and cuts the last column of the inputs": has_no_end_token_and_cuts,
            },
        ),
        mistake(
            "has no begin token",
            "The inputs start with the first token, not `begin_id`: nothing predicts that token",
            lambda rows, begin_id, end_id, pad_id: (
                _padded(rows, pad_id),
                _padded([[*row[1:], end_id] for row in rows], IGNORED),
            ),
        ),
        mistake(
            "pads in front",
            "Pad behind the tokens: position 0 is where every target begins",
            pads_in_front,
        ),
        refused(
            "puts the end token behind the padding",
            "returned -100 at [1, 1], expected 2 in `answer[1]`",
            puts_the_end_token_behind,
        ),
    ],
)


def _random(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class _Cross(nn.Module):
    """Cross-attention in steps, so that a mistake can change one of them."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)

    def project(self, x, memory):
        return self.query(x), *self.key_value(memory).chunk(2, dim=-1)

    def split(self, t):
        return t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def scale(self, D):
        return D**-0.5

    def hide(self, scores, mask):
        return scores.masked_fill(~mask.unsqueeze(1), -math.inf)

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def finish(self, values, x):
        return self.c_proj(values)

    def forward(self, x, memory, mask):
        q, k, v = map(self.split, self.project(x, memory))
        scores = self.hide(q @ k.mT * self.scale(q.shape[-1]), mask)
        return self.finish(self.merge(scores.softmax(dim=-1) @ v), x)


_Cross.__name__ = "CrossAttention"
_SEES = torch.tensor([[[1, 1, 1, 1]], [[1, 1, 0, 0]]], dtype=torch.bool)  # (B, 1, S)


class Also(_Cross):
    def forward(self, x, memory, mask):
        q, k, v = map(self.split, self.project(x, memory))
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.unsqueeze(1))
        return self.c_proj(self.merge(heads))


class AlsoAListOfHeads(_Cross):
    def forward(self, x, memory, mask):
        parts = (t.chunk(self.n_heads, dim=-1) for t in self.project(x, memory))
        heads = [
            scaled_dot_product_attention(q, k, v, mask)[0] for q, k, v in zip(*parts, strict=True)
        ]
        return self.c_proj(torch.cat(heads, dim=-1))


class AsksAndAnswersItself(_Cross):
    def project(self, x, memory):
        return super().project(x, x)


class LetsTheMemoryAsk(_Cross):
    def project(self, x, memory):
        return super().project(memory, x)


class TakesQueriesFromTheMemory(_Cross):
    def project(self, x, memory):
        return super().project(memory, memory)


class TakesValuesFromX(_Cross):
    def project(self, x, memory):
        q, k, _ = super().project(x, memory)
        return q, k, self.key_value(x).chunk(2, dim=-1)[1]


class SwapsKeysAndValues(_Cross):
    def project(self, x, memory):
        q, k, v = super().project(x, memory)
        return q, v, k


class SplitsIntoHeadsBeforeKeysAndValues(_Cross):
    def project(self, x, memory):
        both = self.key_value(memory).unflatten(-1, (self.n_heads, 2, -1))
        return self.query(x), *(part.flatten(-2) for part in both.unbind(-2))


class IgnoresTheMask(_Cross):
    def hide(self, scores, mask):
        return scores


class TakesTrueForHidden(_Cross):
    def hide(self, scores, mask):
        return scores.masked_fill(mask.unsqueeze(1), -math.inf)


class HidesTheRows(_Cross):
    def hide(self, scores, mask):
        return scores.masked_fill(~mask.unsqueeze(1).mT, -1e9)


class DoesNotScale(_Cross):
    def scale(self, D):
        return 1


class DividesByTheRootOfTheModelsWidth(_Cross):
    def scale(self, D):
        return (D * self.n_heads) ** -0.5


class HasOneHeadOfFullWidth(_Cross):
    def split(self, t):
        return t[:, None]


class ViewsWithoutSwapping(_Cross):
    def split(self, t):
        return t.reshape(len(t), self.n_heads, t.shape[1], -1)


class MergesWithoutSwappingBack(_Cross):
    def merge(self, heads):
        B, H, T, D = heads.shape
        return heads.reshape(B, T, H * D)


class ForgetsTheLastMatrix(_Cross):
    def finish(self, values, x):
        return values


class AddsX(_Cross):
    def finish(self, values, x):
        return x + self.c_proj(values)


class HasNoKeyValue(_Cross):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.key = self.value = self.key_value
        del self.key_value


class MakesKeyValueTooNarrow(_Cross):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.key_value = nn.Linear(d_model, d_model)


CrossAttention = exercise(
    "14.2",
    "CrossAttention(d_model, n_heads): x (B, T, C), memory (B, S, C), mask (B, 1, S) "
    "-> (B, T, C) Its parts are called `query`, `key_value` and `c_proj`.",
    cases=(
        ({"d_model": 8, "n_heads": 2}, 2 * _random(0, 2, 4, 8), 2 * _random(1, 2, 4, 8), _SEES),
        ({"d_model": 6, "n_heads": 3}, _random(2, 2, 3, 6), _random(3, 2, 4, 6), _SEES),
    ),
    praise="`CrossAttention` is right: x asks, and the memory answers.",
    right=[_Cross, Also, AlsoAListOfHeads],
    mistakes=[
        mistake(
            "asks and answers itself",
            "Keys and values come from x: this is self-attention. They come from the memory",
            AsksAndAnswersItself,
        ),
        mistake(
            "lets the memory ask",
            "The memory asks and x answers: queries come from x, keys and values from the memory",
            LetsTheMemoryAsk,
        ),
        mistake(
            "takes queries from the memory",
            "Queries come from the memory: they come from x",
            TakesQueriesFromTheMemory,
        ),
        mistake(
            "takes values from x",
            "Values come from x: they come from the memory, as the keys do",
            TakesValuesFromX,
        ),
        mistake(
            "swaps keys and values",
            "Keys and values are swapped: `key_value` holds the keys first",
            SwapsKeysAndValues,
        ),
        mistake(
            "splits into heads before keys and values",
            "`key_value` holds all keys, then all values: cut it into two first, each into heads",
            SplitsIntoHeadsBeforeKeysAndValues,
        ),
        mistake(
            "ignores the mask",
            "The mask has no effect: padding of the source is looked at",
            IgnoresTheMask,
        ),
        mistake(
            "takes True for hidden",
            "The mask is the wrong way round: True = may attend",
            TakesTrueForHidden,
        ),
        mistake(
            "hides the rows",
            "The mask hides queries: it says which places of the memory, the keys, may be seen",
            HidesTheRows,
        ),
        mistake("does not scale", "Scores are not divided by √D", DoesNotScale),
        mistake(
            "divides by the root of the models width",
            "Scores are divided by √C: a query is D wide",
            DividesByTheRootOfTheModelsWidth,
        ),
        mistake(
            "has one head of full width",
            "There is one head of full width: split q, k and v into `n_heads`",
            HasOneHeadOfFullWidth,
        ),
        mistake(
            "views without swapping",
            "`view(B, H, T, D)` gives a head all channels of a few tokens: `split_heads` does not",
            ViewsWithoutSwapping,
        ),
        mistake(
            "merges without swapping back",
            "The numbers of different tokens are joined: swap H and T back before the reshape",
            MergesWithoutSwappingBack,
        ),
        mistake(
            "forgets the last matrix",
            "`c_proj` is not used: it mixes what the heads found",
            ForgetsTheLastMatrix,
        ),
        mistake("adds x", "x is added: the residual is the business of the block", AddsX),
        refused("has no key value", "the parameter `key_value", HasNoKeyValue),
        refused(
            "makes key value too narrow",
            "`key_value.weight` has shape (8, 8), but (16, 8) is expected",
            MakesKeyValueTooNarrow,
        ),
    ],
)


class _Block(nn.Module):
    """The paper's decoder block; a mistake changes `forward`."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.ln_1 = nn.LayerNorm(d_model)
        self.cross_attn = _Cross(d_model, n_heads)
        self.ln_cross = nn.LayerNorm(d_model)
        self.mlp = FeedForward(d_model, activation="relu")
        self.ln_2 = nn.LayerNorm(d_model)

    def forward(self, x, mask, memory, memory_mask):
        x = self.ln_1(x + self.attn(x, mask=mask))
        x = self.ln_cross(x + self.cross_attn(x, memory, memory_mask))
        return self.ln_2(x + self.mlp(x))


_Block.__name__ = "DecoderBlock"
_PAST = torch.ones(2, 4, 4, dtype=torch.bool).tril()


class AlsoOfDecoderBlock(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = x + self.attn(x, mask=mask)
        x = F.layer_norm(x, x.shape[-1:], self.ln_1.weight, self.ln_1.bias)
        x = self.ln_cross(self.cross_attn(x, memory, memory_mask) + x)
        return self.ln_2(self.mlp(x) + x)


class NormalisesBeforeEachSublayer(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = x + self.attn(self.ln_1(x), mask=mask)
        x = x + self.cross_attn(self.ln_cross(x), memory, memory_mask)
        return x + self.mlp(self.ln_2(x))


class NeverLooksAcross(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = self.ln_1(x + self.attn(x, mask=mask))
        return self.ln_2(x + self.mlp(x))


class LooksAcrossFirst(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = self.ln_cross(x + self.cross_attn(x, memory, memory_mask))
        x = self.ln_1(x + self.attn(x, mask=mask))
        return self.ln_2(x + self.mlp(x))


class ComputesBeforeItLooksAcross(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = self.ln_1(x + self.attn(x, mask=mask))
        x = self.ln_2(x + self.mlp(x))
        return self.ln_cross(x + self.cross_attn(x, memory, memory_mask))


class LooksAcrossAtItself(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = self.ln_1(x + self.attn(x, mask=mask))
        x = self.ln_cross(x + self.cross_attn(x, x, memory_mask))
        return self.ln_2(x + self.mlp(x))


class ReadsTheMemoryTwice(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = self.ln_1(x + self.attn(memory, mask=mask))
        x = self.ln_cross(x + self.cross_attn(x, memory, memory_mask))
        return self.ln_2(x + self.mlp(x))


class AsksWithTheOldX(_Block):
    def forward(self, x, mask, memory, memory_mask):
        y = self.ln_1(x + self.attn(x, mask=mask))
        y = self.ln_cross(y + self.cross_attn(x, memory, memory_mask))
        return self.ln_2(y + self.mlp(y))


class AddsTheMemory(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = self.ln_1(x + self.attn(x, mask=mask))
        x = self.ln_cross(memory + self.cross_attn(x, memory, memory_mask))
        return self.ln_2(x + self.mlp(x))


class HasNoResidualAroundTheCross(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = self.ln_1(x + self.attn(x, mask=mask))
        x = self.ln_cross(self.cross_attn(x, memory, memory_mask))
        return self.ln_2(x + self.mlp(x))


class HasNoResiduals(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = self.ln_1(self.attn(x, mask=mask))
        x = self.ln_cross(self.cross_attn(x, memory, memory_mask))
        return self.ln_2(self.mlp(x))


class IgnoresTheMaskOfDecoderBlock(_Block):
    def forward(self, x, mask, memory, memory_mask):
        return super().forward(x, None, memory, memory_mask)


class UsesTheFirstMaskForBoth(_Block):
    def forward(self, x, mask, memory, memory_mask):
        return super().forward(x, mask, memory, mask)


class UsesTheSecondMaskForBoth(_Block):
    def forward(self, x, mask, memory, memory_mask):
        return super().forward(x, memory_mask, memory, memory_mask)


class LooksAtThePaddingOfTheSource(_Block):
    def forward(self, x, mask, memory, memory_mask):
        return super().forward(x, mask, memory, torch.ones_like(memory_mask))


class NormalisesOnceAtTheEnd(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = x + self.attn(x, mask=mask)
        x = x + self.cross_attn(x, memory, memory_mask)
        return self.ln_2(x + self.mlp(x))


class LeavesTheNetworkOut(_Block):
    def forward(self, x, mask, memory, memory_mask):
        x = self.ln_1(x + self.attn(x, mask=mask))
        return self.ln_cross(x + self.cross_attn(x, memory, memory_mask))


class HasTwoNorms(_Block):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        del self.ln_2


DecoderBlock = exercise(
    "14.3",
    "DecoderBlock(d_model, n_heads): x, mask, memory, memory_mask -> (B, T, C), "
    "post-norm Its parts are called `attn`, `ln_1`, `cross_attn`, `ln_cross`, `mlp` "
    "and `ln_2`.",
    cases=(
        (
            {"d_model": 8, "n_heads": 2},
            *(2 * _random(4, 2, 4, 8), _PAST, 2 * _random(5, 2, 4, 8), _SEES),
        ),
        (
            {"d_model": 6, "n_heads": 3},
            *(_random(6, 2, 3, 6), _PAST[:, :3, :3], _random(7, 2, 4, 6), _SEES),
        ),
    ),
    praise="`DecoderBlock` is right: three sublayers, each added and then normalised.",
    right=[_Block, AlsoOfDecoderBlock],
    mistakes=[
        mistake(
            "normalises before each sublayer",
            "This is pre-norm: here each norm comes after the addition, on x + f(x)",
            NormalisesBeforeEachSublayer,
        ),
        mistake(
            "never looks across",
            "The memory is not used: the second sublayer is missing",
            NeverLooksAcross,
        ),
        mistake(
            "looks across first",
            "Cross-attention comes first: the target reads itself first",
            LooksAcrossFirst,
        ),
        mistake(
            "computes before it looks across",
            "The feed-forward network comes before the cross-attention: it comes last",
            ComputesBeforeItLooksAcross,
        ),
        mistake(
            "looks across at itself",
            "Cross-attention gets x for its memory: give it `memory`",
            LooksAcrossAtItself,
        ),
        mistake(
            "reads the memory twice",
            "The first sublayer reads the memory: it reads what is written so far, x",
            ReadsTheMemoryTwice,
        ),
        mistake(
            "asks with the old x",
            "The cross-attention asks with the x that came in: let it ask with what "
            "the first sublayer has made",
            AsksWithTheOldX,
        ),
        mistake(
            "adds the memory",
            "The memory is added to the stream: what is added goes to x",
            AddsTheMemory,
        ),
        *alike(
            "A sublayer replaces x instead of adding to it",
            {
                "has no residual around the cross attention": HasNoResidualAroundTheCross,
                "has no residuals": HasNoResiduals,
            },
        ),
        mistake(
            "ignores the mask",
            "The decoder sees its future: give `mask` to `attn`",
            IgnoresTheMaskOfDecoderBlock,
        ),
        mistake(
            "uses the first mask for both",
            "Cross-attention gets `mask`: what it may look at says `memory_mask`",
            UsesTheFirstMaskForBoth,
        ),
        mistake(
            "uses the second mask for both",
            "Self-attention gets `memory_mask`: the decoder sees its future",
            UsesTheSecondMaskForBoth,
        ),
        mistake(
            "looks at the padding of the source",
            "Cross-attention looks at padding: give it `memory_mask`",
            LooksAtThePaddingOfTheSource,
        ),
        mistake(
            "normalises once at the end",
            "A norm is missing: each of the three sublayers ends in one",
            NormalisesOnceAtTheEnd,
        ),
        mistake(
            "leaves the network out", "The feed-forward network is missing", LeavesTheNetworkOut
        ),
        refused("has two norms", "the parameter `ln_2.bias` is missing", HasTwoNorms),
    ],
)


def _attend(x, memory, mask=None):
    """One head whose weights are far from 0 and 1, so that every change is felt."""
    return F.scaled_dot_product_attention(x, memory, memory, attn_mask=mask, scale=0.2)


def _opened(*pairs):
    """The causal mask of 5 places, and these pairs open too."""
    mask = _PLACES.tril()
    for i, j in pairs:
        mask[i, j] = True
    return mask


_PLACES = torch.ones(5, 5, dtype=torch.bool)
_ALONE = torch.eye(5, dtype=torch.bool)
_LAST = torch.tensor([False, False, False, True])  # one place of the memory
_BLOCKS = (
    lambda x, memory: x + _attend(x, x, _PLACES.tril()) + _attend(x, memory),  # sound
    lambda x, memory: x + _attend(x, x, _PLACES.tril()),
    lambda x, memory: x + _attend(x, x) + _attend(x, memory),
    lambda x, memory: x + _attend(x, memory),
    lambda x, memory: x + _attend(x, x, _opened((1, 3))) + _attend(x, memory, _LAST),
    lambda x, memory: x + _attend(x, x, _ALONE.roll(1, 1)),  # place i sees i + 1, 4 sees 0
    lambda x, memory: x + _attend(x, x, _PLACES.triu()) + _attend(x, memory),
    lambda x, memory: x + _attend(x, x, _ALONE | _ALONE.roll(2, 0).tril()),  # i sees i - 2
    lambda x, memory: 3 * x,
)
_OTHER, _OTHER_MEMORY = _random(8, 2, 5, 4), _random(9, 2, 4, 4)


def _moved(block, x, memory, t):
    """(T, T) or (T,) bool: which outputs move when place t of x is another one."""
    changed = x.clone()
    changed[:, t] = _OTHER[:, t]
    far = (block(changed, memory) - block(x, memory)).abs() > 1e-5
    return far.any(dim=2).any(dim=0)


def _source(block, x, memory, places=slice(None)):
    changed = memory.clone()
    changed[:, places] = _OTHER_MEMORY[:, places]
    return not torch.allclose(block(x, changed), block(x, memory), atol=1e-5)


def _watched(block, x, memory, early, late):
    """Past and future, where `early(moved, t)` and `late(moved, t)` choose what is looked at."""
    past = future = False
    for t in range(x.shape[1]):
        moved = _moved(block, x, memory, t)
        past |= bool(late(moved, t).any())
        future |= bool(early(moved, t).any())
    return past, future


def _before(moved, t):
    return moved[:t]


def _behind(moved, t):
    return moved[t + 1 :]


def depends_on_also(block, x, memory):
    x, memory = x.clone().requires_grad_(), memory.clone().requires_grad_()
    out = block(x, memory).sin()
    slopes = [
        torch.autograd.grad(out[:, t].sum(), (x, memory), retain_graph=True, materialize_grads=True)
        for t in range(x.shape[1])
    ]
    table = torch.stack([slope.abs().sum(dim=(0, 2)) for slope, _ in slopes])  # (T, T)
    source = any((slope.abs() > 1e-7).any() for _, slope in slopes)
    return bool(table.tril(-1).any()), bool((table.triu(1) > 1e-7).any()), bool(source)


def swaps_past_and_future(block, x, memory):
    past, future, source = depends_on.right(block, x, memory)
    return future, past, source


def counts_a_places_own_input(block, x, memory):
    past, future = _watched(
        block, x, memory, lambda moved, t: moved[: t + 1], lambda moved, t: moved[t:]
    )
    return past, future, _source(block, x, memory)


def compares_all_outputs(block, x, memory):
    moved = bool(torch.stack([_moved(block, x, memory, t) for t in range(5)]).any())
    return moved, moved, _source(block, x, memory)


def watches_the_neighbours(block, x, memory):
    past, future = _watched(
        block,
        x,
        memory,
        lambda moved, t: moved[max(t - 1, 0) : t],
        lambda moved, t: moved[t + 1 : t + 2],
    )
    return past, future, _source(block, x, memory)


def changes_the_first_place(block, x, memory):
    moved = _moved(block, x, memory, 0)
    return bool(moved[1:].any()), False, _source(block, x, memory)


def changes_the_last_place(block, x, memory):
    moved = _moved(block, x, memory, 4)
    return False, bool(moved[:4].any()), _source(block, x, memory)


def changes_the_place(block, x, memory):
    moved = _moved(block, x, memory, 2)
    return bool(moved[3:].any()), bool(moved[:2].any()), _source(block, x, memory)


def changes_the_first_place_depends_on(block, x, memory):
    past, future, _ = depends_on.right(block, x, memory)
    return past, future, _source(block, x, memory, slice(1))


def says_that_the_source(block, x, memory):
    past, future, _ = depends_on.right(block, x, memory)
    return past, future, True


depends_on = exercise(
    "14.4",
    "depends_on(block, x: (B, T, C), memory: (B, S, C)) -> three bools: past, future, "
    "source Whether an output depends on an earlier place of x, on a later one, on the "
    "memory.",
    cases=tuple((block, _random(10, 2, 5, 4), _random(11, 2, 4, 4)) for block in _BLOCKS),
    praise="`depends_on` is right about nine blocks, sound ones and faulty ones.",
    right=[
        lambda block, x, memory: (
            *_watched(block, x, memory, _before, _behind),
            _source(block, x, memory),
        ),
        depends_on_also,
    ],
    mistakes=[
        mistake(
            "swaps past and future",
            "Past and future are swapped: an output that moves with an earlier place "
            "depends on its past",
            swaps_past_and_future,
        ),
        *alike(
            "An output may depend on its own place: that is neither past nor future",
            {
                "counts a places own input": counts_a_places_own_input,
                "compares all outputs": compares_all_outputs,
            },
        ),
        mistake(
            "watches the neighbours only",
            "A dependence is missed: a place can look further than one place away",
            watches_the_neighbours,
        ),
        *alike(
            "A dependence is missed: try every place of x, not only one",
            {
                "changes the first place only": changes_the_first_place,
                "changes the last place only": changes_the_last_place,
                "changes the place in the middle only": changes_the_place,
            },
        ),
        mistake(
            "changes the first place of the memory only",
            "A dependence on the memory is missed: change all of it",
            changes_the_first_place_depends_on,
        ),
        mistake(
            "says that the source is always read",
            "The memory is not always used: change it, and see whether the output moves",
            says_that_the_source,
        ),
        mistake(
            "says what a sound block does",
            "That is the answer for a sound block: this one is not, so try it",
            lambda block, x, memory: (True, False, True),
        ),
        mistake(
            "says the opposite",
            "True and False are swapped: True = it depends",
            lambda block, x, memory: tuple(
                not found for found in depends_on.right(block, x, memory)
            ),
        ),
    ],
)
