"""The exercises of chapter 11, training well."""

import math

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from scratchformer.training import loop, token_loss
from scratchformer_course.kit.checks.compare import difference, same
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.verdict import Wrong, expect

# The first optimiser of a process imports half of torch, for seconds: not in a check's own time.
torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)

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

    praise = "The rate rises to its peak at step 4, falls along a cosine, and is never 0."

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


IDS = torch.tensor([[1, 0, 4, 2], [3, 2, 2, 1], [0, 2, 1, 3]])
NEXT = torch.tensor([[0, 4, 2, 1], [2, -100, -100, -100], [2, 1, -100, -100]])
PIECES = [(IDS[:1], NEXT[:1]), (IDS[1:], NEXT[1:])]  # 4 targets and 3


class _Table(nn.Module):
    """Logits of the next token from a table: a model with two parameters, the same each time."""

    def __init__(self):
        super().__init__()
        self.table, self.bias = nn.Embedding(5, 5), nn.Parameter(torch.zeros(5))
        with torch.no_grad():
            self.table.weight.copy_(torch.arange(25.0).view(5, 5).sin())

    def forward(self, ids):
        return 4 * (self.table(ids) + self.bias)

    def __repr__(self):
        return "<model>"  # the engine shows the parameter's name instead


class _SGD(torch.optim.SGD):
    """Plain descent, where every factor of a gradient shows."""

    def __repr__(self):
        return "<optimizer>"


def _summed(model, x, y):
    return token_loss(model(x), y)


def _outcome(step, clip):
    """Nats, targets and weights after each of two steps."""
    model = _Table()
    optimizer = _SGD(model.parameters(), lr=0.5)
    found = []
    for batches in (PIECES, PIECES[::-1][:1]):
        nats, targets = step(model, optimizer, batches, _summed, clip)
        weights = torch.cat([p.detach().flatten() for p in model.parameters()])
        totals = [  # a float in few digits stays one: see compare.Rough
            number if isinstance(number, float) else float(torch.as_tensor(number).detach())
            for number in (nats, targets)
        ]
        found.append((*totals, weights.clone()))
    return found


def _sum_gradients(model, batches, loss):
    """Add all gradients up, from none; the sums of nats and of targets."""
    model.zero_grad()
    return _add_gradients(model, batches, loss)


def _add_gradients(model, batches, loss):
    nats, targets = torch.tensor(0.0), torch.tensor(0)
    for batch in batches:
        piece, n = loss(model, *batch)
        piece.backward()
        nats, targets = nats + piece.detach(), targets + n
    return nats, targets


def _divide(model, n):
    for p in model.parameters():
        p.grad /= n


@exercise("11.4")
class update:
    """update(model, optimizer, batches, loss, clip) -> (nats, targets), after one step

    loss(model, *batch) returns a sum of nats and the number of targets in it.
    """

    praise = "`update` makes one step of all pieces, as if they were one batch."

    def judge(call):
        def learners(*args):
            return call(*args).like((0.0, 0.0))

        for clip in (100.0, 0.1):
            expected = _outcome(update.right, clip)
            got = _outcome(learners, clip)
            if same(got, expected):
                continue
            for mistake in update.mistakes:
                if not mistake.is_general and same(got, _outcome(mistake.function, clip)):
                    raise Wrong(f"{mistake.diagnosis}.")
            names = ("the nats of", "the targets of", "the weights after")
            for number, (mine, right) in enumerate(zip(got, expected, strict=True), 1):
                for name, a, b in zip(names, mine, right, strict=True):
                    away = difference(a, b)
                    expect(same(a, b), f"Look at {name} step {number}, clip={clip:g}: {away}.")
        return update.praise

    def right(model, optimizer, batches, loss, clip):
        nats, targets = torch.tensor(0.0), torch.tensor(0)
        optimizer.zero_grad()
        for batch in batches:
            piece, n = loss(model, *batch)
            piece.backward()
            nats, targets = nats + piece.detach(), targets + n
        for p in model.parameters():
            p.grad /= targets
        clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return nats, targets

    def also_one_backward(model, optimizer, batches, loss, clip):
        sums = [loss(model, *batch) for batch in batches]
        nats, targets = sum(nats for nats, _ in sums), sum(n for _, n in sums)
        optimizer.zero_grad()
        (nats / targets).backward()
        gradients = clip_gradients.right([p.grad for p in model.parameters()], clip)
        for p, g in zip(model.parameters(), gradients, strict=True):
            p.grad = g
        optimizer.step()
        return nats.detach(), targets

    def also_the_package(model, optimizer, batches, loss, clip):
        return loop.update(model, optimizer, batches, loss, clip)

    def never_zeroes(model, optimizer, batches, loss, clip):
        """The gradient of the step before is still there: zero it before the first piece"""
        nats, targets = _add_gradients(model, batches, loss)
        _divide(model, targets)
        clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return nats, targets

    def zeroes_before_each_piece(model, optimizer, batches, loss, clip):
        """Only the last piece counts: zero the gradient once, before the loop"""
        nats, targets = torch.tensor(0.0), torch.tensor(0)
        for batch in batches:
            piece, n = _sum_gradients(model, [batch], loss)
            nats, targets = nats + piece, targets + n
        _divide(model, targets)
        clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return nats, targets

    def zeroes_before_the_step(model, optimizer, batches, loss, clip):
        """The weights do not move: the gradient is gone before `optimizer.step()` sees it"""
        nats, targets = _sum_gradients(model, batches, loss)
        for p in model.parameters():
            p.grad.zero_()
        optimizer.step()
        return nats, targets

    def forgets_the_step(model, optimizer, batches, loss, clip):
        return _sum_gradients(model, batches, loss)

    def steps_after_each_piece(model, optimizer, batches, loss, clip):
        """There is a step for each piece: one step follows the last of them"""
        nats, targets = torch.tensor(0.0), torch.tensor(0)
        for batch in batches:
            piece, n = update.right(model, optimizer, [batch], loss, clip)
            nats, targets = nats + piece, targets + n
        return nats, targets

    def takes_a_mean_of_means(model, optimizer, batches, loss, clip):
        """This is a mean of the pieces' means: divide once, by the targets of all pieces"""
        nats, targets = torch.tensor(0.0), torch.tensor(0)
        optimizer.zero_grad()
        for batch in batches:
            piece, n = loss(model, *batch)
            (piece / n / len(batches)).backward()
            nats, targets = nats + piece.detach(), targets + n
        clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return nats, targets

    def adds_the_means(model, optimizer, batches, loss, clip):
        """The means of the pieces are added: divide their sum of nats, once, by all targets"""
        nats, targets = torch.tensor(0.0), torch.tensor(0)
        optimizer.zero_grad()
        for batch in batches:
            piece, n = loss(model, *batch)
            (piece / n).backward()
            nats, targets = nats + piece.detach(), targets + n
        clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return nats, targets

    def divides_by_the_number_of_pieces(model, optimizer, batches, loss, clip):
        """The gradient is divided by the number of pieces: divide by the number of targets"""
        nats, targets = _sum_gradients(model, batches, loss)
        _divide(model, len(batches))
        clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return nats, targets

    def divides_by_the_targets_of_the_last_piece(model, optimizer, batches, loss, clip):
        """The gradient is divided by the targets of one piece: divide by those of all"""
        nats, targets = _sum_gradients(model, batches, loss)
        _divide(model, loss(model, *batches[-1])[1])
        clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return nats, targets

    def keeps_the_sum(model, optimizer, batches, loss, clip):
        """This is the gradient of the sum: divide it by the number of targets"""
        nats, targets = _sum_gradients(model, batches, loss)
        clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return nats, targets

    def clips_before_it_divides(model, optimizer, batches, loss, clip):
        """The sum is clipped, and divided after that: divide first"""
        nats, targets = _sum_gradients(model, batches, loss)
        clip_grad_norm_(model.parameters(), clip)
        _divide(model, targets)
        optimizer.step()
        return nats, targets

    def never_clips(model, optimizer, batches, loss, clip):
        """The gradient is not clipped"""
        nats, targets = _sum_gradients(model, batches, loss)
        _divide(model, targets)
        optimizer.step()
        return nats, targets

    def clips_after_the_step(model, optimizer, batches, loss, clip):
        nats, targets = _sum_gradients(model, batches, loss)
        _divide(model, targets)
        optimizer.step()
        clip_grad_norm_(model.parameters(), clip)
        return nats, targets

    def clips_each_tensor_alone(model, optimizer, batches, loss, clip):
        """Each tensor is clipped by its own norm: one norm of them all keeps the direction"""
        nats, targets = _sum_gradients(model, batches, loss)
        _divide(model, targets)
        for p in model.parameters():
            clip_grad_norm_([p], clip)
        optimizer.step()
        return nats, targets

    def clips_to_1(model, optimizer, batches, loss, clip):
        """The limit is always 1: use `clip`"""
        return update.right(model, optimizer, batches, loss, 1.0)

    def returns_the_mean_loss(model, optimizer, batches, loss, clip):
        """… is expected"""
        nats, targets = update.right(model, optimizer, batches, loss, clip)
        return nats / targets

    def returns_the_mean_and_the_targets(model, optimizer, batches, loss, clip):
        """Return the sum of the nats, not their mean"""
        nats, targets = update.right(model, optimizer, batches, loss, clip)
        return nats / targets, targets

    def returns_the_last_piece(model, optimizer, batches, loss, clip):
        """The nats and targets are those of the last piece: return the sums over all"""
        last = loss(model, *batches[-1])
        update.right(model, optimizer, batches, loss, clip)
        return last


def _in_bfloat16(w, step):
    """The weight as bfloat16 holds it, and after the step."""
    w = torch.tensor(w, dtype=torch.bfloat16)
    return w.item(), (w + torch.tensor(step, dtype=torch.bfloat16)).item()


@exercise("11.5")
class stuck:
    """stuck(share) -> (weight, step), two floats: added in bfloat16, the step moves nothing

    The step is at least `share` of the weight.
    """

    def judge(call):
        for one_in in (300, 260):
            pair = call(1 / one_in).like((0.0, 0.0))
            expect(len(pair) == 2, f"Return two numbers, a weight and a step: got {len(pair)}.")
            weight, step = map(float, pair)
            finite = math.isfinite(weight) and math.isfinite(step)
            expect(finite, f"Both must be finite: got nan or infinity, {weight} and {step}.")
            expect(weight != 0, "The weight is 0: every step moves it.")
            share = abs(step / weight)
            why = f"The step is {share:.2g} of the weight, less than 1 / {one_in}."
            expect(share >= 0.98 / one_in, why)
            before, after = _in_bfloat16(weight, step)
            moves = f"In bfloat16 the weight moves from {before:.6g} to {after:.6g}."
            expect(before == after, moves)
        far = abs(1000 * step / before)
        return f"A thousand such steps should move it by {far:.1f} times its size. It stands still."

    def right(share):
        return 1.0, share

    def also_another_scale(share):
        return -1024.0, -1024 * share

    def also_as_tensors(share):
        return torch.tensor(2.0), torch.tensor(2 * share)

    def takes_the_step_of_the_page(share):
        """… of the weight, less than 1 / 300"""
        return 1.0, 0.001

    def takes_a_weight_just_below_2(share):
        """… In bfloat16 the weight moves"""
        return 1.99, 1.99 * share

    def takes_a_step_of_the_whole_gap(share):
        """… In bfloat16 the weight moves"""
        return 1.0, 1 / 128

    def steps_down_from_1(share):
        """… In bfloat16 the weight moves"""
        return 1.0, -1 / 256

    def thinks_of_float16(share):
        """… of the weight, less than 1 / 300"""
        return 1.0, 1 / 2048

    def takes_weight_0(share):
        """… The weight is 0"""
        return 0.0, 0.001

    def swaps_the_two(share):
        """… In bfloat16 the weight moves"""
        return 0.0035, 1.0

    def returns_the_step_alone(share):
        """… is expected"""
        return 0.0035

    def returns_infinity(share):
        """… Both must be finite"""
        return math.inf, 1.0
