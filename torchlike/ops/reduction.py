"""Reductions: ``sum, mean, prod, var, max, argmax, all, any, logsumexp, norm, ...``.

Sums and products accumulate in float32 for half-precision inputs and round once, as torch does. Where a gradient has a
convention of its own (ties share the gradient evenly in ``amax`` and ``max()``, ``max(dim)`` gives it to the index), there is
a rule.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops import promotion
from torchlike.ops.declare import Array, Dim, Dims, DType, Number, canonical_dim, canonical_dims, op
from torchlike.ops.dtype_errors import COMPLEX, is_bool, is_complex, is_integral, reject, type_name
from torchlike.ops.elementwise import signum

# -- what reductions share --------------------------------------------------------------------------------------------


def _numbered(name: str):
    """The node's name, which in torch says whether the overload with ``dim`` was called."""
    return lambda static: f"{name}Backward{0 if static[1][0] is None else 1}"


def _wide(x):
    """``x`` in the dtype that sums of it accumulate in."""
    return x.astype(np.float32) if promotion.is_low_precision(np.dtype(x.dtype)) else x


def restored(x, dims: tuple[int, ...], ndim: int, keepdim: bool):
    """A reduction's result with the reduced dimensions back, of size 1."""
    return x if keepdim or not ndim else lax.expand_dims(x, dims)


def _shrunk(x, dims: tuple[int, ...], keepdim: bool):
    """The result of a reduction that kept its dimensions, without them unless ``keepdim``."""
    return x if keepdim or not x.ndim else lax.squeeze(x, dims)


def _count(shape: tuple[int, ...], dims: tuple[int, ...]) -> int:
    return math.prod(shape[d] for d in dims)


def _summed_as(x, dtype):
    """``x`` in the dtype that it is summed or multiplied in, and the dtype of the result: ints and bools as int64."""
    result = np.dtype(dtype or (promotion.INT64 if is_integral(x) else x.dtype))
    x = x if x.dtype == result else (x != 0) if result.kind == "b" else x.astype(result)
    return _wide(x), result


def _mean_dtype(name: str, x, dtype) -> np.dtype:
    result = np.dtype(dtype or x.dtype)
    if promotion.kind(result) < 2:
        what = "Input dtype" if dtype is None else "Optional dtype"
        raise RuntimeError(
            f"{name}(): could not infer output dtype. {what} must be either a floating point or complex dtype. Got: {type_name(result)}"
        )
    return result


# -- sums and products ------------------------------------------------------------------------------------------------


@op(node=_numbered("Sum"), autocast="fp32")
def sum(input: Array, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None):
    """The sum over ``dim`` (all dimensions if None or empty), in ``dtype``; of ints and bools int64."""
    x, result = _summed_as(input, dtype)
    return jnp.sum(x, axis=canonical_dims(dim, x.ndim), keepdims=keepdim, dtype=x.dtype).astype(result)


@op(node="NansumBackward0")
def nansum(input: Array, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None):
    """The sum over ``dim``, NaN counting as zero."""
    if is_complex(input):
        raise RuntimeError("nansum does not support complex inputs")
    x = input if is_integral(input) else jnp.where(jnp.isnan(input), 0, input)
    return sum.body(x, dim, keepdim, dtype=dtype)


@op(node=_numbered("Mean"))
def mean(input: Array, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None):
    """The mean over ``dim`` (all dimensions if None or empty). Raises ``RuntimeError`` for ints and bools without ``dtype``."""
    result = _mean_dtype("mean", input, dtype)
    x = _wide(input.astype(result))
    dims = canonical_dims(dim, x.ndim)
    total = jnp.sum(x, axis=dims, keepdims=keepdim)
    return (total / np.asarray(_count(x.shape, dims)).astype(x.dtype)).astype(result)


@op(node="DivBackward0")
def nanmean(input: Array, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None):
    """The mean over ``dim`` of what is not NaN."""
    if promotion.kind(np.dtype(input.dtype)) != 2:
        raise RuntimeError(f"nanmean(): expected input to have floating point dtype but got {type_name(input.dtype)}")
    dims = canonical_dims(dim, input.ndim)
    count = jnp.sum(~jnp.isnan(input), axis=dims, keepdims=keepdim)
    total = nansum.body(input, dim, keepdim, dtype=dtype)
    return total / count.astype(total.dtype)


@op(autocast="fp32", node=_numbered("Prod"))
def prod(input: Array, dim: int | None = None, keepdim: bool = False, *, dtype: DType | None = None):
    """The product over ``dim`` (of all elements if None), in ``dtype``; of ints and bools int64."""
    x, result = _summed_as(input, dtype)
    dims = canonical_dims(dim, x.ndim)
    return jnp.prod(x, axis=dims, keepdims=keepdim and dim is not None, dtype=x.dtype).astype(result)


@prod.vjp
def _(grad, input, dim, keepdim, dtype):
    x, _ = _summed_as(input, dtype)
    dims = canonical_dims(dim, x.ndim)
    if dim is None or not x.ndim:
        flat, axis = x.reshape(-1), 0
        grad = grad.reshape(1)
    else:
        flat, axis = x, dims[0]
        grad = restored(grad, dims, x.ndim, keepdim)
    return (_wide(grad) * jnp.conj(_product_of_others(flat, axis))).reshape(x.shape)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _product_of_others(x, axis: int):
    """For each element the product of all others along ``axis``: by division, with care for zeros."""
    zero = x == 0
    zeros = jnp.sum(zero, axis=axis, keepdims=True)
    product = jnp.prod(jnp.where(zero, 1, x), axis=axis, keepdims=True)
    return jnp.where(zero, jnp.where(zeros == 1, product, 0), jnp.where(zeros == 0, product / jnp.where(zero, 1, x), 0))


@_product_of_others.defjvp
def _(axis, primals, tangents):
    # Its derivative by the form that has no division: 3 times slower, right where elements are zero.
    def before_and_after(x):
        return _product_before(x, axis) * jnp.flip(_product_before(jnp.flip(x, axis), axis), axis)

    return _product_of_others(primals[0], axis), jax.jvp(before_and_after, primals, tangents)[1]


def _product_before(x, axis: int):
    """For each element the product of those before it along ``axis``."""
    if not x.shape[axis]:
        return x
    shifted = lax.slice_in_dim(x, 0, x.shape[axis] - 1, axis=axis)
    one = jnp.ones((*x.shape[:axis], 1, *x.shape[axis + 1:]), x.dtype)
    return jnp.cumprod(lax.concatenate([one, shifted], axis), axis=axis)


@op(out=False, differentiable=False)
def count_nonzero(input: Array, dim: Dims = None):
    """How many elements over ``dim`` are not zero, as int64."""
    return jnp.sum(input != 0, axis=canonical_dims(dim, input.ndim), dtype=np.int64)


@op(out=False, method=True)
def dist(input: Array, other: Array, p: Number = 2):
    """The p-norm of ``input - other``."""
    difference = input - other if input.dtype == other.dtype else jnp.subtract(input, other)
    return _vector_norm(difference, p, None, False)


# The rule is the norm's, so that it is 0 where both are equal.
@dist.vjp
def _(grad, input, other, p, result):
    slope = _norm_slope(grad, input - other, result, p, None, False)
    return slope, -slope


# -- variance ---------------------------------------------------------------------------------------------------------


def _deviations(x, dims: tuple[int, ...]):
    return x - jnp.mean(x, axis=dims, keepdims=True)


def _freedom(shape: tuple[int, ...], dims: tuple[int, ...], correction) -> float:
    return max(_count(shape, dims) - correction, 0)


def _divided(x, number: float):
    """``x / number`` in the dtype of ``x``; by 0 it is NaN or infinite, as torch's."""
    return x / np.asarray(number).astype(x.dtype)


def _variance(name: str, input, dim, correction, keepdim: bool):
    """The variance (at least float32, dimensions as asked for) and the mean."""
    if is_integral(input):
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    x = _wide(input)
    dims = canonical_dims(dim, x.ndim)
    center = jnp.mean(x, axis=dims, keepdims=True)
    deviation = x - center
    squares = jnp.square(deviation) if not is_complex(x) else jnp.square(deviation.real) + jnp.square(deviation.imag)
    variance = _divided(jnp.sum(squares, axis=dims, keepdims=True), _freedom(x.shape, dims, correction))
    return _shrunk(variance, dims, keepdim), _shrunk(center, dims, keepdim)


def _rounded(x, like):
    return x.astype(like.dtype) if promotion.is_low_precision(np.dtype(like.dtype)) else x


def _variance_slope(grad, input, dim, correction, keepdim: bool):
    x = _wide(input)
    dims = canonical_dims(dim, x.ndim)
    grad = restored(_wide(grad), dims, x.ndim, keepdim)
    return _divided(2 * grad, _freedom(x.shape, dims, correction)) * _deviations(x, dims)


def _std_to_variance_grad(grad, std):
    """The gradient of the variance from that of its square root, 0 where it is 0."""
    grad, std = _wide(grad), _wide(std)
    return jnp.where(std == 0, 0, grad / (2 * jnp.where(std == 0, 1, std)))


def _mean_slope(grad, input, dim, keepdim: bool):
    x = _wide(input)
    dims = canonical_dims(dim, x.ndim)
    return _divided(restored(_wide(grad), dims, x.ndim, keepdim), max(_count(x.shape, dims), 1))


def _correction(unbiased: bool | None, correction: float | None) -> float:
    """What is subtracted from the count: ``correction``, or 0 or 1 as the older argument says; 1 by default."""
    return correction if correction is not None else 1 if unbiased is None else int(unbiased)


def _spread(input, dim, correction, keepdim: bool, root: bool):
    variance, _ = _variance("std and var", input, dim, correction, keepdim)
    return _rounded(jnp.sqrt(variance) if root else variance, input)


@op()
def var(
    input: Array, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Number | None = None
):
    """The variance over ``dim``: the sum of squared deviations over ``n - correction`` (1; 0 when not ``unbiased``)."""
    return _spread(input, dim, _correction(unbiased, correction), keepdim, root=False)


@op(name="var")
def var_all(input: Array, unbiased: bool):
    """The variance of all elements."""
    return _spread(input, None, int(unbiased), False, root=False)


@op()
def std(
    input: Array, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Number | None = None
):
    """The standard deviation over ``dim``: the square root of ``var``."""
    return _spread(input, dim, _correction(unbiased, correction), keepdim, root=True)


@op(name="std")
def std_all(input: Array, unbiased: bool):
    """The standard deviation of all elements."""
    return _spread(input, None, int(unbiased), False, root=True)


@var.vjp
def _(grad, input, dim, unbiased, keepdim, correction):
    return _variance_slope(grad, input, dim, _correction(unbiased, correction), keepdim)


@var_all.vjp
def _(grad, input, unbiased):
    return _variance_slope(grad, input, None, int(unbiased), False)


@std.vjp
def _(grad, input, result, dim, unbiased, keepdim, correction):
    return _variance_slope(_std_to_variance_grad(grad, result), input, dim, _correction(unbiased, correction), keepdim)


@std_all.vjp
def _(grad, input, result, unbiased):
    return _variance_slope(_std_to_variance_grad(grad, result), input, None, int(unbiased), False)


def _with_mean(name: str, input, dim, correction, keepdim: bool, root: bool):
    variance, center = _variance(name, input, dim, correction, keepdim)
    return _rounded(jnp.sqrt(variance) if root else variance, input), _rounded(center, input)


def _with_mean_slope(grads, results, input, dim, correction, keepdim: bool, root: bool):
    spread = _std_to_variance_grad(grads[0], results[0]) if root else grads[0]
    return _variance_slope(spread, input, dim, correction, keepdim) + _mean_slope(grads[1], input, dim, keepdim)


@op(method=False, out=False)
def var_mean(
    input: Array, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Number | None = None
):
    """The variance (see ``var``) and the mean over ``dim``."""
    return _with_mean("var_mean", input, dim, _correction(unbiased, correction), keepdim, root=False)


@op(name="var_mean", method=False, out=False)
def var_mean_all(input: Array, unbiased: bool):
    """The variance and the mean of all elements."""
    return _with_mean("var_mean", input, None, int(unbiased), False, root=False)


@op(method=False, out=False)
def std_mean(
    input: Array, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Number | None = None
):
    """The standard deviation (see ``std``) and the mean over ``dim``."""
    return _with_mean("std_mean", input, dim, _correction(unbiased, correction), keepdim, root=True)


@op(name="std_mean", method=False, out=False)
def std_mean_all(input: Array, unbiased: bool):
    """The standard deviation and the mean of all elements."""
    return _with_mean("std_mean", input, None, int(unbiased), False, root=True)


@var_mean.vjp
def _(grads, results, input, dim, unbiased, keepdim, correction):
    return _with_mean_slope(grads, results, input, dim, _correction(unbiased, correction), keepdim, root=False)


@var_mean_all.vjp
def _(grads, results, input, unbiased):
    return _with_mean_slope(grads, results, input, None, int(unbiased), False, root=False)


@std_mean.vjp
def _(grads, results, input, dim, unbiased, keepdim, correction):
    return _with_mean_slope(grads, results, input, dim, _correction(unbiased, correction), keepdim, root=True)


@std_mean_all.vjp
def _(grads, results, input, unbiased):
    return _with_mean_slope(grads, results, input, None, int(unbiased), False, root=True)


# -- extremes ---------------------------------------------------------------------------------------------------------


def _few_dims(shape: tuple[int, ...]) -> None:
    if len(shape) > 64:
        raise RuntimeError("only tensors with up to 64 dims are supported")


def _nonempty(name: str, shape: tuple[int, ...], dim, dims: tuple[int, ...]) -> None:
    """Raise when an extreme is asked of no elements."""
    _few_dims(shape)
    if _count(shape, dims) or not shape:
        return
    if dim is None or dim == ():
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )
    empty = next(d for d in dims if not shape[d])
    raise IndexError(f"{name}(): Expected reduction dim {empty} to have non-zero size.")


def _real(name: str, x) -> None:
    if is_complex(x):
        raise NotImplementedError(f"{name}(): does not support complex input")


def _share_evenly(grad, hit, dims: tuple[int, ...]):
    """``grad`` divided among the places where ``hit``."""
    hit = hit.astype(grad.dtype)
    return grad * (hit / jnp.sum(hit, axis=dims, keepdims=True))


def _extreme_slope(grad, input, result, dim, keepdim: bool):
    dims = canonical_dims(dim, input.ndim)
    grad, result = (restored(x, dims, input.ndim, keepdim) for x in (grad, result))
    return _share_evenly(_wide(grad), input == result, dims)


def _largest(x, dims: tuple[int, ...], keepdim: bool):
    return jnp.max(x, axis=dims, keepdims=keepdim) if not is_bool(x) else jnp.any(x, axis=dims, keepdims=keepdim)


def _smallest(x, dims: tuple[int, ...], keepdim: bool):
    return jnp.min(x, axis=dims, keepdims=keepdim) if not is_bool(x) else jnp.all(x, axis=dims, keepdims=keepdim)


@op()
def amax(input: Array, dim: Dims = (), keepdim: bool = False):
    """The largest elements over ``dim`` (all dimensions if empty); NaN if there is one. Ties share the gradient."""
    _real("amax", input)
    dims = canonical_dims(dim, input.ndim)
    _nonempty("amax", input.shape, dim, dims)
    return _largest(input, dims, keepdim)


@amax.vjp
def _(grad, input, result, dim, keepdim):
    return _extreme_slope(grad, input, result, dim, keepdim)


@op()
def amin(input: Array, dim: Dims = (), keepdim: bool = False):
    """The smallest elements over ``dim`` (all dimensions if empty); NaN if there is one. Ties share the gradient."""
    _real("amin", input)
    dims = canonical_dims(dim, input.ndim)
    _nonempty("amin", input.shape, dim, dims)
    return _smallest(input, dims, keepdim)


@amin.vjp
def _(grad, input, result, dim, keepdim):
    return _extreme_slope(grad, input, result, dim, keepdim)


@op(returns=("min", "max"))
def aminmax(input: Array, *, dim: int | None = None, keepdim: bool = False):
    """The smallest and the largest elements along ``dim`` (of all if None)."""
    dims = canonical_dims(dim, input.ndim)
    _few_dims(input.shape)
    if not input.size and dim is None:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    if dim is not None:
        _nonempty("aminmax", input.shape, dim, dims)
    reject("aminmax_cpu", input, COMPLEX)
    return _smallest(input, dims, keepdim), _largest(input, dims, keepdim)


@aminmax.vjp
def _(grads, results, input, dim, keepdim):
    low, high = (_extreme_slope(g, input, r, dim, keepdim) for g, r in zip(grads, results, strict=True))
    return low + high


def _whole_slope(grad, input, result):
    """Evenly among the extremes, or among the NaNs if the result is NaN."""
    hit = (input == result) | (jnp.isnan(input) & jnp.isnan(result))
    return _share_evenly(_wide(grad), hit, tuple(range(input.ndim)))


def position(x, dim: int, smallest: bool):
    """Where along ``dim`` the first extreme is (the first NaN if there is one), keeping the dimension, as int64.

    Two plain reductions: XLA:CPU does not vectorise its own argmax (1e6 float32 in rows of 100: 2.6 ms against 0.7).
    """
    extreme = (_smallest if smallest else _largest)(x, (dim,), True)
    hit = (x == extreme) | (x != x) if promotion.kind(np.dtype(x.dtype)) == 2 else x == extreme
    size = x.shape[dim]
    index = lax.broadcasted_iota(np.int32 if size < 2**31 else np.int64, x.shape, dim)
    return extreme, jnp.min(jnp.where(hit, index, size), axis=dim, keepdims=True).astype(np.int64)


def _extreme_and_position(name: str, x, dim: int, keepdim: bool, smallest: bool):
    if is_complex(x):
        raise RuntimeError(f"{name}(): does not support complex input" if x.ndim else f"{name}: does not support complex input")
    d = canonical_dim(dim, x.ndim)
    if not x.ndim:
        return x, jnp.zeros((), np.int64)
    if not x.shape[d]:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    value, index = position(x, d, smallest)
    return _shrunk(value, (d,), keepdim), _shrunk(index, (d,), keepdim)


def at_index(grad, index, shape: tuple[int, ...], dim: int, keepdim: bool):
    """Zeros of ``shape`` with ``grad`` at one index along ``dim``: a comparison, which fuses, instead of a scatter."""
    if not shape:
        return grad
    d = canonical_dim(dim, len(shape))
    if not keepdim:
        grad, index = lax.expand_dims(grad, (d,)), lax.expand_dims(index, (d,))
    return jnp.where(lax.broadcasted_iota(np.int64, shape, d) == index, grad, 0)


@op(name="max", node="MaxBackward1")
def max_all(input: Array):
    """The largest of all elements; ties share the gradient."""
    _real("max", input)
    _nonempty("max", input.shape, None, tuple(range(input.ndim)))
    return _largest(input, tuple(range(input.ndim)), False)


@max_all.vjp
def _(grad, input, result):
    return _whole_slope(grad, input, result)


@op(name="max", returns=("values", "indices"), out=("max", "max_indices"), node="MaxBackward0")
def max_dim(input: Array, dim: Dim, keepdim: bool = False):
    """The largest elements along ``dim`` and the index of each (the first, or the first NaN)."""
    return _extreme_and_position("max", input, dim, keepdim, smallest=False)


@max_dim.vjp
def _(grads, results, input, dim, keepdim):
    return at_index(grads[0], results[1], input.shape, dim, keepdim)


@op(name="max", strides="elementwise", node="MaximumBackward0")
def max_other(input: Array, other: Array):
    """The larger of each pair: ``maximum``."""
    return _of_pairs("max", input, other)


@op(name="min", node="MinBackward1")
def min_all(input: Array):
    """The smallest of all elements; ties share the gradient."""
    _real("min", input)
    _nonempty("min", input.shape, None, tuple(range(input.ndim)))
    return _smallest(input, tuple(range(input.ndim)), False)


@min_all.vjp
def _(grad, input, result):
    return _whole_slope(grad, input, result)


@op(name="min", returns=("values", "indices"), out=("min", "min_indices"), node="MinBackward0")
def min_dim(input: Array, dim: Dim, keepdim: bool = False):
    """The smallest elements along ``dim`` and the index of each (the first, or the first NaN)."""
    return _extreme_and_position("min", input, dim, keepdim, smallest=True)


@min_dim.vjp
def _(grads, results, input, dim, keepdim):
    return at_index(grads[0], results[1], input.shape, dim, keepdim)


@op(name="min", strides="elementwise", node="MinimumBackward0")
def min_other(input: Array, other: Array):
    """The smaller of each pair: ``minimum``."""
    return _of_pairs("min", input, other)


def _of_pairs(name: str, a, b):
    common = promotion.result_dtype([a, b], ())
    if promotion.is_complex(common):
        raise RuntimeError(f"{name}imum not implemented for complex tensors.")
    return (jnp.maximum if name == "max" else jnp.minimum)(a.astype(common), b.astype(common))


def _pair_slopes(grad, a, b, larger: bool):
    shared = jnp.where(a == b, grad / 2, grad)
    loses_a, loses_b = (a < b, a > b) if larger else (a > b, a < b)
    return jnp.where(loses_a, 0, shared), jnp.where(loses_b, 0, shared)


@max_other.vjp
def _(grad, input, other):
    return _pair_slopes(grad, input, other, larger=True)


@min_other.vjp
def _(grad, input, other):
    return _pair_slopes(grad, input, other, larger=False)


def _position(name: str, x, dim, keepdim: bool, smallest: bool):
    if is_complex(x):
        raise RuntimeError(f"{name}(): does not support complex input")
    if is_bool(x):
        raise RuntimeError(f"{name}(): does not support bool input")
    if dim is None:
        if not x.size:
            raise IndexError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            )
        index = position(x.reshape(-1), 0, smallest)[1]
        return index.reshape((1,) * x.ndim if keepdim else ())
    return _extreme_and_position(name, x, dim, keepdim, smallest)[1]


@op(differentiable=False)
def argmax(input: Array, dim: int | None = None, keepdim: bool = False):
    """The index of the largest element along ``dim``, or in the flat tensor; the first one, or the first NaN."""
    return _position("argmax", input, dim, keepdim, smallest=False)


@op(differentiable=False)
def argmin(input: Array, dim: int | None = None, keepdim: bool = False):
    """The index of the smallest element along ``dim``, or in the flat tensor; the first one, or the first NaN."""
    return _position("argmin", input, dim, keepdim, smallest=True)


# -- logic ------------------------------------------------------------------------------------------------------------


def _logic(reduce, x, dim, keepdim: bool):
    truth = reduce(x != 0, axis=canonical_dims(dim, x.ndim, empty_is_all=False), keepdims=keepdim)
    # uint8 in, uint8 out: torch's masks before it had bools.
    return truth.astype(np.uint8) if x.dtype == np.uint8 else truth


@op(differentiable=False)
def all(input: Array, dim: Dims = None, keepdim: bool = False):
    """Whether all elements over ``dim`` are nonzero."""
    return _logic(jnp.all, input, dim, keepdim)


@op(differentiable=False)
def any(input: Array, dim: Dims = None, keepdim: bool = False):
    """Whether any element over ``dim`` is nonzero."""
    return _logic(jnp.any, input, dim, keepdim)


# -- logarithm of a sum of exponentials -------------------------------------------------------------------------------


@op(aliases=("special.logsumexp",), autocast="fp32")
def logsumexp(input: Array, dim: Dims, keepdim: bool = False):
    """``log(sum(exp(input)))`` over ``dim``, without overflow."""
    x = input.astype(promotion.default_dtype()) if is_integral(input) else _wide(input)
    dims = canonical_dims(dim, x.ndim)
    if not x.size:
        value = jnp.log(jnp.sum(jnp.exp(x), axis=dims, keepdims=True))
    else:
        top = lax.stop_gradient(jnp.max(x.real, axis=dims, keepdims=True))
        top = jnp.where(jnp.isfinite(top), top, 0)
        value = jnp.log(jnp.sum(jnp.exp(x - top), axis=dims, keepdims=True)) + top
    return _rounded(_shrunk(value, dims, keepdim), input)


@logsumexp.vjp
def _(grad, input, result, dim, keepdim):
    dims = canonical_dims(dim, input.ndim)
    grad, result = (restored(_wide(x), dims, input.ndim, keepdim) for x in (grad, result))
    return grad * jnp.conj(jnp.exp(_wide(input) - result))


# -- norms ------------------------------------------------------------------------------------------------------------


def _vector_norm(x, p: float, dim, keepdim: bool):
    """The p-norm over ``dim``: p may be 0 (count of nonzero), infinite, negative."""
    rounded_to = x
    x = _wide(x)
    dims = canonical_dims(dim, x.ndim)
    size = jnp.abs(x) if p != 2 or is_complex(x) else x
    if not x.size and (p < 0 or p == math.inf) and not _count(x.shape, dims):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {p} norm on an empty tensor because the operation does not have an identity"
        )
    if p == math.inf:
        value = jnp.max(size, axis=dims, keepdims=keepdim)
    elif p == -math.inf:
        value = jnp.min(size, axis=dims, keepdims=keepdim)
    elif p == 0:
        value = jnp.sum((size != 0).astype(size.dtype), axis=dims, keepdims=keepdim)
    elif p == 1:
        value = jnp.sum(size, axis=dims, keepdims=keepdim)
    elif p == 2:
        value = jnp.sqrt(jnp.sum(size * size, axis=dims, keepdims=keepdim))
    else:
        value = jnp.power(jnp.sum(jnp.power(size, p), axis=dims, keepdims=keepdim), 1 / p)
    return _rounded(value, rounded_to)


def _norm_slope(grad, x, norm, p: float, dim, keepdim: bool):
    """The gradient of ``_vector_norm``, 0 where the norm is 0."""
    x = _wide(x)
    dims = canonical_dims(dim, x.ndim)
    grad, norm = (restored(_wide(v), dims, x.ndim, keepdim) for v in (grad, norm))
    if p == 0:
        return jnp.zeros_like(x)
    if p == 1:
        return signum(x) * grad
    zero = norm == 0
    safe = jnp.where(zero, 1, norm)
    if p == 2:
        return jnp.where(zero, 0, x / safe) * grad
    size = jnp.abs(x)
    if math.isinf(p):
        return signum(x) * _share_evenly(grad, size == norm, dims)
    flat = size == 0
    slope = signum(x) * jnp.where(flat, 0, jnp.power(jnp.where(flat, 1, size), p - 1))
    return jnp.where(zero, 0, slope * (grad / jnp.power(safe, p - 1)))


def _no_integers(x) -> None:
    if is_integral(x):
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {type_name(x.dtype)}")


@op(node="LinalgVectorNormBackward0", autocast="fp32")
def norm(input: Array, p: Number = "fro", dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None):
    """The norm over ``dim``: a number p, ``"fro"`` (2), or ``"nuc"`` (of matrices, the sum of singular values)."""
    if p == "nuc":
        return _nuclear_norm(input, dim, keepdim)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    _no_integers(input)
    if dtype is not None:
        if is_complex(input) and not promotion.is_complex(np.dtype(dtype)):
            raise RuntimeError("linalg.vector_norm: the dtype of the input must be convertible to the given dtype without narrowing")
        input = input.astype(dtype)
    return _vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim)


@norm.vjp
def _(grad, input, p, dim, keepdim, dtype, result):
    x = input if dtype is None else input.astype(dtype)
    if p == "nuc":
        dims = (0, 1) if dim is None else canonical_dims(dim, x.ndim)
        u, _, vh = jnp.linalg.svd(jnp.moveaxis(x, dims, (-2, -1)), full_matrices=False)
        slope = jnp.moveaxis(u @ vh, (-2, -1), dims)
        return restored(grad, tuple(sorted(dims)), x.ndim, keepdim) * slope
    return _norm_slope(grad, x, result, 2 if p in ("fro", None) else p, dim, keepdim)


def _nuclear_norm(x, dim, keepdim: bool):
    _no_integers(x)
    if promotion.is_low_precision(np.dtype(x.dtype)):
        raise RuntimeError(f"linalg.svd: Low precision dtypes not supported. Got {type_name(x.dtype)}")
    dims = tuple(range(x.ndim)) if dim is None else canonical_dims(dim, x.ndim)
    if len(dims) != 2:
        raise RuntimeError(f"norm(): the nuclear norm needs exactly two dimensions, got {dims}")
    singular = jnp.linalg.svd(jnp.moveaxis(x, dims, (-2, -1)), compute_uv=False)
    total = jnp.sum(singular, axis=-1)
    return lax.expand_dims(total, tuple(sorted(dims))) if keepdim else total
