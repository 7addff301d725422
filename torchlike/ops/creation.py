"""Operators that make tensors from nothing, copies and casts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from torchlike.ops import promotion
from torchlike.ops.declare import Array, DType, Ints, Scalar, op


@op(method=False, function=False)
def full(size: Ints, dtype: DType, fill_value: Scalar):
    """``size`` filled with one number."""
    if type(fill_value) in (bool, int, float, complex):
        return jnp.full(size, np.asarray(fill_value).astype(dtype), dtype)
    return jnp.full(size, fill_value.astype(dtype), dtype)


@op(method=False, function=False)
def arange(length: int, dtype: DType, start: Scalar, step: Scalar):
    """``start + i * step`` for ``length`` values of i; computed in float64 or int64 as torch's accumulation type."""
    wide = np.dtype(np.int64) if promotion.kind(dtype) < 2 else np.dtype(np.float64)
    i = jax.lax.iota(wide, length)
    return (jnp.asarray(start).astype(wide) + i * jnp.asarray(step).astype(wide)).astype(dtype)


@op(method=False, function=False)
def linspace(steps: int, dtype: DType, start: Scalar, end: Scalar):
    """``steps`` evenly spaced values: from the start in the first half, from the end in the second, as torch does."""
    if steps == 1:
        return jnp.asarray(start).astype(dtype).reshape(1)
    compute = dtype if promotion.is_inexact(dtype) and not promotion.is_low_precision(dtype) else np.dtype(np.float32)
    if promotion.kind(dtype) < 2:
        compute = np.dtype(np.float64)
    start, end = jnp.asarray(start).astype(compute), jnp.asarray(end).astype(compute)
    step = (end - start) / (steps - 1)
    i = jnp.arange(steps).astype(compute)
    values = jnp.where(jnp.arange(steps) < steps // 2, start + step * i, end - step * (steps - 1 - i))
    return (jnp.trunc(values) if promotion.kind(dtype) < 2 else values).astype(dtype)


@op(method=False, function=False)
def eye(n: int, m: int, dtype: DType):
    """Ones on the main diagonal of an ``n x m`` matrix."""
    return jnp.eye(n, m, dtype=dtype)


@op(method=False, function=False, node="CloneBackward0", strides="elementwise")
def clone(input: Array):
    """A copy."""
    return input


@op(method=False, function=False, node="ToCopyBackward0", strides="elementwise")
def cast(input: Array, dtype: DType):
    """The same numbers in another dtype, converted as C converts."""
    if input.dtype == dtype:
        return input
    if promotion.is_complex(np.dtype(input.dtype)) and not promotion.is_complex(dtype):
        input = input.real
    if promotion.kind(np.dtype(input.dtype)) >= 2 and promotion.kind(dtype) == 1 and dtype.itemsize < 4:
        # C converts to a wide integer and keeps the low bits; XLA would saturate.
        return input.astype(np.int64).astype(dtype)
    if promotion.kind(dtype) == 0:
        return input != 0
    return input.astype(dtype)


@op(method=False, function=False, node="CopyBackwards")
def copy(input: Array, src: Array):
    """The new content of ``input`` after ``copy_(src)``: the source broadcast and converted."""
    return jnp.broadcast_to(cast.body(src, np.dtype(input.dtype)), input.shape)


@op(method=False, function=False, node="FillBackward0")
def fill(input: Array, value: Scalar):
    """All elements replaced by one number."""
    return jnp.full(input.shape, jnp.asarray(value).astype(input.dtype))


@op(method=False, function=False, node="FillBackward1")
def fill_tensor(input: Array, value: Array):
    """All elements replaced by the one of a 0-d tensor."""
    return jnp.broadcast_to(value.astype(input.dtype), input.shape)


@op(method=False, function=False, node="ZeroBackward0")
def zero(input: Array):
    """All elements replaced by zero."""
    return jnp.zeros_like(input)
