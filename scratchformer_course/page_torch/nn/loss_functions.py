"""Losses of `torch.nn.functional`."""

import math

from scratchformer_course.page_torch import pointwise
from scratchformer_course.page_torch.choices import where
from scratchformer_course.page_torch.dtypes import FLOAT, int64, uint8
from scratchformer_course.page_torch.missing import guard_module, lack, torch_error
from scratchformer_course.page_torch.rows import log_softmax as _log_softmax
from scratchformer_course.page_torch.taking import taken
from scratchformer_course.page_torch.tape import named
from scratchformer_course.page_torch.tensor import Tensor, check_float


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    if reduction not in ("mean", "sum", "none"):
        raise torch_error(ValueError, f"{reduction} is not a valid value for reduction")
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Minus the number at the target of each row of log-probabilities."""
    if weight is not None:
        lack("`weight` of a loss")
    shape = target._shape
    if input.ndim > 1 and target.ndim and input._shape[0] != target._shape[0]:
        text = f"Expected input batch_size ({len(input)}) to match target batch_size"
        raise torch_error(ValueError, f"{text} ({len(target)}).")
    if input.ndim > 2:
        n, classes = input._shape[0], input._shape[1]
        if (n, *input._shape[2:]) != shape:
            text = f"Expected target size {[n, *input._shape[2:]]}, got {list(shape)}"
            raise torch_error(RuntimeError, text)
        input, target = input.movedim(1, -1).reshape(-1, classes), target.reshape(-1)
    elif input.ndim == 1:
        input, target = input.unsqueeze(0), target.reshape(-1)
    elif target.ndim != 1:
        lack("a loss with a target of this shape")
    if len(input) != len(target):
        text = f"Expected input batch_size ({len(input)}) to match target batch_size"
        raise torch_error(ValueError, f"{text} ({len(target)}).")
    if target.dtype not in (int64, uint8):
        text = f"expected target dtype to be Long or Byte, but got {target.dtype.word}"
        raise torch_error(RuntimeError, text)
    n_classes, ids = input._shape[1], target._numbers()
    for i in ids:
        if i != ignore_index and not 0 <= i < n_classes:
            raise torch_error(IndexError, f"Target {i} is out of bounds.")
    places = [row * n_classes + (i if i != ignore_index else 0) for row, i in enumerate(ids)]
    losses = -taken(input, places, (len(ids),), "NllLossBackward0", target)
    if ignore_index in ids:
        losses = losses.masked_fill(target == ignore_index, 0.0)
    if reduction != "mean":
        return named(
            _reduced(losses, reduction).reshape(shape if reduction == "none" else ()),
            "NllLossBackward0",
        )
    n_counted = sum(i != ignore_index for i in ids)
    mean = losses.sum() / n_counted if n_counted else losses.sum() * math.nan
    return named(mean, "NllLossBackward0" if len(shape) < 2 else "NllLoss2DBackward0")


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the logarithm of softmax at the target; targets are ids or probabilities."""
    if not 0 <= label_smoothing <= 1:
        lack("such a `label_smoothing`")
    if weight is not None:
        lack("`weight` of a loss")
    axis = 0 if input.ndim == 1 else 1
    logs = _log_softmax(input, axis)
    n_classes = input._shape[axis]
    if target.dtype.kind == FLOAT:
        if target._shape != input._shape:
            lack("`F.cross_entropy` with a target of this shape")
        target = target * (1 - label_smoothing) + label_smoothing / n_classes
        losses = -(logs * target).sum(axis)
        if reduction == "mean":
            return losses.sum() / max(losses.numel(), 1)
        return _reduced(losses, reduction)
    if not label_smoothing:
        return nll_loss(logs, target, ignore_index=ignore_index, reduction=reduction)
    sharp = nll_loss(logs, target, ignore_index=ignore_index, reduction="none")
    is_counted = target != ignore_index
    even = (-logs.mean(axis)).masked_fill(~is_counted, 0.0)
    losses = sharp * (1 - label_smoothing) + even * label_smoothing
    if reduction == "mean":
        return losses.sum() / is_counted.sum()
    return _reduced(losses, reduction)


def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The square difference."""
    check_float(input)
    return named(_reduced((input - target).square(), reduction), "MseLossBackward0")


def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The absolute difference."""
    return _reduced((input - target).abs(), reduction)


def _check_pair(x: Tensor, target: Tensor) -> None:
    if x._shape != target._shape or x.dtype is not target.dtype:
        lack("a loss of two shapes or types")


def binary_cross_entropy(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """Minus the logarithm of the probability of yes or no."""
    _check_pair(input, target)
    if not all(0 <= p <= 1 for p in input._numbers()):
        lack("`binary_cross_entropy` of what is no probability")
    yes, no = input.log().clamp(min=-100), (1 - input).log().clamp(min=-100)
    return _reduced(-(target * yes + (1 - target) * no), reduction)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, *, reduction: str = "mean"
) -> Tensor:
    """`binary_cross_entropy` of the sigmoid."""
    _check_pair(input, target)
    return _reduced(pointwise.softplus(input) - input * target, reduction)


def kl_div(
    input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """How far log-probabilities `input` are from the probabilities `target`."""
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = where(target > 0, target * (target.log() - input), 0.0)
    if reduction == "batchmean":
        return losses.sum() / input._shape[0]
    return _reduced(losses, reduction)


guard_module(globals(), "functional", "F")
