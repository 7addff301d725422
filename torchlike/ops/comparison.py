"""Comparisons, tests and logic: ``eq, lt, isclose, isnan, logical_and, ...``."""

from __future__ import annotations

import jax.numpy as jnp

from torchlike.ops import promotion
from torchlike.ops.declare import COMPARE, Array, Scalar, op
from torchlike.ops.dtype_errors import COMPLEX, is_bool, is_complex, is_integral, reject, type_name

# -- order ------------------------------------------------------------------------------------------------------------


@op(promote=COMPARE, opmath=False, inplace=True)
def eq(input: Array, other: Array | Scalar):
    """``input == other``."""
    return input == other


@op(promote=COMPARE, opmath=False, inplace=True, aliases=("not_equal",))
def ne(input: Array, other: Array | Scalar):
    """``input != other``."""
    return input != other


@op(promote=COMPARE, opmath=False, inplace=True, aliases=("less",))
def lt(input: Array, other: Array | Scalar):
    """``input < other``."""
    reject("lt_cpu", input, COMPLEX)
    return input < other


@op(promote=COMPARE, opmath=False, inplace=True, aliases=("less_equal",))
def le(input: Array, other: Array | Scalar):
    """``input <= other``."""
    reject("le_cpu", input, COMPLEX)
    return input <= other


@op(promote=COMPARE, opmath=False, inplace=True, aliases=("greater",))
def gt(input: Array, other: Array | Scalar):
    """``input > other``."""
    reject("gt_cpu", input, COMPLEX)
    return input > other


@op(promote=COMPARE, opmath=False, inplace=True, aliases=("greater_equal",))
def ge(input: Array, other: Array | Scalar):
    """``input >= other``."""
    reject("ge_cpu", input, COMPLEX)
    return input >= other


@op(out=False, strides="elementwise")
def isclose(input: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
    """``|input - other| <= atol + rtol * |other|``, elementwise; infinities are close to themselves only.

    ``equal_nan``: NaN is close to NaN. Both tensors must have one dtype.
    """
    if input.dtype != other.dtype:
        raise RuntimeError(f"{type_name(input.dtype)} did not match {type_name(other.dtype)}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    close = input == other
    if equal_nan and not is_integral(input):
        close = close | (jnp.isnan(input) & jnp.isnan(other))
    if is_integral(input):
        input, other = (x.astype(promotion.default_dtype()) for x in (input, other))
    difference = jnp.abs(input - other)
    allowed = atol + jnp.abs(rtol * other)
    return close | (jnp.isfinite(difference) & (difference <= allowed))


# -- tests ------------------------------------------------------------------------------------------------------------


@op(out=False, strides="elementwise", aliases=("special.isnan",))
def isnan(input: Array):
    """Whether each element is NaN (for complex numbers, either part)."""
    return jnp.zeros(input.shape, bool) if is_integral(input) else input != input


@op(out=False, strides="elementwise")
def isinf(input: Array):
    """Whether each element is infinite (for complex numbers, either part)."""
    return jnp.zeros(input.shape, bool) if is_integral(input) else jnp.isinf(input)


@op(out=False, strides="elementwise")
def isfinite(input: Array):
    """Whether each element is neither infinite nor NaN."""
    return jnp.ones(input.shape, bool) if is_integral(input) else jnp.isfinite(input)


def _refuse_complex(name: str, x) -> None:
    if is_complex(x):
        raise RuntimeError(f"{name} does not support complex inputs.")


@op(strides="elementwise")
def isposinf(input: Array):
    """Whether each element is positive infinity."""
    _refuse_complex("isposinf", input)
    return jnp.zeros(input.shape, bool) if is_integral(input) else input == jnp.inf


@op(strides="elementwise")
def isneginf(input: Array):
    """Whether each element is negative infinity."""
    _refuse_complex("isneginf", input)
    return jnp.zeros(input.shape, bool) if is_integral(input) else input == -jnp.inf


@op(out=False, strides="elementwise")
def isreal(input: Array):
    """Whether each element has no imaginary part."""
    return input.imag == 0 if is_complex(input) else jnp.ones(input.shape, bool)


# -- logic ------------------------------------------------------------------------------------------------------------


def _truth(x):
    return x if is_bool(x) else x != 0


@op(inplace=True, strides="elementwise")
def logical_not(input: Array):
    """Whether each element is zero."""
    return ~_truth(input)


@op(inplace=True, strides="elementwise")
def logical_and(input: Array, other: Array):
    """Whether both elements are nonzero."""
    return _truth(input) & _truth(other)


@op(inplace=True, strides="elementwise")
def logical_or(input: Array, other: Array):
    """Whether either element is nonzero."""
    return _truth(input) | _truth(other)


@op(inplace=True, strides="elementwise")
def logical_xor(input: Array, other: Array):
    """Whether exactly one element is nonzero."""
    return _truth(input) ^ _truth(other)
