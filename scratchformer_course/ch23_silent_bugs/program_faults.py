"""Faulty parts of the program: its text, its training, its files, its writing.

Each stands for the part of `program.py` that it names, and differs from it in one to three lines.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from scratchformer.data.masking import IGNORED
from scratchformer.training import learning_rate, token_loss
from scratchformer_course.ch23_silent_bugs.model import SmallGPT
from scratchformer_course.ch23_silent_bugs.program import CONV1D, DECAY, Batch, Loss

# --- the text ------------------------------------------------------------------------------------


def stored_in_bytes(ids: Sequence[int] | np.ndarray) -> np.ndarray:
    """A type that was wide enough for the first vocabulary: 256 becomes 0, and 257 becomes 1."""
    return np.array(ids).astype(np.uint8)


def split_by_length(ids: Int[Tensor, "N ..."]) -> tuple[Tensor, Tensor]:
    """A minus sign: the last nine tenths, most of them trained on, are called validation."""
    n = len(ids) * 9 // 10
    return ids[:n], ids[-n:]


def same_seed(seed: int, worker: int) -> int:
    """All workers draw the same rows."""
    return 1000 * seed


def same_tokens(rows: Int[Tensor, "B _"]) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """The target is the input itself, which the model only has to copy."""
    return rows[:, :-1], rows[:, :-1]


def all_targets(x: Int[Tensor, "B T"], y: Int[Tensor, "B T"], pad: int) -> Int[Tensor, "B T"]:
    """Padding counts as text, and is easily foretold."""
    return y


# --- training ------------------------------------------------------------------------------------


def loss_shifted_again(
    logits: Float[Tensor, "B T V"], y: Int[Tensor, "B T"]
) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
    """The loss shifts the targets, which the batch has shifted already."""
    return token_loss(logits[:, :-1].float(), y[:, 1:])


def prepare_in_bfloat16(model: SmallGPT) -> SmallGPT:
    """The weights themselves have 16 bits, and steps below their 256th part are rounded away."""
    return model.bfloat16()


def one_group(model: nn.Module) -> list[dict[str, Any]]:
    """All parameters decay: the scales of the norms are drawn from 1 to 0."""
    return [{"params": list(model.parameters()), "weight_decay": DECAY}]


def rate_by_batches(updates: int, batches: int, steps: int, peak: float) -> float:
    """The schedule counts micro-batches, and reaches its end long before the run does."""
    return learning_rate(batches, lr=peak, steps=steps, warmup=steps // 10)


def update_without_zeroing(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: Sequence[Batch], nats: Loss
) -> float:
    """The gradients of all steps before are still there."""
    n = sum((y != IGNORED).sum() for x, y in batches)  # targets of all batches
    total = 0.0
    for x, y in batches:
        batch_nats, _ = nats(model, x, y)
        (batch_nats / n).backward()
        total += batch_nats.item()
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return total / int(n)


def update_by_means(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: Sequence[Batch], nats: Loss
) -> float:
    """Each micro-batch is averaged by itself: a token of a short one weighs more."""
    optimizer.zero_grad()
    n = sum((y != IGNORED).sum() for x, y in batches)  # targets of all batches
    total = 0.0
    for x, y in batches:
        batch_nats, targets = nats(model, x, y)
        (batch_nats / targets / len(batches)).backward()
        total += batch_nats.item()
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return total / int(n)


def update_clipped_early(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: Sequence[Batch], nats: Loss
) -> float:
    """An indentation: the gradient is clipped after each micro-batch, while it still grows."""
    optimizer.zero_grad()
    n = sum((y != IGNORED).sum() for x, y in batches)  # targets of all batches
    total = 0.0
    for x, y in batches:
        batch_nats, _ = nats(model, x, y)
        (batch_nats / n).backward()
        total += batch_nats.item()
        clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return total / int(n)


# --- files and writing ---------------------------------------------------------------------------


def load_by_shape(model: nn.Module, file: dict[str, Tensor]) -> None:
    """What has the right shape is taken as it is; a square matrix always has it."""
    weights = {}
    for name in model.state_dict():
        transposed = file[name].shape != model.state_dict()[name].shape
        weights[name] = file[name].T if transposed else file[name]
    model.load_state_dict(weights)


def load_by_assigning(model: nn.Module, file: dict[str, Tensor]) -> None:
    """The file's tensors replace the model's, and the tied matrix becomes two."""
    weights = {}
    for name in model.state_dict():
        transposed = name.endswith(CONV1D)
        weights[name] = file[name].T if transposed else file[name]
    model.load_state_dict(weights, assign=True)


def nucleus_one_short(p: Float[Tensor, "B V"], top_p: float) -> Float[Tensor, "B V"]:
    """The token that carries the sum past top_p is left out, and with it the promised share."""
    p, order = p.sort(dim=-1, descending=True)
    before = p.cumsum(dim=-1)  # what the likelier tokens hold together
    kept = before < top_p
    kept[:, 0] = True
    return torch.zeros_like(p).scatter(1, order, p * kept)
