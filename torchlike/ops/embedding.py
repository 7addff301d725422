"""``embedding``: rows of a table by index."""

from __future__ import annotations

import jax.numpy as jnp

from torchlike.ops.declare import Array, op


@op(namespace="nn.functional", name="_embedding", method=False, out=False, node="EmbeddingBackward0")
def embedding(input: Array, weight: Array, padding_idx: int, scale_grad_by_freq: bool):
    """``weight[input]``; ``padding_idx`` (-1 for none) is a row that gets no gradient."""
    return jnp.take(weight, input, axis=0, mode="clip")


@embedding.vjp
def _(grad, input, weight, padding_idx, scale_grad_by_freq):
    flat = input.reshape(-1)
    rows = grad.reshape(flat.shape[0], -1) if flat.shape[0] else grad.reshape(0, weight.shape[1])
    if padding_idx >= 0:
        rows = jnp.where((flat == padding_idx)[:, None], 0, rows)
    if scale_grad_by_freq:
        counts = jnp.zeros(weight.shape[0], jnp.int32).at[flat].add(1)
        rows = rows / jnp.maximum(counts[flat], 1)[:, None].astype(rows.dtype)
    return None, jnp.zeros(weight.shape, grad.dtype).at[flat].add(rows)
