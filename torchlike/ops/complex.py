"""Complex numbers: making them, conjugates, angles (``real``, ``imag`` and ``view_as_real`` are views)."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops import promotion
from torchlike.ops.declare import ARITH, FLOAT, Array, op
from torchlike.ops.dtype_errors import is_complex, type_name, unsupported


def _check_parts(first, second) -> None:
    for x in (first, second):
        if not promotion.is_floating(np.dtype(x.dtype)) or np.dtype(x.dtype) == promotion.BFLOAT16:
            raise RuntimeError(
                "Expected both inputs to be Half, Float or Double tensors but got "
                f"{type_name(first.dtype)} and {type_name(second.dtype)}"
            )
    if first.dtype != second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {type_name(first.dtype)} but got scalar type {type_name(second.dtype)} for second argument"
        )


@op(method=False, strides="elementwise")
def complex(real: Array, imag: Array):
    """``real + i * imag``, of two tensors of one floating dtype."""
    _check_parts(real, imag)
    if np.dtype(real.dtype) == promotion.FLOAT16:
        raise RuntimeError("complex32 is not supported: XLA has no half-precision complex numbers. Use float32 parts.")
    return lax.complex(*jnp.broadcast_arrays(real, imag))


@op(method=False, strides="elementwise", autocast="fp32")
def polar(abs: Array, angle: Array):
    """``abs * (cos(angle) + i * sin(angle))``, of two tensors of one floating dtype."""
    _check_parts(abs, angle)
    if np.dtype(abs.dtype) == promotion.FLOAT16:
        raise unsupported("polar_cpu", abs.dtype)
    return lax.complex(*jnp.broadcast_arrays(abs * jnp.cos(angle), abs * jnp.sin(angle)))


@op(promote=ARITH, opmath=False, out=False, node="ConjBackward0")
def conj(input: Array):
    """The complex conjugate; real numbers as they are."""
    return jnp.conj(input) if is_complex(input) else input


@op(promote=ARITH, opmath=False, inplace=True)
def conj_physical(input: Array):
    """The complex conjugate, computed."""
    return jnp.conj(input) if is_complex(input) else input


@op(promote=ARITH, opmath=False, out=False, node="ResolveConjBackward0")
def resolve_conj(input: Array):
    """``input`` (conjugates are always computed here)."""
    return input


@op(promote=ARITH, opmath=False, out=False, node="ResolveNegBackward0")
def resolve_neg(input: Array):
    """``input`` (negations are always computed here)."""
    return input


@op(promote=FLOAT)
def angle(input: Array):
    """The angle of complex numbers in [-pi, pi]; of real numbers 0, or pi where negative."""
    if is_complex(input):
        return jnp.arctan2(input.imag, input.real)
    return jnp.where(jnp.isnan(input), jnp.nan, jnp.where(input < 0, jnp.pi, 0)).astype(input.dtype)


@angle.vjp
def _(grad, input):
    if not is_complex(input):
        return jnp.zeros_like(grad)
    zero = input == 0
    square = jnp.where(zero, 1, jnp.real(input * jnp.conj(input)))
    return jnp.where(zero, 0, 1j * grad * input / square)
