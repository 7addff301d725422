"""Bitwise logic and shifts of integers and bools: ``bitwise_and, bitwise_left_shift, ...``."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops.declare import ARITH, Array, Scalar, op
from torchlike.ops.dtype_errors import BOOL, COMPLEX, FLOATING, reject


@op(promote=ARITH, inplace=True, aliases=("__and__",))
def bitwise_and(input: Array | Scalar, other: Array | Scalar):
    """``input & other``."""
    reject("bitwise_and_cpu", input, FLOATING, COMPLEX)
    return input & other


@op(promote=ARITH, inplace=True, aliases=("__or__",))
def bitwise_or(input: Array | Scalar, other: Array | Scalar):
    """``input | other``."""
    reject("bitwise_or_cpu", input, FLOATING, COMPLEX)
    return input | other


@op(promote=ARITH, inplace=True, aliases=("__xor__",))
def bitwise_xor(input: Array | Scalar, other: Array | Scalar):
    """``input ^ other``."""
    reject("bitwise_xor_cpu", input, FLOATING, COMPLEX)
    return input ^ other


@op(promote=ARITH, inplace=True)
def bitwise_not(input: Array):
    """``~input``; of bools, the logical not."""
    reject("bitwise_not_cpu", input, FLOATING, COMPLEX)
    return ~input


def _bits(x) -> int:
    return np.dtype(x.dtype).itemsize * 8


def _shifted_out(amount, bits: int):
    """Whether a shift amount is negative or moves every bit out."""
    return (amount < 0) | (amount >= bits) if amount.dtype.kind == "i" else amount >= bits


@op(promote=ARITH, inplace=True)
def bitwise_left_shift(input: Array | Scalar, other: Array | Scalar):
    """``input << other``; 0 for amounts that are negative or not below the number of bits."""
    reject("lshift_cpu", input, BOOL, FLOATING, COMPLEX)
    input, other = jnp.broadcast_arrays(input, other)
    return jnp.where(_shifted_out(other, _bits(input)), 0, lax.shift_left(input, other)).astype(input.dtype)


@op(promote=ARITH, inplace=True)
def bitwise_right_shift(input: Array | Scalar, other: Array | Scalar):
    """``input >> other``, keeping the sign; out-of-range amounts give 0 or -1."""
    reject("rshift_cpu", input, BOOL, FLOATING, COMPLEX)
    input, other = jnp.broadcast_arrays(input, other)
    if input.dtype.kind == "u":
        return jnp.where(_shifted_out(other, _bits(input)), 0, lax.shift_right_logical(input, other)).astype(input.dtype)
    most = jnp.asarray(_bits(input) - 1, input.dtype)
    return lax.shift_right_arithmetic(input, jnp.where(_shifted_out(other, _bits(input)), most, other))
