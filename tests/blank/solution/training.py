import torch
from model import GPT


def cross_entropy(logits, targets):
    log_p = logits - logits.logsumexp(dim=-1, keepdim=True)
    return -log_p[torch.arange(len(targets)), targets].mean()


def product_back(grad, a, b):
    return grad @ b.T, a.T @ grad


def nats_back(grad, logits, targets):
    p = logits.softmax(dim=1)
    p[torch.arange(len(p)), targets] -= 1
    return grad * p / len(p)


def network_back(x, targets, w1, w2):
    before = x @ w1  # (B, H)
    hidden = before.clamp(min=0)
    at_hidden, at_w2 = product_back(nats_back(1.0, hidden @ w2, targets), hidden, w2)
    return product_back(at_hidden * (before > 0), x, w1)[1], at_w2


def adamw_step(w, grad, m, v, t, lr, decay):
    m = 0.9 * m + 0.1 * grad
    v = 0.95 * v + 0.05 * grad**2
    step = m / (1 - 0.9**t) / ((v / (1 - 0.95**t)).sqrt() + 1e-8)
    return w - lr * decay * w - lr * step, m, v


def train(model, ids, steps, batch_size, context_length, lr):
    state = {p: (torch.zeros_like(p), torch.zeros_like(p)) for p in model.parameters()}
    for step in range(1, steps + 1):
        rate = lr * min(1.0, step / 50) * (1 - 0.9 * step / steps)
        starts = torch.randint(len(ids) - context_length, (batch_size, 1))
        window = ids[starts + torch.arange(context_length + 1)]
        logits = model(window[:, :-1])
        loss = cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                w, *state[p] = adamw_step(p, p.grad, *state[p], step, rate, 0.01)
                p.copy_(w)
    return model


def two_minutes(ids, vocab_size):
    torch.manual_seed(0)
    model = GPT(vocab_size, 64, 96, 4, 2)
    return train(model, ids, 1500, 12, 64, 6e-3)
