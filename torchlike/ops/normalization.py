"""Normalisation: batch, layer, group, root mean square, local response."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops.declare import Array, Ints, Number, Scalar, op


def _wide(x):
    """float32 for half precision, else as it is."""
    return x.astype(np.float32) if np.dtype(x.dtype).itemsize == 2 and np.dtype(x.dtype).kind in "fV" else x


def _per_channel(v, ndim):
    return v.reshape(1, -1, *([1] * (ndim - 2)))


@op(namespace="nn.functional", name="_batch_norm_train", method=False, out=False, node="NativeBatchNormBackward0")
def batch_norm_train(input: Array, weight: Array | None, bias: Array | None, eps: Number):
    """Normalised by the batch's statistics over all but the channels; also the mean and the (biased) variance."""
    x = _wide(input)
    axes = (0, *range(2, input.ndim))
    mean = jnp.mean(x, axes)
    centred = x - _per_channel(mean, input.ndim)
    var = jnp.mean(centred * centred, axes)
    y = centred * _per_channel(lax.rsqrt(var + eps), input.ndim)
    if weight is not None:
        y = y * _per_channel(_wide(weight), input.ndim)
    if bias is not None:
        y = y + _per_channel(_wide(bias), input.ndim)
    return y.astype(input.dtype), mean, var


@op(namespace="nn.functional", name="_batch_norm_eval", method=False, out=False, node="NativeBatchNormBackward0")
def batch_norm_eval(input: Array, running_mean: Array, running_var: Array, weight: Array | None, bias: Array | None, eps: Number):
    """Normalised by given statistics."""
    x = _wide(input)
    scale = lax.rsqrt(_wide(running_var) + eps)
    y = (x - _per_channel(_wide(running_mean), input.ndim)) * _per_channel(scale, input.ndim)
    if weight is not None:
        y = y * _per_channel(_wide(weight), input.ndim)
    if bias is not None:
        y = y + _per_channel(_wide(bias), input.ndim)
    return y.astype(input.dtype)


@op(namespace="nn.functional", name="_running_average", method=False, out=False, differentiable=False)
def running_average(running: Array, batch: Array, momentum: Scalar, correction: Number):
    """``(1 - momentum) * running + momentum * correction * batch``."""
    return ((1 - momentum) * running + momentum * (correction * batch).astype(running.dtype)).astype(running.dtype)


@op(namespace="nn.functional", method=False, out=False, node="NativeLayerNormBackward0", aliases=("torch.layer_norm",), autocast="fp32")
def layer_norm(input: Array, normalized_shape: Ints, weight: Array | None = None, bias: Array | None = None, eps: Number = 1e-05,
               cudnn_enable: bool = True):  # fmt: skip
    """Normalised over the last dimensions, which have shape ``normalized_shape`` (Ba et al., 2016)."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []")
    if input.shape[input.ndim - len(shape):] != shape or input.ndim < len(shape):
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], but got input of size{list(input.shape)}"
        )
    axes = tuple(range(input.ndim - len(shape), input.ndim))
    x = _wide(input)
    centred = x - jnp.mean(x, axes, keepdims=True)
    y = centred * lax.rsqrt(jnp.mean(centred * centred, axes, keepdims=True) + eps)
    if weight is not None:
        y = y * _wide(weight)
    if bias is not None:
        y = y + _wide(bias)
    return y.astype(input.dtype)


@op(namespace="nn.functional", method=False, out=False, node="NativeGroupNormBackward0", aliases=("torch.group_norm",), autocast="fp32")
def group_norm(input: Array, num_groups: int, weight: Array | None = None, bias: Array | None = None, eps: Number = 1e-05,
               cudnn_enabled: bool = True):  # fmt: skip
    """Normalised over groups of channels of ``(N, C, *)`` (Wu and He, 2018)."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    n, c = input.shape[:2]
    if c % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(input.shape)} and num_groups={num_groups}"
        )
    x = _wide(input).reshape(n, num_groups, c // num_groups, *input.shape[2:])
    axes = tuple(range(2, x.ndim))
    centred = x - jnp.mean(x, axes, keepdims=True)
    y = (centred * lax.rsqrt(jnp.mean(centred * centred, axes, keepdims=True) + eps)).reshape(input.shape)
    if weight is not None:
        y = y * _per_channel(_wide(weight), input.ndim)
    if bias is not None:
        y = y + _per_channel(_wide(bias), input.ndim)
    return y.astype(input.dtype)


@op(namespace="nn.functional", method=False, out=False, node="RmsNormBackward0", aliases=("torch.rms_norm",), autocast="fp32")
def rms_norm(input: Array, normalized_shape: Ints, weight: Array | None = None, eps: Number = None):
    """Divided by the root mean square over the last dimensions (Zhang and Sennrich, 2019)."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if input.ndim < len(shape) or input.shape[input.ndim - len(shape):] != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], but got input of size{list(input.shape)}")
    axes = tuple(range(input.ndim - len(shape), input.ndim))
    x = _wide(input)
    eps = float(np.finfo(np.dtype(x.dtype)).eps) if eps is None else eps
    y = x * lax.rsqrt(jnp.mean(x * x, axes, keepdims=True) + eps)
    return (y if weight is None else y * _wide(weight)).astype(input.dtype)
