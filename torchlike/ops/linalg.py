"""``torch.linalg``: norms, determinants, solvers and decompositions, batched over all but the last two dimensions.

LAPACK does the work, through JAX. Functions that can fail return ``info`` (0, or which step failed); the tensor layer reads
it where torch raises. Gradient rules are torch's: where several results are equally right (signs of eigenvectors, the basis
of a degenerate space), the gradient is that of functions which do not depend on the choice.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import lax

from torchlike.ops import promotion
from torchlike.ops.declare import Array, Dims, DType, Ints, Number, Scalar, canonical_dim, canonical_dims, op
from torchlike.ops.dtype_errors import type_name
from torchlike.ops.joining import vandermonde
from torchlike.ops.matmul import length, magnitude

# -- checks -----------------------------------------------------------------------------------------------------------


def _matrices(name: str, *arrays, label: str = "A") -> None:
    for a in arrays:
        if a.ndim < 2:
            raise RuntimeError(f"{name}: The input tensor {label} must have at least 2 dimensions.")


def _square(name: str, a, label: str = "A") -> None:
    _matrices(name, a, label=label)
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: {label} must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )


def _inexact(name: str, *arrays) -> None:
    for a in arrays:
        dtype = np.dtype(a.dtype)
        if not promotion.is_inexact(dtype):
            raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {type_name(dtype)}")
        if promotion.is_low_precision(dtype):
            raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {type_name(dtype)}")


def _same(name: str, a, b) -> None:
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {type_name(a.dtype)} and B of type {type_name(b.dtype)} instead"
        )


def _t(a):
    """The conjugate transpose."""
    return jnp.conj(jnp.swapaxes(a, -1, -2)) if a.dtype.kind == "c" else jnp.swapaxes(a, -1, -2)


def _real(dtype) -> np.dtype:
    return promotion.real_of(np.dtype(dtype))


def _diagonal(values):
    """Matrices with the last dimension on their diagonals."""
    n = values.shape[-1]
    return jnp.where(jnp.eye(n, dtype=bool), values[..., None], jnp.zeros((), values.dtype))


def _batched(a, b):
    """Two stacks of matrices with their leading dimensions broadcast."""
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return jnp.broadcast_to(a, batch + a.shape[-2:]), jnp.broadcast_to(b, batch + b.shape[-2:])


def _eye_like(a):
    return jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)


# -- norms ------------------------------------------------------------------------------------------------------------


def _cast(name: str, x, dtype):
    """The input in the dtype to compute in, and the dtype of the result."""
    if not promotion.is_inexact(np.dtype(x.dtype)):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {type_name(x.dtype)}")
    if dtype is not None:
        if promotion.is_complex(np.dtype(x.dtype)) != promotion.is_complex(dtype):
            want = "complex" if promotion.is_complex(np.dtype(x.dtype)) else "floating point"
            raise RuntimeError(f"{name}: dtype should be {want}, but got {type_name(dtype)}")
        if promotion.promote_types(np.dtype(x.dtype), dtype) != dtype:
            raise RuntimeError(
                f"{name}: the dtype of the input ({type_name(x.dtype)}) should be convertible without narrowing to the specified dtype "
                f"({type_name(dtype)})"
            )
        x = x.astype(dtype)
    result = _real(x.dtype)
    return (x.astype(np.float32) if promotion.is_low_precision(np.dtype(x.dtype)) else x), result


def _vector_norm(x, ord: float, dim, keepdim: bool, name: str = "linalg.vector_norm"):
    axes = canonical_dims(dim, x.ndim)
    if math.prod(x.shape[a] for a in axes) == 0:
        if ord < 0 or ord == math.inf:
            if dim is None or (not isinstance(dim, int) and len(dim) == 0):
                raise RuntimeError(
                    f"{name} cannot compute the {ord} norm on an empty tensor because the operation does not have an identity"
                )
            empty = next(a for a in axes if x.shape[a] == 0)
            raise RuntimeError(
                f"{name} cannot compute the {ord} norm on the dimension {empty} because this dimension is empty and the operation does not "
                "have an identity"
            )
        shape = [1 if k in axes else n for k, n in enumerate(x.shape) if keepdim or k not in axes]
        return jnp.zeros(shape, _real(x.dtype)) + 0 * jnp.abs(x).sum(axes, keepdims=keepdim)
    return length(x, ord, axes, keepdim)


@op(namespace="linalg", method=False, node="LinalgVectorNormBackward0", autocast="fp32")
def vector_norm(input: Array, ord: Number = 2, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None):
    """``sum(|x| ** ord) ** (1 / ord)`` over ``dim``; the largest and smallest for inf and -inf, the count of nonzeros for 0."""
    x, result = _cast("linalg.vector_norm", input, dtype)
    return _vector_norm(x, float(ord), dim, keepdim).astype(result)


def _matrix_norm(x, ord, dims: tuple[int, int], keepdim: bool):
    d0, d1 = (canonical_dim(d, x.ndim) for d in dims)
    if d0 == d1:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    if ord == "fro":
        return length(x, 2, (d0, d1), keepdim)
    if ord in ("nuc", 2, -2):
        values = _singular_values(jnp.moveaxis(x, (d0, d1), (-2, -1)))
        if values.shape[-1] == 0:
            norm = values.sum(-1)
            return jnp.expand_dims(norm, sorted((d0, d1))) if keepdim else norm
        norm = values.sum(-1) if ord == "nuc" else values.max(-1) if ord == 2 else values.min(-1)
        return jnp.expand_dims(norm, sorted((d0, d1))) if keepdim else norm
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, other = (d0, d1) if abs(ord) == 1 else (d1, d0)
    sums = magnitude(x).sum(summed, keepdims=True)
    if sums.shape[other] == 0:
        if ord < 0:
            raise RuntimeError(f"linalg.matrix_norm: cannot compute the {ord} norm of an empty matrix")
        norm = jnp.zeros([1 if k in (d0, d1) else n for k, n in enumerate(x.shape)], sums.dtype)
        return norm if keepdim else jnp.squeeze(norm, (d0, d1))
    norm = sums.max(other, keepdims=True) if ord > 0 else sums.min(other, keepdims=True)
    return norm if keepdim else jnp.squeeze(norm, (d0, d1))


@op(namespace="linalg", method=False, autocast="fp32")
def matrix_norm(input: Array, ord: Number = "fro", dim: Ints = (-2, -1), keepdim: bool = False, *, dtype: DType | None = None):
    """A norm of matrices: "fro", "nuc", 2 and -2 (singular values), 1, -1, inf, -inf (sums of columns or rows)."""
    if input.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    x, result = _cast("linalg.matrix_norm", input, dtype)
    return _matrix_norm(x, ord, dim, keepdim).astype(result)


@op(namespace="linalg", method=False, autocast="fp32", node="LinalgVectorNormBackward0")
def norm(input: Array, ord: Number | None = None, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None):
    """A vector norm over one ``dim``, a matrix norm over two; of all elements without ``ord`` and ``dim``."""
    x, result = _cast("linalg.norm", input, dtype)
    if ord is None:
        return _vector_norm(x, 2.0, dim, keepdim).astype(result)
    if dim is None:
        if x.ndim not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {x.ndim}D.")
        dim = tuple(range(x.ndim))
    dims = (dim,) if isinstance(dim, int) else dim
    if len(dims) == 1:
        if isinstance(ord, str):
            raise RuntimeError(f"linalg.norm: If ord is a string, dim must have two dimensions. Got ord {ord} and {len(dims)} dim(s).")
        return _vector_norm(x, float(ord), dims, keepdim).astype(result)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    return _matrix_norm(x, ord, dims, keepdim).astype(result)


@op(method=False, node="LinalgVectorNormBackward0")
def frobenius_norm(input: Array, dim: Dims = None, keepdim: bool = False):
    """The square root of the sum of squares over ``dim``."""
    x, result = _cast("frobenius_norm", input, None)
    return _vector_norm(x, 2.0, dim, keepdim).astype(result)


@op(method=False)
def nuclear_norm(input: Array, dim: Ints = (-2, -1), keepdim: bool = False):
    """The sum of singular values."""
    x, result = _cast("nuclear_norm", input, None)
    return _matrix_norm(x, "nuc", dim, keepdim).astype(result)


@op(namespace="linalg", method=False)
def cond(input: Array, p: Number | None = None):
    """``norm(A, p) * norm(inv(A), p)``: how much relative errors can grow. Infinite for singular matrices."""
    _matrices("linalg.cond", input)
    _inexact("linalg.cond", input)
    if p in (None, 2, -2):
        values = _singular_values(input)
        if values.shape[-1] == 0:
            return jnp.zeros(values.shape[:-1], values.dtype)
        large, small = values[..., 0], values[..., -1]
        return small / large if p == -2 else large / small
    if input.shape[-1] != input.shape[-2]:
        raise RuntimeError(f"linalg.cond: p={p} needs square matrices, but they are {input.shape[-2]} by {input.shape[-1]} matrices")
    if input.shape[-1] == 0:
        return jnp.zeros(input.shape[:-2], _real(input.dtype))
    singular = _singular_at(jax.lax.linalg.lu(lax.stop_gradient(input))[0]) > 0
    inverse = jnp.linalg.inv(jnp.where(singular[..., None, None], _eye_like(input), input))
    product = _matrix_norm(input, p, (-2, -1), False) * _matrix_norm(inverse, p, (-2, -1), False)
    return jnp.where(singular, jnp.inf, product).astype(_real(input.dtype))


# -- determinants -----------------------------------------------------------------------------------------------------


@op(aliases=("linalg.det",), node="LinalgDetBackward0")
def det(input: Array):
    """Determinants."""
    _square("linalg.det", input)
    _inexact("linalg.det", input)
    if input.shape[-1] == 0:
        return jnp.ones(input.shape[:-2], input.dtype)
    return jnp.linalg.det(input)


@op(aliases=("linalg.slogdet",), returns=("sign", "logabsdet"), out=("sign", "logabsdet"), node="LinalgSlogdetBackward0")
def slogdet(input: Array):
    """The sign (the phase, of complex matrices) and the logarithm of the absolute value of determinants."""
    _square("linalg.slogdet", input)
    _inexact("linalg.slogdet", input)
    if input.shape[-1] == 0:
        return jnp.ones(input.shape[:-2], input.dtype), jnp.zeros(input.shape[:-2], _real(input.dtype))
    return tuple(jnp.linalg.slogdet(input))


@op()
def logdet(input: Array):
    """Logarithms of determinants: NaN for a negative one, -inf for zero."""
    sign, size = slogdet.body(input)
    return jnp.log(sign) + size


@op()
def trace(input: Array):
    """The sum of the main diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    diagonal = jnp.diagonal(input)
    return diagonal.sum(dtype=diagonal.dtype if promotion.kind(np.dtype(input.dtype)) >= 2 else np.int64)


# -- LU and what is solved with it ------------------------------------------------------------------------------------


def _singular_at(lu):
    """Which diagonal element of U is zero (counted from 1), or 0: LAPACK's ``info``."""
    if 0 in lu.shape[-2:]:
        return jnp.zeros(lu.shape[:-2], np.int32)
    zero = jnp.diagonal(lu, axis1=-2, axis2=-1) == 0
    return jnp.where(zero.any(-1), jnp.argmax(zero, axis=-1) + 1, 0).astype(np.int32)


def _lu(a):
    """LU with partial pivoting: the packed factors, LAPACK's pivots (from 1), the permutation of rows."""
    if 0 in a.shape:
        k = min(a.shape[-2:])
        rows = jnp.broadcast_to(jnp.arange(a.shape[-2], dtype=np.int32), a.shape[:-1])
        return a, jnp.broadcast_to(jnp.arange(1, k + 1, dtype=np.int32), (*a.shape[:-2], k)), rows
    lu, pivots, permutation = jax.lax.linalg.lu(a)
    return lu, pivots + 1, permutation


@op(namespace="linalg", returns=("inverse", "info"), out=("inverse", "info"))
def inv_ex(A: Array, *, check_errors: bool = False):
    """Inverses, and whether it worked (see ``linalg.inv``)."""
    _square("linalg.inv", A)
    _inexact("linalg.inv", A)
    if A.size == 0:
        return A, jnp.zeros(A.shape[:-2], np.int32)
    lu, _, permutation = _lu(A)
    x = _eye_like(A)[..., :, :]
    x = _permuted(x, permutation)
    x = jax.lax.linalg.triangular_solve(lu, x, left_side=True, lower=True, unit_diagonal=True)
    return jax.lax.linalg.triangular_solve(lu, x, left_side=True, lower=False), _singular_at(lu)


@inv_ex.vjp
def _(grads, results):
    inverse = _t(results[0])
    return -jnp.matmul(inverse, jnp.matmul(grads[0], inverse))


def _permuted(b, permutation, inverse: bool = False):
    """Rows of ``b`` in the order of a permutation (or back)."""
    if inverse:
        permutation = jnp.argsort(permutation, axis=-1)
    return jnp.take_along_axis(b, permutation[..., None], axis=-2)


def _is_vector(a, b) -> bool:
    """Whether ``b`` is a batch of vectors: torch's rule of ``linalg.solve``."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])


def _solve_shapes(name: str, a, b, left: bool):
    """``b`` as matrices, and both with their batches broadcast; whether ``b`` was vectors."""
    vector = _is_vector(a, b)
    if vector:
        if not left:
            raise RuntimeError(f"{name}: Vector broadcasting of the left hand side is not supported for left=False. In this case "
                               "linalg.solve is equivalent to B / A.squeeze(-1)")  # fmt: skip
        b = b[..., None]
    _matrices(name, b, label="B")
    inner = b.shape[-2] if left else b.shape[-1]
    if a.shape[-1 if not left else -2] != inner:
        side = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {side} ({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})"
        )
    try:
        a, b = _batched(a, b)
    except ValueError:
        raise RuntimeError(f"{name}: the batch dimensions of A {list(a.shape)} and B {list(b.shape)} do not broadcast") from None
    return a, b, vector


@op(namespace="linalg", returns=("result", "info"), out=("result", "info"), node="LinalgSolveExBackward0")
def solve_ex(A: Array, B: Array, *, left: bool = True, check_errors: bool = False):
    """``X`` with ``A X = B`` (``X A = B`` unless ``left``), and whether it worked (see ``linalg.solve``)."""
    _square("linalg.solve", A)
    _inexact("linalg.solve", A, B)
    _same("linalg.solve", A, B)
    batch = A.shape[:-2]
    a, b, vector = _solve_shapes("linalg.solve", A, B, left)
    if a.size == 0 or b.size == 0:
        x, info = b, jnp.zeros(batch, np.int32)
    else:
        # one factorisation; X A = B is A^T X^T = B^T
        info = _singular_at(jax.lax.linalg.lu(lax.stop_gradient(A))[0])
        x = jnp.linalg.solve(a, b) if left else jnp.swapaxes(jnp.linalg.solve(jnp.swapaxes(a, -1, -2), jnp.swapaxes(b, -1, -2)), -1, -2)
    return (x[..., 0] if vector else x), info


@op(namespace="linalg", returns=("P", "L", "U"), out=("P", "L", "U"))
def lu(A: Array, *, pivot: bool = True):
    """``A = P L U``: a permutation, a unit lower triangle, an upper triangle."""
    data, pivots = lu_factor_ex.body(A, pivot=pivot)[:2]
    return lu_unpack.body(data, pivots)


@op(namespace="linalg", returns=("LU", "pivots", "info"), out=("LU", "pivots", "info"))
def lu_factor_ex(A: Array, *, pivot: bool = True, check_errors: bool = False):
    """L and U packed into one matrix, the pivots (rows exchanged, counted from 1), which pivot was zero."""
    _matrices("linalg.lu_factor", A)
    _inexact("linalg.lu_factor", A)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    data, pivots, _ = _lu(A)
    return data, pivots, _singular_at(lax.stop_gradient(data))


def _permutation_of(pivots, rows: int):
    if 0 in pivots.shape:
        return jnp.broadcast_to(jnp.arange(rows, dtype=np.int32), (*pivots.shape[:-1], rows))
    return jax.lax.linalg.lu_pivots_to_permutation(pivots.astype(np.int32) - 1, rows)


@op(returns=("P", "L", "U"), method=False, out=("P", "L", "U"))
def lu_unpack(LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True):
    """The permutation, L and U of a packed factorisation; empty where not asked for."""
    if LU_pivots.dtype != np.int32 and unpack_pivots:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is intended to "
            "be used with the output produced by torch.linalg.lu_factor"
        )
    rows, columns = LU_data.shape[-2:]
    k = min(rows, columns)
    nothing = jnp.zeros((0,), LU_data.dtype)
    p = lower = upper = nothing
    if unpack_data:
        lower = jnp.tril(LU_data[..., :, :k], -1) + jnp.eye(rows, k, dtype=LU_data.dtype)
        upper = jnp.triu(LU_data[..., :k, :])
    if unpack_pivots:
        permutation = _permutation_of(LU_pivots, rows)
        p = (permutation[..., None, :] == jnp.arange(rows, dtype=np.int32)[:, None]).astype(LU_data.dtype)
    return p, lower, upper


def _lu_solved(lu, pivots, b, left: bool, adjoint: bool):
    if not left:  # X A = B is A^H X^H = B^H
        return _t(_lu_solved(lu, pivots, _t(b), True, not adjoint))
    permutation = jnp.broadcast_to(_permutation_of(pivots, lu.shape[-1]), b.shape[:-1])
    solve = jax.lax.linalg.triangular_solve
    if not adjoint:
        b = solve(lu, _permuted(b, permutation), left_side=True, lower=True, unit_diagonal=True)
        return solve(lu, b, left_side=True, lower=False)
    b = solve(lu, b, left_side=True, lower=False, transpose_a=True, conjugate_a=True)
    b = solve(lu, b, left_side=True, lower=True, unit_diagonal=True, transpose_a=True, conjugate_a=True)
    return _permuted(b, permutation, inverse=True)


@op(name="lu_solve", namespace="linalg")
def linalg_lu_solve(LU: Array, pivots: Array, B: Array, *, left: bool = True, adjoint: bool = False):
    """``X`` with ``A X = B`` from the factors of ``A`` (``X A = B`` unless ``left``; ``A^H`` with ``adjoint``)."""
    _square("torch.linalg.lu_solve", LU, "LU")
    _inexact("torch.linalg.lu_solve", LU)
    if LU.dtype != B.dtype:
        raise RuntimeError(f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {type_name(LU.dtype)} and B "
                           f"of type {type_name(B.dtype)} instead")  # fmt: skip
    if pivots.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if LU.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    lu, b = _batched(LU, B)
    if lu.size == 0 or b.size == 0:
        return b
    return _lu_solved(lu, jnp.broadcast_to(pivots, lu.shape[:-1]), b, left, adjoint)


@op(name="lu_solve", node="LinalgLuSolveBackward0")
def lu_solve(input: Array, LU_data: Array, LU_pivots: Array):
    """``linalg.lu_solve`` with the right-hand side first."""
    return linalg_lu_solve.body(LU_data, LU_pivots, input)


# -- triangles and Cholesky -------------------------------------------------------------------------------------------


def _triangular(a, b, upper: bool, left: bool, unitriangular: bool, transpose: bool = False):
    return jax.lax.linalg.triangular_solve(
        a, b, left_side=left, lower=not upper, transpose_a=transpose, unit_diagonal=unitriangular
    )


@op(namespace="linalg")
def solve_triangular(input: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False):
    """``X`` with ``A X = B`` (``X A = B`` unless ``left``) for triangular ``A``; the other triangle is not read."""
    _square("linalg.solve_triangular", input)
    _inexact("linalg.solve_triangular", input, B)
    _same("linalg.solve_triangular", input, B)
    if B.ndim < 2:
        raise RuntimeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    a, b, _ = _solve_shapes("linalg.solve_triangular", input, B, left) if not _is_vector(input, B) else (*_batched(input, B), False)
    if b.size == 0:
        return b
    return _triangular(a, b, upper, left, unitriangular)


@op(returns=("solution", "cloned_coefficient"), out=("X", "M"))
def triangular_solve(input: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False):
    """``X`` with ``A X = input`` for triangular ``A`` (or its transpose), and a copy of ``A``."""
    _matrices("torch.triangular_solve", input, label="b")
    _square("torch.triangular_solve", A)
    a, b = _batched(A, input)
    return (b if b.size == 0 else _triangular(a, b, upper, True, unitriangular, transpose)), a


@triangular_solve.vjp
def _(grads, results, input, A, upper, transpose, unitriangular):
    def solved(a, b):
        a, b = _batched(a, b)
        return b if b.size == 0 else _triangular(a, b, upper, True, unitriangular, transpose)

    x, pull = jax.vjp(solved, A, input)
    conj = jnp.conj if x.dtype.kind == "c" else (lambda v: v)
    to_a, to_b = (conj(g) for g in pull(conj(grads[0])))
    return to_b, to_a + _summed(grads[1], A)


def _summed(grad, like):
    """A gradient summed over broadcast leading dimensions."""
    lead = grad.ndim - like.ndim
    grad = grad.sum(tuple(range(lead))) if lead else grad
    axes = tuple(k for k, n in enumerate(like.shape) if n == 1 and grad.shape[k] != 1)
    return grad.sum(axes, keepdims=True) if axes else grad


def _failed_minor(a):
    """The order of the first leading minor that is not positive: elimination without pivots, kept for failures."""
    n = a.shape[-1]

    def step(k, state):
        m, found = state
        pivot = lax.dynamic_index_in_dim(jnp.diagonal(m, axis1=-2, axis2=-1), k, -1, keepdims=False).real
        found = jnp.where((found == 0) & ~(pivot > 0), k + 1, found)
        column = lax.dynamic_index_in_dim(m, k, m.ndim - 1, keepdims=True) * (jnp.arange(n) > k)[:, None]
        return m - column @ _t(column) / jnp.where(pivot == 0, 1, pivot)[..., None, None], found

    lower = jnp.tril(a)
    whole = lower + _t(jnp.tril(a, -1))
    return lax.fori_loop(0, n, step, (whole, jnp.zeros(a.shape[:-2], np.int64)))[1].astype(np.int32)


@op(namespace="linalg", returns=("L", "info"), out=("L", "info"))
def cholesky_ex(input: Array, *, upper: bool = False, check_errors: bool = False):
    """``A = L L^H`` (``U^H U`` with ``upper``) from one triangle of ``A``, and the order of a minor that is not positive."""
    _square("linalg.cholesky", input)
    _inexact("linalg.cholesky", input)
    if input.size == 0:
        return input, jnp.zeros(input.shape[:-2], np.int32)
    a = _t(input) if upper else input
    factor = jnp.tril(jax.lax.linalg.cholesky(a, symmetrize_input=False))
    failed = jnp.isnan(lax.stop_gradient(factor)).any((-2, -1))
    info = lax.cond(failed.any(), lambda x: _failed_minor(x), lambda x: jnp.zeros(x.shape[:-2], np.int32), lax.stop_gradient(a))
    return (_t(factor) if upper else factor), jnp.where(failed, jnp.maximum(info, 1), 0).astype(np.int32)


@cholesky_ex.vjp
def _(grads, results, upper):
    factor, grad = results[0], grads[0]
    if factor.size == 0:
        return grad
    if upper:
        factor, grad = _t(factor), _t(grad)
    # Murray, "Differentiation of the Cholesky decomposition" (2016), equation 10; symmetric but for a complex diagonal.
    product = jnp.matmul(_t(factor), grad)
    below = jnp.tril(product, -1)
    inner = (below + _t(below) + _diagonal(jnp.diagonal(product, axis1=-2, axis2=-1))) / 2
    half = jax.lax.linalg.triangular_solve(factor, inner, left_side=True, lower=True, transpose_a=True, conjugate_a=True)
    return jax.lax.linalg.triangular_solve(factor, half, left_side=False, lower=True)


def _with_cholesky(b, factor, upper: bool):
    """``X`` with ``L L^H X = B`` (``U^H U X = B``)."""
    solve = jax.lax.linalg.triangular_solve
    if upper:
        b = solve(factor, b, left_side=True, lower=False, transpose_a=True, conjugate_a=True)
        return solve(factor, b, left_side=True, lower=False)
    b = solve(factor, b, left_side=True, lower=True)
    return solve(factor, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True)


@op()
def cholesky_solve(input: Array, L: Array, upper: bool = False):
    """``X`` with ``A X = input`` where ``L`` is the Cholesky factor of ``A``."""
    if input.ndim < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {input.ndim} dimensions instead")
    if L.ndim < 2:
        raise RuntimeError(f"u should have at least 2 dimensions, but has {L.ndim} dimensions instead")
    if L.shape[-1] != L.shape[-2]:
        raise RuntimeError(f"A must be batches of square matrices, but they are {L.shape[-2]} by {L.shape[-1]} matrices")
    if L.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {L.shape[-1]} by {L.shape[-1]} but each b matrix is "
            f"{input.shape[-2]} by {input.shape[-1]}"
        )
    factor, b = _batched(L, input)
    return b if b.size == 0 else _with_cholesky(b, factor, upper)


@op()
def cholesky_inverse(L: Array, upper: bool = False):
    """The inverse of the matrix whose Cholesky factor is ``L``."""
    _square("cholesky_inverse", L)
    return L if L.size == 0 else _with_cholesky(_eye_like(L), L, upper)


# -- orthogonal factors -----------------------------------------------------------------------------------------------


@op(namespace="linalg", returns=("Q", "R"), out=("Q", "R"))
def qr(A: Array, mode: str = "reduced"):
    """``A = Q R`` with orthonormal columns and an upper triangle; mode "reduced", "complete" or "r" (no Q)."""
    _matrices("linalg.qr", A)
    _inexact("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    rows, columns = A.shape[-2:]
    k = min(rows, columns)
    if A.size == 0:
        width = rows if mode == "complete" else k
        q = jnp.broadcast_to(jnp.eye(rows, width, dtype=A.dtype), (*A.shape[:-2], rows, width))
        r = jnp.zeros((*A.shape[:-2], width, columns), A.dtype)
    else:
        q, r = jax.lax.linalg.qr(A, full_matrices=mode == "complete")
    return (jnp.zeros((0,), A.dtype) if mode == "r" else q), r


@qr.vjp
def _(grads, results, A, mode):
    rows, columns = A.shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "linalg_qr_backward: The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if A.size == 0:
        return jnp.zeros_like(A)
    (grad_q, grad_r), (q, r) = grads, results
    if rows >= columns:
        return _qr_grad(grad_q, grad_r, q, r)
    # A = [X Y], R = [U V]: X = Q U, V = Q^H Y.
    k = rows
    grad_u, grad_v = jnp.triu(grad_r[..., :k]), grad_r[..., k:]
    to_x = _qr_grad(grad_q + jnp.matmul(A[..., k:], _t(grad_v)), grad_u, q, r[..., :k])
    return jnp.concatenate([to_x, jnp.matmul(q, grad_v)], axis=-1)


def _qr_grad(grad_q, grad_r, q, r):
    """Gradient of the QR of tall matrices: Walter and Lehmann, "Algorithmic differentiation of linear algebra functions"."""
    m = jnp.matmul(r, _t(jnp.triu(grad_r))) - jnp.matmul(_t(grad_q), q)
    below = jnp.tril(m, -1)
    middle = jnp.diagonal(m, axis1=-2, axis2=-1).real.astype(m.dtype)
    total = grad_q + jnp.matmul(q, below + _t(below) + _diagonal(middle))
    return jax.lax.linalg.triangular_solve(r, total, left_side=False, lower=False, transpose_a=True, conjugate_a=True)


@op(name="qr", returns=("Q", "R"), out=("Q", "R"), node="LinalgQrBackward0")
def old_qr(input: Array, some: bool = True):
    """``linalg.qr`` in the modes "reduced" and "complete"."""
    return qr.body(input, "reduced" if some else "complete")


@old_qr.vjp
def _(grads, results, input, some):
    return _rule_of(qr)(grads, results, input, "reduced" if some else "complete")


def _rule_of(operator):
    """The gradient rule of another operator."""
    return operator.vjp_rule


@op(returns=("a", "tau"), out=("a", "tau"), differentiable=False)
def geqrf(input: Array):
    """LAPACK's QR: R above the diagonal, the vectors of the Householder reflections below, their factors."""
    _matrices("torch.geqrf", input, label="input")
    if input.size == 0:
        return input, jnp.zeros((*input.shape[:-2], min(input.shape[-2:])), input.dtype)
    packed, tau = jnp.linalg.qr(input, mode="raw")
    return jnp.swapaxes(packed, -1, -2), tau


def _reflectors(a, tau):
    """``V`` and ``T`` with ``H_1 ... H_k = I - V T V^H`` (Schreiber and Van Loan's compact form).

    ``T^-1 = diag(1 / tau) + triu(V^H V, 1)``, solved in a form that allows ``tau = 0``.
    """
    rows, k = a.shape[-2], tau.shape[-1]
    v = jnp.tril(a[..., :k], -1) + jnp.eye(rows, k, dtype=a.dtype)
    s = jnp.triu(jnp.matmul(_t(v), v), 1) * tau[..., None, :] + jnp.eye(k, dtype=a.dtype)
    unit = jnp.broadcast_to(jnp.eye(k, dtype=a.dtype), s.shape)
    return v, tau[..., :, None] * jax.lax.linalg.triangular_solve(s, unit, left_side=True, lower=False)


@op(namespace="linalg", aliases=())
def householder_product(input: Array, tau: Array):
    """The first columns of the product of Householder reflections that ``geqrf`` returns."""
    name = "torch.linalg.householder_product"
    _matrices(name, input, label="input")
    rows, columns = input.shape[-2:]
    if rows < columns:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if columns < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.dtype != tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {type_name(tau.dtype)} does not match input dtype {type_name(input.dtype)}")
    if input.ndim - tau.ndim != 1 or input.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    unit = jnp.broadcast_to(jnp.eye(rows, columns, dtype=input.dtype), input.shape)
    if input.size == 0 or tau.shape[-1] == 0:
        return unit
    v, t = _reflectors(input, tau)
    return unit - jnp.matmul(v, jnp.matmul(t, _t(v[..., :columns, :])))


@op(name="orgqr", node="LinalgHouseholderProductBackward0")
def orgqr(input: Array, input2: Array):
    """Alias of ``linalg.householder_product``."""
    return householder_product.body(input, input2)


@op()
def ormqr(input: Array, input2: Array, input3: Array, left: bool = True, transpose: bool = False):
    """``Q C`` or ``C Q`` (``Q^H`` with ``transpose``), for the Q of Householder reflections, ``tau`` and ``C`` given."""
    name = "torch.ormqr"
    _matrices(name, input, label="input")
    if input3.ndim < 2:
        raise RuntimeError(f"{name}: other must have at least 2 dimensions.")
    side = -2 if left else -1
    k = input2.shape[-1]
    if input3.shape[side] < k:
        raise RuntimeError(f"{name}: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if input3.shape[side] != input.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be equal to input.shape[-2]")
    if input.ndim - input2.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {input2.ndim} and input.ndim is "
            f"equal to {input.ndim}"
        )
    if input.ndim != input3.ndim:
        raise RuntimeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got other.ndim equal to {input3.ndim} and "
            f"input.ndim is equal to {input.ndim}"
        )
    for label, x in (("tau", input2), ("other", input3)):
        if x.dtype != input.dtype:
            raise RuntimeError(f"{name}: Expected input and {label} to have the same dtype, but input has dtype {type_name(input.dtype)} "
                               f"and {label} has dtype {type_name(x.dtype)}")  # fmt: skip
    if input3.size == 0 or k == 0:
        return input3
    v, t = _reflectors(input, input2)
    t = _t(t) if transpose else t
    if left:
        return input3 - jnp.matmul(v, jnp.matmul(t, jnp.matmul(_t(v), input3)))
    return input3 - jnp.matmul(jnp.matmul(jnp.matmul(input3, v), t), _t(v))


# -- singular values --------------------------------------------------------------------------------------------------


def _safe_ratio(numerator, denominator):
    """The quotient, and 0 for 0 / 0: what a result that nobody differentiates contributes where values coincide."""
    both = (numerator == 0) & (denominator == 0)
    return jnp.where(both, 0, numerator / jnp.where(both, 1, denominator)).astype(numerator.dtype)


def _empty_svd(a, full: bool):
    rows, columns = a.shape[-2:]
    k = min(rows, columns)
    batch = a.shape[:-2]
    u = jnp.broadcast_to(jnp.eye(rows, rows if full else k, dtype=a.dtype), (*batch, rows, rows if full else k))
    vh = jnp.broadcast_to(jnp.eye(columns if full else k, columns, dtype=a.dtype), (*batch, columns if full else k, columns))
    return u, jnp.zeros((*batch, k), _real(a.dtype)), vh


def _svd(a, full: bool):
    return _empty_svd(a, full) if a.size == 0 else jax.lax.linalg.svd(a, full_matrices=full)


@op(namespace="linalg", returns=("U", "S", "Vh"), out=("U", "S", "Vh"))
def svd(A: Array, full_matrices: bool = True, *, driver: str | None = None):
    """``A = U diag(S) Vh`` with singular values in descending order."""
    _matrices("linalg.svd", A)
    _inexact("linalg.svd", A)
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")
    return _svd(A, full_matrices)


@svd.vjp
def _(grads, results, A):
    if A.size == 0:
        return jnp.zeros_like(A)
    k = results[1].shape[-1]
    (gu, gs, gvh), (u, s, vh) = grads, results
    return _svd_grad(gu[..., :k], gs, gvh[..., :k, :], u[..., :k], s, vh[..., :k, :])


def _svd_grad(gu, gs, gvh, u, s, vh):
    """Gradient of the thin SVD; functions of U and V must not depend on the phases of their columns.

    Source: Townsend, "Differentiating the singular value decomposition" (2016), with the complex diagonal of Wan and Zhang.
    """
    rows, columns, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    skew_u = jnp.matmul(_t(u), gu)
    skew_u = skew_u - _t(skew_u)
    skew_v = jnp.matmul(vh, _t(gvh))
    skew_v = skew_v - _t(skew_v)
    squares = s * s
    gaps = squares[..., None, :] - squares[..., :, None]
    middle = _safe_ratio(skew_u * s[..., None, :] + s[..., :, None] * skew_v, jnp.where(jnp.eye(k, dtype=bool), 1, gaps))
    middle = jnp.where(jnp.eye(k, dtype=bool), 0, middle) + _diagonal(gs.astype(u.dtype))
    if u.dtype.kind == "c":
        middle = middle + _diagonal(_safe_ratio(jnp.diagonal(skew_u, axis1=-2, axis2=-1), 2 * s))
    left = jnp.matmul(u, middle)
    if rows > k:
        scaled = _safe_ratio(gu, jnp.broadcast_to(s[..., None, :], gu.shape))
        left = left + scaled - jnp.matmul(u, jnp.matmul(_t(u), scaled))
    result = jnp.matmul(left, vh)
    if columns > k:
        scaled = _safe_ratio(gvh, jnp.broadcast_to(s[..., :, None], gvh.shape))
        result = result + jnp.matmul(u, scaled - jnp.matmul(jnp.matmul(scaled, _t(vh)), vh))
    return result


@op(name="svd", returns=("U", "S", "V"), out=("U", "S", "V"), node="LinalgSvdBackward0")
def old_svd(input: Array, some: bool = True, compute_uv: bool = True):
    """``input = U diag(S) V^H``; U and V are zeros unless ``compute_uv``."""
    _matrices("linalg.svd", input)
    _inexact("linalg.svd", input)
    if not compute_uv:
        rows, columns = input.shape[-2:]
        s = _singular_values(input)
        return jnp.zeros((*input.shape[:-2], rows, rows), input.dtype), s, jnp.zeros((*input.shape[:-2], columns, columns), input.dtype)
    u, s, vh = _svd(input, not some)
    return u, s, _t(vh)


@old_svd.vjp
def _(grads, results, input, compute_uv):
    if input.size == 0:
        return jnp.zeros_like(input)
    if not compute_uv:
        return _svdvals_grad(grads[1], input)
    k = results[1].shape[-1]
    (gu, gs, gv), (u, s, v) = grads, results
    return _svd_grad(gu[..., :k], gs, _t(gv[..., :k]), u[..., :k], s, _t(v[..., :k]))


@jax.custom_jvp
def _singular_values(a):
    if a.size == 0:
        return jnp.zeros((*a.shape[:-2], min(a.shape[-2:])), _real(a.dtype))
    return jax.lax.linalg.svd(a, compute_uv=False)


def _svdvals_grad(grad, a):
    """``U diag(grad) Vh``: right for repeated singular values too."""
    if a.size == 0:
        return jnp.zeros_like(a)
    u, _, vh = jax.lax.linalg.svd(a, full_matrices=False)
    return jnp.matmul(u * grad[..., None, :].astype(u.dtype), vh)


@_singular_values.defjvp
def _(primals, tangents):
    (a,), (t,) = primals, tangents
    if a.size == 0:
        return _singular_values(a), jnp.zeros((*a.shape[:-2], min(a.shape[-2:])), _real(a.dtype))
    u, values, vh = jax.lax.linalg.svd(a, full_matrices=False)
    return values, (jnp.conj(u) * jnp.matmul(t, _t(vh))).sum(-2).real


@op(namespace="linalg", node="LinalgSvdBackward0")
def svdvals(A: Array, *, driver: str | None = None):
    """Singular values in descending order."""
    _matrices("linalg.svd", A)
    _inexact("linalg.svd", A)
    return _singular_values(A)


@svdvals.vjp
def _(grad, A):
    return _svdvals_grad(grad, A)


def _cutoff(largest, shape: tuple[int, int], atol, rtol, dtype):
    """``max(atol, rtol * largest)``, with torch's default for ``rtol``."""
    real = _real(dtype)
    usual = np.asarray(max(shape) * np.finfo(real).eps, real)
    given = None if atol is None else _tolerance(atol, real)
    if rtol is None:
        relative = usual if given is None else jnp.where(given > 0, 0, usual).astype(real)
    else:
        relative = _tolerance(rtol, real)
    bound = relative * largest
    return bound if given is None else jnp.maximum(given, bound)


def _tolerance(x, dtype):
    return np.asarray(x, dtype) if type(x) in (int, float, bool) else x.astype(dtype)


def _pseudo_inverse(a, cutoff_of, hermitian: bool):
    if a.size == 0:
        return jnp.swapaxes(a, -1, -2)
    if hermitian:
        values, vectors = _eigh(a, True)
        size = jnp.abs(values)
        kept = size > cutoff_of(size.max(-1, keepdims=True))
        inverse = jnp.where(kept, 1 / jnp.where(kept, values, 1), 0)
        return jnp.matmul(vectors * inverse[..., None, :].astype(a.dtype), _t(vectors))
    u, s, vh = jax.lax.linalg.svd(a, full_matrices=False)
    kept = s > cutoff_of(s.max(-1, keepdims=True))
    inverse = jnp.where(kept, 1 / jnp.where(kept, s, 1), 0)
    return jnp.matmul(_t(vh) * inverse[..., None, :].astype(a.dtype), _t(u))


def _last_dim(x):
    """A tolerance for each matrix as one for each of its singular values."""
    return x if x is None or type(x) in (int, float, bool) or x.ndim == 0 else x[..., None]


@op(namespace="linalg")
def pinv(input: Array, rcond: Array | Scalar | None = None, hermitian: bool = False, *, atol: Array | Scalar | None = None,
         rtol: Array | Scalar | None = None):  # fmt: skip
    """Pseudo-inverses; singular values up to ``max(atol, rtol * largest)`` count as zero. ``rcond`` is ``rtol``."""
    _matrices("linalg.pinv", input)
    _inexact("linalg.pinv", input)
    if hermitian:
        _square("linalg.pinv", input)
    rtol = rcond if rcond is not None else rtol
    shape, dtype = input.shape[-2:], input.dtype
    return _pseudo_inverse(input, lambda s: _cutoff(s, shape, _last_dim(atol), _last_dim(rtol), dtype), hermitian)


def _pinv_grad(grad, a, p):
    """Golub and Pereyra (1973): the derivative at constant rank."""
    gh, ph = _t(grad), _t(p)
    near = jnp.matmul(gh, p)  # n x m with p of n x m: grad^H P
    first = jnp.matmul(ph, jnp.matmul(grad, ph))
    left = jnp.matmul(near, ph)
    second = left - jnp.matmul(a, jnp.matmul(p, left))
    right = jnp.matmul(p, gh)
    right = jnp.matmul(ph, right)
    third = right - jnp.matmul(jnp.matmul(right, p), a)
    return second + third - first


@pinv.vjp
def _(grad, input, result):
    return _pinv_grad(grad, input, result)


@op(node="LinalgPinvBackward0")
def pinverse(input: Array, rcond: float = 1e-15):
    """Pseudo-inverses; singular values up to ``rcond`` times the largest count as zero."""
    _matrices("linalg.pinv", input)
    _inexact("linalg.pinv", input)
    return _pseudo_inverse(input, lambda s: np.asarray(rcond, s.dtype) * s, False)


@pinverse.vjp
def _(grad, input, result):
    return _pinv_grad(grad, input, result)


@op(namespace="linalg", differentiable=False)
def matrix_rank(input: Array, tol: Array | Scalar | None = None, hermitian: bool = False, *, atol: Array | Scalar | None = None,
                rtol: Array | Scalar | None = None):  # fmt: skip
    """How many singular values (absolute eigenvalues, if ``hermitian``) exceed ``max(atol, rtol * largest)``."""
    _matrices("linalg.matrix_rank", input)
    _inexact("linalg.matrix_rank", input)
    if tol is not None:
        atol, rtol = tol, 0.0
    if input.size == 0:
        return jnp.zeros(input.shape[:-2], np.int64)
    values = jnp.abs(_eigh(input, True)[0]) if hermitian else _singular_values(input)
    bound = _cutoff(values.max(-1, keepdims=True), input.shape[-2:], _last_dim(atol), _last_dim(rtol), input.dtype)
    return (values > bound).sum(-1)


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@op(namespace="linalg", method=False, returns=("solution", "residuals", "rank", "singular_values"),
    out=("solution", "residuals", "rank", "singular_values"))  # fmt: skip
def lstsq(input: Array, b: Array, rcond: Scalar | None = None, *, driver: str | None = None):
    """``X`` with the least ``|A X - B|``, and of those the shortest; the squared residuals, rank and singular values.

    All drivers solve through the SVD; they differ in what they report, as in LAPACK.
    """
    _matrices("torch.linalg.lstsq", input, label="input")
    _inexact("torch.linalg.lstsq", input)
    driver = driver or "gelsy"
    if driver not in _DRIVERS:
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss) but got {driver}")
    if b.ndim < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if input.dtype != b.dtype:
        raise RuntimeError(
            f"torch.linalg.lstsq: Expected input and other to have the same dtype, but got {type_name(input.dtype)} and {type_name(b.dtype)}"
        )
    if input.ndim - b.ndim not in (0, 1) and not b.ndim >= input.ndim:
        raise RuntimeError("torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1")
    vector = input.ndim - b.ndim == 1 and b.shape == input.shape[:-1]
    rhs = b[..., None] if vector else b
    rows, columns = input.shape[-2:]
    if rhs.ndim < 2 or rhs.shape[-2] != rows:
        raise RuntimeError(
            f"torch.linalg.lstsq: input.size(-2) should match other.size({'-1' if vector else '-2'}), got {list(input.shape)} and {list(b.shape)}"
        )
    a, rhs = _batched(input, rhs)
    real, batch = _real(a.dtype), a.shape[:-2]
    relative = None if rcond is None else _tolerance(rcond, real)

    def cutoff(s):
        return _cutoff(s, (rows, columns), None, relative, a.dtype)

    if a.size == 0 or rhs.size == 0:
        solution = jnp.zeros((*batch, columns, rhs.shape[-1]), a.dtype)
        values = jnp.zeros((*input.shape[:-2], min(rows, columns)), real)
        rank = jnp.zeros(input.shape[:-2], np.int64)
    else:
        solution = jnp.matmul(_pinv_of(a, cutoff), rhs)
        values = _singular_values(lax.stop_gradient(input))
        rank = (values > cutoff(values.max(-1, keepdims=True))).sum(-1)
    nothing = jnp.zeros((0,), real)
    residuals = nothing
    if rows > columns and driver != "gelsy":  # LAPACK's gelsy leaves none
        residuals = jnp.square(jnp.abs(rhs - jnp.matmul(a, solution))).sum(-2) if rhs.size else jnp.zeros((*batch, rhs.shape[-1]), real)
    return (
        solution[..., 0] if vector else solution,
        residuals,
        jnp.zeros((0,), np.int64) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else nothing,
    )


def _pinv_of(a, cutoff):
    """The pseudo-inverse with its own derivative, that at constant rank."""

    @jax.custom_jvp
    def inverse(a):
        return _pseudo_inverse(a, cutoff, False)

    @inverse.defjvp
    def _(primals, tangents):
        (a,), (t,) = primals, tangents
        p = inverse(a)
        ph, th = _t(p), _t(t)
        near = jnp.matmul(p, jnp.matmul(ph, th))
        far = jnp.matmul(th, jnp.matmul(ph, p))
        change = near - jnp.matmul(near, jnp.matmul(a, p)) + far - jnp.matmul(p, jnp.matmul(a, far))
        return p, change - jnp.matmul(p, jnp.matmul(t, p))

    return inverse(a)


# -- eigenvalues ------------------------------------------------------------------------------------------------------


def _eigh(a, lower: bool):
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices, of which one triangle is read."""
    if a.size == 0:
        return jnp.zeros(a.shape[:-1], _real(a.dtype)), a
    vectors, values = jax.lax.linalg.eigh(a, lower=lower, symmetrize_input=False)
    return values, vectors


def _lower(name: str, uplo: str) -> bool:
    if uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    return uplo.upper() == "L"


@op(namespace="linalg", returns=("eigenvalues", "eigenvectors"), out=("eigvals", "eigvecs"))
def eigh(input: Array, UPLO: str = "L"):
    """Eigenvalues (ascending) and orthonormal eigenvectors of Hermitian matrices; only one triangle is read."""
    _square("linalg.eigh", input)
    _inexact("linalg.eigh", input)
    return _eigh(input, _lower("linalg.eigh", UPLO))


@eigh.vjp
def _(grads, results):
    values, vectors = results
    if vectors.size == 0:
        return jnp.zeros_like(vectors)
    gaps = values[..., None, :] - values[..., :, None]
    inner = jnp.matmul(_t(vectors), grads[1])
    unit = jnp.eye(values.shape[-1], dtype=bool)
    middle = jnp.where(unit, grads[0][..., None].astype(inner.dtype), _safe_ratio(inner, jnp.where(unit, 1, gaps)))
    result = jnp.matmul(vectors, jnp.matmul(middle, _t(vectors)))
    return (result + _t(result)) / 2


@op(namespace="linalg", node="LinalgEighBackward0")
def eigvalsh(input: Array, UPLO: str = "L"):
    """Eigenvalues (ascending) of Hermitian matrices; only one triangle is read."""
    _square("linalg.eigvalsh", input)
    _inexact("linalg.eigvalsh", input)
    return _eigh(input, _lower("linalg.eigvalsh", UPLO))[0]


@eigvalsh.vjp
def _(grad, input, UPLO):
    if input.size == 0:
        return jnp.zeros_like(input)
    _, vectors = _eigh(input, _lower("linalg.eigvalsh", UPLO))
    return jnp.matmul(vectors * grad[..., None, :].astype(vectors.dtype), _t(vectors))


def _eig(a):
    """Eigenvalues and eigenvectors (of length one) of general matrices, always complex."""
    kind = promotion.complex_of(np.dtype(a.dtype))
    if a.size == 0:
        return jnp.zeros(a.shape[:-1], kind), a.astype(kind)
    values, vectors = jax.lax.linalg.eig(a, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
    return values, vectors


def _eig_grad(grad_values, grad_vectors, values, vectors):
    """The gradient of eigenvalues and of eigenvectors whose length stays one.

    Boeddeker et al., "On the computation of complex-valued gradients with application to statistically optimum beamforming" (2017).
    """
    vh = _t(vectors)
    inner = jnp.matmul(vh, grad_vectors)
    inner = inner - jnp.matmul(vh, vectors * jnp.diagonal(inner, axis1=-2, axis2=-1).real[..., None, :])
    gaps = jnp.conj(values[..., None, :] - values[..., :, None])
    unit = jnp.eye(values.shape[-1], dtype=bool)
    middle = jnp.where(unit, grad_values[..., None], _safe_ratio(inner, jnp.where(unit, 1, gaps)))
    return jnp.linalg.solve(vh, jnp.matmul(middle, vh))


@op(namespace="linalg", returns=("eigenvalues", "eigenvectors"), out=("eigenvalues", "eigenvectors"))
def eig(input: Array):
    """Eigenvalues and eigenvectors of general square matrices, complex."""
    _square("linalg.eig", input)
    _inexact("linalg.eig", input)
    return _eig(input)


@eig.vjp
def _(grads, results, input):
    if input.size == 0:
        return jnp.zeros_like(input)
    return _eig_grad(*grads, *results)


@op(namespace="linalg", node="LinalgEigBackward0")
def eigvals(input: Array):
    """Eigenvalues of general square matrices, complex."""
    _square("linalg.eigvals", input)
    _inexact("linalg.eigvals", input)
    if input.size == 0:
        return _eig(input)[0]
    return jax.lax.linalg.eig(input, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@eigvals.vjp
def _(grad, input):
    if input.size == 0:
        return jnp.zeros_like(input)
    vh = _t(_eig(input)[1])
    return jnp.linalg.solve(vh, grad[..., None] * vh)


# -- symmetric indefinite ---------------------------------------------------------------------------------------------


def _lapack(routine: str, dtype, hermitian: bool):
    """A LAPACK routine of SciPy for a dtype: sytrf, or hetrf for Hermitian matrices."""
    from scipy.linalg import lapack

    prefix = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[np.dtype(dtype).name]
    return getattr(lapack, prefix + ("he" if hermitian and prefix in "cz" else "sy") + routine)


def _on_stack(function, *stacks, outs):
    """Apply a NumPy function to each matrix of stacks with equal leading dimensions."""
    batch = stacks[0].shape[:-2]
    flat = [np.asarray(s).reshape(-1, *s.shape[len(batch):]) for s in stacks]
    made = [np.empty((flat[0].shape[0], *o.shape[len(batch):]), o.dtype) for o in outs]
    for i in range(flat[0].shape[0]):
        for m, r in zip(made, function(*(f[i] for f in flat)), strict=True):
            m[i] = r
    return tuple(m.reshape(o.shape) for m, o in zip(made, outs, strict=True))


@op(namespace="linalg", returns=("LD", "pivots", "info"), out=("LD", "pivots", "info"), differentiable=False)
def ldl_factor_ex(input: Array, *, hermitian: bool = False, check_errors: bool = False):
    """``A = L D L^T`` (``L D L^H``) with blocks of one and two in D: packed factors, pivots, info. LAPACK's, on the host."""
    _square("torch.linalg.ldl_factor_ex", input)
    _inexact("torch.linalg.ldl_factor_ex", input)
    outs = (
        jax.ShapeDtypeStruct(input.shape, input.dtype),
        jax.ShapeDtypeStruct(input.shape[:-1], np.int32),
        jax.ShapeDtypeStruct(input.shape[:-2], np.int32),
    )
    if input.size == 0:
        return tuple(jnp.zeros(o.shape, o.dtype) for o in outs)

    def factor(a):
        packed, pivots, info = _lapack("trf", a.dtype, hermitian)(a, lower=True)
        return np.tril(packed), pivots, info

    return jax.pure_callback(lambda a: _on_stack(factor, a, outs=outs), outs, input)


@op(namespace="linalg")
def ldl_solve(LD: Array, pivots: Array, B: Array, *, hermitian: bool = False):
    """``X`` with ``A X = B`` from the factors that ``ldl_factor`` returns. LAPACK's, on the host."""
    _square("torch.linalg.ldl_solve", LD, "LD")
    _matrices("torch.linalg.ldl_solve", B, label="B")
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError("torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same")
    if pivots.dtype not in (np.int32, np.int64):
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {type_name(pivots.dtype)}")
    if LD.dtype != B.dtype:
        raise RuntimeError(f"torch.linalg.ldl_solve: LD dtype {type_name(LD.dtype)} does not match b dtype {type_name(B.dtype)}")
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(f"torch.linalg.ldl_solve: Incompatible shapes {list(LD.shape)} and {list(B.shape)}")
    ld, b = _batched(LD, B)
    return b if b.size == 0 else _ldl_solved(ld, jnp.broadcast_to(pivots, ld.shape[:-1]), b, hermitian)


def _ldl_solved(ld, pivots, b, hermitian: bool):
    out = (jax.ShapeDtypeStruct(b.shape, b.dtype),)

    def solve(a, p, b):
        return (_lapack("trs", a.dtype, hermitian)(a, p[:, 0], b, lower=True)[0],)

    return jax.pure_callback(lambda a, p, b: _on_stack(solve, a, p, b, outs=out), out, ld, pivots[..., None], b)[0]


@ldl_solve.vjp
def _(grad, LD, pivots, B, hermitian):
    # The factors have no gradient. A^H is A, or its conjugate when A is symmetric and complex.
    ld, g = _batched(LD, grad)
    conjugate = LD.dtype.kind == "c" and not hermitian
    solve = _solver_with_gradient(hermitian)
    g = solve(jnp.conj(ld) if conjugate else ld, jnp.broadcast_to(pivots, ld.shape[:-1]), g) if g.size else g
    return None, None, g


def _solver_with_gradient(hermitian: bool):
    """The solver as JAX can differentiate it once more: linear in the right-hand side."""

    @jax.custom_vjp
    def solve(ld, pivots, b):
        return _ldl_solved(ld, pivots, b, hermitian)

    def backward(saved, grad):
        # JAX's cotangent is that of the transpose: A^T is A, or conj(A) when A is Hermitian.
        ld, pivots = saved
        turned = jnp.conj(ld) if hermitian and ld.dtype.kind == "c" else ld
        return None, None, _solver_with_gradient(hermitian)(turned, pivots, grad)

    solve.defvjp(lambda ld, pivots, b: (solve(ld, pivots, b), (ld, pivots)), backward)
    return solve


# -- tensors as matrices, functions of matrices -----------------------------------------------------------------------


@op(namespace="linalg", function=False)
def tensor_solution(A: Array, B: Array):
    """``tensorsolve`` once its dimensions are in place."""
    shape = A.shape[B.ndim:]
    n = math.prod(shape)
    if n != math.prod(B.shape):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{n} != {B.size}"
        )
    if n == 0:
        return jnp.zeros(shape, A.dtype)
    return jnp.linalg.solve(A.reshape(-1, n), B.reshape(-1, 1)).reshape(shape)


@op(namespace="linalg")
def tensorsolve(input: Array, other: Array, dims: Ints | None = None):
    """``X`` with ``tensordot(A, X, X.ndim) = B``; ``dims`` of ``A`` are moved to the end first."""
    if dims is not None:
        moved = tuple(canonical_dim(d, input.ndim) for d in ((dims,) if isinstance(dims, int) else dims))
        input = jnp.transpose(input, [k for k in range(input.ndim) if k not in moved] + list(moved))
    return tensor_solution.body(input, other)


@op(namespace="linalg")
def tensorinv(input: Array, ind: int = 2):
    """The inverse of a tensor as a map between its first ``ind`` dimensions and the others."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, rest = input.shape[:ind], input.shape[ind:]
    if math.prod(first) != math.prod(rest):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(rest)} != {math.prod(first)}"
        )
    n = math.prod(first)
    if n == 0:
        return jnp.zeros(rest + first, input.dtype)
    return jnp.linalg.inv(input.reshape(n, n)).reshape(rest + first)


@op(aliases=("linalg.matrix_exp",), node="LinalgMatrixExpBackward0")
def matrix_exp(input: Array):
    """The exponential of square matrices."""
    _square("linalg.matrix_exp", input)
    if not promotion.is_inexact(np.dtype(input.dtype)):
        raise RuntimeError(f"linalg.matrix_exp: Expected a floating point or complex tensor as input. Got {type_name(input.dtype)}")
    return _expm(input)


def _expm(a):
    if a.size == 0:
        return a
    dtype = np.dtype(a.dtype)
    wide = a.astype(np.float32) if promotion.is_low_precision(dtype) else a
    return jsl.expm(wide).astype(dtype)


@matrix_exp.vjp
def _(grad, input):
    # exp([[A^H, G], [0, A^H]]) has the gradient in its upper right block: Mathias (1996).
    if input.size == 0:
        return grad
    n = input.shape[-1]
    a = _t(input)
    block = jnp.concatenate(
        [jnp.concatenate([a, grad], axis=-1), jnp.concatenate([jnp.zeros_like(a), a], axis=-1)], axis=-2
    )
    return _expm(block)[..., :n, n:]


@op(name="vander", namespace="linalg")
def linalg_vander(x: Array, *, N: int | None = None):
    """Powers ``1, x, x**2, ...`` of each element as a new last dimension of size ``N``."""
    x = x.reshape(1) if x.ndim == 0 else x
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    return vandermonde(x, n)
