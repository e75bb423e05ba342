"""`torch.nn.init`: weights before training, written into a tensor."""

import math

from scratchformer_course.page_torch.generator import normal_ as _normal
from scratchformer_course.page_torch.generator import uniform_ as _uniform
from scratchformer_course.page_torch.inplace import fill_, zero_
from scratchformer_course.page_torch.missing import guard_module, lack
from scratchformer_course.page_torch.tape import GradMode
from scratchformer_course.page_torch.tensor import Tensor


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal numbers."""
    with GradMode(False):
        return _normal(tensor, mean, std)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform numbers from a to below b."""
    with GradMode(False):
        return _uniform(tensor, a, b)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    with GradMode(False):
        return zero_(tensor)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere."""
    with GradMode(False):
        return fill_(tensor, val)


def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal."""
    zeros_(tensor)
    with GradMode(False):
        fill_(tensor.diagonal(), 1.0)
    return tensor


def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Uniform numbers whose size keeps the variance of what goes through (He et al., 2015)."""
    if mode != "fan_in" or nonlinearity not in ("leaky_relu", "relu"):
        lack("`kaiming_uniform_` with these settings")
    gain = math.sqrt(2.0 / (1 + (a if nonlinearity == "leaky_relu" else 0) ** 2))
    bound = math.sqrt(3.0) * gain / math.sqrt(tensor._shape[1])
    return uniform_(tensor, -bound, bound)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform numbers whose size suits both ways (Glorot and Bengio, 2010)."""
    n_out, n_in = tensor._shape[:2]
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / (n_in + n_out))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal numbers whose size suits both ways (Glorot and Bengio, 2010)."""
    n_out, n_in = tensor._shape[:2]
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (n_in + n_out)))


guard_module(globals(), "init", "nn.init")
