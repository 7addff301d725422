"""The normal numbers of torch's vectorised kernel, to the last bit.

torch fills float32 normals in blocks of 16: eight radii ``sqrt(-2 log(1 - u))`` and eight angles ``2 pi u``, with the
logarithm, sine and cosine polynomials of Cephes in fused multiply-adds (S. Moshier's Cephes library, as in J. Pommier's
sse_mathfun). A fused multiply-add of float32 numbers is done here in float64, where the product is exact, and rounded once:
the polynomials below then give the same bits, checked on millions of draws.

They are written twice: for NumPy, in place, and for XLA, which has the processor's fused multiply-adds and is ten times as
fast, once a process has drawn enough numbers for its compilation to pay. XLA serves only where it gives NumPy's bits.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike.random.rounding import fma32, libm

_F, _D = np.float32, np.float64
_SQRT_HALF = np.int32(0x3F3504F3)  # the bits of sqrt(1/2), where the logarithm's argument is cut
_LOG = tuple(map(_F, (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1,
                      -2.4999993993e-1, 3.3333331174e-1)))  # fmt: skip
_LOG_2 = _F(0.693359375), _F(-2.12194440e-4)  # in two parts
_PI_OVER_4 = _F(-0.78515625), _F(-2.4187564849853515625e-4), _F(-3.77489497744594108e-8)  # minus it, in three parts
_COS = _F(2.443315711809948e-5), _F(-1.388731625493765e-3), _F(4.166664568298827e-2)
_SIN = _F(-1.9515295891e-4), _F(8.3321608736e-3), _F(-1.6666654611e-1)
_COS_SIN = np.array([_COS, _SIN], _D).T.reshape(3, 2, 1)
_TWO_PI, _OCTANTS = _F(2 * np.pi), _F(1.27323954473516)  # 4 / pi

BLOCK = 1 << 16  # numbers of one call of XLA
SMALL = 1 << 12  # at most these are NumPy's always; its intermediate results stay in the cache
LARGE = 1 << 20  # numbers drawn by a process for which compilation pays
_drawn = 0
_PROCESS = os.getpid()


def _by_numpy(u: np.ndarray) -> np.ndarray:
    """Normal numbers from uniform ones, a multiple of 16.

    ``a * b + c`` is a product into a float64 array and a sum that NumPy rounds into a float32 one.
    """
    u = u.reshape(-1, 2, 8)
    n = u.shape[0] * 8
    x, e, y, z, t, cosine, sine = single = np.empty((7, n), _F)
    x_, y_, z_, t_ = double = np.empty((4, n), _D)
    both, both_ = single[5:], double[2:]

    # radii: 1 - u = 2**e * (1 + x) with 1 + x from sqrt(1/2) to sqrt(2)
    np.subtract(_F(1), u[:, 0], out=x.reshape(-1, 8))
    i = x.view(np.int32)
    i -= _SQRT_HALF
    e[...] = i >> 23
    i &= 0x7FFFFF
    i += _SQRT_HALF
    x -= _F(1)
    x_[...] = x
    np.multiply(x, x, out=z)
    np.multiply(x_, _D(_LOG[0]), out=y_)
    np.add(y_, _D(_LOG[1]), out=y)
    for c in _LOG[2:]:
        np.multiply(y, x_, out=y_)
        np.add(y_, _D(c), out=y)
    y *= x
    z_[...] = z
    np.multiply(y, z_, out=y_)
    np.multiply(e, _LOG_2[1], out=t)
    np.add(y_, t, out=y)
    z_ *= -0.5
    np.add(z_, y, out=y)
    y += x
    np.multiply(e, _D(_LOG_2[0]), out=y_)
    np.add(y_, y, out=y)
    y *= _F(-2)
    radius = np.sqrt(y, out=y)

    # angles: x = 2 pi u - octant * pi / 4
    np.multiply(u[:, 1], _TWO_PI, out=x.reshape(-1, 8))
    octant = (x * _OCTANTS).astype(np.int32)
    octant += 1
    octant &= ~1
    t_[...] = octant
    for c in _PI_OVER_4:
        np.multiply(t_, _D(c), out=x_)
        np.add(x_, x, out=x)
    np.multiply(x, x, out=z)
    x_[...], y_[...] = z, x
    np.multiply(x_, _COS_SIN[0], out=both_)
    np.add(both_, _COS_SIN[1], out=both)
    np.multiply(both, x_, out=both_)
    np.add(both_, _COS_SIN[2], out=both)
    both *= z
    np.multiply(both, double[:2], out=both_)
    z *= _F(-0.5)
    np.add(z_, z, out=cosine)
    np.add(t_, x, out=sine)
    cosine += _F(1)
    both *= radius

    shape = (-1, 8)
    swap = ((octant & 2) != 0).reshape(shape)
    cosine, sine = cosine.reshape(shape), sine.reshape(shape)
    out = np.empty(u.shape, _F)
    out[:, 0] = np.where(swap, sine, cosine)
    out[:, 1] = np.where(swap, cosine, sine)
    signs = out.view(np.int32)
    signs[:, 0] ^= ((~(octant - 2) & 4) << 29).reshape(shape)
    signs[:, 1] ^= ((octant & 4) << 29).reshape(shape)
    return out.reshape(-1)


def _by_xla(u: Any) -> Any:
    """The same for XLA's compiler, which fuses products and sums; scaled by the factors and terms in the last two rows.

    As parameters of their own these would make it six times as slow: the compiled loop is then not vectorised.
    """
    import jax
    import jax.numpy as jnp

    std, mean = u[-16:-8], u[-8:]
    u = u[:-16].reshape(-1, 2, 8)
    i = jax.lax.bitcast_convert_type(_F(1) - u[:, 0], np.int32) - _SQRT_HALF
    e = (i >> 23).astype(_F)
    x = jax.lax.bitcast_convert_type((i & 0x7FFFFF) + _SQRT_HALF, _F) - _F(1)
    z = x * x
    y = jnp.full_like(x, _LOG[0])
    for c in _LOG[1:]:
        y = y * x + c
    y = (y * x) * z + e * _LOG_2[1]
    y = z * _F(-0.5) + y
    radius = jnp.sqrt(_F(-2) * (e * _LOG_2[0] + (x + y)))

    x = _TWO_PI * u[:, 1]
    octant = ((x * _OCTANTS).astype(np.int32) + 1) & ~1
    y = octant.astype(_F)
    # Between two products the compiler might fuse the wrong one.
    x = (y.astype(_D) * _D(_PI_OVER_4[0]) + x.astype(_D)).astype(_F)
    for c in _PI_OVER_4[1:]:
        x = y * c + x
    z = x * x
    cosine = ((z * _COS[0] + _COS[1]) * z + _COS[2]) * z
    cosine = (cosine * z - z * _F(0.5)) + _F(1)
    sine = ((z * _SIN[0] + _SIN[1]) * z + _SIN[2]) * z
    sine = sine * x + x
    swap = (octant & 2) != 0
    cosine, sine = jnp.where(swap, sine, cosine), jnp.where(swap, cosine, sine)
    cosine = jnp.where((~(octant - 2) & 4) != 0, -cosine, cosine)
    sine = jnp.where((octant & 4) != 0, -sine, sine)
    return jnp.stack([(radius * x) * std + mean for x in (cosine, sine)], 1).reshape(-1)


@functools.cache
def _compiled() -> Callable[[np.ndarray], Any] | None:
    """``_by_xla`` for ``BLOCK`` numbers; None if it does not give NumPy's bits on this machine."""
    import jax

    cpu = jax.sharding.SingleDeviceSharding(jax.local_devices(backend="cpu")[0])
    with jax.enable_x64(True):
        run = jax.jit(_by_xla).lower(jax.ShapeDtypeStruct((BLOCK + 16,), np.dtype(_F), sharding=cpu)).compile()
    trial = np.random.Generator(np.random.PCG64(0)).integers(0, 1 << 24, BLOCK).astype(_F) * _F(2.0**-24)
    return run if np.array_equal(np.asarray(run(_with_scale(trial, 0.3, 1.7))), fma32(_by_numpy(trial), 1.7, 0.3)) else None


def _with_scale(u: np.ndarray, mean: float, std: float) -> np.ndarray:
    """The argument of ``_by_xla``: at most ``BLOCK`` uniform numbers, and the scale."""
    out = np.zeros(BLOCK + 16, _F)
    out[:u.size], out[-16:-8], out[-8:] = u, std, mean
    return out


def normals32(n: int, draw: Callable[[int], np.ndarray], mean: float, std: float) -> np.ndarray:
    """``n`` normal float32 numbers, a multiple of 16, from the uniform ones that ``draw`` gives."""
    global _drawn
    _drawn += n
    if n <= SMALL:
        out = _by_numpy(draw(n))
        return out if std == 1 and mean == 0 else fma32(out, std, mean)  # fused, as torch's kernel ends
    out = np.empty(n, _F)
    run = _compiled() if _drawn >= LARGE and os.getpid() == _PROCESS else None  # XLA must not run in a forked child
    if run is None:
        for start in range(0, n, SMALL):
            stop = min(start + SMALL, n)
            out[start:stop] = fma32(_by_numpy(draw(stop - start)), std, mean)
        return out
    before: tuple[np.ndarray, Any] | None = None
    for start in range(0, n, BLOCK):
        part = out[start:start + BLOCK]
        result = run(_with_scale(draw(part.size), mean, std))  # a padded block takes less time than NumPy or a second compilation
        # XLA works on this block while the next one is drawn.
        if before is not None:
            before[0][:] = np.asarray(before[1])
        before = part, result
    if before is not None:
        part, result = before
        part[:] = np.asarray(result)[:part.size]
    return out


def normals64(u: np.ndarray) -> np.ndarray:
    """Standard normal float64 numbers from as many uniform ones, a multiple of 16, by the C library's functions."""
    u = u.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * libm(math.log, 1.0 - u[:, 0]))
    theta = 2.0 * np.pi * u[:, 1]
    return np.stack([radius * np.cos(theta), radius * np.sin(theta)], 1).reshape(-1)

