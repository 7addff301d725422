"""Order and running totals: ``sort, topk, kthvalue, median, mode, quantile, cumsum, cumprod, cummax, logcumsumexp, isin``.

NaN counts as the largest number, as in torch.

XLA:CPU sorts pairs (value, position) with a slow general comparison: 124 ms for 1e6 float32 in rows of 1000 (torch 39).
Packed into one int64 - a key with the order of the value above, the position below - it takes 18 ms and is stable by
itself. Running totals are associative scans: 1.6 ms for 1e6 elements where XLA's own lowering takes 2.6 to 4.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops import promotion
from torchlike.ops.declare import LONG, Array, Dim, DType, Scalar, canonical_dim, op, platform
from torchlike.ops.dtype_errors import BOOL, COMPLEX, INTEGER, is_bool, reject
from torchlike.ops.indexing_ops import written

# -- keys -------------------------------------------------------------------------------------------------------------


def _key(x):
    """Integers in the order of ``x``: NaN is the largest, 0.0 and -0.0 are equal; int32 where that is wide enough."""
    kind = promotion.kind(np.dtype(x.dtype))
    if kind == COMPLEX:
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    if kind < 2:
        if x.dtype == np.uint64:
            return lax.bitcast_convert_type(x ^ np.uint64(1 << 63), np.int64)
        return x.astype(np.int64 if x.dtype in (np.int64, np.uint32) else np.int32)
    if x.dtype.itemsize < 4:
        x = x.astype(np.float32)
    x = jnp.where(x == 0, jnp.zeros((), x.dtype), jnp.where(jnp.isnan(x), jnp.full((), np.nan, x.dtype), x))
    bits = lax.bitcast_convert_type(x, np.int32 if x.dtype == np.float32 else np.int64)
    return bits ^ ((bits >> (8 * x.dtype.itemsize - 1)) & np.asarray(np.iinfo(bits.dtype).max, bits.dtype))


def _order_by(key):
    """The positions that put an int32 key in order along the last axis, stably; int64."""
    position = lax.broadcasted_iota(np.int64, key.shape, key.ndim - 1)
    packed = (key.astype(np.int64) << 32) | position
    return lax.sort(packed, dimension=key.ndim - 1, is_stable=False) & 0xFFFFFFFF


def _order(x, descending: bool):
    """The positions that sort ``x`` along its last axis, equal elements in their order."""
    key = _key(x)
    if descending:
        key = ~key  # reverses the order of integers without overflow
    if platform() != "cpu":
        position = lax.broadcasted_iota(np.int64, key.shape, key.ndim - 1)
        return lax.sort((key, position), dimension=key.ndim - 1, num_keys=1, is_stable=True)[1]
    if key.dtype == np.int32:
        return _order_by(key)
    # 64 bits do not fit beside a position: order by the lower half, then stably by the upper half.
    low = ((key & 0xFFFFFFFF) - (1 << 31)).astype(np.int32)
    first = _order_by(low)
    high = jnp.take_along_axis((key >> 32).astype(np.int32), first, axis=-1, mode="promise_in_bounds")
    second = _order_by(high)
    return jnp.take_along_axis(first, second, axis=-1, mode="promise_in_bounds")


def _last(x, dim: int):
    """``x`` with ``dim`` moved to the end."""
    return x if dim == x.ndim - 1 else jnp.moveaxis(x, dim, -1)


def _back(x, dim: int):
    return x if dim == x.ndim - 1 else jnp.moveaxis(x, -1, dim)


def _pick(x, index):
    """Elements of the last axis at positions known to be in range."""
    return jnp.take_along_axis(x, index, axis=-1, mode="promise_in_bounds")


def _put_back(grad, index, like, dim: int, keepdim: bool):
    """The gradient of elements that were picked at ``index`` along ``dim``, as a gradient of the whole."""
    if like.ndim == 0:
        return grad
    d = canonical_dim(dim, like.ndim)
    if not keepdim:
        grad, index = jnp.expand_dims(grad, d), jnp.expand_dims(index, d)
    # Positions are distinct within a line, so this is a plain write.
    return written(jnp.zeros_like(like), d, index, grad, unique=True)


# -- sort -------------------------------------------------------------------------------------------------------------


def _sorted(input, dim: int, descending: bool):
    d = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        return input, jnp.zeros((), np.int64)
    x = _last(input, d)
    order = _order(x, descending)
    return _back(_pick(x, order), d), _back(order, d)


@op(returns=("values", "indices"), out=("values", "indices"))
def sort(input: Array, dim: Dim = -1, descending: bool = False, stable: bool | None = False):
    """The elements in order along ``dim``, and where they were. Equal elements always keep their order."""
    return _sorted(input, dim, descending)


@sort.vjp
def _(grads, results, input, dim):
    return _put_back(grads[0], results[1], input, dim, True)


@op(differentiable=False)
def argsort(input: Array, dim: Dim = -1, descending: bool = False, stable: bool = False):
    """The positions that put ``input`` in order along ``dim``."""
    return _sorted(input, dim, descending)[1]


@op(node="SortBackward0")
def msort(input: Array):
    """The elements in order along the first dimension."""
    return _sorted(input, 0, False)[0]


@msort.vjp
def _(grad, input):
    return _put_back(grad, _sorted(input, 0, False)[1], input, 0, True)


def _top(x, k: int, largest: bool):
    """Positions of the ``k`` largest (or smallest) along the last axis, in order."""
    dtype = np.dtype(x.dtype)
    if dtype == np.float32 or promotion.is_low_precision(dtype):
        # XLA:CPU has a fast selection for float32 only; there NaN is the largest.
        wide = x.astype(np.float32)
        if not largest:
            wide = jnp.where(jnp.isnan(wide), -np.inf, -wide)
        return lax.top_k(wide, k)[1].astype(np.int64)
    return lax.slice_in_dim(_order(x, largest), 0, k, axis=-1)


@op(returns=("values", "indices"), out=("values", "indices"))
def topk(input: Array, k: int, dim: Dim = -1, largest: bool = True, sorted: bool = True):
    """The ``k`` largest (or smallest) elements along ``dim`` in order, and where they are."""
    d = canonical_dim(dim, input.ndim)
    if not 0 <= k <= (input.shape[d] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if input.ndim == 0:
        return input, jnp.zeros((), np.int64)
    if promotion.kind(np.dtype(input.dtype)) in (BOOL, COMPLEX):
        raise RuntimeError(f" topk does not support {'bool' if is_bool(input) else 'complex'} dtypes on CPU")
    x = _last(input, d)
    index = _top(x, k, largest) if x.size else jnp.zeros((*x.shape[:-1], k), np.int64)
    values = _pick(x, index) if x.size and k else jnp.zeros((*x.shape[:-1], k), x.dtype)
    return _back(values, d), _back(index, d)


@topk.vjp
def _(grads, results, input, dim):
    return _put_back(grads[0], results[1], input, dim, True)


# -- one element by its rank ------------------------------------------------------------------------------------------


SELECTED = 4096  # from this many elements on, bisecting the key bits is faster than sorting (12 ms to 29 at 1e6)


def _select(key, rank):
    """The key of ``rank`` in each line of the last axis: its bits are found from the highest, by counting smaller keys."""
    kind = key.dtype
    bits = 8 * kind.itemsize
    lowest = np.iinfo(kind).min

    def bit(i, found):
        trial = found + (jnp.ones((), kind) << (bits - 1 - i).astype(kind))  # wraps for the sign bit, from lowest to 0
        smaller = (key < trial).sum(-1, keepdims=True, dtype=np.int32)
        return jnp.where(smaller <= rank, trial, found)

    return lax.fori_loop(0, bits, bit, jnp.full((*key.shape[:-1], 1), lowest, kind))


def _ranked(x, rank, d: int, keepdim: bool):
    """The element of ``rank`` (an int, or one for each line) along ``d``, and where it is."""
    x = _last(x, d)
    if x.size >= SELECTED:
        key = _key(x)
        found = _select(key, rank)
        # of equal elements, the one that a stable sort puts at this rank
        equal = key == found
        nth = rank - (key < found).sum(-1, keepdims=True, dtype=np.int32)
        order = _scan(jnp.add, equal.astype(np.int32), x.ndim - 1)
        index = jnp.argmax(equal & (order == nth + 1), axis=-1, keepdims=True).astype(np.int64)
    else:
        order = _order(x, False)
        index = lax.slice_in_dim(order, rank, rank + 1, axis=-1) if isinstance(rank, int) else _pick(order, rank)
    value = _pick(x, index)
    if keepdim:
        return _back(value, d), _back(index, d)
    return value[..., 0], index[..., 0]


@op(returns=("values", "indices"), out=("values", "indices"))
def kthvalue(input: Array, k: int, dim: Dim = -1, keepdim: bool = False):
    """The ``k``-th smallest element along ``dim`` (counted from 1), and where it is."""
    d = canonical_dim(dim, input.ndim)
    reject("kthvalue_cpu", input, BOOL, COMPLEX)
    n = input.shape[d] if input.ndim else 1
    if n == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {d} to have non-zero size.")
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    if input.ndim == 0:
        return input, jnp.zeros((), np.int64)
    return _ranked(input, k - 1, d, keepdim)


@kthvalue.vjp
def _(grads, results, input, dim, keepdim):
    return _put_back(grads[0], results[1], input, dim, keepdim)


def _is_nan(x):
    return jnp.isnan(x) if promotion.is_floating(np.dtype(x.dtype)) else jnp.zeros(x.shape, bool)


def _median_along(input, dim: int, keepdim: bool, ignore_nan: bool, name: str):
    """The lower median; NaN when there is one, unless NaNs are ignored."""
    reject("median_cpu", input, BOOL, COMPLEX)
    d = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        return input, jnp.zeros((), np.int64)
    n = input.shape[d]
    if n == 0:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    nans = _last(_is_nan(input), d).sum(-1, keepdims=True)
    if ignore_nan:
        rank = jnp.maximum(n - nans - 1, 0) // 2
    else:
        rank = jnp.where(nans > 0, n - nans, (n - 1) // 2)  # the first NaN follows all numbers
    return _ranked(input, rank, d, keepdim)


def _median_of_all(input, ignore_nan: bool):
    if input.size == 0:
        return jnp.full((), np.nan if promotion.is_floating(np.dtype(input.dtype)) else np.iinfo(input.dtype).min, input.dtype)
    return _median_along(input.reshape(-1), 0, False, ignore_nan, "median")[0]


def _shared(grad, result, input):
    """The gradient of one element of the whole tensor, shared by all that equal it."""
    equal = (input == result) | (_is_nan(input) & _is_nan(result))
    return jnp.where(equal, grad / equal.sum().astype(grad.dtype), 0)


@op()
def median(input: Array):
    """The median of all elements, the lower one of two; NaN when there is a NaN."""
    return _median_of_all(input, False)


@median.vjp
def _(grad, result, input):
    return _shared(grad, result, input)


@op(name="median", returns=("values", "indices"), out=("values", "indices"))
def median_dim(input: Array, dim: Dim, keepdim: bool = False):
    """The median along ``dim``, the lower one of two, and where it is; NaN when there is a NaN."""
    return _median_along(input, dim, keepdim, False, "median")


@median_dim.vjp
def _(grads, results, input, dim, keepdim):
    return _put_back(grads[0], results[1], input, dim, keepdim)


@op()
def nanmedian(input: Array):
    """The median of all elements that are not NaN."""
    return _median_of_all(input, True)


@nanmedian.vjp
def _(grad, result, input):
    return _shared(grad, result, input)


@op(name="nanmedian", returns=("values", "indices"), out=("values", "indices"))
def nanmedian_dim(input: Array, dim: Dim, keepdim: bool = False):
    """The median along ``dim`` of the elements that are not NaN, and where it is."""
    return _median_along(input, dim, keepdim, True, "nanmedian")


@nanmedian_dim.vjp
def _(grads, results, input, dim, keepdim):
    return _put_back(grads[0], results[1], input, dim, keepdim)


@op(returns=("values", "indices"), out=("values", "indices"))
def mode(input: Array, dim: Dim = -1, keepdim: bool = False):
    """The most frequent element along ``dim`` (the smallest of several), and where it occurs last."""
    d = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        return input, jnp.zeros((), np.int64)
    reject("mode_cpu", input, COMPLEX)
    n = input.shape[d]
    if n == 0:
        raise IndexError(f"mode(): Expected reduction dim {d} to have non-zero size.")
    x = _last(input, d)
    order = _order(x, False)
    ordered = _pick(x, order)
    # How many equal elements end at each place of the sorted line.
    starts = jnp.concatenate([jnp.ones((*x.shape[:-1], 1), bool), ordered[..., 1:] != ordered[..., :-1]], axis=-1)
    position = lax.broadcasted_iota(np.int32, x.shape, x.ndim - 1)
    run = position - _scan(jnp.maximum, jnp.where(starts, position, 0), x.ndim - 1)
    best = jnp.argmax(run, axis=-1, keepdims=True)
    index = _pick(order, best)
    value = _pick(x, index)
    if keepdim:
        return _back(value, d), _back(index, d)
    return value[..., 0], index[..., 0]


@mode.vjp
def _(grads, results, input, dim, keepdim):
    return _put_back(grads[0], results[1], input, dim, keepdim)


# -- quantiles --------------------------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(input, q, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool, name: str):
    if input.size == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input.dtype not in (np.float32, np.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if type(q) in (int, float):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = jnp.asarray(q, input.dtype)
    elif q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    elif q.dtype != input.dtype:
        if q.dtype != np.float64 or q.ndim:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        q = q.astype(input.dtype)
    single = q.ndim == 0
    ranks = q.reshape(-1)
    if dim is None:
        x, shape = input.reshape(-1), (1,) * input.ndim
    else:
        d = canonical_dim(dim, input.ndim)
        x = _last(input.reshape(1) if input.ndim == 0 else input, d)
        shape = () if input.ndim == 0 else input.shape[:d] + (1,) + input.shape[d + 1:]
    n = x.shape[-1]
    ordered = _pick(x, lax.stop_gradient(_order(x, False)))
    nans = jnp.isnan(x)
    if ignore_nan:
        size = (n - nans.sum(-1, keepdims=True)).astype(x.dtype)
        place = jnp.maximum(ranks * (size - 1), 0)
    else:
        place = jnp.broadcast_to(ranks * (n - 1), (*x.shape[:-1], ranks.size))
        place = jnp.where(nans.any(-1, keepdims=True), float(n - 1), place)
    if interpolation == "lower":
        place = jnp.floor(place)
    elif interpolation == "higher":
        place = jnp.ceil(place)
    elif interpolation == "nearest":
        place = jnp.round(place)
    low = jnp.floor(lax.stop_gradient(place)).astype(np.int64)
    value = _pick(ordered, low)
    if interpolation in ("linear", "midpoint"):
        high = jnp.ceil(lax.stop_gradient(place)).astype(np.int64)
        weight = jnp.full_like(place, 0.5) if interpolation == "midpoint" else place - low.astype(place.dtype)
        value = _lerp(value, _pick(ordered, high), weight)
    result = jnp.moveaxis(value, -1, 0)
    if keepdim:
        result = result.reshape(ranks.size, *shape)
    elif dim is not None:
        result = result.reshape(ranks.size, *(shape[:d] + shape[d + 1:]))
    else:
        result = result.reshape(ranks.size)
    return result[0] if single else result


def _lerp(start, end, weight):
    """``start`` to ``end``, computed from the nearer side as torch does; infinite ends that are equal stay."""
    gap = end - start
    near = jnp.where(weight < 0.5, start + weight * gap, end - gap * (1 - weight))
    return jnp.where(start == end, start + 0 * weight, near)


@op()
def quantile(input: Array, q: Array | Scalar, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"):
    """The q-quantiles along ``dim`` (of all elements without it); several ``q`` make a new first dimension."""
    return _quantile(input, q, dim, keepdim, interpolation, False, "quantile")


@op()
def nanquantile(input: Array, q: Array | Scalar, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"):
    """``quantile`` of the elements that are not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, True, "nanquantile")


# -- running totals ---------------------------------------------------------------------------------------------------


def _scan(combine: Callable, x, axis: int):
    return lax.associative_scan(combine, x, axis=axis) if x.shape[axis] else x


def _accumulated(input, dtype):
    """The input in the dtype to accumulate in, and the dtype of the result."""
    result = np.dtype(dtype or input.dtype)
    if promotion.kind(result) < 1:
        result = promotion.INT64 if dtype is None else result
    wide = promotion.FLOAT32 if promotion.is_low_precision(result) else result
    return input.astype(wide), result


@op(promote=LONG, opmath=False, inplace=True, strides="contiguous", autocast="fp32")
def cumsum(input: Array, dim: Dim, *, dtype: DType | None = None):
    """Running sums along ``dim``; bools and ints are summed as int64."""
    x, result = _accumulated(input, dtype)
    d = canonical_dim(dim, input.ndim)
    return (_scan(jnp.add, x, d) if input.ndim else x).astype(result)


@cumsum.vjp
def _(grad, input, dim):
    if input.ndim == 0:
        return grad
    wide = grad.astype(np.float32) if promotion.is_low_precision(np.dtype(grad.dtype)) else grad
    return lax.associative_scan(jnp.add, wide, axis=canonical_dim(dim, input.ndim), reverse=True) if grad.size else grad


@op(promote=LONG, opmath=False, inplace=True, strides="contiguous", autocast="fp32")
def cumprod(input: Array, dim: Dim, *, dtype: DType | None = None):
    """Running products along ``dim``.

    The gradient is that of the scan's products: without divisions, so zeros need no special care.
    """
    x, result = _accumulated(input, dtype)
    d = canonical_dim(dim, input.ndim)
    return (_scan(jnp.multiply, x, d) if input.ndim else x).astype(result)


def _extreme(input, dim: int, later):
    """Running extremes and where they occurred last; ``later(new, old)`` says whether the new element takes over."""
    d = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        return input, jnp.zeros((), np.int64)
    if input.size == 0:
        return input, jnp.zeros(input.shape, np.int64)
    reject("cummax_cpu", input, COMPLEX)
    position = lax.broadcasted_iota(np.int32, input.shape, d)

    def combine(old, new):
        takes = later(new[0], old[0]) | _is_nan(new[0])
        return jnp.where(takes, new[0], old[0]), jnp.where(takes, new[1], old[1])

    values, index = lax.associative_scan(combine, (input, position), axis=d)
    return values, index.astype(np.int64)


def _running_grad(grad, index, dim: int):
    if grad.ndim == 0 or grad.size == 0:
        return grad
    d = canonical_dim(dim, grad.ndim)
    return written(jnp.zeros_like(grad), d, index, grad, "add")


@op(returns=("values", "indices"), out=("values", "indices"))
def cummax(input: Array, dim: Dim):
    """Running maxima along ``dim`` and where they occurred last; NaN stays."""
    return _extreme(input, dim, lambda new, old: new >= old)


@cummax.vjp
def _(grads, results, dim):
    return _running_grad(grads[0], results[1], dim)


@op(returns=("values", "indices"), out=("values", "indices"))
def cummin(input: Array, dim: Dim):
    """Running minima along ``dim`` and where they occurred last; NaN stays."""
    return _extreme(input, dim, lambda new, old: new <= old)


@cummin.vjp
def _(grads, results, dim):
    return _running_grad(grads[0], results[1], dim)


@op()
def logcumsumexp(input: Array, dim: Dim):
    """``log(cumsum(exp(input)))`` along ``dim``, without overflow."""
    d = canonical_dim(dim, input.ndim)
    reject("logcumsumexp_out_cpu", input, BOOL, INTEGER)
    if input.ndim == 0:
        return input
    wide = input.astype(np.float32) if promotion.is_low_precision(np.dtype(input.dtype)) else input
    return _scan(jnp.logaddexp, wide, d).astype(input.dtype)


# -- membership -------------------------------------------------------------------------------------------------------


def _member(elements, tests, invert: bool):
    dtype = promotion.result_dtype((elements, tests), ())
    x, t = elements.astype(dtype), tests.astype(dtype).reshape(-1)
    if t.size == 0:
        found = jnp.zeros(x.shape, bool)
    elif t.size <= 32 or promotion.is_complex(dtype):
        found = (x[..., None] == t).any(-1)
    else:
        ordered = _pick(t, _order(t, False))
        place = jnp.searchsorted(ordered, x, method="scan_unrolled")
        found = ordered[jnp.minimum(place, t.size - 1)] == x
    return ~found if invert else found


def _tensor(x, like):
    if type(x) in (bool, int, float, complex):
        kind = promotion.result_dtype((like,), (type(x).__name__,))
        return jnp.asarray(x, kind)
    return x


@op(method=False, differentiable=False)
def isin(elements: Array | Scalar, test_elements: Array | Scalar, *, assume_unique: bool = False, invert: bool = False):
    """Whether each element occurs among ``test_elements``."""
    return _member(_tensor(elements, test_elements), _tensor(test_elements, elements), invert)
