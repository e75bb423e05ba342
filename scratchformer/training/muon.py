"""Muon: a matrix moves by its momentum made orthogonal, so that no direction drowns the others.

Jordan et al. 2024. It is for the matrices inside a network; embeddings, the output head, biases and
norms are AdamW's as ever.
"""

from collections import defaultdict
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

# One step of the iteration maps a singular value s to a s + b s³ + c s⁵; Jordan et al.'s choice
# pushes all above about 0.002 into about 0.7 to 1.2 within five steps.
COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def newton_schulz(G: Float[Tensor, "*n M N"], steps: int = 5) -> Float[Tensor, "*n M N"]:
    """G = U S Vᵀ with its singular values S replaced by about 1: nearly U Vᵀ.

    By Newton–Schulz iteration: matrix products only, for each matrix of a batch.
    """
    a, b, c = COEFFICIENTS
    wide = G.shape[-2] <= G.shape[-1]
    X = G if wide else G.mT  # (*n, the shorter, the longer): smaller products
    X = X / (X.norm(dim=(-2, -1), keepdim=True) + 1e-7)  # none above 1
    for _ in range(steps):
        S = X @ X.mT
        X = a * X + (b * S + c * S @ S) @ X
    return X if wide else X.mT


class Muon(torch.optim.AdamW):
    """AdamW, but for groups with `muon=True`: these, of matrices, take Muon's step at their `lr`.

    The step is that of Nesterov momentum (Jordan et al. keep 0.95) made orthogonal and scaled by
    √max(1, rows / columns); weight decay is AdamW's. Gradients of Muon's groups are used up.
    Newton–Schulz computes in `dtype`: bfloat16 is precise enough, and the faster where a processor
    is made for it.
    """

    def __init__(
        self,
        params: Any,
        *,
        momentum: float = 0.95,
        dtype: torch.dtype = torch.bfloat16,
        **options: Any,
    ):
        super().__init__(params, **options)
        self.momentum, self.dtype = momentum, dtype

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # no closure: gradients are there
        """Muon's step for its own groups, then AdamW's for all others."""
        for group in self.param_groups:
            if group.get("muon"):
                self._step_orthogonal(group)
        super().step()  # AdamW passes over what has no gradient left

    def _step_orthogonal(self, group: dict) -> None:
        """Muon's step for every matrix of the group, in place."""
        by_shape = defaultdict(list)  # matrices of one shape are made orthogonal together
        for p in group["params"]:
            if p.grad is not None:
                by_shape[p.shape].append(p)
        for (rows, columns), matrices in by_shape.items():
            step = newton_schulz(self._nesterov_momentum(matrices))
            torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
            rate = group["lr"] * max(1, rows / columns) ** 0.5
            torch._foreach_add_(matrices, step.to(matrices[0].dtype).unbind(), alpha=-rate)
            for p in matrices:
                p.grad = None

    def _nesterov_momentum(self, matrices: list[Tensor]) -> Float[Tensor, "n M N"]:
        """The gradients of n matrices of one shape, with their momenta, which they change."""
        gradients = [p.grad for p in matrices if p.grad is not None]  # all have one
        for p in matrices:
            if not self.state[p]:  # AdamW, which stores and loads it, expects a step there
                self.state[p] = {"step": torch.tensor(0.0), "momentum": torch.zeros_like(p)}
        momenta = [self.state[p]["momentum"] for p in matrices]
        torch._foreach_lerp_(momenta, gradients, 1 - self.momentum)
        update = torch._foreach_lerp(gradients, momenta, self.momentum)
        return torch.stack(update).to(self.dtype)


def matrix_groups(
    model: nn.Module, lr: float, matrix_lr: float, weight_decay: float, muon: bool = True
) -> list[dict]:
    """Groups for `Muon`, or for AdamW: weights of linear layers, other matrices and vectors.

    The output head, whether tied to the embedding or not, counts as another matrix.
    """
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    linear_ids = {
        id(m.weight)
        for name, m in model.named_modules()
        if isinstance(m, nn.Linear) and not name.endswith("head") and id(m.weight) not in embeddings
    }
    parameters = list(model.parameters())
    other_parameters = [p for p in parameters if id(p) not in linear_ids]
    decay = {"weight_decay": weight_decay}
    return [
        {
            "params": [p for p in parameters if id(p) in linear_ids],
            "lr": matrix_lr,
            "muon": muon,
            **decay,
        },
        {"params": [p for p in other_parameters if p.dim() >= 2], "lr": lr, **decay},
        {"params": [p for p in other_parameters if p.dim() < 2], "lr": lr, "weight_decay": 0.0},
    ]
