"""Which parameters decay, and which optimiser a configuration asks for."""

from typing import Any

import torch
from torch import nn

from scratchformer.training.config import TrainingConfig
from scratchformer.training.muon import Muon, muon_groups


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Two groups for AdamW: matrices decay, biases and norms (one dimension) do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """AdamW, or Muon where the configuration has a `muon_lr`.

    Muon computes in the precision of the run. Each group's "initial_lr", as PyTorch's schedulers
    call it, is the peak of its rate.
    """
    options: dict[str, Any] = {"lr": config.lr, "betas": config.betas, "eps": config.eps}
    kind: type[torch.optim.AdamW] = torch.optim.AdamW
    if config.muon_lr is None:
        groups = parameter_groups(model, config.weight_decay)
    else:
        kind, groups = Muon, muon_groups(model, config.lr, config.muon_lr, config.weight_decay)
        options |= {"momentum": config.muon_momentum, "dtype": getattr(torch, config.precision)}
    optimizer = kind(groups, fused=True, **options)
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]
    return optimizer
