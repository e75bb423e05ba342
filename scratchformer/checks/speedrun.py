"""Checks for the exercises of chapter 14, speedrun."""

import math

import torch
from torch import Tensor

from scratchformer.checks.first_edition import Call, exercise

A, B, C = 3.4445, -4.7750, 2.0315


@exercise("14.1", "x, eps")
def rms_norm(call: Call) -> None:
    """rms_norm(x: (B, T, C), eps) -> (B, T, C), each vector over its root mean square"""
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0)) + 0.5
    for eps, zero_row in ((0.04, False), (1e-6, True)):
        if zero_row:
            x[0, 1] = 0

        def over(square: Tensor, x: Tensor = x, eps: float = eps) -> Tensor:
            return x / (square + eps).sqrt()

        square, mean = x.square().mean(-1, keepdim=True), x.mean(-1, keepdim=True)
        centred = (x - mean) / (x.var(-1, keepdim=True, correction=0) + eps).sqrt()
        deviation = over(x.var(-1, keepdim=True, correction=0))
        inside = "ε belongs under the root, with the mean of the squares"
        call(x, eps).gives(
            over(square),
            (centred, "The mean is subtracted: that is layer normalisation"),
            (deviation, "This divides by the standard deviation: square x itself, not x − mean"),
            (over(square * 4), "This divides by the length: take the mean of the squares"),
            (x / (square + eps), "The root is missing"),
            (x * (square + eps).sqrt(), "Multiplied: divide by the root mean square"),
            (over(x.square().mean(1, keepdim=True)), "The mean runs over time: take the channels"),
            (over(x.square().mean(0, keepdim=True)), "The mean runs over the batch: take channels"),
            (over(x.square().mean()), "One mean for all: each position has its own"),
            (x / (square.sqrt() + eps), inside),
            (x / square.sqrt(), "A vector of zeros makes 0 / 0: ε stands under the root"),
            (RuntimeError, "The mean has lost its axis: `keepdim=True`"),
        )


def _polynomial(X: Tensor, steps: int, a: float = A, b: float = B, c: float = C) -> Tensor:
    for _ in range(steps):
        S = X @ X.T
        X = a * X + b * S @ X + c * S @ S @ X
    return X


@exercise("14.2", "G, steps")
def newton_schulz(call: Call) -> None:
    """newton_schulz(G: (N, M), steps) -> (N, M), singular values drawn towards 1"""
    g = torch.Generator().manual_seed(1)
    left = "The product is X Xᵀ, N by N, and stands on the left of X"
    for N, M, steps in ((3, 5, 3), (4, 4, 2), (5, 3, 5)):
        G = 4 * torch.randn(N, M, generator=g)
        X = G / G.norm()
        U, _, V = torch.linalg.svd(G, full_matrices=False)
        flat, cubic, square = X, X, X
        for _ in range(steps):
            flat = A * flat + (B + C) * flat @ flat.T @ flat
            cubic = 1.5 * cubic - 0.5 * cubic @ cubic.T @ cubic
            if N == M:
                S = square.T @ square
                square = A * square + B * S @ square + C * S @ S @ square
        again = X
        for _ in range(steps):
            again = _polynomial(again / again.norm(), 1)
        right = _polynomial(X, steps)
        known = [
            (_polynomial(G, steps), "G is not divided by its norm: above 1 the steps explode"),
            (_polynomial(X, steps, A, C, B), "The last two coefficients are swapped"),
            (_polynomial(X, steps, 0.0), "The first term, 3.4445 X, is missing"),
            (flat, "The last term lacks a factor: (X Xᵀ)² X"),
            (cubic, "1.5 and −0.5 are the textbook's: here there are three coefficients"),
            (again, "Divide by the norm once, before the first step"),
            (_polynomial(X, steps - 1), "One step too few"),
            (_polynomial(X, steps + 1), "One step too many"),
            (_polynomial(X, 1), "This is one step: repeat it `steps` times"),
            (X, "Nothing happened after the division: return the X of the last step"),
            (U @ V, "This is U Vᵀ exactly: the steps come near it, and do without the SVD"),
            (right * G.norm(), "The norm is multiplied back: the size of G is to be forgotten"),
            (_polynomial(G / torch.linalg.matrix_norm(G, 2), steps), "The norm is the Frobenius"),
            (_polynomial(G / G.square().sum(), steps), "The root is missing from the norm"),
            (right.T, "The result is transposed: it has the shape of G"),
            (RuntimeError, left),
        ]
        if N == M:
            known.append((square, left))
        call(G, steps).gives(right, *known)
    nothing = torch.zeros(2, 3)
    call(nothing, 5).gives(
        nothing,
        (torch.full((2, 3), math.nan), "A gradient of 0 makes 0 / 0: add 1e-7 to the norm"),
    )


def _shifted(x: Tensor, k: int) -> Tensor:
    """x moved k places to later positions (to earlier ones if k < 0), zeros where nothing comes."""
    zeros = torch.zeros_like(x[:, : abs(k)])
    return torch.cat((zeros, x[:, :-k]) if k > 0 else (x[:, -k:], zeros), dim=1)


@exercise("14.3", "x, weights")
def smear(call: Call) -> None:
    """smear(x: (B, T, C), weights: (n, C)) -> (B, T, C), with weighted earlier vectors added"""
    g = torch.Generator().manual_seed(2)
    for n, T in ((1, 4), (2, 5)):
        x, weights = torch.randn(2, T, 3, generator=g), torch.randn(n, 3, generator=g)
        indexed = list(enumerate(weights, 1))  # (k, (C,)): what position t - k counts
        add = sum(w * _shifted(x, k) for k, w in indexed)
        again = x
        for k, w in indexed:
            again = again + w * _shifted(again, k)
        rows = [x[:, t] for t in range(T)]  # each position reads the smeared ones before it
        for t in range(T):
            for k, w in indexed:
                if t >= k:
                    rows[t] = rows[t] + w * rows[t - k]
        near = sum(w * _shifted(x, k - 1) if k > 1 else w * x for k, w in indexed)
        far = sum(w * _shifted(x, k + 1) for k, w in indexed)
        rolled = sum(w * x.roll(k, 1) for k, w in indexed)
        future = sum(w * _shifted(x, -k) for k, w in indexed)
        rolled_future = sum(w * x.roll(-k, 1) for k, w in indexed)
        batch = sum(w * x.roll(k, 0) for k, w in indexed)
        first = [(k, w, x[:, :1].expand(-1, k, -1)) for k, w in indexed]
        repeated = sum(w * torch.cat((copies, x[:, :-k]), 1) for k, w, copies in first)
        cut = sum(w * x[:, n - k : T - k] for k, w in indexed)
        known = [
            (x + rolled, "The row is bent into a ring: the first position sees the last"),
            (x + future, "Shifted the wrong way: each position sees the one after it"),
            (x + rolled_future, "Shifted the wrong way: each position sees the one after it"),
            (x + batch, "The batch is shifted: time is the second axis"),
            (add, "The position's own vector is lost: add to it"),
            (x + near, "One place too near: the first weights belong to the position before"),
            (x + far, "One place too far: the first weights belong to the position just before"),
            (x + repeated, "The first positions see copies of themselves: nothing is before them"),
            (x[:, n:] + cut, "The first positions are lost: keep all T"),
            (
                torch.stack(rows, 1),
                "What is added was smeared already: shift the vectors that came",
            ),
            (x, "Nothing was added"),
        ]
        one_sum = sum(w.sum() / 3 * _shifted(x, k) for k, w in indexed)
        known.append((x + one_sum, "Each channel has a weight of its own"))
        if n == 2:
            known += [
                (again, "What is added was smeared already: shift the vectors that came"),
                (
                    x + sum(w * _shifted(x, k) for k, w in enumerate(weights.flip(0), 1)),
                    "The weights are in the wrong order: row 0 is for the position just before",
                ),
                (x + weights[0] * _shifted(x, 1), "Only one position is mixed in: there are two"),
            ]
        call(x, weights).gives(x + add, *known)


@exercise("14.4", "x")
def peek(call: Call) -> str:
    """peek(x: (B, T, C)) -> (B, T, C), with the next position's vector added: a leak on purpose"""
    for T in (4, 2):
        x = torch.randn(2, T, 3, generator=torch.Generator().manual_seed(T))
        after = _shifted(x, -1)
        call(x).gives(
            x + after,
            (x + _shifted(x, 1), "This looks back, and no rule is broken: add the next position's"),
            (x + x.roll(-1, 1), "The row is bent into a ring: the last position sees the first"),
            (x + x.roll(1, 1), "This looks back: add the next position's vector"),
            (after, "The position's own vector is lost: add to it"),
            (x.roll(-1, 1), "The position's own vector is lost: add to it"),
            (
                x[:, :-1] + x[:, 1:],
                "The last position is lost: it stays as it is",
            ),
            (x + x.roll(-1, 0), "The batch is shifted: time is the second axis"),
            (x.flip(1).cumsum(1).flip(1), "All later positions are added: the next one is enough"),
            (
                x + torch.cat((x[:, 1:], x[:, -1:]), 1),
                "The last position is added to itself: nothing comes after it",
            ),
            (x, "Nothing was added"),
        )
    return "`peek` sees the answer. Now train with it."


@exercise("14.5", "k, n_heads")
def share_heads(call: Call) -> None:
    """share_heads(k: (B, G, T, D), n_heads) -> (B, n_heads, T, D), head by head in groups"""
    g = torch.Generator().manual_seed(3)
    for G, H in ((2, 6), (3, 6), (1, 4), (4, 4)):
        k = torch.randn(2, G, 3, 5, generator=g)
        n = H // G
        right = k.repeat_interleave(n, dim=1)
        known = [
            (
                k.repeat(1, n, 1, 1),
                "Heads side by side belong to one group: 0 0 0 1 1 1, not 0 1 0 1 0 1",
            ),
            (k[:, :1].expand(2, H, 3, 5), "All heads got the first group's keys"),
            (k.mean(1, keepdim=True).expand(2, H, 3, 5), "The groups are averaged: copy them"),
            (
                torch.cat((k, k.new_zeros(2, H - G, 3, 5)), 1),
                "The other heads got zeros: give them their group's keys",
            ),
            (k.repeat_interleave(n, dim=0), "The batch is repeated: the heads are axis 1"),
            (k.repeat_interleave(n, dim=2), "Time is repeated: the heads are axis 1"),
            (k.unsqueeze(2).expand(2, G, n, 3, 5), "The groups need one axis: (B, H, T, D)"),
            (k.repeat_interleave(H, dim=1), "Each group serves n_heads / G heads, not n_heads"),
            (k, "There are fewer keys than heads: repeat each group's"),
            (right / n, "Divided among the heads: each reads the keys as they are"),
        ]
        if G > 1:
            known.append((right.flip(1), "The heads are in reverse order"))
        call(k, H).gives(right, *known)
