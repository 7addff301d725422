"""Trigonometric functions and remainders of float32 on CPU, where XLA calls the C library once an element.

They compute in float64, in which plain Taylor series and a remainder by one multiplication are exact enough to be rounded to
float32 once. Measured for 1e6 elements on one core, in ms, XLA's own against these: sin 6.0, 1.0; acos 36, 1.7; atan2 17, 2.2;
fmod 15, 1.2. Other dtypes and platforms take XLA's functions.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops.declare import platform

_HALF_PI = math.pi / 2


def _applies(*arrays) -> bool:
    return platform() == "cpu" and all(np.dtype(x.dtype) == np.float32 for x in arrays)


def _series(coefficients: list[float], x):
    """The polynomial with the coefficients of rising powers, by Horner's rule."""
    total = jnp.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def _unless_any(rare, fast, general, *operands):
    """``fast(*operands)``, or where the scalar predicate ``rare`` holds, ``general(*operands)``."""
    return lax.cond(rare, general, fast, *operands)


# -- sine and cosine --------------------------------------------------------------------------------------------------

_SIN = [(-1) ** n / math.factorial(2 * n + 1) for n in range(7)]
_COS = [(-1) ** n / math.factorial(2 * n) for n in range(7)]

# pi / 2 in two parts, the first so short that its product with a quarter count below 2 ** 20 is exact.
_HALF_PI_HIGH = math.floor(_HALF_PI * 2**32) / 2**32
_HALF_PI_LOW = 6.12323399573676603587e-17 + (_HALF_PI - _HALF_PI_HIGH)
_LARGEST = 1e6


def _quarters(x):
    """``x`` as a number of quarter turns and the rest in [-pi / 4, pi / 4], in float64."""
    wide = x.astype(np.float64)
    count = jnp.round(wide * (1 / _HALF_PI))
    return count.astype(np.int32), (wide - count * _HALF_PI_HIGH) - count * _HALF_PI_LOW


def _turned(x, shift: int):
    count, rest = _quarters(x)
    square = rest * rest
    count = count + shift
    value = jnp.where(count & 1, _series(_COS, square), rest * _series(_SIN, square))
    return jnp.where(count & 2, -value, value).astype(np.float32)


def _is_large(x):
    return jnp.any(jnp.abs(x) > _LARGEST)


@jax.custom_jvp
def sin(x):
    """Sine."""
    return _unless_any(_is_large(x), lambda v: _turned(v, 0), lax.sin, x) if _applies(x) else jnp.sin(x)


@jax.custom_jvp
def cos(x):
    """Cosine."""
    return _unless_any(_is_large(x), lambda v: _turned(v, 1), lax.cos, x) if _applies(x) else jnp.cos(x)


@sin.defjvp
def _(primals, tangents):
    return sin(primals[0]), tangents[0] * cos(primals[0])


@cos.defjvp
def _(primals, tangents):
    return cos(primals[0]), -tangents[0] * sin(primals[0])


def _fast_tan(x):
    count, rest = _quarters(x)
    square = rest * rest
    sine, cosine = rest * _series(_SIN, square), _series(_COS, square)
    odd = (count & 1) == 1
    return (jnp.where(odd, -cosine, sine) / jnp.where(odd, sine, cosine)).astype(np.float32)


def tan(x):
    """Tangent."""
    return _unless_any(_is_large(x), _fast_tan, lax.tan, x) if _applies(x) else jnp.tan(x)


# -- inverse functions ------------------------------------------------------------------------------------------------

_ATAN = [(-1) ** n / (2 * n + 1) for n in range(12)]
_ASIN = [math.comb(2 * n, n) / (4**n * (2 * n + 1)) for n in range(14)]
_TAN_PI_8 = math.sqrt(2) - 1


def _positive_atan(numerator, denominator):
    """The angle of ``numerator / denominator`` for nonnegative float64 numbers (0 / 0 counts as 0)."""
    # Within pi / 8 of 0, pi / 4 or pi / 2: the tangent of the difference is small enough for the series.
    low = numerator <= _TAN_PI_8 * denominator
    high = denominator < _TAN_PI_8 * numerator
    top = jnp.where(low, numerator, jnp.where(high, -denominator, numerator - denominator))
    bottom = jnp.where(low, denominator, jnp.where(high, numerator, numerator + denominator))
    rest = top / jnp.where(bottom == 0, 1, bottom)
    return rest * _series(_ATAN, rest * rest) + jnp.where(low, 0, jnp.where(high, _HALF_PI, _HALF_PI / 2))


def atan(x):
    """The angle in [-pi/2, pi/2] whose tangent is ``x``."""
    if not _applies(x):
        return jnp.arctan(x)
    size = jnp.minimum(jnp.abs(x).astype(np.float64), 1e300)  # infinity would meet itself in a quotient
    return jnp.copysign(_positive_atan(size, jnp.ones_like(size)).astype(np.float32), x)


def atan2(y, x):
    """The angle of the point ``(x, y)``, in [-pi, pi]."""
    if not _applies(y, x):
        return jnp.arctan2(y, x)
    y, x = jnp.broadcast_arrays(y, x)
    up, across = (jnp.abs(v).astype(np.float64) for v in (y, x))
    both = jnp.isinf(up) & jnp.isinf(across)
    up, across = (jnp.where(both, 1, jnp.minimum(v, 1e300)) for v in (up, across))
    angle = _positive_atan(up, across)
    angle = jnp.where(jnp.signbit(x), math.pi - angle, angle).astype(np.float32)
    return jnp.copysign(angle, y)


def _small_asin(x):
    return x * _series(_ASIN, x * x)


def asin(x):
    """The angle in [-pi/2, pi/2] whose sine is ``x``."""
    if not _applies(x):
        return jnp.arcsin(x)
    size = jnp.abs(x).astype(np.float64)
    near_one = size > 0.5
    half = _small_asin(jnp.where(near_one, jnp.sqrt((1 - size) / 2), size))
    return jnp.copysign(jnp.where(near_one, _HALF_PI - 2 * half, half).astype(np.float32), x)


def acos(x):
    """The angle in [0, pi] whose cosine is ``x``."""
    if not _applies(x):
        return jnp.arccos(x)
    wide = x.astype(np.float64)
    size = jnp.abs(wide)
    near_one = size > 0.5
    part = _small_asin(jnp.where(near_one, jnp.sqrt((1 - size) / 2), wide))
    acute = 2 * part
    return jnp.where(near_one, jnp.where(wide > 0, acute, math.pi - acute), _HALF_PI - part).astype(np.float32)


# -- remainders -------------------------------------------------------------------------------------------------------


def _fast_rem(a, b):
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    rest = wide_a - jnp.trunc(wide_a / wide_b) * wide_b  # exact: the quotient has at most 29 bits, b 24
    # A quotient that was rounded up to an integer leaves a rest of the wrong sign.
    rest = jnp.where((rest != 0) & ((rest < 0) != (wide_a < 0)), rest + jnp.copysign(wide_b, wide_a), rest)
    rest = jnp.where(jnp.isinf(wide_b) & jnp.isfinite(wide_a), wide_a, rest)
    return jnp.copysign(rest, wide_a).astype(np.float32)


def rem(a, b):
    """The remainder of ``a / b`` with the sign of ``a``."""
    a, b = jnp.broadcast_arrays(a, b)
    if not _applies(a, b):
        return lax.rem(a, b)
    quotient = jnp.abs(a.astype(np.float64) / b.astype(np.float64))
    return _unless_any(jnp.any((quotient > 2.0**29) & jnp.isfinite(quotient)), _fast_rem, lax.rem, a, b)
