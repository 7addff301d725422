"""Scaled dot-product attention."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np

from torchlike.ops.declare import Array, Scalar, op


@op(namespace="nn.functional", name="_attention", method=False, out=False, node="ScaledDotProductFlashAttentionForCpuBackward0", autocast="lower")
def attention(query: Array, key: Array, value: Array, attn_mask: Array | None, keep: Array | None, scale: Scalar, is_causal: bool):
    """``softmax(scale q k^T + mask) v`` over the last two dimensions; ``keep`` is a dropout mask, scaled already.

    Rows whose mask lets nothing through give zeros (torch's convention for a bool mask).
    """
    dtype = query.dtype
    wide = np.float32 if np.dtype(dtype).itemsize == 2 else dtype
    q, k, v = (x.astype(wide) for x in (query, key, value))
    scores = jnp.matmul(q, jnp.swapaxes(k, -1, -2)) * jnp.asarray(scale).astype(wide)
    blocked = None
    if is_causal:
        length, source = scores.shape[-2:]
        blocked = ~np.tril(np.ones((length, source), bool))
    if attn_mask is not None:
        if np.dtype(attn_mask.dtype).kind == "b":
            blocked = ~attn_mask if blocked is None else blocked | ~attn_mask
        else:
            scores = scores + attn_mask.astype(wide)
    if blocked is not None:
        scores = jnp.where(blocked, -jnp.inf, scores)
    top = jnp.max(scores, -1, keepdims=True) if scores.shape[-1] else jnp.zeros((*scores.shape[:-1], 1), wide)
    top = jnp.where(jnp.isneginf(top), 0, top)
    weights = jnp.exp(scores - top)
    total = jnp.sum(weights, -1, keepdims=True)
    weights = weights / jnp.where(total == 0, 1, total)
    if keep is not None:
        weights = weights * keep.astype(wide)
    return jnp.matmul(weights, v).astype(dtype)


def default_scale(width: int) -> float:
    """``1 / sqrt(width)``."""
    return 1.0 / math.sqrt(width) if width else 1.0
