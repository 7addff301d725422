"""Pooling."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from torchlike.ops.declare import Array, Ints, op


@op(namespace="nn.functional", method=False, out=False, node="MaxPool2DWithIndicesBackward0")
def max_pool2d(input: Array, kernel_size: Ints, stride: Ints = None):
    """2-d max pooling."""
    k = (kernel_size,) * 2 if isinstance(kernel_size, int) else tuple(kernel_size)
    s = k if stride is None else (stride,) * 2 if isinstance(stride, int) else tuple(stride)
    lead = (1,) * (input.ndim - 2)
    return lax.reduce_window(input, -jnp.inf, lax.max, (*lead, *k), (*lead, *s), "VALID")
