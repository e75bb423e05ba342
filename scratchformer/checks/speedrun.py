"""The exercises of chapter 17, speedrun."""

import torch
from torch.nn import functional as F

from scratchformer.checks.engine import exercise

X = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0)) + 0.5
WITH_ZEROS = X.clone()
WITH_ZEROS[0, 1] = 0


def _over_root(x, squares, eps):
    return x / (squares + eps).sqrt()


def _mean_square(x):
    return x.square().mean(dim=-1, keepdim=True)


@exercise("17.1")
class rms_norm:
    """rms_norm(x: (B, T, C), eps) -> (B, T, C), each vector over its root mean square"""

    cases = ((X, 0.04), (WITH_ZEROS, 1e-6))

    def right(x, eps):
        return _over_root(x, _mean_square(x), eps)

    def also(x, eps):
        return F.rms_norm(x, x.shape[-1:], eps=eps)

    def also_einsum(x, eps):
        squares = torch.einsum("btc,btc->bt", x, x) / x.shape[-1]
        return x * torch.rsqrt(squares + eps)[..., None]

    def layer_normalisation(x, eps):
        """The mean is subtracted: that is layer normalisation"""
        return F.layer_norm(x, x.shape[-1:], eps=eps)

    def divides_by_the_standard_deviation(x, eps):
        """This divides by the standard deviation: square x itself, not x − mean"""
        return _over_root(x, x.var(dim=-1, keepdim=True, correction=0), eps)

    def divides_by_the_length(x, eps):
        """This divides by the length: take the mean of the squares"""
        return _over_root(x, x.square().sum(dim=-1, keepdim=True), eps)

    def takes_no_root(x, eps):
        """The root is missing"""
        return x / (_mean_square(x) + eps)

    def multiplies(x, eps):
        """Multiplied: divide by the root mean square"""
        return x * (_mean_square(x) + eps).sqrt()

    def takes_the_mean_over_time(x, eps):
        """The mean runs over time: take the channels"""
        return _over_root(x, x.square().mean(dim=1, keepdim=True), eps)

    def takes_the_mean_over_the_batch(x, eps):
        """The mean runs over the batch: take channels"""
        return _over_root(x, x.square().mean(dim=0, keepdim=True), eps)

    def takes_one_mean_for_all(x, eps):
        """One mean for all: each position has its own"""
        return _over_root(x, x.square().mean(), eps)

    def adds_ε_outside_the_root(x, eps):
        """ε belongs under the root, with the mean of the squares"""
        return x / (_mean_square(x).sqrt() + eps)

    def forgets_ε(x, eps):
        """A vector of zeros makes 0 / 0: ε stands under the root"""
        return x / _mean_square(x).sqrt()

    def loses_the_axis(x, eps):
        """The mean has lost its axis: `keepdim=True`"""
        return _over_root(x, x.square().mean(dim=-1), eps)


def _steps(X, steps, a=3.4445, b=-4.7750, c=2.0315):
    """`steps` times X -> a X + b (X Xᵀ) X + c (X Xᵀ)² X."""
    for _ in range(steps):
        S = X @ X.T
        X = a * X + (b * S + c * S @ S) @ X
    return X


GRADIENTS = 4 * torch.randn(3, 5, 5, generator=torch.Generator().manual_seed(1))


@exercise("17.2")
class newton_schulz:
    """newton_schulz(G: (N, M), steps) -> (N, M), singular values drawn towards 1"""

    cases = (
        (GRADIENTS[0, :3], 3),
        (GRADIENTS[1, :4, :4], 2),
        (GRADIENTS[2, :, :3], 5),
        (torch.zeros(2, 3), 5),
    )

    def right(G, steps):
        return _steps(G / (G.norm() + 1e-7), steps)

    def also_by_singular_values(G, steps):  # the same polynomial of each of them
        U, s, V = torch.linalg.svd(G, full_matrices=False)
        s = s / (s.square().sum().sqrt() + 1e-7)
        for _ in range(steps):
            s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
        return U @ s.diag() @ V

    def also_with_products_of_the_smaller_side(G, steps):
        if len(G) > G.shape[1]:
            return newton_schulz.right(G.T, steps).T
        return newton_schulz.right(G, steps)

    def does_not_normalise(G, steps):
        """G is not divided by its norm: above 1 the steps explode"""
        return _steps(G, steps)

    def swaps_the_last_coefficients(G, steps):
        """The last two coefficients are swapped"""
        return _steps(G / G.norm(), steps, b=2.0315, c=-4.7750)

    def forgets_the_first_term(G, steps):
        """The first term, 3.4445 X, is missing"""
        return _steps(G / G.norm(), steps, a=0.0)

    def forgets_the_square_in_the_last_term(G, steps):
        """The last term lacks a factor: (X Xᵀ)² X"""
        return _steps(G / G.norm(), steps, b=2.0315 - 4.7750, c=0.0)

    def takes_the_cubic_of_textbooks(G, steps):
        """1.5 and −0.5 are the textbook's: here there are three coefficients"""
        return _steps(G / G.norm(), steps, 1.5, -0.5, 0.0)

    def normalises_at_every_step(G, steps):
        """Divide by the norm once, before the first step"""
        for _ in range(steps):
            G = _steps(G / G.norm(), 1)
        return G

    def takes_one_step_too_few(G, steps):
        """One step too few"""
        return _steps(G / G.norm(), steps - 1)

    def takes_one_step_too_many(G, steps):
        """One step too many"""
        return _steps(G / G.norm(), steps + 1)

    def takes_one_step(G, steps):
        """This is one step: repeat it `steps` times"""
        return _steps(G / G.norm(), 1)

    def returns_the_normalised_matrix(G, steps):
        """Nothing happened after the division: return the X of the last step"""
        return G / G.norm()

    def takes_the_SVD(G, steps):
        """This is U Vᵀ exactly: the steps come near it, and do without the SVD"""
        U, _, V = torch.linalg.svd(G, full_matrices=False)
        return U @ V

    def multiplies_the_norm_back(G, steps):
        """The norm is multiplied back: the size of G is to be forgotten"""
        return newton_schulz.right(G, steps) * G.norm()

    def divides_by_the_largest_singular_value(G, steps):
        """The norm is the Frobenius norm: the root of the sum of all squares"""
        return _steps(G / torch.linalg.matrix_norm(G, 2), steps)

    def divides_by_the_squared_norm(G, steps):
        """The root is missing from the norm"""
        return _steps(G / G.square().sum(), steps)

    def multiplies_the_other_way_round(G, steps):
        """The product is X Xᵀ, N by N, and stands on the left of X"""
        X = G / G.norm()
        for _ in range(steps):
            S = X.T @ X
            X = 3.4445 * X - 4.7750 * S @ X + 2.0315 * S @ S @ X
        return X

    def returns_the_transposed_result(G, steps):
        """The result is transposed: it has the shape of G"""
        return newton_schulz.right(G, steps).T

    def divides_0_by_0(G, steps):
        """A gradient of 0 makes 0 / 0: add 1e-7 to the norm"""
        return _steps(G / G.norm(), steps)


def _shifted(x, k):
    """x moved k places to later positions (to earlier ones if k < 0), zeros where nothing comes."""
    if k == 0:
        return x
    zeros = torch.zeros_like(x[:, : abs(k)])
    return torch.cat((zeros, x[:, :-k]) if k > 0 else (x[:, -k:], zeros), dim=1)


def _mixed(x, weights, shift=_shifted):
    """What is added to x: weights[0] * shift(x, 1) + weights[1] * shift(x, 2) + …"""
    return sum(w * shift(x, k) for k, w in enumerate(weights, 1))


def _copies_of_the_first(x, k):
    return x[:, (torch.arange(x.shape[1]) - k).clamp(min=0)]


SMEARED = torch.randn(2, 2, 5, 3, generator=torch.Generator().manual_seed(2))
WEIGHTS = torch.randn(3, 3, generator=torch.Generator().manual_seed(4))


@exercise("17.3")
class smear:
    """smear(x: (B, T, C), weights: (n, C)) -> (B, T, C), with weighted earlier vectors added"""

    cases = ((SMEARED[0, :, :4], WEIGHTS[:1]), (SMEARED[1], WEIGHTS[1:]))

    def right(x, weights):
        return x + _mixed(x, weights)

    def also(x, weights):
        out = x.clone()
        for k in range(1, len(weights) + 1):
            out[:, k:] += weights[k - 1] * x[:, :-k]
        return out

    def also_as_a_causal_convolution(x, weights):  # one filter a channel
        filters = torch.cat([weights.flip(0), torch.ones_like(weights[:1])]).T[:, None]
        return F.conv1d(F.pad(x.mT, (len(weights), 0)), filters, groups=x.shape[-1]).mT

    def wraps_around(x, weights):
        """The row is bent into a ring: the first position sees the last"""
        return x + _mixed(x, weights, lambda x, k: x.roll(k, 1))

    def sees_the_future(x, weights):
        """Shifted the wrong way: each position sees the one after it"""
        return x + _mixed(x, weights, lambda x, k: _shifted(x, -k))

    def sees_the_future_and_wraps_around(x, weights):
        return x + _mixed(x, weights, lambda x, k: x.roll(-k, 1))

    def rolls_the_batch(x, weights):
        """The batch is shifted: time is the second axis"""
        return x + _mixed(x, weights, lambda x, k: x.roll(k, 0))

    def replaces_the_vectors(x, weights):
        """The position's own vector is lost: add to it"""
        return _mixed(x, weights)

    def reads_one_place_too_near(x, weights):
        """One place too near: the first weights belong to the position before"""
        return x + _mixed(x, weights, lambda x, k: _shifted(x, k - 1))

    def reads_one_place_too_far(x, weights):
        """One place too far: the first weights belong to the position just before"""
        return x + _mixed(x, weights, lambda x, k: _shifted(x, k + 1))

    def copies_the_first_position(x, weights):
        """The first positions see copies of themselves: nothing is before them"""
        return x + _mixed(x, weights, _copies_of_the_first)

    def drops_the_first_positions(x, weights):
        """The first positions are lost: keep all T"""
        return smear.right(x, weights)[:, len(weights) :]

    def adds_what_was_smeared_already(x, weights):
        """What is added was smeared already: shift the vectors that were given"""
        for k, w in enumerate(weights, 1):
            x = x + w * _shifted(x, k)
        return x

    def adds_in_a_loop_over_the_result(x, weights):
        out = x.clone()
        for t in range(x.shape[1]):
            for k, w in enumerate(weights[:t], 1):
                out[:, t] += w * out[:, t - k]
        return out

    def takes_the_weights_in_reverse(x, weights):
        """The weights are in the wrong order: row 0 is for the position just before"""
        return smear.right(x, weights.flip(0))

    def takes_one_weight_for_all_channels(x, weights):
        """Each channel has a weight of its own"""
        return x + _mixed(x, weights.mean(dim=1, keepdim=True))

    def mixes_in_one_position_only(x, weights):
        """Only one position is mixed in: there are two"""
        return smear.right(x, weights[:1])

    def adds_nothing(x, weights):
        """Nothing was added"""
        return x


@exercise("17.4")
class peek:
    """peek(x: (B, T, C)) -> (B, T, C), with the next position's vector added: a leak on purpose"""

    cases = (SMEARED[0, :, :4], SMEARED[1, :, :2])
    praise = "`peek` sees the answer. Now train with it."

    def right(x):
        return x + _shifted(x, -1)

    def also(x):
        out = x.clone()
        out[:, :-1] += x[:, 1:]
        return out

    def also_padded(x):
        return x + F.pad(x, (0, 0, 0, 1))[:, 1:]

    def looks_back(x):
        """This looks back, and no rule is broken: add the next position's"""
        return x + _shifted(x, 1)

    def wraps_around(x):
        """The row is bent into a ring: the last position sees the first"""
        return x + x.roll(-1, 1)

    def looks_back_and_wraps_around(x):
        """This looks back: add the next position's vector"""
        return x + x.roll(1, 1)

    def replaces_the_vectors(x):
        """The position's own vector is lost: add to it"""
        return _shifted(x, -1)

    def replaces_the_vectors_and_wraps_around(x):
        return x.roll(-1, 1)

    def drops_the_last_position(x):
        """The last position is lost: it stays as it is"""
        return x[:, :-1] + x[:, 1:]

    def rolls_the_batch(x):
        """The batch is shifted: time is the second axis"""
        return x + x.roll(-1, 0)

    def adds_all_later_positions(x):
        """All later positions are added: the next one is enough"""
        return x.flip(1).cumsum(1).flip(1)

    def doubles_the_last(x):
        """The last position is added to itself: nothing comes after it"""
        return x + torch.cat((x[:, 1:], x[:, -1:]), 1)

    def adds_nothing(x):
        """Nothing was added"""
        return x


KEYS = torch.randn(4, 2, 4, 3, 5, generator=torch.Generator().manual_seed(3))


def _group_size(k, n_heads):
    return n_heads // k.shape[1]


@exercise("17.5")
class share_heads:
    """share_heads(k: (B, G, T, D), n_heads) -> (B, n_heads, T, D), head by head in groups"""

    cases = (
        (KEYS[0, :, :2], 6),
        (KEYS[1, :, :3], 6),
        (KEYS[2, :, :1], 4),
        (KEYS[3], 4),
    )

    def right(k, n_heads):
        return k.repeat_interleave(_group_size(k, n_heads), dim=1)

    def also(k, n_heads):
        B, G, T, D = k.shape
        return k[:, :, None].expand(B, G, n_heads // G, T, D).reshape(B, n_heads, T, D)

    def also_by_index(k, n_heads):
        return k[:, [h * k.shape[1] // n_heads for h in range(n_heads)]]

    def tiles_the_groups(k, n_heads):
        """Heads side by side belong to one group: 0 0 0 1 1 1, not 0 1 0 1 0 1"""
        return k.repeat(1, _group_size(k, n_heads), 1, 1)

    def takes_one_group_for_all(k, n_heads):
        """All heads got the first group's keys"""
        return k[:, :1].repeat(1, n_heads, 1, 1)

    def averages_the_groups(k, n_heads):
        """The groups are averaged: copy them"""
        return k.mean(1, keepdim=True).repeat(1, n_heads, 1, 1)

    def pads_with_zeros(k, n_heads):
        """The other heads got zeros: give them their group's keys"""
        return F.pad(k, (0, 0, 0, 0, 0, n_heads - k.shape[1]))

    def repeats_the_batch(k, n_heads):
        """The batch is repeated: the heads are axis 1"""
        return k.repeat_interleave(_group_size(k, n_heads), dim=0)

    def repeats_time(k, n_heads):
        """Time is repeated: the heads are axis 1"""
        return k.repeat_interleave(_group_size(k, n_heads), dim=2)

    def leaves_five_axes(k, n_heads):
        """The groups need one axis: (B, H, T, D)"""
        return k.unsqueeze(2).expand(-1, -1, _group_size(k, n_heads), -1, -1)

    def repeats_each_group_for_all_heads(k, n_heads):
        """Each group serves n_heads / G heads, not n_heads"""
        return k.repeat_interleave(n_heads, dim=1)

    def repeats_nothing(k, n_heads):
        """There are fewer keys than heads: repeat each group's"""
        return k

    def reverses_the_heads(k, n_heads):
        """The heads are in reverse order"""
        return share_heads.right(k, n_heads).flip(1)

    def divides_among_the_heads(k, n_heads):
        """Divided among the heads: each reads the keys as they are"""
        return share_heads.right(k, n_heads) / _group_size(k, n_heads)
