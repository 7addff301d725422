"""Joining, repeating and rearranging: ``cat, stack, repeat, roll, flip, tril, diag, diff, trapezoid, gradient, ...``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops import promotion
from torchlike.ops.declare import ARITH, Array, Dim, Ints, Number, Scalar, canonical_dim, canonical_dims, op

# -- joining ----------------------------------------------------------------------------------------------------------


def _common(name: str, tensors: Sequence) -> list:
    """The tensors in their common dtype (worked out here, not by the declaration: the list may be empty)."""
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    dtype = promotion.result_dtype(tensors, ())
    return [t.astype(dtype) for t in tensors]


def _concatenate(tensors: Sequence, dim: int):
    """Arrays of one dtype joined along ``dim``, with the checks of ``torch.cat``."""
    for i, t in enumerate(tensors):
        if t.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    # torch skips legacy empties: shape (0,) joins with anything.
    parts = [t for t in tensors if t.shape != (0,)] or [tensors[0]]
    first = parts[0]
    d = canonical_dim(dim, first.ndim)
    for i, t in enumerate(parts):
        if t.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {t.ndim}")
        for k in range(first.ndim):
            if k != d and t.shape[k] != first.shape[k]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {first.shape[k]} but got size "
                    f"{t.shape[k]} for tensor number {i} in the list."
                )
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, d)


@op(method=False, aliases=("concat", "concatenate"), autocast="promote")
def cat(tensors: Sequence[Array], dim: Dim = 0):
    """Tensors joined along ``dim``; all other sizes must be equal. The result has the common dtype."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return _concatenate(_common("cat", tensors), dim)


@op(method=False, autocast="promote")
def stack(tensors: Sequence[Array], dim: Dim = 0):
    """Tensors of one shape joined along a new dimension ``dim``."""
    tensors = _common("stack", tensors)
    first = tensors[0]
    d = canonical_dim(dim, first.ndim + 1)
    for i, t in enumerate(tensors):
        if t.shape != first.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and {list(t.shape)} at entry {i}"
            )
    return lax.concatenate([lax.expand_dims(t, (d,)) for t in tensors], d)


def _at_least_1d(t):
    return t.reshape(1) if t.ndim == 0 else t


def _at_least_2d(t):
    return t.reshape(1, -1) if t.ndim < 2 else t


def _at_least_3d(t):
    return t.reshape(1, -1, 1) if t.ndim < 2 else t[..., None] if t.ndim == 2 else t


@op(method=False, node="CatBackward0")
def hstack(tensors: Sequence[Array]):
    """Tensors joined side by side: along the first dimension if 1-d, else along the second."""
    tensors = [_at_least_1d(t) for t in _common("hstack", tensors)]
    return _concatenate(tensors, 0 if tensors[0].ndim == 1 else 1)


@op(method=False, aliases=("row_stack",), node="CatBackward0")
def vstack(tensors: Sequence[Array]):
    """Tensors joined as rows; 1-d tensors become one row."""
    return _concatenate([_at_least_2d(t) for t in _common("vstack", tensors)], 0)


@op(method=False, node="CatBackward0")
def dstack(tensors: Sequence[Array]):
    """Tensors joined along the third dimension."""
    return _concatenate([_at_least_3d(t) for t in _common("dstack", tensors)], 2)


@op(method=False, node="CatBackward0")
def column_stack(tensors: Sequence[Array]):
    """Tensors joined along the second dimension; 1-d tensors become one column."""
    return _concatenate([t.reshape(-1, 1) if t.ndim <= 1 else t for t in _common("column_stack", tensors)], 1)


@op(promote=ARITH, opmath=False, method=False, function=False, strides="contiguous")
def block_diag(tensors: Sequence[Array]):
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
    blocks = []
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.ndim} dimensions")
        blocks.append(_at_least_2d(t))
    width = sum(b.shape[1] for b in blocks)
    rows, left = [], 0
    for b in blocks:
        rows.append(jnp.pad(b, ((0, 0), (left, width - left - b.shape[1]))))
        left += b.shape[1]
    return rows[0] if len(rows) == 1 else lax.concatenate(rows, 0)


@op(promote=ARITH, opmath=False, method=False, function=False, strides="contiguous")
def cartesian_prod(tensors: Sequence[Array]):
    """All ways to take one element of each 1-d tensor, the last varying fastest: ``(product of sizes, count)``."""
    for t in tensors:
        if t.ndim > 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    sizes = tuple(t.size for t in tensors)
    columns = []
    for i, t in enumerate(tensors):
        shape = [1] * len(sizes)
        shape[i] = sizes[i]
        columns.append(jnp.broadcast_to(t.reshape(shape), sizes).reshape(-1))
    return jnp.stack(columns, axis=1)


@op(method=False, node="IndexBackward0")
def combinations(input: Array, r: int = 2, with_replacement: bool = False):
    """All combinations of ``r`` elements of a 1-d tensor, in order: ``(count, r)``."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return jnp.zeros((0,), input.dtype)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    positions = np.array(list(choose(range(input.shape[0]), r)), np.int64).reshape(-1, r)
    return input[positions]


# -- repeating --------------------------------------------------------------------------------------------------------


def _tiled(input, repeats: tuple[int, ...]):
    """``input`` repeated, one broadcast and one reshape: XLA fuses both."""
    shape = (1,) * (len(repeats) - input.ndim) + input.shape
    spread = tuple(x for r, n in zip(repeats, shape, strict=True) for x in (r, n))
    ones = tuple(x for n in shape for x in (1, n))
    return jnp.broadcast_to(input.reshape(ones), spread).reshape(tuple(r * n for r, n in zip(repeats, shape, strict=True)))


@op(function=False, varargs=True)
def repeat(input: Array, repeats: Ints):
    """``input`` repeated the given number of times along each dimension; new dimensions come first."""
    repeats = (repeats,) if isinstance(repeats, int) else repeats
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(r < 0 for r in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(repeats)}: {list(repeats)}")
    return _tiled(input, repeats)


@op(varargs=True, node="RepeatBackward0")
def tile(input: Array, dims: Ints):
    """``input`` repeated as ``repeat`` does; missing leading counts are 1."""
    dims = (dims,) if isinstance(dims, int) else dims
    return repeat.body(input, (1,) * (input.ndim - len(dims)) + tuple(dims))


@op(method=False, function=False, node="RepeatInterleaveBackward0")
def repeat_each(input: Array, repeats: int, dim: int | None = None):
    """Each element repeated ``repeats`` times, next to one another, along ``dim`` (of the flat tensor when None)."""
    if repeats < 0:
        raise RuntimeError("repeats can not be negative")
    if dim is None or input.ndim == 0:
        if dim is not None:
            canonical_dim(dim, 0)
        input, d = input.reshape(-1), 0
    else:
        d = canonical_dim(dim, input.ndim)
    shape = input.shape
    wide = jnp.broadcast_to(lax.expand_dims(input, (d + 1,)), (*shape[: d + 1], repeats, *shape[d + 1:]))
    return wide.reshape(*shape[:d], shape[d] * repeats, *shape[d + 1:])


# -- rearranging ------------------------------------------------------------------------------------------------------


@op(varargs=False)
def roll(input: Array, shifts: Ints, dims: Ints = ()):
    """Elements moved by ``shifts`` along ``dims``, those that leave at the end come in at the front."""
    shifts = (shifts,) if isinstance(shifts, int) else shifts
    dims = (dims,) if isinstance(dims, int) else dims or ()
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return jnp.roll(input.reshape(-1), shifts[0]).reshape(input.shape)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for s, d in zip(shifts, dims, strict=True):
        axis = canonical_dim(d, input.ndim, scalar_ok=False)
        if input.size:
            input = jnp.roll(input, s, axis)
    return input


@op(varargs=True)
def flip(input: Array, dims: Ints):
    """The order of elements reversed along ``dims``."""
    dims = (dims,) if isinstance(dims, int) else dims
    axes = canonical_dims(dims, input.ndim, empty_is_all=False)
    return lax.rev(input, axes) if axes else input


@op(node="FlipBackward0")
def fliplr(input: Array):
    """The order of columns reversed."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return lax.rev(input, (1,))


@op(node="FlipBackward0")
def flipud(input: Array):
    """The order of rows reversed."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return lax.rev(input, (0,))


@op()
def rot90(input: Array, k: int = 1, dims: Ints = (0, 1)):
    """``input`` turned by ``k`` times 90 degrees in the plane of ``dims``, from the first towards the second."""
    dims = (dims,) if isinstance(dims, int) else dims
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    for i, d in enumerate(dims):
        if not -input.ndim <= d < input.ndim:
            raise RuntimeError(f"Rotation dim{i} out of range, dim{i} = {d}")
    return jnp.rot90(input, k, dims)


def _triangle(input, diagonal: int, lower: bool, name: str):
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    rows, columns = input.shape[-2:]
    below = lax.broadcasted_iota(np.int32, (rows, columns), 1) - lax.broadcasted_iota(np.int32, (rows, columns), 0)
    kept = below <= diagonal if lower else below >= diagonal
    return jnp.where(kept, input, jnp.zeros((), input.dtype))


@op(inplace=True)
def tril(input: Array, diagonal: int = 0):
    """The lower triangle of the last two dimensions, zeros elsewhere; ``diagonal`` moves the border up."""
    return _triangle(input, diagonal, True, "tril")


@op(inplace=True)
def triu(input: Array, diagonal: int = 0):
    """The upper triangle of the last two dimensions, zeros elsewhere; ``diagonal`` moves the border up."""
    return _triangle(input, diagonal, False, "triu")


@op(node="DiagonalBackward0")
def diag(input: Array, diagonal: int = 0):
    """A matrix with the 1-d input on its diagonal, or the diagonal of a matrix (as a copy)."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    if input.ndim == 1:
        return diag_embed.body(input, diagonal)
    rows, columns = input.shape
    if diagonal < -rows or diagonal > columns:
        return jnp.zeros((0,), input.dtype)
    return jnp.diagonal(input, diagonal)


@op()
def diag_embed(input: Array, offset: int = 0, dim1: Dim = -2, dim2: Dim = -1):
    """Square matrices in the plane of ``dim1`` and ``dim2`` whose diagonals are the last dimension of ``input``."""
    ndim = input.ndim + 1
    d1, d2 = canonical_dim(dim1, ndim), canonical_dim(dim2, ndim)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = input.shape[-1] + abs(offset)
    first, second = max(-offset, 0), max(offset, 0)
    # Row i of the block holds element i: padded to full size, then masked to the diagonal.
    spread = jnp.pad(input, [(0, 0)] * (input.ndim - 1) + [(first, n - first - input.shape[-1])])
    on = lax.broadcasted_iota(np.int32, (n, n), 0) + (second - first) == lax.broadcasted_iota(np.int32, (n, n), 1)
    full = jnp.where(on, spread[..., None], jnp.zeros((), input.dtype))
    return jnp.moveaxis(full, (-2, -1), (d1, d2))


@op(node="DiagonalCopyBackward0")
def diagflat(input: Array, offset: int = 0):
    """A matrix with all elements of ``input`` on its diagonal."""
    return diag_embed.body(input.reshape(-1), offset)


@op(method=False)
def vander(x: Array, N: int | None = None, increasing: bool = False):
    """Powers of ``x`` as columns: ``x**(N-1), ..., x, 1``, or in ``increasing`` order."""
    if x.ndim != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor, got {x.ndim} dimensions")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative")
    powers = vandermonde(x, n)
    return powers if increasing else powers[:, ::-1]


def vandermonde(x, n: int):
    """``1, x, x**2, ...`` as a new last dimension of size ``n``, by repeated products as torch computes them."""
    if x.dtype == bool or promotion.kind(np.dtype(x.dtype)) == 1:
        x = x.astype(np.int64)
    columns = [jnp.ones_like(x)]
    while len(columns) < n:
        columns.append(columns[-1] * x)
    return jnp.stack(columns[:n], axis=-1) if n else jnp.zeros((*x.shape, 0), x.dtype)


# -- sums and differences along a dimension ---------------------------------------------------------------------------


def _floating(x):
    return x if promotion.is_inexact(np.dtype(x.dtype)) else x.astype(promotion.default_dtype())


def _steps(y, x, dx, dim: int, name: str):
    """The widths between samples, of a shape that broadcasts with ``y`` less one along ``dim``."""
    if x is None:
        return dx
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape([-1 if k == dim else 1 for k in range(y.ndim)])
        return jnp.diff(x, axis=dim)
    axis = dim - y.ndim  # x broadcasts with y from the last dimension on
    return jnp.diff(x, axis=axis)


def _cut(x, dim: int, start: int, stop: int):
    return lax.slice_in_dim(x, start, max(stop, start), axis=dim)


def _number(dx, dtype):
    return dx if type(dx) in (int, float, bool, complex) else dx.astype(promotion.real_of(dtype))


def _panels(y, x, dx, dim: int, name: str):
    """The trapezoids between neighbours along ``dim``."""
    d = canonical_dim(dim, y.ndim, scalar_ok=False)
    n = y.shape[d]
    if x is None and not (type(dx) in (int, bool) and not promotion.is_inexact(np.dtype(y.dtype))):
        y = _floating(y)
    heights = _cut(y, d, 0, n - 1) + _cut(y, d, 1, n)
    width = _steps(y, x, _number(dx, np.dtype(y.dtype)), d, name)
    return heights * width, d - max(y.ndim, heights.ndim)


@op(method=False, aliases=("trapz",), node="DivBackward0", out=False)
def trapezoid(y: Array, x: Array | None = None, *, dx: Scalar = 1, dim: Dim = -1):
    """The trapezoidal rule along ``dim``, for samples at ``x`` or ``dx`` apart."""
    d = canonical_dim(dim, y.ndim)
    if y.shape[d] == 0:
        return jnp.zeros(y.shape[:d] + y.shape[d + 1:], _floating(y).dtype)
    panels, axis = _panels(y, x, dx, d, "trapezoid")
    return (_floating(panels.sum(axis=axis, dtype=panels.dtype)) / 2).astype(_floating(panels).dtype)


@op(method=False, node="DivBackward0", out=False)
def cumulative_trapezoid(y: Array, x: Array | None = None, *, dx: Scalar = 1, dim: Dim = -1):
    """Running sums of the trapezoids along ``dim``; one shorter than ``y``."""
    panels, axis = _panels(y, x, dx, canonical_dim(dim, y.ndim), "cumulative_trapezoid")
    return _floating(jnp.cumsum(panels, axis=axis, dtype=panels.dtype)) / 2


@op(node="SubBackward0")
def diff(input: Array, n: int = 1, dim: Dim = -1, prepend: Array | None = None, append: Array | None = None):
    """Differences of neighbours along ``dim``, ``n`` times, after joining ``prepend`` and ``append``."""
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    d = canonical_dim(dim, input.ndim)
    for name, extra in (("prepend", prepend), ("append", append)):
        if extra is not None and extra.ndim != input.ndim:
            raise RuntimeError(f"diff expects {name} or append to be the same dimension as input")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    parts = [p for p in (prepend, input, append) if p is not None]
    if len(parts) > 1:
        dtype = promotion.result_dtype(parts, ())
        input = _concatenate([p.astype(dtype) for p in parts], d)
    for _ in range(min(n, input.shape[d])):
        size = input.shape[d]
        upper, lower = _cut(input, d, 1, size), _cut(input, d, 0, size - 1)
        input = upper ^ lower if input.dtype == bool else upper - lower
    return input


@op(method=False, function=False, node="GradientBackward0")
def gradient_along(input: Array, spacing: Array | None, step: Number, dim: Dim, edge_order: int):
    """Central differences along ``dim`` for samples ``step`` apart or at ``spacing``; one-sided at the ends."""
    d = canonical_dim(dim, input.ndim)
    n = input.shape[d]

    def at(start: int, stop: int):
        return _cut(input, d, start, stop)

    if spacing is None:
        h = step
        inner = (at(2, n) - at(0, n - 2)) / (2 * h)
        if edge_order == 1:
            first, last = (at(1, 2) - at(0, 1)) / h, (at(n - 1, n) - at(n - 2, n - 1)) / h
        else:
            first = (-1.5 * at(0, 1) + 2 * at(1, 2) - 0.5 * at(2, 3)) / h
            last = (0.5 * at(n - 3, n - 2) - 2 * at(n - 2, n - 1) + 1.5 * at(n - 1, n)) / h
        return _like_input(lax.concatenate([first, inner, last], d), input)
    gaps = jnp.diff(spacing)
    along = [-1 if k == d else 1 for k in range(input.ndim)]
    left, right = gaps[:-1].reshape(along), gaps[1:].reshape(along)
    # Second-order accurate for unequal gaps: NumPy's documentation of numpy.gradient.
    a, b, c = -right / (left * (left + right)), (right - left) / (left * right), left / (right * (left + right))
    inner = a * at(0, n - 2) + b * at(1, n - 1) + c * at(2, n)
    if edge_order == 1:
        first, last = (at(1, 2) - at(0, 1)) / gaps[0], (at(n - 1, n) - at(n - 2, n - 1)) / gaps[-1]
    else:
        g, h = gaps[0], gaps[1]
        first = -(2 * g + h) / (g * (g + h)) * at(0, 1) + (g + h) / (g * h) * at(1, 2) - g / (h * (g + h)) * at(2, 3)
        g, h = gaps[-2], gaps[-1]
        last = h / (g * (g + h)) * at(n - 3, n - 2) - (g + h) / (g * h) * at(n - 2, n - 1) + (2 * h + g) / (h * (g + h)) * at(n - 1, n)
    return _like_input(lax.concatenate([first, inner, last], d), input)


def _like_input(result, input):
    kept = np.dtype(input.dtype) if promotion.is_inexact(np.dtype(input.dtype)) else promotion.default_dtype()
    return result.astype(kept)


@op(inplace=True)
def renorm(input: Array, p: Scalar, dim: Dim, maxnorm: Scalar):
    """Slices along ``dim`` whose p-norm exceeds ``maxnorm``, scaled down to it."""
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if type(p) in (int, float) and p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if type(maxnorm) in (int, float) and maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    d = canonical_dim(dim, input.ndim)
    others = tuple(k for k in range(input.ndim) if k != d)
    dtype = np.dtype(input.dtype)
    real = promotion.FLOAT32 if promotion.is_low_precision(dtype) else promotion.real_of(dtype)
    size = jnp.abs(input).astype(real)
    p, maxnorm = (x if type(x) in (int, float) else x.astype(real) for x in (p, maxnorm))
    if type(p) in (int, float) and p == float("inf"):
        norms = size.max(axis=others, keepdims=True)
    else:
        total = (size**p).sum(axis=others, keepdims=True)
        # no infinite slope at a slice of zeros
        norms = jnp.where(total == 0, 0.0, jnp.where(total == 0, 1.0, total) ** (1 / p)).astype(real)
    scale = jnp.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0).astype(real)
    return (input * scale).astype(dtype)
