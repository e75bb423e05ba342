"""Attention, watched while a model computes it: as products and a softmax of PyTorch's own."""

import math
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass
class Attention:
    """A softmax over scores of T queries and T keys. N stands for the heads of all rows.

    Where weights multiply values, both are kept as well: `used` is (N, T, T), `values` (N, T, D).
    """

    weights: Tensor  # what it gave, (…, T, T)
    axis: int  # which it ran over, -1 for the last
    scale: float | None  # the number that multiplied scores, or queries and keys before
    keys: Tensor | None  # of the product that gave the scores, (N, D, T)
    used: Tensor | None = None  # the weights that multiplied the values
    values: Tensor | None = None


class AttentionTrace(TorchDispatchMode):
    """Inside `with`: the attention that runs as PyTorch's own operations."""

    def __init__(self, T: int):
        super().__init__()
        self.T = T
        self.layers: list[Attention] = []
        self.keys: Tensor | None = None
        self.n_scores = 0  # numbers in the last table of scores
        self.factors: list[tuple[tuple[int, ...], float]] = []  # (shape, what multiplied it)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
        square = (self.T, self.T)
        if name in ("bmm", "baddbmm"):
            left, right = args[-2:]
            if out.shape[-2:] == square:
                self.keys, self.n_scores = right, out.numel()
                if name == "baddbmm":
                    self.factors.append((tuple(out.shape), float((kwargs or {}).get("alpha", 1))))
            elif left.shape[-2:] == square and self.layers and self.layers[-1].used is None:
                self.layers[-1].used, self.layers[-1].values = left.nan_to_num(), right
        elif name.rstrip("_") in ("mul", "div") and isinstance(args[0], Tensor):
            scaled, number = args[:2]
            if isinstance(number, Tensor):  # one for each head, or a single one, on either side
                scaled, number = sorted((scaled, number), key=Tensor.numel, reverse=True)
                per_head = number.shape[-1:] in ((), (1,)) and self.T not in number.shape
                number = abs(number.flatten()[0].item()) if per_head and number.numel() else 0
            factor = 1 / number if "div" in name and number else number
            self.factors.append((tuple(scaled.shape), float(factor)))
        elif name in ("_softmax", "_safe_softmax") and out.shape[-2:] == square:
            score_factors = [f for shape, f in self.factors if self._scales(shape, f)]
            scale = math.prod(score_factors) if score_factors else None
            axis = args[1] % out.dim() - out.dim()
            self.layers.append(Attention(out.nan_to_num(), axis, scale, self.keys))
            self.keys, self.factors = None, []
        return out

    def _scales(self, shape: tuple[int, ...], factor: float) -> bool:
        """Whether a factor is one of scores, not of a bias, or a small one of queries or keys."""
        if shape[-2:] == (self.T, self.T) or self.keys is None:
            return factor > 0 and math.prod(shape) == self.n_scores
        D = self.keys.shape[-2]  # one head's width, or all heads stand together
        fits_head_width = D in shape[-2:] or math.isclose(factor, D**-0.5)
        of_tokens = any(n % self.T == 0 for n in shape)  # of one stream, or of several
        return fits_head_width and of_tokens and 0 < factor <= 1


def attention_of(model: nn.Module, ids: Tensor) -> list[Attention]:
    """All attention in one call; none where it cannot be watched.

    Not under no_grad, where PyTorch's own encoder takes a path that nobody sees into.
    """
    try:
        with sdpa_kernel(SDPBackend.MATH), AttentionTrace(ids.shape[1]) as trace:
            model(ids)
    except RuntimeError:  # a kernel that no mode can watch
        return []
    return trace.layers
