"""Elementwise arithmetic: ``add, mul, pow, exp, log, sqrt, clamp, where, ...``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from torchlike.ops import promotion
from torchlike.ops.declare import ABS, ARITH, FLOAT, Array, Scalar, op


def is_integral(x) -> bool:
    """Whether an array holds integers or bools."""
    return promotion.kind(np.dtype(x.dtype)) < 2


def is_bool(x) -> bool:
    """Whether an array holds bools."""
    return np.dtype(x.dtype).kind == "b"


def _one(x) -> bool:
    return type(x) in (int, float, bool) and x == 1


@op(promote=ARITH, inplace=True)
def add(input: Array | Scalar, other: Array | Scalar, *, alpha: Scalar = 1):
    """``input + alpha * other``."""
    if is_bool(input):
        return input | other
    return input + other if _one(alpha) else input + jnp.asarray(alpha).astype(other.dtype) * other


@op(promote=ARITH, inplace=True, aliases=("subtract",))
def sub(input: Array | Scalar, other: Array | Scalar, *, alpha: Scalar = 1):
    """``input - alpha * other``."""
    if is_bool(input):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        )
    return input - other if _one(alpha) else input - jnp.asarray(alpha).astype(other.dtype) * other


@op(promote=ARITH, inplace=True, aliases=("multiply",))
def mul(input: Array | Scalar, other: Array | Scalar):
    """``input * other``."""
    return input & other if is_bool(input) else input * other


def _floor_divide(a, b):
    if is_integral(a):
        return jnp.floor_divide(a, jnp.where(b == 0, jnp.ones_like(b), b)) if a.dtype.kind != "b" else a
    mod = jax.lax.rem(a, b)
    div = (a - mod) / b
    div = jnp.where((mod != 0) & ((b < 0) != (mod < 0)), div - 1, div)
    floor = jnp.floor(div)
    floor = jnp.where(div - floor > 0.5, floor + 1, floor)
    return jnp.where(b == 0, a / b, jnp.where(div != 0, floor, jnp.copysign(jnp.zeros_like(a), a / b)))


@op(name="div", promote=FLOAT, inplace=True, aliases=("divide",))
def div(input: Array | Scalar, other: Array | Scalar):
    """``input / other``; integers give floats."""
    return input / other


@op(name="div", promote=ARITH, inplace=True, aliases=("divide",))
def div_rounded(input: Array | Scalar, other: Array | Scalar, *, rounding_mode: str | None):
    """``input / other`` rounded: ``"trunc"`` towards zero, ``"floor"`` down, None not at all."""
    if rounding_mode is None:
        return jnp.true_divide(input, other).astype(promotion.default_dtype() if is_integral(input) else input.dtype)
    if rounding_mode == "floor":
        return _floor_divide(input, other)
    if rounding_mode == "trunc":
        return jax.lax.div(input, other) if is_integral(input) else jnp.trunc(input / other)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


@op(promote=FLOAT, inplace=True)
def true_divide(input: Array | Scalar, other: Array | Scalar):
    """``input / other``."""
    return input / other


@op(promote=ARITH, inplace=True)
def floor_divide(input: Array | Scalar, other: Array | Scalar):
    """``input / other`` rounded down."""
    return _floor_divide(input, other)


@op(promote=ARITH, inplace=True)
def remainder(input: Array | Scalar, other: Array | Scalar):
    """Modulus with the sign of ``other``."""
    return jnp.remainder(input, other)


@op(promote=ARITH, inplace=True)
def fmod(input: Array | Scalar, other: Array | Scalar):
    """Modulus with the sign of ``input``."""
    return jnp.fmod(input, other)


@op(promote=ARITH, inplace=True)
def pow(input: Array | Scalar, exponent: Array | Scalar):
    """``input ** exponent``."""
    if is_bool(input):
        return (input | ~exponent).astype(input.dtype)
    return jnp.power(input, exponent)


@pow.vjp
def _(grad, input, exponent, result):
    zero = exponent == 0
    base = jnp.where(zero, 0, exponent * jnp.power(input, jnp.where(zero, 1, exponent - 1)))
    log = jnp.where(input == 0, jnp.where(jnp.real(exponent) >= 0, 0, jnp.nan), jnp.log(jnp.where(input == 0, 1, input)))
    return grad * jnp.conj(base), grad * jnp.conj(result * log)


@op(promote=ARITH, inplace=True, aliases=("negative",))
def neg(input: Array):
    """``-input``."""
    if is_bool(input):
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
            "`logical_not()` operator instead."
        )
    return -input


@op(promote=ARITH)
def positive(input: Array):
    """``+input``."""
    return input


@op(promote=ABS, inplace=True, aliases=("absolute",))
def abs(input: Array):
    """Absolute value; of complex numbers, the modulus."""
    return jnp.abs(input)


@abs.vjp
def _(grad, input):
    return grad * jnp.sign(input)


@op(promote=ARITH, inplace=True)
def sign(input: Array):
    """-1, 0 or 1."""
    return jnp.sign(input) if not is_bool(input) else input


@op(promote=FLOAT, inplace=True)
def exp(input: Array):
    """e to the power."""
    return jnp.exp(input)


@exp.vjp
def _(grad, result):
    return grad * jnp.conj(result)


@op(promote=FLOAT, inplace=True)
def log(input: Array):
    """Natural logarithm."""
    return jnp.log(input)


@op(promote=FLOAT, inplace=True)
def sqrt(input: Array):
    """Square root."""
    return jnp.sqrt(input)


@sqrt.vjp
def _(grad, result):
    return grad / (2 * jnp.conj(result))


@op(promote=FLOAT, inplace=True)
def rsqrt(input: Array):
    """``1 / sqrt(input)``."""
    return 1 / jnp.sqrt(input)


@op(promote=ARITH, inplace=True)
def square(input: Array):
    """``input * input``."""
    return input * input


@op(promote=FLOAT, inplace=True)
def sin(input: Array):
    """Sine."""
    return jnp.sin(input)


@op(promote=FLOAT, inplace=True)
def cos(input: Array):
    """Cosine."""
    return jnp.cos(input)


@op(promote=FLOAT, inplace=True)
def tanh(input: Array):
    """Hyperbolic tangent."""
    return jnp.tanh(input)


@tanh.vjp
def _(grad, result):
    return grad * jnp.conj(1 - result * result)


@op(promote=FLOAT, inplace=True)
def sigmoid(input: Array):
    """``1 / (1 + exp(-input))``."""
    return jax.nn.sigmoid(input)


@sigmoid.vjp
def _(grad, result):
    return grad * result * (1 - result)


@op(promote=ARITH, inplace=True)
def clamp(input: Array, min: Array | Scalar | None = None, max: Array | Scalar | None = None):
    """``input`` limited to between ``min`` and ``max``."""
    if min is not None:
        input = jnp.maximum(input, min)
    return input if max is None else jnp.minimum(input, max)


@op(promote=ARITH)
def maximum(input: Array, other: Array):
    """The larger of each pair."""
    return jnp.maximum(input, other)


@op(promote=ARITH, promote_args=("input", "other"))
def where(condition: Array, input: Array | Scalar, other: Array | Scalar):
    """``input`` where the condition is true, else ``other``."""
    return jnp.where(condition, input, other)


