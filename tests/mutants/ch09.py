"""Right and plausibly wrong answers to the exercises of chapter 9."""

import math

import torch
from mutation import mutant, solution
from torch.nn import functional as F

ADAMW, RATE, CLIP, MASKED, FORGET = (
    f"training.{name}"
    for name in (
        "adamw_step",
        "warmup_cosine",
        "clip_gradients",
        "masked_loss",
        "forgetful_losses",
    )
)


# 9.1 adamw_step


def adam(w, g, m, v, t, lr, decay, b1=0.9, b2=0.95, eps=1e-8):
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
    step = (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + eps)
    return w - lr * decay * w - lr * step, m, v


@solution(ADAMW)
def _(w, grad, m, v, t, lr, decay):
    return adam(w, grad, m, v, t, lr, decay)


@solution(ADAMW)
def _(w, grad, m, v, t, lr, decay):  # PyTorch's own
    p = torch.nn.Parameter(w.clone())
    optimizer = torch.optim.AdamW([p], lr=lr, betas=(0.9, 0.95), weight_decay=decay)
    memory = {"step": torch.tensor(t - 1.0), "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
    optimizer.state[p] = memory
    p.grad = grad.clone()
    optimizer.step()
    return p.detach(), memory["exp_avg"], memory["exp_avg_sq"]


@mutant(ADAMW, "no bias correction", "No bias correction")
def _(w, grad, m, v, t, lr, decay):
    m, v = 0.9 * m + 0.1 * grad, 0.95 * v + 0.05 * grad**2
    return w - lr * decay * w - lr * m / (v.sqrt() + 1e-8), m, v


@mutant(ADAMW, "t one too far", "one too far")
def _(w, grad, m, v, t, lr, decay):
    return adam(w, grad, m, v, t + 1, lr, decay)


@mutant(ADAMW, "t one too low", "one too low")
def _(w, grad, m, v, t, lr, decay):
    return adam(w, grad, m, v, t - 1, lr, decay)


@mutant(ADAMW, "decay in the gradient (Adam with L2)", "where √v rescales it")
def _(w, grad, m, v, t, lr, decay):
    return adam(w, grad + decay * w, m, v, t, lr, 0.0)


@mutant(ADAMW, "no decay", "The weights do not decay")
def _(w, grad, m, v, t, lr, decay):
    return adam(w, grad, m, v, t, lr, 0.0)


@mutant(ADAMW, "decay without the rate", "The decay lacks the rate")
def _(w, grad, m, v, t, lr, decay):
    return adam(w, grad, m, v, t, lr, decay / lr)


@mutant(ADAMW, "uphill", "goes uphill")
def _(w, grad, m, v, t, lr, decay):
    shrunk = w - lr * decay * w
    new, m, v = adam(w, grad, m, v, t, lr, decay)
    return 2 * shrunk - new, m, v


@mutant(ADAMW, "old memories in the step", "uses the old m and v")
def _(w, grad, m, v, t, lr, decay):
    new_m, new_v = 0.9 * m + 0.1 * grad, 0.95 * v + 0.05 * grad**2
    step = (m / (1 - 0.9**t)) / ((v / (1 - 0.95**t)).sqrt() + 1e-8)
    return w - lr * decay * w - lr * step, new_m, new_v


@mutant(ADAMW, "no root", "The square root of v is missing")
def _(w, grad, m, v, t, lr, decay):
    m, v = 0.9 * m + 0.1 * grad, 0.95 * v + 0.05 * grad**2
    step = (m / (1 - 0.9**t)) / (v / (1 - 0.95**t) + 1e-8)
    return w - lr * decay * w - lr * step, m, v


@mutant(ADAMW, "betas swapped", "The two βs are swapped")
def _(w, grad, m, v, t, lr, decay):
    m, v = 0.95 * m + 0.05 * grad, 0.9 * v + 0.1 * grad**2
    step = (m / (1 - 0.9**t)) / ((v / (1 - 0.95**t)).sqrt() + 1e-8)
    return w - lr * decay * w - lr * step, m, v


@mutant(ADAMW, "mean of gradients for v", "square the gradient")
def _(w, grad, m, v, t, lr, decay):
    m, v = 0.9 * m + 0.1 * grad, 0.95 * v + 0.05 * grad
    step = (m / (1 - 0.9**t)) / ((v / (1 - 0.95**t)).sqrt() + 1e-8)
    return w - lr * decay * w - lr * step, m, v


@mutant(ADAMW, "sums, not means", "lacks its weight")
def _(w, grad, m, v, t, lr, decay):
    m, v = 0.9 * m + grad, 0.95 * v + grad**2
    step = (m / (1 - 0.9**t)) / ((v / (1 - 0.95**t)).sqrt() + 1e-8)
    return w - lr * decay * w - lr * step, m, v


@mutant(ADAMW, "returns the corrected memories", "Return m and v themselves")
def _(w, grad, m, v, t, lr, decay):
    new, m, v = adam(w, grad, m, v, t, lr, decay)
    return new, m / (1 - 0.9**t), v / (1 - 0.95**t)


@mutant(ADAMW, "epsilon inside the root", "outside the root")
def _(w, grad, m, v, t, lr, decay):
    m, v = 0.9 * m + 0.1 * grad, 0.95 * v + 0.05 * grad**2
    step = (m / (1 - 0.9**t)) / (v / (1 - 0.95**t) + 1e-8).sqrt()
    return w - lr * decay * w - lr * step, m, v


@mutant(ADAMW, "no epsilon", "makes 0 / 0")
def _(w, grad, m, v, t, lr, decay):
    return adam(w, grad, m, v, t, lr, decay, eps=0.0)


@mutant(ADAMW, "memories changed in place", "in place: work on a copy")
def _(w, grad, m, v, t, lr, decay):
    m.mul_(0.9).add_(0.1 * grad)
    v.mul_(0.95).add_(0.05 * grad**2)
    step = (m / (1 - 0.9**t)) / ((v / (1 - 0.95**t)).sqrt() + 1e-8)
    return w - lr * decay * w - lr * step, m, v


# 9.2 warmup_cosine


def cosine(lr, progress):
    return lr * (1 + math.cos(math.pi * progress)) / 2


@solution(RATE)
def _(step, lr, steps, warmup):
    if step < warmup:
        return lr * (step + 1) / (warmup + 1)
    return cosine(lr, (step - warmup) / (steps - warmup))


@solution(RATE)
def _(step, lr, steps, warmup):
    rise = min((step + 1) / (warmup + 1), 1)
    quarter = math.pi / 2 * max(step - warmup, 0) / (steps - warmup)
    return lr * rise * math.cos(quarter) ** 2


@mutant(RATE, "rate 0 at step 0", "The first update has rate 0")
def _(step, lr, steps, warmup):
    if step < warmup:
        return lr * step / warmup
    return cosine(lr, (step - warmup) / (steps - warmup))


@mutant(RATE, "peak one step early", "one step early, and twice")
def _(step, lr, steps, warmup):
    if step < warmup:
        return lr * (step + 1) / warmup
    return cosine(lr, (step - warmup) / (steps - warmup))


@mutant(RATE, "no warm-up", "There is no warm-up")
def _(step, lr, steps, warmup):
    return cosine(lr, step / steps)


@mutant(RATE, "cosine over the whole run", "The cosine begins at step 0")
def _(step, lr, steps, warmup):
    return lr * (step + 1) / (warmup + 1) if step < warmup else cosine(lr, step / steps)


@mutant(RATE, "cosine not shifted", "subtract `warmup` from `step`")
def _(step, lr, steps, warmup):
    if step < warmup:
        return lr * (step + 1) / (warmup + 1)
    return cosine(lr, step / (steps - warmup))


@mutant(RATE, "fall one step ahead", "The fall is one step ahead")
def _(step, lr, steps, warmup):
    if step < warmup:
        return lr * (step + 1) / (warmup + 1)
    return cosine(lr, (step - warmup + 1) / (steps - warmup))


@mutant(RATE, "rate 0 at the last update", "reaches 0 at `steps`, after it")
def _(step, lr, steps, warmup):
    if step < warmup:
        return lr * (step + 1) / (warmup + 1)
    return cosine(lr, (step - warmup) / (steps - warmup - 1))


@mutant(RATE, "straight fall", "in a straight line")
def _(step, lr, steps, warmup):
    if step < warmup:
        return lr * (step + 1) / (warmup + 1)
    return lr * (steps - step) / (steps - warmup)


@mutant(RATE, "cosine not halved", "halve it")
def _(step, lr, steps, warmup):
    if step < warmup:
        return lr * (step + 1) / (warmup + 1)
    return 2 * cosine(lr, (step - warmup) / (steps - warmup))


@mutant(RATE, "bare cosine", "cos alone ends at −1")
def _(step, lr, steps, warmup):
    if step < warmup:
        return lr * (step + 1) / (warmup + 1)
    return lr * math.cos(math.pi * (step - warmup) / (steps - warmup))


@mutant(RATE, "degrees", "takes radians")
def _(step, lr, steps, warmup):
    if step < warmup:
        return lr * (step + 1) / (warmup + 1)
    return lr * (1 + math.cos(180 * (step - warmup) / (steps - warmup))) / 2


@mutant(RATE, "peak of 1", "multiply by `lr`")
def _(step, lr, steps, warmup):
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return cosine(1, (step - warmup) / (steps - warmup))


@mutant(RATE, "fails without a warm-up", "no warm-up at all")
def _(step, lr, steps, warmup):
    share = warmup / warmup  # a division that a warm-up of 0 does not allow
    if step < warmup:
        return share * lr * (step + 1) / (warmup + 1)
    return cosine(lr, (step - warmup) / (steps - warmup))


# 9.3 clip_gradients


def norm_of(gradients):
    return math.sqrt(sum(g.square().sum().item() for g in gradients))


@solution(CLIP)
def _(gradients, limit):
    norm = norm_of(gradients)
    return [g * (limit / norm) for g in gradients] if norm > limit else gradients


@solution(CLIP)
def _(gradients, limit):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [g * (limit / (norm + 1e-6)).clamp(max=1) for g in gradients]


@mutant(CLIP, "each by its own norm", "clipped by its own norm")
def _(gradients, limit):
    return [g * min(1.0, limit / g.norm().item()) for g in gradients]


@mutant(CLIP, "clips values", "bends the direction")
def _(gradients, limit):
    return [g.clamp(-limit, limit) for g in gradients]


@mutant(CLIP, "root forgotten", "square root of the sum of squares")
def _(gradients, limit):
    squares = norm_of(gradients) ** 2
    return [g * min(1.0, limit / squares) for g in gradients]


@mutant(CLIP, "norms added", "The norms are added")
def _(gradients, limit):
    norm = sum(g.norm() for g in gradients)
    return [g * min(1.0, limit / norm) for g in gradients]


@mutant(CLIP, "largest norm", "the largest norm of one tensor")
def _(gradients, limit):
    return [g * min(1.0, limit / max(h.norm() for h in gradients)) for g in gradients]


@mutant(CLIP, "norm 1", "has norm 1, not `limit`")
def _(gradients, limit):
    return [g / norm_of(gradients) for g in gradients]


@mutant(CLIP, "no clipping", "Nothing is clipped")
def _(gradients, limit):
    return [g.clone() for g in gradients]


@mutant(CLIP, "stretches short gradients", "A short gradient is stretched")
def _(gradients, limit):
    return [g * (limit / norm_of(gradients)) for g in gradients]


@mutant(CLIP, "normalises short gradients", "scaled to norm 1")
def _(gradients, limit):
    norm = norm_of(gradients)
    return [g / norm * (limit if norm > limit else 1) for g in gradients]


@mutant(CLIP, "0 / 0", "leave it as it is")
def _(gradients, limit):
    norm = torch.tensor(norm_of(gradients))
    return [g / norm * norm.clamp(max=limit) for g in gradients]


# 9.4 masked_loss


@solution(MASKED)
def _(logits, targets):
    real = targets != -100
    log_p = logits.log_softmax(dim=-1)[real]
    return -log_p[torch.arange(len(log_p)), targets[real]].mean()


@solution(MASKED)
def _(logits, targets):
    return F.cross_entropy(logits.mT, targets, ignore_index=-100).item()


@mutant(MASKED, "divides by all places", "divided by all places")
def _(logits, targets):
    return F.cross_entropy(logits.mT, targets, reduction="none").mean().item()


@mutant(MASKED, "mean of the rows' means", "a short row weighs as much")
def _(logits, targets):
    rows = [F.cross_entropy(row, t) for row, t in zip(logits, targets, strict=True)]
    return torch.stack(rows).mean().item()


@mutant(MASKED, "mean of the rows' means, empty rows as well", "a short row weighs as much")
def _(logits, targets):
    nats = F.cross_entropy(logits.mT, targets, reduction="none")
    return (nats.sum(1) / (targets != -100).sum(1).clamp(min=1)).mean().item()


@mutant(MASKED, "padding as token 0", "as if it were token 0")
def _(logits, targets):
    return F.cross_entropy(logits.mT, targets.clamp(min=0)).item()


@mutant(MASKED, "sum", "This is the sum")
def _(logits, targets):
    return F.cross_entropy(logits.mT, targets, reduction="sum").item()


@mutant(MASKED, "softmax twice", "Softmax is applied twice")
def _(logits, targets):
    return F.cross_entropy(logits.softmax(-1).mT, targets).item()


@mutant(MASKED, "wrong sign", "The sign is wrong")
def _(logits, targets):
    return -F.cross_entropy(logits.mT, targets).item()


@mutant(MASKED, "bits", "This is in bits")
def _(logits, targets):
    return F.cross_entropy(logits.mT, targets).item() / math.log(2)


@mutant(MASKED, "looks up -100 by indexing", "−100 is no token")
def _(logits, targets):
    log_p = logits.log_softmax(-1).flatten(0, 1)
    return -log_p[torch.arange(len(log_p)), targets.flatten()].mean()


@mutant(MASKED, "looks up -100 by gather", "−100 is no token")
def _(logits, targets):
    return -logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).mean()


@mutant(MASKED, "weighted mean of the rows' means", "A row of nothing but padding")
def _(logits, targets):
    counts = (targets != -100).sum(1)
    rows = [F.cross_entropy(row, t) for row, t in zip(logits, targets, strict=True)]
    return (torch.stack(rows) * counts).sum() / counts.sum()


# 9.5 forgetful_losses


def forgetful(w, lr, steps, clear=False):
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


@solution(FORGET)
def _(w, lr, steps):
    return forgetful(w, lr, steps)


@solution(FORGET)
def _(w, lr, steps):
    velocity, losses = 0.0, []
    for _ in range(steps):
        losses.append((w - 1) ** 2)
        velocity += 2 * (w - 1)
        w -= lr * velocity
    return losses


@mutant(FORGET, "clears the gradient", "This loop works")
def _(w, lr, steps):
    return forgetful(w, lr, steps, clear=True)


@mutant(FORGET, "loss after the step", "The first loss is missing")
def _(w, lr, steps):
    return forgetful(w, lr, steps + 1)[1:]


@mutant(FORGET, "one loss too many", "One loss too many")
def _(w, lr, steps):
    return forgetful(w, lr, steps + 1)


@mutant(FORGET, "one loss too few", "One loss too few")
def _(w, lr, steps):
    return forgetful(w, lr, steps - 1)


@mutant(FORGET, "uphill", "This goes uphill")
def _(w, lr, steps):
    return forgetful(w, -lr, steps)


@mutant(FORGET, "half the loss", "without a half")
def _(w, lr, steps):
    return [loss / 2 for loss in forgetful(w, lr, steps)]


@mutant(FORGET, "tensors with a gradient in place of floats", "is expected")
def _(w, lr, steps):
    return torch.tensor(forgetful(w, lr, steps))
