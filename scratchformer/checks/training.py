"""Checks for the exercises of chapter 9, training well."""

import math

import torch
from torch.nn import functional as F

from scratchformer.checks.first_edition import Call, exercise, expect

BETA1, BETA2, EPS = 0.9, 0.95, 1e-8


@exercise("9.1", "w, grad, m, v, t, lr, decay")
def adamw_step(call: Call) -> None:
    """adamw_step(w, grad, m, v, t, lr, decay) -> (w, m, v) after update number t = 1, 2, …"""
    w, g = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0.5, -0.1, 2.0])
    m, v = torch.tensor([0.2, 0.1, -0.3]), torch.tensor([0.04, 0.5, 1.0])
    t, lr, decay = 3, 0.1, 0.5
    m1, v1 = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g**2
    shrunk = w - lr * decay * w

    def step(m=m1, v=v1, t=t, w=shrunk):
        return w - lr * (m / (1 - BETA1**t)) / ((v / (1 - BETA2**t)).sqrt() + EPS)

    def moments(g=g, beta1=BETA1, beta2=BETA2, square=lambda g: g**2):
        return beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * square(g)

    l2, swapped = moments(g + decay * w), moments(beta1=BETA2, beta2=BETA1)
    unsquared, summed = moments(square=lambda g: g), (BETA1 * m + g, BETA2 * v + g**2)
    corrected = (m1 / (1 - BETA1**t), v1 / (1 - BETA2**t))
    bare = shrunk - lr * m1 / (v1.sqrt() + EPS)
    call(w, g, m, v, t, lr, decay).gives(
        (step(), m1, v1),
        ((bare, m1, v1), "No bias correction: divide m by 1 − β₁^t and v by 1 − β₂^t"),
        ((step(t=t + 1), m1, v1), "t is counted one too far: the first update is number 1"),
        ((step(t=t - 1), m1, v1), "t is counted one too low: the first update is number 1"),
        (
            (step(*l2, w=w), *l2),
            "The decay went into the gradient, where √v rescales it: shrink w itself, apart",
        ),
        ((step(w=w), m1, v1), "The weights do not decay"),
        ((step(w=w - decay * w), m1, v1), "The decay lacks the rate: lr · decay · w"),
        ((2 * shrunk - step(), m1, v1), "This goes uphill: subtract the step"),
        ((step(m, v), m1, v1), "The step uses the old m and v: update them first"),
        (
            (shrunk - lr * corrected[0] / (corrected[1] + EPS), m1, v1),
            "The square root of v is missing",
        ),
        ((step(*swapped), *swapped), "The two βs are swapped: 0.9 is for m, 0.95 for v"),
        ((step(*unsquared), *unsquared), "v is a mean of squares: square the gradient"),
        ((step(*summed), *summed), "The new part lacks its weight: 1 − β"),
        ((step(), *corrected), "Return m and v themselves: the corrected ones are for this step"),
    )
    zero, tiny = torch.zeros(2), torch.tensor([1e-8, 0.0])
    half = torch.tensor([1 - lr / 2, 1.0])
    root = torch.tensor([1 - lr * 1e-8 / math.sqrt(1e-16 + EPS), 1.0])
    call(torch.ones(2), tiny, zero, zero, 1, lr, 0.0).gives(
        (half, zero, zero),
        ((root, zero, zero), "ε stands outside the root: √v + ε"),
        (
            (torch.tensor([1 - lr, math.nan]), zero, zero),
            "A gradient of 0 makes 0 / 0: ε belongs in the denominator",
        ),
    )


@exercise("9.2", "step, lr, steps, warmup")
def warmup_cosine(call: Call) -> str:
    """warmup_cosine(step, lr, steps, warmup) -> the rate of the update after `step` updates"""
    lr, N, W = 0.5, 20, 4

    def fall(progress: float) -> float:
        return lr * (1 + math.cos(math.pi * progress)) / 2

    def variant(s: int, rise: float, down: float) -> float:
        return rise if s < W else down

    for s in (0, 1, W - 1, W, 9, 15, N - 1):
        up, progress = lr * (s + 1) / (W + 1), (s - W) / (N - W)
        right = variant(s, up, fall(progress))
        known = [
            (lr * s / W, fall(progress), "The first update has rate 0: count from step + 1"),
            (
                lr * (s + 1) / W,
                fall(progress),
                "The peak comes one step early, and twice: divide by warmup + 1",
            ),
            (fall(s / N), -1.0, "There is no warm-up: the first steps rise"),
            (up, fall(s / N), "The cosine begins at step 0: it begins at `warmup`, at the peak"),
            (up, fall(s / (N - W)), "The cosine begins at step 0: subtract `warmup` from `step`"),
            (
                up,
                fall((s - W + 1) / (N - W)),
                "The fall is one step ahead, and the last update has rate 0: (step − warmup)",
            ),
            (
                up,
                fall((s - W) / (N - W - 1)),
                "The last update has rate 0: the cosine reaches 0 at `steps`, after it",
            ),
            (up, lr * (1 - progress), "This falls in a straight line, not along a cosine"),
            (up, 2 * fall(progress), "1 + cos runs from 2 to 0: halve it"),
            (up, lr * math.cos(math.pi * progress), "cos alone ends at −1: (1 + cos) / 2"),
            (
                up,
                lr * (1 + math.cos(180 * progress)) / 2,
                "`math.cos` takes radians: half a turn is π, not 180",
            ),
            (up / lr, fall(progress) / lr, "The peak is 1: multiply by `lr`"),
        ]
        call(s, lr, N, W).gives(right, *((variant(s, a, b), why) for a, b, why in known))
    for s, right in ((0, 1.0), (5, 0.5)):
        call(s, 1.0, 10, 0).gives(right, (ZeroDivisionError, "A run may have no warm-up at all"))
    return f"The rate rises to its peak at step {W}, and no update is wasted on a rate of 0."


@exercise("9.3", "gradients, limit")
def clip_gradients(call: Call) -> None:
    """clip_gradients(gradients: list of tensors, limit) -> list, their common norm ≤ limit"""
    gradients = [torch.tensor([2.0, 1.0]), torch.tensor([[0.0], [2.0]])]
    norm, limit = 3.0, 1.5

    def scaled(factor: float) -> list[torch.Tensor]:
        return [factor * g for g in gradients]

    call(gradients, limit).gives(
        scaled(limit / norm),
        (
            [g * limit / g.norm() for g in gradients],
            "Each tensor is clipped by its own norm: one norm of them all keeps the direction",
        ),
        (
            [g.clamp(-limit, limit) for g in gradients],
            "Each number is cut off at the limit: that bends the direction. Scale all alike",
        ),
        (scaled(limit / norm**2), "The norm is the square root of the sum of squares"),
        (scaled(limit / (5**0.5 + 2)), "The norms are added: add the squares, then take the root"),
        (scaled(limit / 5**0.5), "This is the largest norm of one tensor: take the norm of all"),
        (scaled(1 / norm), "The result has norm 1, not `limit`"),
        (scaled(1.0), "Nothing is clipped: the norm is 3, the limit 1.5"),
    )
    call(gradients, 10.0).gives(
        scaled(1.0),
        (scaled(10 / norm), "A short gradient is stretched: it stays as it is"),
        (scaled(1 / norm), "A short gradient is scaled to norm 1: it stays as it is"),
    )
    zeros = [torch.zeros(2), torch.zeros(1)]
    nans = [torch.full((2,), math.nan), torch.full((1,), math.nan)]
    call(zeros, 1.0).gives(zeros, (nans, "A gradient of 0 makes 0 / 0: leave it as it is"))


@exercise("9.4", "logits, targets")
def masked_loss(call: Call) -> None:
    """masked_loss(logits: (B, T, V), targets: (B, T), −100 = padding) -> mean nats of the others"""
    logits = 2 * torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(1))
    targets = torch.tensor([[1, 0, 4, 2], [3, -100, -100, -100], [0, 2, -100, -100]])
    real = targets >= 0
    nats = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(3, 4)
    as_zero = -logits.log_softmax(-1)[..., 0]
    rows = nats.sum(1) / real.sum(1)
    reads = "−100 is no token: leave those places out before you look anything up"
    double = F.cross_entropy(logits.softmax(-1).flatten(0, 1), targets.flatten())
    call(logits, targets).gives(
        (nats.sum() / real.sum()).item(),
        (
            (nats.sum() / nats.numel()).item(),
            "The sum is right, but divided by all places: padding counts in neither",
        ),
        (
            rows.mean().item(),
            "A mean of the rows' means: a short row weighs as much as a long one. One mean of all",
        ),
        (
            ((nats + as_zero * ~real).sum() / nats.numel()).item(),
            "Padding is trained on, as if it were token 0: leave it out",
        ),
        (nats.sum().item(), "This is the sum: divide by the number of real targets"),
        (double.item(), "Softmax is applied twice"),
        (-(nats.sum() / real.sum()).item(), "The sign is wrong: the loss is −ln p"),
        (((nats.sum() / real.sum()) / math.log(2)).item(), "This is in bits: use the natural log"),
        (IndexError, reads),
        (RuntimeError, reads),
    )
    targets = torch.tensor([[1, 0, 4, 2], [-100, -100, -100, -100], [0, 2, 1, -100]])
    right = F.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()
    call(logits, targets).gives(
        right, (math.nan, "A row of nothing but padding has no mean: one mean of all, not of rows")
    )


@exercise("9.5", "w, lr, steps")
def forgetful_losses(call: Call) -> str:
    """forgetful_losses(w, lr, steps) -> the loss (w − 1)² before each step, no gradient cleared"""

    def run(w: float, lr: float, steps: int, keep: float, sign: float = 1.0) -> list[float]:
        gradient, losses = 0.0, []
        for _ in range(steps):
            losses.append((w - 1) ** 2)
            gradient = keep * gradient + 2 * (w - 1)
            w -= sign * lr * gradient
        return losses

    for w, lr, steps in ((3.0, 0.1, 12), (0.0, 0.05, 5)):
        right, tidy = run(w, lr, steps, 1.0), run(w, lr, steps, 0.0)
        further = run(w, lr, steps + 1, 1.0)
        call(w, lr, steps).gives(
            right,
            (tidy, "This loop works: each step uses its own gradient. Forget to clear it"),
            (further[1:], "The first loss is missing: note it before the step, not after"),
            (further, f"One loss too many: there are {steps} steps"),
            (right[:-1], f"One loss too few: there are {steps} steps"),
            (run(w, lr, steps, 1.0, -1.0), "This goes uphill: subtract lr times the gradient"),
            ([loss / 2 for loss in right], "The loss is (w − 1)², without a half"),
        )
        if steps == 12:
            low = min(right)
            expect(low < right[-1], "The loss must swing back.")
            praise = f"The loss falls to {low:.2g} and is back at {max(right[5:]):.2g}: it swings."
    return praise
