"""Probabilities of every next character, from networks and from counts, and mixtures of them.

All that scores here returns an array of shape (N - 1, V) for a text of N characters: in row i the
probability of each of the V characters to be character i + 1, given characters 0 … i at most.
None sees what it predicts: a test changes a later character, and no row before it may change.
"""

import copy
import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from scratchformer.models import KneserNey
from scratchformer.training import token_loss

HIDDEN, STEPS, BATCH = 24, 600, 4096  # of the gate and its training


def network_rows(
    model: nn.Module,
    ids: Tensor,
    window: int = 256,
    stride: int | None = None,
    sgd: float | None = None,
) -> Float[Tensor, "N-1 V"]:
    """What a network predicts, from windows of the text one after the other.

    Windows start anew each time; with a `stride` they overlap: each begins `stride` later than the
    one before, and only what that one has not predicted counts. With `sgd`, a rate, each window
    that has been scored is trained on: one plain step down the gradient of its mean loss. The
    model is not changed, a copy is.
    """
    model, rows = copy.deepcopy(model).eval(), []  # no dropout, in the steps neither
    stride = stride or window
    for start in range(0, len(ids) - 1, stride):
        end = min(start + stride, len(ids) - 1)
        first = max(0, start + stride - window)
        with torch.set_grad_enabled(sgd is not None):
            logits = model(ids[None, first:end])[0]  # (end - first, V)
            rows.append(logits[start - first :].detach().softmax(dim=-1))
        if sgd is not None:
            nats, targets = token_loss(logits, ids[first + 1 : end + 1])
            gradients = torch.autograd.grad(nats / targets, list(model.parameters()))
            torch._foreach_add_([p.data for p in model.parameters()], gradients, alpha=-sgd)
    return torch.cat(rows)


def counted_rows(
    order: int,
    before: Tensor,
    ids: Tensor,
    vocab_size: int,
    last: int | None = None,
    every: int | None = None,
) -> Float[Tensor, "N-1 V"]:
    """What Kneser–Ney counts of the text `before` predict, or of only its `last` characters.

    With `every`, the table adapts: it is counted anew each time so many characters have been
    scored, and these then belong to what is before.
    """
    rows = []
    for start in range(0, len(ids) - 1, every or len(ids)):
        end = min(start + (every or len(ids)), len(ids) - 1)
        known = torch.cat((before, ids[: start + 1])) if every else before
        table = KneserNey(order).fit(known[-last:] if last else known, vocab_size)
        first = max(0, start + 2 - order)  # the characters that the first prediction sees
        # The last position is predicted without being read: the text before it decides its row.
        found = table.probabilities(ids[first : end + 1])[start + 1 - first :]
        rows.append(torch.from_numpy(found).float())
    return torch.cat(rows)


def nats(rows: Float[Tensor, "N V"], targets: Tensor) -> float:
    """Mean of -log P(target)."""
    return -of_targets(rows, targets).log().mean().item()


def of_targets(rows: Float[Tensor, "N V"], targets: Tensor) -> Float[Tensor, "N"]:
    """The probability of each target."""
    return rows.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1).double()


def fit_weights(models: Sequence[Float[Tensor, "N V"]], targets: Tensor) -> list[float]:
    """The weights, of sum 1, with which the mean of the models' probabilities fits best.

    By expectation–maximisation: a model's new weight is its mean share in what came true.
    """
    p = torch.stack([of_targets(rows, targets) for rows in models])  # (K, N)
    weights = torch.full((len(models), 1), 1 / len(models), dtype=p.dtype)
    for _ in range(200):
        shares = weights * p
        weights = (shares / shares.sum(dim=0)).mean(dim=1, keepdim=True)
    return [round(w, 4) for w in weights.flatten().tolist()]


def mixed(models: Sequence[Float[Tensor, "N V"]], weights: Sequence[float]) -> Float[Tensor, "N V"]:
    """The weighted mean of the models' probabilities."""
    return torch.stack([w * rows for w, rows in zip(weights, models, strict=True)]).sum(dim=0)


class Gate(nn.Module):
    """Weights for K models that depend on how sure each of them is, by a small network.

    It reads each model's entropy and its greatest probability. The mixture is a weighted product:
    log P = Σ w_k log P_k, normalised. It starts as the geometric mean.
    """

    def __init__(self, n_models: int):
        super().__init__()
        torch.manual_seed(0)
        inward, outward = nn.Linear(2 * n_models, HIDDEN), nn.Linear(HIDDEN, n_models)
        nn.init.zeros_(outward.weight)
        nn.init.constant_(outward.bias, 1 / n_models)
        self.layers = nn.Sequential(inward, nn.Tanh(), outward)

    def forward(self, logs: Float[Tensor, "N K V"]) -> Float[Tensor, "N V"]:
        """Log-probabilities of the mixture, from those of the models."""
        entropies = -(logs.exp() * logs).sum(dim=-1)  # (N, K)
        features = torch.cat((entropies, logs.amax(dim=-1).exp()), dim=-1)  # (N, 2 K)
        weights = self.layers(features)  # (N, K)
        return (weights.unsqueeze(-1) * logs).sum(dim=1).log_softmax(dim=-1)

    def train_on(self, models: Sequence[Float[Tensor, "N V"]], targets: Tensor) -> "Gate":
        """Fit the weights to a text that the models have scored; returns self."""
        logs, generator = log_stack(models), torch.Generator().manual_seed(0)
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2, weight_decay=0.0)
        for step in range(STEPS):
            optimizer.param_groups[0]["lr"] = 1e-2 * (1 - step / STEPS)
            some = torch.randint(len(targets), (BATCH,), generator=generator)
            optimizer.zero_grad()
            F.nll_loss(self(logs[some]), targets[some].long()).backward()
            optimizer.step()
        return self

    def mix(self, models: Sequence[Float[Tensor, "N V"]]) -> Float[Tensor, "N V"]:
        """The mixture's probabilities."""
        with torch.no_grad():
            return torch.cat([self(part).exp() for part in log_stack(models).split(8192)])


def log_stack(models: Sequence[Float[Tensor, "N V"]]) -> Float[Tensor, "N K V"]:
    """The logarithms of the models' probabilities, side by side; nothing is below e^-20."""
    return torch.stack(list(models), dim=1).clamp(min=math.exp(-20)).log()
