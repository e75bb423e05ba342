"""Products of matrices, and `einsum`, which is one of them with names."""

import math
import operator
from array import array
from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.dtypes import BOOL, FLOAT, rounded
from scratchformer_course.page_torch.layout import broadcast
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.tape import record
from scratchformer_course.page_torch.tensor import Tensor, new_tensor

fast_product: list[Callable] = []  # the page has one in JavaScript
SUM_OF_PRODUCTS = getattr(math, "sumprod", None)  # from Python 3.12 on
LARGE = 20_000  # multiplications from which handing the numbers over pays


def matmul(a: Any, b: Any) -> Any:
    """The product of two matrices, of a matrix and a vector, or of many; first axes are stretched.

    (…, n, k) and (…, k, m) give (…, n, m).
    """
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return NotImplemented
    if not a.ndim or not b.ndim:
        text = f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and"
        raise torch_error(RuntimeError, f"{text} {b.ndim}D")
    if a.dtype is not b.dtype:
        _refuse_types(a, b)
    if a.dtype.kind == BOOL:
        if a.ndim != 2 or b.ndim != 2:
            lack("products of bools")
        text = "\"addmm_impl_cpu_\" not implemented for 'Bool'"
        raise torch_error(NotImplementedError, text)
    if a.ndim == 1 and b.ndim == 1:
        return dot(a, b)
    if a.ndim == 1:
        return _check(a.unsqueeze(0), b).squeeze(-2)
    if b.ndim == 1:
        if a._shape[-1] != b._shape[0]:
            n, k = math.prod(a._shape[:-1]), a._shape[-1]
            text = f"size mismatch, got input ({n}), mat ({n}x{k}), vec ({b._shape[0]})"
            raise torch_error(RuntimeError, text)
        out = _check(a, b.unsqueeze(1)).squeeze(-1)
        if out._node is not None and a.ndim == 2:
            out._node._name = "MvBackward0"
        return out
    return _check(a, b)


def _refuse_types(a: Tensor, b: Tensor) -> None:
    if 1 in (a.ndim, b.ndim) and a.ndim != b.ndim:
        lack("a product of a matrix and a vector of other types")
    one = "expected m1 and m2 to have the same dtype, but got: {} != {}"
    if a.ndim == b.ndim == 1:
        one = "dot : expected both vectors to have same dtype, but found {} and {}"
        raise torch_error(RuntimeError, one.format(a.dtype.word, b.dtype.word))
    if b.ndim > 2 and a.ndim > 2:
        one = "expected scalar type {} but found {}"
        raise torch_error(RuntimeError, one.format(a.dtype.word, b.dtype.word))
    raise torch_error(RuntimeError, one.format(a.dtype.c_name, b.dtype.c_name))


def _check(a: Tensor, b: Tensor) -> Tensor:
    """The product, after a look at the sizes."""
    k, rows = a._shape[-1], b._shape[-2]
    if k != rows:
        if b.ndim == 2:
            left = f"{math.prod(a._shape[:-1])}x{k}"
            text = f"mat1 and mat2 shapes cannot be multiplied ({left} and {rows}x{b._shape[-1]})"
            raise torch_error(RuntimeError, text)
        n = math.prod(broadcast(a._shape[:-2], b._shape[:-2]))
        text = f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {k}] but got:"
        raise torch_error(RuntimeError, f"{text} [{n}, {rows}].")
    return _product(a, b)


def _product(a: Tensor, b: Tensor) -> Tensor:
    batch = broadcast(a._shape[:-2], b._shape[:-2])
    (n, k), m = a._shape[-2:], b._shape[-1]
    left = a.detach().expand(*batch, n, k)._numbers()
    right = b.detach().expand(*batch, k, m).transpose(-2, -1)._numbers()
    numbers: list = []
    for i in range(math.prod(batch)):
        pair = left[i * n * k : (i + 1) * n * k], right[i * m * k : (i + 1) * m * k]
        numbers += _matrix_product(*pair, n, k, m, 0.0 if a.dtype.kind >= FLOAT else 0)
    out = new_tensor(rounded(numbers, a.dtype), (*batch, n, m), a.dtype)

    def of_a(slope: Tensor) -> Tensor:
        return slope.matmul(_conjugate(b.detach()).transpose(-2, -1)).sum_to_size(a._shape)

    def of_b(slope: Tensor) -> Tensor:
        return _conjugate(a.detach()).transpose(-2, -1).matmul(slope).sum_to_size(b._shape)

    name = "MmBackward0" if a.ndim == b.ndim == 2 else "BmmBackward0"
    if a.ndim != b.ndim or a.ndim > 3:
        name = "UnsafeViewBackward0"
    return record(out, name, (a, of_a, b), (b, of_b, a))


def _conjugate(x: Tensor) -> Tensor:
    return x.conj() if x.is_complex() else x


def use_product(function: Callable) -> None:
    """Have large products computed by a function of the page.

    From the bytes of n × k and of m × k numbers (the other matrix, turned), n, k and m, it makes
    the n × m numbers of the product.
    """

    def product(left: list, right: list, n: int, k: int, m: int) -> list:
        return function(array("d", left), array("d", right), n, k, m).to_py().tolist()

    fast_product[:] = [product]


def _matrix_product(left: list, right: list, n: int, k: int, m: int, zero: Any) -> list:
    """n × k numbers times m × k numbers of the other matrix, turned."""
    if fast_product and n * k * m > LARGE and isinstance(zero, float):
        return fast_product[0](left, right, n, k, m)
    columns = [right[j * k : (j + 1) * k] for j in range(m)]
    rows = [left[i * k : (i + 1) * k] for i in range(n)]
    if SUM_OF_PRODUCTS is not None:
        return [SUM_OF_PRODUCTS(row, column) for row in rows for column in columns]
    return [sum(map(operator.mul, row, column), zero) for row in rows for column in columns]


def mm(a: Tensor, b: Tensor) -> Tensor:
    """The product of two matrices."""
    for x, text in ((a, "self must be a matrix"), (b, "mat2 must be a matrix")):
        if x.ndim != 2:
            raise torch_error(RuntimeError, text)
    return matmul(a, b)


def bmm(a: Tensor, b: Tensor) -> Tensor:
    """As many products as there are matrices in both: (B, n, k) and (B, k, m)."""
    for x, text in ((a, "batch1 must be a 3D tensor"), (b, "batch2 must be a 3D tensor")):
        if x.ndim != 3:
            raise torch_error(RuntimeError, text)
    if a._shape[0] != b._shape[0] or a._shape[2] != b._shape[1]:
        wanted, got = [a._shape[0], a._shape[2]], list(b._shape[:2])
        text = "Expected size for first two dimensions of batch2 tensor to be:"
        raise torch_error(RuntimeError, f"{text} {wanted} but got: {got}.")
    return matmul(a, b)


def mv(a: Tensor, b: Tensor) -> Tensor:
    """A matrix times a vector."""
    if a.ndim != 2 or b.ndim != 1:
        text = f"vector + matrix @ vector expected, got {1}, {a.ndim}, {b.ndim}"
        raise torch_error(RuntimeError, text)
    return matmul(a, b)


def dot(a: Tensor, b: Tensor) -> Tensor:
    """The product of two vectors: one number."""
    if a.ndim != 1 or b.ndim != 1:
        text = f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors"
        raise torch_error(RuntimeError, text)
    if len(a) != len(b):
        raise torch_error(
            RuntimeError,
            f"inconsistent tensor size, expected tensor [{len(a)}] and src [{len(b)}] to have the "
            f"same number of elements, but got {len(a)} and {len(b)} elements respectively",
        )
    if a.dtype is not b.dtype:
        _refuse_types(a, b)
    zero = 0.0 if a.dtype.kind >= FLOAT else 0
    total = sum(map(operator.mul, a._numbers(), b._numbers()), zero)
    out = new_tensor(rounded([total], a.dtype), (), a.dtype)
    rules = (lambda g: g * _conjugate(b.detach())), (lambda g: g * _conjugate(a.detach()))
    return record(out, "DotBackward0", (a, rules[0], b), (b, rules[1], a))


def outer(a: Tensor, b: Tensor) -> Tensor:
    """Each number of a times each number of b."""
    for name, x in (("self", a), ("vec2", b)):
        if x.ndim != 1:
            text = f"outer: Expected 1-D argument {name}, but got {x.ndim}-D"
            raise torch_error(RuntimeError, text)
    return a.unsqueeze(1) * b


def inner(a: Tensor, b: Tensor) -> Tensor:
    """The products along the last axes."""
    return a * b if not a.ndim or not b.ndim else matmul(a, b.mT if b.ndim > 1 else b)


def addmm(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · x + alpha · a @ b."""
    x = x if beta == 1 else x * beta
    product = mm(a, b)
    return x + (product if alpha == 1 else product * alpha)


def baddbmm(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · x + alpha · a @ b, for many matrices."""
    product = bmm(a, b)
    return (x if beta == 1 else x * beta) + (product if alpha == 1 else product * alpha)


def einsum(equation: str, *operands: Any) -> Tensor:
    """Products with named axes: those that the result does not name are summed over."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if len({x.dtype for x in operands}) > 1:
        lack("`torch.einsum` of several types")
    left, arrow, right = equation.replace(" ", "").partition("->")
    if not all(c.isalpha() or c in ".," for c in left + right):
        lack("such an equation of `torch.einsum`")
    terms = left.split(",")
    if len(terms) != len(operands):
        more = "more" if len(terms) < len(operands) else "fewer"
        text = f"einsum(): {more} operands were provided than specified in the equation"
        raise torch_error(RuntimeError, text)
    named = [
        _axes_of_term(term, x, i) for i, (term, x) in enumerate(zip(terms, operands, strict=True))
    ]
    letters = [letter for axes in named for letter in axes]
    dots = sorted({letter for letter in letters if letter[0] == "."}, reverse=True)
    if arrow:
        head, has_dots, tail = right.partition("...")
        result = [*head, *(dots if has_dots else []), *tail]
    else:
        once = [letter for letter in set(letters) if letters.count(letter) == 1]
        result = dots + sorted(letter for letter in once if letter[0] != ".")
    for letter in result:
        if letter not in letters:
            text = f"einsum(): output subscript {letter} does not appear in the equation for any"
            raise torch_error(RuntimeError, f"{text} input operand")
    order = [*result, *sorted(set(letters) - set(result))]
    sizes: dict[str, int] = {}
    for i, (axes, x) in enumerate(zip(named, operands, strict=True)):
        if len(set(axes)) < len(axes):
            lack("`torch.einsum` with a letter twice in a term")
        for letter, size in zip(axes, x._shape, strict=True):
            known = sizes.get(letter, 1)
            if 1 not in (known, size) and known != size:
                text = f"einsum(): subscript {letter} has size {size} for operand {i} which does"
                raise torch_error(
                    RuntimeError, f"{text} not broadcast with previously seen size {known}"
                )
            sizes[letter] = max(known, size) if size else size
    out, axes = operands[0], named[0]
    for other, theirs, later in zip(
        operands[1:], named[1:], [named[i:] for i in range(2, len(named) + 1)], strict=True
    ):
        needed = {*result, *(letter for axes in later for letter in axes)}
        out, axes = _contracted(out, axes, other, theirs, needed, order)
    gone = [i for i, letter in enumerate(axes) if letter not in result]
    out = out.sum(gone) if gone else out
    axes = [letter for letter in axes if letter in result]
    return out.permute([axes.index(letter) for letter in result])


def _axes_of_term(term: str, x: Tensor, number: int) -> list[str]:
    """A name for each axis; those of `...` are counted from the last: .0, .1."""
    head, dots, tail = term.partition("...")
    n = x.ndim - len(head) - len(tail)
    if n < 0 or (n and not dots):
        words, end = "is more than", ""
        if not dots:
            words, end = "does not match", " and no ellipsis was given"
        raise torch_error(
            RuntimeError,
            f"einsum(): the number of subscripts in the equation ({len(head) + len(tail)}) {words} "
            f"the number of dimensions ({x.ndim}) for operand {number}{end}",
        )
    return [*head, *(f".{i}" for i in reversed(range(n))), *tail]


def _contracted(
    a: Tensor, ours: list[str], b: Tensor, theirs: list[str], needed: set[str], order: list[str]
) -> tuple[Tensor, list[str]]:
    """The product of two, summed over the axes that nobody needs any more."""
    a, ours = _summed_alone(a, ours, {*theirs, *needed})
    b, theirs = _summed_alone(b, theirs, {*ours, *needed})
    shared = [letter for letter in order if letter in ours and letter in theirs]
    shared = [x for x in shared if a._shape[ours.index(x)] == b._shape[theirs.index(x)]]
    both = [letter for letter in shared if letter in needed]
    summed = [letter for letter in shared if letter not in needed]
    if not summed or any(x in theirs and x not in shared for x in ours):  # size 1 is stretched
        names = [letter for letter in order if letter in ours or letter in theirs]
        return _spread_over(a, ours, names) * _spread_over(b, theirs, names), names
    if next((x not in ours for x in order if x not in shared), False):
        a, ours, b, theirs = b, theirs, a, ours  # the rows are those that come first in the result
    rows = [letter for letter in order if letter in ours and letter not in shared]
    columns = [letter for letter in order if letter in theirs and letter not in shared]

    def matrices(x: Tensor, names: list[str], *parts: list[str]) -> Tensor:
        listed = [letter for part in parts for letter in part]
        x = x.permute([names.index(letter) for letter in listed])
        sizes = dict(zip(listed, x._shape, strict=True))
        return x.reshape([math.prod(sizes[letter] for letter in part) for part in parts])

    product = matmul(
        matrices(a, ours, both, rows, summed), matrices(b, theirs, both, summed, columns)
    )
    sizes = {**dict(zip(theirs, b._shape, strict=True)), **dict(zip(ours, a._shape, strict=True))}
    names = both + rows + columns
    return product.reshape([sizes[letter] for letter in names]), names


def _summed_alone(x: Tensor, own: list[str], used: set[str]) -> tuple[Tensor, list[str]]:
    """The sum over axes that only this operand has, and that nobody needs."""
    alone = [i for i, letter in enumerate(own) if letter not in used]
    return (x.sum(alone), [n for n in own if n in used]) if alone else (x, own)


def _spread_over(x: Tensor, own: list[str], names: list[str]) -> Tensor:
    order = [letter for letter in names if letter in own]
    x = x.permute([own.index(letter) for letter in order])
    return x.reshape([x._shape[order.index(n)] if n in own else 1 for n in names])
