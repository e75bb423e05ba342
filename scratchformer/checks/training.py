"""The exercises of chapter 11, training well."""

import math

import torch
from torch.nn import functional as F

from scratchformer.checks.engine import exercise

BETA1, BETA2, EPS = 0.9, 0.95, 1e-8
W, GRAD = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0.5, -0.1, 2.0])
M, V = torch.tensor([0.2, 0.1, -0.3]), torch.tensor([0.04, 0.5, 1.0])
ZERO, TINY = torch.zeros(2), torch.tensor([EPS, 0.0])


def _root(v):
    """What AdamW divides by, from the corrected v."""
    return v.sqrt() + EPS


def _new_weights(w, m, v, t, lr, decay, betas=(BETA1, BETA2), divisor=_root):
    """AdamW's weights after update number t, from the new m and v."""
    step = m / (1 - betas[0] ** t) / divisor(v / (1 - betas[1] ** t))
    return w - lr * decay * w - lr * step


@exercise("11.1")
class adamw_step:
    """adamw_step(w, grad, m, v, t, lr, decay) -> (w, m, v) after update number t = 1, 2, …"""

    cases = ((W, GRAD, M, V, 3, 0.1, 0.5), (torch.ones(2), TINY, ZERO, ZERO, 1, 0.1, 0.0))

    def right(w, grad, m, v, t, lr, decay):
        m = BETA1 * m + (1 - BETA1) * grad
        v = BETA2 * v + (1 - BETA2) * grad**2
        return _new_weights(w, m, v, t, lr, decay), m, v

    def also_by_torch(w, grad, m, v, t, lr, decay):
        p = torch.nn.Parameter(w.clone())
        optimizer = torch.optim.AdamW([p], lr=lr, betas=(BETA1, BETA2), weight_decay=decay)
        state = {"step": torch.tensor(t - 1.0), "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
        optimizer.state[p] = state
        p.grad = grad.clone()
        optimizer.step()
        return p.detach(), state["exp_avg"], state["exp_avg_sq"]

    def no_bias_correction(w, grad, m, v, t, lr, decay):
        """No bias correction: divide m by 1 − β₁^t and v by 1 − β₂^t"""
        _, m, v = adamw_step.right(w, grad, m, v, t, lr, decay)
        return w - lr * decay * w - lr * m / (v.sqrt() + EPS), m, v

    def t_one_too_far(w, grad, m, v, t, lr, decay):
        """t is counted one too far: the first update is number 1"""
        return adamw_step.right(w, grad, m, v, t + 1, lr, decay)

    def t_one_too_low(w, grad, m, v, t, lr, decay):
        """t is counted one too low: the first update is number 1"""
        return adamw_step.right(w, grad, m, v, t - 1, lr, decay)

    def adds_the_decay_to_the_gradient(w, grad, m, v, t, lr, decay):
        """The decay went into the gradient, where √v rescales it: shrink w itself, apart"""
        return adamw_step.right(w, grad + decay * w, m, v, t, lr, 0.0)

    def no_decay(w, grad, m, v, t, lr, decay):
        """The weights do not decay"""
        return adamw_step.right(w, grad, m, v, t, lr, 0.0)

    def decay_without_the_rate(w, grad, m, v, t, lr, decay):
        """The decay lacks the rate: lr · decay · w"""
        return adamw_step.right(w, grad, m, v, t, lr, decay / lr)

    def uphill(w, grad, m, v, t, lr, decay):
        """This goes uphill: subtract the step"""
        new, m, v = adamw_step.right(w, grad, m, v, t, lr, decay)
        return 2 * (w - lr * decay * w) - new, m, v

    def old_m_and_v_in_the_step(w, grad, m, v, t, lr, decay):
        """The step uses the old m and v: update them first"""
        _, new_m, new_v = adamw_step.right(w, grad, m, v, t, lr, decay)
        return _new_weights(w, m, v, t, lr, decay), new_m, new_v

    def betas_swapped(w, grad, m, v, t, lr, decay):
        """The two βs are swapped: 0.9 is for m, 0.95 for v"""
        m = BETA2 * m + (1 - BETA2) * grad
        v = BETA1 * v + (1 - BETA1) * grad**2
        return _new_weights(w, m, v, t, lr, decay), m, v

    def betas_swapped_in_the_correction_too(w, grad, m, v, t, lr, decay):
        m = BETA2 * m + (1 - BETA2) * grad
        v = BETA1 * v + (1 - BETA1) * grad**2
        return _new_weights(w, m, v, t, lr, decay, betas=(BETA2, BETA1)), m, v

    def gradient_not_squared(w, grad, m, v, t, lr, decay):
        """v is a mean of squares: square the gradient"""
        m = BETA1 * m + (1 - BETA1) * grad
        v = BETA2 * v + (1 - BETA2) * grad
        return _new_weights(w, m, v, t, lr, decay), m, v

    def sums_not_means(w, grad, m, v, t, lr, decay):
        """The new part lacks its weight: 1 − β"""
        m, v = BETA1 * m + grad, BETA2 * v + grad**2
        return _new_weights(w, m, v, t, lr, decay), m, v

    def returns_the_corrected_m_and_v(w, grad, m, v, t, lr, decay):
        """Return m and v themselves: the corrected ones are for this step"""
        new, m, v = adamw_step.right(w, grad, m, v, t, lr, decay)
        return new, m / (1 - BETA1**t), v / (1 - BETA2**t)

    def no_root(w, grad, m, v, t, lr, decay):
        """The square root of v is missing"""
        _, m, v = adamw_step.right(w, grad, m, v, t, lr, decay)
        return _new_weights(w, m, v, t, lr, decay, divisor=lambda v: v + EPS), m, v

    def epsilon_inside_the_root(w, grad, m, v, t, lr, decay):
        """ε stands outside the root: √v + ε"""
        _, m, v = adamw_step.right(w, grad, m, v, t, lr, decay)
        return _new_weights(w, m, v, t, lr, decay, divisor=lambda v: (v + EPS).sqrt()), m, v

    def no_epsilon(w, grad, m, v, t, lr, decay):
        """A gradient of 0 makes 0 / 0: ε belongs in the denominator"""
        _, m, v = adamw_step.right(w, grad, m, v, t, lr, decay)
        return _new_weights(w, m, v, t, lr, decay, divisor=torch.sqrt), m, v

    def changes_m_and_v_in_place(w, grad, m, v, t, lr, decay):
        """… in place: work on a copy"""
        m.mul_(BETA1).add_((1 - BETA1) * grad)
        v.mul_(BETA2).add_((1 - BETA2) * grad**2)
        return _new_weights(w, m, v, t, lr, decay), m, v


def _cosine(progress):
    """Half a cosine wave that falls from 1 to 0 while progress goes from 0 to 1."""
    return (1 + math.cos(math.pi * progress)) / 2


def _after_warmup(step, lr, warmup, fall):
    """The right rate during the warm-up, `fall` after it."""
    return lr * (step + 1) / (warmup + 1) if step < warmup else fall


@exercise("11.2")
class warmup_cosine:
    """warmup_cosine(step, lr, steps, warmup) -> the rate of the update after `step` updates"""

    praise = "The rate rises to its peak at step 4, and no update is wasted on a rate of 0."

    cases = (
        *((step, 0.5, 20, 4) for step in (0, 1, 3, 4, 9, 15, 19)),
        *((step, 1.0, 10, 0) for step in (0, 5)),
    )

    def right(step, lr, steps, warmup):
        if step < warmup:
            return lr * (step + 1) / (warmup + 1)
        progress = (step - warmup) / (steps - warmup)
        return lr * (1 + math.cos(math.pi * progress)) / 2

    def also(step, lr, steps, warmup):
        rise = min((step + 1) / (warmup + 1), 1)
        quarter = math.pi / 2 * max(step - warmup, 0) / (steps - warmup)
        return lr * rise * math.cos(quarter) ** 2

    def rate_0_at_step_0(step, lr, steps, warmup):
        """The first update has rate 0: count from step + 1"""
        if step < warmup:
            return lr * step / warmup
        return warmup_cosine.right(step, lr, steps, warmup)

    def peak_one_step_early(step, lr, steps, warmup):
        """The peak comes one step early, and twice: divide by warmup + 1"""
        if step < warmup:
            return lr * (step + 1) / warmup
        return warmup_cosine.right(step, lr, steps, warmup)

    def no_warmup(step, lr, steps, warmup):
        """There is no warm-up: the first steps rise"""
        return lr * _cosine(step / steps)

    def no_warmup_but_a_flat_start(step, lr, steps, warmup):
        return lr * _cosine(max(step - warmup, 0) / (steps - warmup))

    def cosine_over_the_whole_run(step, lr, steps, warmup):
        """The cosine begins at step 0: it begins at `warmup`, at the peak"""
        return _after_warmup(step, lr, warmup, lr * _cosine(step / steps))

    def cosine_not_shifted(step, lr, steps, warmup):
        """The cosine begins at step 0: subtract `warmup` from `step`"""
        return _after_warmup(step, lr, warmup, lr * _cosine(step / (steps - warmup)))

    def fall_one_step_ahead(step, lr, steps, warmup):
        """The fall is one step ahead, and the last update has rate 0: (step − warmup)"""
        progress = (step - warmup + 1) / (steps - warmup)
        return _after_warmup(step, lr, warmup, lr * _cosine(progress))

    def rate_0_at_the_last_update(step, lr, steps, warmup):
        """The last update has rate 0: the cosine reaches 0 at `steps`, after it"""
        progress = (step - warmup) / (steps - warmup - 1)
        return _after_warmup(step, lr, warmup, lr * _cosine(progress))

    def straight_fall(step, lr, steps, warmup):
        """This falls in a straight line, not along a cosine"""
        return _after_warmup(step, lr, warmup, lr * (steps - step) / (steps - warmup))

    def cosine_not_halved(step, lr, steps, warmup):
        """1 + cos runs from 2 to 0: halve it"""
        progress = (step - warmup) / (steps - warmup)
        return _after_warmup(step, lr, warmup, 2 * lr * _cosine(progress))

    def bare_cosine(step, lr, steps, warmup):
        """cos alone ends at −1: (1 + cos) / 2"""
        fall = lr * math.cos(math.pi * (step - warmup) / (steps - warmup))
        return _after_warmup(step, lr, warmup, fall)

    def degrees(step, lr, steps, warmup):
        """`math.cos` takes radians: half a turn is π, not 180"""
        fall = lr * (1 + math.cos(180 * (step - warmup) / (steps - warmup))) / 2
        return _after_warmup(step, lr, warmup, fall)

    def peak_of_1(step, lr, steps, warmup):
        """The peak is 1: multiply by `lr`"""
        return warmup_cosine.right(step, 1.0, steps, warmup)

    def fails_without_a_warmup(step, lr, steps, warmup):
        """A run may have no warm-up at all"""
        share = (step + 1) / warmup  # this division fails
        rise = lr * share * warmup / (warmup + 1)
        return rise if share <= 1 else warmup_cosine.right(step, lr, steps, warmup)


NORM_3 = [torch.tensor([2.0, 1.0]), torch.tensor([[0.0], [2.0]])]


def _scaled(gradients, factor):
    return [factor * g for g in gradients]


def _norm(gradients):
    """The common norm of tensors."""
    return math.sqrt(sum(g.square().sum().item() for g in gradients))


@exercise("11.3")
class clip_gradients:
    """clip_gradients(gradients: list of tensors, limit) -> list, their common norm ≤ limit"""

    cases = ((NORM_3, 1.5), (NORM_3, 10.0), ([torch.zeros(2), torch.zeros(1)], 1.0))

    def right(gradients, limit):
        norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
        return [g * (limit / norm) for g in gradients] if norm > limit else gradients

    def also(gradients, limit):
        norm = torch.cat([g.flatten() for g in gradients]).norm()
        return [g * (limit / (norm + 1e-6)).clamp(max=1) for g in gradients]

    def each_by_its_own_norm(gradients, limit):
        """Each tensor is clipped by its own norm: one norm of them all keeps the direction"""
        return [g * min(1.0, limit / g.norm().item()) for g in gradients]

    def clips_each_number(gradients, limit):
        """Each number is cut off at the limit: that bends the direction. Scale all alike"""
        return [g.clamp(-limit, limit) for g in gradients]

    def root_forgotten(gradients, limit):
        """The norm is the square root of the sum of squares"""
        return _scaled(gradients, min(1.0, limit / _norm(gradients) ** 2))

    def norms_added(gradients, limit):
        """The norms are added: add the squares, then take the root"""
        return _scaled(gradients, min(1.0, limit / sum(g.norm() for g in gradients)))

    def largest_norm(gradients, limit):
        """This is the largest norm of one tensor: take the norm of all"""
        return _scaled(gradients, min(1.0, limit / max(g.norm() for g in gradients)))

    def always_norm_1(gradients, limit):
        """The result has norm 1, not `limit`"""
        return _scaled(gradients, 1 / _norm(gradients))

    def no_clipping(gradients, limit):
        """Nothing is clipped: the norm is 3, the limit 1.5"""
        return gradients

    def stretches_short_gradients(gradients, limit):
        """A short gradient is stretched: it stays as it is"""
        return _scaled(gradients, limit / _norm(gradients))

    def normalises_short_gradients(gradients, limit):
        """A short gradient is scaled to norm 1: it stays as it is"""
        norm = _norm(gradients)
        return _scaled(gradients, (limit if norm > limit else 1) / norm)

    def divides_0_by_0(gradients, limit):
        """A gradient of 0 makes 0 / 0: leave it as it is"""
        norm = torch.tensor(_norm(gradients))
        return _scaled(gradients, norm.clamp(max=limit) / norm)


LOGITS = 2 * torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(1))
PADDED = torch.tensor([[1, 0, 4, 2], [3, -100, -100, -100], [0, 2, -100, -100]])
EMPTY_ROW = torch.tensor([[1, 0, 4, 2], [-100, -100, -100, -100], [0, 2, 1, -100]])


@exercise("11.4")
class masked_loss:
    """masked_loss(logits: (B, T, V), targets: (B, T), −100 = padding) -> mean nats of the others"""

    cases = ((LOGITS, PADDED), (LOGITS, EMPTY_ROW))

    def right(logits, targets):
        real = targets != -100
        log_p = logits.log_softmax(dim=-1)[real]
        return -log_p[torch.arange(len(log_p)), targets[real]].mean().item()

    def also(logits, targets):
        return F.cross_entropy(logits.mT, targets, ignore_index=-100)

    def divides_by_all_places(logits, targets):
        """The sum is right, but divided by all places: padding counts in neither"""
        return F.cross_entropy(logits.mT, targets, reduction="none").mean().item()

    def mean_of_the_rows_means(logits, targets):
        """A mean of the rows' means: a short row weighs as much as a long one. One mean of all"""
        rows = [F.cross_entropy(row, t) for row, t in zip(logits, targets, strict=True)]
        return torch.stack(rows).mean().item()

    def mean_of_the_rows_means_with_0_for_an_empty_row(logits, targets):
        sums = F.cross_entropy(logits.mT, targets, reduction="none").sum(1)
        return (sums / (targets != -100).sum(1).clamp(min=1)).mean().item()

    def weighted_mean_of_the_rows_means(logits, targets):
        """A row of nothing but padding has no mean: one mean of all, not of rows"""
        counts = (targets != -100).sum(1)
        rows = [F.cross_entropy(row, t) for row, t in zip(logits, targets, strict=True)]
        return ((torch.stack(rows) * counts).sum() / counts.sum()).item()

    def padding_as_token_0(logits, targets):
        """Padding is trained on, as if it were token 0: leave it out"""
        return F.cross_entropy(logits.mT, targets.clamp(min=0)).item()

    def returns_the_sum(logits, targets):
        """This is the sum: divide by the number of real targets"""
        return F.cross_entropy(logits.mT, targets, reduction="sum").item()

    def softmax_twice(logits, targets):
        """Softmax is applied twice"""
        return F.cross_entropy(logits.softmax(-1).mT, targets).item()

    def wrong_sign(logits, targets):
        """The sign is wrong: the loss is −ln p"""
        return -masked_loss.right(logits, targets)

    def bits(logits, targets):
        """This is in bits: use the natural log"""
        return masked_loss.right(logits, targets) / math.log(2)

    def indexes_with_minus_100(logits, targets):
        """−100 is no token: leave those places out before you look anything up"""
        log_p = logits.log_softmax(-1).flatten(0, 1)
        return -log_p[torch.arange(len(log_p)), targets.flatten()].mean()

    def gathers_with_minus_100(logits, targets):
        return -logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).mean()


def _descend(w, lr, steps, clear=False):
    """Losses of gradient descent on (w − 1)² with PyTorch's `backward`."""
    w, losses = torch.tensor(w, requires_grad=True), []
    for _ in range(steps):
        loss = (w - 1) ** 2
        losses.append(loss.item())
        if clear:
            w.grad = None
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
    return losses


@exercise("11.5")
class forgetful_losses:
    """forgetful_losses(w, lr, steps) -> the loss (w − 1)² before each step, no gradient cleared"""

    cases = ((3.0, 0.1, 12), (0.0, 0.05, 5))
    praise = "The loss falls to 0.00026 and is back at 4: it swings."

    def right(w, lr, steps):
        return _descend(w, lr, steps)

    def also(w, lr, steps):
        velocity, losses = 0.0, []
        for _ in range(steps):
            losses.append((w - 1) ** 2)
            velocity += 2 * (w - 1)
            w -= lr * velocity
        return losses

    def clears_the_gradient(w, lr, steps):
        """This loop works: each step uses its own gradient. Forget to clear it"""
        return _descend(w, lr, steps, clear=True)

    def loss_after_the_step(w, lr, steps):
        """The first loss is missing: note it before the step, not after"""
        return _descend(w, lr, steps + 1)[1:]

    def one_loss_too_many(w, lr, steps):
        """One loss too many: there are `steps` steps"""
        return _descend(w, lr, steps + 1)

    def one_loss_too_few(w, lr, steps):
        """One loss too few: there are `steps` steps"""
        return _descend(w, lr, steps - 1)

    def uphill(w, lr, steps):
        """This goes uphill: subtract lr times the gradient"""
        return _descend(w, -lr, steps)

    def half_the_loss(w, lr, steps):
        """The loss is (w − 1)², without a half"""
        return [loss / 2 for loss in _descend(w, lr, steps)]

    def a_tensor_in_place_of_floats(w, lr, steps):
        """… but a list such as"""
        return torch.tensor(_descend(w, lr, steps))
