"""Reading and writing at positions: ``gather, scatter, index_*, take, put, masked_*, one_hot, searchsorted, histc``.

Positions are tensors, so their values are not known when an operator is recorded. XLA reads the nearest element for a
position out of range and drops a write to it; torch raises. The tensor layer checks positions that are at hand
(``check_bounds``), the operators here take them as they are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops import promotion
from torchlike.ops.declare import Array, Dim, Ints, Scalar, canonical_dim, op, scalar_kind
from torchlike.ops.dtype_errors import BOOL, INTEGER, reject, type_name, unsupported

IN_BOUNDS = "promise_in_bounds"


def _lifted(x):
    """A 0-d array as one of one element: torch treats it so along a dimension."""
    return x.reshape(1) if x.ndim == 0 else x


def _check_index(name: str, index, kinds: str = "long") -> None:
    allowed = (np.int64,) if kinds == "long" else (np.int64, np.int32)
    if index.dtype not in allowed:
        wanted = "int64" if kinds == "long" else "int32/int64"
        raise RuntimeError(f"{name}(): Expected dtype {wanted} for index")


def _same_dtype(name: str, input, other, label: str) -> None:
    if input.dtype != other.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to {label}.dtype")


def _picked(input, dim: int, index):
    """``input[..., index[...], ...]`` along ``dim``; the other sizes of ``index`` may be smaller than those of ``input``."""
    window = tuple(input.shape[k] if k == dim else n for k, n in enumerate(index.shape))
    if window != input.shape:
        input = lax.slice(input, (0,) * input.ndim, window)
    if 0 in index.shape or input.shape[dim] == 0:
        return jnp.zeros(index.shape, input.dtype)
    return jnp.take_along_axis(input, index, axis=dim, mode=IN_BOUNDS)


def flat_positions(index, dim: int, shape: tuple[int, ...]):
    """Where the elements of ``index`` along ``dim`` lie in the flat array of ``shape``; the other coordinates are their own.

    A scatter to flat positions is 2 to 3 times faster on XLA:CPU than one with a column for each dimension.
    """
    kind = np.int32 if math.prod(shape) < 2**31 else np.int64
    total, stride = jnp.zeros((), kind), 1
    for k in range(len(shape) - 1, -1, -1):
        along = index.astype(kind) if k == dim else lax.broadcasted_iota(kind, index.shape, k)
        total = total + along * np.asarray(stride, kind)
        stride *= shape[k]
    return total


def written(x, dim: int, index, values, how: str = "set", unique: bool = False):
    """``x`` with ``values`` written to (set, add, multiply, max, min) the positions ``index`` along ``dim``."""
    at = x.reshape(-1).at[flat_positions(index, dim, x.shape)]
    if x.dtype == bool:
        how = {"add": "max", "multiply": "min"}.get(how, how)
    return getattr(at, how)(values, mode=IN_BOUNDS, unique_indices=unique, wrap_negative_indices=False).reshape(x.shape)


def _head(src, index):
    """The part of ``src`` that ``index`` covers."""
    return src if src.shape == index.shape else lax.slice(src, (0,) * src.ndim, index.shape)


def _spread(part, like):
    """The reverse of ``_head``: zeros where ``index`` does not reach."""
    if part.shape == like.shape:
        return part
    return jnp.pad(part, [(0, n - m) for n, m in zip(like.shape, part.shape, strict=True)])


# -- gather and scatter -----------------------------------------------------------------------------------------------


@op()
def gather(input: Array, dim: Dim, index: Array, *, sparse_grad: bool = False):
    """``out[i][j] = input[index[i][j]][j]`` (for ``dim`` 0); the result has the shape of ``index``."""
    d = canonical_dim(dim, input.ndim)
    if index.size == 0:
        return jnp.zeros(index.shape, input.dtype)
    if index.dtype not in (np.int64, np.int32):
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    shape = index.shape
    x, i = _lifted(input), _lifted(index)
    for k in range(i.ndim):
        if k != d and i.shape[k] > x.shape[k]:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {d}"
            )
    return _picked(x, d, i).reshape(shape)


@gather.vjp
def _(grad, input, dim, index):
    base = jnp.zeros_like(_lifted(input))
    if index.size == 0:
        return base.reshape(input.shape), None
    i = _lifted(index)
    d = canonical_dim(dim, input.ndim)
    return written(base, d, i, _lifted(grad), "add").reshape(input.shape), None


def _scatter_shapes(name: str, input, dim: int, index, src) -> None:
    if index.size and max(index.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if src is not None and index.size and max(index.ndim, 1) != max(src.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    i, x = _lifted(index), _lifted(input)
    s = None if src is None else _lifted(src)
    for k in range(i.ndim if index.size else 0):
        if (k != dim and i.shape[k] > x.shape[k]) or (s is not None and i.shape[k] > s.shape[k]):
            beyond = f" and to be no larger size than src {list(src.shape)}" if src is not None else ""
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {dim}{beyond}"
            )


_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _combine(x, dim: int, index, src, how: str | None, include_self: bool):
    """``x`` with ``src`` written or reduced into the places of ``index`` (neither is 0-d here)."""
    if how is None:
        return written(x, dim, index, src)
    if not include_self:
        x = written(x, dim, index, _neutral(how, x.dtype))
    if how == "prod":
        return _products(x, dim, index, src)
    if how in ("amax", "amin"):
        return written(x, dim, index, src, how[1:])
    total = written(x, dim, index, src, "add")
    if how == "sum":
        return total
    return _divide(total, _counts(x, dim, index, include_self))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _products(x, dim: int, index, src):
    """``src`` multiplied into the places of ``index``. JAX has no derivative of this where places repeat."""
    return written(x, dim, index, src, "multiply")


@_products.defjvp
def _(dim, primals, tangents):
    x, index, src = primals
    result = _products(x, dim, index, src)
    of_self, of_src = _other_factors(x, dim, index, src, result)
    return result, written(tangents[0] * of_self, dim, index, tangents[2] * of_src, "add")


def _other_factors(x, dim: int, index, src, result):
    """For each factor of ``_products``, the product of the others: by division, and anew where a single one is zero."""
    ones = jnp.ones((), x.dtype)
    nonzero = jnp.where(x == 0, ones, x)
    of_self = _products(nonzero, dim, index, src) / nonzero
    zero = src == 0
    zeros_there = written(jnp.zeros(x.shape, np.int32), dim, index, zero.astype(np.int32), "add")
    single = zero & (_picked(zeros_there, dim, index) == 1)
    without = _products(x, dim, index, jnp.where(single, ones, src))
    of_src = jnp.where(single, _picked(without, dim, index), _picked(result, dim, index) / jnp.where(zero, ones, src))
    return of_self, of_src


def _counts(x, dim: int, index, include_self: bool):
    """How many values each place averages, at least 1."""
    start = jnp.ones(x.shape, np.int32) if include_self else jnp.zeros(x.shape, np.int32)
    return jnp.maximum(written(start, dim, index, np.int32(1), "add"), 1)


def _divide(total, count):
    if promotion.is_inexact(np.dtype(total.dtype)):
        return total / count.astype(promotion.real_of(np.dtype(total.dtype)))
    return total // count.astype(total.dtype)


def _neutral(how: str, dtype):
    """What does not change a reduction."""
    if how in ("sum", "mean"):
        return np.zeros((), dtype)
    if how == "prod":
        return np.ones((), dtype)
    low = how == "amax"
    kind = promotion.kind(np.dtype(dtype))
    if kind == 0:
        return np.asarray(not low)
    if kind == 1:
        return np.asarray(np.iinfo(dtype).min if low else np.iinfo(dtype).max, dtype)
    return np.asarray(-np.inf if low else np.inf, dtype)


def _scattered(name: str, input, dim: int, index, src, how: str | None = None, include_self: bool = True):
    """The body that the scatter operators share."""
    d = canonical_dim(dim, input.ndim)
    _scatter_shapes(name, input, d, index, src)
    if index.size == 0:
        return input
    if index.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    x, i = _lifted(input), _lifted(index)
    s = _head(_lifted(src), i)
    return _combine(x, d, i, s, how, include_self).reshape(input.shape)


_LEGACY = {None: None, "add": "sum", "multiply": "prod"}


def _legacy_reduction(reduce: str | None) -> str | None:
    if reduce not in _LEGACY:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _LEGACY[reduce]


@op(inplace=True)
def scatter(input: Array, dim: Dim, index: Array, src: Array, *, reduce: str | None = None):
    """``input`` with ``out[index[i][j]][j] = src[i][j]`` (for ``dim`` 0), or added or multiplied in (``reduce``)."""
    _same_dtype("scatter", input, src, "src")
    return _scattered("scatter", input, dim, index, src, _legacy_reduction(reduce))


@scatter.vjp
def _(grad, input, dim, index, src, reduce):
    if reduce is not None:
        raise RuntimeError("the derivative for 'scatter' with reduce is not implemented; use scatter_reduce")
    d = canonical_dim(dim, grad.ndim)
    if index.size == 0:
        return grad, None, jnp.zeros_like(src)
    g, i = _lifted(grad), _lifted(index)
    kept = written(g, d, i, 0).reshape(input.shape)
    return kept, None, _spread(_picked(g, d, i), _lifted(src)).reshape(src.shape)


@op(name="scatter", inplace=True)
def scatter_value(input: Array, dim: Dim, index: Array, value: Scalar, *, reduce: str | None = None):
    """``input`` with one number at the places of ``index``."""
    if index.size == 0:
        return input
    src = jnp.broadcast_to(_as(value, input.dtype), index.shape)
    return _scattered("scatter", input, dim, index, src, _legacy_reduction(reduce))


@scatter_value.vjp
def _(grad, input, dim, index, reduce):
    if reduce is not None:
        raise RuntimeError("the derivative for 'scatter' with reduce is not implemented; use scatter_reduce")
    if index.size == 0:
        return grad, None
    g, i = _lifted(grad), _lifted(index)
    return written(g, canonical_dim(dim, grad.ndim), i, 0).reshape(input.shape), None


def _as(value, dtype):
    """A number, or a traced one, in ``dtype``."""
    if type(value) in (bool, int, float, complex):
        return np.asarray(value).astype(dtype)
    return value.astype(dtype)


@op(inplace=True, autocast="promote")
def scatter_add(input: Array, dim: Dim, index: Array, src: Array):
    """``input`` with ``src`` added at the places of ``index`` along ``dim``."""
    _same_dtype("scatter", input, src, "src")
    return _scattered("scatter_add", input, dim, index, src, "sum")


@scatter_add.vjp
def _(grad, input, dim, index, src):
    if index.size == 0:
        return grad, None, jnp.zeros_like(src)
    g, i = _lifted(grad), _lifted(index)
    picked = _picked(g, canonical_dim(dim, grad.ndim), i)
    return grad, None, _spread(picked, _lifted(src)).reshape(src.shape)


@op(inplace=True)
def scatter_reduce(input: Array, dim: Dim, index: Array, src: Array, reduce: str, *, include_self: bool = True):
    """``input`` with ``src`` reduced into the places of ``index``: "sum", "prod", "mean", "amax" or "amin".

    Without ``include_self`` the values of ``input`` at those places do not take part.
    """
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _same_dtype("scatter", input, src, "src")
    return _scattered("scatter_reduce", input, dim, index, src, reduce, include_self)


@scatter_reduce.vjp
def _(grad, result, input, dim, index, src, reduce, include_self):
    if index.size == 0:
        return grad, None, jnp.zeros_like(src)
    d = canonical_dim(dim, input.ndim)
    i = _lifted(index)
    to_self, to_src = _reduction_grads(
        _lifted(grad), _lifted(result), _lifted(input), d, i, _head(_lifted(src), i), reduce, include_self
    )
    return to_self.reshape(input.shape), None, _spread(to_src, _lifted(src)).reshape(src.shape)


def _reduction_grads(grad, result, x, dim: int, index, src, how: str, include_self: bool):
    """Gradients of ``_combine``. Ties of amax and amin share the gradient; a single zero factor keeps its product."""

    def pick(a):
        return _picked(a, dim, index)

    if how == "sum":
        to_self, to_src = grad, pick(grad)
    elif how == "mean":
        share = grad / _counts(x, dim, index, include_self).astype(promotion.real_of(np.dtype(grad.dtype)))
        to_self, to_src = share, pick(share)
    elif how == "prod":
        start = x if include_self else written(x, dim, index, 1)
        of_self, of_src = _other_factors(start, dim, index, src, result)
        to_self, to_src = grad * jnp.conj(of_self), pick(grad) * jnp.conj(of_src)
    else:
        from_self, from_src = x == result, src == pick(result)
        ties = written(from_self.astype(np.int32), dim, index, from_src.astype(np.int32), "add")
        share = grad / jnp.maximum(ties, 1).astype(grad.dtype)
        to_self, to_src = jnp.where(from_self, share, 0), jnp.where(from_src, pick(share), 0)
    if not include_self:
        to_self = written(to_self, dim, index, 0)
    return to_self, to_src


# -- along one dimension, by a list of positions ----------------------------------------------------------------------


def _line(name: str, index):
    """An index of one dimension."""
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    if index.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index")
    return _lifted(index)


def _at(x, dim: int, index):
    return x.at[(slice(None),) * dim + (index,)]


def _along(x, dim: int, index):
    """The slices of ``x`` at ``index`` along ``dim``."""
    if x.shape[dim] == 0 or index.size == 0:
        return jnp.zeros((*x.shape[:dim], index.size, *x.shape[dim + 1:]), x.dtype)
    return jnp.take(x, index, axis=dim, mode="clip")


@op()
def index_select(input: Array, dim: Dim, index: Array):
    """The slices of ``input`` at the positions ``index`` along ``dim``."""
    d = canonical_dim(dim, input.ndim)
    index = _line("index_select", index)
    x = _lifted(input)
    return _along(x, d, index) if input.ndim else _along(x, 0, index).reshape(() if index.size == 1 else (index.size,))


@index_select.vjp
def _(grad, input, dim, index):
    d = canonical_dim(dim, input.ndim)
    base = jnp.zeros_like(_lifted(input))
    return _at(base, d, _lifted(index)).add(_lifted(grad), mode=IN_BOUNDS).reshape(input.shape), None


def _source_shape(name: str, x, dim: int, index, source) -> None:
    """Checks that ``source`` holds one slice of ``x`` for each position."""
    if source.ndim and max(source.ndim, 1) != max(x.ndim, 1):
        raise RuntimeError(f"{name}(): Source/destination tensor must have same slice shapes, got {list(x.shape)} and {list(source.shape)}")
    s = _lifted(source)
    if s.shape[dim if s.ndim > dim else 0] != index.size:
        raise RuntimeError(
            f"{name}_(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({s.shape[dim if s.ndim > dim else 0]}), for dim: {dim}"
        )
    want = x.shape[:dim] + x.shape[dim + 1:]
    have = s.shape[:dim] + s.shape[dim + 1:]
    if want != have:
        raise RuntimeError(
            f"{name}(): Source/destination tensor must have same slice shapes. Destination slice shape: {list(want)} at dimension "
            f"{dim} and source slice shape: {list(have)} at dimension {dim}."
        )


@op(inplace=True)
def index_add(input: Array, dim: Dim, index: Array, source: Array, *, alpha: Scalar = 1):
    """``input`` with ``alpha * source`` added at the positions ``index`` along ``dim``."""
    d = canonical_dim(dim, input.ndim)
    index = _line("index_add", index)
    _same_dtype("index_add", input, source, "source")
    if promotion.kind(np.dtype(input.dtype)) < 2 and scalar_kind(alpha) == "float":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    x = _lifted(input)
    _source_shape("index_add", x, d, index, source)
    s = source.reshape(x.shape[:d] + (index.size,) + x.shape[d + 1:])
    if not (type(alpha) is int and alpha == 1):
        s = s * _as(alpha, s.dtype)
    at = _at(x, d, index)
    return (at.max(s, mode=IN_BOUNDS) if s.dtype == bool else at.add(s, mode=IN_BOUNDS)).reshape(input.shape)


@op(inplace=True)
def index_copy(input: Array, dim: Dim, index: Array, source: Array):
    """``input`` with the slices at the positions ``index`` along ``dim`` replaced by those of ``source``."""
    d = canonical_dim(dim, input.ndim)
    index = _line("index_copy", index)
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {input.dtype} and (source) {source.dtype}"
        )
    x = _lifted(input)
    _source_shape("index_copy", x, d, index, source)
    s = source.reshape(x.shape[:d] + (index.size,) + x.shape[d + 1:])
    return _at(x, d, index).set(s, mode=IN_BOUNDS).reshape(input.shape)


@index_copy.vjp
def _(grad, input, dim, index, source):
    d = canonical_dim(dim, input.ndim)
    g, i = _lifted(grad), _lifted(index)
    kept = _at(g, d, i).set(0, mode=IN_BOUNDS).reshape(input.shape)
    return kept, None, _along(g, d, i).reshape(source.shape)


def _index_fill(input, dim: int, index, value):
    d = canonical_dim(dim, input.ndim)
    index = _line("index_fill_", index)
    return _at(_lifted(input), d, index).set(value, mode=IN_BOUNDS).reshape(input.shape)


def _zeroed(grad, dim: int, index):
    d = canonical_dim(dim, grad.ndim)
    return _at(_lifted(grad), d, _lifted(index)).set(0, mode=IN_BOUNDS).reshape(grad.shape)


@op(name="index_fill", inplace=True)
def index_fill(input: Array, dim: Dim, index: Array, value: Array):
    """``input`` with the 0-d ``value`` at the positions ``index`` along ``dim``."""
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return _index_fill(input, dim, index, value.astype(input.dtype))


@index_fill.vjp
def _(grad, dim, index):
    # A position that occurs twice counts once.
    kept = _zeroed(grad, dim, index)
    return kept, None, (grad - kept).sum()


@op(name="index_fill", inplace=True)
def index_fill_number(input: Array, dim: Dim, index: Array, value: Scalar):
    """``input`` with a number at the positions ``index`` along ``dim``."""
    _representable(input, value)
    return _index_fill(input, dim, index, _as(value, input.dtype))


@index_fill_number.vjp
def _(grad, dim, index):
    return _zeroed(grad, dim, index), None


def _representable(input, value) -> None:
    if scalar_kind(value) == "complex" and not promotion.is_complex(np.dtype(input.dtype)):
        raise RuntimeError(f"value cannot be converted to type {input.dtype.name} without overflow")


@op(inplace=True)
def index_reduce(input: Array, dim: Dim, index: Array, source: Array, reduce: str, *, include_self: bool = True):
    """``input`` with the slices of ``source`` reduced in at ``index``: "prod", "mean", "amax" or "amin"."""
    if reduce not in _REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    d = canonical_dim(dim, input.ndim)
    index = _line("index_reduce", index)
    _same_dtype("index_reduce", input, source, "source")
    x = _lifted(input)
    _source_shape("index_reduce", x, d, index, source)
    s = source.reshape(x.shape[:d] + (index.size,) + x.shape[d + 1:])
    return _combine(x, d, _widened(index, d, s.shape), s, reduce, include_self).reshape(input.shape)


def _widened(index, dim: int, shape: tuple[int, ...]):
    """A line of positions as a scatter index of ``shape``."""
    return jnp.broadcast_to(index.reshape([-1 if k == dim else 1 for k in range(len(shape))]), shape)


@index_reduce.vjp
def _(grad, result, input, dim, index, source, reduce, include_self):
    d = canonical_dim(dim, input.ndim)
    x = _lifted(input)
    s = source.reshape(x.shape[:d] + (index.size,) + x.shape[d + 1:])
    to_self, to_src = _reduction_grads(
        _lifted(grad), _lifted(result), x, d, _widened(_lifted(index), d, s.shape), s, reduce, include_self
    )
    return to_self.reshape(input.shape), None, to_src.reshape(source.shape)


# -- the flat tensor --------------------------------------------------------------------------------------------------


@op()
def take(input: Array, index: Array):
    """The elements of the flat ``input`` at ``index`` (negative ones count from the end), in the shape of ``index``."""
    if index.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {type_name(index.dtype)}")
    if input.size == 0:
        if index.size:
            raise IndexError("take(): tried to take from an empty tensor")
        return jnp.zeros(index.shape, input.dtype)
    return input.reshape(-1).at[index].get(mode=IN_BOUNDS)


@op(inplace=True)
def put(input: Array, index: Array, source: Array, accumulate: bool = False):
    """``input`` with the elements of the flat tensor at ``index`` replaced by, or increased by, those of ``source``."""
    if index.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {type_name(index.dtype)}")
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype} and source.dtype = {source.dtype}"
        )
    if index.size != source.size:
        raise RuntimeError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = {source.size}, "
            f"index.numel() = {index.size}"
        )
    if input.size == 0 and index.size:
        raise IndexError("put_(): tried to put elements into an empty tensor")
    at = input.reshape(-1).at[index.reshape(-1)]
    write = at.set if not accumulate else at.max if source.dtype == bool else at.add
    return write(source.reshape(-1), mode=IN_BOUNDS).reshape(input.shape)


@put.vjp
def _(grad, input, index, source, accumulate):
    flat, at = grad.reshape(-1), index.reshape(-1)
    to_source = flat[at].reshape(source.shape) if grad.size else jnp.zeros_like(source)
    return grad if accumulate else flat.at[at].set(0, mode=IN_BOUNDS).reshape(input.shape), None, to_source


@op(node="GatherBackward0")
def take_along_dim(input: Array, indices: Array, dim: int | None = None):
    """``gather`` after broadcasting ``input`` and ``indices``; over the flat tensors without ``dim``."""
    if indices.dtype != np.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {type_name(indices.dtype)}")
    if dim is None:
        input, indices, dim = input.reshape(-1), indices.reshape(-1), 0
    if input.ndim != indices.ndim:
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {input.ndim} dimensions for "
            f"input, and {indices.ndim} dimensions for indices"
        )
    d = canonical_dim(dim, input.ndim)
    rest_x = tuple(1 if k == d else n for k, n in enumerate(input.shape))
    rest_i = tuple(1 if k == d else n for k, n in enumerate(indices.shape))
    common = jnp.broadcast_shapes(rest_x, rest_i)
    x = jnp.broadcast_to(input, tuple(input.shape[k] if k == d else n for k, n in enumerate(common)))
    i = jnp.broadcast_to(indices, tuple(indices.shape[k] if k == d else n for k, n in enumerate(common)))
    return _picked(x, d, jnp.where(i < 0, i + x.shape[d], i))


# -- masks ------------------------------------------------------------------------------------------------------------


def _check_mask(name: str, mask) -> None:
    if mask.dtype != bool:
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {type_name(mask.dtype).lower()}")


@op(inplace=True)
def masked_fill(input: Array, mask: Array, value: Array | Scalar):
    """``input`` with ``value`` (a number or a 0-d tensor) where ``mask`` is true; both broadcast."""
    _check_mask("masked_fill_", mask)
    if hasattr(value, "ndim") and value.ndim:
        raise RuntimeError(
            f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    _representable(input, value)
    return jnp.where(mask, _as(value, input.dtype), input)


@masked_fill.vjp
def _(grad, input, mask, value):
    zero = jnp.zeros((), grad.dtype)
    return jnp.where(mask, zero, grad), None, jnp.where(mask, grad, zero).sum()


@op(inplace=True)
def masked_scatter(input: Array, mask: Array, source: Array):
    """``input`` with the elements where ``mask`` is true replaced by the elements of ``source`` in order."""
    _check_mask("masked_scatter_", mask)
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"masked_scatter_: expected self and source to have same dtypes but got {input.dtype.name} and {source.dtype.name}"
        )
    shape = jnp.broadcast_shapes(input.shape, mask.shape)
    input, mask = jnp.broadcast_to(input, shape), jnp.broadcast_to(mask, shape)
    if input.size == 0 or source.size == 0:
        return input
    # the n-th true place takes the n-th element
    order = jnp.cumsum(mask.reshape(-1)).reshape(shape) - 1
    return jnp.where(mask, jnp.take(source.reshape(-1), order, mode="clip"), input)


# -- tables -----------------------------------------------------------------------------------------------------------


@op(namespace="nn.functional", function=False, differentiable=False)
def one_hot(tensor: Array, num_classes: int):
    """Rows of zeros with a one at each class number: ``(*, num_classes)`` int64."""
    if tensor.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    return (tensor[..., None] == jnp.arange(num_classes)).astype(np.int64)


# -- search -----------------------------------------------------------------------------------------------------------


def _search(edges, values, right: bool):
    """Where ``values`` would be inserted in the sorted last dimension of ``edges``; int64."""
    side = "right" if right else "left"
    if edges.ndim == 1:
        # Few edges: comparing with all of them is one fused loop. Else a binary search.
        method = "compare_all" if edges.shape[0] <= 64 else "scan_unrolled"
        return jnp.searchsorted(edges, values, side=side, method=method)
    rows = edges.reshape(-1, edges.shape[-1])
    wanted = values.reshape(-1, values.shape[-1])
    found = jax.vmap(lambda e, v: jnp.searchsorted(e, v, side=side, method="scan_unrolled"))(rows, wanted)
    return found.reshape(values.shape)


def _found(edges, values, right: bool, out_int32: bool):
    dtype = promotion.promote_types(np.dtype(edges.dtype), np.dtype(values.dtype))
    kind = np.int32 if out_int32 else np.int64
    if edges.shape[-1] == 0 or values.size == 0:
        return jnp.zeros(values.shape, kind)
    return _search(edges.astype(dtype), values.astype(dtype), right).astype(kind)


def _side(right: bool, side: str | None) -> bool:
    if side is None:
        return right
    if side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    return side == "right"


@op(method=False, differentiable=False)
def searchsorted(sorted_sequence: Array, input: Array | Scalar, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Array | None = None):  # fmt: skip
    """Where ``input`` would be inserted to keep the last dimension of ``sorted_sequence`` in order."""
    right = _side(right, side)
    values = _value(input, sorted_sequence)
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(sorted_sequence.shape)} and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype != np.int64:
            raise RuntimeError(f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype.name}")
        if sorter.size:
            sorted_sequence = jnp.take_along_axis(sorted_sequence, sorter, axis=-1, mode="clip")
    if sorted_sequence.ndim == 0:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have at least 1 dimension")
    if values.ndim == 0 and sorted_sequence.ndim != 1:
        raise RuntimeError(
            f"torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries "
            f"tensor dim({sorted_sequence.ndim}) and input value's dim(0) numel(1)"
        )
    if sorted_sequence.ndim != 1 and (values.ndim != sorted_sequence.ndim or values.shape[:-1] != sorted_sequence.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and input value tensor "
            f"{list(values.shape)}"
        )
    return _found(sorted_sequence, values, right, out_int32)


def _value(input, like):
    if type(input) in (bool, int, float):
        kind = promotion.number_dtype(type(input).__name__)
        return jnp.asarray(input, kind if promotion.kind(kind) > promotion.kind(np.dtype(like.dtype)) else like.dtype)
    return input


@op(method=False, differentiable=False)
def bucketize(input: Array | Scalar, boundaries: Array, *, out_int32: bool = False, right: bool = False):
    """The number of the interval between ``boundaries`` (1-d, ascending) that each element lies in."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return _found(boundaries, _value(input, boundaries), right, out_int32)


# -- histograms -------------------------------------------------------------------------------------------------------


def _range_of(x, low, high):
    """The range of a histogram: the data's when both ends are equal, one wide when that is a point."""
    if x.size:
        same = low == high
        low, high = jnp.where(same, x.min(), low), jnp.where(same, x.max(), high)
    point = low == high
    return jnp.where(point, low - 1, low), jnp.where(point, high + 1, high)


def _binned(x, low, high, bins: int):
    """The bin of each element, and whether it lies in the range. The last bin contains its upper end."""
    position = jnp.floor((x - low) / (high - low) * bins)
    inside = (x >= low) & (x <= high)
    return jnp.clip(jnp.where(inside, position, 0), 0, bins - 1).astype(np.int32), inside


@op(differentiable=False)
def histc(input: Array, bins: int = 100, min: Scalar = 0, max: Scalar = 0):
    """How many elements lie in each of ``bins`` equal intervals from ``min`` to ``max`` (the data's when equal)."""
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    reject("histogram_cpu", input, BOOL, INTEGER)
    if type(min) in (int, float) and type(max) in (int, float) and min > max:
        raise RuntimeError("max must be larger than min")
    dtype = np.dtype(input.dtype)
    x = input.reshape(-1)
    low, high = _range_of(x, _as(min, x.dtype), _as(max, x.dtype))
    place, inside = _binned(x, low, high, bins)
    return jnp.zeros(bins, dtype).at[place].add(inside.astype(dtype), mode=IN_BOUNDS)


@op(method=False, function=False, differentiable=False)
def histogram_between(input: Array, edges: Array, weight: Array | None = None, density: bool = False):
    """The (weighted) count between neighbouring ``edges``; with ``density``, integrating to one."""
    x = input.reshape(-1)
    n = edges.shape[0] - 1
    place = jnp.searchsorted(edges, x, side="right") - 1
    place = jnp.where(x == edges[-1], n - 1, place)
    inside = (x >= edges[0]) & (x <= edges[-1])
    w = jnp.ones_like(x) if weight is None else weight.reshape(-1)
    counts = jnp.zeros(n, x.dtype).at[jnp.clip(place, 0, n - 1)].add(jnp.where(inside, w, 0), mode=IN_BOUNDS)
    return counts / (counts.sum() * jnp.diff(edges)) if density else counts


@op(method=False, function=False, differentiable=False)
def histogram_edges(input: Array, bins: int, low: Scalar | None = None, high: Scalar | None = None):
    """``bins + 1`` equally spaced edges over a range, or over that of the data."""
    x = input.reshape(-1)
    if low is None:
        low, high = (x.min(), x.max()) if x.size else (jnp.zeros((), x.dtype), jnp.ones((), x.dtype))
    low, high = _as(low, x.dtype), _as(high, x.dtype)
    point = low == high
    low, high = jnp.where(point, low - 0.5, low), jnp.where(point, high + 0.5, high)
    step = (high - low) / bins
    i = jnp.arange(bins + 1)
    # from both ends, as torch.linspace
    edges = jnp.where(i < (bins + 1) // 2, low + step * i, high - step * (bins - i))
    return edges.astype(x.dtype)


@op(method=False, function=False, differentiable=False)
def histogram_cells(input: Array, edges: Sequence[Array], weight: Array | None = None, density: bool = False):
    """The (weighted) count in each cell of a grid; ``input`` is ``(N, D)``, one tensor of edges a dimension."""
    shape = tuple(e.shape[0] - 1 for e in edges)
    points = input.reshape(-1, len(shape))
    inside = jnp.ones(points.shape[0], bool)
    flat = jnp.zeros(points.shape[0], np.int64)
    for k, e in enumerate(edges):
        x = points[:, k]
        place = jnp.searchsorted(e, x, side="right") - 1
        place = jnp.where(x == e[-1], shape[k] - 1, place)
        inside &= (x >= e[0]) & (x <= e[-1])
        flat = flat * shape[k] + jnp.clip(place, 0, shape[k] - 1)
    w = jnp.ones(points.shape[0], input.dtype) if weight is None else weight.reshape(-1)
    counts = jnp.zeros(int(np.prod(shape)), input.dtype).at[flat].add(jnp.where(inside, w, 0), mode=IN_BOUNDS).reshape(shape)
    if density:
        counts = counts / counts.sum()
        for k, e in enumerate(edges):
            counts = counts / jnp.diff(e).reshape([-1 if j == k else 1 for j in range(len(shape))])
    return counts


# -- sizes that depend on values: on the host -------------------------------------------------------------------------


@op(host=True, differentiable=False)
def bincount(input: Array, weights: Array | None = None, minlength: int = 0):
    """How often each value of a 1-d tensor of non-negative ints occurs (or the sum of its ``weights``)."""
    if input.dtype.kind not in "iu":
        raise unsupported("bincount_cpu", input.dtype)
    if input.ndim != 1 or (input.size and input.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None:
        if weights.shape != input.shape:
            raise RuntimeError("weights should be 1-d and have the same length as input")
        dtype = weights.dtype if weights.dtype == np.float32 else np.float64
        return np.bincount(input.astype(np.int64), weights.astype(np.float64), minlength).astype(dtype)
    return np.bincount(input.astype(np.int64), None, minlength).astype(np.int64)


@op(host=True, method=False, function=False, differentiable=False)
def nonzero_positions(input: Array):
    """The positions of the elements that are not zero: ``(count, ndim)`` int64, in order."""
    if input.ndim == 0:
        return np.zeros((int(bool(input)), 0), np.int64)
    return np.stack(np.nonzero(input), axis=1).astype(np.int64)


@op(host=True, method=False, function=False, differentiable=False)
def unique_positions(input: Array, dim: int | None = None):
    """For ``unique``: where each distinct element (slice along ``dim``) occurs first, the inverse, the counts."""
    rows = input.reshape(-1) if dim is None else _rows(input, dim)
    _, first, inverse, counts = np.unique(rows, return_index=True, return_inverse=True, return_counts=True,
                                          axis=None if dim is None else 0, equal_nan=False)  # fmt: skip
    shape = input.shape if dim is None else (rows.shape[0],)
    return first.astype(np.int64), inverse.reshape(shape).astype(np.int64), counts.astype(np.int64)


@op(host=True, method=False, function=False, differentiable=False)
def run_positions(input: Array, dim: int | None = None):
    """For ``unique_consecutive``: where each run of equal elements (slices along ``dim``) starts, inverse, lengths."""
    rows = input.reshape(-1, 1) if dim is None else _rows(input, dim)
    shape = input.shape if dim is None else (rows.shape[0],)
    if rows.shape[0] == 0:
        return np.zeros(0, np.int64), np.zeros(shape, np.int64), np.zeros(0, np.int64)
    starts = np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])
    first = np.flatnonzero(starts)
    counts = np.diff(np.append(first, rows.shape[0]))
    return first.astype(np.int64), (np.cumsum(starts) - 1).reshape(shape).astype(np.int64), counts.astype(np.int64)


def _rows(input: np.ndarray, dim: int) -> np.ndarray:
    d = canonical_dim(dim, input.ndim)
    rows = np.moveaxis(input, d, 0)
    return rows.reshape(rows.shape[0], math.prod(rows.shape[1:]))


@op(differentiable=False)
def nonzero_static(input: Array, *, size: int, fill_value: int = -1):
    """The first ``size`` positions of non-zero elements, filled up with ``fill_value``: ``(size, ndim)``."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if input.ndim == 0:
        return jnp.zeros((size, 0), np.int64)
    if input.size == 0:
        return jnp.full((size, input.ndim), fill_value, np.int64)
    found = jnp.nonzero(input, size=size, fill_value=fill_value)
    return jnp.stack(found, axis=1).astype(np.int64)


@op(method=False, function=False, differentiable=False)
def unravel_index(indices: Array, shape: Ints):
    """Positions in a flat tensor as positions in one of ``shape``: one tensor a dimension."""
    return jnp.unravel_index(indices, shape)
