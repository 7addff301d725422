"""The normal numbers of torch's vectorised kernel, to the last bit.

torch fills float32 normals in blocks of 16: eight radii ``sqrt(-2 log(1 - u))`` and eight angles ``2 pi u``, with the
logarithm, sine and cosine polynomials of Cephes in fused multiply-adds (S. Moshier's Cephes library, as in J. Pommier's
sse_mathfun). A fused multiply-add of float32 numbers is done here in float64, where the product is exact, and rounded once:
the polynomials below then give the same bits, checked on 160 000 draws.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike.random.rounding import libm

_F, _D = np.float32, np.float64
_LOG = (-1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
        3.3333331174e-1)  # fmt: skip
_PI_OVER_4 = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
# XLA runs the polynomials about three times as fast as NumPy, after 0.2 s of compilation: in blocks of one size, when that pays.
BLOCK = 1 << 16
LARGE = 1 << 20
_PROCESS = os.getpid()


def _polynomials(np_: Any, bits: Callable[[Any], Any], floats: Callable[[Any], Any], u: Any) -> Any:
    """Uniform numbers ``(blocks, 2, 8)`` to normal ones; ``np_`` is NumPy or ``jax.numpy``."""

    def fma(a: Any, b: Any, c: Any) -> Any:
        b = _D(b) if isinstance(b, _F) else b.astype(_D)
        c = _D(c) if isinstance(c, _F) else c.astype(_D)
        return (a.astype(_D) * b + c).astype(_F)

    x = _F(1) - u[:, 0]
    i = bits(x)
    e = ((i >> 23) - 126).astype(_F)
    m = floats((i & 0x007FFFFF) | 0x3F000000)
    low = m < _F(0.707106781186547524)
    x = m - _F(1) + np_.where(low, m, _F(0))
    e = e - np_.where(low, _F(1), _F(0))
    z = x * x
    y = np_.full_like(x, _F(7.0376836292e-2))
    for c in _LOG:
        y = fma(y, x, _F(c))
    y = fma(y * x, z, e * _F(-2.12194440e-4))
    y = fma(z, _F(-0.5), y)
    radius = np_.sqrt(_F(-2) * fma(e, _F(0.693359375), x + y))

    x = _F(2 * np.pi) * u[:, 1]
    j = ((x * _F(1.27323954473516)).astype(np.int32) + 1) & ~1
    y = j.astype(_F)
    for c in _PI_OVER_4:
        x = fma(y, _F(c), x)
    z = x * x
    cosine = fma(fma(z, _F(2.443315711809948e-5), _F(-1.388731625493765e-3)), z, _F(4.166664568298827e-2)) * z
    cosine = fma(cosine, z, -(z * _F(0.5))) + _F(1)
    sine = fma(fma(z, _F(-1.9515295891e-4), _F(8.3321608736e-3)), z, _F(-1.6666654611e-1)) * z
    sine = fma(sine, x, x)
    swap = (j & 2) != 0
    sine, cosine = np_.where(swap, cosine, sine), np_.where(swap, sine, cosine)
    sine = np_.where((j & 4) != 0, -sine, sine)
    cosine = np_.where((~(j - 2) & 4) != 0, -cosine, cosine)
    return np_.stack([radius * cosine, radius * sine], 1)


@functools.cache
def _compiled() -> Any:
    import jax
    import jax.numpy as jnp

    def run(u: Any) -> Any:
        u = u.reshape(-1, 2, 8)
        return _polynomials(jnp, lambda x: jax.lax.bitcast_convert_type(x, np.int32), lambda x: jax.lax.bitcast_convert_type(x, np.float32), u).reshape(-1)

    cpu = jax.local_devices(backend="cpu")[0]
    sharding = jax.sharding.SingleDeviceSharding(cpu)
    with jax.enable_x64(True):
        return jax.jit(run).lower(jax.ShapeDtypeStruct((BLOCK,), np.dtype(np.float32), sharding=sharding)).compile()


def normals32(u: np.ndarray) -> np.ndarray:
    """Standard normal float32 numbers from as many uniform ones, a multiple of 16."""
    out = np.empty_like(u)
    done = 0
    if u.size >= LARGE and os.getpid() == _PROCESS:  # XLA must not run in a forked child
        run = _compiled()
        while u.size - done >= BLOCK:
            out[done:done + BLOCK] = np.asarray(run(u[done:done + BLOCK]))
            done += BLOCK
    small = 1 << 14  # values in the cache of one core
    for start in range(done, u.size, small):
        part = u[start:start + small].reshape(-1, 2, 8)
        out[start:start + small] = _polynomials(np, lambda x: x.view(np.int32), lambda i: i.astype(np.int32, copy=False).view(_F), part).reshape(-1)
    return out


def normals64(u: np.ndarray) -> np.ndarray:
    """Standard normal float64 numbers from as many uniform ones, a multiple of 16, by the C library's functions."""
    u = u.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * libm(math.log, 1.0 - u[:, 0]))
    theta = 2.0 * np.pi * u[:, 1]
    return np.stack([radius * np.cos(theta), radius * np.sin(theta)], 1).reshape(-1)

