"""Orthogonal polynomials of a degree given for each element: Chebyshev, Hermite, Laguerre, Legendre.

All by their three-term recurrences, run to the largest degree. Where torch switches to a closed form (Chebyshev inside
(-1, 1), for degrees above 6 or 8), so do we.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

# Above these degrees torch gives NaN for Hermite polynomials (they overflow).
_HERMITE_LIMIT = {np.dtype(np.float32): 128, np.dtype(np.float64): 512}


def _recurrence(x, n, first, step: Callable):
    """The polynomial of degree ``n`` (0 where negative): degree 0 is 1, degree 1 is ``first``, then ``step(k, x, p, q)``."""

    def body(state):
        k, before, last = state
        following = step(k.astype(x.dtype), x, before, last)
        go_on = k < n
        return k + 1, jnp.where(go_on, last, before), jnp.where(go_on, following, last)

    degree = jnp.where(n > 0, n, 0)
    start = (jnp.ones((), n.dtype), jnp.ones_like(x), first)
    _, _, last = lax.while_loop(lambda state: state[0] < jnp.max(degree, initial=0), body, start)
    return jnp.where(n < 0, 0, jnp.where(n == 0, 1, last))


def _degrees(x, n):
    """``x`` and the degrees as integers, broadcast."""
    x, n = jnp.broadcast_arrays(x, n)
    return x, jnp.trunc(n).astype(np.int64)


def _even(n):
    return n % 2 == 0


def _chebyshev_step(k, x, before, last):
    return 2 * x * last - before


def _inside(x):
    """The angle whose cosine x is, for x inside (-1, 1); some angle elsewhere."""
    return jnp.arccos(jnp.where(jnp.abs(x) < 1, x, 0.5))


def chebyshev(kind: str, x, n):
    """Chebyshev polynomials of the first (``"t"``), second (``"u"``), third (``"v"``) and fourth (``"w"``) kind."""
    x, n = _degrees(x, n)
    angle, degree = _inside(x), n.astype(x.dtype)
    alternating = jnp.where(_even(n), 1, -1).astype(x.dtype)
    if kind == "t":
        closed, first, above = jnp.cos(degree * angle), x, 6
        at_one, at_minus_one = jnp.ones_like(x), alternating
    elif kind == "u":
        closed, first, above = jnp.sin((degree + 1) * angle) / jnp.sin(angle), 2 * x, 8
        at_one, at_minus_one = degree + 1, alternating * (degree + 1)
    elif kind == "v":
        closed, first, above = jnp.cos((degree + 0.5) * angle) / jnp.cos(angle / 2), 2 * x - 1, 8
        at_one, at_minus_one = jnp.ones_like(x), alternating * (2 * degree + 1)
    else:
        closed, first, above = jnp.sin((degree + 0.5) * angle) / jnp.sin(angle / 2), 2 * x + 1, 8
        at_one, at_minus_one = 2 * degree + 1, alternating
    use_closed = (n > above) & (jnp.abs(x) < 1)
    value = _recurrence(x, jnp.where(use_closed, 0, n), first, _chebyshev_step)
    value = jnp.where(use_closed, closed, value)
    value = jnp.where(x == 1, at_one, jnp.where(x == -1, at_minus_one, value))
    return jnp.where(n < 0, 0, value)


def hermite(x, n, physicists: bool):
    """Hermite polynomials: the physicists' H, or the probabilists' He."""
    x, n = _degrees(x, n)
    limit = _HERMITE_LIMIT[np.dtype(x.dtype)]
    factor = 2 if physicists else 1
    value = _recurrence(x, jnp.minimum(n, limit), factor * x, lambda k, x, p, q: factor * (x * q - k * p))
    return jnp.where(n > limit, jnp.nan, value)


def laguerre(x, n):
    """Laguerre polynomials L."""
    x, n = _degrees(x, n)
    value = _recurrence(x, n, 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * q - k * p) / (k + 1))
    return jnp.where((x == 0) & (n >= 0), 1, value)


def legendre(x, n):
    """Legendre polynomials P."""
    x, n = _degrees(x, n)
    value = _recurrence(x, n, x, lambda k, x, p, q: ((2 * k + 1) * x * q - k * p) / (k + 1))
    at_end = jnp.where((x > 0) | _even(n), 1, -1)
    return jnp.where((jnp.abs(x) == 1) & (n >= 0), at_end, value)
