"""Large random weights: at initialisation a model is too flat for a difference to show."""

import torch
from torch import nn


def randomised(model: nn.Module, std: float = 0.3) -> nn.Module:
    """The model in evaluation mode, with its norms' weights near 1 and all others near 0."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            is_norm = p.dim() == 1 and name.endswith("weight")
            p.normal_(1.0 if is_norm else 0.0, std)
    return model.eval()
