"""`torch.nn.functional`: layers and losses as functions."""

import math
from collections.abc import Sequence
from typing import Any

from scratchformer_course.page_torch import pointwise
from scratchformer_course.page_torch.choices import where
from scratchformer_course.page_torch.creation import full, ones
from scratchformer_course.page_torch.dtypes import FLOAT, INTEGER, bool_, int32, int64
from scratchformer_course.page_torch.dtypes import dtype as Kind
from scratchformer_course.page_torch.generator import bernoulli_
from scratchformer_course.page_torch.information import finfo
from scratchformer_course.page_torch.joining import cat
from scratchformer_course.page_torch.missing import guard_module, lack, torch_error
from scratchformer_course.page_torch.nn.loss_functions import *  # noqa: F403
from scratchformer_course.page_torch.products import matmul
from scratchformer_course.page_torch.rows import log_softmax as _log_softmax
from scratchformer_course.page_torch.rows import softmax as _softmax
from scratchformer_course.page_torch.taking import taken
from scratchformer_course.page_torch.tape import named, record, save
from scratchformer_course.page_torch.tensor import Tensor, check_float, new_tensor


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Zero in place of what is negative."""
    if input.dtype is bool_:
        lack("`relu` of bools")
    return _maybe_in_place(input, pointwise.relu(input), inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x · sigmoid(x)."""
    if input.dtype.kind < FLOAT:
        text = f"\"silu_cpu\" not implemented for '{input.dtype.word}'"
        raise torch_error(NotImplementedError, text)
    return _maybe_in_place(input, pointwise.silu(input), inplace)


def _maybe_in_place(x: Tensor, out: Tensor, inplace: bool) -> Tensor:
    if inplace:
        lack("`inplace=True`")
    return out


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the probability that a normal number is below x."""
    if input.dtype.kind < FLOAT:
        text = f"\"GeluKernelImpl\" not implemented for '{input.dtype.word}'"
        raise torch_error(NotImplementedError, text)
    if approximate not in ("none", "tanh"):
        text = "approximate argument must be either none or tanh."
        raise torch_error(RuntimeError, text)
    return (pointwise.gelu_by_tanh if approximate == "tanh" else pointwise.gelu)(input)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return input.tanh()


def softplus(input: Tensor) -> Tensor:
    """log(1 + exp(x))."""
    check_float(input)
    return pointwise.softplus(input)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x))."""
    check_float(input)
    return pointwise.logsigmoid(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """A small slope in place of none where x is negative."""
    out = where(input > 0, input, input * negative_slope)
    return _maybe_in_place(input, out, inplace)


def softmax(input: Tensor, dim: int | None = None, *, dtype: Kind | None = None) -> Tensor:
    """Exponentials, divided by their sum along an axis."""
    return _softmax(input, _usual_axis(input) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, *, dtype: Kind | None = None) -> Tensor:
    """The logarithm of softmax."""
    return _log_softmax(input, _usual_axis(input) if dim is None else dim, dtype)


def _usual_axis(x: Tensor) -> int:
    """The axis that real PyTorch takes, with a warning, if none is given."""
    return 0 if x.ndim in (0, 1, 3) else 1


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias: (…, k) and (n, k) give (…, n)."""
    if weight.ndim == 2 and input.ndim and input._shape[-1] != weight._shape[-1]:
        n, k = weight._shape
        rows, columns = math.prod(input._shape[:-1]), input._shape[-1]
        text = f"mat1 and mat2 shapes cannot be multiplied ({rows}x{columns} and {k}x{n})"
        raise torch_error(RuntimeError, text)
    if input.dtype is not weight.dtype:
        text = f"mat1 and mat2 must have the same dtype, but got {input.dtype.word} and"
        raise torch_error(RuntimeError, f"{text} {weight.dtype.word}")
    out = matmul(input, weight.mT if weight.ndim > 1 else weight)
    if bias is not None and bias._shape != weight._shape[:1]:
        if out.ndim != 2:
            lack("`F.linear` with a bias of this shape")
        bias = bias.expand(out._shape)
    out = out if bias is None else out + bias
    if out._node is not None:
        is_matrix = input.ndim == 2
        name = "AddmmBackward0" if is_matrix and bias is not None else "MmBackward0"
        out._node._name = (
            name if is_matrix else "ViewBackward0" if bias is not None else ("UnsafeViewBackward0")
        )
    return out


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The rows of a table at these ids."""
    if input.dtype.kind == INTEGER and input.dtype not in (int32, int64):
        lack("an embedding of this type of ids")
    if input.dtype.kind != INTEGER:
        text = "Expected tensor for argument #1 'indices' to have one of the following scalar types"
        raise torch_error(
            RuntimeError,
            f"{text}: Long, Int; but got torch.{input.dtype.word}Tensor instead (while checking "
            "arguments for embedding)",
        )
    n, width = weight._shape
    ids = input._numbers()
    if any(not 0 <= i < n for i in ids):
        raise torch_error(IndexError, "index out of range in self")
    order = [i * width + j for i in ids for j in range(width)]
    out = taken(weight, order, (*input._shape, width), "EmbeddingBackward0", input)
    if padding_idx is None or out._node is None:
        return out
    is_real = input.detach() != padding_idx % n
    return record(
        out.detach(),
        "EmbeddingBackward0",
        (out, lambda slope: slope * is_real.unsqueeze(-1), input),
    )


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A row of zeros with a one at each id."""
    if tensor.dtype is not int64:
        text = "one_hot is only applicable to index tensor of type LongTensor."
        raise torch_error(RuntimeError, text)
    ids = tensor._numbers()
    if num_classes == -1 and not ids:
        text = "Can not infer total number of classes from empty tensor."
        raise torch_error(RuntimeError, text)
    if ids and min(ids) < 0:
        raise torch_error(RuntimeError, "Class values must be non-negative.")
    n = max(ids) + 1 if num_classes == -1 else num_classes
    if ids and max(ids) >= n:
        raise torch_error(RuntimeError, "Class values must be smaller than num_classes.")
    numbers = [int(i == j) for i in ids for j in range(n)]
    return new_tensor(numbers, (*tensor._shape, n), int64)


def _check_normalized(x: Tensor, shape: Any) -> tuple[int, ...]:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if x._shape[-len(shape) :] != shape:
        text = f"Given normalized_shape={list(shape)}, expected input with shape"
        sizes = ", ".join(map(str, shape))
        got = f"but got input of size{list(x._shape)}"
        raise torch_error(RuntimeError, f"{text} [*, {sizes}], {got}")
    return tuple(range(-len(shape), 0))


def check_one_type(x: Tensor, *parameters: Tensor | None) -> None:
    """Lack a norm whose weights are of another type than its input."""
    if any(p is not None and p.dtype is not x.dtype for p in parameters):
        lack("a norm with weights of another type")


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 along the last axes, then scaled and moved."""
    if isinstance(normalized_shape, int):
        text = (
            "layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int"
        )
        raise torch_error(TypeError, text)
    if input.dtype.kind < FLOAT:
        text = f"\"LayerNormKernelImpl\" not implemented for '{input.dtype.word}'"
        raise torch_error(NotImplementedError, text)
    axes = _check_normalized(input, normalized_shape)
    check_one_type(input, weight, bias)
    x = input.double()  # so that nothing is rounded in between
    x = x - x.mean(axes, keepdim=True)
    x = x * (x.square().mean(axes, keepdim=True) + eps).rsqrt()
    x = x if weight is None else x * weight
    x = x if bias is None else x + bias
    return named(save(x.to(input.dtype), input), "NativeLayerNormBackward0")


def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Mean square 1 along the last axes, then scaled."""
    axes = _check_normalized(input, normalized_shape)
    check_one_type(input, weight)
    x = input.double()
    eps = finfo(input.dtype).eps if eps is None else eps
    x = x * (x.square().mean(axes, keepdim=True) + eps).rsqrt()
    out = (x if weight is None else x * weight).to(input.dtype)
    return named(save(out, input), "MulBackward0")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero in place of a part p of the numbers, and the rest larger by as much."""
    if not 0 <= p <= 1:
        text = f"dropout probability has to be between 0 and 1, but got {p}"
        raise torch_error(ValueError, text)
    if inplace:
        lack("`inplace=True`")
    if input.dtype.kind < FLOAT or not input.is_contiguous():
        lack("dropout of whole numbers, or of numbers that do not lie in order")
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0.0
    mask = bernoulli_(full(input._shape, 0.0, dtype=input.dtype), 1 - p)
    return input * (mask / (1 - p))


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle along an axis."""
    lengths = [x.norm(dim=dim, keepdim=True).clamp(min=eps) for x in (x1, x2)]
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Of length 1 along an axis."""
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """One number before and behind, for the last axis first; less where it is negative."""
    if mode != "constant":
        lack(f"`F.pad(mode={mode!r})`")
    if len(pad) % 2:
        raise torch_error(RuntimeError, "Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        text = "Padding length should be less than or equal to two times the input dimension but"
        got = f"padding length {len(pad)} and input of dimension {input.ndim}"
        raise torch_error(RuntimeError, f"{text} got {got}")
    out = input.clone() if not any(pad) else input
    for i, n in enumerate(pad):
        axis, is_front, size = input.ndim - 1 - i // 2, i % 2 == 0, out._shape[-1 - i // 2]
        if n < 0:
            out = out.narrow(axis, -n if is_front else 0, size + n)
        elif n:
            shape = (*out._shape[:axis], n, *out._shape[axis + 1 :])
            strip = full(shape, 0 if value is None else value, dtype=out.dtype)
            out = cat([strip, out] if is_front else [out, strip], axis)
    return named(out.contiguous(), "ConstantPadNdBackward0")


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(q kᵀ · scale) v, for the keys that a mask allows."""
    if dropout_p:
        lack("`scaled_dot_product_attention` with dropout")
    if enable_gqa:
        n = query._shape[-3]
        key, value = (x.repeat_interleave(n // x._shape[-3], -3) for x in (key, value))
    scores = matmul(query, key.mT) * (query._shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        if attn_mask is not None:
            text = "Explicit attn_mask should not be set when is_causal=True"
            raise torch_error(RuntimeError, text)
        attn_mask = ones(scores._shape[-2:], dtype=bool_).tril()
    if attn_mask is not None and attn_mask.dtype not in (bool_, query.dtype):
        lack("`scaled_dot_product_attention` with a mask of this type")
    if attn_mask is not None and attn_mask.dtype is bool_:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    is_empty = (scores == -math.inf).all(-1, keepdim=True)  # nothing may be looked at: zeros
    weights = _softmax(scores.masked_fill(is_empty, 0.0), -1).masked_fill(is_empty, 0.0)
    out = matmul(weights, value)
    if out.ndim == 4:  # real PyTorch computes it with the heads behind the places
        out = out.transpose(1, 2).contiguous().transpose(1, 2)
    return named(out, SDPA)


SDPA = "UnsafeViewBackward0"


guard_module(globals(), "functional", "F")
