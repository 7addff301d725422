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
# XLA runs the polynomials twenty times as fast as NumPy, after some 0.3 s of compilation: in blocks of one size, once a process
# has drawn enough numbers for that to pay.
BLOCK = 1 << 16
LARGE = 1 << 20
SMALL = 1 << 12  # at most these are NumPy's always; its intermediate results stay in the cache
_drawn = 0
_PROCESS = os.getpid()


def _polynomials(np_: Any, bits: Callable[[Any], Any], floats: Callable[[Any], Any], u: Any, contracted: bool = False) -> Any:
    """Uniform numbers ``(blocks, 2, 8)`` to normal ones; ``np_`` is NumPy or ``jax.numpy``.

    ``contracted`` leaves it to the compiler to fuse products and sums.
    """

    def exact(a: Any, b: Any, c: Any) -> Any:
        b = _D(b) if isinstance(b, _F) else b.astype(_D)
        c = _D(c) if isinstance(c, _F) else c.astype(_D)
        return (a.astype(_D) * b + c).astype(_F)

    def fma(a: Any, b: Any, c: Any) -> Any:
        return a * b + c if contracted else exact(a, b, c)

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
    x = exact(y, _F(_PI_OVER_4[0]), x)  # between two products a compiler might fuse the wrong one
    for c in _PI_OVER_4[1:]:
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
def _compiled() -> Callable[[np.ndarray], Any]:
    """Normals of ``BLOCK`` numbers by XLA: the fast way if its fused multiply-adds give NumPy's bits on this machine."""
    import jax
    import jax.numpy as jnp

    cpu = jax.local_devices(backend="cpu")[0]
    shape = jax.ShapeDtypeStruct((BLOCK,), np.dtype(np.float32), sharding=jax.sharding.SingleDeviceSharding(cpu))

    def build(contracted: bool) -> Any:
        def run(u: Any) -> Any:
            bits, floats = (lambda x: jax.lax.bitcast_convert_type(x, np.int32)), (lambda x: jax.lax.bitcast_convert_type(x, np.float32))
            return _polynomials(jnp, bits, floats, u.reshape(-1, 2, 8), contracted).reshape(-1)

        with jax.enable_x64(True):
            compiled = jax.jit(run).lower(shape).compile()
        return compiled

    fast = build(True)
    trial = np.random.Generator(np.random.PCG64(0)).integers(0, 1 << 24, BLOCK).astype(_F) * _F(2.0**-24)
    return fast if np.array_equal(np.asarray(fast(trial)), _by_numpy(trial)) else build(False)


def _by_numpy(u: np.ndarray) -> np.ndarray:
    return _polynomials(np, lambda x: x.view(np.int32), lambda i: i.astype(np.int32, copy=False).view(_F), u.reshape(-1, 2, 8)).reshape(-1)


def normals32(n: int, draw: Callable[[int], np.ndarray], finish: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """``n`` normal float32 numbers, a multiple of 16, from the uniform ones that ``draw`` gives; ``finish`` scales a block."""
    global _drawn
    _drawn += n
    if n <= SMALL:
        return finish(_by_numpy(draw(n)))
    out = np.empty(n, _F)
    if _drawn < LARGE or os.getpid() != _PROCESS:  # XLA must not run in a forked child
        for start in range(0, n, SMALL):
            stop = min(start + SMALL, n)
            out[start:stop] = finish(_by_numpy(draw(stop - start)))
        return out
    run = _compiled()
    before: tuple[int, int, Any] | None = None
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        u = draw(size)
        if size < BLOCK:  # a padded block takes less time than NumPy or a second compilation
            u = np.concatenate([u, np.zeros(BLOCK - size, _F)])
        result = run(u)
        # XLA works on this block while the next one is drawn.
        if before is not None:
            _take(out, before, finish)
        before = start, size, result
    if before is not None:
        _take(out, before, finish)
    return out


def _take(out: np.ndarray, block: tuple[int, int, Any], finish: Callable[[np.ndarray], np.ndarray]) -> None:
    start, size, result = block
    out[start:start + size] = finish(np.asarray(result)[:size])


def normals64(u: np.ndarray) -> np.ndarray:
    """Standard normal float64 numbers from as many uniform ones, a multiple of 16, by the C library's functions."""
    u = u.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * libm(math.log, 1.0 - u[:, 0]))
    theta = 2.0 * np.pi * u[:, 1]
    return np.stack([radius * np.cos(theta), radius * np.sin(theta)], 1).reshape(-1)

