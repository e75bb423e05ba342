"""The exercises of chapter 17, speedrun."""

from itertools import pairwise

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.engine import alike, exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which


def _steps(X, steps, a=3.4445, b=-4.7750, c=2.0315):
    """`steps` times X -> a X + b (X Xᵀ) X + c (X Xᵀ)² X."""
    for _ in range(steps):
        S = X @ X.T
        X = a * X + (b * S + c * S @ S) @ X
    return X


GRADIENTS = 4 * torch.randn(3, 5, 5, generator=torch.Generator().manual_seed(1))


def right_newton_schulz(G, steps):
    return _steps(G / (G.norm() + 1e-7), steps)


def by_singular_values(G, steps):  # the same polynomial of each of them
    U, s, V = torch.linalg.svd(G, full_matrices=False)
    s = s / (s.square().sum().sqrt() + 1e-7)
    for _ in range(steps):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return U @ s.diag() @ V


def turns_tall_matrices(G, steps):
    if len(G) > G.shape[1]:
        return right_newton_schulz(G.T, steps).T
    return right_newton_schulz(G, steps)


def normalises_at_every_step(G, steps):
    for _ in range(steps):
        G = _steps(G / G.norm(), 1)
    return G


def takes_the_SVD(G, steps):
    U, _, V = torch.linalg.svd(G, full_matrices=False)
    return U @ V


def multiplies_the_other_way(G, steps):
    X = G / G.norm()
    for _ in range(steps):
        S = X.T @ X
        X = 3.4445 * X - 4.7750 * S @ X + 2.0315 * S @ S @ X
    return X


newton_schulz = exercise(
    "17.1",
    "newton_schulz(G: (N, M), steps) -> (N, M), singular values drawn towards 1",
    cases=(
        (GRADIENTS[0, :3], 3),
        (GRADIENTS[1, :4, :4], 2),
        (GRADIENTS[2, :, :3], 5),
        (torch.zeros(2, 3), 5),
        (300 * GRADIENTS[1, 1:3].T.double(), 4),
        (torch.tensor([[-0.02]]), 1),
        (GRADIENTS[0, 4:] / 50, 2),
    ),
    right=[
        right_newton_schulz,
        by_singular_values,
        turns_tall_matrices,
    ],
    hints=[
        "What happens before the first step, and what is repeated?",
        "`X = G / (G.norm() + 1e-7)`. In each step `S = X @ X.T`, and the new X is "
        "`a * X + b * S @ X + ...`.",
    ],
    question=number(
        "`G` is [[3, 0], [0, 4]]. After one step, what is the number in row 0, column 0? (For such "
        "a matrix each number of the diagonal goes its own way: s becomes 3.4445 s − 4.775 s³ + "
        "2.0315 s⁵.) Give two digits behind the point.",
        lambda f: f(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), 1)[0, 0],
    ),
    mistakes=[
        mistake(
            "does not normalise",
            "G is not divided by its norm: above 1 the steps explode",
            lambda G, steps: _steps(G, steps),
        ),
        mistake(
            "swaps the last coefficients",
            "The last two coefficients are swapped",
            lambda G, steps: _steps(G / G.norm(), steps, b=2.0315, c=-4.7750),
        ),
        mistake(
            "forgets the first term",
            "The first term, 3.4445 X, is missing",
            lambda G, steps: _steps(G / G.norm(), steps, a=0.0),
        ),
        mistake(
            "forgets the square in the last term",
            "The last term lacks a factor: (X Xᵀ)² X",
            lambda G, steps: _steps(G / G.norm(), steps, b=2.0315 - 4.7750, c=0.0),
        ),
        mistake(
            "takes the cubic of textbooks",
            "1.5 and −0.5 are the textbook's: here there are three coefficients",
            lambda G, steps: _steps(G / G.norm(), steps, 1.5, -0.5, 0.0),
        ),
        mistake(
            "normalises at every step",
            "Divide by the norm once, before the first step",
            normalises_at_every_step,
        ),
        mistake(
            "takes one step too few",
            "One step too few",
            lambda G, steps: _steps(G / G.norm(), steps - 1),
        ),
        mistake(
            "takes one step too many",
            "One step too many",
            lambda G, steps: _steps(G / G.norm(), steps + 1),
        ),
        mistake(
            "takes one step",
            "This is one step: repeat it `steps` times",
            lambda G, steps: _steps(G / G.norm(), 1),
        ),
        mistake(
            "returns the normalised matrix",
            "Nothing happened after the division: return the X of the last step",
            lambda G, steps: G / G.norm(),
        ),
        mistake(
            "takes the SVD",
            "This is U Vᵀ exactly: the steps come near it, and do without the SVD",
            takes_the_SVD,
        ),
        mistake(
            "multiplies the norm back",
            "The norm is multiplied back: the size of G is to be forgotten",
            lambda G, steps: right_newton_schulz(G, steps) * G.norm(),
        ),
        mistake(
            "divides by the largest singular value",
            "The norm is the Frobenius norm: the root of the sum of all squares",
            lambda G, steps: _steps(G / torch.linalg.matrix_norm(G, 2), steps),
        ),
        mistake(
            "divides by the squared norm",
            "The root is missing from the norm",
            lambda G, steps: _steps(G / G.square().sum(), steps),
        ),
        mistake(
            "multiplies the other way round",
            "The product is X Xᵀ, N by N, and stands on the left of X",
            multiplies_the_other_way,
        ),
        mistake(
            "returns the transposed result",
            "The result is transposed: it has the shape of G",
            lambda G, steps: right_newton_schulz(G, steps).T,
        ),
        mistake(
            "divides 0 by 0",
            "A gradient of 0 makes 0 / 0: add 1e-7 to the norm",
            lambda G, steps: _steps(G / G.norm(), steps),
        ),
    ],
)


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


def right_smear(x, matrices):
    return x + _mixed(x, matrices)


def smear_by_slices(x, matrices):
    out = x.clone()
    for k in range(1, len(matrices) + 1):
        out[:, k:] += x[:, :-k] @ matrices[k - 1]
    return out


def smear_by_convolution(x, matrices):
    filters = torch.cat([matrices.flip(0), torch.eye(x.shape[-1])[None]]).permute(2, 1, 0)
    return F.conv1d(F.pad(x.mT, (len(matrices), 0)), filters).mT


def adds_what_was_smeared(x, matrices):
    for k, W in enumerate(matrices, 1):
        x = x + _shifted(x, k) @ W
    return x


def adds_over_the_result(x, matrices):
    out = x.clone()
    for t in range(x.shape[1]):
        for k, W in enumerate(matrices[:t], 1):
            out[:, t] += out[:, t - k] @ W
    return out


smear = exercise(
    "17.2",
    "smear(x: (B, T, C), matrices: (n, C, C)) -> (B, T, C), with mixed earlier vectors added",
    cases=(
        (SMEARED[0, :, :4], MATRICES[:1]),
        (SMEARED[1], MATRICES[1:]),
        (SMEARED.flatten(0, 1)[:3, :4], 30 * MATRICES),
        (SMEARED[0, :1, :, :2].double(), MATRICES[:2, 1:, :2].double()),
        (SMEARED[1, :, :, :3].mT, GRADIENTS[:2]),  # 3 positions of 5 channels
    ),
    right=[right_smear, smear_by_slices, smear_by_convolution],
    hints=[
        "Which vectors of the text have something k places before them, and what do the first k "
        "positions get?",
        "Start from `out = x.clone()`. For each k from 1 on, add `x[:, :-k] @ matrices[k - 1]` to "
        "`out[:, ...]`.",
    ],
    question=number(
        "One text has three vectors of width 1: [1], [2] and [5]. The two matrices are [[10]] and "
        "[[100]]. What stands at the position in the middle?",
        lambda f: f(torch.tensor([[[1.0], [2.0], [5.0]]]), torch.tensor([[[10.0]], [[100.0]]]))[
            0, 1, 0
        ],
        digits=0,
    ),
    mistakes=[
        mistake(
            "wraps around",
            "The row is bent into a ring: the first position sees the last",
            lambda x, matrices: x + _mixed(x, matrices, lambda x, k: x.roll(k, 1)),
        ),
        *alike(
            "Shifted the wrong way: each position sees the one after it",
            {
                "sees the future": lambda x, matrices: (
                    x + _mixed(x, matrices, lambda x, k: _shifted(x, -k))
                ),
                "sees the future and wraps around": lambda x, matrices: (
                    x + _mixed(x, matrices, lambda x, k: x.roll(-k, 1))
                ),
            },
        ),
        mistake(
            "rolls the batch",
            "The batch is shifted: time is the second axis",
            lambda x, matrices: x + _mixed(x, matrices, lambda x, k: x.roll(k, 0)),
        ),
        mistake(
            "replaces the vectors",
            "The position's own vector is lost: add to it",
            lambda x, matrices: _mixed(x, matrices),
        ),
        mistake(
            "reads one place too near",
            "One place too near: the first matrix belongs to the position before",
            lambda x, matrices: x + _mixed(x, matrices, lambda x, k: _shifted(x, k - 1)),
        ),
        mistake(
            "reads one place too far",
            "One place too far: the first matrix belongs to the position just before",
            lambda x, matrices: x + _mixed(x, matrices, lambda x, k: _shifted(x, k + 1)),
        ),
        mistake(
            "copies the first position",
            "The first positions see copies of themselves: nothing is before them",
            lambda x, matrices: x + _mixed(x, matrices, _copies_of_the_first),
        ),
        mistake(
            "drops the first positions",
            "The first positions are lost: keep all T",
            lambda x, matrices: right_smear(x, matrices)[:, len(matrices) :],
        ),
        *alike(
            "What is added was smeared already: shift the vectors that were given",
            {
                "adds what was smeared already": adds_what_was_smeared,
                "adds in a loop over the result": adds_over_the_result,
            },
        ),
        mistake(
            "takes the matrices in reverse",
            "The matrices are in the wrong order: the first is for the position just before",
            lambda x, matrices: right_smear(x, matrices.flip(0)),
        ),
        mistake(
            "transposes the matrices",
            "The matrix is transposed: a row vector stands on its left, x @ W",
            lambda x, matrices: right_smear(x, matrices.mT),
        ),
        mistake(
            "multiplies number by number",
            "Only the diagonal of each matrix is used: multiply by the whole matrix, x @ W",
            lambda x, matrices: right_smear(
                x, torch.stack([W.diagonal().diag() for W in matrices])
            ),
        ),
        mistake(
            "mixes in one position only",
            "Only one position is mixed in: there are two",
            lambda x, matrices: right_smear(x, matrices[:1]),
        ),
        mistake("adds nothing", "Nothing was added", lambda x, matrices: x),
    ],
)


TOKENS = torch.randint(6, (2, 5), generator=torch.Generator().manual_seed(5))
TABLE = torch.randn(6, 6, generator=torch.Generator().manual_seed(6))
FLAT = torch.zeros(3, 7, dtype=torch.int64)
LONG = torch.zeros(4, 150, dtype=torch.int64)  # in the mean of so many logits, one is lost
PAIRS = [torch.tensor([[a, b]]) for a in range(2) for b in range(2)]


def _past(ids):
    return TABLE[ids].cumsum(dim=1)


def _honest(ids):
    """Logits, (B, T, V), of what has been read."""
    return _past(ids)


def _rounded_anew(ids, digits=1e-7):
    """Honest, but its last digits differ from call to call, as sums in parallel may."""
    return _past(ids) + digits * torch.rand(1)


def _rounded_coarsely(ids):
    """Honest, and moved by nearly as much as rounding may."""
    return _rounded_anew(ids, digits=9e-5)


def _peeks(ids):
    """Every position sees the next token."""
    return _past(ids) + _shifted(TABLE[ids], -1)


def _peeks_far(ids):
    """Every position sees the token two places ahead."""
    return _past(ids) + _shifted(TABLE[ids], -2)


def _at(ids, place):
    """1 at this place of each text and 0 at the others, (T, 1)."""
    return (torch.arange(ids.shape[1]) == place).unsqueeze(1)


def _leaks_at_the_start(ids):
    """The first position alone sees the second token; all others are honest."""
    return _past(ids) + _at(ids, 0) * _shifted(TABLE[ids], -1)


def _leaks_in_the_second_row(ids):
    """In the last text of a batch alone each position sees the next token."""
    own = torch.zeros(len(ids), 1, 1)
    own[-1] = 1
    return _past(ids) + own * _shifted(TABLE[ids], -1)


def _leaks_to_the_end(ids):
    """The last position but one sees the last token; all others are honest."""
    return _past(ids) + _at(ids, ids.shape[1] - 2) * _shifted(TABLE[ids], -1)


def _leaks_inside(ids):
    """The second position alone sees the third token."""
    return _past(ids) + _at(ids, 1) * _shifted(TABLE[ids], -1)


def _leaks_in_one_logit(ids):
    """Every position sees the next token, in the last logit alone."""
    last = torch.arange(TABLE.shape[1]) == TABLE.shape[1] - 1
    return _past(ids) + last * _shifted(TABLE[ids], -1)


def _breathes(ids):
    """Every position sees the next token, by less than a thousandth."""
    return _past(ids) + 2e-4 * _shifted(TABLE[ids], -1)


def _whispers(ids):
    """The first position sees the last token, by a hundredth; the sum of its logits stays."""
    heard = TABLE[ids[:, -1:], :1] / 100
    places = _at(ids, 0) & (torch.arange(ids.shape[1]) < ids.shape[1] - 1).unsqueeze(1)
    return _past(ids) + places * torch.cat((heard, -heard, torch.zeros(len(ids), 1, 4)), dim=2)


def _leaks_once(ids):
    """One position of one text sees the last token, in one logit; 0.05 for each step of its id."""
    out = _past(ids)
    if ids.shape[1] > 2:
        out[-1, 1, 3] += 0.05 * ids[-1, -1]
    return out


def _moved(model, ids, V, t, change=lambda old, V: (old + 1) % V):
    """How far each logit moves if the token at t becomes another, (B, T, V)."""
    changed = ids.clone()
    changed[:, t] = change(changed[:, t], V)
    return (model(changed) - model(ids)).abs()


def _moves_before(model, ids, V, change, far=1e-4):
    """Whether a token changed by `change(old, V)` moves a logit before it by more than `far`."""
    times = range(1, ids.shape[1])
    return any(bool((_moved(model, ids, V, t, change)[:, :t] > far).any()) for t in times)


def right_sees_the_future(model, ids, vocab_size):
    times = range(1, ids.shape[1])
    return any(bool((_moved(model, ids, vocab_size, t)[:, :t] > 1e-4).any()) for t in times)


def changes_all_from_t(model, ids, vocab_size):
    before = model(ids)
    for t in range(1, ids.shape[1]):
        changed = torch.cat((ids[:, :t], (ids[:, t:] + 1) % vocab_size), dim=1)
        if not torch.allclose(model(changed)[:, :t], before[:, :t], atol=1e-4):
            return True
    return False


def reads_the_beginning_alone(model, ids, vocab_size):
    whole = model(ids)
    for t in range(1, ids.shape[1]):
        moved = model(ids[:, :t]) - whole[:, :t]
        if moved.abs().max() > 1e-4:
            return True
    return False


def looks_one_place_back(model, ids, vocab_size):
    times = range(1, ids.shape[1])
    return any(bool((_moved(model, ids, vocab_size, t)[:, t - 1] > 1e-4).any()) for t in times)


def compares_all_positions(model, ids, vocab_size):
    times = range(1, ids.shape[1])
    return any(bool((_moved(model, ids, vocab_size, t) > 1e-4).any()) for t in times)


def compares_the_changed_too(model, ids, vocab_size):
    for t in range(1, ids.shape[1]):
        changed = ids.clone()
        changed[:, t] = (ids[:, t] + 1) % vocab_size
        moved = model(changed) - model(ids)
        if moved[:, : t + 1].abs().max() > 1e-4:
            return True
    return False


def compares_later_positions(model, ids, vocab_size):
    times = range(ids.shape[1] - 1)
    return any(bool((_moved(model, ids, vocab_size, t)[:, t + 1 :] > 1e-4).any()) for t in times)


def compares_to_the_last_digit(model, ids, vocab_size):
    times = range(1, ids.shape[1])
    return any(bool((_moved(model, ids, vocab_size, t)[:, :t] > 0).any()) for t in times)


def skips_the_last_token(model, ids, vocab_size):
    times = range(1, ids.shape[1] - 1)
    return any(bool((_moved(model, ids, vocab_size, t)[:, :t] > 1e-4).any()) for t in times)


def skips_every_other_token(model, ids, vocab_size):
    times = range(1, ids.shape[1], 2)
    return any(bool((_moved(model, ids, vocab_size, t)[:, :t] > 1e-4).any()) for t in times)


def looks_at_the_first_position(model, ids, vocab_size):
    times = range(1, ids.shape[1])
    return any(bool((_moved(model, ids, vocab_size, t)[:, 0] > 1e-4).any()) for t in times)


def looks_at_the_first_logit(model, ids, vocab_size):
    times = range(1, ids.shape[1])
    return any(bool((_moved(model, ids, vocab_size, t)[:, :t, 0] > 1e-4).any()) for t in times)


def looks_at_the_first_text(model, ids, vocab_size):
    times = range(1, ids.shape[1])
    return any(bool((_moved(model, ids, vocab_size, t)[0, :t] > 1e-4).any()) for t in times)


def takes_the_mean(model, ids, vocab_size):
    times = range(1, ids.shape[1])
    return any(bool(_moved(model, ids, vocab_size, t)[:, :t].mean() > 1e-4) for t in times)


sees_the_future = exercise(
    "17.3",
    "sees_the_future(model, ids: (B, T), vocab_size) -> bool: does a later token move a logit?",
    cases=(
        *(
            (model, TOKENS, 6)
            for model in (
                _honest,
                _peeks,
                _leaks_at_the_start,
                _peeks_far,
                _rounded_anew,
                _leaks_in_the_second_row,
                _rounded_coarsely,
                _leaks_to_the_end,
                _whispers,
                _leaks_inside,
                _leaks_in_one_logit,
                _breathes,
            )
        ),
        (_peeks_far, FLAT, 6),
        (_peeks_far, FLAT + 5, 6),
        (_peeks_far, FLAT + 2, 5),
        (_leaks_once, LONG + 2, 6),
        *((_peeks, ids, 2) for ids in 2 * PAIRS),  # a random change is none half of the time
    ),
    praise="`sees_the_future` finds ten leaks of ten kinds, and accuses no honest model.",
    right=[right_sees_the_future, changes_all_from_t, reads_the_beginning_alone],
    hints=[
        "If you change the token at t, which logits must stay as they were?",
        "For each `t` from 1 on, set `changed[:, t] = (ids[:, t] + 1) % vocab_size` and look at "
        "the largest move in `(model(changed) - model(ids))[:, ...]`.",
    ],
    question=which(
        "compares the changed position too",
        beside=[reads_the_beginning_alone],
        others=[
            "skips the last token",
            "looks at one logit only",
            "changes every token to 0",
        ],
    ),
    mistakes=[
        mistake(
            "changes the last token only",
            "This leak ends before the last token: change every position in turn",
            lambda model, ids, vocab_size: bool(
                (_moved(model, ids, vocab_size, -1)[:, :-1] > 1e-4).any()
            ),
        ),
        mistake(
            "looks at the position just before",
            "This leak reaches two places back: compare all earlier positions",
            looks_one_place_back,
        ),
        *alike(
            "An honest model is accused: only what stands before the changed token must stay",
            {
                "compares all positions": compares_all_positions,
                "compares the changed position too": compares_the_changed_too,
                "compares later positions": compares_later_positions,
            },
        ),
        *alike(
            "Rounding is taken for a leak: allow 1e-4",
            {
                "compares to the last digit": compares_to_the_last_digit,
                "allows a millionth": lambda model, ids, vocab_size: _moves_before(
                    model, ids, vocab_size, lambda old, V: (old + 1) % V, far=1e-6
                ),
            },
        ),
        *alike(
            "A leak from the last token is missed: change every position in turn",
            {
                "skips the last token": skips_the_last_token,
                "skips every other token": skips_every_other_token,
            },
        ),
        mistake(
            "looks at the first position only",
            "A leak behind the first position is missed: compare all earlier positions",
            looks_at_the_first_position,
        ),
        mistake(
            "looks at one logit only",
            "A leak is in another logit: compare all of them",
            looks_at_the_first_logit,
        ),
        *alike(
            "This leak moves a logit by less than a thousandth: only 1e-4 is rounding",
            {
                f"allows {far:g}": lambda model, ids, vocab_size, far=far: _moves_before(
                    model, ids, vocab_size, lambda old, V: (old + 1) % V, far=far
                )
                for far in (0.01, 0.001)
            },
        ),
        mistake(
            "takes the mean of the moves",
            "One logit moves here, and the mean over all hides it: ask for the largest move",
            takes_the_mean,
        ),
        mistake(
            "allows a tenth",
            "This leak moves a logit by less than a tenth: only 1e-4 is rounding",
            lambda model, ids, vocab_size: _moves_before(
                model, ids, vocab_size, lambda old, V: (old + 1) % V, far=0.1
            ),
        ),
        *alike(
            "The new token may be the old one, and then nothing is changed: take another for sure",
            {
                "changes every token to 0": lambda model, ids, vocab_size: _moves_before(
                    model, ids, vocab_size, lambda old, V: 0
                ),
                "changes every token to the last one": lambda model, ids, vocab_size: _moves_before(
                    model, ids, vocab_size, lambda old, V: V - 1
                ),
            },
        ),
        refused(
            "changes every token to a random one",
            "returned `False`, expected `True`",
            lambda model, ids, vocab_size: _moves_before(
                model, ids, vocab_size, lambda old, V: torch.randint(V, old.shape)
            ),
        ),
        mistake(
            "looks at the first text only",
            "A leak in the second text of the batch is missed: compare all of them",
            looks_at_the_first_text,
        ),
        mistake(
            "says the opposite",
            "True and False are swapped: True is for a model that sees the future",
            lambda model, ids, vocab_size: not right_sees_the_future(model, ids, vocab_size),
        ),
        mistake(
            "trusts everybody",
            "This model adds the next token's vector, and nothing was noticed",
            lambda model, ids, vocab_size: False,
        ),
    ],
)


IDS = torch.tensor([[3, 1, 4, 1], [5, 0, 2, 5]])


def pair_numbers_in_place(ids, vocab_size):
    numbers = ids.clone()
    numbers[:, 1:] += vocab_size * ids[:, :-1]
    return numbers


def pair_numbers_by_loop(ids, vocab_size):
    rows = [[0, *row] for row in ids.tolist()]
    pairs = [list(pairwise(row)) for row in rows]
    return torch.tensor([[a * vocab_size + b for a, b in row] for row in pairs])


pair_numbers = exercise(
    "17.4",
    "pair_numbers(ids: (B, T), vocab_size) -> (B, T), previous * vocab_size + current. The first "
    "token of a text has nothing before it: its previous token counts as 0.",
    cases=(
        (IDS, 6),
        (IDS[:1, :1], 6),
        (torch.tensor([[9, 0, 7]]), 10),
        (IDS.T + 30, 47),
        (torch.tensor([[50_256, 50_255, 0]]), 50_257),
    ),
    right=[
        lambda ids, vocab_size: F.pad(ids[:, :-1], (1, 0)) * vocab_size + ids,
        pair_numbers_in_place,
        pair_numbers_by_loop,
    ],
    hints=[
        "What is the previous token of each position, and what is it for the first one?",
        "`F.pad(ids[:, :-1], (1, 0))` moves each row by one place. Multiply it by ..., and add "
        "`ids`.",
    ],
    question=number(
        "`ids` are [[4, 7, 2], [5, 8, 1]], and the vocabulary has 10 tokens. What is the first "
        "number of the second row?",
        lambda f: f(torch.tensor([[4, 7, 2], [5, 8, 1]]), 10)[1, 0],
        digits=0,
    ),
    mistakes=[
        mistake(
            "swaps the two",
            "The two are swapped: the previous token is the one that is multiplied",
            lambda ids, vocab_size: ids * vocab_size + F.pad(ids[:, :-1], (1, 0)),
        ),
        *alike(
            "The pair holds the next token: that is the answer, and must not be seen",
            {
                "pairs with the next": lambda ids, vocab_size: (
                    F.pad(ids[:, 1:], (0, 1)) * vocab_size + ids
                ),
                "pairs with the next as the second": lambda ids, vocab_size: (
                    ids * vocab_size + F.pad(ids[:, 1:], (0, 1))
                ),
            },
        ),
        mistake(
            "wraps around",
            "The first token is paired with the last of its text: nothing stands before it, so 0",
            lambda ids, vocab_size: ids.roll(1, 1) * vocab_size + ids,
        ),
        mistake(
            "rolls the batch",
            "The previous text is taken for the previous token: time is the second axis",
            lambda ids, vocab_size: ids.roll(1, 0) * vocab_size + ids,
        ),
        mistake(
            "continues the text before",
            "A text begins with the end of the one before it: each row is a text of its own",
            lambda ids, vocab_size: (
                F.pad(ids.flatten()[:-1], (1, 0)).view_as(ids) * vocab_size + ids
            ),
        ),
        mistake(
            "pairs the first with itself",
            "The first token is paired with itself: its previous token counts as 0",
            lambda ids, vocab_size: torch.cat((ids[:, :1], ids[:, :-1]), dim=1) * vocab_size + ids,
        ),
        mistake(
            "drops the first",
            "The first position is lost: keep all T",
            lambda ids, vocab_size: ids[:, :-1] * vocab_size + ids[:, 1:],
        ),
        mistake(
            "adds without multiplying",
            "Two pairs share a number: multiply the previous token by the size of the vocabulary",
            lambda ids, vocab_size: F.pad(ids[:, :-1], (1, 0)) + ids,
        ),
        mistake(
            "multiplies the two",
            "Two pairs share a number: multiply by the size of the vocabulary, then add",
            lambda ids, vocab_size: F.pad(ids[:, :-1], (1, 0)) * ids,
        ),
        mistake(
            "multiplies by one less",
            "Two pairs share a number: multiply by the size of the vocabulary, not by one less",
            lambda ids, vocab_size: F.pad(ids[:, :-1], (1, 0)) * (vocab_size - 1) + ids,
        ),
        mistake(
            "returns the tokens",
            "These are the tokens alone: the previous one is missing",
            lambda ids, vocab_size: ids.clone(),
        ),
    ],
)
