"""torch's CPU random stream: MT19937 words, and the transformations of torch's kernels."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


class Stream:
    """The state of a ``torch.Generator`` on the CPU."""

    def __init__(self, seed: int = 67280421310721) -> None:
        self._lock = threading.RLock()
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start the stream that belongs to a seed."""
        self.initial_seed = seed & 0xFFFFFFFFFFFFFFFF
        self._engine = np.random.MT19937()
        self._engine._legacy_seeding(seed & 0xFFFFFFFF)
        self._cached: float | None = None

    def words(self, n: int) -> np.ndarray:
        """``n`` words of 32 bits, as uint64."""
        return self._engine.random_raw(n) if n else np.zeros(0, np.uint64)

    def words64(self, n: int) -> np.ndarray:
        """``n`` words of 64 bits: the first word is the high half."""
        w = self.words(2 * n).reshape(-1, 2)
        return (w[:, 0] << np.uint64(32)) | w[:, 1]

    def unit(self, n: int, dtype: Any) -> np.ndarray:
        """``n`` numbers in [0, 1)."""
        dtype = np.dtype(dtype)
        if dtype == np.float64:
            return (self.words64(n) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53
        bits = {np.dtype(np.float16): 11, _BFLOAT16: 8}.get(dtype, 24)
        x = (self.words(n) & np.uint64((1 << bits) - 1)).astype(np.float32) * np.float32(2.0**-bits)
        return x if dtype == np.float32 else x.astype(dtype)

    def uniform(self, n: int, low: float, high: float, dtype: Any) -> np.ndarray:
        """``n`` numbers in [low, high)."""
        dtype = np.dtype(dtype)
        wide = np.float64 if dtype == np.float64 else np.float32
        x = self.unit(n, dtype).astype(wide, copy=False)
        low_, high_ = wide(low), wide(high)
        if low == 0 and high == 1:
            return x.astype(dtype, copy=False)
        if wide is np.float64:
            return x * (high_ - low_) + low_
        # torch's compiler fuses the multiplication and the addition: one rounding, which float64 gives here.
        return (x.astype(np.float64) * np.float64(high_ - low_) + np.float64(low_)).astype(np.float32).astype(dtype, copy=False)

    def normal(self, n: int, mean: float, std: float, dtype: Any) -> np.ndarray:
        """``n`` normal numbers: Box-Muller in blocks of 16, or one by one when fewer than 16."""
        dtype = np.dtype(dtype)
        if n < 16:
            return (np.array([self.normal_double() for _ in range(n)]) * std + mean).astype(dtype)
        wide = np.float64 if dtype == np.float64 else np.float32
        x = self.unit(n, wide)
        whole = n // 16 * 16
        out = np.empty(n, wide)
        out[:whole] = self._blocks(x[:whole], mean, std)
        if n % 16:
            out[n - 16:] = self._blocks(self.unit(16, wide), mean, std)
        return out.astype(dtype, copy=False)

    @staticmethod
    def _blocks(x: np.ndarray, mean: float, std: float) -> np.ndarray:
        x = x.reshape(-1, 2, 8)
        one = x.dtype.type(1)
        radius = np.sqrt(x.dtype.type(-2) * np.log((one - x[:, 0]).astype(np.float64)).astype(x.dtype))
        theta = x.dtype.type(2 * np.pi) * x[:, 1]
        out = np.empty_like(x)
        out[:, 0] = radius * np.cos(theta)
        out[:, 1] = radius * np.sin(theta)
        if std != 1:
            out *= x.dtype.type(std)
        if mean != 0:
            out += x.dtype.type(mean)
        return out.reshape(-1)

    def normal_double(self) -> float:
        """One normal number in double precision; the second of each pair is kept for the next call."""
        if self._cached is not None:
            value, self._cached = self._cached, None
            return value
        u1, u2 = self.unit(2, np.float64)
        radius = np.sqrt(-2.0 * np.log1p(-u2))
        theta = 2.0 * np.pi * u1
        self._cached = float(radius * np.sin(theta))
        return float(radius * np.cos(theta))

    def randint(self, n: int, low: int, high: int) -> np.ndarray:
        """``n`` integers in [low, high)."""
        span = high - low
        if span >= 1 << 32:
            return (self.words64(n) % np.uint64(span)).astype(np.int64) + low
        return (self.words(n) % np.uint64(span)).astype(np.int64) + low

    def permutation(self, n: int) -> np.ndarray:
        """A permutation of ``range(n)``: Fisher-Yates from the front, one word a step."""
        if n <= 1:
            return np.arange(n)
        steps = (self.words(n - 1) % np.arange(n, 1, -1, dtype=np.uint64)).tolist()
        p = list(range(n))
        for i, z in enumerate(steps):
            j = i + z
            p[i], p[j] = p[j], p[i]
        return np.array(p)

    def bernoulli(self, n: int, p: Any) -> np.ndarray:
        """``n`` bools, true with probability ``p``."""
        return self.unit(n, np.float64) < p

    def random(self, n: int, dtype: Any) -> np.ndarray:
        """``n`` integers over the range in which ``dtype`` is exact."""
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return (self.words(n) & np.uint64(1)).astype(bool)
        if dtype == np.int64:
            return (self.words64(n) % np.uint64(1 << 63)).astype(np.int64)
        if dtype == np.float64:
            return (self.words64(n) % np.uint64((1 << 53) + 1)).astype(np.float64)
        if dtype.kind in "iu":
            return (self.words(n) % np.uint64(np.iinfo(dtype).max + 1)).astype(dtype)
        digits = {np.dtype(np.float32): 24, np.dtype(np.float16): 11}.get(dtype, 8)
        return (self.words(n) % np.uint64((1 << digits) + 1)).astype(np.float32).astype(dtype)

    def exponential(self, n: int, rate: float, dtype: Any) -> np.ndarray:
        """``n`` exponential numbers."""
        return (-1.0 / rate * np.log1p(-self.unit(n, np.float64))).astype(dtype)
