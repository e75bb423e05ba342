"""`torch.linalg`, for single small matrices: equations, QR, singular values. It has no slopes."""

import math
from typing import Any

from scratchformer_course.page_torch.dtypes import FLOAT, float32, rounded
from scratchformer_course.page_torch.missing import guard_module, lack, torch_error
from scratchformer_course.page_torch.rows import norm as _norm
from scratchformer_course.page_torch.tensor import Tensor, new_tensor

Rows = list[list[float]]
SWEEPS, NEAR_ZERO = 60, 1e-15  # of Jacobi's rotations


class _LinAlgError(RuntimeError):
    """A matrix that cannot be treated."""


class QR(tuple):
    """Q with columns at right angles, and a triangle R."""

    @property
    def Q(self) -> Tensor:
        """Columns of length 1, at right angles."""
        return self[0]

    @property
    def R(self) -> Tensor:
        """Zeros below the diagonal."""
        return self[1]


class SVD(tuple):
    """U · diag(S) · Vh."""

    U = property(lambda self: self[0])
    S = property(lambda self: self[1])
    Vh = property(lambda self: self[2])


def _rows(x: Tensor) -> Rows:
    if x.requires_grad or x.ndim != 2 or x.dtype.kind != FLOAT:
        lack("`torch.linalg` with slopes, of many matrices, or of whole numbers")
    return [[float(number) for number in row] for row in x.tolist()]


def _tensor(rows: Rows, like: Tensor) -> Tensor:
    shape = (len(rows), len(rows[0]) if rows else 0)
    return new_tensor(rounded([x for row in rows for x in row], like.dtype), shape, like.dtype)


def norm(x: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The length along axes."""
    if isinstance(ord, str) or (ord is not None and dim is None and x.ndim > 1):
        lack("`torch.linalg.norm` of matrices")
    return _norm(x, 2 if ord is None else ord, dim, keepdim)


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The length along axes."""
    return _norm(x, ord, dim, keepdim)


def solve(A: Tensor, B: Tensor) -> Tensor:
    """X with A @ X = B, by elimination, the largest number of a column first."""
    a, is_vector = _rows(A), B.ndim == 1
    b, n = _rows(B.unsqueeze(1) if is_vector else B), len(A)
    for i in range(n):
        best = max(range(i, n), key=lambda row: abs(a[row][i]))
        a[i], a[best], b[i], b[best] = a[best], a[i], b[best], b[i]
        if a[i][i] == 0:
            text = "torch.linalg.solve: The solver failed because the input matrix is singular."
            raise torch_error(_LinAlgError, text)
        for row in range(i + 1, n):
            factor = a[row][i] / a[i][i]
            if factor:
                a[row] = [x - factor * y for x, y in zip(a[row], a[i], strict=True)]
                b[row] = [x - factor * y for x, y in zip(b[row], b[i], strict=True)]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] = [x - a[i][k] * y for x, y in zip(b[i], b[k], strict=True)]
        b[i] = [x / a[i][i] for x in b[i]]
    out = _tensor(b, B)
    return out.squeeze(1) if is_vector else out


def inv(A: Tensor) -> Tensor:
    """The inverse of a matrix."""
    if A.ndim != 2 or A._shape[0] != A._shape[1]:
        lack("`torch.linalg.inv` of what is no square matrix")
    one = [[float(i == j) for j in range(len(A))] for i in range(len(A))]
    return solve(A, _tensor(one, A))


def qr(A: Tensor, mode: str = "reduced") -> QR:
    """Q with columns at right angles and a triangle R, Q @ R = A, by Householder's reflections."""
    a, (m, n) = _rows(A), A._shape
    size = min(m, n) if mode == "reduced" else m
    q = [[float(i == j) for j in range(m)] for i in range(m)]
    for i in range(min(m - 1, n)):
        column = [a[row][i] for row in range(i, m)]
        length = math.sqrt(sum(x * x for x in column))
        if length == 0 or not any(column[1:]):
            continue
        mirror = [column[0] + math.copysign(length, column[0]), *column[1:]]
        square = sum(x * x for x in mirror)
        for matrix, width in ((a, n), (q, m)):
            for j in range(width):
                along = sum(x * matrix[i + row][j] for row, x in enumerate(mirror))
                for row, x in enumerate(mirror):
                    matrix[i + row][j] -= 2 * along / square * x
    columns = [[q[j][i] for j in range(size)] for i in range(m)]
    triangle = [[a[i][j] if j >= i else 0.0 for j in range(n)] for i in range(size)]
    return QR((_tensor(columns, A), _tensor(triangle, A)))


def svd(A: Tensor, full_matrices: bool = True) -> SVD:
    """U, S, Vh by Jacobi's rotations of columns. Signs may be others than those of LAPACK."""
    m, n = A._shape
    if full_matrices and m != n:
        lack("`torch.linalg.svd(full_matrices=True)`")
    if m < n:
        U, S, Vh = svd(A.mT.contiguous(), False)
        return SVD((Vh.mT, S, U.mT))
    u = [list(column) for column in zip(*_rows(A), strict=True)]
    v = [[float(i == j) for i in range(n)] for j in range(n)]
    for _ in range(SWEEPS):
        pairs = [(p, q) for p in range(n) for q in range(p + 1, n)]
        if not sum(_rotated(u, v, *pair) for pair in pairs):
            break
    lengths = [math.sqrt(sum(x * x for x in column)) for column in u]
    order = sorted(range(n), key=lambda i: -lengths[i])
    U = [[u[i][row] / lengths[i] if lengths[i] else 0.0 for i in order] for row in range(m)]
    S = new_tensor(rounded([lengths[i] for i in order], A.dtype), (n,), A.dtype)
    return SVD((_tensor(U, A), S, _tensor([v[i] for i in order], A)))


def _rotated(u: Rows, v: Rows, p: int, q: int) -> bool:
    """Turn two columns so that they are at right angles; whether they were not."""
    a, b = (sum(x * x for x in u[i]) for i in (p, q))
    c = sum(x * y for x, y in zip(u[p], u[q], strict=True))
    if abs(c) <= NEAR_ZERO * math.sqrt(a * b):
        return False
    z = (b - a) / (2 * c)
    t = math.copysign(1, z) / (abs(z) + math.sqrt(1 + z * z))
    cos = 1 / math.sqrt(1 + t * t)
    sin = cos * t
    for matrix in (u, v):
        pairs = list(zip(matrix[p], matrix[q], strict=True))
        matrix[p] = [cos * x - sin * y for x, y in pairs]
        matrix[q] = [sin * x + cos * y for x, y in pairs]
    return True


def svdvals(A: Tensor) -> Tensor:
    """The singular values, the largest first."""
    return svd(A, False)[1]


def cond(A: Tensor) -> Tensor:
    """The largest singular value, divided by the smallest."""
    values = svdvals(A)
    return values[0] / values[-1]


def matrix_rank(A: Tensor) -> Tensor:
    """How many singular values are not 0, but for rounding."""
    values = svdvals(A)
    return (values > max(A._shape) * _eps(A) * values[0]).sum()


def pinv(A: Tensor) -> Tensor:
    """The inverse as far as there is one."""
    U, S, Vh = svd(A, False)
    is_kept = max(A._shape) * _eps(A) * float(S.max())
    inverse = [1 / x if x > is_kept else 0.0 for x in S._numbers()]
    scaled = U.mT * new_tensor(inverse, (len(inverse), 1), A.dtype)
    return Vh.mT @ scaled


def _eps(x: Tensor) -> float:
    return 2.0**-23 if x.dtype is float32 else 2.0**-52


guard_module(globals(), "linalg", "torch.linalg")
