"""Losses that are operators of their own: negative log likelihood and cross entropy. The others are compositions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from torchlike.ops.declare import Array, op


def _reduced(losses, reduction, total_weight=None):
    if reduction == "none":
        return losses
    if reduction == "sum":
        return jnp.sum(losses)
    if reduction == "mean":
        return jnp.mean(losses) if total_weight is None else jnp.sum(losses) / total_weight
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _nll(logp, target, weight, ignore_index, reduction):
    """``logp`` is ``(N, C, *)``, ``target`` ``(N, *)``."""
    valid = target != ignore_index
    index = jnp.where(valid, target, 0)
    picked = -jnp.take_along_axis(logp, index[:, None], axis=1)[:, 0]
    if weight is None:
        losses = jnp.where(valid, picked, 0)
        total = jnp.sum(valid).astype(logp.dtype)
    else:
        factors = jnp.where(valid, jnp.take(weight, index), 0)
        losses = picked * factors
        losses = jnp.where(valid, losses, 0)
        total = jnp.sum(factors)
    return _reduced(losses, reduction, total)


def _check(input, target, weight):
    if input.ndim == 0:
        raise ValueError(f"Expected 1 or more dimensions (got {input.ndim})")
    classes = input.shape[1] if input.ndim > 1 else input.shape[0]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: {list(weight.shape)}")
    if np.dtype(target.dtype).kind not in "iu":
        raise RuntimeError(f"expected scalar type Long but found {np.dtype(target.dtype).name.capitalize()}")
    if input.ndim > 1 and input.shape[0] != target.shape[0] if target.ndim else input.ndim > 1:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0] if target.ndim else 1}).")
    if input.ndim > 1 and target.shape != (input.shape[0], *input.shape[2:]):
        raise RuntimeError(f"Expected target size {[input.shape[0], *input.shape[2:]]}, got {list(target.shape)}")


@op(namespace="nn.functional", name="_nll_loss", method=False, out=False, node="NllLossBackward0", autocast="fp32")
def nll_loss(input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str):
    """Negative log likelihood of class indices; ``input`` holds log probabilities, ``(N, C, *)`` or ``(C,)``."""
    _check(input, target, weight)
    if input.ndim == 1:
        out = _nll(input[None], target[None], weight, ignore_index, reduction)
        return out[0] if reduction == "none" else out
    return _nll(input, target, weight, ignore_index, reduction)


@op(namespace="nn.functional", name="_cross_entropy", method=False, out=False, node="NllLossBackward0", autocast="fp32")
def cross_entropy(input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, label_smoothing: float):
    """Cross entropy of logits ``(N, C, *)`` with class indices ``(N, *)`` or class probabilities ``(N, C, *)``."""
    probabilities = target.shape == input.shape and np.dtype(target.dtype).kind in "fV"
    batched = input.ndim > 1
    x = input if batched else input[None]
    wide = x.astype(np.float32) if np.dtype(x.dtype).itemsize == 2 else x
    logp = jax.nn.log_softmax(wide, axis=1)
    classes = x.shape[1]
    if probabilities:
        t = (target if batched else target[None]).astype(wide.dtype)
        if label_smoothing:
            t = t * (1 - label_smoothing) + label_smoothing / classes
        if weight is not None:
            logp = logp * weight.reshape(1, -1, *([1] * (x.ndim - 2)))
        losses = -jnp.sum(t * logp, axis=1)
        if reduction == "mean":
            return (jnp.sum(losses) / max(losses.size, 1)).astype(input.dtype)
        out = _reduced(losses, reduction)
        return (out if batched or reduction != "none" else out[0]).astype(input.dtype)
    _check(input, target, weight)
    t = target if batched else target[None]
    out = _nll(logp, t, weight, ignore_index, reduction)
    if label_smoothing:
        valid = t != ignore_index
        weighted = logp if weight is None else logp * weight.reshape(1, -1, *([1] * (x.ndim - 2)))
        smooth = jnp.where(valid, -jnp.sum(weighted, axis=1), 0)
        total = jnp.sum(valid).astype(wide.dtype) if weight is None else jnp.sum(jnp.where(valid, jnp.take(weight, jnp.where(valid, t, 0)), 0))
        out = (1 - label_smoothing) * out + label_smoothing / classes * _reduced(smooth, reduction, total)
    return (out if batched or reduction != "none" else out[0]).astype(input.dtype)


@op(namespace="nn.functional", name="_binary_cross_entropy", method=False, out=False, node="BinaryCrossEntropyBackward0")
def binary_cross_entropy(input: Array, target: Array):
    """Binary cross entropy, element by element."""
    return -(target * jnp.maximum(jnp.log(input), -100) + (1 - target) * jnp.maximum(jnp.log1p(-input), -100))


@binary_cross_entropy.vjp
def _(grad, input, target):
    to_input = grad * (input - target) / jnp.maximum((1 - input) * input, 1e-12)
    to_target = grad * (jnp.maximum(jnp.log1p(-input), -100) - jnp.maximum(jnp.log(input), -100))
    return to_input, to_target


@op(namespace="nn.functional", name="_binary_cross_entropy_with_logits", method=False, out=False, node="BinaryCrossEntropyWithLogitsBackward0")
def binary_cross_entropy_with_logits(input: Array, target: Array, pos_weight: Array | None):
    """Binary cross entropy of logits, element by element."""
    log_sigmoid = jax.nn.log_sigmoid(input)
    if pos_weight is None:
        return (1 - target) * input - log_sigmoid
    factor = (pos_weight - 1) * target + 1
    return (1 - target) * input - factor * log_sigmoid
