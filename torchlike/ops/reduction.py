"""Reductions: ``sum, mean, max, argmax, all, any, prod, ...``."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from torchlike.ops import promotion
from torchlike.ops.declare import LONG, Array, Dim, Dims, DType, canonical_dim, canonical_dims, op


@op(promote=LONG)
def sum(input: Array, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None):
    """The sum over ``dim`` (all dimensions if None)."""
    x = input if dtype is None else input.astype(dtype)
    return jnp.sum(x, axis=canonical_dims(dim, x.ndim), keepdims=keepdim)


@op()
def mean(input: Array, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None):
    """The mean over ``dim`` (all dimensions if None)."""
    x = input if dtype is None else input.astype(dtype)
    if promotion.kind(np.dtype(x.dtype)) < 2:
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long")
    return jnp.mean(x, axis=canonical_dims(dim, x.ndim), keepdims=keepdim)


@op(promote=LONG)
def prod(input: Array, *, dtype: DType | None = None):
    """The product of all elements."""
    return jnp.prod(input if dtype is None else input.astype(dtype))


@op(name="max")
def max_all(input: Array):
    """The largest element."""
    return jnp.max(input)


@op(name="max", returns=("values", "indices"))
def max_dim(input: Array, dim: Dim, keepdim: bool = False):
    """The largest elements along ``dim`` and where they are."""
    d = canonical_dim(dim, input.ndim)
    i = jnp.argmax(input, axis=d, keepdims=True)
    v = jnp.take_along_axis(input, i, axis=d)
    return (v, i) if keepdim else (jnp.squeeze(v, d), jnp.squeeze(i, d))


@op(name="max")
def max_other(input: Array, other: Array):
    """The larger of each pair."""
    return jnp.maximum(input, other)


@op()
def argmax(input: Array, dim: int | None = None, keepdim: bool = False):
    """Where the largest element is."""
    return jnp.argmax(input, axis=dim, keepdims=keepdim).astype(np.int64)


@op()
def all(input: Array, dim: Dims = None, keepdim: bool = False):
    """Whether all are true."""
    return jnp.all(input, axis=canonical_dims(dim, input.ndim), keepdims=keepdim)


@op()
def any(input: Array, dim: Dims = None, keepdim: bool = False):
    """Whether any is true."""
    return jnp.any(input, axis=canonical_dims(dim, input.ndim), keepdims=keepdim)
