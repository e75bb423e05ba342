"""Experts: networks of which each token is sent to a few (Shazeer et al. 2017)."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Experts(nn.Module):
    """Several networks, of which a router sends each token to `n_active`.

    After a call `balance` is the loss that keeps the router from sending all to a few (Fedus et
    al. 2021, equation 4), at least about 1, and `share` says how much each expert got. A `bias` on
    the chances only helps to choose, and weighs nothing (Wang et al. 2024).
    """

    def __init__(self, d_model: int, n_experts: int, n_active: int, make: Callable[[], nn.Module]):
        super().__init__()
        self.n_active = n_active
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(make() for _ in range(n_experts))
        self.balance, self.share = torch.zeros(()), torch.zeros(n_experts)
        self.bias = torch.zeros(n_experts)  # no weight: it is set from outside

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        tokens = x.flatten(0, 1)  # (N, C)
        chance = self.router(tokens).softmax(dim=-1)  # (N, E)
        chosen = (chance + self.bias.to(chance)).topk(self.n_active).indices  # (N, n_active)
        weight = chance.gather(1, chosen)  # (N, n_active)
        weight = weight / weight.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(tokens)
        for e, expert in enumerate(self.experts):
            row, place = (chosen == e).nonzero(as_tuple=True)  # the tokens that it gets
            out.index_add_(0, row, weight[row, place, None] * expert(tokens[row]))
        sent = torch.zeros_like(chance).scatter(1, chosen, 1.0)  # (N, E)
        self.share = sent.detach().mean(dim=0) / self.n_active
        self.balance = len(self.experts) * (self.share * chance.mean(dim=0)).sum()
        return out.view_as(x)
