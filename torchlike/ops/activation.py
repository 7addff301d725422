"""Activations."""

from __future__ import annotations

import jax.numpy as jnp

from torchlike.ops.declare import ARITH, Array, op


@op(promote=ARITH, inplace=True, aliases=("nn.functional.relu",))
def relu(input: Array):
    """``max(input, 0)``."""
    return jnp.maximum(input, 0)


@relu.vjp
def _(grad, result):
    return jnp.where(result > 0, grad, 0)
