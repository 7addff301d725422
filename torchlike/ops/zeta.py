"""The Hurwitz zeta function and the polygamma functions, with their derivatives of every order."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# The direct sum runs to the first term above this, and at least so many terms; Euler-Maclaurin's formula does the rest.
_DIRECT = 9
_CORRECTIONS = 12


def _bernoulli_ratios() -> list[float]:
    """``B(2k) / (2k)!`` for k = 1, 2, ...: Bernoulli numbers by their recurrence, exactly."""
    b = [Fraction(1)]
    for m in range(1, 2 * _CORRECTIONS + 1):
        b.append(-sum((math.comb(m + 1, j) * b[j] for j in range(m)), Fraction(0)) / (m + 1))
    return [float(b[2 * k] / math.factorial(2 * k)) for k in range(1, _CORRECTIONS + 1)]


_RATIOS = _bernoulli_ratios()


def _hurwitz(s, q):
    def more(state):
        i, a, _ = state
        return (i < _DIRECT) | jnp.any(a <= _DIRECT)

    def step(state):
        i, a, total = state
        go_on = (i < _DIRECT) | (a <= _DIRECT)
        return i + 1, jnp.where(go_on, a + 1, a), jnp.where(go_on, total + jnp.power(a, -s), total)

    _, a, total = lax.while_loop(more, step, (0, q, jnp.zeros_like(q)))
    power = jnp.power(a, -s)
    total = total + a * power / (s - 1) + power / 2
    rising, power = s, power / a  # s (s + 1) ... (s + 2k - 2) and a ** (-s - 2k + 1)
    for k, ratio in enumerate(_RATIOS):
        total = total + ratio * rising * power
        rising = rising * (s + 2 * k + 1) * (s + 2 * k + 2)
        power = power / (a * a)
    return total


@jax.custom_jvp
def hurwitz_zeta(s, q):
    """The sum of ``(k + q) ** -s`` over k from 0, for arrays of one shape and floating dtype; differentiable by ``q`` only.

    inf for s = 1 and at the poles ``q = 0, -1, ...``; NaN for s < 1, and for negative q unless s is an integer.
    """
    pole = (q <= 0) & (q == jnp.floor(q))
    undefined = (s < 1) | ((q <= 0) & ~pole & (s != jnp.floor(s))) | jnp.isnan(s) | jnp.isnan(q)
    regular = ~(pole | undefined | (s == 1) | jnp.isinf(q))
    value = _hurwitz(jnp.where(regular, s, 2), jnp.where(regular, q, 1))
    value = jnp.where(pole | (s == 1), jnp.inf, jnp.where(jnp.isinf(q), jnp.where(q > 0, 0, jnp.nan), value))
    return jnp.where(undefined, jnp.nan, value)


@hurwitz_zeta.defjvp
def _(primals, tangents):
    s, q = primals
    return hurwitz_zeta(s, q), -s * hurwitz_zeta(s + 1, q) * tangents[1]


@jax.custom_jvp
def digamma(x):
    """The derivative of the logarithm of the gamma function: -inf at 0 (inf at -0), NaN at negative integers."""
    value = lax.digamma(x)
    value = jnp.where((x < 0) & (x == jnp.floor(x)), jnp.nan, value)
    return jnp.where(x == 0, jnp.copysign(jnp.asarray(jnp.inf, x.dtype), -x), value)


@digamma.defjvp
def _(primals, tangents):
    return digamma(primals[0]), polygamma(1, primals[0]) * tangents[0]


def _trigamma(x):
    """The derivative of digamma: reflected below 1/2; above, a few terms of the sum and the asymptotic series for the rest."""
    reflect = x < 0.5
    a = jnp.where(reflect, 1 - x, x)
    total = jnp.zeros_like(a)
    for _ in range(7):
        total = total + 1 / (a * a)
        a = a + 1
    inverse = 1 / a
    square = inverse * inverse
    tail = jnp.zeros_like(a)
    for k in range(8, 0, -1):
        tail = (tail + _RATIOS[k - 1] * math.factorial(2 * k)) * square
    total = total + inverse * (1 + inverse / 2 + tail)
    sine = jnp.sin(math.pi * jnp.where(reflect, x, 0.5))
    return jnp.where(reflect, jnp.square(math.pi / sine) - total, total)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def polygamma(n: int, x):
    """The ``n``-th derivative of digamma."""
    if n == 0:
        return digamma(x)
    if n == 1:
        return _trigamma(x)
    factorial = math.factorial(n) if n < 171 else math.inf
    return np.asarray(factorial if n % 2 else -factorial).astype(x.dtype) * hurwitz_zeta(jnp.full_like(x, n + 1), x)


@polygamma.defjvp
def _(n, primals, tangents):
    return polygamma(n, primals[0]), polygamma(n + 1, primals[0]) * tangents[0]
