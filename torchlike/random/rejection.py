"""Samplers that reject: Poisson, binomial and gamma numbers, which take as many uniform numbers as chance asks for.

Written after torch's ``aten/src/ATen/native/Distributions.h`` and ``.cpp``: each step in the precision that torch has there
(float32 inputs mix float32 and float64), so that the results are torch's to the bit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

_F32 = np.float32


class Reader:
    """Single uniform and normal numbers from a stream, drawn in blocks; ``close`` gives back the words that were not used."""

    BLOCK = 512

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.values: list[float] = []
        self.position = 0
        self.before: Any = None

    def uniform(self) -> float:
        """One float64 of [0, 1)."""
        if self.position == len(self.values):
            # The block's start is kept as the engine's state, which is 2.5 kB: cheap beside the block.
            self.before = self.stream._engine.state
            self.values = self.stream.unit(self.BLOCK, np.float64).tolist()
            self.position = 0
        self.position += 1
        return self.values[self.position - 1]

    def normal(self) -> float:
        """One standard normal float64; the second of a pair waits in the stream."""
        stream = self.stream
        if stream._cached is not None:
            value, stream._cached = stream._cached, None
            return value
        u1, u2 = self.uniform(), self.uniform()
        radius = math.sqrt(-2.0 * math.log1p(-u2))
        theta = 2.0 * math.pi * u1
        stream._cached = radius * math.sin(theta)
        return radius * math.cos(theta)

    def close(self) -> None:
        """Put the stream where it would be, had the numbers been drawn one by one."""
        if self.position != len(self.values):
            self.stream._engine.state = self.before
            self.stream.words(2 * self.position)
        self.values, self.position = [], 0


def poisson(rate: float, reader: Reader) -> float:
    """A Poisson number: a product of uniform numbers below rate 10 (Knuth), else transformed rejection.

    W. Hoermann, "The transformed rejection method for generating Poisson random variables", 1993: algorithm PTRS.
    """
    if rate < 0:
        raise RuntimeError(f"invalid Poisson rate, expected rate >= 0, but got {rate}")
    if rate == 0:
        return 0.0
    if rate < 10:
        limit, product, x = math.exp(-rate), 1.0, 0
        while True:
            product *= reader.uniform()
            if product <= limit:
                return float(x)
            x += 1
    a, b, inverse_alpha, v_r, log_rate = _poisson_constants(rate)
    while True:
        u = reader.uniform() - 0.5
        v = reader.uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43) if us else -1
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = (math.log(v) if v else -math.inf) + inverse_alpha - math.log(a / (us * us) + b)
        if left <= -rate + k * log_rate - math.lgamma(k + 1):
            return float(k)


@functools.lru_cache
def _poisson_constants(rate: float) -> tuple[float, ...]:
    b = 0.931 + 2.53 * math.sqrt(rate)
    return -0.059 + 0.02483 * b, b, math.log(1.1239 + 1.1328 / (b - 3.4)), 0.9277 - 3.6224 / (b - 2), math.log(rate)


def gamma(alpha: Any, reader: Reader) -> float:
    """A gamma number of shape ``alpha`` (a NumPy float32 or float64) and scale 1.

    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000.
    """
    number = type(alpha)
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = math.pow(1 - reader.uniform(), float(number(1) / alpha))
        alpha = alpha + number(1)
    d = float(alpha - number(_F32(1) / _F32(3)))
    c = 1.0 / math.sqrt(9.0 * d)
    squeeze = float(_F32(0.0331))
    while True:
        y = 0.0
        while y <= 0:
            x = reader.normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1 - reader.uniform()
        xx = x * x
        if u < 1.0 - squeeze * xx * xx or math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
            return scale * d * v


def binomial(count: float, probability: float, number: Callable[[Any], Any], reader: Reader) -> float:
    """The number of successes in ``count`` trials; ``number`` rounds to the dtype of the two.

    ``count * probability`` below 10 adds up geometric numbers (inversion); else W. Hoermann, "The generation of binomial random
    variates", 1993: algorithm BTRS, with the logarithm that the paper's listing leaves out.
    """
    count, probability = float(count), float(probability)
    if math.isnan(count) or math.isnan(probability):
        return math.nan
    if count <= 0 or probability <= 0:
        return 0.0
    if probability >= 1:
        return count
    p = probability if probability <= 0.5 else float(number(1.0 - probability))
    if float(number(count * p)) >= 10:
        k = _rejection(count, p, number, reader)
    else:
        k = _inversion(count, p, number, reader)
    return k if probability <= 0.5 else count - k


@functools.lru_cache
def _log_fail(p: float, number: Callable[[Any], Any]) -> float:
    return float(np.log1p(number(-p))) if number is _F32 else math.log1p(-p)


def _inversion(count: float, p: float, number: Callable[[Any], Any], reader: Reader) -> float:
    log_fail = _log_fail(p, number)
    total, successes = 0.0, 0
    while True:
        u = reader.uniform()
        total += math.ceil(math.log(u) / log_fail) if u else math.inf
        if total > count:
            return float(successes)
        successes += 1


_TAILS = (0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
          0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287)  # fmt: skip


def _tail(k: float) -> float:
    """What Stirling's series leaves of ``log(k!)``."""
    if k < len(_TAILS):
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


@functools.lru_cache
def _rejection_constants(count: float, p: float, number: Callable[[Any], Any]) -> tuple[float, ...]:
    def r(x: float) -> float:
        return float(number(x))

    fail = r(1 - p)
    deviation = r(math.sqrt(r(r(count * p) * fail)))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    more = r(count + 1)
    m = math.floor(r(more * p))
    odds = r(p / fail)
    # what the acceptance compares with, as far as it does not depend on the draw
    m_part = (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
    return a, b, r(count * p) + 0.5, 0.92 - 4.2 / b, odds, (2.83 + 5.1 / b) * deviation, more, m, m_part


def _rejection(count: float, p: float, number: Callable[[Any], Any], reader: Reader) -> float:
    a, b, c, v_r, odds, alpha, more, m, m_part = _rejection_constants(count, p, number)
    # Whole numbers that float32 has need no rounding.
    exact = number is not _F32 or (count < 2**24 and count == int(count))

    def r(x: float) -> float:
        return x if exact else float(number(x))

    while True:
        u = reader.uniform() - 0.5
        v = reader.uniform()
        us = 0.5 - abs(u)
        if not us:
            continue  # torch's k is then minus infinity, which it rejects
        k = r(float(math.floor((2 * a / us + b) * u + c)))
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= v_r:
            return k
        x = v * alpha / (a / (us * us) + b)
        left = math.log(x) if x > 0 else -math.inf
        rest = r(r(count - k) + 1)
        if left <= (
            m_part
            + more * math.log((count - m + 1) / rest)
            + (k + 0.5) * math.log(odds * rest / r(k + 1))
            + _tail(m) + _tail(count - m) - _tail(k) - _tail(r(count - k))
        ):  # fmt: skip
            return k
