"""What ``x[...]`` with index tensors computes: one gather, one scatter, one masked assignment."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp

from torchlike.ops.declare import Array, op


def positions(indices: Sequence[object]) -> tuple[object, ...]:
    """Index tensors as ``jnp`` indexing takes them: a full slice where there is none."""
    return tuple(slice(None) if i is None else i for i in indices)


@op(method=False, function=False)
def index(input: Array, indices: Sequence[Array | None]):
    """``input[indices]``; None takes a whole dimension. Separated index tensors put their dimensions first."""
    return input[positions(indices)]


@op(method=False, function=False)
def index_put(input: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False):
    """``input`` with ``input[indices]`` replaced by (or increased by) ``values``."""
    at = input.at[positions(indices)]
    return at.add(values) if accumulate else at.set(values)


@op(method=False, function=False, node="MaskedFillBackward0")
def masked_assign(input: Array, mask: Array, value: Array):
    """``input`` with ``value`` where ``mask`` is true."""
    return jnp.where(mask, value.astype(input.dtype), input)
