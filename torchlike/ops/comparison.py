"""Comparisons and logic: ``eq, lt, isnan, logical_and, bitwise_and, ...``."""

from __future__ import annotations

import jax.numpy as jnp

from torchlike.ops.declare import ARITH, COMPARE, Array, Scalar, op


@op(promote=COMPARE, inplace=True)
def eq(input: Array | Scalar, other: Array | Scalar):
    """``input == other``."""
    return input == other


@op(promote=COMPARE, inplace=True, aliases=("not_equal",))
def ne(input: Array | Scalar, other: Array | Scalar):
    """``input != other``."""
    return input != other


@op(promote=COMPARE, inplace=True, aliases=("less",))
def lt(input: Array | Scalar, other: Array | Scalar):
    """``input < other``."""
    return input < other


@op(promote=COMPARE, inplace=True, aliases=("less_equal",))
def le(input: Array | Scalar, other: Array | Scalar):
    """``input <= other``."""
    return input <= other


@op(promote=COMPARE, inplace=True, aliases=("greater",))
def gt(input: Array | Scalar, other: Array | Scalar):
    """``input > other``."""
    return input > other


@op(promote=COMPARE, inplace=True, aliases=("greater_equal",))
def ge(input: Array | Scalar, other: Array | Scalar):
    """``input >= other``."""
    return input >= other


@op(differentiable=False)
def isnan(input: Array):
    """Whether each element is NaN."""
    return jnp.isnan(input)


@op(promote=ARITH, inplace=True, differentiable=False)
def bitwise_and(input: Array | Scalar, other: Array | Scalar):
    """``input & other``."""
    return input & other


@op(promote=ARITH, inplace=True, differentiable=False)
def bitwise_or(input: Array | Scalar, other: Array | Scalar):
    """``input | other``."""
    return input | other


@op(promote=ARITH, inplace=True, differentiable=False)
def bitwise_xor(input: Array | Scalar, other: Array | Scalar):
    """``input ^ other``."""
    return input ^ other


@op(promote=ARITH, inplace=True, differentiable=False)
def bitwise_not(input: Array):
    """``~input``."""
    return ~input


@op(promote=ARITH, inplace=True, differentiable=False)
def bitwise_left_shift(input: Array | Scalar, other: Array | Scalar):
    """``input << other``."""
    return input << other


@op(promote=ARITH, inplace=True, differentiable=False)
def bitwise_right_shift(input: Array | Scalar, other: Array | Scalar):
    """``input >> other``."""
    return input >> other
