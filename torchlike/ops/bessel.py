"""Bessel and Airy functions in double precision, from integral representations: no tables of coefficients.

The trapezoidal rule converges exponentially for analytic integrands that are periodic or decay fast (Trefethen and Weideman,
"The Exponentially Convergent Trapezoidal Rule", 2014), so a few dozen nodes give all digits. Formula numbers are those of
NIST's Digital Library of Mathematical Functions, https://dlmf.nist.gov.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax.scipy import special as jsp

_EULER = 0.57721566490153286060651209008240243

# Below this argument J and Y are sums over nodes, above it Hankel's asymptotic expansion has all digits.
_FAR = 25.0
_NODES = 40
_TERMS = 24


def _angles() -> np.ndarray:
    """Midpoints of ``_NODES`` equal parts of (0, pi / 2); by symmetry they stand for the whole period."""
    return (np.arange(_NODES) + 0.5) * (math.pi / 2 / _NODES)


def _weighted(x, weights: np.ndarray, rates: np.ndarray, f):
    """``sum(weights * f(rates * x))`` over nodes, which XLA fuses into one reduction."""
    return jnp.sum(weights * f(rates * x[..., None]), axis=-1)


def _near_j(order: int, x):
    # DLMF 10.9.1 and 10.9.2: the mean over the period of cos(x sin t), and of sin(x sin t) sin t.
    t = _angles()
    if order == 0:
        return _weighted(x, np.full(_NODES, 1 / _NODES), np.sin(t), jnp.cos)
    return _weighted(x, np.sin(t) / _NODES, np.sin(t), jnp.sin)


def _near_y(order: int, x):
    # Neumann's expansions (DLMF 10.8.1 rearranged, Abramowitz and Stegun 9.1.88-89), with the J of all orders summed first
    # into the weights of their common integral.
    t = _angles()
    k = np.arange(1, _NODES)[:, None]
    sign = np.where(k % 2, -1.0, 1.0)
    log = jnp.log(x / 2) + _EULER
    if order == 0:
        weights = (sign / k * np.cos(2 * k * t)).sum(0) / _NODES
        return 2 / math.pi * log * _near_j(0, x) - 4 / math.pi * _weighted(x, weights, np.sin(t), jnp.cos)
    weights = (sign * (2 * k + 1) / (k * (k + 1)) * np.sin((2 * k + 1) * t)).sum(0) / _NODES
    return 2 / math.pi * ((log - 1) * _near_j(1, x) - _near_j(0, x) / x - _weighted(x, weights, np.sin(t), jnp.sin))


def _hankel(order: int, x):
    """P and Q of Hankel's expansions, DLMF 10.17.3-4: J = sqrt(2 / (pi x)) (P cos w - Q sin w), Y with sin and cos exchanged."""
    coefficients = [1.0]
    for k in range(1, _TERMS):
        coefficients.append(coefficients[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    inverse = 1 / x
    square = -inverse * inverse
    p = q = jnp.zeros_like(x)
    for a, b in zip(coefficients[::2][::-1], coefficients[1::2][::-1], strict=True):
        p, q = p * square + a, q * square + b
    return p, q * inverse


def _far(order: int, x):
    """J and Y for large x."""
    p, q = _hankel(order, x)
    # cos and sin of w = x - (2 order + 1) pi / 4 without losing the digits of x.
    cos, sin = jnp.cos(x), jnp.sin(x)
    cos_w, sin_w = (cos + sin, sin - cos) if order == 0 else (sin - cos, -(sin + cos))
    scale = jnp.sqrt(1 / (math.pi * x))
    return scale * (p * cos_w - q * sin_w), scale * (p * sin_w + q * cos_w)


def bessel_j(order: int, x):
    """The Bessel function of the first kind, of order 0 or 1; NaN at infinity, as torch's."""
    size = jnp.abs(x)
    near = size <= _FAR
    value = jnp.where(near, _near_j(order, jnp.where(near, size, 0)), _far(order, jnp.where(near, _FAR, size))[0])
    return jnp.where(x < 0, -value, value) if order == 1 else value


def bessel_y(order: int, x):
    """The Bessel function of the second kind, of order 0 or 1: -inf at 0, NaN below."""
    near = x <= _FAR
    inside = jnp.where((x > 0) & near, x, 1)
    value = jnp.where(near, _near_y(order, inside), _far(order, jnp.where(near, _FAR, x))[1])
    return jnp.where(x > 0, value, jnp.where(x == 0, -jnp.inf, jnp.nan))


def _scaled_k_integral(order: int, x):
    """``exp(x) K(x)`` as an integral over cosh, DLMF 10.32.9; for x not below 2."""
    step = (0.34 / jnp.sqrt(x + 1))[..., None]  # the integrand narrows as x grows
    t = np.arange(26) * step
    values = jnp.exp(-2 * x[..., None] * jnp.square(jnp.sinh(t / 2)))
    if order == 1:
        values = values * jnp.cosh(t)
    return jnp.sum(values * np.where(np.arange(26) == 0, 0.5, 1.0) * step, axis=-1)


def _k_series(order: int, x):
    """K of order 0 or 1 for small x, DLMF 10.31.1-2."""
    k = np.arange(20)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / k[1:])])
    factorial = np.concatenate([[1.0], np.cumprod(k[1:].astype(float))])
    if order == 0:
        coefficients = harmonic / factorial**2
    else:
        coefficients = (2 * harmonic + 1 / (k + 1) - 2 * _EULER) / (factorial**2 * (k + 1))
    total = jnp.polyval(jnp.asarray(coefficients[::-1].copy()), x * x / 4)
    if order == 0:
        return total - (jnp.log(x / 2) + _EULER) * jsp.i0(x)
    return 1 / x + jnp.log(x / 2) * jsp.i1(x) - x / 4 * total


def modified_bessel_k(order: int, x, scaled: bool):
    """The modified Bessel function of the second kind, of order 0 or 1, times ``exp(x)`` if scaled: inf at 0, NaN below."""
    small = x < 2
    low = _k_series(order, jnp.where(small & (x > 0), x, 1))
    high = _scaled_k_integral(order, jnp.where(small, 2, x))
    value = jnp.where(small, low * jnp.exp(jnp.where(small, x, 0)), high) if scaled else jnp.where(small, low, high * jnp.exp(-x))
    value = jnp.where(x == jnp.inf, 0, value)
    return jnp.where(x > 0, value, jnp.where(x == 0, jnp.inf, jnp.nan))


def airy_ai(x):
    """The Airy function Ai.

    From -10 on by DLMF 9.5.4 on the contour through ``i a`` (a = sqrt(x) is the saddle point), where the integrand decays like
    a Gaussian; below, by the asymptotic expansion DLMF 9.7.9.
    """
    far = x < -10
    near = jnp.where(far, 0, x)
    a = jnp.sqrt(jnp.maximum(near, 0.36))
    step = (0.09 * jnp.sqrt(0.6 / a))[..., None]
    t = np.arange(90) * step
    drift = (near - a * a)[..., None]
    values = jnp.exp(-a[..., None] * t * t) * jnp.cos(t * t * t / 3 + drift * t)
    total = jnp.sum(values * np.where(np.arange(90) == 0, 0.5, 1.0) * step, axis=-1)
    by_integral = total / math.pi * jnp.exp(a * a * a / 3 - near * a)

    z = jnp.where(far, -x, 10)
    zeta = 2 / 3 * z * jnp.sqrt(z)
    u = [1.0]
    for k in range(1, 24):
        u.append(u[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / ((2 * k - 1) * 216 * k))
    square = -1 / (zeta * zeta)
    even = odd = jnp.zeros_like(x)
    for c, d in zip(u[::2][::-1], u[1::2][::-1], strict=True):
        even, odd = even * square + c, odd * square + d
    w = zeta - math.pi / 4
    by_expansion = (jnp.cos(w) * even + jnp.sin(w) * odd / zeta) / (math.sqrt(math.pi) * jnp.sqrt(jnp.sqrt(z)))
    return jnp.where(far, by_expansion, by_integral)
