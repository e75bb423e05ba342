"""The exercises of chapter 17, speedrun."""

from itertools import pairwise

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.engine import exercise


def _steps(X, steps, a=3.4445, b=-4.7750, c=2.0315):
    """`steps` times X -> a X + b (X Xᵀ) X + c (X Xᵀ)² X."""
    for _ in range(steps):
        S = X @ X.T
        X = a * X + (b * S + c * S @ S) @ X
    return X


GRADIENTS = 4 * torch.randn(3, 5, 5, generator=torch.Generator().manual_seed(1))


@exercise("17.1")
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


def _mixed(x, matrices, shift=_shifted):
    """What is added to x: shift(x, 1) @ matrices[0] + shift(x, 2) @ matrices[1] + …"""
    return sum(shift(x, k) @ W for k, W in enumerate(matrices, 1))


def _copies_of_the_first(x, k):
    return x[:, (torch.arange(x.shape[1]) - k).clamp(min=0)]


SMEARED = torch.randn(2, 2, 5, 3, generator=torch.Generator().manual_seed(2))
MATRICES = torch.randn(3, 3, 3, generator=torch.Generator().manual_seed(4))


@exercise("17.2")
class smear:
    """smear(x: (B, T, C), matrices: (n, C, C)) -> (B, T, C), with mixed earlier vectors added"""

    cases = ((SMEARED[0, :, :4], MATRICES[:1]), (SMEARED[1], MATRICES[1:]))

    def right(x, matrices):
        return x + _mixed(x, matrices)

    def also(x, matrices):
        out = x.clone()
        for k in range(1, len(matrices) + 1):
            out[:, k:] += x[:, :-k] @ matrices[k - 1]
        return out

    def also_as_a_causal_convolution(x, matrices):
        filters = torch.cat([matrices.flip(0), torch.eye(x.shape[-1])[None]]).permute(2, 1, 0)
        return F.conv1d(F.pad(x.mT, (len(matrices), 0)), filters).mT

    def wraps_around(x, matrices):
        """The row is bent into a ring: the first position sees the last"""
        return x + _mixed(x, matrices, lambda x, k: x.roll(k, 1))

    def sees_the_future(x, matrices):
        """Shifted the wrong way: each position sees the one after it"""
        return x + _mixed(x, matrices, lambda x, k: _shifted(x, -k))

    def sees_the_future_and_wraps_around(x, matrices):
        return x + _mixed(x, matrices, lambda x, k: x.roll(-k, 1))

    def rolls_the_batch(x, matrices):
        """The batch is shifted: time is the second axis"""
        return x + _mixed(x, matrices, lambda x, k: x.roll(k, 0))

    def replaces_the_vectors(x, matrices):
        """The position's own vector is lost: add to it"""
        return _mixed(x, matrices)

    def reads_one_place_too_near(x, matrices):
        """One place too near: the first matrix belongs to the position before"""
        return x + _mixed(x, matrices, lambda x, k: _shifted(x, k - 1))

    def reads_one_place_too_far(x, matrices):
        """One place too far: the first matrix belongs to the position just before"""
        return x + _mixed(x, matrices, lambda x, k: _shifted(x, k + 1))

    def copies_the_first_position(x, matrices):
        """The first positions see copies of themselves: nothing is before them"""
        return x + _mixed(x, matrices, _copies_of_the_first)

    def drops_the_first_positions(x, matrices):
        """The first positions are lost: keep all T"""
        return smear.right(x, matrices)[:, len(matrices) :]

    def adds_what_was_smeared_already(x, matrices):
        """What is added was smeared already: shift the vectors that were given"""
        for k, W in enumerate(matrices, 1):
            x = x + _shifted(x, k) @ W
        return x

    def adds_in_a_loop_over_the_result(x, matrices):
        out = x.clone()
        for t in range(x.shape[1]):
            for k, W in enumerate(matrices[:t], 1):
                out[:, t] += out[:, t - k] @ W
        return out

    def takes_the_matrices_in_reverse(x, matrices):
        """The matrices are in the wrong order: the first is for the position just before"""
        return smear.right(x, matrices.flip(0))

    def transposes_the_matrices(x, matrices):
        """The matrix is transposed: a row vector stands on its left, x @ W"""
        return smear.right(x, matrices.mT)

    def multiplies_number_by_number(x, matrices):
        """Only the diagonal of each matrix is used: multiply by the whole matrix, x @ W"""
        return smear.right(x, torch.stack([W.diagonal().diag() for W in matrices]))

    def mixes_in_one_position_only(x, matrices):
        """Only one position is mixed in: there are two"""
        return smear.right(x, matrices[:1])

    def adds_nothing(x, matrices):
        """Nothing was added"""
        return x


TOKENS = torch.randint(6, (2, 5), generator=torch.Generator().manual_seed(5))
TABLE = torch.randn(6, 6, generator=torch.Generator().manual_seed(6))


def _past(ids):
    return TABLE[ids].cumsum(dim=1)


def _honest(ids):
    """Logits, (B, T, V), of what has been read."""
    return _past(ids)


def _rounded_anew(ids):
    """Honest, but its last digits differ from call to call, as sums in parallel may."""
    return _past(ids) + 1e-7 * torch.rand(1)


def _peeks(ids):
    """Every position sees the next token."""
    return _past(ids) + _shifted(TABLE[ids], -1)


def _peeks_far(ids):
    """Every position sees the token two places ahead."""
    return _past(ids) + _shifted(TABLE[ids], -2)


def _leaks_at_the_start(ids):
    """The first position alone sees the second token; all others are honest."""
    return _past(ids) + torch.cat((TABLE[ids[:, 1:2]], torch.zeros(len(ids), 4, 6)), dim=1)


def _leaks_in_the_second_row(ids):
    """In the last text of a batch alone each position sees the next token."""
    own = torch.zeros(len(ids), 1, 1)
    own[-1] = 1
    return _past(ids) + own * _shifted(TABLE[ids], -1)


def _moved(model, ids, V, t):
    """How far each logit moves if the token at t becomes another, (B, T, V)."""
    changed = ids.clone()
    changed[:, t] = (changed[:, t] + 1) % V
    return (model(changed) - model(ids)).abs()


@exercise("17.3")
class sees_the_future:
    """sees_the_future(model, ids: (B, T), vocab_size) -> bool: does a later token move a logit?"""

    cases = tuple(
        (model, TOKENS, 6)
        for model in (
            _honest,
            _peeks,
            _leaks_at_the_start,
            _peeks_far,
            _rounded_anew,
            _leaks_in_the_second_row,
        )
    )
    praise = "`sees_the_future` finds four leaks of four kinds, and accuses no honest model."

    def right(model, ids, vocab_size):
        times = range(1, ids.shape[1])
        return any(bool((_moved(model, ids, vocab_size, t)[:, :t] > 1e-4).any()) for t in times)

    def also(model, ids, vocab_size):
        before = model(ids)
        for t in range(1, ids.shape[1]):
            changed = torch.cat((ids[:, :t], (ids[:, t:] + 1) % vocab_size), dim=1)
            if not torch.allclose(model(changed)[:, :t], before[:, :t], atol=1e-4):
                return True
        return False

    def also_by_shorter_texts(model, ids, vocab_size):  # what is not there cannot be seen
        before = model(ids)
        for t in range(1, ids.shape[1]):
            alone = model(torch.cat((ids[:, :t], torch.zeros_like(ids[:, t:])), dim=1))
            if (alone[:, :t] - before[:, :t]).abs().max() > 1e-4:
                return True
        return False

    def changes_the_last_token_only(model, ids, vocab_size):
        """This leak ends before the last token: change every position in turn"""
        return bool((_moved(model, ids, vocab_size, -1)[:, :-1] > 1e-4).any())

    def looks_at_the_position_just_before(model, ids, vocab_size):
        """This leak reaches two places back: compare all earlier positions"""
        times = range(1, ids.shape[1])
        return any(bool((_moved(model, ids, vocab_size, t)[:, t - 1] > 1e-4).any()) for t in times)

    def compares_all_positions(model, ids, vocab_size):
        """An honest model is accused: only what stands before the changed token must stay"""
        times = range(1, ids.shape[1])
        return any(bool((_moved(model, ids, vocab_size, t) > 1e-4).any()) for t in times)

    def compares_the_changed_position_too(model, ids, vocab_size):
        times = range(1, ids.shape[1])
        return any(
            bool((_moved(model, ids, vocab_size, t)[:, : t + 1] > 1e-4).any()) for t in times
        )

    def compares_later_positions(model, ids, vocab_size):
        times = range(ids.shape[1] - 1)
        return any(
            bool((_moved(model, ids, vocab_size, t)[:, t + 1 :] > 1e-4).any()) for t in times
        )

    def compares_to_the_last_digit(model, ids, vocab_size):
        """Rounding is taken for a leak: allow 1e-4"""
        times = range(1, ids.shape[1])
        return any(bool((_moved(model, ids, vocab_size, t)[:, :t] > 0).any()) for t in times)

    def looks_at_the_first_text_only(model, ids, vocab_size):
        """A leak in the second text of the batch is missed: compare all of them"""
        times = range(1, ids.shape[1])
        return any(bool((_moved(model, ids, vocab_size, t)[0, :t] > 1e-4).any()) for t in times)

    def says_the_opposite(model, ids, vocab_size):
        """True and False are swapped: True is for a model that sees the future"""
        return not sees_the_future.right(model, ids, vocab_size)

    def trusts_everybody(model, ids, vocab_size):
        """This model adds the next token's vector, and nothing was noticed"""
        return False


IDS = torch.tensor([[3, 1, 4, 1], [5, 0, 2, 5]])


@exercise("17.4")
class pair_numbers:
    """pair_numbers(ids: (B, T), vocab_size) -> (B, T), previous * vocab_size + current

    The first token of a text has nothing before it: its previous token counts as 0.
    """

    cases = ((IDS, 6), (IDS[:1, :1], 6), (torch.tensor([[9, 0, 7]]), 10))

    def right(ids, vocab_size):
        return F.pad(ids[:, :-1], (1, 0)) * vocab_size + ids

    def also(ids, vocab_size):
        numbers = ids.clone()
        numbers[:, 1:] += vocab_size * ids[:, :-1]
        return numbers

    def also_in_a_loop(ids, vocab_size):
        rows = [[0, *row] for row in ids.tolist()]
        pairs = [list(pairwise(row)) for row in rows]
        return torch.tensor([[a * vocab_size + b for a, b in row] for row in pairs])

    def swaps_the_two(ids, vocab_size):
        """The two are swapped: the previous token is the one that is multiplied"""
        return ids * vocab_size + F.pad(ids[:, :-1], (1, 0))

    def pairs_with_the_next(ids, vocab_size):
        """The pair holds the next token: that is the answer, and must not be seen"""
        return F.pad(ids[:, 1:], (0, 1)) * vocab_size + ids

    def pairs_with_the_next_as_the_second(ids, vocab_size):
        return ids * vocab_size + F.pad(ids[:, 1:], (0, 1))

    def wraps_around(ids, vocab_size):
        """The first token is paired with the last of its text: nothing stands before it, so 0"""
        return ids.roll(1, 1) * vocab_size + ids

    def rolls_the_batch(ids, vocab_size):
        """The previous text is taken for the previous token: time is the second axis"""
        return ids.roll(1, 0) * vocab_size + ids

    def continues_the_text_before(ids, vocab_size):
        """A text begins with the end of the one before it: each row is a text of its own"""
        return F.pad(ids.flatten()[:-1], (1, 0)).view_as(ids) * vocab_size + ids

    def pairs_the_first_with_itself(ids, vocab_size):
        """The first token is paired with itself: its previous token counts as 0"""
        return torch.cat((ids[:, :1], ids[:, :-1]), dim=1) * vocab_size + ids

    def drops_the_first(ids, vocab_size):
        """The first position is lost: keep all T"""
        return ids[:, :-1] * vocab_size + ids[:, 1:]

    def adds_without_multiplying(ids, vocab_size):
        """Two pairs share a number: multiply the previous token by the size of the vocabulary"""
        return F.pad(ids[:, :-1], (1, 0)) + ids

    def multiplies_the_two(ids, vocab_size):
        """Two pairs share a number: multiply by the size of the vocabulary, then add"""
        return F.pad(ids[:, :-1], (1, 0)) * ids

    def multiplies_by_one_less(ids, vocab_size):
        """Two pairs share a number: multiply by the size of the vocabulary, not by one less"""
        return F.pad(ids[:, :-1], (1, 0)) * (vocab_size - 1) + ids

    def returns_the_tokens(ids, vocab_size):
        """These are the tokens alone: the previous one is missing"""
        return ids.clone()
