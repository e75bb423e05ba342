"""The one loss of the course: how surprised a model is by the right token.

A sum and a count, not a mean: only so do batches with different numbers of targets add up.
"""

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from scratchformer.data.masking import IGNORED


def token_loss(
    logits: Float[Tensor, "*batch V"],
    targets: Int[Tensor, "*batch"],
    label_smoothing: float = 0.0,
) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
    """Cross-entropy summed over the targets, in nats, and how many targets there are.

    Targets equal to IGNORED count in neither. `label_smoothing` moves that much of the wanted
    probability from the target to all V tokens alike (Szegedy et al. 2016, section 7).
    """
    total = F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        targets.flatten(),
        ignore_index=IGNORED,
        label_smoothing=label_smoothing,
        reduction="sum",
    )
    return total, (targets != IGNORED).sum()
