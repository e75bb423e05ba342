"""The exercises of chapter 14, the encoder-decoder."""

import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from scratchformer.attention import MultiHeadAttention, scaled_dot_product_attention
from scratchformer.blocks import FeedForward
from scratchformer_course.kit.checks.engine import exercise

IGNORED = -100  # the label that `F.cross_entropy` leaves out


def _padded(rows, value):
    """Lists of ids as one (B, T) tensor, padded behind the ids."""
    return pad_sequence([torch.tensor(row) for row in rows], True, value)


@exercise("14.1")
class shift_right:
    """shift_right(rows, begin_id, end_id, pad_id) -> (inputs, labels), both (B, T)

    `rows` are lists of ids. Labels are padded with -100, inputs with pad_id.
    """

    cases = (
        ([[7, 8, 9], [5]], 1, 2, 0),
        ([[0], [4, 4]], 3, 6, 5),  # a token has the number that pads elsewhere
    )

    def right(rows, begin_id, end_id, pad_id):
        inputs = _padded([[begin_id, *row] for row in rows], pad_id)
        return inputs, _padded([[*row, end_id] for row in rows], IGNORED)

    def also(rows, begin_id, end_id, pad_id):
        T = max(map(len, rows)) + 1
        framed = [[begin_id, *row, end_id] for row in rows]
        inputs = [(row[:-1] + [pad_id] * T)[:T] for row in framed]
        labels = [(row[1:] + [IGNORED] * T)[:T] for row in framed]
        return torch.tensor(inputs), torch.tensor(labels)

    def pads_the_labels_with_pad_id(rows, begin_id, end_id, pad_id):
        """The labels are padded with `pad_id`: padding is trained on"""
        inputs, _ = shift_right.right(rows, begin_id, end_id, pad_id)
        return inputs, _padded([[*row, end_id] for row in rows], pad_id)

    def swaps_inputs_and_labels(rows, begin_id, end_id, pad_id):
        """The two are swapped: the inputs first"""
        inputs, labels = shift_right.right(rows, begin_id, end_id, pad_id)
        return labels, inputs

    def shifts_nothing(rows, begin_id, end_id, pad_id):
        """Nothing is shifted: the decoder is shown each token it has to predict"""
        ended = [[*row, end_id] for row in rows]
        return _padded(ended, pad_id), _padded(ended, IGNORED)

    def pads_the_inputs_with_minus_100(rows, begin_id, end_id, pad_id):
        """Inputs are padded with `pad_id`"""
        return shift_right.right(rows, begin_id, end_id, IGNORED)

    def has_no_end_token(rows, begin_id, end_id, pad_id):
        """No label is `end_id`: the decoder would never learn to stop"""
        return _padded([[begin_id, *row[:-1]] for row in rows], pad_id), _padded(rows, IGNORED)

    def has_no_end_token_and_cuts_the_last_column_of_the_inputs(rows, begin_id, end_id, pad_id):
        inputs, _ = shift_right.right(rows, begin_id, end_id, pad_id)
        return inputs[:, :-1], _padded(rows, IGNORED)

    def has_no_begin_token(rows, begin_id, end_id, pad_id):
        """The inputs start with the first token, not `begin_id`: nothing predicts that token"""
        return _padded(rows, pad_id), _padded([[*row[1:], end_id] for row in rows], IGNORED)

    def pads_in_front(rows, begin_id, end_id, pad_id):
        """Pad behind the tokens: position 0 is where every target begins"""
        T = max(map(len, rows))
        inputs = [[pad_id] * (T - len(row)) + [begin_id, *row] for row in rows]
        labels = [[IGNORED] * (T - len(row)) + [*row, end_id] for row in rows]
        return torch.tensor(inputs), torch.tensor(labels)

    def puts_the_end_token_behind_the_padding(rows, begin_id, end_id, pad_id):
        """… returned -100 at [1, 1], expected 2 in `answer[1]`"""
        inputs, _ = shift_right.right(rows, begin_id, end_id, pad_id)
        ends = torch.full((len(rows), 1), end_id)
        return inputs, torch.cat([_padded(rows, IGNORED), ends], dim=1)


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


@exercise("14.2")
class CrossAttention:
    """CrossAttention(d_model, n_heads): x (B, T, C), memory (B, S, C), mask (B, 1, S) -> (B, T, C)

    Its parts are called `query`, `key_value` and `c_proj`.
    """

    cases = (
        ({"d_model": 8, "n_heads": 2}, 2 * _random(0, 2, 4, 8), 2 * _random(1, 2, 4, 8), _SEES),
        ({"d_model": 6, "n_heads": 3}, _random(2, 2, 3, 6), _random(3, 2, 4, 6), _SEES),
    )
    praise = "`CrossAttention` is right: x asks, and the memory answers."

    right = _Cross

    class also(_Cross):
        def forward(self, x, memory, mask):
            q, k, v = map(self.split, self.project(x, memory))
            heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.unsqueeze(1))
            return self.c_proj(self.merge(heads))

    class also_a_list_of_heads(_Cross):
        def forward(self, x, memory, mask):
            parts = (t.chunk(self.n_heads, dim=-1) for t in self.project(x, memory))
            heads = [
                scaled_dot_product_attention(q, k, v, mask)[0]
                for q, k, v in zip(*parts, strict=True)
            ]
            return self.c_proj(torch.cat(heads, dim=-1))

    class asks_and_answers_itself(_Cross):
        """Keys and values come from x: this is self-attention. They come from the memory"""

        def project(self, x, memory):
            return super().project(x, x)

    class lets_the_memory_ask(_Cross):
        """The memory asks and x answers: queries come from x, keys and values from the memory"""

        def project(self, x, memory):
            return super().project(memory, x)

    class takes_queries_from_the_memory(_Cross):
        """Queries come from the memory: they come from x"""

        def project(self, x, memory):
            return super().project(memory, memory)

    class takes_values_from_x(_Cross):
        """Values come from x: they come from the memory, as the keys do"""

        def project(self, x, memory):
            q, k, _ = super().project(x, memory)
            return q, k, self.key_value(x).chunk(2, dim=-1)[1]

    class swaps_keys_and_values(_Cross):
        """Keys and values are swapped: `key_value` holds the keys first"""

        def project(self, x, memory):
            q, k, v = super().project(x, memory)
            return q, v, k

    class splits_into_heads_before_keys_and_values(_Cross):
        """`key_value` holds all keys, then all values: cut it into two first, each into heads"""

        def project(self, x, memory):
            both = self.key_value(memory).unflatten(-1, (self.n_heads, 2, -1))
            return self.query(x), *(part.flatten(-2) for part in both.unbind(-2))

    class ignores_the_mask(_Cross):
        """The mask has no effect: padding of the source is looked at"""

        def hide(self, scores, mask):
            return scores

    class takes_True_for_hidden(_Cross):
        """The mask is the wrong way round: True = may attend"""

        def hide(self, scores, mask):
            return scores.masked_fill(mask.unsqueeze(1), -math.inf)

    class hides_the_rows(_Cross):
        """The mask hides queries: it says which places of the memory, the keys, may be seen"""

        def hide(self, scores, mask):
            return scores.masked_fill(~mask.unsqueeze(1).mT, -1e9)

    class does_not_scale(_Cross):
        """Scores are not divided by √D"""

        def scale(self, D):
            return 1

    class divides_by_the_root_of_the_models_width(_Cross):
        """Scores are divided by √C: a query is D wide"""

        def scale(self, D):
            return (D * self.n_heads) ** -0.5

    class has_one_head_of_full_width(_Cross):
        """There is one head of full width: split q, k and v into `n_heads`"""

        def split(self, t):
            return t[:, None]

    class views_without_swapping(_Cross):
        """`view(B, H, T, D)` gives a head all channels of a few tokens: `split_heads` does not"""

        def split(self, t):
            return t.reshape(len(t), self.n_heads, t.shape[1], -1)

    class merges_without_swapping_back(_Cross):
        """The numbers of different tokens are joined: swap H and T back before the reshape"""

        def merge(self, heads):
            B, H, T, D = heads.shape
            return heads.reshape(B, T, H * D)

    class forgets_the_last_matrix(_Cross):
        """`c_proj` is not used: it mixes what the heads found"""

        def finish(self, values, x):
            return values

    class adds_x(_Cross):
        """x is added: the residual is the business of the block"""

        def finish(self, values, x):
            return x + self.c_proj(values)

    class has_no_key_value(_Cross):
        """… the parameter `key_value"""

        def __init__(self, d_model, n_heads):
            super().__init__(d_model, n_heads)
            self.key = self.value = self.key_value
            del self.key_value

    class makes_key_value_too_narrow(_Cross):
        """… `key_value.weight` has shape (8, 8), but (16, 8) is expected"""

        def __init__(self, d_model, n_heads):
            super().__init__(d_model, n_heads)
            self.key_value = nn.Linear(d_model, d_model)


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


@exercise("14.3")
class DecoderBlock:
    """DecoderBlock(d_model, n_heads): x, mask, memory, memory_mask -> (B, T, C), post-norm

    Its parts are called `attn`, `ln_1`, `cross_attn`, `ln_cross`, `mlp` and `ln_2`.
    """

    cases = (
        (
            {"d_model": 8, "n_heads": 2},
            *(2 * _random(4, 2, 4, 8), _PAST, 2 * _random(5, 2, 4, 8), _SEES),
        ),
        (
            {"d_model": 6, "n_heads": 3},
            *(_random(6, 2, 3, 6), _PAST[:, :3, :3], _random(7, 2, 4, 6), _SEES),
        ),
    )
    praise = "`DecoderBlock` is right: three sublayers, each added and then normalised."

    right = _Block

    class also(_Block):
        def forward(self, x, mask, memory, memory_mask):
            x = x + self.attn(x, mask=mask)
            x = F.layer_norm(x, x.shape[-1:], self.ln_1.weight, self.ln_1.bias)
            x = self.ln_cross(self.cross_attn(x, memory, memory_mask) + x)
            return self.ln_2(self.mlp(x) + x)

    class normalises_before_each_sublayer(_Block):
        """This is pre-norm: here each norm comes after the addition, on x + f(x)"""

        def forward(self, x, mask, memory, memory_mask):
            x = x + self.attn(self.ln_1(x), mask=mask)
            x = x + self.cross_attn(self.ln_cross(x), memory, memory_mask)
            return x + self.mlp(self.ln_2(x))

    class never_looks_across(_Block):
        """The memory is not used: the second sublayer is missing"""

        def forward(self, x, mask, memory, memory_mask):
            x = self.ln_1(x + self.attn(x, mask=mask))
            return self.ln_2(x + self.mlp(x))

    class looks_across_first(_Block):
        """Cross-attention comes first: the target reads itself first"""

        def forward(self, x, mask, memory, memory_mask):
            x = self.ln_cross(x + self.cross_attn(x, memory, memory_mask))
            x = self.ln_1(x + self.attn(x, mask=mask))
            return self.ln_2(x + self.mlp(x))

    class computes_before_it_looks_across(_Block):
        """The feed-forward network comes before the cross-attention: it comes last"""

        def forward(self, x, mask, memory, memory_mask):
            x = self.ln_1(x + self.attn(x, mask=mask))
            x = self.ln_2(x + self.mlp(x))
            return self.ln_cross(x + self.cross_attn(x, memory, memory_mask))

    class looks_across_at_itself(_Block):
        """Cross-attention gets x for its memory: give it `memory`"""

        def forward(self, x, mask, memory, memory_mask):
            x = self.ln_1(x + self.attn(x, mask=mask))
            x = self.ln_cross(x + self.cross_attn(x, x, memory_mask))
            return self.ln_2(x + self.mlp(x))

    class reads_the_memory_twice(_Block):
        """The first sublayer reads the memory: it reads what is written so far, x"""

        def forward(self, x, mask, memory, memory_mask):
            x = self.ln_1(x + self.attn(memory, mask=mask))
            x = self.ln_cross(x + self.cross_attn(x, memory, memory_mask))
            return self.ln_2(x + self.mlp(x))

    class asks_with_the_old_x(_Block):
        """The cross-attention asks with the x that came in: let it ask with what the first sublayer
        has made"""

        def forward(self, x, mask, memory, memory_mask):
            y = self.ln_1(x + self.attn(x, mask=mask))
            y = self.ln_cross(y + self.cross_attn(x, memory, memory_mask))
            return self.ln_2(y + self.mlp(y))

    class adds_the_memory(_Block):
        """The memory is added to the stream: what is added goes to x"""

        def forward(self, x, mask, memory, memory_mask):
            x = self.ln_1(x + self.attn(x, mask=mask))
            x = self.ln_cross(memory + self.cross_attn(x, memory, memory_mask))
            return self.ln_2(x + self.mlp(x))

    class has_no_residual_around_the_cross_attention(_Block):
        """A sublayer replaces x instead of adding to it"""

        def forward(self, x, mask, memory, memory_mask):
            x = self.ln_1(x + self.attn(x, mask=mask))
            x = self.ln_cross(self.cross_attn(x, memory, memory_mask))
            return self.ln_2(x + self.mlp(x))

    class has_no_residuals(_Block):
        def forward(self, x, mask, memory, memory_mask):
            x = self.ln_1(self.attn(x, mask=mask))
            x = self.ln_cross(self.cross_attn(x, memory, memory_mask))
            return self.ln_2(self.mlp(x))

    class ignores_the_mask(_Block):
        """The decoder sees its future: give `mask` to `attn`"""

        def forward(self, x, mask, memory, memory_mask):
            return super().forward(x, None, memory, memory_mask)

    class uses_the_first_mask_for_both(_Block):
        """Cross-attention gets `mask`: what it may look at says `memory_mask`"""

        def forward(self, x, mask, memory, memory_mask):
            return super().forward(x, mask, memory, mask)

    class uses_the_second_mask_for_both(_Block):
        """Self-attention gets `memory_mask`: the decoder sees its future"""

        def forward(self, x, mask, memory, memory_mask):
            return super().forward(x, memory_mask, memory, memory_mask)

    class looks_at_the_padding_of_the_source(_Block):
        """Cross-attention looks at padding: give it `memory_mask`"""

        def forward(self, x, mask, memory, memory_mask):
            return super().forward(x, mask, memory, torch.ones_like(memory_mask))

    class normalises_once_at_the_end(_Block):
        """A norm is missing: each of the three sublayers ends in one"""

        def forward(self, x, mask, memory, memory_mask):
            x = x + self.attn(x, mask=mask)
            x = x + self.cross_attn(x, memory, memory_mask)
            return self.ln_2(x + self.mlp(x))

    class leaves_the_network_out(_Block):
        """The feed-forward network is missing"""

        def forward(self, x, mask, memory, memory_mask):
            x = self.ln_1(x + self.attn(x, mask=mask))
            return self.ln_cross(x + self.cross_attn(x, memory, memory_mask))

    class has_two_norms(_Block):
        """… the parameter `ln_2.bias` is missing"""

        def __init__(self, d_model, n_heads):
            super().__init__(d_model, n_heads)
            del self.ln_2


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


@exercise("14.4")
class depends_on:
    """depends_on(block, x: (B, T, C), memory: (B, S, C)) -> three bools: past, future, source

    Whether an output depends on an earlier place of x, on a later one, on the memory.
    """

    cases = tuple((block, _random(10, 2, 5, 4), _random(11, 2, 4, 4)) for block in _BLOCKS)
    praise = "`depends_on` is right about nine blocks, sound ones and faulty ones."

    def right(block, x, memory):
        return *_watched(block, x, memory, _before, _behind), _source(block, x, memory)

    def also(block, x, memory):
        x, memory = x.clone().requires_grad_(), memory.clone().requires_grad_()
        out = block(x, memory).sin()
        inputs = {"inputs": (x, memory), "retain_graph": True, "materialize_grads": True}
        slopes = [torch.autograd.grad(out[:, t].sum(), **inputs) for t in range(x.shape[1])]
        table = torch.stack([slope.abs().sum(dim=(0, 2)) for slope, _ in slopes])  # (T, T)
        source = any((slope.abs() > 1e-7).any() for _, slope in slopes)
        return bool(table.tril(-1).any()), bool((table.triu(1) > 1e-7).any()), bool(source)

    def swaps_past_and_future(block, x, memory):
        """Past and future are swapped: an output that moves with an earlier place depends on its
        past"""
        past, future, source = depends_on.right(block, x, memory)
        return future, past, source

    def counts_a_places_own_input(block, x, memory):
        """An output may depend on its own place: that is neither past nor future"""
        past, future = _watched(
            block, x, memory, lambda moved, t: moved[: t + 1], lambda moved, t: moved[t:]
        )
        return past, future, _source(block, x, memory)

    def compares_all_outputs(block, x, memory):
        moved = bool(torch.stack([_moved(block, x, memory, t) for t in range(5)]).any())
        return moved, moved, _source(block, x, memory)

    def watches_the_neighbours_only(block, x, memory):
        """A dependence is missed: a place can look further than one place away"""
        past, future = _watched(
            block,
            x,
            memory,
            lambda moved, t: moved[max(t - 1, 0) : t],
            lambda moved, t: moved[t + 1 : t + 2],
        )
        return past, future, _source(block, x, memory)

    def changes_the_first_place_only(block, x, memory):
        """A dependence is missed: try every place of x, not only one"""
        moved = _moved(block, x, memory, 0)
        return bool(moved[1:].any()), False, _source(block, x, memory)

    def changes_the_last_place_only(block, x, memory):
        moved = _moved(block, x, memory, 4)
        return False, bool(moved[:4].any()), _source(block, x, memory)

    def changes_the_place_in_the_middle_only(block, x, memory):
        moved = _moved(block, x, memory, 2)
        return bool(moved[3:].any()), bool(moved[:2].any()), _source(block, x, memory)

    def changes_the_first_place_of_the_memory_only(block, x, memory):
        """A dependence on the memory is missed: change all of it"""
        past, future, _ = depends_on.right(block, x, memory)
        return past, future, _source(block, x, memory, slice(1))

    def says_that_the_source_is_always_read(block, x, memory):
        """The memory is not always used: change it, and see whether the output moves"""
        past, future, _ = depends_on.right(block, x, memory)
        return past, future, True

    def says_what_a_sound_block_does(block, x, memory):
        """That is the answer for a sound block: this one is not, so try it"""
        return True, False, True

    def says_the_opposite(block, x, memory):
        """True and False are swapped: True = it depends"""
        return tuple(not found for found in depends_on.right(block, x, memory))
